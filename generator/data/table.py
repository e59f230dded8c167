"""The table of results: one row per cell and run, as pages show them.

Takes the database of `generator.data.archive`; returns a `ResultsTable`. SQL finds the newest run of each cell, and
`bench.statistics` computes the figures of the rows that are shown, in arrays.
"""

from __future__ import annotations

import json
import typing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.errors import AtlasError
from bench.plans.profiles import KEEP_MEMORY
from bench.records.record import PHASES, Cell, Environment, Measurement, Source
from bench.statistics.causes import explain
from bench.statistics.cells import by_size
from bench.statistics.processes import COUNTED, PARTS, READINGS, VARIANT_FIGURES, VARIANTS, Processes, VariantName
from bench.statistics.ragged import Array, Indices, Ragged
from generator.data.archive import Database, make_table, read_strictly
from generator.data.names import device_slug, distinct_labels, short_name, slugify, slugs
from generator.data.registry import COLUMNS
from generator.data.selection import ORDERS

if TYPE_CHECKING:
    import pandas as pd


class ResultsTable(NamedTuple):
    """The rows that pages show, by column, and by variant the medians of the rounds of each row, in the order of time,
    one process after the other."""

    cells: pd.DataFrame
    rounds: Mapping[VariantName, Ragged]
    records: int = 0
    runs: tuple[str, ...] = ()
    superseded: int = 0


def read(database: Database, paths: Sequence[Path], history: int) -> ResultsTable:
    """Return the rows that pages show: all, or where there are more than `history`, those of the newest run of each
    cell and of the newest run with the other `malloc`.

    Raises `AtlasError` for a run that is in two files.
    """
    listed = [(str(path), place) for place, path in enumerate(paths)]
    make_table(database, "places", {"path": "VARCHAR", "place": "INTEGER"}, listed)
    for run, owner, path in database.execute(_SHARED_RUNS).fetchall():
        raise AtlasError(
            f"the run {run!r} is already in {owner}",
            where=f"{path}: $.run",
            remedy="remove one of the two files, or give its records another run",
        )
    total, records = database.execute("SELECT count(*), sum(attempts)::BIGINT FROM cells").fetchall()[0]
    if not total:
        return ResultsTable(_frame({}, {}, 0), {variant: Ragged.of(()) for variant in VARIANTS})
    for name, describe in (("cell", _cell), ("environment", _environment), ("source", _source)):
        _add_columns(database, name, describe)
    database.execute(_AGED)
    _add_names(database)
    database.execute(_LAST)
    wanted = "c.id IN (SELECT id FROM last)" if total > history else "true"
    unread = f"SELECT DISTINCT path FROM cells c JOIN files USING (file) WHERE NOT is_strict AND {wanted}"
    if files := [path for (path,) in database.execute(unread).fetchall()]:
        read_strictly(database, files)
        return read(database, paths, history)
    found = _columns(database, _SHOWN.format(wanted))
    order = _in_order(found)
    described = {name: values[order] for name, values in found.items()}
    processes, sizes = _processes(database, described["id"])
    figures, texts = _pooled(processes, sizes, described["batch_size"])
    texts |= _reasons(database, len(order))
    rounds = {variant: processes.lists[f"{variant}_rounds"].merged(sizes) for variant in VARIANTS}
    runs = tuple(sorted(run for (run,) in database.execute("SELECT DISTINCT run FROM cells").fetchall()))
    return ResultsTable(_frame({**described, **figures}, texts, len(order)), rounds, records, runs, total - len(order))


# ── Cells ───────────────────────────────────────────────────────────────────────────────────────────────────────────

# A run belongs to one file: else nobody could tell which of two lines of a process is the newer one.
_SHARED_RUNS = """
SELECT run, first_value(path) OVER (PARTITION BY run ORDER BY place) AS owner, path
FROM (SELECT run, path, place, min(id) AS id FROM cells JOIN files USING (file) JOIN places USING (path) GROUP BY ALL)
QUALIFY row_number() OVER (PARTITION BY run ORDER BY place) = 2 ORDER BY place, id LIMIT 1
"""

