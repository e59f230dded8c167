"""Compare two runs: which cells became faster or slower.

Takes the records of two sides, A before and B after; returns a `Comparison`: for every cell that both sides have, the
change of its latency with a 95% interval and a verdict, and what else differs between the sides. Processes are pooled
as on the pages: the newest run of a cell counts, and the cell has its worst status.

    python -m bench compare A B
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.errors import AtlasError
from bench.records.record import COMPARABLE, RESULTS, Cell, Environment, Record, Samples, Status, worst
from bench.records.run_file import read, run_files, run_of
from bench.statistics.cells import latency, process_latencies
from bench.statistics.intervals import UNKNOWN, Estimate, mean_ratio
from bench.statistics.processes import VariantName
from bench.statistics.ragged import Array
from bench.statistics.verdicts import Verdict, judge

CONDITIONS = ("threads", "settings")
"""Fields of `Environment` that move a latency although the software is the same: who changes them compares settings."""

VERSIONS = ("torch", "transformers", "accelerator", "driver", "python", "platform", "commit")
"""Fields whose effect is what a comparison is usually made for."""

_FAILURES = frozenset(Status) - {*COMPARABLE, Status.THROTTLED, Status.SKIPPED}

Device = tuple[str, str, int | None]  # type, name, and the cores of a CPU
Key = tuple[Cell, Device]


# ── Two sides ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Side:
    """The newest records of each cell, one record per process."""

    name: str
    cells: Mapping[Key, tuple[Record, ...]]
    superseded: int = 0  # cells of which older runs are passed over

    @property
    def devices(self) -> list[str]:
        """Distinct devices in words."""
        return sorted({f"{name} ({cores} cores)" if cores else name for _, (_, name, cores) in self.cells})


def read_side(name: str, results: Path = RESULTS) -> Side:
    """Return the side that `name` means: a run file, a folder of them, or either below `results`, or the name of a run.

    Raises `AtlasError` where nothing is there, no record is in it, or one is broken.
    """
    files = [file for path in _paths(name, results) for file in run_files(path)]
    records = [record for file in files for record in read(file)]
    if not records:
        raise AtlasError("contains no records", where=name, remedy="measure something first: python -m bench run")
    return make_side(name, records)


def _paths(name: str, results: Path) -> list[Path]:
    if found := [path for path in (Path(name), results / name) if path.exists()][:1]:
        return found
    known = {run_of(path): path for path in run_files(results)}
    if name in known:
        return [known[name]]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.3) or sorted(known)[-3:]
    hint = f", or the name of a run, such as {' or '.join(near)}" if near else ""
    remedy = f"give a path (it may be relative to bench/results){hint}"
    raise AtlasError("there is no such run file, folder or run", where=name, remedy=remedy)


def make_side(name: str, records: Iterable[Record]) -> Side:
    """Group records by cell and device, and keep those of the newest run. Raises `AtlasError` for what cannot be."""
    found: defaultdict[Key, defaultdict[tuple[str, str], list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        _sound(record)
        cell = record.cell if record.origin == "published" else record.cell.identity  # a source may have several sizes
        key = (cell, _device(record))
        found[key][record.run, record.environment.torch].append(record)
    for runs in found.values():
        for (run, _), group in runs.items():
            if len({record.process for record in group}) < len(group):
                raise AtlasError(
                    f"a process of {group[0].cell.model} is recorded twice",
                    where=run,
                    remedy="run python -m bench check to see where",
                )
    return Side(
        name=name,
        cells={key: tuple(_newest(list(runs.values()))) for key, runs in found.items()},
        superseded=sum(len(runs) > 1 for runs in found.values()),
    )


def _device(record: Record) -> Device:
    environment = record.environment
    return (record.cell.device, environment.device_name, environment.cores if record.cell.device == "cpu" else None)


def _newest(runs: Sequence[Sequence[Record]]) -> Sequence[Record]:
    """Return the run with the newest record; among published ones, that with the newest date and version."""
    never = datetime.min.replace(tzinfo=UTC)

    def age(run: Sequence[Record]) -> tuple[datetime, str, str, str]:
        newest = max(run, key=lambda record: record.measured_at or never)
        date = newest.source.date if newest.source else ""
        return (newest.measured_at or never, date, newest.run, newest.environment.torch)

    return max(runs, key=age)


def _sound(record: Record) -> None:
    for variant in (record.measurement.eager, record.measurement.compiled) if record.measurement else ():
        if variant and any(not 0 < latency < math.inf for latency in process_latencies([variant])):
            raise AtlasError(
                f"a latency of {record.cell.model} is not a positive number",
                where=record.run,
                remedy="run python -m bench check to see where",
            )


# ── Results ───────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    def has_new_status(self) -> bool:
        """Whether its status has changed."""
        return self.before.status is not self.after.status

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


class Replication(_Value, frozen=True):
    """The A/A check: how many `pairs` of eager replicates there are, and how many are called faster or slower."""

    pairs: int
    different: int

    def __str__(self) -> str:
        return f"{self.different} of {self.pairs} eager pairs differ" if self.pairs else "no eager pairs to compare"


class Totals(_Value, frozen=True):
    """One side as a whole."""

    name: str
    devices: tuple[str, ...]
    cells: int
    passed: int
    superseded: int
    replication: Replication


class Comparison(_Value, frozen=True):
    """Two sides, cell by cell. `overall` is the geometric mean of the changes; `control` that of the other variant."""

    variant: VariantName
    before: Totals
    after: Totals
    cells: tuple[Change, ...]
    only_before: tuple[Cell, ...]
    only_after: tuple[Cell, ...]
    differences: tuple[Difference, ...]
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
    other: VariantName = "eager" if variant == "compiled" else "compiled"
    pairs = [(before.cells[key], after.cells[key]) for key in shared]
    return Comparison(
        variant=variant,
        before=_totals(before),
        after=_totals(after),
        cells=tuple(_change(one, two, variant) for one, two in pairs),
        only_before=tuple(cell for cell, device in before.cells if (cell, device) not in after.cells),
        only_after=tuple(cell for cell, device in after.cells if (cell, device) not in before.cells),
        differences=_differences(pairs),
        overall=_mean_change(pairs, variant),
        control=_mean_change(pairs, other),
    )


def _nothing_shared(before: Side, after: Side) -> AtlasError:
    where = f"{before.name} and {after.name}"
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
        remedy="measure the same models, batch sizes, modes and data types again",
    )


def _sample(side: Side) -> str:
    cell = next(iter(side.cells))[0]
    more = f" and {len(side.cells) - 1} more" if len(side.cells) > 1 else ""
    return f"{cell.model} (batch size {cell.batch_size}, {cell.compile_mode}, {cell.precision}){more}"


def _totals(side: Side) -> Totals:
    return Totals(
        name=side.name,
        devices=tuple(side.devices),
        cells=len(side.cells),
        passed=sum(worst(group).status is Status.PASS for group in side.cells.values()),
        superseded=side.superseded,
        replication=replicate(itertools.chain.from_iterable(side.cells.values())),
    )


# ── One cell ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _change(before: Sequence[Record], after: Sequence[Record], variant: VariantName) -> Change:
    comparable = _is_comparable(before) and _is_comparable(after)
    pair = [(process_latencies(_variants(before, variant)), process_latencies(_variants(after, variant)))]
    ratio = mean_ratio(pair) if comparable else UNKNOWN
    return Change(
        cell=after[0].cell,
        device_name=after[0].environment.device_name,
        before=_outcome(before, variant),
        after=_outcome(after, variant),
        change=_as_change(ratio),
        verdict=judge(ratio),
    )


def _outcome(records: Sequence[Record], variant: VariantName) -> Outcome:
    standing, variants = worst(records), _variants(records, variant)
    pooled = latency(variants)
    return Outcome(
        status=standing.status,
        reason=standing.reason,
        latency_ms=pooled.value,
        low_ms=pooled.low,
        high_ms=pooled.high,
        processes=process_latencies(variants).size,
    )


def _mean_change(pairs: Sequence[tuple[Sequence[Record], Sequence[Record]]], variant: VariantName) -> Estimate:
    """Return the mean change over the cells that have a latency of this variant on both sides."""
    comparable = [each for each in pairs if all(map(_is_comparable, each))]
    latencies = [
        (process_latencies(_variants(before, variant)), process_latencies(_variants(after, variant)))
        for before, after in comparable
    ]
    return _as_change(mean_ratio([pair for pair in latencies if pair[0].size and pair[1].size]))


def _as_change(before_over_after: Estimate) -> Estimate:
    ratio = before_over_after
    return Estimate(1 / ratio.value - 1, 1 / ratio.high - 1, 1 / ratio.low - 1)


def _variants(records: Sequence[Record], variant: VariantName) -> list[Samples]:
    """Return the variants with the batch size of their cell: a source may have another one for one of the two."""
    found = [(getattr(record.measurement, variant), record.cell) for record in records if record.measurement]
    return [each for each, cell in found if each and each.batch_size in (None, cell.batch_size)]


def _is_comparable(records: Sequence[Record]) -> bool:
    return worst(records).status in COMPARABLE


# ── What else differs ───────────────────────────────────────────────────────────────────────────────────────────────


def _differences(pairs: Sequence[tuple[Sequence[Record], Sequence[Record]]]) -> tuple[Difference, ...]:
    """Return what differs, conditions first, each pair of values once."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for before, after in pairs:
        one, two = _surroundings(before), _surroundings(after)
        counted.update((name, one.get(name, "unknown"), two.get(name, "unknown")) for name in {**one, **two})
    found = [
        Difference(name=name, before=one, after=two, cells=cells, is_condition=name not in (*VERSIONS, "profile"))
        for (name, one, two), cells in counted.items()
        if one != two
    ]
    return tuple(sorted(found, key=lambda each: not each.is_condition))


