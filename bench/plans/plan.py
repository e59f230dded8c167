"""Decide what to measure and in which order: pure functions of a profile, its models, and existing records.

`make_plan` takes a `Profile` and the models to build, and returns a `Plan`. `pending` returns its steps that have no
record yet, in order.
"""

from __future__ import annotations

import hashlib
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import msgspec

from bench.plans.checkpoints import PLACEHOLDER
from bench.plans.duration import DurationEstimates
from bench.plans.messages import Recipe
from bench.plans.profiles import PRECISIONS, SIZES, Profile
from bench.records.record import COMPILE_MODES, Cell, Record, Sizes, gave_nothing, variant_of


def artifact_processes(profile: Profile, variant: str) -> int:
    """Return how many processes start from artifacts: of variants that compile the model as a whole."""
    return profile.artifact_processes if variant in map(variant_of, COMPILE_MODES) else 0


class PlannedCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell to be measured, and how to build its model."""

    cell: Cell
    recipe: Recipe
    command: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A profile and the cells to measure with it."""

    profile: Profile
    planned: tuple[PlannedCell, ...]

    @property
    def digest(self) -> str:
        """Six hexadecimal digits that identify the plan, wherever its local checkpoint lies."""
        content = (self.profile, [(each.cell, each.command) for each in self.planned])
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:6]


def make_plan(profile: Profile, recipes: Sequence[Recipe], device: str, threads: int | None = None) -> Plan:
    """Return a plan of all combinations of the profile's coordinates, with all models of one before the next.

    `threads`: of a CPU; by default one a core.
    """
    grid = product(profile.dtypes, profile.batch_sizes, profile.variants, recipes)
    return Plan(profile=profile, planned=tuple(_planned(profile, device, threads, *each) for each in grid))


def _planned(
    profile: Profile,
    device: str,
    threads: int | None,
    precision: str,
    batch_size: int,
    variant: str,
    recipe: Recipe,
) -> PlannedCell:
    spec, local = recipe.spec, recipe.local
    sizes: Sizes | None = None
    if profile.varies_sizes:
        sizes, batch_size = ("images", 1) if spec and spec.takes_any_size else ("batches", SIZES)
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
        threads=threads,
        sizes=sizes,
        input_size=spec.input_size if spec else None,
        digest=local.digest if local else None,
        model_type=local.model_type if local else None,
        **PRECISIONS[precision],
    )
    source = [f"{PLACEHOLDER}{local.name}", "--name", local.name] if local else [checkpoint]
    model = ["--model", recipe.model] if recipe.model else ["--checkpoint", *source, "--task", recipe.task]
    words = ["python", "-m", "bench", "run", "--profile", profile.name, *model]
    words += ["--shrunken"] if recipe.shrunken else []
    words += ["--weights", recipe.weights, "--batch-size", str(batch_size), "--variant", variant]
    words += ["--dtype", precision, "--device", device, "--malloc", "keep" if profile.keep_memory else "default"]
    words += ["--threads", str(threads)] if threads else []
    words += ["--allow-busy"] if profile.allow_busy else []
    return PlannedCell(cell=cell, recipe=recipe, command=shlex.join(words))


@dataclass(frozen=True, slots=True)
class Step:
    """One process of one cell."""

    planned: PlannedCell
    process: int
    is_first: bool  # of its cell, on this machine: it compiles with an empty cache
    from_artifacts: bool = False


def pending(plan: Plan, records: Iterable[Record], *, forgotten: Sequence[Record] = ()) -> list[Step]:
    """Return the remaining steps in the order of the plan: all of one data type and batch size before the next, or of
    one model, and in these the first process of every cell, then the second, and so on.

    A cell that has records but no latencies is not repeated unless its records are `forgotten`. Those only use up their
    process numbers.
    """
    by_cell = defaultdict[Cell, list[Record]](list)
    for record in records:
        by_cell[record.cell.identity].append(record)
    uncounted = {(record.cell.identity, record.process) for record in forgotten}
    steps, groups, profile = list[tuple[int, int, Step]](), dict[tuple[Any, ...], int](), plan.profile
    for planned in plan.planned:
        cell = planned.cell
        alike = (cell.model,) if profile.model_by_model else (cell.precision, cell.batch_size)
        group = groups.setdefault(alike, len(groups))
        own = by_cell[planned.cell.identity]
        counted = [record for record in own if (record.cell.identity, record.process) not in uncounted]
        if counted and all(map(gave_nothing, counted)):
            continue
        done, unused = len(counted), 1 + max((record.process for record in own), default=-1)
        for number in range(done, profile.processes + artifact_processes(profile, cell.variant)):
            step = Step(planned, unused + number - done, number == 0, number >= profile.processes)
            steps.append((group, number, step))
    return [step for _, _, step in sorted(steps, key=lambda each: each[:2])]


def fitting(steps: Sequence[Step], durations: DurationEstimates, left_s: float) -> list[Step]:
    """Return the steps that fit into `left_s` seconds, one after the other.

    A step that does not fit is skipped, together with the later processes of its cell, which need its compile cache.
    """
    chosen, skipped = [], set[Cell]()
    for step in steps:
        seconds = durations.of(step.planned.cell, step.is_first)
        if step.planned.cell not in skipped and seconds <= left_s:
            chosen.append(step)
            left_s -= seconds
        else:
            skipped.add(step.planned.cell)
    return chosen


def first_of_each_cell(steps: Iterable[Step]) -> list[Step]:
    """Return the first step of each cell. Later ones need its compile cache."""
    first = dict[Cell, Step]()
    for step in steps:
        first.setdefault(step.planned.cell, step)
    return [*first.values()]


def duration_s(steps: Iterable[Step], durations: DurationEstimates) -> float:
    """Return the estimated duration of all steps."""
    return sum(durations.of(step.planned.cell, step.is_first) for step in steps)
