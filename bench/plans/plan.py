"""Decide what to measure and in which order: pure functions of a profile, its models, and existing records.

`make_plan` takes a `Profile` and the models to build, and returns a `Plan`. `pending` returns its steps that have no
record yet, in order; `Agenda` hands them out to several nodes.
"""

from __future__ import annotations

import hashlib
import math
import shlex
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
            _planned(profile, recipe, device, precision, batch_size, compile_mode)
            for precision in profile.dtypes
            for batch_size in profile.batch_sizes
            for compile_mode in profile.compile_modes
            for recipe in recipes
        ),
    )


def _planned(
    profile: Profile, recipe: Recipe, device: str, precision: str, batch_size: int, compile_mode: str
) -> PlannedCell:
    spec, local = recipe.spec, recipe.local
    checkpoint = local.name if local else recipe.source
    cell = Cell(
        model=spec.label if spec else checkpoint.rpartition("/")[2],
        checkpoint=checkpoint,
        task=recipe.task,
        device=device,
        batch_size=batch_size,
        compile_mode=compile_mode,
        dynamic=profile.dynamic,
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
        "--compile-mode": compile_mode,
        "--dtype": precision,
        "--device": device,
        "--malloc": "keep" if profile.keep_memory else "default",
    }
    if profile.dynamic is not None:
        options["--dynamic"] = str(profile.dynamic).lower()
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


@dataclass(frozen=True, slots=True)
class CellProgress:
    """Summary of the records of one cell, as far as planning needs it."""

    done: int = 0  # number of processes
    next_process: int = 0
    has_latencies: bool = False
    node: str | None = None  # that ran the last process, in a fleet

    def plus(self, record: Record, *, counts: bool = True) -> CellProgress:
        """Return the progress with one more record. Unless it `counts`, it only uses up its process number."""
        return CellProgress(
            done=self.done + counts,
            next_process=max(self.next_process, record.process + 1),
            has_latencies=self.has_latencies or (counts and not gave_nothing(record)),
            node=record.node,
        )

    @property
    def has_failed(self) -> bool:
        """Whether the cell has records but no latencies: out of memory, a crash, a time-out."""
        return self.done > 0 and not self.has_latencies


UNTOUCHED = CellProgress()


def progress_by_cell(records: Iterable[Record], forgotten: Sequence[Record] = ()) -> dict[Cell, CellProgress]:
    """Return the progress of each cell, by `Cell.identity`. Records in `forgotten` do not count."""
    progress: dict[Cell, CellProgress] = {}
    uncounted = {(record.cell.identity, record.process) for record in forgotten}
    for record in records:
        cell = record.cell.identity
        progress[cell] = progress.get(cell, UNTOUCHED).plus(record, counts=(cell, record.process) not in uncounted)
    return progress


def pending(
    plan: Plan,
    records: Iterable[Record],
    *,
    forgotten: Sequence[Record] = (),
    durations: DurationEstimates | None = None,
) -> list[Step]:
    """Return the remaining steps, the most useful ones first: the first process of every cell, then the second, and so
    on, and all of those that autotune at the end, since each takes as long as many others.

    A failed cell is not repeated unless its records are `forgotten`. With `durations`, for a limited time, cells come
    in the order of `by_use`, else in the order of the plan.
    """
    known = progress_by_cell(records, forgotten)
    ordered = by_use(plan.planned, durations) if durations else plan.planned
    cells = [(planned, known.get(planned.cell.identity, UNTOUCHED)) for planned in ordered]
    steps = [
        Step(planned, progress.next_process + ahead, number == 0)
        for number in range(plan.profile.processes)
        for planned, progress in cells
        if not progress.has_failed and (ahead := number - progress.done) >= 0
    ]
    return sorted(steps, key=lambda step: _autotunes(step.planned.cell))


def _autotunes(cell: Cell) -> bool:
    return cell.compile_mode.startswith("max-autotune")


def by_use(planned: Sequence[PlannedCell], durations: DurationEstimates) -> list[PlannedCell]:
    """Return the cells in the best order for a limited time: as many models as possible, of all tasks.

    Combinations of data type, batch size and compile mode keep their planned order. Within one, the fastest model of
    every task comes first, then the second fastest of every task, and so on.
    """

    def duration(item: PlannedCell) -> tuple[float, float]:
        return durations.of(item.cell, is_first=True), _pixels_by_parameters(item)

    ranks = {combination: rank for rank, combination in enumerate(dict.fromkeys(map(_combination, planned)))}
    turns: Counter[tuple[Any, ...]] = Counter()
    placed = []
    for item in sorted(planned, key=duration):
        combination = _combination(item)
        placed.append((ranks[combination], turns[combination, item.cell.task], item))
        turns[combination, item.cell.task] += 1
    return [item for *_, item in sorted(placed, key=lambda place: place[:2])]


