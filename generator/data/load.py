"""The only reader of results: run files enter, one tidy table leaves, with one row per cell and run.

The processes of a cell are pooled (`generator.data.pooling`, once for each content of a file:
`generator.data.pool_cache`);
whoever comes after sees medians, intervals and statuses, never a record. A failure is a row like any other: it has a
status and a reason, and no figures.

    python -c "from generator.data.load import load; print(load().rows)"
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.errors import AtlasError
from bench.records.build_times import BuildTimes
from bench.records.build_times import newest as newest_build_times
from bench.records.injected_faults import Faults
from bench.records.injected_faults import newest as newest_faults
from bench.records.record import RESULTS
from bench.records.repeatability import Repeatability
from bench.records.repeatability import newest as newest_repeatability
from bench.records.walkthrough import Walkthrough
from bench.records.walkthrough import newest as newest_walkthrough
from generator.cache import CACHE
from generator.data.columns import Indices, Texts
from generator.data.lines import moment
from generator.data.lint import Finding, lint
from generator.data.pool_cache import Archive, digest_of, look_at, read_part, write_part
from generator.data.pooling import Pooled
from generator.data.registry import COLUMNS as COLUMNS
from generator.data.registry import COORDINATES as COORDINATES
from generator.data.rows import ORDERS, Row, Rows

HISTORY = 5_000
"""Rows up to which pages have those of former runs beside the newest. With more, they have of each cell the newest run,
and the newest with the other `malloc`."""


@dataclass(frozen=True, eq=False)
class Results:
    """All that pages can show. `shown` has `COLUMNS` as they were pooled; nobody changes them. They hold every run's
    row of a cell up to `HISTORY` rows, beyond that the newest ones alone: so no page grows with the years.
    """

    shown: Pooled
    records: int
    runs: tuple[str, ...]  # by name
    superseded: int = 0  # rows that `shown` leaves out, since a newer run has their cell
    walkthrough: Walkthrough | None = None  # the newest
    repeatability: Repeatability | None = None  # likewise
    faults: Faults | None = None  # likewise
    build_times: BuildTimes | None = None  # likewise

    @cached_property
    def rounds_ms(self) -> Sequence[Mapping[str, Sequence[float]]]:
        """By label, for each variant of a measured row the median of each round, in the order of time, one process
        after
        the other; empty for a row without."""
        variants = {variant: lists.lists() for variant, lists in self.shown.rounds.items()}
        return [
            {variant: lists[row] for variant, lists in variants.items() if lists[row]} for row in range(len(self.shown))
        ]

    @cached_property
    def rows(self) -> Rows:
        """The rows as dictionaries of plain values, each at the position that is its label."""
        columns = [self._plain(name, kind) for name, kind in COLUMNS.items()]
        lines = zip(range(len(self.shown)), *columns, strict=True)
        return [dict(zip(("row", *COLUMNS), values, strict=True)) for values in lines]

    def _plain(self, name: str, kind: type) -> list[Any]:
        size, texts = len(self.shown), self.shown.texts
        if kind is str:
            return texts[name].plain() if name in texts else [""] * size
        figures = self.shown.figures.get(name)
        if figures is None:
            return [None] * size
        if kind is datetime:
            return [moment(number) for number in figures.tolist()]
        unknown = np.isnan(figures)
        if unknown.all():
            return [None] * size
        plain: list[Any] = np.where(unknown, 0, figures).astype(kind).tolist()
        for row in np.flatnonzero(unknown).tolist():
            plain[row] = None
        return plain

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows as a DataFrame, indexed by label. Text that is unknown is empty, anything else missing."""
        kinds = {str: "str", int: "Int64", float: "float64", bool: "bool"}
        return pd.DataFrame(
            {
                name: pd.Series(
                    pd.to_datetime([row[name] for row in self.rows], utc=True).as_unit("us")
                    if kind is datetime
                    else [row[name] for row in self.rows],
                    dtype=None if kind is datetime else kinds[kind],
                )
                for name, kind in COLUMNS.items()
            }
        )

    @cached_property
    def newest(self) -> pd.DataFrame:
        """The rows that pages show: the newest run of each cell."""
        return self.table[self.table["newest"]]

    @cached_property
    def newest_rows(self) -> Rows:
        """The rows that pages show: of each cell, that of its newest run."""
        return [row for row in self.rows if row["newest"]]

    @cached_property
    def last_measured(self) -> Row | None:
        """The row that was measured last; None where there are only published figures."""
        measured = [row for row in self.newest_rows if row["origin"] == "measured" and row["measured_at"]]
        return max(measured, key=lambda row: row["measured_at"], default=None)

    @cached_property
    def problems(self) -> tuple[Finding, ...]:
        """What the data lint finds in the newest rows."""
        return lint(self.newest_rows)

    @cached_property
    def doubts(self) -> Mapping[int, Sequence[Finding]]:
        """The findings that doubt a row, by its label."""
        doubts: dict[int, list[Finding]] = {}
        for finding in self.problems:
            for row in finding.doubtful:
                doubts.setdefault(row, []).append(finding)
        return doubts


# ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def load(results: Path = RESULTS, cache: Path = CACHE) -> Results:
    """Read every run file below `results`: those that have changed since they are in the `cache`.

    Raises `AtlasError` for the first line that is broken, of an unknown schema, without positive latencies, or a
    duplicate of another line of its run; and for a file that changes meanwhile. Of many records, the measurements in
    files without rows that pages show are left unread: `python -m bench check` reads all of them.
    """
    archive = look_at(results, cache)
    kept = archive.folder and archive.folder / f"{digest_of(f'{_version()}{archive.key}'.encode())}.npz"
    shown = read_part(kept) if kept else None
    if shown is None:
        shown = _shown(archive)
        if kept:
            write_part(kept, shown)
    return Results(
        shown,
        records=shown.facts["records"],
        runs=tuple(shown.facts["runs"]),
        superseded=shown.facts["superseded"],
        walkthrough=newest_walkthrough(results),
        repeatability=newest_repeatability(results),
        faults=newest_faults(results),
        build_times=newest_build_times(results),
    )


@cache
def _version() -> str:
    """What the table depends on besides the pooled rows."""
    modules = (Path(__file__).with_name(name) for name in ("load.py", "registry.py", "rows.py"))
    return digest_of(b"".join(module.read_bytes() for module in modules))


def _refuse_shared_runs(pooled: Pooled, paths: Sequence[Path]) -> None:
    """A run belongs to one file: else nobody could tell which of two lines of a process is the newer one."""
    owner: dict[str, int] = {}
    runs, files = pooled.texts["run"], pooled.figures["file"]
    _, first = np.unique(_numbers([runs], [files]), return_index=True)
    for row in np.sort(first).tolist():
        run, file = runs[row], int(files[row])
        if owner.setdefault(run, file) != file:
            raise AtlasError(
                f"the run {run!r} is already in {paths[owner[run]]}",
                where=f"{paths[file]}: $.run",
                remedy="remove one of the two files, or give its records another run",
            )


# ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _shown(archive: Archive) -> Pooled:
    """The rows that `Results` has, in the order of pages and with the names of devices and models."""
    found = archive.named()
    if not len(found):
        return Pooled({}, {}, found.rounds, {"records": 0, "superseded": 0, "runs": []})
    _refuse_shared_runs(found, archive.paths)
    own, rows = _chosen(found)
    whole = archive.pooled(found, rows)
    figures = {**whole.figures, **own.figures}
    del figures["file"]
    facts = {
        "records": int(found.figures["attempts"].sum()),
        "runs": sorted(found.texts["run"].used()),
        "superseded": len(found) - len(rows),
    }
    return Pooled(figures, {**whole.texts, **own.texts}, whole.rounds, facts)


def _chosen(found: Pooled) -> tuple[Pooled, Indices]:
    """What only a look at all rows tells of those that pages show, and their positions: all, or the newest of each cell
    where there are more than `HISTORY`."""
    figures, texts = found.figures, dict(found.texts)
    age = np.lexsort((_ranks(texts["run"]), _ranks(texts["source_date"]), figures["measured_at"]))
    # The cores tell CPUs apart; beside an accelerator they are its host's, and it stays the same device.
    own_cores = np.where(texts["device_type"].are("cpu"), figures["cores"], np.nan)
    texts["device"] = _slugs([texts["device_type"], texts["device_name"]], [own_cores], age, _device_slug)
    checkpoints = texts["model_label"], texts["checkpoint"]
    texts["model"] = _slugs(checkpoints, [], age, lambda label, _: slugify(label))
    texts["model_label"] = _distinct_labels(*checkpoints)
    cells = _numbers(
        (each for name, each in texts.items() if name in COORDINATES),
        (each for name, each in figures.items() if name in COORDINATES),
    )
    newest = np.zeros(len(found))
    newest[_last(cells, age)] = 1
    rows = np.arange(len(found))
    if len(found) > HISTORY:
        rows = np.union1d(np.flatnonzero(newest), _last(_numbers([texts["malloc"]], [cells]), age))
    rows = _in_order(figures, texts, rows)
    own = Pooled({"newest": newest}, {name: texts[name] for name in ("device", "model", "model_label")}, {})
    return own.take(rows), rows


