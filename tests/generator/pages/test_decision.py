"""Should I compile?: its data, its form and its table. What the script makes of them is tested in the browser."""

from __future__ import annotations

import ast
import gzip
import html
import json
import re
from pathlib import Path

import pytest
from atlas_data import ON_CPU, measured, measurement, mixed, write
from guide_figures import shipped
from unpacking import by_device, unpacked

from bench.records.record import Status
from generator.data.load import Results, load
from generator.figures.sources import sources
from generator.languages.language import load_language
from generator.pages import decision
from generator.pages.atlas import Atlas

MOST_BYTES_OF_A_DEVICE = 100_000


class Addresses(dict[str, str]):
    """An address for any device."""

    def __missing__(self, device: str) -> str:
        return f"../data/{device}.json"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    failed = measured(batch_size=16, status=Status.EAGER_OOM, reason="x", **ON_CPU)
    return load(mixed(tmp_path_factory.mktemp("results"), failed))


def test_the_data_hold_every_newest_row_with_its_intervals(results: Results) -> None:
    files = by_device(results)
    assert list(files) == list(results.newest["device"].unique())
    rows = [row for text in files.values() for row in unpacked(text)]
    assert len(rows) == len(results.newest)
    mine = {row["batch_size"]: row for row in rows if row["origin"] == "measured"}
    assert mine[1]["speedup"][1] < mine[1]["speedup"][0] < mine[1]["speedup"][2]
    assert mine[1]["compile_cold_s"] == [20.0, 1]
    assert mine[1]["break_even_warm_calls"][0] < mine[1]["break_even_calls"][0]
    assert mine[4]["break_even_calls"][0] == "inf", "never: compiled is slower"
    assert (mine[16]["status"], mine[16]["eager_ms"]) == ("eager_oom", None)
    assert {"faster", "slower", "inconclusive", "doubtful", "unknown"} <= {row["verdict"] for row in rows}
    assert not any("NaN" in text for text in files.values())


def test_the_data_of_a_device_are_light() -> None:
    weights = {device: len(gzip.compress(text.encode(), 6)) for device, text in by_device(shipped()).items()}
    assert {device: weight for device, weight in weights.items() if weight > MOST_BYTES_OF_A_DEVICE} == {}


def test_throughput_is_what_the_source_printed_and_the_newest_torch_comes_first() -> None:
    rows = unpacked(by_device(shipped())["rtx-4090"])
    both = [row for row in rows if (row["model"], row["input_size"]) == ("resnet50", "224×224")]
    ages = {row["torch"]: row["age"] for row in both}
    assert ages == {"2.9.1": 0, "2.4.0": 1}
    key = {"device": "rtx-4090", "model": "resnet50", "input_size": "224×224"}
    printed = {row["torch"]: row["eager_images_s"] for row in shipped().by_label if row.items() >= key.items()}
    assert {row["torch"]: row["eager_images_s"][0] for row in both} == printed
    assert {row["source"] for row in both} == {"timm"}


def test_each_source_has_its_words_once() -> None:
    text = decision.form(Atlas(shipped(), load_language("en")), Addresses(), "models/families/each/", "explorer/")
    texts = json.loads(html.unescape(re.findall(r'data-texts="([^"]*)"', text)[0]))
    told = {row["source"] for each in by_device(shipped()).values() for row in unpacked(each)}
    assert told == set(texts["sources"]) >= {"timm", "paper-2023", "measured"}
    protocol = sources(load_language("en"))["timm"].protocol
    assert texts["sources"]["timm"]["throughput"].startswith(protocol)
    assert "300 inferences" not in texts["sources"]["timm"]["latency"]
    assert html.unescape(text).count(protocol) == 2, "once for each question"
    assert len(text) < 40_000, "no list of a thousand models"


def test_the_snippet_is_python() -> None:
    cast = ", torch.autocast(device.type, torch.float16)"
    for compiles, autocast in (("", ""), ("model = torch.compile(model)\n", cast)):
        values = {
            "auto_class": "AutoModel",  # timm's has none
            "checkpoint": "a/b",
            "dtype": ", dtype=torch.bfloat16",
            "compile": compiles,
            "autocast": autocast,
        }
        for snippet in (decision.SNIPPET, decision.TIMM_SNIPPET):
            ast.parse(snippet % values)


def test_the_form_begins_with_a_case_that_has_an_answer(tmp_path: Path) -> None:
    doubtful = measured(model="A", checkpoint="a/a", status=Status.UNSTABLE, reason="busy", figures=measurement())
    sound = measured()  # of a model and on a device that are known
    atlas = Atlas(load(write(tmp_path, [doubtful, sound])), load_language("en"))
    html_of = decision.form(atlas, Addresses(), "models/families/each/", "explorer/")
    assert 'data-first=\'["vit", "ViT"]\'' in html_of
    assert json.loads(next(iter(by_device(load(tmp_path)).values())))["first"] == {"latency": "vit"}
