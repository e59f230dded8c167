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
    if measurement.is_comparable and len(medians_ms) == 2:
        ratio = medians_ms["eager"] / medians_ms["compiled"]
        if not 1 / MAX_SPEEDUP_RATIO <= ratio <= MAX_SPEEDUP_RATIO:
            yield "measurement", f"eager ÷ compiled is {ratio:.3g}", "check that both variants are in milliseconds"
