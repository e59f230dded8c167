"""The page docs/dynamo.md: the programs and their captured output, in every language."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from conftest import LANGUAGES

from bench.errors import AtlasError
from bench.records.documents import Capture, newest_capture
from generator.data.load import Results, load
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages import examples
from generator.pages.expressions import Expressions
from generator.pages.pages import Page, render_pages
from generator.pages.site_file import SiteFile
from generator.pages.vocabulary import vocabulary


@pytest.fixture(scope="module")
def captured() -> Capture:
    found = newest_capture()
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
    (only,) = render_pages(language, Expressions(names), folder)
    return str(only.content), files


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_page_shows_the_programs_and_their_output(
    code: str, results: Results, captured: Capture, tmp_path: Path
) -> None:
    text, files = page(results, code, tmp_path)
    for listing in (
        "def soften(x, limit):\n    y = torch.sin(x) * limit",
        captured.graphs["bytecode"],
        captured.graphs["graphs"][0],
        captured.graphs["recompiled"][0],
        captured.training_step["backward"],
    ):
        assert listing.rstrip() in text
    assert text.count("```") % 2 == 0
    assert "Optimizer.zero_grad" in text
    assert f"{captured.k_fold['compiled']['held_out']['r2']:.4f}" in text
    assert re.search(r'href="[^"]*data/examples/k_fold\.py" download', text)
    assert files["data/examples/k_fold.py"].content == Path("docs/examples/k_fold.py").read_text("utf-8")
    assert files.keys() >= {"assets/charts/loss.svg", "assets/charts/loss.dark.svg", "data/losses.csv"}


def test_without_captured_output_the_page_says_how_to_make_it(results: Results, tmp_path: Path) -> None:
    empty = dataclasses.replace(results, examples=None)
    text, files = page(empty, "en", tmp_path)
    assert "python -m bench examples" in text
    assert "```" not in text
    assert not files
    names = vocabulary(empty, load_language("en"), lambda _: None)
    with pytest.raises(AtlasError, match="python -m bench examples"):
        names["graphs_table"]({"page": Page("dynamo.md", "")})


@pytest.mark.parametrize("code", ["en", "ja", "ar"])
def test_the_chart_has_all_curves_and_says_how_the_loss_falls(code: str, captured: Capture) -> None:
    chart = examples.loss_chart(captured, Words(load_language(code), html=True))
    assert isinstance(chart.drawing, tuple)
    assert [len(curve.values) for curve in chart.drawing] == [captured.k_fold["epochs"]] * 4
    assert len(chart.legend) == 4
    losses = captured.k_fold["eager"]["held_out_losses"]
    assert all(f"{loss:.3f}" in chart.alt for loss in (losses[0], losses[-1]))
    first, *_ = examples.losses_as_csv(captured).splitlines()[1:]
    assert first.startswith(f"1,{captured.k_fold['eager']['train_losses'][0]},")
