"""Ways to start a model: how soon each gives its first answer, and from which number of calls it is ahead.

`starts_of` takes the records of one cell; returns a `Starting` for eager and for each start of its variant. `leaders`
compares those of one model.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from bench.records.record import BUILDING_S, Record, Samples


class Starting(NamedTuple):
    """Medians over the processes that began in one way, with what they need and what it took to build that."""

    start: str  # "eager", or a `bench.records.record.Start`
    first_s: float  # until the first answer, without imports
    imports_s: float  # of the compiler
    latency_ms: float
    needs_gb: float | None = None
    build_s: float | None = None
    processes: int = 0


def starts_of(records: Sequence[Record]) -> list[Starting]:
    """Return eager and all starts that were measured; none from records before schema 12."""
    processes, needs_gb, build_s = defaultdict[str, list[tuple[Samples, float]]](list), dict[str, float](), None
    for record in records:
        measured, cost = record.measurement, record.measurement and record.measurement.compilation
        build_s = record.costs_s.get(BUILDING_S, build_s)
        if measured and measured.compiled and cost and measured.compiled.first_s is not None:
            processes["eager"].append((measured.eager, 0.0))
            for start in cost.ready_s:
                processes[start].append((measured.compiled, cost.imports_s or 0.0))
            needs_gb |= cost.needs_gb
    found = []
    for start, known in processes.items():
        medians = [statistics.median(ms for calls in samples.rounds_ms for ms in calls) for samples, _ in known]
        first_s = statistics.median(samples.first_s or 0.0 for samples, _ in known)
        imports_s = statistics.median(imports_s for _, imports_s in known)
        latency_ms, built_s = statistics.geometric_mean(medians), build_s if start == "loaded" else None
        found.append(Starting(start, first_s, imports_s, latency_ms, needs_gb.get(start), built_s, len(known)))
    return found


def leaders(known: Sequence[Starting]) -> list[int | None]:
    """Return for each way to start the number of calls from which it is the soonest to have answered all of them, with
    its imports; None where another one always is."""
    begin_s = [each.imports_s + each.first_s - each.latency_ms / 1e3 for each in known]  # before a call at full speed
    found: list[int | None] = [None] * len(known)
    calls, leader = 1, min(range(len(known)), key=lambda at: (begin_s[at] + known[at].latency_ms / 1e3, at), default=-1)
    while leader >= 0:
        found[leader], own_ms = calls, known[leader].latency_ms
        following = [
            (max(calls + 1, math.ceil((begin_s[at] - begin_s[leader]) * 1e3 / (own_ms - each.latency_ms))), at)
            for at, each in enumerate(known)
            if each.latency_ms < own_ms
        ]
        calls, leader = min(following, key=lambda each: (each[0], known[each[1]].latency_ms), default=(0, -1))
    return found
