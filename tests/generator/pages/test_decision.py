"""Should I compile?: its data, its form and its table. What the script makes of them is tested in the browser."""

from __future__ import annotations

import ast
import html
import json
import re
from pathlib import Path

import pytest
from atlas_data import ON_CPU, measured, measurement, mixed, write

from bench.records.record import Status
from generator.data.load import Results, load
from generator.languages.language import load_language
from generator.pages import decision
from generator.pages.atlas import Atlas

SCRIPTS = Path("docs/assets/javascripts")
MOST_BYTES = 13 * 1024


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    failed = measured(batch_size=16, status=Status.EAGER_OOM, reason="x", **ON_CPU)
    return load(mixed(tmp_path_factory.mktemp("results"), failed))


def test_the_data_hold_every_newest_row_with_its_intervals(results: Results) -> None:
    rows = json.loads(decision.as_json(results))
    assert len(rows) == len(results.newest)
    mine = {row["batch_size"]: row for row in rows if row["origin"] == "measured"}
    assert mine[1]["speedup"][1] < mine[1]["speedup"][0] < mine[1]["speedup"][2]
    assert mine[1]["cold"]["ready_s"] == [20.0, 1]
    assert mine[1]["warm"]["calls"][0] < mine[1]["cold"]["calls"][0]
    assert mine[4]["cold"]["calls"][0] == "inf", "never: compiled is slower"
    assert (mine[16]["status"], mine[16]["eager_ms"]) == ("eager_oom", None)
    assert {"faster", "slower", "ambiguous", "doubtful", "unknown"} <= {row["verdict"] for row in rows}
    assert "NaN" not in decision.as_json(results)


@pytest.mark.parametrize("code", ["en", "ar"])
def test_the_form_is_one_block_of_html_with_labelled_controls(code: str, results: Results) -> None:
    text = decision.form(Atlas(results, load_language(code)), "../data/x.json")
    assert "\n\n" not in text
    assert "<form hidden" in text, "without scripts there is nothing to press"
    assert len(re.findall(r"<label><span>[^<]+</span>\n?<(?:select|input)", text)) == 5
    assert not re.search(r"<script|style=|\son\w+=", text), "nothing that a strict policy forbids"
    data = {name: html.unescape(value) for name, value in re.findall(r'data-(\w+)="([^"]*)"', text)}
    for name in ("texts", "models", "snippet"):
        json.loads(data[name])
    assert {"vit", "owlvit"} <= set(json.loads(data["models"]))


def test_the_snippet_is_python() -> None:
    cast = ", torch.autocast(device.type, torch.float16)"
    for compiles, autocast in (("", ""), ("model = torch.compile(model)\n", cast)):
        values = {
            "auto_class": "AutoModel",
            "checkpoint": "a/b",
            "dtype": ", dtype=torch.bfloat16",
            "compile": compiles,
            "autocast": autocast,
        }
        ast.parse(decision.SNIPPET % values)


def test_the_table_has_a_line_for_every_row(results: Results) -> None:
    lines = decision.lines(results.newest)
    assert len(lines) == len(results.newest)
    assert lines.index.equals(results.newest.index)
    assert list(lines.columns[:4]) == ["model", "change", "break_even_calls", "break_even_warm_calls"]
    assert "interval" in lines.columns


def test_the_scripts_stay_small() -> None:
    assert sum((SCRIPTS / name).stat().st_size for name in ("decision.js", "recommend.js")) <= MOST_BYTES


def test_the_form_begins_with_a_case_that_has_an_answer(tmp_path: Path) -> None:
    doubtful = measured(model="A", checkpoint="a/a", status=Status.UNSTABLE, reason="busy", figures=measurement())
    sound = measured(model="B", checkpoint="b/b")
    html_of = decision.form(Atlas(load(write(tmp_path, [doubtful, sound])), load_language("en")), "x.json")
    assert re.findall(r'<option value="([^"]*)" selected', html_of)[0] == "b"