# The cores tell CPUs apart; beside an accelerator they are its host's, and it stays the same device.
_AGED = """
CREATE OR REPLACE TEMP TABLE aged AS
SELECT id, place, c.cell, model_label, checkpoint, device_type, device_name, torch, malloc, origin,
    CASE device_type WHEN 'cpu' THEN cores END AS own_cores,
    CASE device_type WHEN 'cpu' THEN threads END AS own_threads,
    row_number() OVER (ORDER BY measured_at NULLS FIRST, source_date, run, place, id) AS age
FROM cells c JOIN files USING (file) JOIN places USING (path) JOIN cell_columns k ON k.number = c.cell
JOIN environment_columns e ON e.number = c.environment JOIN source_columns s ON s.number = c.source
"""

_POINT = "compile_mode, dtype, batch_size, dynamic, weights, input_size, layout"
_COORDINATES = f"""
device_type, device_name, own_cores, own_threads, torch, origin, model_label, checkpoint, {_POINT}
"""

_LAST = f"""
CREATE OR REPLACE TEMP TABLE last AS
SELECT arg_max(id, age) AS id, max(age) AS age, {_COORDINATES}
FROM (SELECT aged.*, {_POINT} FROM aged JOIN cell_columns ON number = cell) GROUP BY malloc, {_COORDINATES};
CREATE OR REPLACE TEMP TABLE newest AS SELECT arg_max(id, age) AS id FROM last GROUP BY {_COORDINATES};
"""

_SHOWN = """
SELECT c.id, c.* EXCLUDE (id, file, cell, environment, source), k.* EXCLUDE (number, model_label),
    e.* EXCLUDE (number, threads), s.* EXCLUDE (number), own_threads AS threads, device, model,
    models.label AS model_label, (c.id IN (SELECT id FROM newest))::DOUBLE AS newest
FROM cells c JOIN aged a USING (id) JOIN cell_columns k ON k.number = c.cell
JOIN environment_columns e ON e.number = c.environment JOIN source_columns s ON s.number = c.source
JOIN models ON models.model_label = a.model_label AND models.checkpoint = a.checkpoint
JOIN devices d ON d.device_type = a.device_type AND d.device_name = a.device_name
    AND d.own_cores IS NOT DISTINCT FROM a.own_cores
WHERE {} ORDER BY place, id
"""


def _add_columns(database: Database, name: str, describe: Callable[[Any], Mapping[str, Any]]) -> None:
    """Make a table of what pages say about each distinct cell, environment or source."""
    kinds: dict[str, Any] = {"cell": Cell, "environment": Environment, "source": Source | None}
    decode = msgspec.json.Decoder(kinds[name]).decode
    values = database.table(f"{name}_values").fetchall()
    rows = [{"number": number, **describe(decode(text))} for number, text in values]
    types = {each: "VARCHAR" if each in COLUMNS and COLUMNS[each].type is str else "DOUBLE" for each in rows[0]}
    make_table(database, f"{name}_columns", types, [list(row.values()) for row in rows])


def _add_names(database: Database) -> None:
    """Make tables of the slugs of devices and models, and of the labels of models."""
    sql = "SELECT {0} FROM aged GROUP BY {0} ORDER BY min(age)"
    devices = database.execute(sql.format("device_type, device_name, own_cores")).fetchall()
    models = database.execute(sql.format("model_label, checkpoint")).fetchall()
    types = {"device_type": "VARCHAR", "device_name": "VARCHAR", "own_cores": "DOUBLE", "device": "VARCHAR"}
    named = zip(devices, slugs(devices, device_slug), strict=True)
    make_table(database, "devices", types, [(*device, slug) for device, slug in named])
    types = dict.fromkeys(("model_label", "checkpoint", "model", "label"), "VARCHAR")
    called = zip(models, slugs(models, lambda label, _: slugify(label)), distinct_labels(models), strict=True)
    make_table(database, "models", types, [(*model, slug, label) for model, slug, label in called])


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "model_label": cell.model,
        "checkpoint": cell.checkpoint,
        "task": cell.task,
        "device_type": cell.device,
        "dtype": f"autocast {cell.dtype}" if cell.autocast else cell.dtype,
        "batch_size": cell.batch_size,
        "compile_mode": cell.compile_mode,
        "dynamic": "auto" if cell.dynamic is None else str(cell.dynamic).lower(),
        "weights": cell.weights,
        "input_size": "×".join(map(str, cell.input_size)) if cell.input_size else "",
        "layout": "channels_last" if cell.channels_last else "",
    }


