"""Estimate how long the processes of a sweep take.

`DurationEstimates` takes records of earlier runs on this kind of machine, and those of this run as they come. It
returns the median seconds of the same cell, else of the same model and variant, else of the same variant, each with a
compile cache in the same state; else a default, which is never zero.

A time budget is for planning: no process begins that is expected to end later. One that takes longer than expected may
overrun the budget by the share `OVERRUN` and is then stopped; nothing of it is kept, since it has no accuracy check and
no compile cost. So a run takes at most `1 + OVERRUN` times its budget.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from bench.plans.profiles import PROFILES, Profile
from bench.records.record import Cell, Record, gave_nothing

# Defaults for a machine without records, in seconds. All but the last three are medians of the twelve models of the
# standard profile on two cores of a Xeon; a GPU's host is faster, so they err on the long side there.
AROUND_S = 17.0  # start Python, import torch, build and warm up; after sampling: accuracy, graphs, peaks
WARM_S = 5.0  # with a filled cache, Dynamo still traces, and kernels are loaded
COLD_S = 28.0  # with an empty one, Inductor compiles as well
CONTEXT_S = 2.0  # the first copy to an accelerator creates its context and loads its libraries, in each process
TUNING_S = 8.0  # Triton times the candidates of each kernel at its first run: dozens of kernels, 0.1 s or more each
SEARCH_S = 600.0  # max-autotune compiles and times templates of every product and convolution: minutes

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
    _ended: defaultdict[tuple[Cell, bool], list[float]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def from_records(cls, profile: Profile, records: Iterable[Record]) -> DurationEstimates:
        """Learn from earlier runs."""
        estimates = cls(profile)
        for record in sorted(records, key=lambda record: str(record.measured_at)):
            found = record.measurement
            was_cold = bool(found and found.compilation and "cold" in found.compilation.ready_s)
            estimates.learn(record, was_cold if found else record.process == 0)
        return estimates

    @property
    def is_guess(self) -> bool:
        """Whether nothing is known of this kind of machine."""
        return not self._ended

    def learn(self, record: Record, is_first: bool) -> None:
        """Learn from a process. One that failed tells nothing."""
        theirs, ours = PROFILES.get(record.profile, self.profile).sampling, self.profile.sampling
        is_alike = theirs.block_calls == ours.block_calls and (
            theirs.compares_layouts == ours.compares_layouts or not is_first
        )
        if is_alike and record.seconds is not None and not gave_nothing(record):  # else it takes much longer, or less
            self._ended[record.cell.identity, is_first].append(record.seconds)

    def of(self, cell: Cell, is_first: bool) -> float:
        """Return the estimated seconds of one process of the cell. What is known is at most its time limit."""
        own = cell.identity
        known = {key: median(each) for key, each in self._ended.items()}
        for is_alike in (
            lambda each: each == own,
            lambda each: (each.model, each.variant) == (own.model, own.variant),
            lambda each: each.variant == own.variant,
        ):
            if seconds := [known[key] for key in known if key[1] == is_first and is_alike(key[0])]:
                return min(median(seconds), self.profile.timeout_s)
        sampling, on_cpu = self.profile.sampling, cell.device == "cpu"
        sampling_s = sampling.max_s if on_cpu else 2 * sampling.min_s  # an accelerator needs milliseconds for a call
        compiling_s = COLD_S + (SEARCH_S if "max-autotune" in cell.variant else 0) + (0 if on_cpu else TUNING_S)
        if sampling.compares_layouts:  # compiles once more, for the cause of a gain
            compiling_s *= 2
        return AROUND_S + sampling_s + (compiling_s if is_first else WARM_S) + (0 if on_cpu else CONTEXT_S)
