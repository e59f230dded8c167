"""What is to be measured, and in which order: pure functions of a profile, its models, and the records that there are.

Enter a `Profile` and what to build; leave a `Plan`, and of that the steps which no record tells about yet: one after
the other (`pending`), or for several workers at once (`Agenda`).

    python -m bench run --profile standard --dry-run
"""

from __future__ import annotations

import hashlib
import math
import shlex
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench.plans.duration import DurationEstimates
from bench.plans.messages import Recipe
from bench.plans.profiles import Profile
from bench.records.record import Cell, Record, as_name, gave_nothing


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A cell to be measured, and how to build its model."""

    cell: Cell
    recipe: Recipe
    command: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A profile's constants, and the cells that they are applied to."""

    profile: Profile
    planned: tuple[Planned, ...]

    @property
    def digest(self) -> str:
        """Six hexadecimal digits that differ for plans that differ."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:6]


def make_plan(profile: Profile, recipes: Sequence[Recipe], device: str) -> Plan:
    """Every combination of the profile's coordinates, all models of one combination before the next."""
    return Plan(
        profile=profile,
        planned=tuple(
            _planned(profile, recipe, device, dtype, batch_size, compile_mode)
            for dtype in profile.dtypes
            for batch_size in profile.batch_sizes
            for compile_mode in profile.compile_modes
            for recipe in recipes
        ),
    )


def _planned(profile: Profile, recipe: Recipe, device: str, dtype: str, batch_size: int, compile_mode: str) -> Planned:
    spec = recipe.spec
    # Of a local checkpoint only the directory's own name is told: where it lies is nobody's business.
    checkpoint = spec.checkpoint if spec else _public_name(str(recipe.checkpoint))
    cell = Cell(
        model=spec.label if spec else checkpoint.rpartition("/")[2],
        checkpoint=checkpoint,
        task=recipe.task,
        device=device,
        dtype=dtype,
        batch_size=batch_size,
        compile_mode=compile_mode,
        dynamic=profile.dynamic,
        weights=recipe.weights,
        input_size=spec.input_size if spec else None,
    )
    model = ["--model", recipe.model] if recipe.model else ["--checkpoint", checkpoint, "--task", recipe.task]
    extras = [*(["--shrunken"] if recipe.shrunken else []), "--weights", recipe.weights]
    coordinates = [
        "--batch-size",
        str(batch_size),
        "--compile-mode",
        compile_mode,
        "--dtype",
        dtype,
        "--device",
        device,
        "--malloc",
        "keep" if profile.keep_memory else "default",
    ]
    if profile.dynamic is not None:
        coordinates += ["--dynamic", str(profile.dynamic).lower()]
    if profile.allow_busy:
        coordinates += ["--allow-busy"]
    words = ["python", "-m", "bench", "run", "--profile", profile.name, *model, *extras, *coordinates]
    return Planned(cell=cell, recipe=recipe, command=shlex.join(words))


def _public_name(checkpoint: str) -> str:
    return as_name(Path(checkpoint).resolve().name) if Path(checkpoint).is_dir() else checkpoint


@dataclass(frozen=True, slots=True)
class Step:
    """The next thing to do: one process of one cell."""

    planned: Planned
    process: int
    is_first: bool  # of its cell: compiles with an empty cache


@dataclass(frozen=True, slots=True)
class CellProgress:
    """What the records say about one cell: what planning needs of them, without their samples."""

    done: int = 0  # processes
    next_process: int = 0
    has_latencies: bool = False
    node: str | None = None  # of a fleet, that the last process ran on

    def plus(self, record: Record, *, counts: bool = True) -> CellProgress:
        """With one more record. One that doesn't count only takes its number."""
        return CellProgress(
            done=self.done + counts,
            next_process=max(self.next_process, record.process + 1),
            has_latencies=self.has_latencies or (counts and not gave_nothing(record)),
            node=record.node,
        )

    @property
    def has_failed(self) -> bool:
        """Whether the cell gave nothing at all: out of memory, a crash, a time-out."""
        return self.done > 0 and not self.has_latencies


UNTOUCHED = CellProgress()


def progress_by_cell(records: Iterable[Record], forgotten: Sequence[Record] = ()) -> dict[Cell, CellProgress]:
    """By the identity of the cell. Records that are `forgotten` do not count."""
    told: dict[Cell, CellProgress] = {}
    uncounted = {(record.cell.identity, record.process) for record in forgotten}
    for record in records:
        identity = record.cell.identity
        told[identity] = told.get(identity, UNTOUCHED).plus(record, counts=(identity, record.process) not in uncounted)
    return told


def pending(
    plan: Plan, records: Iterable[Record], *, forgotten: Sequence[Record] = (), pace: DurationEstimates | None = None
) -> list[Step]:
    """What is still to be done, in order: the first process of every cell, then the second …

    A cell that gave nothing at all is done, unless its records are `forgotten`. With a `pace`, because time is limited,
    cells come as `by_use` puts them, else as they are planned.
    """
    return _steps(plan, progress_by_cell(records, forgotten), pace)


