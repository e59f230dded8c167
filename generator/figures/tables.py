"""The tables of the pages as data: rows of results enter, what each line of a table shows leaves. Pure functions.

A line is a dictionary: ``row`` is the label of the row that it tells about (or the first of them), so that names can
be looked up there; the other keys are the columns that a reader sees, in order, under the names of
`words.Words.heading`. A column such as ``best_model`` holds the label of another row. Plain lists rather than
DataFrames: a page has a handful of rows, and there are many pages.

    python -c "from generator import load, tables; print(tables.summary(load.load().newest_rows))"
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from bench.statistics.verdicts import direction
from generator.data.lint import Finding
from generator.data.load import COORDINATES
from generator.data.rows import ORDERS, Row, Rows, comparisons, grouped, mode_order, version_order
from generator.figures.words import VERSION, varying

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
    """Comparisons whose compiled model is slower: by their verdict, or clearly so where there is none."""
    judged = ((row, row["verdict"]) for row in comparisons(rows))
    return [row for row, verdict in judged if verdict == "slower" or (verdict == "unknown" and direction_of(row) > 0)]


def direction_of(row: Row) -> int:
    """What the change of a comparison is shown as: -1 a gain, 1 a loss, 0 no clear difference."""
    low, high = (math.nan if row[end] is None else row[end] for end in ("change_low", "change_high"))
    return direction(row["change"], low, high)


def compile_cost(rows: Rows) -> Lines:
    """What compiling costs and when it has paid: measured rows only."""
    columns = ("compile_cold_s", "compile_warm_s", "break_even_calls", "graphs", "graph_breaks")
    return _shown(compile_rows(rows), *columns)


def compile_rows(rows: Rows) -> list[Row]:
    """The rows that know what compiling cost."""
    return [row for row in rows if row["compile_cold_s"] is not None]


def break_even(rows: Rows) -> Lines:
    """When compiling has paid, with an empty and with a filled cache, each with its interval below it."""
    costs = ("compile_cold_s", "break_even_calls", "compile_warm_s", "break_even_warm_calls")
    return _shown(compile_rows(rows), "eager_ms", "compiled_ms", *costs)


def modes(rows: Rows) -> Lines:
    """What each mode makes of the same cells, below each other: the latency, and what it costs to get there."""
    costs = ("compile_cold_s", "compile_warm_s", "break_even_calls")
    known = mode_rows(rows)
    return _shown(known, "compiled_ms", "change", *(column for column in costs if _any(known, column)))


def mode_rows(rows: Rows) -> list[Row]:
    """The rows of cells that are known in several modes, those of a cell together."""
    groups = grouped(sorted(rows, key=lambda row: row["model"]), *_APART_FROM_MODE).values()
    several = (group for group in groups if len({row["compile_mode"] for row in group}) > 1)
    return [row for group in several for row in sorted(group, key=lambda row: mode_order(row["compile_mode"]))]


def memory(rows: Rows) -> Lines:
    """Peak memory of both variants."""
    return _shown(memory_rows(rows), "eager_peak_memory_gb", "compiled_peak_memory_gb", "memory_change")


def memory_rows(rows: Rows) -> list[Row]:
    """The rows that know the peak memory of an variant."""
    return [row for row in rows if row["eager_peak_memory_gb"] or row["compiled_peak_memory_gb"]]


def efficiency(rows: Rows) -> Lines:
    """How much of what the device can do each variant does; energy where the device tells it."""
    known = efficiency_rows(rows)
    seldom = ("compiled_copy_share", "eager_image_j", "compiled_image_j")
    columns = ("flop", "eager_flop_s", "compiled_flop_s", "eager_copy_share")
    return _shown(known, *columns, *(column for column in seldom if _any(known, column)))


def efficiency_rows(rows: Rows) -> list[Row]:
    """The rows whose operations were counted."""
    return [row for row in rows if row["eager_flop_s"] is not None]


def causes(rows: Rows) -> Lines:
    """The verdict on each cell, and why."""
    return [{**line, "why": line["row"]} for line in _shown(cause_rows(rows), "change", "verdict")]


def cause_rows(rows: Rows) -> list[Row]:
    """The rows that know a cause, or whose measurement could have told one."""
    return [row for row in comparisons(rows) if row["causes"] or row["eager_flop_s"] is not None]


def graph_breaks(rows: Rows) -> Lines:
    """One line per place at which Dynamo ended a graph, with the modes in which it did."""
    return _graph_lines(break_rows(rows), "graph_break_reasons", reason=_text("reason"), location=_text("location"))


def break_rows(rows: Rows) -> list[Row]:
    """The rows with graph breaks."""
    return [row for row in rows if row["graph_break_reasons"]]


def skips(rows: Rows) -> Lines:
    """One line per reason for which CUDA graphs were skipped, with the modes in which they were."""
    return _graph_lines(skip_rows(rows), "cudagraph_skip_reasons", reason=str)


def skip_rows(rows: Rows) -> list[Row]:
    """The rows in which CUDA graphs were skipped."""
    return [row for row in rows if row["cudagraph_skip_reasons"]]


def recompiles(rows: Rows) -> Lines:
    """How often Dynamo traced again: with the inputs of the measurement, and when other batch sizes follow.

    One line per model, device, choice of dynamic shapes and outcome, with the modes that came out so.
    """
    known = sorted(recompile_rows(rows), key=lambda row: (row["model"], row["device"]))
    alike = ("model", "device", "dynamic", "recompiles", "batch_size_recompiles")
    return _lines(
        grouped(known, *alike).values(),
        model=_first("model"),
        device=_first("device"),
        modes=_names("compile_mode"),
        **{column: _first(column) for column in alike[2:]},
    )


def recompile_rows(rows: Rows) -> list[Row]:
    """The rows in which Dynamo traced again, or was made to by other batch sizes."""
    return [row for row in rows if row["recompiles"] or row["batch_size_recompiles"] is not None]


def _graph_lines(rows: Rows, column: str, **parts: Callable[[Any], str]) -> Lines:
    """One line per model, device and distinct element of a column of JSON lists."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["model"], row["device"])):
        for element in json.loads(row[column]):
            key = (row["model"], row["device"], *(part(element) for part in parts.values()))
            found.setdefault(key, []).append(row)
    return [
        {"row": group[0]["row"], "model": key[0], "device": key[1]}
        | {"modes": _names("compile_mode")(group)}
        | dict(zip(parts, key[2:], strict=True))
        for key, group in found.items()
    ]


