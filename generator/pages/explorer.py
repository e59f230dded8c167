"""The explorer: every row of the results in one table that readers filter, sort and compare in the browser.

Takes `Results` and a `Language`. Returns the data as JSON, the same in all languages, and the HTML in which the script
in docs/assets/javascripts/explorer/ builds the table. All words that the script shows come from here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from bench.records.record import Status
from bench.statistics.verdicts import NOISE
from generator.data.digits import digits, with_interval
from generator.data.load import Results
from generator.data.registry import COLUMNS, COORDINATES
from generator.data.selection import ORDERS, records
from generator.figures import causes
from generator.figures.cells import Link
from generator.figures.markup import render
from generator.figures.tables import cause_rows
from generator.figures.words import NAMES, Words
from generator.languages.language import Language
from generator.pages.atlas import Atlas
from generator.pages.downloads import compact, json_values, rounded

QUESTION = "workload"
"""The column by which the records are divided: latency and throughput are never in one ranking."""

FILTERS = (
    *(QUESTION, "device", "model", "task", "batch_size", "compile_mode", "dtype", "layout", "torch", "verdict"),
    *("status", "origin"),
)
"""Columns that readers filter by."""

MEASURES = (
    *("compiled_ms", "speedup", "compiled_images_s", "compile_cold_s", "break_even_calls", "compiled_peak_memory_gb"),
    "compiled_matmul_share",
)
"""Columns that the chart can show."""

SEARCHED = ("device_name", "run", "reason", "source_title")
"""Columns in which the search looks besides the names of the filters and of the weights."""

COMPARED = ("device", "torch", "compile_mode", "dtype", "layout")
"""Columns whose values readers compare in pairs."""

ROUNDED = ("eager_ms", "compiled_ms", "speedup", "compile_cold_s", "break_even_calls", "compile_warm_s")
"""Figures that are shown with the digits that their intervals support."""

SPARSE = 0.5
"""The share of rows that have a figure, below which a column names them."""


# ── Data ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=2)
def as_json(results: Results, link: Link) -> str:
    """Return what the table needs of all rows, for the script: these columns, and for each model its name, its page
    and the names of its weights.

    `link` returns the address of a page from the first page of a language. A column is a list; or, of few different
    values, ``{"of": values, "at": the position of each row's value}``, without ``at`` where all are the same; or, of
    few rows, ``{"rows": positions, "of": the value of each}``. Unknown is null, and a break-even point that is never
    reached the text "inf". Besides the columns of the results, ``digits`` has the decimals of `ROUNDED`.
    """
    columns = {name: column for name, column in _columns(results).items() if _is_first(name)}
    models = results.table.drop_duplicates("model").sort_values("model")
    named = zip(models["model"], models["model_label"], models["checkpoint"], strict=True)
    told = {model: (label, link("model", model), checkpoint) for model, label, checkpoint in named}
    return compact({"count": len(results.table), "columns": columns, "models": told})


@lru_cache(maxsize=2)
def details_as_json(results: Results) -> str:
    """Return the columns that `as_json` leaves out. Those in which nothing is known are missing."""
    return compact({name: column for name, column in _columns(results).items() if not _is_first(name)})


def _is_first(name: str) -> bool:
    """Whether the table needs a column: its own, those that tell cells apart, and those that readers search."""
    return name in {*COORDINATES, *FILTERS, *SEARCHED, "newest", "digits"} or bool(COLUMNS[name].explorer)


@lru_cache(maxsize=2)
def _columns(results: Results) -> Mapping[str, Any]:
    """Return all columns in which something is known, packed."""
    known = results.table.loc[:, [(values.notna() & (values != "")).any() for _, values in results.table.items()]]
    names = {"origin", *(each for name in ROUNDED for each in with_interval(name))}.intersection(results.table)
    rows = records(results.table[sorted(names)])
    decimals = pd.Series([" ".join(str(digits(row, name)) for name in ROUNDED) for row in rows])
    return {str(name): _packed(column) for name, column in known.items()} | {"digits": _coded(decimals)}


def _packed(column: pd.Series) -> Any:
    """Return a column in the form that takes least: see `as_json`."""
    if column.name in FILTERS or COLUMNS[str(column.name)].type in {str, bool}:
        return _coded(column)
    known = column.notna().to_numpy()
    values = [rounded(value) for value in json_values(column if known.mean() > SPARSE else column[known])]
    return values if len(values) == len(column) else {"rows": np.flatnonzero(known).tolist(), "of": values}


def _coded(column: pd.Series) -> Mapping[str, Any]:
    """Return each value of a column once, and where it stands."""
    at, values = pd.factorize(column)
    of = [None if value == "" else value for value in values.tolist()]
    return {"of": of, "at": at.tolist()} if len(of) > 1 else {"of": of}


# ── HTML ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def place(atlas: Atlas, files: Mapping[str, str], link: Link) -> str:
    """Return the HTML in which the script builds the explorer, with a list of links for readers without scripts.

    `files` are the addresses of `as_json` (data), of `details_as_json` (details) and of the first page of the language
    (root). `link` returns the address of a page from its kind (device, model) and slug.
    """
    words = Words(atlas.language, html=False)
    html = Words(atlas.language, html=True)
    told = texts(atlas, words, link)
    headings, known = told["headings"], _columns(atlas.results)
    return render(
        "explorer.html.jinja",
        **told,
        files=files,
        texts=json.dumps(told, ensure_ascii=False),
        _=atlas.language.gettext,
        devices=[(link("device", device.slug), html.value(device.label)) for device in atlas.devices],
        details=_details(words),
        question=atlas.cells[QUESTION].mode().iloc[0],
        measures=[(name, headings[name]) for name in MEASURES if name in known],
        compared=[(name, headings[name]) for name in COMPARED if len(told["names"][name]) > 1],
        superseded=not atlas.results.table["newest"].all(),
    )


# ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def texts(atlas: Atlas, words: Words, link: Link) -> dict[str, Any]:
    """Return the words of the script, with the values of filters in the order in which it offers them.

    The names of models are in the data: they are the same in all languages.
    """
    rows = records(cause_rows(atlas.results.table))
    return {
        "names": _names(atlas, words),
        "links": {"device": {device.slug: link("device", device.slug) for device in atlas.devices}},
        "filters": FILTERS,
        "searched": SEARCHED,
        "why": {row["row"]: causes.why(row["causes"], row["verdict"], words) for row in rows},
        "noise": 1 + NOISE,
        "rounded": ROUNDED,
        "headings": {
            column.name: words.title(column.heading if column.explorer is True else column.explorer)
            for column in COLUMNS.values()
            if column.explorer
        },
        "explained": {status.value: words.status_explained(status) for status in Status if status is not Status.PASS},
        "says": _phrases(words.language),
        "failed": words.language.gettext("The records could not be loaded. The pages below show them as tables."),
    }


def _phrases(language: Language) -> dict[str, str]:
    """Return the messages of the script."""
    gettext = language.gettext
    return {
        "unknown": gettext("unknown"),
        "never": gettext("never"),
        "rows": gettext("Rows: %(count)s"),
        "range": gettext("Rows %(first)s to %(last)s of %(count)s"),
        "nothing": gettext("There is no record for this selection yet."),
        "caption": gettext("Records that match the filters"),
        "pairs": gettext("Benchmark cases that differ only in what is compared"),
        "compiled_speedup": gettext("Compiled, speedup of the second"),
        "eager_speedup": gettext("Eager, speedup of the second"),
        "sort": gettext("Sort by this column"),
        "log": gettext("%(axis)s, logarithmic scale"),
        "chart": gettext("%(y)s plotted against %(x)s. Points: %(count)s. The table has the same figures."),
        "hollow": gettext("Hollow points are records that the data lint marks as doubtful."),
        "no_chart": gettext("No row has both of the figures that the chart needs."),
        "others": gettext("others"),
        "with_interval": gettext("%(value)s (from %(low)s to %(high)s)"),
        "samples": gettext("Timed calls: %(count)s. Processes: %(processes)s."),
    }


def _names(atlas: Atlas, words: Words) -> dict[str, dict[str, str]]:
    """Return the names of the values of each filter, in the order in which they are offered. Devices keep theirs:
    accelerators come first."""
    names, table = dict[str, dict[str, str]](), atlas.results.table

    def name(column: str, value: str) -> str:
        match column:
            case "device":
                return atlas.device[value].label if value in atlas.device else value
            case "status":
                return words.status_in_words(value) or words.language.gettext("passed")
            case _:
                return words.named(column, value) if column in NAMES else value

    for column in (each for each in FILTERS if each != "model"):
        values = table[column].unique()
        ordered = values if column == "device" else sorted(values, key=ORDERS.get(column))
        names[column] = {str(value): str(name(column, str(value))) for value in ordered}
    return names


def _details(words: Words) -> dict[str, str]:
    """Return the names of the parts of an opened row: its sections, and the columns of the registry."""
    gettext = words.language.gettext
    named = ((column.name, column.detail, column.heading) for column in COLUMNS.values() if column.detail)
    return {
        "figures": gettext("Figures with their intervals"),
        "graph": gettext("Graphs and causes"),
        "environment": gettext("Environment"),
        "command": gettext("The command that reproduces this record"),
        "source": gettext("Source"),
        "samples": gettext("Samples"),
        **{name: words.heading(name) for name in ("date", "why")},
        **{name: words.title(heading if own is True else own) for name, own, heading in named},
    }
