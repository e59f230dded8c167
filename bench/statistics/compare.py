"""Compare two runs: which cells became faster or slower.

Takes the records of two sides, A before and B after; returns a `Comparison`: for every cell that both sides have, the
change of its latency with a 95% interval and a verdict, and what else differs between the sides. Processes are pooled
as on the pages: the newest run of a cell counts, and the cell has its worst status.

    python -m bench compare A B
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.choices import pick
from bench.errors import AtlasError
from bench.records.record import COMPARABLE, RESULTS, TIMM, Cell, Record, Samples, Status, worst
from bench.records.run_file import read, run_files, run_of
from bench.statistics.cells import Cells
from bench.statistics.intervals import UNKNOWN, Estimate, Means, difference
from bench.statistics.processes import VariantName
from bench.statistics.verdicts import verdicts, verdicts_without_interval

VERSIONS = ("torch", "transformers", "accelerator", "driver", "python", "platform", "commit")
"""Fields of `Environment` whose effect is what a comparison is usually made for."""

CONDITIONS = ("cpu", "threads")
"""Fields that move a latency although the software is the same, as settings do."""

OF_THE_CELL = frozenset({"float32_matmul_precision", "cuda_matmul_allow_tf32"})
"""Settings in records of schema 10 and before that the cell decides."""

SIDES = ("before", "after")

_FAILURES = frozenset(Status) - {*COMPARABLE, Status.THROTTLED, Status.SKIPPED}


class Device(NamedTuple):
    """What a latency depends on above all; of a CPU, also its cores, chip and instruction sets."""

    name: str
    cores: int | None = None
    cpu: str | None = None
    instruction_sets: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: Record) -> Device:
        """Return the device of a record."""
        on = record.environment
        return cls(on.device_name, *((on.cores, on.cpu, on.instruction_sets) if record.cell.device == "cpu" else ()))


@dataclass(frozen=True)
class Side:
    """The newest records of each cell, one record per process."""

    name: str
    cells: Mapping[tuple[Cell, Device], Sequence[Record]]


def read_side(name: str, results: Path = RESULTS) -> Side:
    """Return the side that `name` means: a run file, a folder of them, or either below `results`, or the name of a run.

    Raises `AtlasError` where nothing is there, no record is in it, or one is broken.
    """
    path = next((path for path in (Path(name), results / name) if path.exists()), None)
    if path and path.suffix == ".csv":
        remedy = f"import it first: python -m bench import timm {name} --out records"
        raise AtlasError("is a CSV file, and no records", where=name, remedy=remedy)
    if path is None:
        known = {run_of(path): path for path in run_files(results)}
        path = known[pick("run", name, known, where="A and B", remedy=", or give the path of a run file or folder")]
    records = [record for file in run_files(path) for record in read(file)]
    if not records:
        raise AtlasError("contains no records", where=name, remedy="measure something first: python -m bench run")
    return make_side(name, records)


def make_side(name: str, records: Iterable[Record]) -> Side:
    """Group records by cell and device, and keep those of the newest run, of a source the newest version of torch."""
    found = defaultdict[tuple[Cell, Device], defaultdict[tuple[str, str], list[Record]]](lambda: defaultdict(list))
    for record in records:
        cell = record.cell if record.origin == "published" else record.cell.identity  # a source may have several sizes
        if cell.checkpoint.startswith(TIMM):
            cell = msgspec.structs.replace(cell, model=cell.architecture, checkpoint=TIMM)
        found[cell, Device.of(record)][record.run, record.environment.torch].append(record)

    def age(run: Sequence[Record]) -> tuple[str, ...]:
        first = run[0]
        measured_at = max(str(record.measured_at or "") for record in run)
        return measured_at, first.source.date if first.source else "", first.run, first.environment.torch

    return Side(name, {key: max(runs.values(), key=age) for key, runs in found.items()})


@dataclass(frozen=True)
class Comparison:
    """Two sides, cell by cell.

    `cells` has one row for each cell that both sides have: the `cell` and its `device_name`; of each side (`before_…`
    and `after_…`) the `status`, its `reason`, the number of `processes`, and the latency in `ms`; the `change`
    B ÷ A − 1 (−0.05 is a latency that fell by 5%) with `change_low` and `change_high`; the `verdict`; and whether it
    `fails_now`. `differences` has the values of both sides by the name of what differs. `overall` is the geometric mean
    of the changes, `control` that of the other variant.
    """

    variant: VariantName
    before: Side
    after: Side
    cells: pd.DataFrame
    differences: Mapping[str, tuple[str, str]]
    overall: Estimate
    control: Estimate

    @property
    def judged(self) -> int:
        """The number of cells with a verdict."""
        return int((self.cells["verdict"] != "unknown").sum())

    def regressions(self, threshold: float) -> pd.DataFrame:
        """Return the rows that are slower by more than `threshold` (0.05 is 5%), and those that fail now."""
        is_slower = (self.cells["verdict"] == "slower") & (self.cells["change"] > threshold)
        return self.cells[is_slower | self.cells["fails_now"]]


def compare(before: Side, after: Side, variant: VariantName | None = None) -> Comparison:
    """Compare each cell that both sides have: eager if no variant is given and a side has no compiled latencies.

    Raises `AtlasError` where nothing can be compared.
    """
    records = [[each for group in side.cells.values() for each in group] for side in (before, after)]
    if variant is None:
        both = all(any(each.measurement and each.measurement.compiled for each in group) for group in records)
        variant = "compiled" if both else "eager"
    shared = [key for key in before.cells if key in after.cells]
    if not shared:
        raise AtlasError(
            f"no case is in both: {_first_case(before)} in A, {_first_case(after)} in B",
            where=f"{before.name} and {after.name}",
            remedy="measure the same cases again on the same chip and in the same gradient mode: each moves a latency",
        )
    table = pd.DataFrame({"cell": [cell for cell, _ in shared], "device_name": [device.name for _, device in shared]})
    sides = {name: [side.cells[key] for key in shared] for name, side in zip(SIDES, (before, after), strict=True)}
    logs = []
    for name, groups in sides.items():
        ends, cells = [worst(group) for group in groups], _pooled(groups, variant)
        table[f"{name}_status"] = [end.status for end in ends]
        table[f"{name}_reason"] = [end.reason or "" for end in ends]
        table[f"{name}_processes"] = (cells.at >= 0).sum(axis=1)
        table[f"{name}_ms"] = cells.latency(variant)[0]
        logs.append(_logs(cells, variant))
    # A published row is skipped if it lacks the other variant alone. Without a latency, it is not compared anyway.
    comparable = table[["before_status", "after_status"]].isin((*COMPARABLE, Status.SKIPPED)).all(axis=1).to_numpy()
    change, low, high = np.where(comparable, difference(logs[1], logs[0]), np.nan)
    table["change"], table["change_low"], table["change_high"] = np.expm1([change, low, high])
    is_published = [all(group[0].origin == "published" for group in pair) for pair in zip(*sides.values(), strict=True)]
    own = verdicts(np.exp(-high), np.exp(-low))
    table["verdict"] = np.where(is_published, verdicts_without_interval(np.exp(-change)), own)
    table["fails_now"] = table["before_status"].isin(COMPARABLE) & table["after_status"].isin(_FAILURES)
    other: VariantName = "eager" if variant == "compiled" else "compiled"
    one, two = (_surroundings([record for group in groups for record in group]) for groups in sides.values())
    values = {name: (one.get(name, "unknown"), two.get(name, "unknown")) for name in {**one, **two}}
    return Comparison(
        variant=variant,
        before=before,
        after=after,
        cells=table,
        differences={name: pair for name, pair in values.items() if pair[0] != pair[1]},
        overall=_overall(logs, comparable),
        control=_overall([_logs(_pooled(groups, other), other) for groups in sides.values()], comparable),
    )


def _first_case(side: Side) -> str:
    (cell, device), *others = side.cells
    more = f" and {len(others)} more" if others else ""
    chip = ", ".join(str(each) for each in (device.cores, device.cpu, *device.instruction_sets) if each)
    mode = cell.grad_mode or "any gradient mode"
    return f"{cell.title} ({mode}) on {device.name}{f' ({chip})' if chip else ''}{more}"


def _pooled(groups: Sequence[Sequence[Record]], variant: VariantName) -> Cells:
    """Return the cells of one side, pooled as on the pages.

    A latency counts at the batch size of its cell alone: a source may have another one for eager or compiled.
    """

    runs = [group[0].run for group in groups]
    found = [[each.measurement for each in group if each.measurement and _is_timed(each, variant)] for group in groups]
    return Cells(found, runs=[runs.index(run) for run in runs])


def _is_timed(record: Record, variant: VariantName) -> bool:
    samples: Samples | None = getattr(record.measurement, variant, None)
    if samples is None or not (samples.rounds_ms or samples.published_mean_ms):
        return False
    return samples.batch_size in (None, record.cell.batch_size)


def _logs(cells: Cells, variant: VariantName) -> Means:
    """Return the logarithms of the latencies, of published ones too, with their scatter."""
    with np.errstate(divide="ignore"):
        return cells.logs(variant)._replace(mean=np.log(cells.latency(variant)[0]))


def _overall(sides: Sequence[Means], comparable: NDArray[np.bool_]) -> Estimate:
    """Return the mean change over the cells that have a latency on both sides."""
    known = comparable & ~np.isnan([side.mean for side in sides]).any(axis=0)
    if not known.any():
        return UNKNOWN
    before, after = (side.where(known) for side in sides)
    return Estimate(*(float(end[0]) for end in np.expm1(difference(after, before, overall=True))))


def _surroundings(records: Iterable[Record]) -> dict[str, str]:
    """Return what the cells were measured with, by name; several values are joined."""
    values = defaultdict[str, set[str]](set)
    for record in records:
        on = record.environment
        known = {name: getattr(on, name) for name in (*CONDITIONS, *VERSIONS)} | on.settings
        for name, value in {**known, "profile": record.profile}.items():
            if value is not None and name not in OF_THE_CELL:
                values[name].add(str(value))
    return {name: " and ".join(sorted(each)) for name, each in values.items()}
