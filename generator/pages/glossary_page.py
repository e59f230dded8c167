"""The tables of the page "Glossary": every term in every language, and the names that no language translates.

Takes a `Language` and returns functions for page expressions, which return HTML blocks without blank lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from markupsafe import Markup, escape

from generator.figures.cells import TableCell
from generator.figures.markup import Line, Table
from generator.figures.words import Words
from generator.languages.glossary import Term, load_glossary
from generator.languages.language import LOCALES, Language, load_locale, name_of, translated_languages


def glossary_tables(language: Language, locales: Path = LOCALES) -> dict[str, Callable[[], str]]:
    """Return the functions by the names that pages use."""
    words = Words(language, html=True)
    return {
        "glossary_table": lambda: _terms(words, language, locales),
        "glossary_names": lambda: _names(words, locales),
    }


def _terms(words: Words, language: Language, locales: Path) -> str:
    """Return a table of the terms with other right words and wrong ones."""
    gettext, codes = language.gettext, translated_languages()
    head = (gettext("English"), *(_in(code, name_of(code)) for code in codes), gettext("Note"))
    columns = tuple(TableCell(escape(each), scope="col") for each in head)
    terms = sorted(load_glossary(locales).term, key=lambda term: term.en.lower())
    lines = [
        Line(
            (
                TableCell(_in("en", term.en)),
                *(TableCell(_term(words, language, term, code)) for code in codes),
                TableCell(words.say(gettext(term.note)) if term.note else "", classes="prose"),
            )
        )
        for term in terms
    ]
    return Table(escape(gettext("Terms in every language")), columns, tuple(lines)).markdown()


def _names(words: Words, locales: Path) -> str:
    names = sorted(load_glossary(locales).keep, key=str.lower)
    return str(Markup("<p>{}</p>").format(words.names(names)))


def _term(words: Words, language: Language, term: Term, code: str) -> str:
    def small(message: str, others: Sequence[str]) -> str:
        shown = Markup(" · ").join(_in(code, word) for word in others)
        return Markup("<small>{}</small>").format(words.say(message, words=shown))

    gettext, (own, *others), avoid = language.gettext, term.variants(code) or ("",), term.avoid.get(code, ())
    parts: list[str] = [_in(code, own)]
    if others:
        parts.append(small(gettext("also %(words)s"), others))
    if avoid:
        parts.append(small(gettext("not %(words)s"), avoid))
    return words.lines(parts)


def _in(code: str, text: str) -> Markup:
    """Return a text in its own language and direction."""
    direction = load_locale(code).text_direction
    return Markup('<span lang="{}" dir="{}">{}</span>').format(code, direction, text)
