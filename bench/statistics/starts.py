"""Ways to start a model: how soon each gives its first answer, and from which number of calls it is ahead.

`starts_of` takes the records of one cell; returns a `Starting` for eager and for each start of its variant. `leaders`
compares ways to run one model.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from bench.records.record import BUILDING_S, Record, Start


class Starting(NamedTuple):
    """Medians over the processes that began in one way, with what they need and what it took to build that."""

    start: str  # "eager", or a `bench.records.record.Start`
    first_s: float  # until the first answer, without imports
    imports_s: float  # of the compiler
    needs_gb: float | None = None
    build_s: float | None = None


def starts_of(records: Sequence[Record]) -> list[Starting]:
    """Return eager and all starts that were measured; none from records before schema 12."""
    seconds, needs_gb, build_s = defaultdict[str, list[tuple[float, float]]](list), dict[Start, float](), None
    for record in records:
        measured, cost = record.measurement, record.measurement and record.measurement.compilation
        build_s = record.costs_s.get(BUILDING_S, build_s)
        if measured and measured.compiled and cost and measured.compiled.first_s is not None:
            seconds["eager"].append((measured.eager.first_s or 0.0, 0.0))
            for start in cost.ready_s:
                seconds[start].append((measured.compiled.first_s, cost.imports_s or 0.0))
            needs_gb.update(cost.needs_gb)
    found = []
    for name, known in seconds.items():
        first_s, imports_s = (statistics.median(each) for each in zip(*known, strict=True))
        size_gb = next((size_gb for start, size_gb in needs_gb.items() if start == name), None)
        found.append(Starting(name, first_s, imports_s, size_gb, build_s if name == "loaded" else None))
    return found


def leaders(ways: Sequence[tuple[float, float]]) -> list[int | None]:
    """Return for each way to run a model the number of calls after which it is the first to have answered all of them,
    None where another way always is. A way has the seconds until its first answer and the latency in ms."""
    begin_ms = [first_s * 1e3 - latency_ms for first_s, latency_ms in ways]  # before the first call at full speed
    found: list[int | None] = [None] * len(ways)
    calls, leader = 1, min(range(len(ways)), key=lambda at: (ways[at], at), default=-1)
    while leader >= 0:
        found[leader], own_ms = calls, ways[leader][1]
        following = [
            (max(calls + 1, math.ceil((begin_ms[at] - begin_ms[leader]) / (own_ms - latency_ms))), latency_ms, at)
            for at, (_, latency_ms) in enumerate(ways)
            if latency_ms < own_ms
        ]
        calls, _, leader = min(following, default=(0, 0.0, -1))
    return found