def _text(name: str) -> Callable[[Any], str]:
    return lambda element: str(element[name])


def _shown(rows: Rows, *columns: str) -> Lines:
    """A line per row: what tells the rows apart, and `columns`."""
    shown = ("row", *_coordinates(rows), *columns)
    return [{column: row[column] for column in shown} for row in rows]


def _any(rows: Rows, column: str) -> bool:
    return any(row[column] is not None for row in rows)


_APART_FROM_MODE = tuple(name for name in COORDINATES if name != "compile_mode")


def _coordinates(rows: Rows) -> list[str]:
    """The columns that tell the rows apart, the one that names them first: the model, else the device."""
    columns = varying(rows)
    return sorted(columns, key=lambda column: column != "model") or ["model"]


# ── Versions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def versions(rows: Rows) -> Lines:
    """One line per cell that several versions of torch have in common, a column for each version.

    The columns ``torch 2.0.1`` hold the labels of the rows; `version_change`, by variant, compares the newest with the
    oldest.
    """
    cells = version_cells(rows)
    names = sorted({version for cell in cells for version in cell}, key=version_order)
    newest = [cell[max(cell, key=version_order)] for cell in cells]
    columns = [column for column in _coordinates(newest) if column not in {"torch", "origin"}] or ["model"]
    return [
        {"row": last["row"]}
        | {column: last[column] for column in columns}
        | {f"{VERSION}{name}": cell[name]["row"] if name in cell else None for name in names}
        | {"version_change": {variant: version_change(cell, variant) for variant in ("eager", "compiled")}}
        for cell, last in zip(cells, newest, strict=True)
    ]


