"""Every figure of a cell from what its processes measured: latency, speedup, break-even, memory, efficiency.

Takes `Processes` and how many of them each cell has; works in arrays of shape (cells, processes), so that thousands of
cells take little longer than one. A single cell is the case of one row: `Cells.of`, or `latency`, `speedup`,
`saving_ms` and `break_even_calls`, which return an `Estimate`. What was not measured is nan, and so is what follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bench.records.record import PHASES, Measurement, Peaks, Samples
from bench.statistics.intervals import Estimate, Interval, over_processes
from bench.statistics.processes import PARTS, READINGS, VARIANTS, Processes, VariantName
from bench.statistics.ragged import Array, Indices
from bench.statistics.verdicts import Verdict, verdicts, verdicts_without_interval


class Cells:
    """Cells with equally many processes. `at` has the number of each process, shape (cells, processes)."""

    def __init__(self, processes: Processes, at: Indices, batch_sizes: Array) -> None:
        self.processes, self.at, self.batch_sizes = processes, at, batch_sizes

    @classmethod
    def of(cls, measurements: Sequence[Measurement], batch_size: float = np.nan) -> Cells:
        """Build one cell from the measurements of its processes. Without its batch size, nothing is known per image."""
        known = measurements or [Measurement(eager=Samples())]
        return cls(Processes(known), np.arange(len(known))[None, :], np.array([batch_size]))

    def __getitem__(self, name: str) -> Array:
        """A figure of every process, shape (cells, processes)."""
        found: Array = self.processes.figures[name][self.at]
        return found

    @np.errstate(all="ignore")
    def figures(self) -> dict[str, Array]:
        """Return every column of numbers, each of shape (cells,)."""
        value, low, high = self.speedup
        found = {"speedup": value, "speedup_low": low, "speedup_high": high}
        found |= {"change": 1 / value - 1, "change_low": 1 / high - 1, "change_high": 1 / low - 1}
        found["paired_speedup"] = over_processes(
            self["paired_speedup"], self.processes.lists["speedup"], self.at, log=True
        )[0]
        for variant in VARIANTS:
            found |= self._variant(variant)
        eager, compiled = (
            [found[f"{variant}_peak_{kind}_gb"] for kind in ("memory", "reserved")] for variant in VARIANTS
        )
        allocated, reserved = (
            after / np.where(before == 0, np.nan, before) for before, after in zip(eager, compiled, strict=True)
        )
        compared = self.processes.comparable[self.at].all(axis=1)
        ratio = np.where(np.isnan(allocated), reserved, allocated)  # with CUDA graphs, compiled allocates nothing
        found["memory_change"] = np.where(compared, ratio - 1, np.nan)
        names = {"graph_breaks": "breaks", "cudagraph_replays": "replays"}
        own = ("graphs", "cudagraph_skips", "recompiles", "batch_size_recompiles", "max_relative_error")
        names |= {name: name for name in own}
        found |= {column: self.most(name) for column, name in names.items()}
        return found | self._compilation() | self._phases() | self._efficiency() | self._telemetry()

    @cached_property
    def verdicts(self) -> NDArray[Any]:
        """Whether compiled is faster than eager, as far as the interval of the speedup can tell, or a published one."""
        value, low, high = self.speedup
        return np.where(self.were_timed, verdicts(low, high), verdicts_without_interval(value))

    @property
    def were_timed(self) -> NDArray[np.bool_]:
        """Whether any process has rounds of both variants; else there are at most published figures."""
        return np.asarray(~np.isnan(self["speedup"]).all(axis=1))

    # ── Latency and speedup ─────────────────────────────────────────────────────────────────────────────────────────

    @np.errstate(all="ignore")
    def latency(self, variant: VariantName) -> Interval:
        """Return the geometric mean of the processes' medians in ms; where nothing was timed, the published figure."""
        medians, rounds = self[f"{variant}_latency"], self.processes.lists[f"{variant}_rounds"]
        value, low, high = over_processes(medians, rounds, self.at, log=True)
        return np.where(np.isnan(value), self.middle(f"{variant}_published_ms"), value), low, high

    @cached_property
    def speedup(self) -> Interval:
        """Eager ÷ compiled: of each process, the ratio of the latencies, so that it is the ratio of those shown."""
        return self._compared("speedup", np.divide, log=True)

    @cached_property
    def saving(self) -> Interval:
        """What one compiled call saves in ms: eager − compiled. Negative where compiled is slower."""
        return self._compared("saving", np.subtract, log=False)

    @np.errstate(all="ignore")
    def _compared(self, name: str, combine: Any, *, log: bool) -> Interval:
        """Pool a figure of both variants; without rounds, of the published figures. nan where batches differ."""
        value, low, high = over_processes(self[name], self.processes.lists[name], self.at, log=log)
        comparable = self.processes.comparable[self.at]
        eager, compiled = (
            _middle(np.where(comparable, self[f"{variant}_published_ms"], np.nan)) for variant in VARIANTS
        )
        return np.where(np.isnan(value), combine(eager, compiled), value), low, high

    def _variant(self, variant: VariantName) -> dict[str, Array]:
        value, low, high = self.latency(variant)
        own = self.middle(f"{variant}_batch_size")
        images = np.where(np.isnan(own), self.batch_sizes, own)
        # A row shows one batch size, and a latency of another would be taken for one of it. Images a second fit any.
        of_row = (images == self.batch_sizes) | np.isnan(self.batch_sizes)
        printed, samples = self.middle(f"{variant}_published_images_s"), self[f"{variant}_samples"].sum(axis=1)
        latencies = {"ms": value, "low_ms": low, "high_ms": high}
        return {
            **{f"{variant}_{end}": np.where(of_row, figures, np.nan) for end, figures in latencies.items()},
            f"{variant}_images_s": np.where(np.isnan(printed), images / value * 1e3, printed),
            f"{variant}_batch_size": np.where(np.isnan(value), np.nan, images),
            f"{variant}_samples": np.where(samples > 0, samples, np.nan),
            f"{variant}_peak_memory_gb": self.most(f"{variant}_peak_memory_gb"),
            f"{variant}_peak_reserved_gb": self.most(f"{variant}_peak_reserved_gb"),
            f"{variant}_minor_faults_per_call": self.middle(f"{variant}_minor_faults_per_call"),
            f"{variant}_device_ms": self.middle(f"{variant}_device_ms"),
        }

    # ── Compiling ───────────────────────────────────────────────────────────────────────────────────────────────────

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
        calls, earliest, latest = (
            np.where(is_faster, _calls(cost_ms, saved), np.where(never, np.inf, np.nan)) for saved in (value, high, low)
        )
        return calls, earliest, latest

    def _compilation(self) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for cache, column in (("cold", "break_even_calls"), ("warm", "break_even_warm_calls")):
            found[f"compile_{cache}_s"] = self.middle(f"{cache}_s")
            found |= zip((column, f"{column}_low", f"{column}_high"), self.break_even(cache), strict=True)
        return found

    def _phases(self) -> dict[str, Array]:
        """Return the phases of compiling with an empty cache."""
        is_cold = ~np.isnan(self["cold_s"])
        return {f"{name}_s": _middle(np.where(is_cold, self[f"{name}_s"], np.nan)) for name in PHASES}

    # ── Efficiency ──────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def work(self) -> dict[str, Array]:
        """What a call does: the same in all processes, counted in one of them."""
        first = np.argmax(~np.isnan(self["flop"]), axis=1)[:, None]
        return {name: np.take_along_axis(self[name], first, axis=1)[:, 0] for name in PARTS["work"]}

    @cached_property
    def peaks(self) -> dict[str, Array]:
        """The best that any process reached: nobody can reach more by accident."""
        best = {name: np.fmin if name == "page_fault_s" else np.fmax for name in PARTS["peaks"]}
        return {name: choose.reduce(self[name], axis=1) for name, choose in best.items()}

    @cached_property
    @np.errstate(all="ignore")
    def computing_s(self) -> Array:
        """The least time of the arithmetic of a call: at the speed of the measured product, convolutions at the speed
        of one in TF32 where only they may use it."""
        work, peaks = self.work, self.peaks
        convolved = np.where(np.isnan(peaks["convolution_flop_s"]), 0.0, np.nan_to_num(work["convolution_flop"]))
        apart = np.where(convolved > 0, convolved / peaks["convolution_flop_s"], 0.0)
        found: Array = (work["flop"] - convolved) / peaks["matmul_flop_s"] + apart
        return found

    @np.errstate(all="ignore")
    def memory_bound(self) -> Array:
        """Return the share of eager's least time that goes to operations which only move data, at the speed of the
        measured copy."""
        streaming_s = self.work["streamed_bytes"] / self.peaks["copy_bytes_s"]
        found: Array = streaming_s / (streaming_s + self.computing_s)
        return found

    @np.errstate(all="ignore")
    def peak_share(self, variant: VariantName) -> Array:
        """Return the least time of the arithmetic as a share of a call. Above 1 where an algorithm needs fewer
        operations than counted."""
        found: Array = self.computing_s / self.middle(f"{variant}_latency") * 1e3
        return found

    @np.errstate(all="ignore")
    def host_bound(self, variant: VariantName) -> Array:
        """Return the share of a call that the device waits for the host: 1 − device time ÷ latency."""
        return _middle(np.maximum(1 - self[f"{variant}_device_ms"] / self[f"{variant}_latency"], 0.0))

    def host_ms(self, variant: VariantName) -> Array:
        """Return what a call takes beyond the time that the device is busy."""
        return _middle(np.maximum(self[f"{variant}_latency"] - self[f"{variant}_device_ms"], 0.0))

    def _efficiency(self) -> dict[str, Array]:
        work, peaks = self.work, self.peaks
        found = {name: work[name] for name in ("flop", "traffic_bytes", "activations", "parameters")}
        found["intensity"] = work["flop"] / work["activations"]
        found |= {name: peaks[name] for name in ("matmul_flop_s", "copy_bytes_s")}
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

    def _telemetry(self) -> dict[str, Array]:
        cells, size = self.at.shape
        sizes = np.full(cells, size)
        readings = {name: self.processes.lists[name].take(self.at.ravel()).merged(sizes) for name in READINGS}
        hottest = np.full(cells, np.nan)
        for where, lists in readings["temperature_c"].by_length():
            hottest[where] = lists.max(axis=1)
        found = {"clock_mhz": readings["clock_mhz"].medians()}
        for name in ("repeated_rounds", "throttled_rounds"):
            counts = self[name]
            found[name] = np.where(np.isnan(counts).all(axis=1), np.nan, np.nansum(counts, axis=1))
        return {**found, "temperature_c": hottest}

    # ── Over processes ──────────────────────────────────────────────────────────────────────────────────────────────

    def middle(self, name: str) -> Array:
        """Return the median of a figure over the processes that know it."""
        return _middle(self[name])

    def most(self, name: str) -> Array:
        """Return the largest value of a figure."""
        found: Array = np.fmax.reduce(self[name], axis=1)
        return found


