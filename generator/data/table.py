"""The table of results: one row per cell and run, as pages show them.

Takes the database of `generator.data.archive`; returns a `ResultsTable`. SQL finds the newest run of each cell, and
`bench.statistics` computes the figures of the rows that are shown, in arrays.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from bench.errors import AtlasError
from bench.records import record
from bench.records.record import THROUGHPUT_PROFILES, Cell, Environment, Measurement, Source, Status
from bench.statistics.causes import explain
from bench.statistics.cells import by_size
from bench.statistics.processes import VARIANTS, Processes
from bench.statistics.ragged import Array, Indices
from generator.data.archive import Database, measurements
from generator.data.names import device_slug, distinct_labels, short_name, slugify, slugs
from generator.data.registry import COLUMNS
from generator.data.selection import ORDERS

if TYPE_CHECKING:
    import pandas as pd


class ResultsTable(NamedTuple):
    """The first fields of `generator.data.load.Results`."""

    rows: pd.DataFrame
    rounds_ms: Sequence[Mapping[str, Sequence[float]]]
    records: int
    runs: tuple[str, ...]
    superseded: int


def read(database: Database, history: int) -> ResultsTable:
    """Return the rows that pages show: all, or where there are more than `history`, those of the newest run of each
    cell and of the newest run with the other `malloc`.

    Raises `AtlasError` for a run that is in two files, and for a line that is no record in a file with rows to show.
    """
    files = database.execute("SELECT path, run, count(*) FROM lines JOIN files USING (file) GROUP BY ALL").fetchall()
    _refuse_shared_runs(files)
    database.execute(_GROUPS)
    _choose_standing(database)
    database.execute(_CELLS)
    describe = _description(database)
    shown = database.execute(_SHOWN, [history])
    columns = [name for name, *_ in shown.description or ()]
    lines = [dict(zip(columns, values, strict=True)) for values in shown.fetchall()]
    rows = [describe(list(group)) for _, group in groupby(lines, key=itemgetter("id"))]
    rows.sort(key=_order)
    found = [list(_measured(row["lines"])) for row in rows]
    processes = Processes([each for several in found for each in several])
    sizes = np.array([len(several) for several in found], np.int64)
    figures = _pooled(processes, sizes, np.array([row["batch_size"] for row in rows], np.float64))
    rounds = {variant: processes.lists[f"{variant}_rounds"].merged(sizes).lists() for variant in VARIANTS}
    return ResultsTable(
        _frame([row | _reasons(several) for row, several in zip(rows, found, strict=True)], figures),
        [{variant: lists[at] for variant, lists in rounds.items() if lists[at]} for at in range(len(rows))],
        records=sum(size for *_, size in files),
        runs=tuple(sorted({run for _, run, *_ in files})),
        superseded=lines[0]["total"] - len(rows) if lines else 0,
    )


# ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refuse_shared_runs(files: Sequence[tuple[Any, ...]]) -> None:
    """A run belongs to one file: else nobody could tell which of two lines of a process is the newer one."""
    for run, number in Counter(run for _, run, _ in files).items():
        if number > 1:
            owner, path, *_ = sorted(Path(path) for path, its, _ in files if its == run)
            raise AtlasError(
                f"the run {run!r} is already in {owner}",
                where=f"{path}: $.run",
                remedy="remove one of the two files, or give its records another run",
            )


# ── Cells ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_GROUPS = """
CREATE OR REPLACE TEMP TABLE groups AS
SELECT file, run, cell, machine, min(rowid) AS id, arg_min(rowid, process) AS standing, count(*) AS attempts,
    max(measured_at) AS measured_at, min(status) <> max(status) AS is_mixed
