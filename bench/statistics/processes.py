"""What many processes measured, as arrays with one figure for each process, and the medians of their rounds.

Takes `Measurement`s; returns `Processes`, from which `bench.statistics.cells` computes every statistic.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, sub, truediv
from typing import Any, Literal, get_args

import numpy as np

from bench.records.record import PHASES, Compilation, Measurement, Samples, Start
from bench.statistics.intervals import Array

VariantName = Literal["eager", "compiled"]

VARIANTS: tuple[VariantName, ...] = ("eager", "compiled")

VARIANT_FIGURES = ("batch_size", "peak_memory_gb", "peak_reserved_gb", "published_mean_ms", "published_images_s")
"""Numbers of a `Samples` that are read as they are; their names here have the variant before them."""

PARTS: Mapping[str, Sequence[str]] = {
    "work": ("flop", "traffic_bytes", "streamed_bytes", "compiled_traffic_bytes", "activations", "parameters"),
    "peaks": ("matmul_flop_s", "copy_bytes_s"),
    "graphs": ("graphs", "recompiles", "batch_size_recompiles", "breaks", "cudagraph_skips", "replays"),
    "accuracy": ("max_relative_error",),
}
"""Numbers of the parts of a `Measurement` that are read as they are; of what is a list, its length."""

STARTS: tuple[Start, ...] = get_args(Start)

COMPARISONS: Mapping[str, Callable[[float, float], float]] = {"speedup": truediv, "saving": sub}
"""How the latency of compiled is compared with that of eager."""


class Processes:
    """The measurements of processes, numbered from 0. `figures` has arrays of shape (processes,), nan where unknown;
    `rounds_ms` has for each process the medians of its rounds by variant."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self.figures: dict[str, Array] = {}
        for part, names in PARTS.items():
            values = [getattr(each, part) for each in measurements]
            self.figures |= {name: _column(values, name) for name in names}
        compilations = [each.compilation or Compilation() for each in measurements]
        self.figures |= {f"{name}_s": _array(each.phases_s.get(name) for each in compilations) for name in PHASES}
        self.figures |= {f"{name}_s": _array(each.ready_s.get(name) for each in compilations) for name in STARTS}
        self.rounds_ms = {name: [_rounds_ms(getattr(each, name)) for each in measurements] for name in VARIANTS}
        for name in VARIANTS:
            samples = [getattr(each, name) or Samples() for each in measurements]
            self.figures |= {f"{name}_{figure}": _column(samples, figure) for figure in VARIANT_FIGURES}
            self.figures |= {
                f"{name}_latency": _medians(self.rounds_ms[name]),
                f"{name}_device_ms": _medians(each.device_ms for each in samples),
                f"{name}_samples": _array(sum(map(len, each.rounds_ms)) for each in samples),
            }
        # In pairs of rounds, what slows down both variants cancels out. Where `paired_speedup` differs from `speedup`,
        # the ratio of the latencies that readers see beside it, the machine did not hold still.
        self.figures["comparable"] = _array(float(each.is_comparable) for each in measurements)
        self.figures["interleaved"] = _array(float(each.interleaved) for each in measurements)
        self.figures["paired_speedup"] = _medians(self.paired("speedup", at) for at in range(len(measurements)))
        with np.errstate(all="ignore"):
            eager, compiled = (self.figures[f"{name}_latency"] for name in VARIANTS)
            comparable = self.figures["comparable"] > 0
            self.figures["speedup"] = np.where(comparable, eager / compiled, np.nan)
            self.figures["saving"] = np.where(comparable, eager - compiled, np.nan)
        layouts = [_layout(each.others) for each in measurements]
        self.figures["layout_share"] = _array(share for share, _ in layouts)
        self.figures["channels_last_speedup"] = _array(ratio for _, ratio in layouts)

    def paired(self, name: str, at: int) -> list[float]:
        """Return the speedup or saving within each round of a process, none unless its rounds were interleaved."""
        if not self.figures["comparable"][at] or not self.figures["interleaved"][at]:
            return []
        return list(map(COMPARISONS[name], *(self.rounds_ms[variant][at] for variant in VARIANTS)))


def _rounds_ms(samples: Samples | None) -> list[float]:
    """Return the median of each round; a block of the protocol of 2023, which stands alone, is worth its mean."""
    rounds = samples.rounds_ms if samples else ()
    return (
        [statistics.fmean(rounds[0])]
        if len(rounds) == 1
        else [calls[0] if len(calls) == 1 else statistics.median(calls) for calls in rounds]
    )


def _layout(others: Mapping[str, Samples]) -> tuple[float | None, float | None]:
    """Return what part of the saving is owed to the memory layout that Inductor chose, and how many times as fast eager
    alone is with channels last: from rounds of all four in turn, apart from those that are compared."""
    latency = {name: statistics.median(rounds) for name, each in others.items() if (rounds := _rounds_ms(each))}
    given = next((name for name in latency if name.endswith(":given-layout")), "")
    eager, compiled = latency.get("eager"), latency.get(given.removesuffix(":given-layout"))
    channels_last = latency.get("eager:channels_last")
    share = (latency[given] - compiled) / (eager - compiled) if eager and compiled and eager != compiled else None
    return share, eager / channels_last if eager and channels_last else None


def _column(values: Iterable[Any], name: str) -> Array:
    """Return an attribute of each value, nan where the attribute or the value is None."""
    get = attrgetter(name)
    found = (None if value is None else get(value) for value in values)
    return _array(len(each) if isinstance(each, tuple) else each for each in found)


def _medians(lists: Iterable[Sequence[float]]) -> Array:
    return _array(statistics.median(each) if each else None for each in lists)


def _array(values: Iterable[float | None]) -> Array:
    return np.array(list(values), np.float64)  # nan for None