def by_size(processes: Processes, sizes: Indices, batch_sizes: Array) -> Iterator[tuple[Indices, Cells]]:
    """Yield the positions of the cells with equally many processes, and these cells; those without any are left out.

    The processes follow each other cell by cell; `sizes` and `batch_sizes` have the shape (cells,).
    """
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]).tolist():
        where = np.flatnonzero(sizes == size)
        yield where, Cells(processes, starts[where][:, None] + np.arange(size), batch_sizes[where])


# ── One cell ────────────────────────────────────────────────────────────────────────────────────────────────────────


def latency(variants: Sequence[Samples]) -> Estimate:
    """Return the latency of one variant in ms, pooled over its processes."""
    return _only(Cells.of([Measurement(eager=each) for each in variants]).latency("eager"))


def speedup(measurements: Sequence[Measurement]) -> Estimate:
    """Return eager ÷ compiled of one cell."""
    return _only(Cells.of(measurements).speedup)


def saving_ms(measurements: Sequence[Measurement]) -> Estimate:
    """Return what one compiled call of a cell saves."""
    return _only(Cells.of(measurements).saving)


def break_even_calls(measurements: Sequence[Measurement]) -> Estimate:
    """Return the calls after which compiling a cell has paid back: see `Cells.break_even`."""
    return _only(Cells.of(measurements).break_even("cold"))


