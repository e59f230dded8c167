"""What the page about translations says of reviews: nothing is read until a person's review is kept."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from generator.languages.language import LOCALES, load_language, translated_languages
from generator.languages.reviews import Review, record, texts
from generator.pages.translators import translators

EN = load_language("en")


@pytest.fixture
def locales(tmp_path: Path) -> Path:
    """The catalogs of the guide, without reviews."""
    return Path(shutil.copytree(LOCALES, tmp_path / "locales", ignore=shutil.ignore_patterns("reviews")))


def shown(locales: Path, name: str) -> str:
    return re.sub(r"<br>|<[^>]+>", " ", translators(EN, locales)[name]())


def review_of(locales: Path, page: str, day: int, *, without: int = 0, fault: str = "") -> None:
    ids = [text.id for text in texts("ja", locales) if page in text.pages][without:]
    found = ({"id": ids.pop(), "severity": fault, "source": "a", "translation": "b", "better": "c"},) if fault else ()
    review = {"language": "ja", "date": dt.date(2026, 11, day), "sound": tuple(ids), "faults": found}
    record(msgspec.convert(review, Review), locales)


def test_without_a_review_no_page_was_read(locales: Path) -> None:
    assert "No page has been read by a person yet." in shown(locales, "review_table")
    assert shown(locales, "translation_table").count("not yet read by a person") == len(translated_languages())


def test_a_page_shows_when_it_was_last_read_and_its_score(locales: Path) -> None:
    review_of(locales, "docs/modes.md", 22, fault="major")
    review_of(locales, "docs/data.md", 23, without=3)
    table = shown(locales, "review_table")
    assert "November 22, 2026" in table
    assert re.search(r"/modes/\s+not yet read by a person\s+November 22, 2026\s+Score: [\d.]+\s+not yet", table)
    assert re.search(r"/data/\s+not yet .*November 23, 2026\s+Score: 0.0\s+\d+% of its words", table, re.DOTALL)
    assert "/compile/" not in table
    languages = shown(locales, "translation_table")
    assert "November 23, 2026" in languages
    assert languages.count("not yet read by a person") == len(translated_languages()) - 1


def test_a_catalog_or_review_that_cannot_be_read_counts_as_unread(locales: Path) -> None:
    review_of(locales, "docs/modes.md", 22)
    (locales / "ja" / "reviews" / "2026-11-23.json").write_text("{", "utf-8")
    assert "No page has been read by a person yet." in shown(locales, "review_table")