def version_cells(rows: Rows) -> list[dict[str, Row]]:
    """The cells that several versions of torch have in common: version → row, a measured one before a published one."""
    in_order = sorted(rows, key=lambda row: (row["model"], row["origin"], row["dynamic"] != "auto", row["weights"]))
    found = []
    for group in grouped(in_order, "device", "model", "compile_mode", "batch_size", "dtype").values():
        by_version: dict[str, Row] = {}
        for row in comparisons(group):
            by_version.setdefault(row["torch"], row)
        if len(by_version) > 1:
            found.append({version: by_version[version] for version in sorted(by_version, key=version_order)})
    return found


def version_rows(rows: Rows) -> list[Row]:
    """The rows of `version_cells`."""
    return [row for cell in version_cells(rows) for row in cell.values()]


def version_change(cell: Mapping[str, Row], variant: str) -> float:
    """Change of the latency of an variant from the oldest to the newest version."""
    oldest, newest = (cell[choose(cell, key=version_order)][f"{variant}_ms"] for choose in (min, max))
    return float(newest / oldest - 1)


# ── Freed memory ────────────────────────────────────────────────────────────────────────────────────────────────────


def malloc(pairs: Sequence[tuple[Row, Row]]) -> Lines:
    """One line for each of `malloc_pairs`: both variants with glibc's default and with freed memory kept, and the
    speedups.

    `row` is that of memory kept.
    """
    columns = _coordinates([keep for _, keep in pairs])
    return [
        {"row": keep["row"]}
        | {column: keep[column] for column in columns}
        | {f"{name}:{row['malloc']}": row[name] for name in ("eager_ms", "compiled_ms", "speedup") for row in pair}
        for pair in pairs
        for keep in pair[1:]
    ]


MALLOC_LATENCIES = ("eager_ms:default", "eager_ms:keep", "compiled_ms:default", "compiled_ms:keep")
MALLOC_SPEEDUPS = ("speedup:default", "speedup:keep")


def malloc_pairs(rows: Rows) -> list[tuple[Row, Row]]:
    """The comparisons on a CPU that were measured both ways, the newest of each: with glibc's default, and with freed
    memory kept. `rows` are those of all runs."""
    on_cpu = [row for row in comparisons(rows) if row["device_type"] == "cpu" and row["origin"] == "measured"]
    oldest_first = sorted(on_cpu, key=lambda row: row["measured_at"] or _NEVER)
    pairs = []
    for group in grouped(oldest_first, *COORDINATES).values():
        newest = {row["malloc"]: row for row in group}
        if len(newest) > 1:
            pairs.append((newest["default"], newest["keep"]))
    return sorted(pairs, key=lambda pair: pair[1]["row"])


# ── One line per group ──────────────────────────────────────────────────────────────────────────────────────────────


