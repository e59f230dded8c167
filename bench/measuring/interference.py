"""Detect other programs that use the CPU while a round is timed. Imports no torch.

`CpuWatch` compares the kernel's CPU times with those of this process: the rest went to other programs, or to other
virtual machines. It cannot see sharing of a physical core or a cache. Without CPU times, no round counts as disturbed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

import psutil

from bench.machine import cores
from bench.records.record import Telemetry

SHARE = 0.05
"""Threshold: the share of one core that others used during a round. A variant that waits for all its threads loses the
same share."""

LEAST_S = 0.03
"""Minimum CPU time of others. CPU times tick every 10 ms on each core, so that two idle cores show up to 20 ms."""

REASON = "other programs"
"""The name of this disturbance among the throttle reasons of a `Telemetry`."""

IDLE = ("idle", "iowait", "guest", "guest_nice")
"""CPU-time fields that are idle time or part of another field."""


class CpuReading(NamedTuple):
    """Wall time, CPU time of all cores that this process may use, and CPU time of this process, in seconds."""

    at: float
    busy: float
    own: float


class CpuWatch:
    """Checks after each round whether other programs used the cores that the threads of this process need."""

    def __init__(self, threads: int, read: Callable[[], CpuReading] | None = None) -> None:
        self._read = read or look
        self._spare = max(0, (cores() or 1) - threads)  # cores that others may use
        self._before = self._read()
        self._disturbed = 0

    def is_disturbed(self) -> bool:
        """Return whether they did since the last call. Call it once per round."""
        before, self._before = self._before, self._read()
        passed, busy, own = (now - then for now, then in zip(self._before, before, strict=True))
        is_disturbed = busy - own - self._spare * passed > max(SHARE * passed, LEAST_S)
        self._disturbed += is_disturbed
        return is_disturbed

    def telemetry(self, kept: int) -> Telemetry:
        """Return the counts of disturbed rounds, of which `kept` were not repeated."""
        return Telemetry(
            throttle_reasons={REASON: self._disturbed} if self._disturbed else {},
            repeated_rounds=self._disturbed - kept,
            throttled_rounds=kept,
        )


def look() -> CpuReading:
    """Read the CPU times now. Without them, the reading shows only this process."""
    own = time.process_time()
    try:
        times = psutil.cpu_times(percpu=True)
        usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(times))
        used = [times[core] for core in usable]
    except (IndexError, OSError, NotImplementedError):
        return CpuReading(time.perf_counter(), own, own)
    busy = sum(sum(core) - sum(getattr(core, field, 0.0) for field in IDLE) for core in used)
    return CpuReading(time.perf_counter(), busy, own)
