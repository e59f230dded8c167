"""Why a cell came out as it did: causes computed from its measurements, and how well it used the device. No torch.

Enter the `Measurement`s of a cell, one per process; leave `Explanation`s, the one that explains the verdict best first,
and efficiencies. What was not measured is nan, and nan causes nothing: there is no guessing here.

    python -m bench run --model Segformer
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from bench.records.record import Measurement, Peaks, Variant, Work
from bench.statistics.statistics import judge, round_medians, saving_ms, speedup

VariantName = Literal["eager", "compiled"]

HOST_BOUND = 0.2
"""Share of a call that the device waits for Python, from which that is worth naming: less is what a launch costs."""

MEMORY_BOUND = 0.2
"""Share of the least time of eager, from which it is called so, that goes to operations which only move data: without a
product or convolution, at the speed of a copy. Whether the whole model's intensity is below the machine's balance would
be asking too much: a model may do most of its arithmetic in one layer, and spend its time in the others."""

LESS_TRAFFIC = 0.9
"""Compiled moves at most so much of what eager moves; counting differs by some percent between the two."""

AT_THE_PEAK = 0.7
"""Share of the measured matmul peak that leaves nothing to win: real layers are no large square matrices."""

EXPLAINS = 0.05
"""Share of what a call saves that a cause must account for to be one."""


class Cause(StrEnum):
    """A closed set. What the figure of each says stands beside it."""

    HOST_BOUND = "host_bound"  # share of a call that the device waits: of eager if that is slower, else of compiled
    MEMORY_BOUND = "memory_bound"  # share of eager's memory traffic that compiled does without
    PAGE_FAULTS = "page_faults"  # minor page faults per call that compiled does without: the allocator's part
    CUDAGRAPH_SKIPS = "cudagraph_skips"  # reasons for which CUDA graphs were left out
    GRAPH_BREAKS = "graph_breaks"  # how many
    RECOMPILES = "recompiles"  # how many, with inputs of one shape
    AT_THE_PEAK = "at_the_peak"  # share of the measured matmul peak that eager already reaches: little is left to win
    NEVER_PAYS_BACK = "never_pays_back"  # the speedup: compiled isn't faster, so no number of calls repays compiling


@dataclass(frozen=True)
class Explanation:
    """A cause and the figure behind it."""

    cause: Cause
    figure: float


def explain(measurements: Sequence[Measurement]) -> tuple[Explanation, ...]:
    """Why compiled is faster, or isn't; the cause that explains it best first.

    Faster: what accounts for the saving, by how much it saves; then what stands in the way of more. Otherwise: what
    went wrong while compiling, then what left nothing to win, then that it never pays back. Which of the two it is, the
    95% interval of the speedup says; where it says neither, only what went wrong or left nothing to win is known.
    """
    ratio = speedup(measurements)
    match judge(ratio):
        case "faster":
            return (*_gains(measurements), *_obstacles(measurements))
        case "slower" | "same":
            never = Explanation(Cause.NEVER_PAYS_BACK, ratio.value)
            return (*_obstacles(measurements), *_still_waiting(measurements), never)
    return tuple(_obstacles(measurements))


def _gains(measurements: Sequence[Measurement]) -> list[Explanation]:
    """Each with the milliseconds that it saves of a call, estimated: that sorts them, and drops what saves little."""
    saved = saving_ms(measurements).value
    gains = (
        (host_ms(measurements, "eager") - host_ms(measurements, "compiled"), _waiting(measurements, "eager")),
        _less_traffic(measurements),
        _fewer_faults(measurements),
    )
    counting = [(ms, cause) for ms, cause in gains if cause and ms >= EXPLAINS * saved]
    return [cause for _, cause in sorted(counting, key=lambda gain: -gain[0])]


def _waiting(measurements: Sequence[Measurement], variant: VariantName) -> Explanation | None:
    share = host_bound(measurements, variant)
    return Explanation(Cause.HOST_BOUND, share) if share >= HOST_BOUND else None


def _still_waiting(measurements: Sequence[Measurement]) -> Iterator[Explanation]:
    if waiting := _waiting(measurements, "compiled"):
        yield waiting


def _less_traffic(measurements: Sequence[Measurement]) -> tuple[float, Explanation | None]:
    """Where moving data takes a good part of eager's time, as far as the peaks can tell, and compiled moves less."""
    work, peaks = work_of(measurements), peaks_of(measurements)
    if work is None or peaks is None or work.traffic_bytes is None or work.compiled_traffic_bytes is None:
        return math.nan, None
    if memory_bound(work, peaks) < MEMORY_BOUND or work.compiled_traffic_bytes > LESS_TRAFFIC * work.traffic_bytes:
        return math.nan, None
    less = work.traffic_bytes - work.compiled_traffic_bytes
    return less / peaks.copy_bytes_s * 1e3, Explanation(Cause.MEMORY_BOUND, less / work.traffic_bytes)


def _fewer_faults(measurements: Sequence[Measurement]) -> tuple[float, Explanation | None]:
    fewer = _median(measurements, "eager", _faults) - _median(measurements, "compiled", _faults)
    peaks = peaks_of(measurements)
    return fewer * _known(peaks.page_fault_s if peaks else None) * 1e3, Explanation(Cause.PAGE_FAULTS, fewer)


