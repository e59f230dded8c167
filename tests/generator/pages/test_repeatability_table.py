"""How ways of timing compare, as the methodology page shows it in every language."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LANGUAGES
from html_page import read
from test_repeatability import OURS, repeat, repeatability

from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages import harness as shown

RIVALS = [repeat("mean_of_300", 1.2, seconds=25.0), repeat("mean_of_300", 1.5, 1), repeat("blocked_autorange", 1.1)]


def rows(language: str, folder: Path) -> list[list[str]]:
    page = folder / "page.html"
    page.write_text(
        shown.repeatability(repeatability(*OURS, *RIVALS), Words(load_language(language), html=True)), encoding="utf-8"
    )
    return read(page).tables[0].rows


def test_each_way_with_what_it_found_and_what_it_cost(tmp_path: Path) -> None:
    ours, mean, timer = rows("en", tmp_path)
    assert ours == ["ViT", "the standard profile of this project", "1.049×", "10.0%", "1.050", "1.000", "10"]
    assert mean[3] == "25.0%"
    assert timer[1] == "Timer.blocked_autorange"


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_names_the_ways(language: str, tmp_path: Path) -> None:
    english = {line[1] for line in rows("en", tmp_path)}
    names = [line[1] for line in rows(language, tmp_path)]
    assert not english & set(names[:2])
    assert names[2] == "Timer.blocked_autorange"
