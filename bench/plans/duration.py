"""Estimate how long the processes of a sweep take.

`DurationEstimates` takes records of earlier runs on this kind of machine, and each process of the present run as it
ends. It returns the seconds of the same cell, else the mean of its model, else of all models, else a default.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.plans.profiles import PROFILES, Profile, Sampling
from bench.records.record import Cell, Record, gave_nothing

STARTUP_S, COMPILE_S = 12.0, 45.0
"""Default seconds before a process measures, and for a cold compilation."""


@dataclass
class DurationEstimates:
    """Seconds per process, by cell and by whether it is the first process, which compiles with an empty cache."""

    sampling: Sampling
    seconds: dict[tuple[Cell, bool], float] = field(default_factory=dict, init=False)
    # Total seconds and number of cells by model, and of all models under None.
    _sums: dict[tuple[str | None, bool], tuple[float, int]] = field(default_factory=dict, init=False)

    @classmethod
    def from_records(cls, profile: Profile, records: Iterable[Record]) -> DurationEstimates:
        """Learn from earlier runs: of each cell the newest record of the same profile, else the newest record."""
        estimates = cls(profile.sampling)
        known = [record for record in records if record.seconds is not None and _is_alike(record, profile)]
        known.sort(key=lambda record: (record.profile == profile.name, str(record.measured_at)))
        for record in known:
            estimates.note(record.cell, _was_first(record), record.seconds or 0.0)
        return estimates

    def note(self, cell: Cell, is_first: bool, seconds: float) -> None:
        """Add the duration of one process of the cell, replacing an earlier one."""
        identity = cell.identity
        before = self.seconds.get((identity, is_first))
        self.seconds[identity, is_first] = seconds
        for model in (cell.model, None):
            total, count = self._sums.get((model, is_first), (0.0, 0))
            self._sums[model, is_first] = (total + seconds - (before or 0.0), count + (before is None))

    def of(self, cell: Cell, is_first: bool) -> float:
        """Return the estimated seconds of one process of the cell."""
        known = (
            self.seconds.get((cell.identity, is_first)),
            *(self._mean(model, is_first) for model in (cell.model, None)),
        )
        default = STARTUP_S + self.sampling.max_s + is_first * COMPILE_S
        return next((seconds for seconds in known if seconds is not None), default)

    def _mean(self, model: str | None, is_first: bool) -> float | None:
        total, count = self._sums.get((model, is_first), (0.0, 0))
        return total / count if count else None


def _is_alike(record: Record, profile: Profile) -> bool:
    """Return whether the process measured both variants, by a protocol that takes about as long."""
    earlier = PROFILES.get(record.profile)
    has_fixed_blocks = earlier is not None and earlier.sampling.block_calls is not None
    return has_fixed_blocks == (profile.sampling.block_calls is not None) and not gave_nothing(record)


def _was_first(record: Record) -> bool:
    """Return whether the process compiled with an empty cache."""
    compilation = record.measurement.compilation if record.measurement else None
    return compilation is not None and compilation.cold_s is not None
