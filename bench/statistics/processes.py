"""What many processes measured, as arrays: one figure per process, and one list of rounds.

Takes `Measurement`s; returns `Processes`, from which `bench.statistics.cells` computes every statistic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, get_args

import numpy as np

from bench.records.record import PHASES, Measurement, Samples, Start, Telemetry
from bench.statistics.ragged import Array, Ragged

VariantName = Literal["eager", "compiled"]

VARIANTS: tuple[VariantName, ...] = ("eager", "compiled")

VARIANT_FIGURES = (
    *("batch_size", "peak_memory_gb", "peak_reserved_gb", "minor_faults_per_call"),
    *("published_mean_ms", "published_median_ms", "published_images_s"),
)
"""Numbers of a `Samples` that are read as they are; their names here have the variant before them."""

PARTS: Mapping[str, Sequence[str]] = {
    "work": (
        "flop",
        "traffic_bytes",
        "streamed_bytes",
        "compiled_traffic_bytes",
        "convolution_flop",
        "activations",
        "parameters",
    ),
    "peaks": ("matmul_flop_s", "copy_bytes_s", "page_fault_s", "convolution_flop_s"),
    "graphs": ("graphs", "recompiles", "batch_size_recompiles", "breaks", "cudagraph_skips", "replays"),
    "accuracy": ("max_relative_error",),
    "telemetry": ("repeated_rounds", "throttled_rounds"),
}
"""Numbers of the parts of a `Measurement` that are read as they are; of what is a list, its length."""

COUNTED = frozenset({"breaks", "cudagraph_skips"})
"""Those of `PARTS` that are lists."""

STARTS: tuple[Start, ...] = get_args(Start)

READINGS = ("clock_mhz", "temperature_c")
"""Lists of `Telemetry`."""


class Processes:
    """The measurements of processes, numbered from 0. `figures` has arrays of shape (processes,), nan where unknown;
    `lists` has a list for each process: by variant its device times and the medians of its rounds, and `READINGS`."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self.figures = {"has_compiled": np.array([each.compiled is not None for each in measurements], np.float64)}
        self.lists: dict[str, Ragged] = {}
        for part, names in PARTS.items():
            values = [getattr(each, part) for each in measurements]
            self.figures |= {name: _column(values, name) for name in names}
        phases = [each.compilation.phases_s if each.compilation else {} for each in measurements]
        self.figures |= {f"{name}_s": _array([each.get(name) for each in phases]) for name in PHASES}
        ready = [each.compilation.ready_s if each.compilation else {} for each in measurements]
        self.figures |= {f"{start}_s": _array([each.get(start) for each in ready]) for start in STARTS}
        telemetry = [each.telemetry or Telemetry() for each in measurements]
        self.lists |= {name: Ragged.of([getattr(each, name) for each in telemetry]) for name in READINGS}
        for variant in VARIANTS:
            self._add_variant(variant, [getattr(each, variant) for each in measurements])
        eager, compiled = (self.figures[f"{variant}_batch_size"] for variant in VARIANTS)
        alike = (eager == compiled) | (np.isnan(eager) & np.isnan(compiled))
        self.comparable = (self.figures["has_compiled"] > 0) & alike
        self._add_pairs()

    def _add_variant(self, variant: VariantName, values: Sequence[Samples | None]) -> None:
        lists, figures = self.lists, self.figures
        figures |= {f"{variant}_{name}": _column(values, name) for name in VARIANT_FIGURES}
        known = [each or Samples() for each in values]
        lists[f"{variant}_device"] = Ragged.of([each.device_ms for each in known])
        calls = Ragged.of([calls for each in known for calls in each.rounds_ms])
        rounds = np.array([len(each.rounds_ms) for each in known], np.int64)
        samples = calls.merged(rounds)
        medians = calls.medians()
        alone = np.flatnonzero(np.repeat(rounds == 1, rounds))  # blocks of the protocol of 2023 are worth their mean
        blocks = calls.take(alone)
        medians[alone] = np.add.reduceat(blocks.flat, blocks.starts) / blocks.lengths
        lists[f"{variant}_rounds"] = Ragged(medians, rounds)
        figures[f"{variant}_latency"] = lists[f"{variant}_rounds"].medians()
        figures[f"{variant}_device_ms"] = lists[f"{variant}_device"].medians()
        figures[f"{variant}_samples"] = samples.lengths.astype(np.float64)
        mean, median = figures[f"{variant}_published_mean_ms"], figures[f"{variant}_published_median_ms"]
        figures[f"{variant}_published_ms"] = np.where(np.isnan(median), mean, median)

    def _add_pairs(self) -> None:
        """Compare both variants by their latencies, and by pairs of rounds: in these, what slows down both cancels out.

        The figures are those of the latencies, which readers see beside them. The pairs give the interval of a process
        that stands alone, and `paired_speedup`: where it differs from the other, the machine did not hold still.
        """
        eager, compiled = (self.lists[f"{variant}_rounds"] for variant in VARIANTS)
        common = np.where(self.comparable, np.minimum(eager.lengths, compiled.lengths), 0)
        eager, compiled = eager.cut(common), compiled.cut(common)
        with np.errstate(all="ignore"):
            self.lists["speedup"] = Ragged(eager.flat / compiled.flat, common)
            self.figures["paired_speedup"] = self.lists["speedup"].medians()
            self.lists["saving"] = Ragged(eager.flat - compiled.flat, common)
            latencies = [np.where(common > 0, self.figures[f"{variant}_latency"], np.nan) for variant in VARIANTS]
            self.figures |= {"speedup": np.divide(*latencies), "saving": np.subtract(*latencies)}


def _column(values: Iterable[Any], name: str) -> Array:
    """Return an attribute of each value, nan where the attribute or the value is None."""
    get = attrgetter(name)
    found = [None if value is None else get(value) for value in values]
    return _array([None if each is None else len(each) for each in found] if name in COUNTED else found)


def _array(values: Sequence[float | None]) -> Array:
    return np.array(values, np.float64)  # nan for None
