"""Estimate how long the processes of a sweep take, and what time budget is enough for one of them.

`DurationEstimates` takes records of earlier runs on this kind of machine, and those of this run as they come. It
returns the seconds of the same cell, else the mean of its model, else of all models, else a default. How long
processes take here, compared with what was expected, scales all figures from elsewhere: a different machine of the same
name may be slower.

A time budget is for planning: no process begins that is expected to end later. One that takes longer than expected may
overrun the budget by the share `OVERRUN` and is then stopped; nothing of it is kept, since it has no accuracy check and
no compile cost. So a run takes at most `1 + OVERRUN` times its budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.plans.profiles import PROFILES, Profile
from bench.records.record import Cell, Compilation, Record, Status, gave_nothing

STARTUP_S, COMPILE_S = 12.0, 45.0
"""Default seconds before a process measures, and for a cold compilation."""

OVERRUN = 0.5
"""Share of a time budget by which a process that has begun may overrun it."""

_LEAST_S = 0.1
"""The resolution of `Record.seconds`."""


def time_budget(seconds: float, preparation_s: float) -> str:
    """Return a time budget in whole minutes that leaves these seconds for measuring.

    `preparation_s` is what checking the machine took this time; next time, it may take twice as long.
    """
    return f"{math.ceil((seconds + 2 * preparation_s) / 60)}m"


@dataclass
class _Durations:
    """Figures by cell and by whether it is the first process, which compiles with an empty cache; and their means."""

    figures: dict[tuple[Cell, bool], float] = field(default_factory=dict)
    # Sum and number of figures by model, and of all models under None.
    _sums: dict[tuple[str | None, bool], tuple[float, int]] = field(default_factory=dict)

    def note(self, cell: Cell, is_first: bool, figure: float) -> None:
        """Add the figure of a cell, replacing an earlier one."""
        before = self.figures.get((cell, is_first))
        self.figures[cell, is_first] = figure
        for model in (cell.model, None):
            total, count = self._sums.get((model, is_first), (0.0, 0))
            self._sums[model, is_first] = (total + figure - (before or 0.0), count + (before is None))

    def of(self, cell: Cell, is_first: bool) -> float | None:
        """Return the figure of the cell, else the mean of its model, else of all, else None."""
        known = self.figures.get((cell, is_first)), self.mean(cell.model, is_first), self.mean(None, is_first)
        return next((figure for figure in known if figure is not None), None)

    def mean(self, model: str | None, is_first: bool) -> float | None:
        """Return the mean of a model, or of all models for None."""
        total, count = self._sums.get((model, is_first), (0.0, 0))
        return total / count if count else None


@dataclass
class DurationEstimates:
    """Seconds per process of a profile, by cell and by whether it is the first process."""

    profile: Profile
    _elsewhere: _Durations = field(default_factory=_Durations, init=False)  # in earlier runs
    _here: _Durations = field(default_factory=_Durations, init=False)  # in this run
    _stopped: set[tuple[Cell, bool]] = field(default_factory=set, init=False)  # which had not ended after that time
    _slowness: _Durations = field(default_factory=_Durations, init=False)  # logarithm of seconds here ÷ expected

    @classmethod
    def from_records(
        cls,
        profile: Profile,
        records: Iterable[Record],
        stopped: Iterable[Record] = (),
        resumed: Iterable[Record] = (),
    ) -> DurationEstimates:
        """Learn from earlier runs: of each cell the newest record of the same profile, else the newest record.

        `stopped`: records of processes that a time budget stopped on this machine; they count until the same process
        of the cell is measured. `resumed`: those of the run that
        goes on here, which may be among `records`.
        """
        estimates, own, ended = cls(profile), _by_age(resumed, profile), dict[tuple[Cell, bool], str]()
        runs = {record.run for record in own}
        for record in _by_age(records, profile):
            ended[record.cell.identity, _was_first(record)] = str(record.measured_at)
            if record.run not in runs:
                estimates._elsewhere.note(record.cell.identity, _was_first(record), record.seconds or 0.0)
        since = (
            record
            for record in _by_age(stopped, profile)
            if str(record.measured_at) > ended.get((record.cell.identity, _was_first(record)), "")
        )
        newest = max(ended.values(), default="")
        for record in [*since, *own]:
            is_telling = record.run in runs or str(record.measured_at) > newest  # else other cells have been measured
            estimates.learn(record, _was_first(record), scales=is_telling)
        return estimates

    @property
    def is_guess(self) -> bool:
        """Whether nothing is known of this kind of machine."""
        return not self._elsewhere.figures and not self._here.figures

    def learn(self, record: Record, is_first: bool, *, scales: bool = True) -> None:
        """Learn from a process of this run. One that failed tells nothing; one that was stopped takes longer."""
        if record.seconds is None or not _tells(record, self.profile):
            return
        self.note(record.cell, is_first, record.seconds, stopped=record.status is Status.TIMEOUT, scales=scales)

    def note(self, cell: Cell, is_first: bool, seconds: float, *, stopped: bool = False, scales: bool = True) -> None:
        """Add the duration of one process of the cell in this run, replacing an earlier one.

        One that was `stopped` after that time is expected to take twice as long, but never longer than its time limit.
        If it `scales`, what is known from elsewhere is expected to take longer, too, or less long.
        """
        key = cell.identity, is_first
        expected = max(self._expected(*key), _LEAST_S)
        if stopped:
            self._stopped.add(key)
            seconds = min(2 * seconds, self.profile.timeout_s)
        else:
            self._stopped.discard(key)
        self._here.note(*key, seconds)
        if scales:
            self._slowness.note(*key, math.log(max(seconds, _LEAST_S) / expected))

    def of(self, cell: Cell, is_first: bool) -> float:
        """Return the estimated seconds of one process of the cell, at most its time limit."""
        key = cell.identity, is_first
        here = self._here.figures.get(key)
        if here is None and key not in self._elsewhere.figures:
            here = self._here.mean(cell.model, is_first)
        seconds = self._expected(*key) * self._factor(is_first) if here is None else here
        return min(seconds, self.profile.timeout_s)

    def enough_s(self, cell: Cell, is_first: bool) -> float:
        """Return the seconds of a time budget that let one process of the cell end, or reach its own time limit.

        If the cell has been measured in this run, it is taken to last at most `1 + OVERRUN` times as long again.
        """
        key = cell.identity, is_first
        is_known = key in self._here.figures and key not in self._stopped
        return max(self.of(cell, is_first), 0.0 if is_known else self.profile.timeout_s / (1 + OVERRUN))

    def _expected(self, cell: Cell, is_first: bool) -> float:
        """Return the seconds that a process would take elsewhere."""
        known = self._elsewhere.of(cell, is_first)
        return STARTUP_S + self.profile.sampling.max_s + is_first * COMPILE_S if known is None else known

    def _factor(self, is_first: bool) -> float:
        """Return how many times as long processes take here as expected: the geometric mean of those known."""
        means = self._slowness.mean(None, is_first), self._slowness.mean(None, not is_first)
        return math.exp(next((mean for mean in means if mean is not None), 0.0))


def _by_age(records: Iterable[Record], profile: Profile) -> list[Record]:
    """Return what tells how long processes take, the most telling record last."""
    known = [record for record in records if record.seconds is not None and _tells(record, profile)]
    return sorted(known, key=lambda record: (record.profile == profile.name, str(record.measured_at)))


def _tells(record: Record, profile: Profile) -> bool:
    """Return whether the process measured both variants or ran out of time, by a protocol that takes about as long."""
    earlier = PROFILES.get(record.profile)
    has_fixed_blocks = earlier is not None and earlier.sampling.block_calls is not None
    is_alike = has_fixed_blocks == (profile.sampling.block_calls is not None)
    return is_alike and (record.status is Status.TIMEOUT or not gave_nothing(record))


def _was_first(record: Record) -> bool:
    """Return whether the process compiled with an empty cache. One that was stopped, or compiled before its turn, does
    not say."""
    if record.measurement is None:
        return record.process == 0
    compilation = record.measurement.compilation
    if compilation == Compilation():
        return record.process == 0
    return compilation is not None and compilation.cold_s is not None
