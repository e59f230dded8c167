"""Find records with a mistake of units, batch size or variant.

Takes a record and yields faults: the field, what is wrong, and a remedy. The limits are wide, so that true surprises
pass. The data lint (`generator.data.lint`) marks what is only unusual, and refuses nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench.records.record import Record, Samples

Fault = tuple[str, str, str]
"""The field, what is wrong with it, and the remedy."""

SHORTEST_CALL_MS, LONGEST_CALL_MS = 1e-3, 3.6e6
"""A microsecond, in which no function is called, and an hour: beyond them, the unit is wrong."""

MAX_SPEEDUP_RATIO = 100.0
"""The largest ratio of eager and compiled: beyond it, one of them was measured wrongly."""

FLOP_SLACK = 4.0
"""An algorithm may need fewer operations than are counted: Winograd's F(4×4, 3×3) needs a quarter."""

TF32_SLACK = 8.0
"""Convolutions in float32 on a GPU may be faster than a matrix product, because they use TF32 by default."""

TRAFFIC_SLACK = 20.0
"""Caches are faster than memory, and traffic is counted as if there were none."""

THROUGHPUT_SLACK = 2.0
"""The largest ratio between a published throughput and the one that its latency implies."""

_CHECK_UNIT = "check the unit (milliseconds for one call of the whole batch) and the batch size"


def calls(samples: Samples) -> list[float]:
    """Return the latencies of all calls in ms, or the published latency if there are no calls."""
    published = [] if samples.published_ms is None else [samples.published_ms]
    return [call for each in samples.rounds_ms for call in each] or published


def faults(record: Record) -> Iterator[Fault]:
    """Yield the faults of a record."""
    measurement = record.measurement
    if measurement is None:
        return
    medians_ms = {}
    for name, samples in (("eager", measurement.eager), ("compiled", measurement.compiled)):
        field, latencies_ms = f"measurement.{name}", calls(samples) if samples else []
        for each in [each for each in latencies_ms if not SHORTEST_CALL_MS <= each <= LONGEST_CALL_MS][:1]:
            yield field, f"{each:g} ms is not a plausible latency of a model", "check the unit: milliseconds"
            return
        if samples and latencies_ms:
            medians_ms[name] = statistics.median(latencies_ms)
            batch_size = samples.batch_size or record.cell.batch_size
            implied = batch_size / medians_ms[name] * 1e3
            stated = samples.published_images_s
            if stated and implied and not 1 / THROUGHPUT_SLACK <= stated / implied <= THROUGHPUT_SLACK:
                what = f"{stated:g} images/s contradict its latency, which implies {implied:.4g}"
                yield f"{field}.published_images_s", what, _CHECK_UNIT
            yield from _faster_than_the_peaks(record, name, medians_ms[name])
    if measurement.is_comparable and len(medians_ms) == 2:
        ratio = medians_ms["eager"] / medians_ms["compiled"]
        if not 1 / MAX_SPEEDUP_RATIO <= ratio <= MAX_SPEEDUP_RATIO:
            yield "measurement", f"eager ÷ compiled is {ratio:.3g}", "check that both variants are in milliseconds"


def _faster_than_the_peaks(record: Record, name: str, latency_ms: float) -> Iterator[Fault]:
    """Yield rates of a side beyond those that the process measured of its device. A source states no peaks."""
    measurement, cell = record.measurement, record.cell
    if not measurement or not measurement.work or not measurement.peaks:
        return
    work, peaks = measurement.work, measurement.peaks
    moved = work.traffic_bytes if name == "eager" else work.compiled_traffic_bytes
    tf32 = TF32_SLACK if (cell.device, cell.precision) == ("cuda", "float32") else 1
    for amount, peak, unit, slack in (
        (work.flop, peaks.matmul_flop_s, "FLOP/s", FLOP_SLACK * tf32),
        (moved or 0.0, peaks.copy_bytes_s, "B/s", TRAFFIC_SLACK),
    ):
        if (rate := amount / latency_ms * 1e3) > slack * peak:
            what = f"{latency_ms:g} ms implies {rate:.3g} {unit}, {rate / peak:,.0f} times the peak in this record"
            yield f"measurement.{name}", what, _CHECK_UNIT
