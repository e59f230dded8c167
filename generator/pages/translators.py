"""Tables for translators: how much is translated and read by people, what to translate next, and the glossary.

Takes a `Language` and returns functions for page expressions, which return HTML blocks without blank lines. Every
language shows the same tables: the figures come from the committed catalogs and reviews, the terms from the glossary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup, escape

from bench.errors import AtlasError
from generator.figures.markup import Line, Table, TableCell
from generator.figures.words import Words
from generator.languages.catalogs import address_of
from generator.languages.coverage import INTERFACE, VIEWS, Coverage, committed_coverage, next_up, percent, read_views
from generator.languages.glossary import Term, load_glossary
from generator.languages.language import LOCALES, Language, catalog_path, load_locale, name_of, translated_languages
from generator.languages.reviews import FOLDER, Standing, reviews, standing, texts

NAMES = (
    *("translation_table", "translation_pages_table", "review_table", "next_translations"),
    *("glossary_table", "glossary_names"),
)
"""Names for page expressions. Unlike all others, they depend on the catalogs of all languages and on all pages."""

TOP = 10
"""Pages that the list of what to translate next names."""


def translators(language: Language, locales: Path = LOCALES) -> dict[str, Callable[[], str]]:
    """Return the functions of `NAMES`."""
    view = _View(language, locales)
    offered = (view.languages, view.pages, view.reviews, view.next, view.glossary, view.names)
    return dict(zip(NAMES, offered, strict=True))


def prepare(locales: Path = LOCALES) -> None:
    """Read all catalogs and reviews before there is a process for each language, which shows them."""
    _rows(locales)
    for code in translated_languages():
        _standing(locales, code)


class _View:
    def __init__(self, language: Language, locales: Path) -> None:
        self.language = language
        self.words = Words(language, html=True)
        self.locales = locales

    # ── Status ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def languages(self) -> str:
        """One row per language: words translated, and what is left."""
        gettext = self.language.gettext
        head = (
            gettext("Language"),
            gettext("Translated"),
            gettext("Untranslated (words)"),
            gettext("Outdated (words)"),
            gettext("Fuzzy (words)"),
            gettext("Complete"),
            gettext("Last read by a person"),
        )
        lines = []
        for code in translated_languages():
            rows = [row for row in _rows(self.locales) if row.language == code]
            kinds = ([row.untranslated for row in rows], [row.outdated for row in rows], [row.fuzzy for row in rows])
            share = percent(rows)
            declared = gettext("yes") if rows[0].declared_complete else gettext("no")
            cells = (
                TableCell(_name(code)),
                TableCell(self.words.value(self.language.percent(share / 100, 0)), str(share), "number"),
                *(self._number(sum(tally.words for tally in kind)) for kind in kinds),
                TableCell(escape(declared)),
                self._read(_standing(self.locales, code).get("")),
            )
            lines.append(Line(cells))
        return self._table(gettext("What is translated into each language"), head, lines, numbers=range(1, 5))

    def pages(self) -> str:
        """One row per page: its words, and how many of them each language still shows in English."""
        gettext = self.language.gettext
        by_page: dict[str, list[Coverage]] = {}
        for row in _rows(self.locales):
            by_page.setdefault(row.page, []).append(row)
        head = (gettext("Page"), gettext("Words"), *map(_name, translated_languages()))
        lines = [
            Line((TableCell(self._page(page)), self._number(rows[0].total.words), *(self._left(row) for row in rows)))
            for page, rows in by_page.items()
        ]
        caption = gettext("Words of each page that appear in English")
        return self._table(caption, head, lines, numbers=range(1, len(head)))

    def reviews(self) -> str:
        """One row per page that somebody has read: when, and its score, by language; a sentence where nobody has."""
        gettext = self.language.gettext
        known = {code: _standing(self.locales, code) for code in translated_languages()}
        pages = [
            page
            for page in dict.fromkeys(row.page for row in _rows(self.locales))
            if any(page in each for each in known.values())
        ]
        if not pages:
            return str(Markup("<p>{}</p>").format(gettext("No page has been read by a person yet.")))
        head = (gettext("Page"), *map(_name, translated_languages()))
        lines = [
            Line((TableCell(self._page(page)), *(self._read(known[code].get(page)) for code in translated_languages())))
            for page in pages
        ]
        caption = gettext("When each page was last read by a person, and its score")
        return self._table(caption, head, lines)

    def _read(self, found: Standing | None) -> TableCell:
        """Return a cell: when a page was read, its points, and how much of it is still as it was then."""
        gettext, language = self.language.gettext, self.language
        if found is None:
            return TableCell(escape(gettext("not yet read by a person")), "")
        told = self.words.say(gettext("Score: %(score)s"), score=language.number(found.score, 1))
        parts = [self.words.value(language.date(found.date)), Markup("<small>{}</small>").format(told)]
        if found.share < 1:
            share = self.words.say(
                gettext("%(share)s of its words are the same as when it was read"),
                share=language.percent(found.share, 0),
            )
            parts.append(Markup("<small>{}</small>").format(share))
        return TableCell(self.words.lines(parts), f"{found.date}")

    def next(self) -> str:
        """What to translate next: a list, the most read page first where a file counts page views."""
        path = self.locales / VIEWS
        left = next_up(_rows(self.locales), read_views(path) if path.is_file() else {})
        if not left:
            return str(Markup("<p>{}</p>").format(self.language.gettext("There is nothing left to translate.")))
        items = (self._item(row, views) for row, views in left[:TOP])
        return str(Markup("<ol>\n{}\n</ol>").format(Markup("\n").join(items)))

    def _item(self, row: Coverage, views: int) -> str:
        words = self.language.ngettext("%(count)s word", "%(count)s words", row.left.words)
        facts = [_name(row.language), self._page(row.page)]
        facts.append(self.words.say(words, count=self.language.number(row.left.words)))
        if views:
            message = self.language.ngettext("%(count)s view", "%(count)s views", views)
            facts.append(self.words.say(message, count=self.language.number(views)))
        return Markup("<li>{}</li>").format(self.words.facts(facts))

    def _page(self, page: str) -> str:
        if page == INTERFACE:
            return escape(self.language.gettext("Interface"))
        address = address_of(page.removeprefix("docs/"))
        shown = Markup("<code>{}</code>").format(address)
        return shown if "…" in address else Markup('<a href="..{}">{}</a>').format(address, shown)

    def _left(self, row: Coverage) -> TableCell:
        return self._number(row.left.words)

    def _number(self, n: int) -> TableCell:
        return TableCell(self.words.value(self.language.number(n)), str(n), "number")

    # ── Glossary ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def glossary(self) -> str:
        """Every term in every language, with other right words and wrong ones."""
        gettext = self.language.gettext
        head = (gettext("English"), *map(_name, translated_languages()), gettext("Note"))
        terms = sorted(load_glossary(self.locales).term, key=lambda term: term.en.lower())
        lines = [
            Line(
                (
                    TableCell(_in("en", term.en)),
                    *(TableCell(self._term(term, code)) for code in translated_languages()),
                    TableCell(self._note(term), classes="prose"),
                )
            )
            for term in terms
        ]
        return self._table(gettext("Terms in every language"), head, lines)

    def names(self) -> str:
        """The names that stay as they are, in a row."""
        names = sorted(load_glossary(self.locales).keep, key=str.lower)
        return str(Markup("<p>{}</p>").format(self.words.names(names)))

    def _term(self, term: Term, code: str) -> str:
        gettext, (own, *others), avoid = self.language.gettext, term.variants(code) or ("",), term.avoid.get(code, ())
        parts = [_in(code, own)]
        if others:
            parts.append(self._small(gettext("also %(words)s"), code, others))
        if avoid:
            parts.append(self._small(gettext("not %(words)s"), code, avoid))
        return self.words.lines(parts)

    def _small(self, message: str, code: str, words: Sequence[str]) -> str:
        shown = Markup(" · ").join(_in(code, word) for word in words)
        return Markup("<small>{}</small>").format(self.words.say(message, words=shown))

    def _note(self, term: Term) -> str:
        return self.words.say(self.language.gettext(term.note)) if term.note else ""

    def _table(self, caption: str, head: Sequence[str], lines: Sequence[Line], numbers: Sequence[int] = ()) -> str:
        columns = tuple(
            TableCell(escape(each), scope="col", classes="number" if index in numbers else "")
            for index, each in enumerate(head)
        )
        return Table(escape(caption), columns, tuple(lines)).html()


def _rows(locales: Path) -> tuple[Coverage, ...]:
    catalogs = sorted(locales.glob("*/LC_MESSAGES/*.po"))
    return _coverage(locales, tuple((path, path.stat().st_mtime_ns) for path in catalogs))


def _standing(locales: Path, code: str) -> Mapping[str, Standing]:
    files = [catalog_path(code, locales), *sorted((locales / code / FOLDER).glob("*.json"))]
    return _standings(locales, code, tuple((path, path.stat().st_mtime_ns) for path in files if path.is_file()))


@lru_cache(maxsize=2)
def _coverage(locales: Path, _catalogs: tuple[tuple[Path, int], ...]) -> tuple[Coverage, ...]:
    return tuple(committed_coverage(locales))


@lru_cache(maxsize=16)
def _standings(locales: Path, code: str, _files: tuple[tuple[Path, int], ...]) -> Mapping[str, Standing]:
    """Return what people have read of a language. All languages show it, so a broken catalog counts as unread."""
    try:
        return standing(texts(code, locales), reviews(code, locales))
    except (AtlasError, OSError):
        return {}


def _in(code: str, text: str) -> str:
    """Return a text in its own language and direction."""
    direction = load_locale(code).text_direction
    return Markup('<span lang="{}" dir="{}">{}</span>').format(code, direction, text)


def _name(code: str) -> str:
    return _in(code, name_of(code))
