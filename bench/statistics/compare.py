"""Compare two runs: which cells became faster or slower.

Takes the records of two sides, A before and B after; returns a `Comparison`: for every cell that both sides have, the
change of its latency with a 95% interval and a verdict, and what else differs between the sides. Processes are pooled
as on the pages: the newest run of a cell counts, and the cell has its worst status.

    python -m bench compare A B
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.errors import AtlasError
from bench.records.record import COMPARABLE, RESULTS, Cell, Measurement, Record, Samples, Status, worst
from bench.records.run_file import read, run_files, run_of
from bench.statistics.cells import Cells
from bench.statistics.intervals import UNKNOWN, Estimate, Means, difference
from bench.statistics.processes import Processes, VariantName
from bench.statistics.verdicts import Verdict, judge

CONDITIONS = ("cpu", "threads")
"""Fields of `Environment` that move a latency although the software is the same, as settings do. Where the CPU is the
device, another one is another device."""

VERSIONS = ("torch", "transformers", "accelerator", "driver", "python", "platform", "commit")
"""Fields whose effect is what a comparison is usually made for."""

_FAILURES = frozenset(Status) - {*COMPARABLE, Status.THROTTLED, Status.SKIPPED}


# ── Two sides ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Device(NamedTuple):
    """What a latency depends on above all; of a CPU, also its cores, chip and instruction sets."""

    type: str
    name: str
    cores: int | None = None
    cpu: str | None = None
    instruction_sets: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: Record) -> Device:
        """Return the device of a record."""
        on, kind = record.environment, record.cell.device
        return cls(kind, on.device_name, *((on.cores, on.cpu, on.instruction_sets) if kind == "cpu" else ()))


Key = tuple[Cell, Device]


@dataclass(frozen=True)
class Side:
    """The newest records of each cell, one record per process."""

    name: str
    cells: Mapping[Key, Sequence[Record]]
    superseded: int = 0  # cells of which older runs are passed over

    @property
    def devices(self) -> list[str]:
        """Distinct devices in words."""
        devices = (device for _, device in self.cells)
        return sorted({f"{each.name} ({each.cores} cores)" if each.cores else each.name for each in devices})


def read_side(name: str, results: Path = RESULTS) -> Side:
    """Return the side that `name` means: a run file, a folder of them, or either below `results`, or the name of a run.

    Raises `AtlasError` where nothing is there, no record is in it, or one is broken.
    """
    paths = [path for path in (Path(name), results / name) if path.exists()][:1]
    known = {} if paths else {run_of(path): path for path in run_files(results)}
    if not paths and name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.3) or sorted(known)[-3:]
        hint = f", or the name of a run, such as {' or '.join(near)}" if near else ""
        remedy = f"give a path (it may be relative to bench/results){hint}"
        raise AtlasError("there is no such run file, folder or run", where=name, remedy=remedy)
    files = [file for path in paths or [known[name]] for file in run_files(path)]
    records = [record for file in files for record in read(file)]
    if not records:
        raise AtlasError("contains no records", where=name, remedy="measure something first: python -m bench run")
    return make_side(name, records)


def make_side(name: str, records: Iterable[Record]) -> Side:
    """Group records by cell and device, and keep those of the newest run. Raises `AtlasError` for what cannot be."""
    found: defaultdict[Key, defaultdict[tuple[str, str], list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        cell = record.cell if record.origin == "published" else record.cell.identity  # a source may have several sizes
        group = found[cell, Device.of(record)][record.run, record.environment.torch]
        if any(each.process == record.process for each in group):
            raise AtlasError(
                f"a process of {record.cell.model} is recorded twice",
                where=record.run,
                remedy="run python -m bench check to see where",
            )
        group.append(record)
    return Side(
        name=name,
        cells={key: max(runs.values(), key=_age) for key, runs in found.items()},
        superseded=sum(len(runs) > 1 for runs in found.values()),
    )


def _age(run: Sequence[Record]) -> tuple[datetime, str, str, str]:
    """Return what orders the runs of a cell: the moment of the newest record, or the date and version of a source."""
    never = datetime.min.replace(tzinfo=UTC)
    newest = max(run, key=lambda record: record.measured_at or never)
    date = newest.source.date if newest.source else ""
    return (newest.measured_at or never, date, newest.run, newest.environment.torch)


# ── Results ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Outcome(_Value, frozen=True):
    """The result of one side for a cell. Latencies in ms, nan where there is none."""

    status: Status
    reason: str | None
    latency_ms: float
    low_ms: float
    high_ms: float
    processes: int


class Change(_Value, frozen=True):
    """One cell that both sides have. `change` is B ÷ A − 1: −0.05 is a latency that fell by 5%."""

    cell: Cell
    device_name: str
    before: Outcome
    after: Outcome
    change: Estimate
    verdict: Verdict

    @property
    def fails_now(self) -> bool:
        """Whether it worked before, and fails now."""
        return self.before.status in COMPARABLE and self.after.status in _FAILURES


class Difference(_Value, frozen=True):
    """A setting or version that differs between the sides, and in how many of the cells that both have."""

    name: str
    before: str
    after: str
    cells: int
    is_condition: bool  # it moves a latency by itself: the sides are not like for like


class Totals(_Value, frozen=True):
    """One side as a whole."""

    name: str
    devices: list[str]
    cells: int
    passed: int
    superseded: int


class Comparison(_Value, frozen=True):
    """Two sides, cell by cell. `overall` is the geometric mean of the changes; `control` that of the other variant."""

    variant: VariantName
    before: Totals
    after: Totals
    cells: list[Change]
    only_before: list[Cell]
    only_after: list[Cell]
    differences: list[Difference]
    overall: Estimate
    control: Estimate

    def regressions(self, threshold: float) -> list[Change]:
        """Return the cells that are slower by more than `threshold` (0.05 is 5%), and those that fail now."""
        return [
            each
            for each in self.cells
            if each.fails_now or (each.verdict == "slower" and each.change.value > threshold)
        ]


def compare(before: Side, after: Side, variant: VariantName = "compiled") -> Comparison:
    """Compare each cell that both sides have. Raises `AtlasError` where nothing can be compared."""
    shared = [key for key in before.cells if key in after.cells]
    if not shared:
        raise _nothing_shared(before, after)
    sides = [[side.cells[key] for key in shared] for side in (before, after)]
    comparable = np.array(
        [all(worst(group).status in COMPARABLE for group in pair) for pair in zip(*sides, strict=True)]
    )
    (one, was), (two, now) = (_logs(side, variant) for side in sides)
    log, low, high = np.where(comparable, difference(two, one), np.nan)
    other: VariantName = "eager" if variant == "compiled" else "compiled"
    return Comparison(
        variant=variant,
        before=_totals(before),
        after=_totals(after),
        cells=[
            Change(
                cell=group[0].cell,
                device_name=group[0].environment.device_name,
                before=was[at],
                after=now[at],
                change=Estimate(*np.expm1([log[at], low[at], high[at]]).tolist()),
                verdict=judge(Estimate(*np.exp([-log[at], -high[at], -low[at]]).tolist())),
            )
            for at, group in enumerate(sides[1])
        ],
        only_before=[cell for cell, device in before.cells if (cell, device) not in after.cells],
        only_after=[cell for cell, device in after.cells if (cell, device) not in before.cells],
        differences=_differences(*sides),
        overall=_overall([one, two], comparable),
        control=_overall([_logs(side, other)[0] for side in sides], comparable),
    )


def _nothing_shared(before: Side, after: Side) -> AtlasError:
    where = f"{before.name} and {after.name}"
    theirs = {(_in_any_mode(cell), device[:3]): (cell, device) for cell, device in after.cells}
    for cell, device in before.cells:
        if found := theirs.get((_in_any_mode(cell), device[:3])):
            named = [(_chip(each), str(mode.grad_mode or "unknown")) for mode, each in ((cell, device), found)]
            values = zip(("the CPU", "the gradient mode"), *named, strict=True)
            told = [f"{name} is {one} in A and {two} in B" for name, one, two in values if one != two]
            remedy = "measure both on one CPU and in one gradient mode: each moves a latency by itself"
            return AtlasError(f"cannot be compared: {'; '.join(told)}", where=where, remedy=remedy)
    if not {device for _, device in before.cells} & {device for _, device in after.cells}:
        return AtlasError(
            f"measured on different devices ({', '.join(before.devices)}; {', '.join(after.devices)}): "
            "a change cannot be told apart from the effect of the device",
            where=where,
            remedy="compare runs of the same device; the pages show devices side by side",
        )
    return AtlasError(
        f"no case is in both: {_sample(before)} in one, {_sample(after)} in the other",
        where=where,
        remedy="measure the same models, batch sizes, variants and data types again",
    )


def _in_any_mode(cell: Cell) -> Cell:
    return msgspec.structs.replace(cell, grad_mode=None)


def _chip(device: Device) -> str:
    sets = f" ({', '.join(device.instruction_sets)})" if device.instruction_sets else ""
    return f"{device.cpu or 'unknown'}{sets}"


def _sample(side: Side) -> str:
    cell = next(iter(side.cells))[0]
    more = f" and {len(side.cells) - 1} more" if len(side.cells) > 1 else ""
    return f"{cell.model} (batch size {cell.batch_size}, {cell.variant}, {cell.precision}){more}"


def _totals(side: Side) -> Totals:
    passed = sum(worst(group).status is Status.PASS for group in side.cells.values())
    return Totals(
        name=side.name, devices=side.devices, cells=len(side.cells), passed=passed, superseded=side.superseded
    )


def _logs(groups: Sequence[Sequence[Record]], variant: VariantName) -> tuple[Means, list[Outcome]]:
    """Return the mean logarithms of the latencies of a variant, pooled as on the pages, and how its cells ended."""
    several = [_samples(group, variant) for group in groups]
    sizes, runs = np.array([len(each) for each in several]), [group[0].run for group in groups]
    cells = Cells(
        Processes([Measurement(eager=samples) for each in several for samples in each]),
        sizes,
        np.full(len(groups), np.nan),
        np.array([runs.index(run) for run in runs]),
    )
    latency = cells.latency("eager")
    outcomes = [
        Outcome(status=end.status, reason=end.reason, latency_ms=ms, low_ms=low, high_ms=high, processes=processes)
        for end, ms, low, high, processes in zip(
            map(worst, groups), *(each.tolist() for each in (*latency, sizes)), strict=True
        )
    ]
    return cells.logs("eager")._replace(mean=np.log(latency[0])), outcomes


def _samples(records: Sequence[Record], variant: VariantName) -> list[Samples]:
    """Return the variants with the batch size of their cell: a source may have another one for one of the two."""
    found = [(getattr(record.measurement, variant), record.cell) for record in records if record.measurement]
    timed = [(each, cell) for each, cell in found if each and (each.rounds_ms or each.published_ms)]
    return [each for each, cell in timed if each.batch_size in (None, cell.batch_size)]


def _overall(sides: Sequence[Means], comparable: NDArray[np.bool_]) -> Estimate:
    """Return the mean change over the cells that have a latency on both sides."""
    known = comparable & ~np.isnan([side.mean for side in sides]).any(axis=0)
    if not known.any():
        return UNKNOWN
    before, after = (side.where(known) for side in sides)
    return Estimate(*(float(end[0]) for end in np.expm1(difference(after, before, overall=True))))


# ── What else differs ───────────────────────────────────────────────────────────────────────────────────────────────


def _differences(before: Sequence[Sequence[Record]], after: Sequence[Sequence[Record]]) -> list[Difference]:
    """Return what differs, conditions first, each pair of values once."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for one, two in zip(map(_surroundings, before), map(_surroundings, after), strict=True):
        counted.update((name, one.get(name, "unknown"), two.get(name, "unknown")) for name in {**one, **two})
    found = [
        Difference(name=name, before=one, after=two, cells=cells, is_condition=name not in (*VERSIONS, "profile"))
        for (name, one, two), cells in counted.items()
        if one != two
    ]
    return sorted(found, key=lambda each: not each.is_condition)


def _surroundings(records: Sequence[Record]) -> dict[str, str]:
    """Return what a cell was measured with, by name; several values of its processes are joined."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for record in records:
        on = record.environment
        known: dict[str, Any] = {name: getattr(on, name) for name in (*CONDITIONS, *VERSIONS)} | on.settings
        for name, value in {**known, "profile": record.profile}.items():
            if value is not None:
                values[name].add(str(value))
    return {name: " and ".join(sorted(each)) for name, each in values.items()}
