"""How much of each page is translated into each language, and what to translate next.

`coverage` takes the project's messages and catalogs, and yields one `Coverage` per page and language. A translation
counts if readers see it: it is neither missing nor fuzzy.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polib

from bench.choices import plain_file
from bench.errors import AtlasError
from generator.languages import catalogs
from generator.languages.catalogs import TEMPLATE, address_of
from generator.languages.language import LOCALES, catalog_path, published_languages, translated_languages
from generator.languages.pofile import forms, is_complete, key
from generator.languages.typography import VERBATIM

INTERFACE = "interface"
"""Stands in for the page of messages from templates, settings, sources and the glossary, which belong to no page."""

VIEWS = "page-views.csv"
"""The file of page views beside the catalogs. `next_up` orders pages by it."""


@dataclass(frozen=True)
class WordCount:
    """A number of messages, and of English words in them."""

    messages: int = 0
    words: int = 0

    def __add__(self, other: WordCount) -> WordCount:
        return WordCount(self.messages + other.messages, self.words + other.words)


@dataclass(frozen=True)
class Coverage:
    """The translation of one page into one language. The four counts add up to the page."""

    language: str
    page: str  # file name, or `INTERFACE`
    translated: WordCount
    untranslated: WordCount
    outdated: WordCount  # fuzzy because the English changed: the entry has the previous text
    fuzzy: WordCount  # marked as uncertain by a translator
    declared_complete: bool  # of the whole language

    @property
    def left(self) -> WordCount:
        """The part that readers see in English."""
        return self.untranslated + self.outdated + self.fuzzy

    @property
    def total(self) -> WordCount:
        """The whole page."""
        return self.translated + self.left


def coverage(root: Path = catalogs.ROOT, codes: Iterable[str] | None = None) -> Iterator[Coverage]:
    """Yield the coverage of every page by language, in the order of the navigation."""
    return _coverage(catalogs.template(catalogs.extract(root)), root / LOCALES.name, codes)


def committed_coverage(locales: Path = LOCALES, codes: Iterable[str] | None = None) -> Iterator[Coverage]:
    """Yield the same as `coverage`, from the committed template and without reading any source.

    Pages of all languages show it, so a catalog that cannot be read counts as one without translations.
    """
    return _coverage(catalogs.read(locales / TEMPLATE), locales, codes, read=_read_or_none)


def _read_or_none(path: Path) -> polib.POFile:
    try:
        return catalogs.read(path)
    except (AtlasError, OSError):
        return polib.POFile(wrapwidth=0)


def _coverage(
    template: polib.POFile,
    locales: Path,
    codes: Iterable[str] | None,
    read: Callable[[Path], polib.POFile] = catalogs.read,
) -> Iterator[Coverage]:
    pages = _pages(template)
    for code in translated_languages() if codes is None else codes:
        catalog = read(catalog_path(code, locales))
        known = {key(entry): entry for entry in catalog if not entry.obsolete}
        for page, messages in pages.items():
            counts = dict.fromkeys(("translated", "untranslated", "outdated", "fuzzy"), WordCount())
            for message in messages:
                counts[_state(known.get(key(message)))] += WordCount(1, count_words(message.msgid))
            yield Coverage(code, page, **counts, declared_complete=is_complete(catalog))


def _pages(template: polib.POFile) -> Mapping[str, list[polib.POEntry]]:
    pages: dict[str, list[polib.POEntry]] = {}
    for message in template:
        files = (file if file.endswith(".md") else INTERFACE for file, _ in message.occurrences)
        for page in dict.fromkeys(files):
            pages.setdefault(page, []).append(message)
    if INTERFACE in pages:
        pages[INTERFACE] = pages.pop(INTERFACE)  # last
    return pages


def _state(entry: polib.POEntry | None) -> str:
    if entry is None or not all(forms(entry)):
        return "untranslated"
    if not entry.fuzzy:
        return "translated"
    return "outdated" if entry.previous_msgid else "fuzzy"


_WORD = re.compile(r"[^\W_]+(?:[’'.-][^\W_]+)*")


def count_words(text: str) -> int:
    """Count the translatable words of an English message: code, expressions and addresses do not count."""
    return len(_WORD.findall(VERBATIM.sub(" ", text)))


# --- What to translate next -------------------------------------------------------------------------------------------


def read_views(path: Path) -> dict[str, int]:
    """Read views by address from a CSV file with the columns ``page`` and ``views``, as web analytics exports it.

    A page is an address below the site, in any language: ``/compile/``, ``/ja/compile/``. Raises `AtlasError` with the
    wrong line.
    """
    try:
        return _views(path)
    except (UnicodeDecodeError, csv.Error) as error:
        raise _no_views(str(path), f"is not a CSV file in UTF-8: {error}") from None


def _views(path: Path) -> dict[str, int]:
    with plain_file(path).open(encoding="utf-8-sig", newline="") as file:  # spreadsheets write a byte order mark
        reader = csv.DictReader(file)
        if not {"page", "views"} <= set(reader.fieldnames or ()):
            raise _no_views(f"{path}:1", "the columns `page` and `views` must both be present")
        views: dict[str, int] = {}
        for row in reader:
            if not (row["views"] or "").isdecimal() or not (row["page"] or "").startswith("/"):
                raise _no_views(
                    f"{path}:{reader.line_num}",
                    f"{row['page']!r}, {row['views']!r} is not a page with a number of views",
                )
            views[row["page"]] = views.get(row["page"], 0) + int(row["views"])
    return views


def _no_views(where: str, what: str) -> AtlasError:
    return AtlasError(what, where=where, remedy="start with the header page,views and add lines such as /compile/,120")


def views_of(page: str, views: Mapping[str, int], codes: Collection[str] | None = None) -> int:
    """Sum the views of a page, or of all pages made from it, over all languages. Every page shows the interface."""
    pattern = ".*" if page == INTERFACE else re.escape(address_of(page.removeprefix("docs/"))).replace("…", "[^/]+")
    prefix = "|".join(f"/{re.escape(code)}" for code in (published_languages() if codes is None else codes))
    address = re.compile(rf"(?:{prefix})?{pattern}(?:index\.html)?")
    return sum(n for viewed, n in views.items() if address.fullmatch(viewed))


def next_up(rows: Iterable[Coverage], views: Mapping[str, int]) -> list[tuple[Coverage, int]]:
    """Return the pages with untranslated text and their views, the most read first, else in the given order."""
    left = [(row, views_of(row.page, views)) for row in rows if row.left.messages]
    return sorted(left, key=lambda pair: -pair[1])


def as_json(rows: Iterable[Coverage], following: Iterable[tuple[Coverage, int]]) -> dict[str, Any]:
    """Return all counts as JSON values."""
    pages = [{**asdict(row), "left": asdict(row.left), "total": asdict(row.total)} for row in rows]
    ahead = [{"language": row.language, "page": row.page, "left": asdict(row.left), "views": n} for row, n in following]
    return {"pages": pages, "next": ahead}


def percent(rows: Iterable[Coverage]) -> int:
    """Return the percentage of words that readers see in their language, rounded down: 100 means all of them."""
    all_rows = list(rows)
    words = sum(row.total.words for row in all_rows)
    return sum(row.translated.words for row in all_rows) * 100 // words if words else 100