def _environment(environment: Environment) -> dict[str, Any]:
    texts = ("transformers", "python", "platform", "accelerator", "driver", "triton", "commit")
    return {
        "device_name": short_name(environment.device_name),
        "torch": environment.torch,
        "cores": environment.cores,
        "threads": environment.threads,
        "memory_gb": environment.memory_gb,
        "settings": json.dumps(environment.settings, sort_keys=True, ensure_ascii=False),
        "malloc": "keep" if KEEP_MEMORY.items() <= environment.settings.items() else "default",
        **{name: getattr(environment, name) or "" for name in texts},
    }


def _source(source: Source | None) -> dict[str, str]:
    names = ("title", "url", "date", "licence", "note")
    files = " ".join(source.files) if source else ""
    return {f"source_{name}": getattr(source, name, None) or "" for name in names} | {"source_files": files}


def _in_order(found: Mapping[str, NDArray[Any]]) -> Indices:
    """Return the positions of the rows as pages show them: accelerators before CPUs, old versions before new, models by
    name."""
    keys = ["device", "origin", "torch", "compile_mode", "dtype", "batch_size", "model", "run"]
    ranks = [_ranks(found[key].tolist(), ORDERS.get(key)) for key in reversed(keys)]
    return np.lexsort([*ranks, found["device_type"] == "cpu"])


def _ranks(values: Sequence[Any], order: Callable[[Any], Any] | None) -> list[int]:
    ranks = {value: rank for rank, value in enumerate(sorted(dict.fromkeys(values), key=order))}
    return [ranks[value] for value in values]


# ── Figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sources_of_figures() -> Mapping[str, str]:
    """Return the expression of SQL for each figure that `Processes` takes. A field that is left out has its default."""
    found = {"has_compiled": "(measurement.compiled IS NOT NULL)"}
    found |= {f"{variant}_{name}": f"measurement.{variant}.{name}" for variant in VARIANTS for name in VARIANT_FIGURES}
    kinds = typing.get_type_hints(Measurement)
    for part, names in PARTS.items():
        defaults = {field.name: field.default for field in msgspec.structs.fields(typing.get_args(kinds[part])[0])}
        for name in names:
            value = f"len(measurement.{part}.{name})" if name in COUNTED else f"measurement.{part}.{name}"
            is_known = f"CASE WHEN measurement.{part} IS NOT NULL THEN coalesce({value}, 0) END"
            found[name] = is_known if defaults[name] in (0, ()) else value
    return found | {f"{name}_s": f"measurement.compilation.phases_s['{name}']" for name in PHASES}


_FIGURES = ", ".join(f"({source})::DOUBLE AS {name}" for name, source in _sources_of_figures().items())
_ROUNDS: dict[VariantName, str] = {variant: f"measurement.{variant}.rounds_ms" for variant in VARIANTS}
_LISTS = {f"{variant}_device": f"measurement.{variant}.device_ms" for variant in VARIANTS}
_LISTS |= {name: f"measurement.telemetry.{name}" for name in READINGS}
_LENGTHS = ", ".join(
    f"coalesce(len({source}), 0) AS {name}_length" for name, source in (*_ROUNDS.items(), *_LISTS.items())
)


_PICKED = """
CREATE OR REPLACE TEMP TABLE picked AS
SELECT place, measurement FROM processes JOIN shown USING (id) ORDER BY place, process
"""


def _processes(database: Database, ids: NDArray[Any]) -> tuple[Processes, Indices]:
    """Return what the processes of these cells measured, cell by cell and in their order, and how many each has."""
    make_table(database, "shown", {"place": "BIGINT", "id": "BIGINT"}, list(enumerate(ids.tolist())))
    database.execute(_PICKED)
    figures = _columns(database, f"SELECT place, {_FIGURES}, {_LENGTHS} FROM picked")
    sizes = np.bincount(figures["place"].astype(np.int64), minlength=len(ids))
    lengths = {name: figures.pop(f"{name}_length").astype(np.int64) for name in (*_ROUNDS, *_LISTS)}
    lists = {name: Ragged(_unnested(database, source), lengths[name]) for name, source in _LISTS.items()}
    calls: dict[VariantName, Ragged] = {}
    for variant, source in _ROUNDS.items():
        of_round = _unnested(database, f"list_transform({source}, lambda x: len(x))").astype(np.int64)
        calls[variant] = Ragged(_unnested(database, f"flatten({source})"), of_round)
    return Processes(figures, calls, {variant: lengths[variant] for variant in VARIANTS}, lists), sizes


