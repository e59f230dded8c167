"""One verdict a row: tables, charts, data files and the built pages say of each row what its verdict says."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from conftest import LANGUAGES, PREFIXES, BuiltSite
from markdown_html import to_html
from unpacking import by_device, unpacked

from bench.statistics.verdicts import NOISE, SAME
from generator.data.load import Results, load
from generator.data.selection import Row, records
from generator.drawing import plot
from generator.figures import charts, matrix, tables
from generator.figures.cells import TONES
from generator.figures.markup import Tables
from generator.figures.matrix import MatrixTables
from generator.figures.words import DOUBT, Words
from generator.languages.language import UNKNOWN, load_language
from generator.pages import downloads, explorer
from generator.pages.atlas import Atlas

EN = load_language("en")


@cache
def results() -> Results:
    return load()


def rows() -> list[Row]:
    return records(results().newest)


def decided() -> list[dict[str, Any]]:
    """The rows from which the form answers."""
    return [row | {"device": device} for device, data in by_device(results()).items() for row in unpacked(data)]


def cell(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells a row of the decision data from the others."""
    names = ("device", "model", "torch", "compile_mode", "dtype", "batch_size", "dynamic", "input_size", "origin")
    return tuple(row[name] for name in names)


def lines_of(lines: Any, rows_of: Any) -> list[list[str]]:
    """The cells of a table as their HTML with the classes before them, line by line."""
    made = to_html(Tables(Words(EN, html=True), results(), lambda *_: None).rows(lines, rows_of, "x"))
    body = made.partition("<tbody>")[2].partition("</tbody>")[0]
    found = [re.findall(r'<t[dh](?: scope="row")?(?: class="([^"]*)")?[^>]*>(.*?)</t[dh]>', line, re.DOTALL)
             for line in re.findall(r"<tr.*?</tr>", body, re.DOTALL)]  # fmt: skip
    return [[f"{classes}|{text}" for classes, text in line] for line in found]


def tone(row: Row) -> str:
    return TONES.get(row["verdict"], "").strip()


def tone_of(cell: str) -> str:
    return next((word for word in ("better", "worse") if word in cell.partition("|")[0]), "")


# ── The verdict itself ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_verdict_is_what_the_interval_beside_it_says() -> None:
    seen = Counter(row["verdict"] for row in rows())
    assert {"faster", "slower", "inconclusive", "doubtful"} <= set(seen), "the records show each of them"
    for row in rows():
        if row["row"] in results().doubts:
            assert row["verdict"] == "doubtful"
        elif row["speedup"] is None:
            assert row["verdict"] == "unknown"
        elif row["speedup_low"] is None:
            clear = (
                "faster"
                if row["speedup"] > 1 + NOISE
                else "slower"
                if row["speedup"] < 1 / (1 + NOISE)
                else "inconclusive"
            )
            assert (row["origin"], row["verdict"]) == ("published", clear)
        else:
            low, high = row["speedup_low"], row["speedup_high"]
            is_same = low >= 1 / (1 + SAME) and high <= 1 + SAME
            clear = "faster" if low > 1 + SAME else "slower" if high < 1 / (1 + SAME) else "inconclusive"
            assert row["verdict"] == ("same" if is_same else clear)


def test_latencies_and_speedup_follow_from_the_same_statistic() -> None:
    for row in rows():
        if row["speedup"] is not None:
            assert row["speedup"] == pytest.approx(row["eager_ms"] / row["compiled_ms"], rel=1e-9)
            assert row["change"] == pytest.approx(row["compiled_ms"] / row["eager_ms"] - 1, rel=1e-9, abs=1e-12)


def test_there_is_a_break_even_point_only_where_compiling_is_clearly_faster() -> None:
    for row in rows():
        for name in ("break_even_calls", "break_even_warm_calls"):
            if row[name] is None:
                continue
            assert (row["verdict"] == "faster") == math.isfinite(row[name])
            assert row["verdict"] in {"faster", "slower", "same"}


# ── Surfaces ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_tables_colour_each_change_by_its_verdict() -> None:
    cells = results().newest
    lines = tables.latency(cells)
    at = list(lines.columns).index("change")
    for row, line in zip(rows(), lines_of(lines, rows()), strict=True):
        assert tone_of(line[at]) == tone(row)
        assert (DOUBT in line[0]) == (row["verdict"] == "doubtful")


def test_the_table_of_causes_names_each_verdict() -> None:
    words, cells = Words(EN, html=True), tables.cause_rows(results().newest)
    lines = tables.causes(cells)
    at = {name: list(lines.columns).index(name) for name in ("change", "verdict")}
    for row, line in zip(records(cells), lines_of(lines, records(cells)), strict=True):
        assert line[at["verdict"]].partition("|")[2] == words.named("verdict", row["verdict"])
        assert tone_of(line[at["change"]]) == tone(row)


def test_costs_say_never_only_where_nothing_is_gained() -> None:
    cells = tables.compile_rows(results().newest)
    lines = tables.compile_cost(cells)
    at = list(lines.columns).index("break_even_calls")
    for row, line in zip(records(cells), lines_of(lines, records(cells)), strict=True):
        shown = line[at].partition("|")[2]
        expected = {"faster": r"\d", "slower": "never", "same": "never"}.get(row["verdict"], f"^{UNKNOWN}$")
        assert re.search(expected, shown), (row["model"], row["verdict"], shown)