def _in_order(figures: Mapping[str, NDArray[Any]], texts: Mapping[str, Texts], rows: Indices) -> Indices:
    """These rows as pages show them: accelerators before CPUs, old versions before new, models by name."""
    keys = ["device", "origin", "torch", "compile_mode", "dtype", "batch_size", "model", "run"]
    ranks = [figures[key] if key in figures else _ranks(texts[key], ORDERS.get(key)) for key in reversed(keys)]
    return rows[np.lexsort([each[rows] for each in (*ranks, texts["device_type"].are("cpu"))])]


def _ranks(column: Texts, order: Callable[[str], Any] | None = None) -> Indices:
    """The place of each row's text among the texts of the column, sorted."""
    texts = column.known
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[sorted(range(len(texts)), key=lambda at: order(texts[at]) if order else texts[at])] = np.arange(len(texts))
    found: Indices = ranks[column.codes]
    return found


def _numbers(texts: Iterable[Texts], figures: Iterable[NDArray[Any]] = ()) -> Indices:
    """A number from zero on for each row: the same for rows that agree in all columns."""
    numbers, many = np.zeros(1, np.int64), 1
    columns = (np.unique(each, return_inverse=True)[1] for each in figures)
    for own in chain((each.codes for each in texts), columns):
        several = int(own.max()) + 1
        if many * several >= 2**63:
            numbers = np.unique(numbers, return_inverse=True)[1]
            many = int(numbers.max()) + 1
        numbers, many = numbers * several + own, many * several
    return np.unique(numbers, return_inverse=True)[1]


def _last(numbers: Indices, order: Indices) -> Indices:
    """For each number, ascending, the row that comes last in `order`."""
    last = np.empty(numbers.max() + 1, dtype=np.int64)
    last[numbers[order]] = order  # of several values for one place the last stays
    return last


def _slugs(texts: Sequence[Texts], figures: Sequence[NDArray[Any]], age: Indices, slug: Callable[..., str]) -> Texts:
    """One slug for each distinct combination of these columns, made of their values. Of those that would share one the
    oldest keeps it: links stay valid."""
    numbers = _numbers(texts, figures)
    place = np.empty(len(age), dtype=np.int64)
    place[age] = np.arange(len(age))
    oldest = _last(numbers, age[::-1])
    slugs = [""] * len(oldest)
    taken: set[str] = set()
    for number in np.argsort(place[oldest]).tolist():
        row = oldest[number]
        told = *(each[row] for each in texts), *(None if np.isnan(each[row]) else float(each[row]) for each in figures)
        name = slug(*told)
        if name in taken or name in _RESERVED or not name:
            name = "-".join(filter(None, (name, hashlib.sha256(repr(told).encode()).hexdigest()[:8])))
        taken.add(name)
        slugs[number] = name
    return Texts.picked(numbers, slugs)


# Names of pages that are there anyway, and names that Windows keeps for itself.
_RESERVED = {"index", "each", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_MAX_SLUG = 80


def slugify(text: str) -> str:
    """`text` in lower-case ASCII letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_MAX_SLUG].rstrip("-")


def _device_slug(device_type: str, device_name: str, cores: float | None) -> str:
    if device_type != "cpu":
        return slugify(device_name)
    return slugify(f"cpu {device_name}{'' if cores is None else f' {cores:.0f} cores'}")


def _distinct_labels(labels: Texts, checkpoints: Texts) -> Texts:
    """The label of each model, with its checkpoint where several checkpoints go by one label."""
    numbers = _numbers([labels, checkpoints])
    one = _last(numbers, np.arange(len(numbers)))
    pairs = list(zip(labels.take(one).plain(), checkpoints.take(one).plain(), strict=True))
    shared = {label for label, count in Counter(label for label, _ in pairs).items() if count > 1}
    return Texts.picked(numbers, [f"{label} ({name})" if label in shared else label for label, name in pairs])
