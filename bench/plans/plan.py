"""Decide what to measure and in which order: pure functions of a profile, its models, and existing records.

`make_plan` takes a `Profile` and the models to build, and returns a `Plan`. `pending` returns its steps that have no
record yet, in order.
"""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from bench.plans.duration import DurationEstimates
from bench.plans.messages import Recipe
from bench.plans.profiles import PRECISIONS, Profile
from bench.records.record import Cell, Record, gave_nothing


class PlannedCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell to be measured, and how to build its model."""

    cell: Cell
    recipe: Recipe
    command: str

    @property
    def by_content(self) -> PlannedCell:
        """The same without the names and the folder of a local checkpoint."""
        local = self.recipe.local
        if local is None:
            return self
        recipe = msgspec.structs.replace(self.recipe, checkpoint=local.digest)
        return PlannedCell(cell=self.cell.by_content, recipe=recipe, command="")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A profile and the cells to measure with it."""

    profile: Profile
    planned: tuple[PlannedCell, ...]

    @property
    def digest(self) -> str:
        """Six hexadecimal digits that identify the plan, wherever its local checkpoint lies."""
        plan = msgspec.structs.replace(self, planned=tuple(each.by_content for each in self.planned))
        return hashlib.sha256(msgspec.json.encode(plan)).hexdigest()[:6]


def make_plan(profile: Profile, recipes: Sequence[Recipe], device: str) -> Plan:
    """Return a plan of all combinations of the profile's coordinates, with all models of one before the next."""
    if device == "cpu" and profile.cpu_processes:
        profile = msgspec.structs.replace(profile, processes=profile.cpu_processes, cpu_processes=None)
    return Plan(
        profile=profile,
        planned=tuple(
            _planned(profile, recipe, device, precision, batch_size, variant)
            for precision in profile.dtypes
            for batch_size in profile.batch_sizes
            for variant in profile.variants
            for recipe in recipes
        ),
    )


def _planned(
    profile: Profile, recipe: Recipe, device: str, precision: str, batch_size: int, variant: str
) -> PlannedCell:
    spec, local = recipe.spec, recipe.local
    checkpoint = local.name if local else recipe.source
    cell = Cell(
        model=spec.label if spec else checkpoint.rpartition("/")[2],
        checkpoint=checkpoint,
        task=recipe.task,
        device=device,
        batch_size=batch_size,
        variant=variant,
        grad_mode=profile.grad_mode,
        weights=recipe.weights,
        input_size=spec.input_size if spec else None,
        digest=local.digest if local else None,
        model_type=local.model_type if local else None,
        **PRECISIONS[precision],
    )
    source = [local.placeholder, "--name", local.name] if local else [checkpoint]
    model = ["--model", recipe.model] if recipe.model else ["--checkpoint", *source, "--task", recipe.task]
    options = {
        "--weights": recipe.weights,
        "--batch-size": batch_size,
        "--variant": variant,
        "--dtype": precision,
        "--device": device,
        "--malloc": "keep" if profile.keep_memory else "default",
    }
    words = ["python", "-m", "bench", "run", "--profile", profile.name, *model]
    words += ["--shrunken"] if recipe.shrunken else []
    words += [str(word) for option in options.items() for word in option]
    words += ["--allow-busy"] if profile.allow_busy else []
    return PlannedCell(cell=cell, recipe=recipe, command=shlex.join(words))


@dataclass(frozen=True, slots=True)
class Step:
    """One process of one cell."""

    planned: PlannedCell
    process: int
    is_first: bool  # of its cell, on this machine: it compiles with an empty cache


def pending(plan: Plan, records: Iterable[Record], *, forgotten: Sequence[Record] = ()) -> list[Step]:
    """Return the remaining steps in the order of the plan: the first process of every cell, then the second, and so on,
    and all of those that autotune at the end, since each takes as long as many others.

    A cell that has records but no latencies is not repeated unless its records are `forgotten`. Those only use up their
    process numbers.
    """
    uncounted = {(record.cell.identity, record.process) for record in forgotten}
    done, next_process, measured = Counter[Cell](), Counter[Cell](), set[Cell]()
    for record in records:
        cell = record.cell.identity
        next_process[cell] = max(next_process[cell], record.process + 1)
        if (cell, record.process) not in uncounted:
            done[cell] += 1
            if not gave_nothing(record):
                measured.add(cell)
    steps = [
        Step(planned, next_process[cell] + number - done[cell], number == 0)
        for number in range(plan.profile.processes)
        for planned in plan.planned
        if number >= done[cell := planned.cell.identity] and (cell in measured or not done[cell])
    ]
    return sorted(steps, key=lambda step: step.planned.cell.variant.startswith("compile:max-autotune"))


def fitting(steps: Sequence[Step], durations: DurationEstimates, left_s: float) -> list[Step]:
    """Return the steps that fit into `left_s` seconds, one after the other.

    A step that does not fit is skipped, together with the later processes of its cell, which need its compile cache.
    """
    chosen, skipped = [], set[Cell]()
    for step in steps:
        if step.planned.cell not in skipped and (seconds := _seconds(step, durations)) <= left_s:
            chosen.append(step)
            left_s -= seconds
        else:
            skipped.add(step.planned.cell)
    return chosen


def quickest_s(steps: Sequence[Step], durations: DurationEstimates) -> float:
    """Return the estimated seconds of the quickest step that can be taken next."""
    return min(_seconds(step, durations) for step in first_of_each_cell(steps))


def first_of_each_cell(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the first step of each cell. Later ones need its compile cache."""
    seen = set[Cell]()
    for step in steps:
        if step.planned.cell not in seen:
            yield step
        seen.add(step.planned.cell)


def duration_s(steps: Iterable[Step], durations: DurationEstimates) -> float:
    """Return the estimated duration of all steps."""
    return sum(_seconds(step, durations) for step in steps)


def _seconds(step: Step, durations: DurationEstimates) -> float:
    return durations.of(step.planned.cell, step.is_first)