def test_charts_have_the_colours_of_the_tables() -> None:
    marks = defaultdict(set)
    for draw in (charts.change, charts.overview, charts.batches):
        for panel in draw(records(results().newest), EN).plot.panels:
            for line in panel.rows:
                for mark in line.marks:
                    if mark and not mark.text.startswith("median"):
                        marks[round(mark.value, 12)].add(mark.verdict)
    for row in rows():
        if row["change"] is not None:
            assert row["verdict"] in marks[round(row["change"], 12)]
    assert {verdict: plot.VERDICTS[verdict] for verdict in TONES} == {"faster": "gain", "slower": "loss"}


def test_the_matrix_of_the_first_page_has_them_as_well() -> None:
    made = MatrixTables(Words(EN, html=True), results(), lambda *_: None, lambda row: f"row-{row['row']}")
    seen: set[int] = set()
    for each in matrix.matrices(results().newest):
        for line in made.table(each).body:
            for cell in line.cells[1:]:
                for label in map(int, re.findall(r'href="row-(\d+)"', cell.html)):
                    row = results().by_label[label]
                    expected = {"faster": "gain", "slower": "loss", "doubtful": "doubtful", "unknown": "status"}
                    assert expected.get(row["verdict"], "number") in cell.classes
                    assert ("gain" in cell.classes or "loss" in cell.classes) == (
                        row["verdict"] in {"faster", "slower"}
                    )
                    seen.add(label)
    assert len(seen) > 100


def test_matrix_and_short_answer_show_the_same_record() -> None:
    leading = set(matrix.leading(results()).values())
    first, *_ = matrix.matrices(results().newest)
    assert set(first.labels.values()) <= leading
    of_latency = [row for row in rows() if row["workload"] == "latency"]
    led = {cell(row) for row in decided() if row["workload"] == "latency" and row["leads"]}
    assert led == {cell(row) for row in of_latency if row["row"] in leading}
    assert all(row["leads"] for row in decided() if row["workload"] == "throughput"), "the matrix has none of them"


def test_counts_and_rankings_count_verdicts_and_leave_doubts_out() -> None:
    atlas = Atlas(results(), EN)
    slower = [row for row in rows() if row["verdict"] == "slower" and row["status"] == "pass"]
    ranked = (*atlas.latency.slower, *atlas.throughput.slower)
    assert sorted(row.row for row in ranked) == sorted(row["row"] for row in slower)
    summed = sum(line["slower"] for line in records(tables.summary(results().newest)))
    assert summed == len(slower) == len(tables.slower(results().newest, most=10**6))
    known: list[Any] = [atlas, *atlas.devices, *atlas.models]
    selections = [each for one in known for each in (one.latency, one.throughput)]
    for selection in selections:
        assert all(
            row.verdict != "doubtful" for row in (*selection.rows, *filter(None, (selection.best, selection.worst)))
        )
        assert selection.best is None or selection.best.verdict == "faster", "a loss is no gain"
    for selection in selections:
        if selection.spread:
            changes = sorted(row.change for row in selection.rows)
            spread = selection.spread
            assert changes[0] <= spread.lower <= selection.median_change <= spread.upper <= changes[-1]


def test_data_files_hold_the_verdict() -> None:
    assert {cell(row): row["verdict"] for row in decided()} == {cell(row): row["verdict"] for row in rows()}
    columns = json.loads(explorer.as_json(results(), lambda *_: "x"))["columns"]
    packed = columns["verdict"]
    in_explorer = [packed["of"][at] for at in packed["at"]]
    for written in (
        json.loads(downloads.as_json(results())),
        list(csv.DictReader(io.StringIO(downloads.as_csv(results())))),
    ):
        assert [row["verdict"] for row in written] == in_explorer == results().table["verdict"].tolist()


# ── The built site ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_colours_every_change_by_its_verdict(code: str, site: BuiltSite) -> None:
    verdicts = defaultdict(set)
    for row in rows():
        if row["change"] is not None:
            verdicts[repr(round(row["change"], 6))].add(tone(row))
    counted = 0
    for path in site.pages(PREFIXES[code]).values():
        if "data-types" in path.parts:  # has changes of rates alone: more is better
            continue
        page = path.read_text(encoding="utf-8")
        page = page.partition('id="throughput-')[0] if "versions" in path.parts else page  # likewise, from there on
        for classes, change, text in re.findall(r'<td class="number([^"]*)" data-sort="([^"]*)">(.*?)</td>', page):
            if change in verdicts and text.count("%") == 1 and ("<br>" not in text or "→" in text):
                found = classes.strip()
                assert found in verdicts[change], f"{path}: {html.unescape(text)}"
                counted += 1
    times = {"latency": 2, "throughput": 1}  # on the pages of devices and of models, or on those of families
    assert counted > sum(times[row["workload"]] for row in rows() if row["change"] is not None)