FROM lines GROUP BY file, run, cell, machine
"""

_MIXED = """
SELECT id, list(lines.rowid ORDER BY process), list(status ORDER BY process), list(gave ORDER BY process)
FROM groups JOIN lines USING (file, run, cell, machine) WHERE is_mixed GROUP BY id
"""

_CHOSEN = """
UPDATE groups SET standing = line
FROM (SELECT unnest(?::BIGINT[]) AS number, unnest(?::BIGINT[]) AS line) WHERE id = number
"""

# Two cells of one age are of one run.
_CELLS = """
CREATE OR REPLACE TEMP TABLE cells AS
SELECT g.*, origin, model, device, processor, host, malloc, (coalesce(g.measured_at, -1), source_date, g.run, id) AS age
FROM groups g JOIN lines ON lines.rowid = standing
"""

_SHOWN = """
WITH last AS (
    SELECT arg_max(id, age) AS id, max(age) AS age, cell, host, origin FROM cells
    GROUP BY cell, host, origin, malloc, processor),
newest AS (SELECT arg_max(id, age) AS id FROM last GROUP BY cell, host, origin),
shown AS MATERIALIZED (
    SELECT *, id IN (SELECT id FROM newest) AS newest, FROM cells, (SELECT count(*) AS total FROM cells)
    WHERE total <= ? OR id IN (SELECT id FROM last))
SELECT s.id, standing, attempts, s.measured_at, newest, total, path, size, modified_ns, lines.rowid AS number,
    lines.* EXCLUDE (file, machine, source_date, process, measured_at, gave)
FROM shown s JOIN lines USING (file, run, cell, machine) JOIN files USING (file) ORDER BY s.id, process
"""


def _choose_standing(database: Database) -> None:
    """Let `bench.records.record` say which process stands for a cell whose processes have ended differently."""
    chosen = {
        number: lines[record.standing([Status(each) for each in statuses], gave)]
        for number, lines, statuses, gave in database.execute(_MIXED).fetchall()
    }
    if chosen:
        database.execute(_CHOSEN, [list(chosen), list(chosen.values())])


def _description(database: Database) -> Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]:
    """Return a function that takes the lines of one cell and returns what names its row."""
    texts = {number: text for _, number, text in database.table("names").fetchall()}
    pairs = database.execute("SELECT model, device FROM cells GROUP BY ALL ORDER BY min(age)").fetchall()
    models, devices = ({pair[at]: json.loads(texts[pair[at]]) for pair in pairs} for at in range(2))
    model_slugs = dict(zip(models, slugs(models.values(), lambda label, _: slugify(label)), strict=True))
    model_labels = dict(zip(models, distinct_labels(models.values()), strict=True))
    device_slugs = dict(zip(devices, slugs(devices.values(), device_slug), strict=True))

    @cache
    def described(number: int, kind: type, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return describe(msgspec.json.decode(texts[number], type=kind))

    def row_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """One of the processes stands for the cell."""
        standing = next(line for line in lines if line["number"] == line["standing"])
        flags = {flag for line in lines for flag in line["flags"] or ()}
        row = {
            **standing,
            **described(standing["cell"], Cell, _cell),
            **described(standing["environment"], Environment, _environment),
            "device_name": json.loads(texts[standing["device"]])[1],
            "workload": "throughput" if standing["profile"] in THROUGHPUT_PROFILES else "latency",
            **described(standing["source"], Source | None, _source),
            "device": device_slugs[standing["device"]],
            "model": model_slugs[standing["model"]],
            "model_label": model_labels[standing["model"]],
            "malloc": json.loads(texts[standing["malloc"]]),
            "command": _reproducing(standing["command"], json.loads(texts[standing["malloc"]])),
            "flags": " ".join(sorted(flags)),
            "lines": lines,
        }
        return row if row["device_type"] == "cpu" else {**row, "threads": None}

    return row_of


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(cell),
        "model_label": cell.model,
        "device_type": cell.device,
        "dtype": f"autocast {cell.dtype}" if cell.autocast else cell.dtype,
        "dynamic": "auto" if cell.dynamic is None else str(cell.dynamic).lower(),
        "input_size": "×".join(map(str, cell.input_size)) if cell.input_size else "",
        "layout": "channels_last" if cell.channels_last else "",
    }


def _environment(environment: Environment) -> dict[str, Any]:
    settings = json.dumps(environment.settings, sort_keys=True, ensure_ascii=False)
    return {
        **msgspec.structs.asdict(environment),
        "processor": short_name(environment.device_name),
        "settings": settings,
    }


def _source(source: Source | None) -> dict[str, Any]:
    if source is None:
        return {}
    fields = {**msgspec.structs.asdict(source), "files": " ".join(source.files)}
    return {f"source_{name}": value for name, value in fields.items()}


# ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _measured(lines: Iterable[Mapping[str, Any]]) -> Iterator[Measurement]:
    """Yield what the processes of one cell measured."""
    for line in lines:
        measured = measurements(line["path"], (line["size"], line["modified_ns"]))[line["line"]]
        if measured is not None:
            yield measured


def _reproducing(command: str | None, malloc: str) -> str | None:
    """Return the command of a record; one from before memory was kept says so, since a run would keep it now."""
    is_older = command and malloc == "default" and "--malloc" not in command and "paper-2023" not in command
    return f"{command} --malloc default" if is_older else command


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a sort key: accelerators before CPUs, old versions before new, models by name."""
    names = ("device", "origin", "torch", "compile_mode", "dtype", "batch_size", "model", "run")
    values = (ORDERS[name](row[name]) if name in ORDERS else row[name] for name in names)
    return (row["device_type"] == "cpu", *values)


