"""The rows of the results: one per cell and run, as pages show them.

Takes the database of `generator.data.archive`; returns `ResultsRows`. SQL finds the newest run of each cell, and
`bench.statistics` computes the figures of the rows that are shown, in arrays. Except for what it shares with other
rows, such as the name of its device, a row follows from one file. So while a preview runs, the rows of unchanged files
are kept, and a `Part` in which nothing has changed is the same object as before.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache, partial
from itertools import count, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np
import pandas as pd

from bench.errors import AtlasError
from bench.plans.models import MODELS
from bench.records import record
from bench.records.record import DOCTOR, THROUGHPUT_PROFILES, Cell, Environment, Measurement, Origin, Source, Status
from bench.statistics.causes import explain
from bench.statistics.cells import Cells
from bench.statistics.intervals import Indices
from generator.cache import Cache, code_digest, digest
from generator.data.archive import Database, Stamp, measurements
from generator.data.families import family_slug
from generator.data.names import device_slug, distinct_labels, model_slug, short_name, slugs
from generator.data.parts import Part
from generator.data.registry import COLUMNS
from generator.data.selection import MANY, ORDERS


class ResultsRows(NamedTuple):
    """The first fields of `generator.data.load.Results`."""

    parts: tuple[Part, ...]
    order: Indices
    records: int
    runs: tuple[str, ...]
    superseded: int


class _Kept(NamedTuple):
    """A part that was returned, with what tells whether it has changed since."""

    shown: _Shown
    positions: Mapping[_Key, int]  # of its rows
    part: Part


_LAST: dict[str, _Kept] = {}
"""What was returned last, by origin."""


def read(database: Database, history: int) -> ResultsRows:
    """Return the rows that pages show: all, or where there are more than `history`, those of the newest run of each
    cell and of the newest run with the other `malloc`.

    Raises `AtlasError` for a run that is in two files, and for a line that is no record in a file with rows to show.
    """
    files = database.execute("SELECT path, run, count(*) FROM lines JOIN files USING (file) GROUP BY ALL").fetchall()
    _refuse_shared_runs(files)
    database.execute(_GROUPS)
    _choose_standing(database)
    database.execute(_CELLS)
    database.execute(_SHOWN, [history])
    stamps = {number: tuple(stamp) for number, *stamp in database.table("files").fetchall()}
    found, (models, devices) = database.execute(_KEYS).fetchnumpy(), _names(database)
    parts = []
    for origin in get_args(Origin):
        columns = {name: values[found["origin"] == origin].tolist() for name, values in found.items()}
        parts.append(_part(origin, _Shown.of(columns, stamps, models, devices), partial(_made, database)))
    ((cells,),) = database.execute("SELECT count(*) FROM cells").fetchall()
    return ResultsRows(
        tuple(parts),
        _order([key for part in parts for key in part.sort_keys]),
        records=sum(size for *_, size in files),
        runs=tuple(sorted({run for _, run, *_ in files})),
        superseded=cells - len(found["id"]),
    )


_Key = tuple[Any, ...]
"""What the figures of a row follow from: its file, the stamp of it, and the line of the first of its records."""


class _Shown(NamedTuple):
    """The rows of an origin that pages show, by column, and what they share with other rows, by its number."""

    columns: Mapping[str, Sequence[Any]]  # `_KEYS`
    stamps: Mapping[int, tuple[Any, ...]]
    models: Mapping[int, Sequence[str]]  # `_MODEL_COLUMNS`
    devices: Mapping[int, str]  # slugs

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]], *shared: Mapping[int, Any]) -> _Shown:
        """Keep of what is shared what these rows need."""
        numbers = ("file", "model", "device")
        return cls(
            columns, *({at: all_[at] for at in {*columns[name]}} for name, all_ in zip(numbers, shared, strict=True))
        )

    @property
    def keys(self) -> list[_Key]:
        """What each row follows from."""
        lines = zip(self.columns["file"], self.columns["line"], strict=True)
        return [(*self.stamps[file], line) for file, line in lines]

    @property
    def names(self) -> dict[str, Any]:
        """The columns that a row shares with others, and whether it is the newest of its cell."""
        models = [self.models[each] for each in self.columns["model"]]
        of_models = {name: [each[at] for each in models] for at, name in enumerate(_MODEL_COLUMNS)}
        devices = [self.devices[each] for each in self.columns["device"]]
        return {**of_models, "device": devices, "newest": np.array(self.columns["newest"], bool)}


def _part(origin: str, shown: _Shown, made: Callable[[Sequence[int]], _Rows]) -> Part:
    """Return the rows of an origin, in their order: those of its last part, where their files are as they were then."""
    last = _LAST.get(origin)
    if last and last.shown == shown:
        return last.part
    keys, known = shown.keys, last.positions if last else {}
    ids = [number for number, key in zip(shown.columns["id"], keys, strict=True) if key not in known]
    rows, rounds = made(ids) if known or len(ids) < MANY else _MADE.value(digest(_VERSION, keys), partial(made, ids))
    if last:
        rows, rounds = pd.concat([last.part.rows, rows], ignore_index=True), [*last.part.rounds_ms, *rounds]
    new = count(len(known))
    positions = np.array([known[key] if key in known else next(new) for key in keys], np.int64)
    names = shown.names
    rows = rows.take(positions).assign(**names)
    sort_keys = _sort_keys(rows)
    order = _order(sort_keys)
    rows = rows.take(order).reset_index(drop=True).copy()  # one block for each data type
    key = digest(_VERSION, keys, [list(each) for each in names.values()]) if len(keys) >= MANY else ""
    part = Part(rows, [rounds[at] for at in positions[order].tolist()], [sort_keys[at] for at in order.tolist()], key)
    _LAST[origin] = _Kept(shown, {keys[at]: place for place, at in enumerate(order.tolist())}, part)
    return part


_MADE = Cache("rows", ".pickle")
"""Rows by the digest of what they were made from. Only many are worth it."""

_MODULES = (*Path(record.__file__).parents[1].rglob("*.py"), *Path(__file__).parent.glob("*.py"))
_VERSION = code_digest(_MODULES, pd.__version__)
"""Changes with the code that rows depend on."""


# ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refuse_shared_runs(files: Sequence[tuple[Any, ...]]) -> None:
    """A run belongs to one file: else nobody could tell which of two lines of a process is the newer one."""
    for run, number in Counter(run for _, run, _ in files).items():
        if number > 1:
            owner, path, *_ = sorted(Path(path) for path, its, _ in files if its == run)
            raise AtlasError(
                f"the run {run!r} is already in {owner}",
                where=f"{path}: $.run",
                remedy="remove one of the two files, or give its records a different run name",
            )


# ── Cells ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_GROUPS = """
CREATE OR REPLACE TEMP TABLE groups AS
SELECT file, run, cell, machine, min(rowid) AS id, arg_min(rowid, process) AS standing, count(*) AS attempts,
    max(measured_at) AS measured_at, min(status) <> max(status) OR min(gave) <> max(gave) AS is_mixed
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

