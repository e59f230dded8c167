"""One verdict a row: tables, charts, data files and the built pages say of each row what its verdict says."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pytest
from conftest import LANGUAGES, PREFIXES, BuiltSite
from guide_figures import shipped
from unpacking import by_device, unpacked

from bench.statistics.verdicts import SAME
from generator.data.selection import Row, records
from generator.figures import matrix
from generator.figures.cells import TONES
from generator.figures.tables import summary
from generator.pages import decision, downloads, explorer


def rows() -> list[Row]:
    return records(decision.compared(shipped()))


def decided() -> list[dict[str, Any]]:
    """The rows from which the form answers."""
    return [row | {"device": device} for device, data in by_device(shipped()).items() for row in unpacked(data)]


def cell(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells a row of the decision data from the others."""
    names = ("device", "model", "torch", "compile_mode", "dtype", "batch_size", "dynamic", "input_size", "origin")
    return tuple(row[name] for name in names)


def test_a_verdict_is_what_the_interval_beside_it_says() -> None:
    seen = Counter(row["verdict"] for row in rows())
    assert {"faster", "slower", "inconclusive", "doubtful"} <= set(seen), "the records show each of them"
    for row in rows():
        low, high = row["speedup_low"], row["speedup_high"]
        if row["row"] in shipped().doubts:
            assert row["verdict"] == "doubtful"
        elif low is not None:
            assert (row["verdict"] == "faster") == (low > 1 + SAME)
            assert (row["verdict"] == "slower") == (high < 1 / (1 + SAME))
            assert (row["verdict"] == "same") == (low >= 1 / (1 + SAME) and high <= 1 + SAME)


def test_matrix_and_short_answer_show_the_same_record() -> None:
    leading = set(matrix.leading(shipped()).values())
    first, *_ = matrix.matrices(shipped().newest)
    assert set(first.labels.values()) <= leading
    led = {cell(row) for row in decided() if row["workload"] == "latency" and row["leads"]}
    assert led == {cell(row) for row in rows() if row["workload"] == "latency" and row["row"] in leading}
    assert all(row["leads"] for row in decided() if row["workload"] == "throughput"), "the matrix has none of them"


def test_data_files_hold_the_verdict() -> None:
    assert {cell(row): row["verdict"] for row in decided()} == {cell(row): row["verdict"] for row in rows()}
    packed = json.loads(explorer.as_json(shipped(), lambda *_: "x"))["columns"]["verdict"]
    in_explorer = [packed["of"][at] for at in packed["at"]]
    of_csv = csv.DictReader(io.StringIO(downloads.as_csv(shipped())))
    for written in (json.loads(downloads.as_json(shipped())), of_csv):
        assert [row["verdict"] for row in written] == in_explorer == shipped().table["verdict"].tolist()


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_colours_every_speedup_by_its_verdict(code: str, site: BuiltSite) -> None:
    tones = defaultdict(set)
    for row in rows():
        if row["speedup"] is not None:
            tones[repr(round(row["speedup"], 6))].add(TONES.get(row["verdict"], "").strip())
    for workload in ("latency", "throughput"):  # a median may be the speedup of one row, and has a tone of its own
        newest = shipped().newest
        for median in summary(newest[newest["workload"] == workload])["median_speedup"]:
            tones.pop(repr(round(median, 6)), None)
    counted = 0
    for path in site.pages(PREFIXES[code]).values():
        page = path.read_text(encoding="utf-8")
        for classes, speedup, text in re.findall(r'<td class="number([^"]*)" data-sort="([^"]*)">(.*?)</td>', page):
            if speedup in tones and text.count("×") == 1 and ("<br>" not in text or "→" in text):
                assert re.sub(r"bar-\d+", "", classes).strip() in tones[speedup], f"{path}: {html.unescape(text)}"
                counted += 1
    times = {"latency": 2, "throughput": 1}  # on the pages of devices and of models, or on those of families
    assert counted > sum(times[row["workload"]] for row in rows() if row["speedup"] is not None)
