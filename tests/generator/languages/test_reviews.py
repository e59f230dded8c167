"""Reviews: what a reader gets, what comes back, what is kept, and what the guide says about it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polib
import pytest

from bench.errors import AtlasError
from generator.languages.coverage import INTERFACE
from generator.languages.language import LOCALES, catalog_path, translated_languages
from generator.languages.reviews import (
    LONGEST,
    Review,
    TranslatedText,
    read_answers,
    record,
    reviews,
    standing,
    texts,
    unread,
)

DAY = dt.date(2026, 11, 24)


@pytest.fixture
def locales(tmp_path: Path) -> Path:
    """A catalog of two pages and an interface message; one text is on both pages."""
    catalog = polib.POFile(wrapwidth=0)
    catalog.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    both = [("docs/index.md", ""), ("docs/modes.md", "")]
    for english, japanese, places in (
        ("One two three four", "一", both[:1]),
        ("Five six", "二", both),
        ("Seven", "三", both[1:]),
        ("Eight", "四", [("generator/site/material.py", "")]),
        ("Untranslated", "", both[:1]),
    ):
        catalog.append(polib.POEntry(msgid=english, msgstr=japanese, occurrences=places))
    path = catalog_path("ja", tmp_path)
    path.parent.mkdir(parents=True)
    catalog.save(str(path))
    return tmp_path


def answers(locales: Path, *rows: str, head: str = "id,score,better,why") -> Review:
    content = "\r\n".join((head, *rows)).encode()
    return read_answers(content, texts("ja", locales), "ja", DAY, "", "a.csv").review


def ids(locales: Path) -> list[str]:
    return [text.id for text in texts("ja", locales)]


def edit(locales: Path, old: str, new: str) -> None:
    path = catalog_path("ja", locales)
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def test_texts_are_what_readers_see_translated_with_their_pages(locales: Path) -> None:
    found = texts("ja", locales)
    assert [(text.source, text.translation, text.words) for text in found[:2]] == [
        ("One two three four", "一", 4),
        ("Five six", "二", 2),
    ]
    assert [text.pages for text in found[1:]] == [("docs/index.md", "docs/modes.md"), ("docs/modes.md",), (INTERFACE,)]
    assert len(found) == 4


def test_what_changes_is_to_be_read_again(locales: Path) -> None:
    first, second, *_ = ids(locales)
    review = answers(locales, f"{first},ok,,", f"{second},minor,弐,")
    assert [text.source for text in unread(texts("ja", locales), [review])] == ["Seven", "Eight"]
    edit(locales, '"二"', '"弐"')
    assert [text.source for text in unread(texts("ja", locales), [review])] == ["Five six", "Seven", "Eight"]
    edit(locales, '"One two three four"', '"One two three"')
    assert len(unread(texts("ja", locales), [review])) == 4


def test_a_review_is_kept_and_never_replaced(locales: Path) -> None:
    first, second, *_ = ids(locales)
    review = answers(locales, f"{first},OK ,,", f"{second},major,,wrong term")
    paths = [record(review, locales), record(review, locales)]
    assert [path.name for path in paths] == ["2026-11-24.json", "2026-11-24-2.json"]
    assert reviews("ja", locales) == [review, review]
    (fault,) = review.faults
    assert (fault.severity, fault.source, fault.translation, fault.why) == ("major", "Five six", "二", "wrong term")
    assert review.by == ""


def test_a_page_has_the_score_of_what_was_read_and_still_stands(locales: Path) -> None:
    first, second, third, _ = ids(locales)
    older = answers(locales, f"{first},critical,x,", f"{third},minor,x,")
    newer = Review(
        language="ja", date=DAY + dt.timedelta(1), sound=(first,), faults=answers(locales, f"{second},minor,x,").faults
    )
    found = standing(texts("ja", locales), [older, newer])
    assert set(found) == {"", "docs/index.md", "docs/modes.md"}
    index = found["docs/index.md"]
    assert (index.date, index.points, index.words, index.share) == (newer.date, 1, 6, 1.0)
    assert index.score == pytest.approx(1000 / 6)
    assert (found["docs/modes.md"].points, found[""].points, found[""].words) == (2, 2, 7)
    edit(locales, '"二"', '"弐"')
    index = standing(texts("ja", locales), [older, newer])["docs/index.md"]
    assert (index.points, index.words) == (0, 4)
    assert index.share == pytest.approx(4 / 6)


def test_a_page_is_not_read_by_reading_what_it_shares_with_others(locales: Path) -> None:
    second = ids(locales)[1]
    found = standing(texts("ja", locales), [answers(locales, f"{second},ok,,")])
    assert set(found) == {"", "docs/modes.md"}, "two words of three, and two of six"
    assert found[""].share == pytest.approx(2 / 8)


def test_nobody_has_read_anything_yet_where_there_is_no_review(locales: Path) -> None:
    assert reviews("ja", locales) == []
    assert standing(texts("ja", locales), []) == {}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_spreadsheet_may_write_its_own_kind_of_table(locales: Path, delimiter: str) -> None:
    rows = (("id", "page", "score", "better", "why"), (ids(locales)[0], "p", "minor", '"a, b; c"', ""))
    content = b"\xef\xbb\xbf" + "\n".join(delimiter.join(row) for row in rows).encode()
    found = read_answers(content, texts("ja", locales), "ja", DAY, " A\u202e name\n", "a.csv").review
    assert [fault.better for fault in found.faults] == ["a, b; c"]
    assert found.by == "A name"


def test_rows_without_a_score_were_not_read_and_changed_texts_are_counted(locales: Path) -> None:
    first, second, *_ = ids(locales)
    content = f"id,score\n{first},ok\n{second},\n0123456789abcdef,ok\n".encode()
    found = read_answers(content, texts("ja", locales), "ja", DAY, "", "a.csv")
    assert (found.review.sound, found.outdated) == ((first,), 1)


@pytest.mark.parametrize(
    ("head", "row", "message"),
    [
        ("id,score", "{},fine", r"a\.csv:2.*'fine' is not a score"),
        ("id,score,better,why", "{},major,,", r"a\.csv:2.*has neither a better wording"),
        ("id,score", "{0},ok\n{0},ok", r"a\.csv:3.*more than once"),
        ("id,note", "{},ok", r"a\.csv:1.*`id` and `score`"),
        ("id,score", "{},", "no score belongs to a current text"),
        ("id,score,why", "{},minor," + "x" * (LONGEST + 1), r"a\.csv:2.*more than"),
    ],
)
def test_a_mistake_in_the_table_is_told_with_its_line(locales: Path, head: str, row: str, message: str) -> None:
    with pytest.raises(AtlasError, match=f"(?s){message}"):
        answers(locales, row.format(ids(locales)[0]), head=head)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"id,score\n\x00", b"", b'id,score\n"' + b"x" * 200_000])
def test_what_is_no_table_is_refused(locales: Path, content: bytes) -> None:
    with pytest.raises(AtlasError):
        read_answers(content, texts("ja", locales), "ja", DAY, "", "a.csv")


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"language":"ja"}', '{"language":"zh","date":"2026-11-24"}', '{"x":1}']
)
def test_a_file_that_is_no_review_of_the_language_is_refused_with_its_name(locales: Path, content: str) -> None:
    folder = locales / "ja" / "reviews"
    folder.mkdir()
    (folder / "2026-11-24.json").write_text(content, "utf-8")
    with pytest.raises(AtlasError, match=r"2026-11-24\.json"):
        reviews("ja", locales)


@pytest.mark.parametrize("code", translated_languages())
def test_the_reviews_of_the_guide_can_be_read(code: str) -> None:
    present = texts(code)
    assert len({text.id for text in present}) == len(present)
    assert all(isinstance(text, TranslatedText) for text in present)
    standing(present, reviews(code, LOCALES))
