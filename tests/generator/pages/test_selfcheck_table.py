"""The self-checks as the methodology page shows them in every language."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LANGUAGES
from html_page import read
from markdown_html import to_html
from test_selfcheck import selfcheck

from bench.records import documents
from generator.data.load import load
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages import selfcheck as shown
from generator.pages.atlas import Atlas


def rows(language: str, folder: Path) -> list[list[str]]:
    page = folder / "page.html"
    words = Words(load_language(language), html=True)
    page.write_text(to_html(shown.table([selfcheck(device="cuda"), selfcheck()], words)), encoding="utf-8")
    return read(page).tables[0].rows


def test_each_device_has_its_checks_with_their_figures(tmp_path: Path) -> None:
    itself, timer, replays, *others = rows("en", tmp_path)
    assert itself[0] == "Some cuda (January 2, 2026)"
    assert itself[2:] == ["1.002 (0.996 to 1.008)", "Passed"]
    assert timer[1].endswith("(compiled)")
    assert timer[2:] == ["1.2 (1.1 to 1.3)", "Failed"]
    assert replays[2:] == ["—", "Not applicable here"]
    assert [line[1:] for line in others] == [itself[1:], timer[1:], replays[1:]]


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_names_the_checks(language: str, tmp_path: Path) -> None:
    assert not {line[1] for line in rows("en", tmp_path)} & {line[1] for line in rows(language, tmp_path)}


def test_a_cpu_says_nothing_of_gpus(tmp_path: Path) -> None:
    def has_checked_gpu() -> bool:
        return Atlas(load(tmp_path), load_language("en")).has_checked_gpu

    documents.write_selfcheck(selfcheck(), tmp_path / "selfcheck")
    assert not has_checked_gpu()
    documents.write_selfcheck(selfcheck(device="cuda"), tmp_path / "selfcheck")
    assert has_checked_gpu()
