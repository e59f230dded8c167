"""Every figure of a cell from what its processes measured: latency, speedup, break-even, memory, efficiency.

Takes the measurements of the processes of each cell; works in arrays of shape (cells, processes), so that thousands of
cells take little longer than one. For a single cell, `only` and `speedup` return an `Estimate`. What was not
measured is nan, and so is what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.records.record import PHASES, Measurement, Peaks
from bench.statistics.intervals import (
    Array,
    Estimate,
    Indices,
    Interval,
    Means,
    difference,
    median_interval,
    over_processes,
)
from bench.statistics.processes import PARTS, VARIANTS, Processes, VariantName
from bench.statistics.verdicts import verdicts, verdicts_without_interval


class Cells:
    """Cells, each with the measurements of its processes.

    `batch_sizes` and `runs` have the shape (cells,): the images of a call, without which nothing is known per image,
    and a number for each run on a device, whose cells tell of each other's scatter. By default, all are of one run.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[Measurement]],
        batch_sizes: Sequence[float] | None = None,
        runs: Sequence[int] | Indices | None = None,
    ) -> None:
        sizes = np.array([len(group) for group in groups], np.int64)
        self.processes = Processes([each for group in groups for each in group])
        self.batch_sizes = np.full(len(groups), np.nan) if batch_sizes is None else np.array(batch_sizes, np.float64)
        self.runs = np.zeros(len(groups), np.int64) if runs is None else np.array(runs, np.int64)
        self.at = np.full((len(sizes), max(1, sizes.max(initial=0))), -1)  # -1 for none
        self.at[np.arange(self.at.shape[1]) < sizes[:, None]] = np.arange(sizes.sum())

    def __getitem__(self, name: str) -> Array:
        """A figure of every process, shape (cells, processes)."""
        return np.append(self.processes.figures[name], np.nan)[self.at]

    @np.errstate(all="ignore")
    def figures(self) -> dict[str, Array]:
        """Return every column of numbers, each of shape (cells,)."""
        value, low, high = self.speedup
        found = {"speedup": value, "speedup_low": low, "speedup_high": high}
        found |= {"change": 1 / value - 1, "change_low": 1 / high - 1, "change_high": 1 / low - 1}
        found["paired_speedup"] = np.exp(over_processes(np.log(self["paired_speedup"]), self.runs).mean)
        for variant in VARIANTS:
            found |= self._variant(variant)
        allocated, reserved = (
            found[f"compiled_peak_{kind}_gb"] / np.where(eager == 0, np.nan, eager)
            for kind in ("memory", "reserved")
            for eager in [found[f"eager_peak_{kind}_gb"]]
        )
        ratio = np.where(np.isnan(allocated), reserved, allocated)  # with CUDA graphs, compiled allocates nothing
        found["memory_change"] = np.where((self["comparable"] == 0).any(axis=1), np.nan, ratio - 1)
        names = {"graph_breaks": "breaks", "cudagraph_replays": "replays"}
        own = ("graphs", "cudagraph_skips", "recompiles", "batch_size_recompiles", "max_relative_error")
        names |= {name: name for name in own}
        found |= {column: self.most(name) for column, name in names.items()}
        return found | self._compilation() | self._efficiency()

    @cached_property
    def verdicts(self) -> NDArray[Any]:
        """Whether compiled is faster than eager, as far as the interval of the speedup can tell, or a published one."""
        value, low, high = self.speedup
        return np.where(self.were_timed, verdicts(low, high), verdicts_without_interval(value))

    @property
    def were_timed(self) -> NDArray[np.bool_]:
        """Whether any process has rounds of both variants; else there are at most published figures."""
        return np.asarray(~np.isnan(self["speedup"]).all(axis=1))

    @np.errstate(all="ignore")
    def logs(self, variant: VariantName) -> Means:
        """Return the means of the logarithms of the processes' medians."""
        return over_processes(np.log(self[f"{variant}_latency"]), self.runs)

    @np.errstate(all="ignore")
    def latency(self, variant: VariantName) -> Interval:
        """Return the geometric mean of the processes' medians in ms; where nothing was timed, the published figure."""
        value, low, high = np.exp(self.logs(variant).interval())
        low, high = self._alone(self[f"{variant}_latency"], self.processes.rounds_ms[variant].__getitem__, low, high)
        return np.where(np.isnan(value), self.middle(f"{variant}_published_mean_ms"), value), low, high

    @cached_property
    @np.errstate(all="ignore")
    def speedup(self) -> Interval:
        """Eager ÷ compiled: of each process, the ratio of the latencies, so that it is the ratio of those shown."""
        value, low, high = np.exp(self._compared("speedup", np.log))
        low, high = self._alone(self["speedup"], lambda at: self.processes.paired("speedup", at), low, high)
        return np.where(np.isnan(value), np.divide(*self._published), value), low, high

    @cached_property
    @np.errstate(all="ignore")
    def saving(self) -> Interval:
        """What one compiled call saves in ms: eager − compiled. Negative where compiled is slower."""
        unit = self.middle("eager_latency")  # cells of a run scatter alike as a share of their latency
        value, low, high = np.array(self._compared("saving", lambda ms: ms / unit[:, None])) * unit
        low, high = self._alone(self["saving"], lambda at: self.processes.paired("saving", at), low, high)
        return np.where(np.isnan(value), np.subtract(*self._published), value), low, high

    def _compared(self, name: str, scaled: Callable[[Array], Array]) -> Array:
        """Return the mean of a comparison, scaled, and its interval, shape (3, cells): by Welch where the variants had
        processes of their own."""
        pooled = np.array(over_processes(scaled(self[name]), self.runs).interval())
        unpaired = (self["interleaved"] == 0).any(axis=1)
        if not unpaired.any():
            return pooled
        both = (np.where(self["comparable"] > 0, self[f"{variant}_latency"], np.nan) for variant in VARIANTS)
        sides = [over_processes(scaled(medians), self.runs) for medians in both]
        return np.where(unpaired, difference(*sides), pooled)

    def _alone(
        self, medians: Array, rounds_of: Callable[[int], Sequence[float]], low: Array, high: Array
    ) -> tuple[Array, Array]:
        """Put in the intervals of cells with one process: that of its median. `medians`: (cells, processes)."""
        known = ~np.isnan(medians)
        for row in np.flatnonzero(known.sum(axis=1) == 1).tolist():
            process = known[row].argmax()
            ends = median_interval(rounds_of(self.at[row, process]))
            # The median ratio of the pairs of rounds is not quite the ratio of the medians: the interval holds both.
            low[row], high[row] = np.minimum(ends[0], medians[row, process]), np.maximum(ends[1], medians[row, process])
        return low, high

    @property
    def _published(self) -> tuple[Array, Array]:
        """The published latencies of eager and compiled, nan where their batches differ."""
        is_comparable = self["comparable"] > 0
        eager, compiled = (
            _middle(np.where(is_comparable, self[f"{each}_published_mean_ms"], np.nan)) for each in VARIANTS
        )
        return eager, compiled

    def _variant(self, variant: VariantName) -> dict[str, Array]:
        value, low, high = self.latency(variant)
        own = self.middle(f"{variant}_batch_size")
        images = np.where(np.isnan(own), self.batch_sizes, own)
        # A row shows one batch size, and a latency of another would be taken for one of it. Images a second fit any.
        of_row = (images == self.batch_sizes) | np.isnan(self.batch_sizes)
        printed, samples = self.middle(f"{variant}_published_images_s"), np.nansum(self[f"{variant}_samples"], axis=1)
        latencies = {"ms": value, "low_ms": low, "high_ms": high}
        return {
            **{f"{variant}_{end}": np.where(of_row, figures, np.nan) for end, figures in latencies.items()},
            f"{variant}_images_s": np.where(np.isnan(printed), images / value * 1e3, printed),
            f"{variant}_batch_size": np.where(np.isnan(value), np.nan, images),
            f"{variant}_samples": np.where(samples > 0, samples, np.nan),
            **{f"{variant}_{name}": self.most(f"{variant}_{name}") for name in ("peak_memory_gb", "peak_reserved_gb")},
            f"{variant}_device_ms": self.middle(f"{variant}_device_ms"),
        }

    @np.errstate(all="ignore")
    def break_even(self, cache: str) -> Interval:
        """Return the calls after which compiling has paid back its time to ready, with a ``cold`` or ``warm`` cache.

        There is one only where the verdict is faster. inf means never: compiled is as fast as eager, or slower. nan
        means that nothing is clear, or that no process measured the cost. An interval that ends in inf holds a saving
        of nothing.
        """
        value, low, high = self.saving
        cost_ms = np.where(np.isnan(value), np.nan, np.maximum(self.middle(f"{cache}_s") * 1e3, 0.0))
        is_faster = self.verdicts == "faster"
        never = ~np.isnan(cost_ms) & np.isin(self.verdicts, ("slower", "same"))
        paid = (np.where(saved <= 0, cost_ms + np.inf, cost_ms / saved) for saved in (value, high, low))
        calls, earliest, latest = (np.where(is_faster, each, np.where(never, np.inf, np.nan)) for each in paid)
        return calls, earliest, latest

    def _compilation(self) -> dict[str, Array]:
        is_cold = ~np.isnan(self["cold_s"])
        found = {f"{name}_s": _middle(np.where(is_cold, self[f"{name}_s"], np.nan)) for name in PHASES}
        for cache, column in (("cold", "break_even_calls"), ("warm", "break_even_warm_calls")):
            found[f"compile_{cache}_s"] = self.middle(f"{cache}_s")
            found |= zip((column, f"{column}_low", f"{column}_high"), self.break_even(cache), strict=True)
        return found

    @cached_property
    def work(self) -> dict[str, Array]:
        """What a call does: the same in all processes, counted in one of them."""
        first = np.argmax(~np.isnan(self["flop"]), axis=1)[:, None]
        return {name: np.take_along_axis(self[name], first, axis=1)[:, 0] for name in PARTS["work"]}

    @cached_property
    def peaks(self) -> dict[str, Array]:
        """The best that any process reached: nobody can reach more by accident."""
        return {name: self.most(name) for name in PARTS["peaks"]}

    @property
    def computing_s(self) -> Array:
        """The least time of the arithmetic of a call: at the speed of the measured product."""
        return self.work["flop"] / self.peaks["matmul_flop_s"]

    def memory_bound(self) -> Array:
        """Return the share of eager's least time that goes to operations which only move data, at the speed of the
        measured copy."""
        streaming_s = self.work["streamed_bytes"] / self.peaks["copy_bytes_s"]
        return streaming_s / (streaming_s + self.computing_s)

    def peak_share(self, variant: VariantName) -> Array:
        """Return the least time of the arithmetic as a share of a call. Above 1 where an algorithm needs fewer
        operations than counted."""
        return self.computing_s / self.middle(f"{variant}_latency") * 1e3

    def host_bound(self, variant: VariantName) -> Array:
        """Return the share of a call that the device waits for the host: 1 − device time ÷ latency."""
        return _middle(np.maximum(1 - self[f"{variant}_device_ms"] / self[f"{variant}_latency"], 0.0))

    def host_ms(self, variant: VariantName) -> Array:
        """Return what a call takes beyond the time that the device is busy."""
        return _middle(np.maximum(self[f"{variant}_latency"] - self[f"{variant}_device_ms"], 0.0))

    def _efficiency(self) -> dict[str, Array]:
        work, peaks = self.work, self.peaks
        found = {"flop": work["flop"], "parameters": work["parameters"], "matmul_flop_s": peaks["matmul_flop_s"]}
        found["intensity"] = work["flop"] / work["activations"]
        for variant, moved in zip(VARIANTS, ("traffic_bytes", "compiled_traffic_bytes"), strict=True):
            latency_ms = self.middle(f"{variant}_latency")
            bytes_moved = np.where(work[moved] > 0, work[moved], np.nan)
            found |= {
                f"{variant}_host_bound": self.host_bound(variant),
                f"{variant}_flop_s": work["flop"] / latency_ms * 1e3,
                f"{variant}_matmul_share": self.peak_share(variant),
                f"{variant}_copy_share": bytes_moved / latency_ms * 1e3 / peaks["copy_bytes_s"],
            }
        return found

    def middle(self, name: str) -> Array:
        """Return the median of a figure over the processes that know it."""
        return _middle(self[name])

    def most(self, name: str) -> Array:
        """Return the largest value of a figure."""
        return np.fmax.reduce(self[name], axis=1)


def speedup(measurements: Sequence[Measurement]) -> Estimate:
    """Return eager ÷ compiled of one cell."""
    return only(Cells([measurements]).speedup)


def best_peaks(measurements: Sequence[Measurement]) -> Peaks | None:
    """Return the best rates of the device in any of the processes, or None if no process measured them."""
    known = {name: float(rate[0]) for name, rate in Cells([measurements]).peaks.items() if not np.isnan(rate[0])}
    return Peaks(**known) if known else None


def only(interval: Interval) -> Estimate:
    """Return the interval of the only cell."""
    return Estimate(*(float(ends[0]) for ends in interval))


def _middle(figures: Array) -> Array:
    """Return the median of each row over what is known, nan where nothing is."""
    known = (~np.isnan(figures)).sum(axis=1)
    middles = np.stack([(known - 1) // 2, known // 2], axis=1)  # once sorted: nan comes last
    return np.take_along_axis(np.sort(figures, axis=1), middles, axis=1).mean(axis=1)