def _obstacles(measurements: Sequence[Measurement]) -> Iterator[Explanation]:
    graphs = [measurement.graphs for measurement in measurements if measurement.graphs]
    counts = {
        Cause.CUDAGRAPH_SKIPS: [len(each.cudagraph_skips) for each in graphs],
        Cause.GRAPH_BREAKS: [len(each.breaks) for each in graphs],
        Cause.RECOMPILES: [each.recompiles for each in graphs],
    }
    for cause, found in counts.items():
        if any(found):
            yield Explanation(cause, max(found))
    share = peak_share(measurements, "eager")
    if share >= AT_THE_PEAK:
        yield Explanation(Cause.AT_THE_PEAK, share)


# ── Efficiency: nan where unknown ───────────────────────────────────────────────────────────────────────────────────


def work_of(measurements: Sequence[Measurement]) -> Work | None:
    """What a call does: the same in all processes, counted in one of them."""
    return next((measurement.work for measurement in measurements if measurement.work), None)


def peaks_of(measurements: Sequence[Measurement]) -> Peaks | None:
    """The best that any process reached: nobody can reach more by accident."""
    found = [measurement.peaks for measurement in measurements if measurement.peaks]
    if not found:
        return None
    return Peaks(
        matmul_flop_s=max(each.matmul_flop_s for each in found),
        copy_bytes_s=max(each.copy_bytes_s for each in found),
        page_fault_s=min((each.page_fault_s for each in found if each.page_fault_s is not None), default=None),
        convolution_flop_s=max((each.convolution_flop_s for each in found if each.convolution_flop_s), default=None),
    )


def computing_s(work: Work, peaks: Peaks) -> float:
    """The least time of the arithmetic of a call: at the speed of the measured product, convolutions at that of one in
    TF32 where only they may use it."""
    convolved = (work.convolution_flop or 0.0) if peaks.convolution_flop_s else 0.0
    return (work.flop - convolved) / peaks.matmul_flop_s + convolved / (peaks.convolution_flop_s or math.inf)


def memory_bound(work: Work, peaks: Peaks) -> float:
    """The share of eager's least time that goes to operations which only move data: at the speed of the measured copy,
    and the arithmetic of all others takes `computing_s`. 0 where it isn't known what they move."""
    streaming_s = (work.streamed_bytes or 0.0) / peaks.copy_bytes_s
    return streaming_s / (streaming_s + computing_s(work, peaks)) if streaming_s else 0.0


def latency_ms(measurements: Sequence[Measurement], variant: VariantName) -> float:
    """Of one call: the median over processes of their medians."""
    return _median(measurements, variant, _latency)


def host_ms(measurements: Sequence[Measurement], variant: VariantName) -> float:
    """What a call takes beyond the time that the device is busy, in ms."""
    return _median(measurements, variant, lambda each: _positive(_latency(each) - _device(each)))


def host_bound(measurements: Sequence[Measurement], variant: VariantName) -> float:
    """The share of a call that the device waits for the host: 1 − device time ÷ latency."""
    return _median(measurements, variant, lambda each: _positive(1 - _device(each) / _latency(each)))


def achieved_flop_s(measurements: Sequence[Measurement], variant: VariantName) -> float:
    """Floating-point operations in a second of calls."""
    work = work_of(measurements)
    return work.flop / latency_ms(measurements, variant) * 1e3 if work else math.nan


def peak_share(measurements: Sequence[Measurement], variant: VariantName) -> float:
    """The least time of the arithmetic as a share of a call: achieved FLOP/s ÷ the measured matmul peak where there is
    one peak for all. Above 1 where an algorithm needs fewer operations than counted."""
    work, peaks = work_of(measurements), peaks_of(measurements)
    return computing_s(work, peaks) / latency_ms(measurements, variant) * 1e3 if work and peaks else math.nan


def bandwidth_share(measurements: Sequence[Measurement], variant: VariantName) -> float:
    """Bytes moved in a second as a share of the measured copy. Above 1 where caches hold what one operation leaves for
    the next."""
    work, peaks = work_of(measurements), peaks_of(measurements)
    moved = work and (work.traffic_bytes if variant == "eager" else work.compiled_traffic_bytes)
    if not moved or not peaks:
        return math.nan
    return moved / latency_ms(measurements, variant) * 1e3 / peaks.copy_bytes_s


def energy_per_image_j(measurements: Sequence[Measurement], variant: VariantName, batch_size: int) -> float:
    """Joules of the device for one image."""
    joules = _median(measurements, variant, lambda each: _known(each.energy_j))
    return joules / batch_size if batch_size else math.nan


def _median(measurements: Sequence[Measurement], variant: VariantName, figure: Callable[[Variant], float]) -> float:
    """Over the processes that know the figure of this variant."""
    variants = [measurement.eager if variant == "eager" else measurement.compiled for measurement in measurements]
    figures = [value for each in variants if each and not math.isnan(value := figure(each))]
    return statistics.median(figures) if figures else math.nan


def _latency(variant: Variant) -> float:
    return statistics.median(round_medians(variant).tolist()) if variant.rounds_ms else math.nan


def _device(variant: Variant) -> float:
    return statistics.median(variant.device_ms) if variant.device_ms else math.nan


def _faults(variant: Variant) -> float:
    return _known(variant.minor_faults_per_call)


def _positive(figure: float) -> float:
    return max(figure, 0.0)  # in this order nan stays nan


def _known(figure: float | None) -> float:
    return math.nan if figure is None else figure