def _reasons(measured: Sequence[Measurement]) -> dict[str, str]:
    """Return why graphs ended, why CUDA graphs were left out, and why rounds were throttled, as JSON."""
    graphs = [each.graphs for each in measured if each.graphs]
    breaks = [{"reason": found.reason, "location": found.location or ""} for each in graphs for found in each.breaks]
    throttled: Counter[str] = Counter()
    for each in measured:
        throttled.update(each.telemetry.throttle_reasons if each.telemetry else {})
    return {
        "graph_break_reasons": _json_of(breaks),
        "cudagraph_skip_reasons": _json_of([found for each in graphs for found in each.cudagraph_skips]),
        "throttle_reasons": json.dumps(throttled, sort_keys=True) if throttled else "",
    }


def _json_of(values: Iterable[Any]) -> str:
    """Return distinct values as a JSON list, in the order in which they first occur; "" for none."""
    distinct = list({json.dumps(value, sort_keys=True): value for value in values}.values())
    return json.dumps(distinct, ensure_ascii=False) if distinct else ""


def _pooled(processes: Processes, sizes: Indices, batch_sizes: Array) -> dict[str, Any]:
    """Return the columns that follow from what the processes of each row measured."""
    figures: dict[str, Any] = defaultdict(lambda: np.full(len(sizes), np.nan))
    verdicts, explained = ["unknown"] * len(sizes), [""] * len(sizes)
    for where, cells in by_size(processes, sizes, batch_sizes):
        for name, values in cells.figures().items():
            figures[name][where] = values
        for row, verdict, several in zip(where.tolist(), cells.verdicts.tolist(), explain(cells), strict=True):
            verdicts[row] = verdict
            explained[row] = json.dumps([(each.cause.value, each.figure) for each in several]) if several else ""
    return {**figures, "processes": sizes.astype(np.float64), "verdict": verdicts, "causes": explained}


def _frame(rows: Sequence[Mapping[str, Any]], figures: Mapping[str, Any]) -> pd.DataFrame:
    """Return `COLUMNS` in their order. What is unknown is "" in a column of text, and missing in any other."""
    import pandas as pd  # takes half a second, which commands without a table need not wait

    columns: dict[str, Any] = {}
    for name, column in COLUMNS.items():
        values: Any = figures[name] if name in figures else [row.get(name) for row in rows]
        if column.type is str:
            values = [value or "" for value in values]
        elif column.type is datetime:
            values = pd.to_datetime(pd.Series(values, dtype="Int64"), unit="us", utc=True)
        columns[name] = pd.array(values, dtype=column.dtype)
    return pd.DataFrame(columns, copy=False)
