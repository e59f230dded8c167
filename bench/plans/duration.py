"""How long the processes of a sweep take: what the same cell took, or its model, or the others; or else a guess.

Enter records of earlier runs on this kind of machine, and each process of the present one as it ends; leave seconds.

    python -m bench run --profile standard --dry-run
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.plans.profiles import PROFILES, Profile, Sampling
from bench.records.record import Cell, Record

STARTUP_S, COMPILE_S = 12.0, 45.0
"""What a process takes before it measures, and a cold compilation, as long as nothing is known."""


@dataclass
class DurationEstimates:
    """Seconds by cell, and by whether its compile cache was empty."""

    sampling: Sampling
    seconds: dict[tuple[Cell, bool], float] = field(default_factory=dict, init=False)
    # By model, and under None those of all.
    _sums: dict[tuple[str | None, bool], tuple[float, int]] = field(default_factory=dict, init=False)

    @classmethod
    def from_records(cls, profile: Profile, records: Iterable[Record]) -> DurationEstimates:
        """From earlier runs: of a cell the newest counts, with this profile if there is one."""
        pace = cls(profile.sampling)
        known = [record for record in records if record.seconds is not None and _is_alike(record, profile)]
        known.sort(key=lambda record: (record.profile == profile.name, str(record.measured_at)))
        for record in known:
            pace.note(record.cell, _was_first(record), record.seconds or 0.0)
        return pace

    def note(self, cell: Cell, is_first: bool, seconds: float) -> None:
        """A process of this cell took so long."""
        identity = cell.identity
        before = self.seconds.get((identity, is_first))
        self.seconds[identity, is_first] = seconds
        for model in (cell.model, None):
            total, count = self._sums.get((model, is_first), (0.0, 0))
            self._sums[model, is_first] = (total + seconds - (before or 0.0), count + (before is None))

    def of(self, cell: Cell, is_first: bool) -> float:
        """How long such a process will take."""
        known = (
            self.seconds.get((cell.identity, is_first)),
            *(self._mean(each, is_first) for each in (cell.model, None)),
        )
        guess = STARTUP_S + self.sampling.max_s + is_first * COMPILE_S
        return next((seconds for seconds in known if seconds is not None), guess)

    def _mean(self, model: str | None, is_first: bool) -> float | None:
        total, count = self._sums.get((model, is_first), (0.0, 0))
        return total / count if count else None


def _is_alike(record: Record, profile: Profile) -> bool:
    """Whether the process measured to its end, and by a protocol that takes about as long."""
    earlier = PROFILES.get(record.profile)
    fixed = earlier is not None and earlier.sampling.block_calls is not None
    return fixed == (profile.sampling.block_calls is not None) and bool(
        record.measurement and record.measurement.compiled
    )


def _was_first(record: Record) -> bool:
    """Whether it compiled with an empty cache."""
    compilation = record.measurement.compilation if record.measurement else None
    return compilation is not None and compilation.cold_s is not None