def _steps(plan: Plan, told: Mapping[Cell, CellProgress], pace: DurationEstimates | None) -> list[Step]:
    planned = by_use(plan.planned, pace) if pace else plan.planned
    tallied = [(each, told.get(each.cell.identity, UNTOUCHED)) for each in planned]
    return [
        Step(each, tally.next_process + ahead, is_first=number == 0)
        for number in range(plan.profile.processes)
        for each, tally in tallied
        if not tally.has_failed and (ahead := number - tally.done) >= 0
    ]


def by_use(planned: Sequence[Planned], pace: DurationEstimates) -> list[Planned]:
    """Cells in the order in which a limited time is spent best: whenever it ends, what is done tells the most.

    One combination of data type, batch size and compile mode comes after the other, as planned. In each comes the
    quickest model of every task, then the next quickest of every task: as many models as the time holds, of all tasks.
    """
    ranks = {combination: rank for rank, combination in enumerate(dict.fromkeys(map(_combination, planned)))}
    quickest_first = sorted(planned, key=lambda each: (pace.of(each.cell, is_first=True), _pixels_by_parameters(each)))
    turns: Counter[tuple[Any, ...]] = Counter()
    placed = []
    for each in quickest_first:
        combination = _combination(each)
        placed.append((ranks[combination], turns[combination, each.cell.task], each))
        turns[combination, each.cell.task] += 1
    return [each for *_, each in sorted(placed, key=lambda place: place[:2])]


def _combination(planned: Planned) -> tuple[Any, ...]:
    cell = planned.cell
    return (cell.dtype, cell.batch_size, cell.compile_mode)


def _pixels_by_parameters(planned: Planned) -> float:
    """What a model's work grows with: tells quick from slow ones where no time is known."""
    spec = planned.recipe.spec
    return spec.parameters * math.prod(spec.input_size) if spec else math.inf


def fitting(steps: Sequence[Step], pace: DurationEstimates, left_s: float) -> list[Step]:
    """The steps that so many seconds hold, one after the other: what takes too long gives way to what does not, and so
    do the later processes of its cell, which need its cache."""
    held, left_out = [], set[Cell]()
    for step in steps:
        if step.planned.cell not in left_out and (seconds := _seconds(step, pace)) <= left_s:
            held.append(step)
            left_s -= seconds
        else:
            left_out.add(step.planned.cell)
    return held


def duration_s(steps: Iterable[Step], pace: DurationEstimates) -> float:
    """How long all of them will take."""
    return sum(_seconds(step, pace) for step in steps)


def _seconds(step: Step, pace: DurationEstimates) -> float:
    return pace.of(step.planned.cell, step.is_first)


class Agenda:
    """What is still to be done where several nodes take it: one process of a cell at a time, all on one node.

    The later processes of a cell find its compile cache there, as they would in a run on one machine. First processes
    come first. Holds a tally for each cell and no record, so that a hundred thousand cells are no burden.
    """

    def __init__(
        self,
        plan: Plan,
        progress: Mapping[Cell, CellProgress] | None = None,
        durations: DurationEstimates | None = None,
    ) -> None:
        self._processes = plan.profile.processes
        self._tallies = dict(progress or {})
        self._nodes: frozenset[str] = frozenset()
        self._returned: list[tuple[Step, str]] = []  # and the node where it came to nothing
        self._open: deque[Step] = deque()  # for whoever comes
        self._at: dict[str, deque[Step]] = {}  # for the node that began the cell
        self.left = 0  # processes that have not ended
        for planned in by_use(plan.planned, durations) if durations else plan.planned:
            tally = self._tallies.get(planned.cell.identity, UNTOUCHED)
            if not tally.has_failed:
                self.left += max(0, self._processes - tally.done)
                self._enlist(planned, tally)

    def _enlist(self, planned: Planned, tally: CellProgress) -> None:
        if tally.done < self._processes:
            step = Step(planned, tally.next_process, is_first=tally.done == 0)
            queue = self._at.setdefault(tally.node, deque()) if tally.node else self._open
            queue.append(step)

    def take(self, node: str, fits: Callable[[Step], bool] = lambda _: True) -> Step | None:
        """The next step for this node; None when there is none for it at present. What doesn't fit is passed over for
        good: time only runs out."""
        for place, (step, where) in enumerate(self._returned):
            if where != node or self._nodes <= {node}:
                del self._returned[place]
                return step
        for queue in filter(None, (self._open, self._at.get(node))):
            while queue:
                if fits(step := queue.popleft()):
                    return step
        return None

    def end(self, step: Step, record: Record) -> None:
        """The step has ended with this record: the next process of its cell follows, unless it gave nothing."""
        cell = step.planned.cell.identity
        tally = self._tallies[cell] = self._tallies.get(cell, UNTOUCHED).plus(record)
        self.left -= 1
        if tally.has_failed:
            self.left -= max(0, self._processes - tally.done)
        else:
            self._enlist(step.planned, tally)

    def give_back(self, step: Step, node: str) -> None:
        """The step came to nothing on this node: another takes it before all else, or this one if there is no other."""
        self._returned.append((step, node))

    def keep_to(self, nodes: Iterable[str]) -> None:
        """These nodes are there: what waits for any other is for whoever comes."""
        self._nodes = frozenset(nodes)
        for gone in set(self._at) - self._nodes:
            self._open.extend(self._at.pop(gone))
