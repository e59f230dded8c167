"""Coverage: what is counted as translated, by page and language, and what comes next."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # our own files
from pathlib import Path

import pytest
from guide_figures import copy_of_guide

from bench.errors import AtlasError
from generator.drawing.badge import GOOD, MIDDLING, badge, share_colour
from generator.languages import catalogs
from generator.languages.coverage import (
    INTERFACE,
    WordCount,
    committed_coverage,
    count_words,
    coverage,
    next_up,
    percent,
    read_views,
    views_of,
)


def test_only_what_readers_see_counts(tmp_path: Path) -> None:
    rows = {(row.language, row.page): row for row in coverage(copy_of_guide(tmp_path))}
    chinese, arabic = rows["zh", "docs/index.md"], rows["ar", "docs/index.md"]
    assert (chinese.total.messages, chinese.left, chinese.declared_complete) == (14, WordCount(), True)
    assert (arabic.translated.messages, arabic.fuzzy.messages, arabic.untranslated.messages) == (12, 1, 1)
    assert arabic.total == chinese.total
    assert not arabic.declared_complete


def test_a_translation_of_a_former_text_is_outdated(tmp_path: Path) -> None:
    root = copy_of_guide(tmp_path)
    page = root / "docs" / "index.md"
    page.write_text(page.read_text(encoding="utf-8").replace("is slower.", "is much slower."), encoding="utf-8")
    catalogs.refresh(root, root / "locales")
    (row,) = (row for row in coverage(root, ["zh"]) if row.page == "docs/index.md")
    assert (row.outdated, row.fuzzy, row.untranslated) == (WordCount(1, 5), WordCount(), WordCount())


def test_the_committed_template_says_the_same(tmp_path: Path) -> None:
    root = copy_of_guide(tmp_path)
    assert list(committed_coverage(root / "locales")) == list(coverage(root))


def test_pages_come_in_the_order_of_the_navigation_and_the_interface_last(tmp_path: Path) -> None:
    pages = [row.page for row in coverage(copy_of_guide(tmp_path), ["ja"])]
    assert pages == ["docs/index.md", "docs/devices/index.md", "docs/devices/each.md", INTERFACE]


def test_a_language_without_a_catalog_has_nothing(tmp_path: Path) -> None:
    rows = list(coverage(copy_of_guide(tmp_path), ["ko"]))
    assert all(row.untranslated == row.total for row in rows)
    assert percent(rows) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [("Once, twice.", 2), ("`torch.compile` of {{ n | counted('x') }} [a page](b.md)", 3), ("It's break-even", 2)],
)
def test_words_are_those_to_translate(text: str, words: int) -> None:
    assert count_words(text) == words


# --- what to translate next -------------------------------------------------------------------------------------------

VIEWS = {"/": 50, "/ja/": 7, "/devices/": 3, "/devices/a100/": 100, "/ar/devices/t4/": 20, "/compile/": 1}


@pytest.mark.parametrize(
    ("page", "views"),
    [("docs/index.md", 57), ("docs/devices/index.md", 3), ("docs/devices/each.md", 120), (INTERFACE, 181)],
)
def test_views_are_those_of_all_pages_and_languages(page: str, views: int) -> None:
    assert views_of(page, VIEWS) == views


def test_the_most_read_page_comes_first(tmp_path: Path) -> None:
    rows = list(coverage(copy_of_guide(tmp_path), ["ko"]))
    assert [row.page for row, _ in next_up(rows, {})] == [row.page for row in rows]
    assert [row.page for row, _ in next_up(rows, VIEWS)][:2] == [INTERFACE, "docs/devices/each.md"]


def test_views_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "views.csv"
    path.write_text("page,views,visitors\n/,3,2\n/ja/,4,1\n/,2,2\n", encoding="utf-8")
    assert read_views(path) == {"/": 5, "/ja/": 4}


@pytest.mark.parametrize(
    ("content", "line"), [("url,n\n", 1), ("page,views\n/,many\n", 2), ("page,views\nindex,3\n", 2)]
)
def test_a_file_without_views_is_refused(tmp_path: Path, content: str, line: int) -> None:
    path = tmp_path / "views.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(AtlasError, match=rf"views\.csv:{line}"):
        read_views(path)


def test_views_come_from_spreadsheets_too(tmp_path: Path) -> None:
    path = tmp_path / "views.csv"
    path.write_text("page,views\n/,3\n", encoding="utf-8-sig")
    assert read_views(path) == {"/": 3}
    path.write_text("page,views\n/,3\n", encoding="utf-16")
    with pytest.raises(AtlasError, match="not a CSV file in UTF-8"):
        read_views(path)


# --- badge ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "colour"), [(1.0, GOOD), (0.99, MIDDLING)])
def test_a_badge_is_a_picture_that_says_its_words(share: float, colour: str) -> None:
    svg = badge("translated", "ja <99%", share_colour(share))
    assert ET.fromstring(svg).attrib["aria-label"] == "translated: ja <99%"
    assert colour in svg


def test_marks_of_direction_take_no_room_on_a_badge() -> None:
    plain, marked = (ET.fromstring(badge("translated", text, GOOD, "rtl")) for text in ("A100", "\u200eA100\u200e"))
    assert plain.attrib["width"] == marked.attrib["width"]
    assert 'direction="rtl"' in badge("translated", "A100", GOOD, "rtl")
