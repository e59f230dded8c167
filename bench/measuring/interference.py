"""Detect what disturbs a round while it is timed. Imports no torch.

`RoundWatch` asks several watches after each round, and counts what they saw. `CpuWatch` sees other programs: it
compares the kernel's CPU times with those of this process, since the rest went to other programs, or to other virtual
machines. It cannot see sharing of a physical core or a cache. Without CPU times, no round counts as disturbed.
`bench.measuring.sensors` has the watch of a device, whose throttle reasons are named here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec
import psutil

from bench.machine import cores
from bench.records.record import Telemetry

SHARE = 0.05
"""Threshold: the share of one core that others used during a round. A variant that waits for all its threads loses the
same share."""

LEAST_S = 0.03
"""Minimum CPU time of others. CPU times tick every 10 ms on each core, so that two idle cores show up to 20 ms."""

PROGRAMS = "other programs"
"""The name of their disturbance among the throttle reasons of a `Telemetry`."""

SLOWDOWNS = {
    "hardware slowdown": 0x08,
    "software thermal slowdown": 0x20,
    "hardware thermal slowdown": 0x40,
    "hardware power brake": 0x80,
}
"""Slowdowns of an NVIDIA device by heat or a fault, with their bits in NVML's mask. A round measured during one is
repeated."""

LIMITS = {"application clocks": 0x02, "power cap": 0x04, "synchronised boost": 0x10, "display clocks": 0x100}
"""Limits of the device and its settings. They are recorded, and no round is repeated for them."""

IDLE = ("idle", "iowait", "guest", "guest_nice")
"""CPU-time fields that are idle time or part of another field."""


class Watch(Protocol):
    """Sees one kind of disturbance."""

    def is_disturbed(self) -> bool:
        """Return whether there was one since the last call. Call it once per round."""

    def telemetry(self) -> Telemetry:
        """Return what was read and found, without the numbers of rounds."""


class RoundWatch:
    """Asks all watches after each round, and counts the rounds that any of them saw disturbed."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = watches
        self._disturbed = 0

    def is_disturbed(self) -> bool:
        """Return whether anything disturbed the device since the last call. Call it once per round."""
        found = [watch.is_disturbed() for watch in self._watches]  # each compares with its last look
        self._disturbed += any(found)
        return any(found)

    def telemetry(self, kept: int) -> Telemetry:
        """Return all readings and reasons, and the counts of disturbed rounds, of which `kept` were not repeated."""
        first, *others = (watch.telemetry() for watch in self._watches)
        reasons = {reason: count for each in (first, *others) for reason, count in each.throttle_reasons.items()}
        return msgspec.structs.replace(
            first, throttle_reasons=reasons, repeated_rounds=self._disturbed - kept, throttled_rounds=kept
        )


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
        """See `Watch.is_disturbed`."""
        before, self._before = self._before, self._read()
        passed, busy, own = (now - then for now, then in zip(self._before, before, strict=True))
        is_disturbed = busy - own - self._spare * passed > max(SHARE * passed, LEAST_S)
        self._disturbed += is_disturbed
        return is_disturbed

    def telemetry(self) -> Telemetry:
        """See `Watch.telemetry`."""
        return Telemetry(throttle_reasons={PROGRAMS: self._disturbed} if self._disturbed else {})


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


def throttle_reasons(bits: int) -> frozenset[str]:
    """Return the names of the slowdowns and limits in NVML's bit mask. Other bits, such as idling, are ignored."""
    return frozenset(name for name, bit in {**SLOWDOWNS, **LIMITS}.items() if bits & bit)