def _surroundings(records: Sequence[Record]) -> dict[str, str]:
    """Return what a cell was measured with, by name; several values of its processes are joined."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for record in records:
        for name, value in {**_flat(record.environment), "profile": record.profile}.items():
            values[name].add(value)
    return {name: " and ".join(sorted(each)) for name, each in values.items()}


def _flat(environment: Environment) -> dict[str, str]:
    known: dict[str, Any] = {name: getattr(environment, name) for name in (*CONDITIONS, *VERSIONS)}
    settings = known.pop("settings")
    return {name: str(value) for name, value in {**known, **settings}.items() if value is not None}


# ── A/A ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def replicate(records: Iterable[Record]) -> Replication:
    """Compare eager with itself: between the compile modes of a run, or the processes of the only one.

    Eager does the same whatever is compiled beside it, so each compile mode of a model, batch size and data type is a
    replicate. Where there is one mode alone, its even processes are compared with its odd ones. At most one pair in
    twenty should be called different: more say that the intervals are too narrow, or the machine busy.
    """
    same: defaultdict[tuple[Any, ...], defaultdict[Cell, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        eager = msgspec.structs.replace(record.cell, variant="eager")
        same[eager, _device(record), record.environment.torch, record.run][record.cell].append(record)
    verdicts = [judge(mean_ratio([pair])) for cells in same.values() for pair in _pairs(list(cells.values()))]
    judged = [each for each in verdicts if each != "unknown"]
    return Replication(pairs=len(judged), different=sum(each in {"faster", "slower"} for each in judged))


def _pairs(replicates: Sequence[Sequence[Record]]) -> list[tuple[Array, Array]]:
    latencies = [process_latencies(_variants(each, "eager")) for each in replicates]
    if len(latencies) == 1:
        return [(latencies[0][::2], latencies[0][1::2])]
    return list(itertools.combinations(latencies, 2))