_CELLS = """
CREATE OR REPLACE TEMP TABLE cells AS
SELECT g.*, origin, model, named, device, processor, host, malloc,
    row_number() OVER (ORDER BY coalesce(g.measured_at, -1), source_date, g.run, id) AS age
FROM groups g JOIN lines ON lines.rowid = standing
"""

_SHOWN = """
CREATE OR REPLACE TEMP TABLE shown AS
WITH last AS (
    SELECT max(age) AS age, cell, host, origin FROM cells GROUP BY cell, host, origin, malloc, processor),
newest AS (SELECT max(age) AS age FROM last GROUP BY cell, host, origin)
SELECT *, age IN (FROM newest) AS newest, FROM cells, (SELECT count(*) AS total FROM cells)
WHERE total <= ? OR age IN (SELECT age FROM last)
"""

_KEYS = """
SELECT origin, id, file, line, newest, model, device
FROM (SELECT origin, id, newest, model, device FROM shown) JOIN (SELECT rowid AS id, file, line FROM lines) USING (id)
ORDER BY id
"""

_LINES = """
SELECT s.id, standing, attempts, s.measured_at, path, size, modified_ns, lines.rowid AS number,
    lines.* EXCLUDE (file, machine, source_date, process, measured_at, gave)
FROM cells s JOIN lines USING (file, run, cell, machine) JOIN files USING (file)
WHERE file IN (SELECT file FROM cells WHERE id IN (SELECT unnest(?::BIGINT[]))) ORDER BY s.id, process
"""


