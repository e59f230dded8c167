"""What the explorer's script is given: every row, every word, nothing invented."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from atlas_data import PUBLISHED, measured, write
from conftest import LANGUAGES

from bench.records.record import Status
from generator.data.digits import digits
from generator.data.load import Results, load
from generator.data.registry import COLUMNS
from generator.data.selection import records
from generator.figures.words import Words
from generator.languages.language import UNKNOWN, Untranslated, load_language
from generator.pages import explorer
from generator.pages.atlas import Atlas

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "docs" / "assets" / "javascripts" / "explorer"


@cache
def published() -> Results:
    return load(ROOT / PUBLISHED)


def link(kind: str, slug: str) -> str:
    return f"{kind}s/{slug}/"


def unpacked(results: Results) -> list[dict[str, Any]]:
    """The rows, with the columns of both files."""
    first, details = json.loads(explorer.as_json(results, link)), json.loads(explorer.details_as_json(results))
    assert not first["columns"].keys() & details.keys()
    lists = {name: whole(column, first["count"]) for name, column in (first["columns"] | details).items()}
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def whole(column: Any, count: int) -> list[Any]:
    """The values of a column in any of its forms."""
    if isinstance(column, list):
        return column
    if "rows" in column:
        known = dict(zip(column["rows"], column["of"], strict=True))
        return [known.get(row) for row in range(count)]
    return [column["of"][at] for at in column.get("at", [0] * count)]


def texts(results: Results, code: str) -> dict[str, Any]:
    language = load_language(code)
    return explorer.texts(Atlas(results, language), Words(language, html=False), link)


def test_every_row_and_figure_is_there() -> None:
    rows = unpacked(published())
    assert len(rows) == len(published().table)
    for row, cell in zip(rows, records(published().table), strict=True):
        assert row["model"] == cell["model"]
        assert row["eager_ms"] == cell["eager_ms"]
        assert (row["verdict"] == "doubtful") == (cell["row"] in published().doubts)
        assert row["digits"].split() == [str(digits(cell, name)) for name in explorer.ROUNDED]


def test_failures_and_superseded_runs_stay(tmp_path: Path) -> None:
    written = [
        measured(run="old", day=1),
        measured(run="new", day=2),
        measured(run="new", batch_size=64, status=Status.OOM, reason="CUDA out of memory", day=2),
    ]
    rows = unpacked(load(write(tmp_path, written)))
    assert sorted((row["run"], row["newest"]) for row in rows) == [("new", True), ("new", True), ("old", False)]
    failed = next(row for row in rows if row["status"] == "oom")
    assert (failed["compiled_ms"], failed["reason"]) == (None, "CUDA out of memory")


def test_a_cause_is_told_in_the_language_of_the_page(tmp_path: Path) -> None:
    results = load(write(tmp_path, [measured()]))
    rows = results.rows.assign(causes='[["graph_breaks", 2, null]]')
    results = dataclasses.replace(results, rows=rows)
    ((_, told),) = texts(results, "en")["why"].items()
    assert "2" in told
    assert len({str(texts(results, code)["why"]) for code in LANGUAGES}) == len(LANGUAGES)


def test_the_table_needs_no_more_than_the_first_file() -> None:
    """Details come when a row is opened: whatever a column of the table or a filter shows is there before."""
    script = (SCRIPTS / "view.js").read_text(encoding="utf-8")
    named = {name for name in COLUMNS if f'"{name}"' in script} | {*explorer.FILTERS, *explorer.SEARCHED, "newest"}
    assert not named & json.loads(explorer.details_as_json(published())).keys()


@pytest.mark.parametrize("code", LANGUAGES)
def test_all_words_are_translated(code: str) -> None:
    def walk(told: Any) -> None:
        assert not isinstance(told, Untranslated), told
        for each in told.values() if isinstance(told, dict) else told if isinstance(told, (list, tuple)) else ():
            walk(each)

    walk(texts(published(), code))


def test_every_value_of_a_filter_has_a_name() -> None:
    models = json.loads(explorer.as_json(published(), link))["models"]
    names = texts(published(), "ar")["names"] | {"model": {slug: label for slug, (label, _, _) in models.items()}}
    for row in records(published().table):
        for column in explorer.FILTERS:
            assert names[column][str(row[column])] not in {"", UNKNOWN}
