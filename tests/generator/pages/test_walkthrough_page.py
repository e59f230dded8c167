"""The tour through TorchDynamo on its page: listings, tables and the chart, in every direction."""

from __future__ import annotations

import dataclasses
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import LANGUAGES

from bench.errors import AtlasError
from bench.records.walkthrough import Walkthrough, newest
from generator.data.load import Results, load
from generator.drawing import curves
from generator.drawing.canvas import DARK, LIGHT, Canvas
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.languages.page_source import read_pages
from generator.pages import walkthrough
from generator.pages.pages import Page, render_pages
from generator.pages.site_file import SiteFile
from generator.pages.vocabulary import vocabulary


@pytest.fixture(scope="module")
def taken() -> Walkthrough:
    found = newest()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def results() -> Results:
    return load(Path("bench/results"))


def page(results: Results, code: str, folder: Path) -> tuple[str, dict[str, SiteFile]]:
    """docs/dynamo.md in one language, and the files that it emits."""
    (folder / "dynamo.md").write_text(Path("docs/dynamo.md").read_text("utf-8"), "utf-8")
    language, files = load_language(code), dict[str, SiteFile]()
    names = vocabulary(results, language, lambda file: files.setdefault(file.uri, file))
    (only,) = render_pages(language, names, folder)
    return str(only.content), files


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_page_shows_what_was_recorded(code: str, results: Results, taken: Walkthrough, tmp_path: Path) -> None:
    text, files = page(results, code, tmp_path)
    for listing in (
        taken.function.source,
        taken.function.bytecode,
        taken.function.graphs[0].code,
        taken.function.recompiled[0].code,
        taken.example.step.source,
        taken.example.step.backward,
    ):
        assert f"\n{listing}\n```\n" in text
    assert text.count("```") % 2 == 0
    assert "Optimizer.zero_grad" in text
    assert f"{taken.example.compiled.held_out.r2:.4f}" in text
    assert set(files) == {"assets/charts/loss.svg", "assets/charts/loss.dark.svg", "data/losses.csv"}


def test_without_a_walkthrough_the_page_says_how_to_take_one(results: Results, tmp_path: Path) -> None:
    text, files = page(dataclasses.replace(results, walkthrough=None), "en", tmp_path)
    assert "python -m bench dynamo-walkthrough" in text
    assert "```" not in text
    assert not files
    names = vocabulary(dataclasses.replace(results, walkthrough=None), load_language("en"), lambda _: None)
    with pytest.raises(AtlasError, match="dynamo-walkthrough"):
        names["walkthrough_graphs_table"]({"page": Page("dynamo.md", "")})


@pytest.mark.parametrize("code", ["en", "ja", "ar"])
def test_the_chart_has_all_curves_within_its_frame_in_both_colourings(code: str, taken: Walkthrough) -> None:
    chart = walkthrough.loss_chart(taken, Words(load_language(code), html=True))
    assert [len(curve.values) for curve in chart.curves.curves] == [taken.example.epochs] * 4
    assert chart.curves.right_to_left == (code == "ar")
    assert chart.light == curves.draw(chart.curves), "the same bytes each time"
    assert LIGHT["compiled"].encode() in chart.light
    assert DARK["compiled"].encode() in chart.dark
    assert f'width="{chart.width}" height="{chart.height}"'.encode() in chart.light
    with pytest.MonkeyPatch.context() as patch:
        drawn: list[tuple[float, float]] = []
        patch.setattr(Canvas, "curve", lambda _, points, *__, **___: drawn.extend(points))
        patch.setattr(Canvas, "line", lambda _, *ends, **__: drawn.extend([ends[:2], ends[2:4]]))
        texts = curves.compose(chart.curves).texts
    xs, ys = np.array(drawn, dtype=float).T
    assert xs.min() >= -0.5
    assert xs.max() <= chart.width + 0.5
    assert ys.min() >= -0.5
    assert ys.max() <= chart.height + 0.5
    assert min(text.x for text in texts) >= 0, "no figure is cut off"
    assert not [
        (one.text, other.text)
        for one, other in itertools.combinations(texts, 2)
        if abs(one.y - other.y) < 0.9 * one.size and one.x < other.x + other.width and other.x < one.x + one.width
    ], "the legend, the axis and its figures have room"
    shown = {f"{taken.example.eager.held_out_losses[0]:.3f}", f"{taken.example.eager.held_out_losses[-1]:.3f}"}
    assert all(figure in chart.alt for figure in shown)


def test_code_that_holds_a_fence_stands_in_a_longer_one() -> None:
    assert walkthrough.listing("a\n```\nb", "text") == "````text\na\n```\nb\n````"


def test_every_page_that_tells_of_the_walkthrough_asks_whether_there_is_one() -> None:
    for source in read_pages():
        text = Path(source.where).read_text("utf-8")
        if re.search(r"\{\{ walkthrough[._]|loss_chart", text):
            assert "{% if walkthrough %}" in text