def verdict(measurements: Sequence[Measurement]) -> Verdict:
    """Return whether the compiled variant of a cell is faster than eager."""
    return cast(Verdict, str(Cells.of(measurements).verdicts[0]))


def best_peaks(measurements: Sequence[Measurement]) -> Peaks | None:
    """Return the best rates of the device in any of the processes, or None if no process measured them."""
    known = {name: float(rate[0]) for name, rate in Cells.of(measurements).peaks.items() if not np.isnan(rate[0])}
    return Peaks(**known) if known else None


def process_latencies(variants: Sequence[Samples]) -> Array:
    """Return the latency of each process in ms: its median, or what was published; shape (processes,) or shorter."""
    processes = Processes([Measurement(eager=each) for each in variants]).figures
    medians, published = processes["eager_latency"], processes["eager_published_ms"]
    timed = np.array([bool(each.rounds_ms) for each in variants], dtype=bool)
    return np.where(timed, medians, published)[timed | ~np.isnan(published)]


def _only(interval: Interval) -> Estimate:
    return Estimate(*(float(ends[0]) for ends in interval))


def _calls(cost_ms: Array, saving_ms: Array) -> Array:
    """Return the calls until `cost_ms` is paid: inf for never, nan where either is unknown."""
    unknown = np.isnan(cost_ms) | np.isnan(saving_ms)
    found: Array = np.where(unknown, np.nan, np.where(saving_ms > 0, cost_ms / saving_ms, np.inf))
    return found


def _middle(figures: Array) -> Array:
    """Return the median of each row over what is known, nan where nothing is."""
    n = (~np.isnan(figures)).sum(axis=1)
    if not n.any():
        return np.full(len(figures), np.nan)
    ordered = np.sort(figures, axis=1)
    rows = np.arange(len(figures))
    last = np.maximum(n - 1, 0)
    found: Array = (ordered[rows, last // 2] + ordered[rows, (last + 1) // 2]) / 2
    return found