def summary(rows: Rows, doubtful: Collection[int] = ()) -> Lines:
    """One line per device and origin: published and measured figures never share an average."""
    return _lines(
        grouped(rows, "device", "origin").values(),
        device=_first("device"),
        origin=_first("origin"),
        batch_sizes=lambda group: _names("batch_size")(comparisons(group)),
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


def families(rows: Rows, family_of: Callable[[Row], str], doubtful: Collection[int] = ()) -> Lines:
    """One line per family of models; the median where all rows are of one device and origin."""
    by_family: dict[str, list[Row]] = {}
    for row in rows:
        by_family.setdefault(family_of(row), []).append(row)
    averaged = len({(row["device"], row["origin"]) for row in rows}) == 1
    return [
        {
            "row": group[0]["row"],
            "family": family,
            "models": _distinct("model")(group),
            "comparisons": len(comparisons(group)),
            **({"median_change": median_change(group)} if averaged else {}),
            "best_model": best_row(group, doubtful),
            "slower": len(slower_rows(group)),
        }
        for family, group in sorted(by_family.items())
    ]


def environment(rows: Rows) -> Lines:
    """One line per distinct environment, the newest first, with the columns of `ENVIRONMENT` that are known for any,
    and who brought its records if anybody said so."""
    newest_first = _newest_first(rows)
    told_apart = ("device", "origin", *(name for name in ENVIRONMENT if name != "commit"))
    distinct = list(grouped(newest_first, *told_apart).values())
    known = [name for name in ENVIRONMENT if any(group[0][name] not in {None, "", "{}"} for group in distinct)]
    named = _contributors(rows)
    return _lines(distinct, **{name: _first(name) for name in known}, **named)


def runs(rows: Rows) -> Lines:
    """One line per run, the newest first: where its rows come from, and who brought them if anybody said so."""
    newest_first = _newest_first(rows)
    named = _contributors(rows)
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
        **named,
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


def batch_pairs(rows: Rows, doubtful: Collection[int] = ()) -> list[tuple[Row, Row]]:
    """The same comparison at the smallest and at the largest batch size, of one origin: measured if there is any.

    Doubtful rows are no part of a pair. Empty where there is only one batch size.
    """
    compared = [row for row in comparisons(rows) if row["row"] not in doubtful]
    for origin in ("measured", "published"):
        of_origin = [row for row in compared if row["origin"] == origin]
        sizes = sorted({row["batch_size"] for row in of_origin})
        alike = grouped(of_origin, *(name for name in COORDINATES if name != "batch_size")).values()
        by_size = [{row["batch_size"]: row for row in group} for group in alike]
        pairs = [(each[sizes[0]], each[sizes[-1]]) for each in by_size if {sizes[0], sizes[-1]} <= each.keys()]
        if len(sizes) > 1 and pairs:
            return pairs
    return []


def best_row(rows: Rows, doubtful: Collection[int] = ()) -> int | None:
    """Label of the row with the largest gain: a doubtful one only where there is no other."""
    known = trusted(rows, doubtful)
    return min(known, key=lambda row: row["change"])["row"] if known else None


def worst_row(rows: Rows, doubtful: Collection[int] = ()) -> int | None:
    """Label of the row with the largest loss; of that with the smallest gain where none is slower. Doubtful ones only
    where there is no other."""
    known = trusted(slower_rows(rows) or rows, doubtful)
    return max(known, key=lambda row: row["change"])["row"] if known else None


def trusted(rows: Rows, doubtful: Collection[int] = ()) -> list[Row]:
    """The comparisons among `rows`, doubtful ones only where there are no others."""
    compared = comparisons(rows)
    return [row for row in compared if row["row"] not in doubtful] or compared


def _lines(groups: Iterable[Rows], **columns: Callable[[Rows], Any]) -> Lines:
    return [{"row": group[0]["row"]} | {name: value(group) for name, value in columns.items()} for group in groups]


def _first(column: str) -> Callable[[Rows], Any]:
    return lambda group: group[0][column]


def _distinct(column: str) -> Callable[[Rows], int]:
    return lambda group: len({row[column] for row in group})


def _names(column: str) -> Callable[[Rows], tuple[Any, ...]]:
    return lambda group: tuple(sorted({row[column] for row in group} - {""}, key=ORDERS.get(column)))


def _newest_first(rows: Rows) -> list[Row]:
    return sorted(rows, key=lambda row: row["measured_at"] or _NEVER, reverse=True)


def _contributors(rows: Rows) -> Mapping[str, Callable[[Rows], tuple[Any, ...]]]:
    """A column with who brought the records; none where nobody said so."""
    return {"contributor": _names("contributor")} if any(row["contributor"] for row in rows) else {}