def _choose_standing(database: Database) -> None:
    """Let `bench.records.record` say which process stands for a cell whose processes have ended differently."""
    chosen = {
        number: lines[record.standing([Status(each) for each in statuses], gave)]
        for number, lines, statuses, gave in database.execute(_MIXED).fetchall()
    }
    if chosen:
        database.execute(_CHOSEN, [list(chosen), list(chosen.values())])


_IN_TABLE = {(spec.label, spec.checkpoint) for spec in MODELS}
"""The labels and checkpoints of the model table."""


_MODEL_COLUMNS = ("family", "model", "checkpoint", "model_label")
"""The columns that name a model."""


def _names(database: Database) -> tuple[Mapping[int, tuple[str, ...]], Mapping[int, str]]:
    """Return `_MODEL_COLUMNS` of each model, and the slug of each device. The models of the table have their addresses,
    whatever dates others claim; of others, who came first decides. A local checkpoint goes by its newest name."""
    pairs = database.execute("SELECT model, device FROM cells GROUP BY ALL ORDER BY min(age)").fetchall()
    texts = dict(
        database.execute("SELECT number, text FROM names WHERE kind IN ('model', 'named', 'device')").fetchall()
    )
    models, devices = (
        {number: _name(texts[number]) for number in dict.fromkeys(pair[at] for pair in pairs)} for at in range(2)
    )
    for number, named in database.execute("SELECT model, arg_max(named, age) FROM cells GROUP BY model").fetchall():
        if len(models[number]) == 1:  # the digest of a local checkpoint
            models[number] = [*_name(texts[named]), *models[number]]
    models = dict(sorted(models.items(), key=lambda item: (item[1][0], item[1][1]) not in _IN_TABLE))
    of_models = _model_names(tuple(map(tuple, models.values())))
    device_slugs = slugs(devices.values(), device_slug)
    return dict(zip(models, of_models, strict=True)), dict(zip(devices, device_slugs, strict=True))


@lru_cache(maxsize=10_000)
def _name(text: str) -> Any:
    """Return what names a model or a device, from its JSON: a list that nobody changes."""
    return json.loads(text)


