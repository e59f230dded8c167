"""The tables of the pages as data: rows of results enter, what each line of a table shows leaves. Pure functions.

A line is a dictionary: ``row`` is the label of the row that it tells about (or the first of them), so that names can
be looked up there; the other keys are the columns that a reader sees, in order, under the names of
`words.Words.heading`. A column such as ``best_model`` holds the label of another row. Plain lists rather than
DataFrames: a page has a handful of rows, and there are many pages.

    python -c "from generator import load, tables; print(tables.summary(load.load().newest_rows))"
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from generator.lint import Finding
from generator.load import Row, Rows, comparisons, grouped
from generator.words import varying

Lines = list[dict[str, Any]]

ENVIRONMENT = (
    *("torch", "transformers", "python", "platform", "accelerator", "driver", "triton"),
    *("cores", "threads", "memory_gb", "settings", "commit"),
)
"""What the environment of a record says, in the order in which it is told."""

_NEVER = datetime.min.replace(tzinfo=UTC)


# ── One line per row ────────────────────────────────────────────────────────────────────────────────────────────────


def latency(rows: Rows) -> Lines:
    """Both latencies of each row with their ratio. What all rows have in common goes into the caption, not a column."""
    columns = [*_coordinates(rows), "eager_ms", "compiled_ms", "speedup"]
    if any(row["speedup_low"] is not None for row in rows):
        columns.append("interval")
    columns.append("change")
    return [
        {"row": row["row"]} | {column: row["speedup_low" if column == "interval" else column] for column in columns}
        for row in rows
    ]


def slower(rows: Rows, most: int = 10) -> Lines:
    """The rows in which compiling clearly costs time, the worst first. Same columns as `latency`."""
    return latency(sorted(slower_rows(rows), key=lambda row: -row["change"])[:most])


def slower_rows(rows: Rows) -> list[Row]:
    """Comparisons whose compiled model is slower: surely so, or as published without an interval."""
    return [row for row in comparisons(rows) if row["change"] > 0 and row["verdict"] in {"slower", "unknown"}]


def compile_cost(rows: Rows) -> Lines:
    """What compiling costs and when it has paid: measured rows only."""
    known = compile_rows(rows)
    columns = [*_coordinates(known), "compile_cold_s", "compile_warm_s", "break_even_calls", "graphs", "graph_breaks"]
    return [{column: row[column] for column in ("row", *columns)} for row in known]


def compile_rows(rows: Rows) -> list[Row]:
    """The rows that know what compiling cost."""
    return [row for row in rows if row["compile_cold_s"] is not None]


def _coordinates(rows: Rows) -> list[str]:
    """The columns that tell the rows apart, the one that names them first: the model, else the device."""
    columns = varying(rows)
    return sorted(columns, key=lambda column: column != "model") or ["model"]


# ── One line per group ──────────────────────────────────────────────────────────────────────────────────────────────


def summary(rows: Rows, doubtful: Collection[int] = ()) -> Lines:
    """One line per device and origin: published and measured figures never share an average."""
    return _lines(
        grouped(rows, "device", "origin").values(),
        device=_first("device"),
        origin=_first("origin"),
        models=_distinct("model"),
        comparisons=lambda group: len(comparisons(group)),
        median_change=median_change,
        best_model=lambda group: best_row(group, doubtful),
        slower=lambda group: len(slower_rows(group)),
    )


def devices(rows: Rows) -> Lines:
    """One line per device, with what there is about it."""
    return _lines(
        grouped(rows, "device").values(),
        device=_first("device"),
        kind=_first("device_type"),
        origin=_names("origin"),
        torch=_names("torch"),
        modes=_names("compile_mode"),
        batch_sizes=_names("batch_size"),
        models=_distinct("model"),
        comparisons=lambda group: len(comparisons(group)),
    )


def models(rows: Rows, doubtful: Collection[int] = ()) -> Lines:
    """One line per model, by task, with its largest gain."""
    by_task = sorted(rows, key=lambda row: (row["task"], row["model"]))
    return _lines(
        grouped(by_task, "model").values(),
        model=_first("model"),
        task=_first("task"),
        checkpoint=_first("checkpoint"),
        devices=_distinct("device"),
        comparisons=lambda group: len(comparisons(group)),
        best_device=lambda group: best_row(group, doubtful),
    )


def environment(rows: Rows) -> Lines:
    """One line per distinct environment, the newest first, with the columns of `ENVIRONMENT` that are known for any."""
    newest_first = sorted(rows, key=lambda row: row["measured_at"] or _NEVER, reverse=True)
    told_apart = ("device", "origin", *(name for name in ENVIRONMENT if name != "commit"))
    distinct = [group[0] for group in grouped(newest_first, *told_apart).values()]
    known = [name for name in ENVIRONMENT if any(row[name] not in {None, "", "{}"} for row in distinct)]
    return [{name: row[name] for name in ("row", *known)} for row in distinct]


def runs(rows: Rows) -> Lines:
    """One line per run, the newest first: where its rows come from."""
    newest_first = sorted(rows, key=lambda row: row["measured_at"] or _NEVER, reverse=True)
    return _lines(
        grouped(newest_first, "run").values(),
        run=_first("run"),
        origin=_first("origin"),
        date=_first("row"),
        device_names=lambda group: tuple(rows[0]["row"] for rows in grouped(group, "device").values()),
        records=lambda group: sum(row["attempts"] for row in group),
        torch=_names("torch"),
        transformers=_names("transformers"),
        commit=_names("commit"),
        licence=_first("source_licence"),
    )


def problems(findings: Sequence[Finding]) -> Lines:
    """One line per finding of the data lint; both columns hold its position in `findings`."""
    return [
        {"row": finding.rows[0], "fault": position, "finding": position} for position, finding in enumerate(findings)
    ]


# ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def median_change(rows: Rows) -> float | None:
    """Median change of the latency over the comparisons among `rows`."""
    changes = [row["change"] for row in comparisons(rows)]
    return median(changes) if changes else None


def best_row(rows: Rows, doubtful: Collection[int] = ()) -> int | None:
    """Label of the row with the largest gain: a doubtful one only where there is no other."""
    trusted = _trusted(rows, doubtful)
    return min(trusted, key=lambda row: row["change"])["row"] if trusted else None


def worst_row(rows: Rows, doubtful: Collection[int] = ()) -> int | None:
    """Label of the row with the smallest gain, or the largest loss."""
    trusted = _trusted(rows, doubtful)
    return max(trusted, key=lambda row: row["change"])["row"] if trusted else None


def _trusted(rows: Rows, doubtful: Collection[int]) -> list[Row]:
    compared = comparisons(rows)
    return [row for row in compared if row["row"] not in doubtful] or compared


def _lines(groups: Iterable[Rows], **columns: Callable[[Rows], Any]) -> Lines:
    return [{"row": group[0]["row"]} | {name: value(group) for name, value in columns.items()} for group in groups]


def _first(column: str) -> Callable[[Rows], Any]:
    return lambda group: group[0][column]


def _distinct(column: str) -> Callable[[Rows], int]:
    return lambda group: len({row[column] for row in group})


def _names(column: str) -> Callable[[Rows], tuple[Any, ...]]:
    return lambda group: tuple(sorted({row[column] for row in group} - {""}))