def _combination(planned: PlannedCell) -> tuple[Any, ...]:
    cell = planned.cell
    return (cell.precision, cell.batch_size, cell.compile_mode)


def _pixels_by_parameters(planned: PlannedCell) -> float:
    """Return a proxy of the model's work, which orders models without a known duration."""
    spec = planned.recipe.spec
    return spec.parameters * math.prod(spec.input_size) if spec else math.inf


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


def surest(steps: Sequence[Step], durations: DurationEstimates, left_s: float) -> Step | None:
    """Return the first step that is sure to end in time, else the first one that is expected to, else None."""
    for seconds in (_enough_s, _seconds):
        if in_time := [step for step in first_of_each_cell(steps) if seconds(step, durations) <= left_s]:
            return in_time[0]
    return None


def enough_s(steps: Sequence[Step], durations: DurationEstimates) -> float:
    """Return the seconds that are enough for one of the steps (see `DurationEstimates.enough_s`)."""
    return min(_enough_s(step, durations) for step in first_of_each_cell(steps))


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


def compiles_ahead(step: Step, profile: Profile) -> bool:
    """Return whether a process may compile before its turn. Then nobody learns how long compiling takes it."""
    cell, first = step.planned.cell, (profile.batch_sizes[0], profile.compile_modes[0])
    is_timed = step.is_first and (cell.batch_size, cell.compile_mode) == first
    return profile.compiles_ahead and not is_timed and not _autotunes(cell)


def duration_s(steps: Iterable[Step], durations: DurationEstimates) -> float:
    """Return the estimated duration of all steps."""
    return sum(_seconds(step, durations) for step in steps)


def _seconds(step: Step, durations: DurationEstimates) -> float:
    return durations.of(step.planned.cell, step.is_first)


def _enough_s(step: Step, durations: DurationEstimates) -> float:
    return durations.enough_s(step.planned.cell, step.is_first)


class Agenda:
    """The remaining steps of a plan, handed out to several nodes.

    The processes of a cell run one at a time and on one node, where later ones find its compile cache. First processes
    go out first. Memory per cell is one `CellProgress` and no record, which suffices for a hundred thousand cells.
    """

    def __init__(
        self,
        plan: Plan,
        progress: Mapping[Cell, CellProgress] | None = None,
        durations: DurationEstimates | None = None,
    ) -> None:
        self._processes = plan.profile.processes
        self._progress = dict(progress or {})
        self._nodes: frozenset[str] = frozenset()
        self._returned: list[tuple[Step, str]] = []  # with the node that gave it back
        self._open: deque[Step] = deque()  # for any node
        self._at: dict[str, deque[Step]] = {}  # for the node that began the cell
        self.left = 0  # number of processes that have not ended
        ordered = by_use(plan.planned, durations) if durations else plan.planned
        for planned in sorted(ordered, key=lambda planned: _autotunes(planned.cell)):
            cell = self._progress.get(planned.cell.identity, UNTOUCHED)
            if not cell.has_failed:
                self.left += max(0, self._processes - cell.done)
                self._enqueue(planned, cell)

    def _enqueue(self, planned: PlannedCell, progress: CellProgress) -> None:
        if progress.done < self._processes:
            step = Step(planned, progress.next_process, is_first=progress.done == 0)
            queue = self._at.setdefault(progress.node, deque()) if progress.node else self._open
            queue.append(step)

    def take(self, node: str, fits: Callable[[Step], bool] = lambda _: True) -> Step | None:
        """Return the next step for this node, or None if there is none at present.

        A step for which `fits` is false is dropped for good, since the remaining time only shrinks.
        """
        for index, (step, failed_on) in enumerate(self._returned):
            if failed_on != node or self._nodes <= {node}:
                del self._returned[index]
                return step
        for queue in filter(None, (self._open, self._at.get(node))):
            while queue:
                if fits(step := queue.popleft()):
                    return step
        return None

    def end(self, step: Step, record: Record) -> None:
        """Note that a step has ended with this record. Queue the next process of its cell unless the cell failed."""
        cell = step.planned.cell.identity
        progress = self._progress[cell] = self._progress.get(cell, UNTOUCHED).plus(record)
        self.left -= 1
        if progress.has_failed:
            self.left -= max(0, self._processes - progress.done)
        else:
            self._enqueue(step.planned, progress)

    def give_back(self, step: Step, node: str) -> None:
        """Return a step that this node could not run. Another node takes it next, or this one if it is the only one."""
        self._returned.append((step, node))

    def keep_to(self, nodes: Iterable[str]) -> None:
        """Set the nodes that are present. Steps queued for any other node become open to all."""
        self._nodes = frozenset(nodes)
        for gone in set(self._at) - self._nodes:
            self._open.extend(self._at.pop(gone))
