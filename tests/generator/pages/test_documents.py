"""Documents of the bench on pages: the programs of docs/dynamo.md with their output, and self-checks."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import LANGUAGES
from guide_figures import shipped
from html_page import read
from markdown_html import to_html
from test_selfcheck import selfcheck

from bench.errors import AtlasError
from bench.records import documents
from bench.records.documents import newest_capture
from generator.data.load import Results, load
from generator.languages.language import load_language
from generator.languages.page_source import parse_page
from generator.pages.expressions import Expressions
from generator.pages.pages import Page, expressions_of, render_pages


def evaluate(expressions: Expressions, expression: str) -> str:
    return expressions.evaluate(f"{{{{ {expression} }}}}", {"page": Page("dynamo.md", "")}, "dynamo.md", 0)


# ── Examples ────────────────────────────────────────────────────────────────────────────────────────────────────────


def page(results: Results, code: str, folder: Path) -> tuple[str, Expressions]:
    """docs/dynamo.md in one language, and its expressions."""
    source = parse_page("dynamo.md", Path("docs/dynamo.md").read_text("utf-8"), "docs/dynamo.md")
    language = load_language(code)
    expressions = expressions_of(results, language)
    (only,) = render_pages(language, expressions, [source])
    return only.content, expressions


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_page_shows_the_programs_and_their_output(code: str, tmp_path: Path) -> None:
    captured = newest_capture()
    assert captured
    text, expressions = page(shipped(), code, tmp_path)
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
    files = {file.uri: file.content for file in expressions.emitted}
    assert files["data/examples/k_fold.py"] == Path("docs/examples/k_fold.py").read_text("utf-8")


def test_without_captured_output_the_page_says_how_to_make_it(tmp_path: Path) -> None:
    text, expressions = page(dataclasses.replace(shipped(), examples=None), "en", tmp_path)
    assert "python -m bench examples" in text
    assert "```" not in text
    assert not expressions.emitted
    with pytest.raises(AtlasError, match="python -m bench examples"):
        evaluate(expressions, "graphs_table()")


# ── Self-checks ─────────────────────────────────────────────────────────────────────────────────────────────────────


def checks(folder: Path, *devices: str) -> tuple[Sequence[Sequence[str]], str]:
    """The lines of the table of checks on some devices, and whether one is a GPU."""
    for device in devices:
        documents.write_selfcheck(selfcheck(device=device), folder / "selfcheck")
    expressions, shown = expressions_of(load(folder), load_language("en")), folder / "page.html"
    shown.write_text(to_html(evaluate(expressions, "selfcheck_table()")), encoding="utf-8")
    return read(shown).tables[0][1:], evaluate(expressions, "atlas.has_checked_gpu")


def test_each_device_has_its_checks_with_their_figures(tmp_path: Path) -> None:
    (itself, timer, replays, *others), has_checked_gpu = checks(tmp_path, "cpu", "cuda")
    assert has_checked_gpu == "True"
    assert itself[0] == "Some cuda (January 2, 2026)"
    assert itself[2:] == ["1.002 (0.996 to 1.008)", "Passed"]
    assert timer[1].endswith("(compiled)")
    assert timer[2:] == ["1.2 (1.1 to 1.3)", "Failed"]
    assert replays[2:] == ["—", "Not applicable here"]
    assert [line[1:] for line in others] == [itself[1:], timer[1:], replays[1:]]
