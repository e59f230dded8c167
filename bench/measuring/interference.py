"""Detect what disturbs a round while it is timed. Imports no torch.

`RoundWatch` compares the kernel's CPU times with those of this process after each round, since the rest went to other
programs, or to other virtual machines. It cannot see sharing of a physical core or a cache. It also reads the sensors
of an accelerator, whose throttle reasons are named here.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import psutil

from bench.machine import cores
from bench.records.record import Telemetry

if TYPE_CHECKING:
    from bench.measuring.sensors import Sensors  # imports torch

SHARE = 0.05  # of one core, used by others during a round: a variant that waits for all its threads loses the same
LEAST_S = 0.03  # CPU time of others: times tick every 10 ms on each core, so that two idle cores show up to 20 ms

READ_EVERY_S = 0.1
"""Time between readings of an accelerator, outside of timed calls. One takes well below a millisecond, so that they
cost less than 1%. While the device is throttled, it is read after every round."""

DEVICE, PROGRAMS = "the device slowed itself down", "other programs"
"""What may disturb a round."""

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

IDLE = ("idle", "iowait", "guest", "guest_nice")  # CPU-time fields that are idle time or part of another field


class CpuReading(NamedTuple):
    """Wall time, CPU time of all cores that this process may use, and CPU time of this process, in seconds."""

    at: float
    busy: float
    own: float


class RoundWatch:
    """Tells after each round whether other programs used the cores that `threads` need, or the device was throttled."""

    def __init__(
        self, threads: int, sensors: Sensors | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._spare = max(0, (cores() or 1) - threads)  # cores that others may use
        self._before = look()
        self._disturbed: Counter[str] = Counter()
        self._sensors, self._clock = sensors, clock
        self._next_reading, self._is_throttled = -math.inf, False
        self._readings: dict[str, list[int]] = {"clock": [], "temperature": []}
        self._reasons: Counter[str] = Counter()

    def disturbance(self) -> str | None:
        """Return what disturbed the time since the last call, or None. Call it once per round."""
        before, self._before = self._before, look()
        passed, busy, own = (now - then for now, then in zip(self._before, before, strict=True))
        found = None
        if busy - own - self._spare * passed > max(SHARE * passed, LEAST_S):
            found = PROGRAMS
        if self._sensors and (self._is_throttled or self._clock() >= self._next_reading):
            self._read(self._sensors)
        if self._is_throttled:
            found = DEVICE
        if found:
            self._disturbed[found] += 1
        return found

    def _read(self, sensors: Sensors) -> None:
        self._next_reading = self._clock() + READ_EVERY_S
        for question, readings in self._readings.items():
            if (value := sensors.read(question)) is not None:
                readings.append(value)
        reasons = sensors.read("slowdown") or frozenset()
        self._reasons.update(reasons)
        self._is_throttled = not reasons.isdisjoint(SLOWDOWNS)

    def telemetry(self, kept: int) -> Telemetry:
        """Return all readings and reasons, and the counts of disturbed rounds, of which `kept` were not repeated."""
        programs = {PROGRAMS: self._disturbed[PROGRAMS]} if self._disturbed[PROGRAMS] else {}
        return Telemetry(
            clock_mhz=tuple(self._readings["clock"]),
            temperature_c=tuple(self._readings["temperature"]),
            throttle_reasons=dict(sorted(self._reasons.items())) | programs,
            repeated_rounds=self._disturbed.total() - kept,
            throttled_rounds=kept,
            unreadable=tuple(sorted(self._sensors.unreadable)) if self._sensors else (),
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


def throttle_reasons(bits: int) -> frozenset[str]:
    """Return the names of the slowdowns and limits in NVML's bit mask. Other bits, such as idling, are ignored."""
    return frozenset(name for name, bit in {**SLOWDOWNS, **LIMITS}.items() if bits & bit)
