"""Estimate how long the processes of a sweep take.

`DurationEstimates` takes records of earlier runs on this kind of machine, and those of this run as they come. It
returns the seconds of the same cell, else the mean of its model, else of all models, else a default.

A time budget is for planning: no process begins that is expected to end later. One that takes longer than expected may
overrun the budget by the share `OVERRUN` and is then stopped; nothing of it is kept, since it has no accuracy check and
no compile cost. So a run takes at most `1 + OVERRUN` times its budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean

from bench.plans.profiles import PROFILES, Profile
from bench.records.record import Cell, Record, Status, gave_nothing

STARTUP_S, COMPILE_S = 12.0, 45.0
"""Default seconds before a process measures, and for a cold compilation."""

OVERRUN = 0.5
"""Share of a time budget by which a process that has begun may overrun it."""


def time_budget(seconds: float, preparation_s: float) -> str:
    """Return a time budget in whole minutes that leaves these seconds for measuring.

    `preparation_s` is what checking the machine took this time; next time, it may take twice as long.
    """
    return f"{math.ceil((seconds + 2 * preparation_s) / 60)}m"


@dataclass
class DurationEstimates:
    """Seconds per process of a profile, by cell and by whether it compiles with an empty cache."""

    profile: Profile
    _seconds: dict[tuple[Cell, bool], float] = field(default_factory=dict)

    @classmethod
    def from_records(cls, profile: Profile, records: Iterable[Record]) -> DurationEstimates:
        """Learn from earlier runs: of each cell the newest record of the same profile, else the newest record."""
        estimates = cls(profile)
        for record in sorted(records, key=lambda record: (record.profile == profile.name, str(record.measured_at))):
            estimates.learn(record, _was_first(record))
        return estimates

    @property
    def is_guess(self) -> bool:
        """Whether nothing is known of this kind of machine."""
        return not self._seconds

    def learn(self, record: Record, is_first: bool) -> None:
        """Learn from a process. One that failed tells nothing; one that was stopped may take twice as long."""
        if record.seconds is not None and _tells(record, self.profile):
            is_stopped = record.status is Status.TIMEOUT
            self._seconds[record.cell.identity, is_first] = record.seconds * (2 if is_stopped else 1)

    def of(self, cell: Cell, is_first: bool) -> float:
        """Return the estimated seconds of one process of the cell, at most its time limit."""
        known = self._seconds.get((cell.identity, is_first))
        if known is None:
            alike = [(each.model, seconds) for (each, first), seconds in self._seconds.items() if first == is_first]
            own = [seconds for model, seconds in alike if model == cell.model]
            guess = STARTUP_S + self.profile.sampling.max_s + is_first * COMPILE_S
            known = fmean(own or [seconds for _, seconds in alike] or [guess])
        return min(known, self.profile.timeout_s)


def _tells(record: Record, profile: Profile) -> bool:
    """Return whether the process measured both variants or ran out of time, by a protocol that takes about as long."""
    earlier = PROFILES.get(record.profile)
    has_fixed_blocks = earlier is not None and earlier.sampling.block_calls is not None
    is_alike = has_fixed_blocks == (profile.sampling.block_calls is not None)
    return is_alike and (record.status is Status.TIMEOUT or not gave_nothing(record))


def _was_first(record: Record) -> bool:
    """Return whether the process compiled with an empty cache. One that was stopped does not say."""
    if record.measurement is None:
        return record.process == 0
    compilation = record.measurement.compilation
    return compilation is not None and "cold" in compilation.ready_s