def _unnested(database: Database, source: str) -> Array:
    (values,) = _columns(database, f"SELECT unnest({source})::DOUBLE AS value FROM picked").values()
    return values


def _columns(database: Database, query: str) -> dict[str, NDArray[Any]]:
    """Return numbers with nan for unknown ones, and texts with "" for unknown ones."""
    found: dict[str, Any] = {}
    for name, values in database.execute(query).fetchnumpy().items():
        if values.dtype.kind == "O":
            found[name] = np.array([value or "" for value in np.ma.filled(values, "")], object)
        else:
            found[name] = np.ma.filled(values.astype(np.float64), np.nan) if np.ma.isMA(values) else values
    return found


def _pooled(
    processes: Processes, sizes: Indices, batch_sizes: Array
) -> tuple[dict[str, NDArray[Any]], dict[str, Sequence[str]]]:
    """Return the columns of numbers and of words that follow from what the processes of each row measured."""
    figures: dict[str, Array] = defaultdict(lambda: np.full(len(sizes), np.nan))
    verdicts, explained = [""] * len(sizes), [""] * len(sizes)
    for where, cells in by_size(processes, sizes, batch_sizes):
        for name, values in cells.figures().items():
            figures[name][where] = values
        for row, verdict, several in zip(where.tolist(), cells.verdicts().tolist(), explain(cells), strict=True):
            verdicts[row] = verdict
            explained[row] = json.dumps([(each.cause.value, each.figure) for each in several]) if several else ""
    return {**figures, "processes": sizes.astype(np.float64)}, {"verdict": verdicts, "causes": explained}


_REASONS = """
SELECT place, to_json(graphs.breaks), to_json(graphs.cudagraph_skips), to_json(throttled)
FROM (SELECT place, measurement.graphs, measurement.telemetry.throttle_reasons AS throttled FROM picked)
WHERE len(graphs.breaks) > 0 OR len(graphs.cudagraph_skips) > 0 OR cardinality(throttled) > 0
"""


def _reasons(database: Database, rows: int) -> dict[str, Sequence[str]]:
    """Return why graphs ended, why CUDA graphs were left out, and why rounds were throttled, as JSON."""
    breaks, skips, throttled = ([""] * rows for _ in range(3))
    found: defaultdict[int, tuple[list[Any], list[Any], Counter[str]]] = defaultdict(lambda: ([], [], Counter()))
    for row, reasons, skipped, counts in database.execute(_REASONS).fetchall():
        found[row][0].extend({key: value or "" for key, value in each.items()} for each in json.loads(reasons or "[]"))
        found[row][1].extend(json.loads(skipped or "[]"))
        found[row][2].update(json.loads(counts or "{}"))
    for row, (broken, skipped, counts) in found.items():
        breaks[row], skips[row] = _json_of(broken), _json_of(skipped)
        throttled[row] = json.dumps(counts, sort_keys=True) if counts else ""
    return {"graph_break_reasons": breaks, "cudagraph_skip_reasons": skips, "throttle_reasons": throttled}


def _json_of(values: Iterable[Any]) -> str:
    """Return distinct values as a JSON list, in the order in which they first occur; "" for none."""
    distinct = list({json.dumps(value, sort_keys=True): value for value in values}.values())
    return json.dumps(distinct, ensure_ascii=False) if distinct else ""


def _frame(figures: Mapping[str, NDArray[Any]], texts: Mapping[str, Sequence[str]], size: int) -> pd.DataFrame:
    """Return `COLUMNS` in their order. What is unknown is "" in a column of text, and missing in any other."""
    import pandas as pd  # takes half a second, which commands without a table need not wait

    columns: dict[str, Any] = {}
    for name, kind in ((column.name, column.type) for column in COLUMNS.values()):
        if kind is str:
            columns[name] = pd.Series(texts.get(name, figures.get(name, [""] * size)), dtype="str")
            continue
        values = figures.get(name, np.full(size, np.nan))
        unknown = np.isnan(values)
        if kind is datetime:
            moments = np.where(unknown, np.iinfo(np.int64).min, values).astype("datetime64[us]")  # the least is none
            columns[name] = pd.Series(moments).dt.tz_localize("UTC")
        elif kind is int:
            columns[name] = pd.arrays.IntegerArray(np.where(unknown, 0, values).astype(np.int64), unknown)
        else:
            columns[name] = values.astype(kind)
    return pd.DataFrame(columns)
