"""What the explorer's script is given: every row, every word, nothing invented."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from atlas_data import PUBLISHED, measured, rounds, write
from conftest import LANGUAGES

from bench.records.record import Measurement, Samples, Status
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
OWN_LIMIT = 47 * 1024


@cache
def published() -> Results:
    return load(ROOT / PUBLISHED)


def link(kind: str, slug: str) -> str:
    return f"{kind}s/{slug}/"


def unpacked(results: Results) -> list[dict[str, Any]]:
    """The rows, with the columns of both files."""
    first, details = json.loads(explorer.as_json(results, link)), json.loads(explorer.details_as_json(results))
    assert not first["columns"].keys() & details["columns"].keys()
    assert {*details["names"], "digits"} == first["columns"].keys() | details["columns"].keys()
    lists = {name: whole(column, first["count"]) for name, column in (first["columns"] | details["columns"]).items()}
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


def test_a_narrow_interval_gives_more_digits_here_too(tmp_path: Path) -> None:
    eager, compiled = (Samples(rounds_ms=rounds(ms, spread=0.001)) for ms in (20.0, 10.0))
    results = load(write(tmp_path, [measured(figures=Measurement(eager=eager, compiled=compiled))]))
    (row,), (cell,) = unpacked(results), results.by_label
    assert int(row["digits"].split()[0]) == digits(cell, "eager_ms") >= 2


def test_a_column_of_which_nothing_is_known_is_left_out_and_no_other() -> None:
    rows = unpacked(published())
    unknown = {name for name in COLUMNS if all(row[name] in {None, ""} for row in records(published().table))}
    assert rows[0].keys() == COLUMNS.keys() - unknown | {"digits"}


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
    script = (SCRIPTS / "page.js").read_text(encoding="utf-8")
    named = {name for name in COLUMNS if f'"{name}"' in script} | {*explorer.FILTERS, *explorer.SEARCHED, "newest"}
    assert not named & json.loads(explorer.details_as_json(published()))["columns"].keys()


def test_a_model_has_its_name_and_the_address_of_its_page() -> None:
    models = json.loads(explorer.as_json(published(), link))["models"]
    assert models["vit"] == ["ViT", "models/vit/", "google/vit-base-patch16-224"]
    assert list(models) == sorted(models)


def test_it_begins_with_the_question_of_most_rows() -> None:
    assert texts(published(), "en")["question"] == "latency"
    assert texts(load(ROOT / PUBLISHED.parent), "en")["question"] == "throughput"
    assert explorer.QUESTION not in explorer.COMPARED, "answers to different questions are never compared"


def test_the_rounds_of_a_row_are_those_of_its_records_thinned_evenly(tmp_path: Path) -> None:
    written = [measured(run=run, process=process, model=run) for run in ("b", "a") for process in range(4)]
    written.append(measured(run="b", batch_size=64, status=Status.OOM))
    results = load(write(tmp_path, written))
    (device,) = explorer.devices_with_rounds(results)
    rounds = json.loads(explorer.rounds_as_json(results, device))
    assert rounds.keys() == {str(row["row"]) for row in records(results.table) if row["eager_ms"]}
    for row in records(results.table):
        if row["eager_ms"]:
            variants = rounds[str(row["row"])]
            assert len(variants["eager"]) == len(variants["compiled"]) == 80  # 160 rounds, every second one
            assert median(variants["eager"]) == pytest.approx(row["eager_ms"], rel=0.02)


def test_published_rows_have_no_rounds() -> None:
    assert explorer.devices_with_rounds(published()) == []


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


def test_values_are_offered_in_their_own_order() -> None:
    names = texts(published(), "en")["names"]
    assert list(names["batch_size"]) == ["1", "4", "16"]
    assert list(names["compile_mode"]) == ["default", "reduce-overhead"]
    assert next(iter(names["torch"])) == "2.0.1"


def test_without_scripts_there_is_a_link_to_each_device() -> None:
    atlas = Atlas(published(), load_language("en"))
    files = {"data": "data.json", "details": "details.json", "rounds": "rounds/", "root": "../"}
    html = explorer.place(atlas, files, lambda kind, slug: f"../{kind}s/{slug}/")
    assert html.count("<li>") == 3
    assert '<a href="../devices/a100/">A100</a>' in html
    assert "\n\n" not in html
    assert " style=" not in html


def test_own_scripts_stay_small_and_vendored_ones_have_licences() -> None:
    assert sum(path.stat().st_size for path in SCRIPTS.glob("*.js")) <= OWN_LIMIT
    licences = (SCRIPTS / "vendor" / "LICENSES.txt").read_text(encoding="utf-8")
    sources = (SCRIPTS / "vendor" / "SOURCES.txt").read_text(encoding="utf-8")
    for package in ("@tanstack/table-core", "@tanstack/store", "chart.js", "@kurkle/color"):
        assert package in licences
        assert package in sources
