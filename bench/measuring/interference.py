"""What other programs take of the CPU while a round is timed.

The kernel's account of the cores, less what this process used itself, is what others had, and what the host of a
virtual machine withheld. A sibling thread of the same core, or a neighbour in the cache, shows in no account. What the
system does not tell disturbs nothing. No torch here.

    python -m bench run --device cpu --model ViT
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
"""Of a core, taken by others during a round: variants that wait for all their threads lose as much."""

LEAST_S = 0.03
"""The account ticks every 10 ms on each core: on two quiet ones it is wrong by up to 20 ms."""

REASON = "other programs"
"""Among the reasons of a `Telemetry`."""

IDLE = ("idle", "iowait", "guest", "guest_nice")
"""Fields that are no use of a core, or are contained in another."""


class CpuReading(NamedTuple):
    """Seconds on the wall clock, of all cores that this process may use, and of its own threads."""

    at: float
    busy: float
    own: float


class CpuWatch:
    """Looks after every round whether others used the cores that the threads of this process need."""

    def __init__(self, threads: int, read: Callable[[], CpuReading] | None = None) -> None:
        self._read = read or look
        self._spare = max(0, (cores() or 1) - threads)  # where others are welcome
        self._before = self._read()
        self._disturbed = 0

    def is_disturbed(self) -> bool:
        """Whether they did since the last look; call it once a round."""
        before, self._before = self._before, self._read()
        passed, busy, own = (now - then for now, then in zip(self._before, before, strict=True))
        is_disturbed = busy - own - self._spare * passed > max(SHARE * passed, LEAST_S)
        self._disturbed += is_disturbed
        return is_disturbed

    def telemetry(self, kept: int) -> Telemetry:
        """How many rounds were disturbed; `kept` of them were not repeated."""
        return Telemetry(
            throttle_reasons={REASON: self._disturbed} if self._disturbed else {},
            repeated_rounds=self._disturbed - kept,
            throttled_rounds=kept,
        )


def look() -> CpuReading:
    """Now. Without an account of the cores, nobody else uses them."""
    own = time.process_time()
    try:
        account = psutil.cpu_times(percpu=True)
        mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(account))
        used = [account[core] for core in mine]
    except (IndexError, OSError, NotImplementedError):
        return CpuReading(time.perf_counter(), own, own)
    busy = sum(sum(each) - sum(getattr(each, field, 0.0) for field in IDLE) for each in used)
    return CpuReading(time.perf_counter(), busy, own)