@lru_cache(maxsize=1)
def _model_names(models: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Return `_MODEL_COLUMNS` of each model, from its label, its checkpoint and its digest if it has one."""
    as_lists: Any = map(list, models)  # by whose digest addresses tell models of one name apart
    named = zip(slugs(as_lists, model_slug), models, distinct_labels(models), strict=True)
    return [(family_slug(label), slug, checkpoint, label) for slug, (_, checkpoint, *_), label in named]


def _description(
    database: Database, lines: Sequence[Mapping[str, Any]]
) -> Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]:
    """Return a function that takes those of the `lines` that are of one cell and returns what its row says besides
    figures, apart from `_names`."""
    kinds = ("cell", "environment", "source", "device", "malloc", "grad_mode")
    numbers = list({line[kind] for line in lines for kind in kinds})
    texts = dict(
        database.execute("SELECT number, text FROM names WHERE number IN (SELECT unnest(?))", [numbers]).fetchall()
    )

    @cache
    def described(number: int, kind: type, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return describe(msgspec.json.decode(texts[number], type=kind))

    def row_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """One of the processes stands for the cell."""
        standing = next(line for line in lines if line["number"] == line["standing"])
        carried = Counter(flag for line in lines for flag in line["flags"] or ())
        # A look at the machine before one of several processes dooms no row: each process watches its own rounds.
        flags = {flag for flag, times in carried.items() if not flag.startswith(DOCTOR) or 2 * times >= len(lines)}
        row = {
            **standing,
            **described(standing["cell"], Cell, _cell),
            **described(standing["environment"], Environment, _environment),
            "device_name": json.loads(texts[standing["device"]])[1],
            "workload": "throughput" if standing["profile"] in THROUGHPUT_PROFILES else "latency",
            **described(standing["source"], Source | None, _source),
            "malloc": json.loads(texts[standing["malloc"]]),
            "grad_mode": json.loads(texts[standing["grad_mode"]]),
            "command": _reproducing(standing["command"], json.loads(texts[standing["malloc"]])),
            "flags": " ".join(sorted(flags)),
            "lines": lines,
        }
        return row if row["device_type"] == "cpu" else {**row, "threads": None}

    return row_of


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(cell),
        "device_type": cell.device,
        "dtype": cell.precision,
        "compile_mode": cell.compile_mode,
        "dynamic": cell.dynamic,
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


_Rows = tuple[pd.DataFrame, list[Mapping[str, Sequence[float]]]]
"""Rows and their rounds."""


def _made(database: Database, ids: Sequence[int]) -> _Rows:
    """Return the rows of some cells and their rounds, from the lines of their files. The others of their runs, of which
    newer ones are shown, still tell how processes scatter."""
    found = database.execute(_LINES, [ids])
    columns = [name for name, *_ in found.description or ()]
    lines = [dict(zip(columns, values, strict=True)) for values in found.fetchall()]
    describe, measured = _description(database, lines), cache(measurements)
    rows = [describe(list(group)) for _, group in groupby(lines, key=itemgetter("id"))]
    several = [list(_measured(row["lines"], measured)) for row in rows]
    cells = Cells(
        several,
        [row["batch_size"] for row in rows],
        pd.factorize(np.array([f"{row['run']} {row['device']}" for row in rows], object))[0],
    )
    rounds, figures, wanted = cells.rounds_ms(), _figures(cells), set(ids)
    at = [place for place, row in enumerate(rows) if row["id"] in wanted]
    return (
        _frame(
            [rows[place] | _reasons(several[place]) for place in at],
            {name: [values[place] for place in at] for name, values in figures.items()},
        ),
        [rounds[place] for place in at],
    )


def _measured(
    lines: Iterable[Mapping[str, Any]], of_file: Callable[[str, Stamp], Sequence[Measurement | None]]
) -> Iterator[Measurement]:
    """Yield what the processes of one cell measured, without those that measured nothing."""
    for line in lines:
        measurement = of_file(line["path"], (line["size"], line["modified_ns"]))[line["line"]]
        if measurement is not None:
            yield measurement


def _reproducing(command: str | None, malloc: str) -> str | None:
    """Return the command of a record; one from before memory was kept says so, since a run would keep it now."""
    is_older = command and malloc == "default" and "--malloc" not in command and "paper-2023" not in command
    return f"{command} --malloc default" if is_older else command


_SORTED_BY = ("device", "origin", "torch", "compile_mode", "dtype", "batch_size", "model", "run")


def _sort_keys(rows: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return what sorts the rows: accelerators before CPUs, old versions before new, models by name."""
    values = ((rows[name].tolist(), ORDERS.get(name)) for name in _SORTED_BY)
    columns = (map(key, column) if key else column for column, key in values)
    return list(zip((rows["device_type"] == "cpu").tolist(), *columns, strict=True))


def _order(keys: Sequence[tuple[Any, ...]]) -> Indices:
    """Return the positions of rows with these keys in their order. Parts that are in order are merged quickly."""
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _reasons(measured: Sequence[Measurement]) -> dict[str, str]:
    """Return why graphs ended, why CUDA graphs were left out or cut, and why rounds were throttled, as JSON."""
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


def _figures(cells: Cells) -> dict[str, Sequence[Any]]:
    """Return the columns that follow from what the processes of each cell measured."""
    causes = [[(each.cause.value, each.figure, each.share) for each in several] for several in explain(cells)]
    return {
        **{name: values.tolist() for name, values in cells.figures().items()},
        "processes": (cells.at >= 0).sum(axis=1).tolist(),
        "verdict": cells.verdicts.tolist(),
        "causes": [json.dumps(several) if several else "" for several in causes],
    }


def _frame(rows: Sequence[Mapping[str, Any]], figures: Mapping[str, Any]) -> pd.DataFrame:
    """Return `COLUMNS` in their order. What is unknown is "" in a column of text, and missing in any other."""
    by_dtype: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for name, column in COLUMNS.items():
        values: Any = figures[name] if name in figures else [row.get(name) for row in rows]
        if column.type is str:
            values = [value or "" for value in values]
        elif column.type is int:
            values = pd.array(values, dtype="Int64")
        elif column.type is datetime:
            values = pd.to_datetime(pd.Series(values, dtype="Int64"), unit="us", utc=True)
        by_dtype[column.dtype][name] = values
    blocks = (pd.DataFrame(columns, dtype=dtype) for dtype, columns in by_dtype.items())
    return pd.concat(blocks, axis=1)[[*COLUMNS]]
