"""The sheet that a native reader fills in: a page for any browser, and the same texts as a table for spreadsheets.

Takes the texts of `generator.languages.reviews`; returns HTML and CSV. Each text has a link to its place in the guide,
which browsers scroll to and highlight. A picture would need a browser here, and would show outdated figures.

    python -m generator review --language ja
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from bench.records.tabular import no_formula
from generator.languages.catalogs import address_of
from generator.languages.coverage import INTERFACE
from generator.languages.language import Language
from generator.languages.reviews import COLUMNS, POINTS, TranslatedText
from generator.languages.typography import VERBATIM

_TEMPLATES = Path(__file__).resolve().parents[1] / "templates"

FRAGMENT = 60
"""Most letters of a text by which a browser finds it on its page."""


def sheet(texts: Iterable[TranslatedText], language: Language, site: str) -> str:
    """Return the sheet as a page that needs no other file. `site` is the address of the guide, with a slash."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True)
    environment.filters["verbatim_apart"] = _verbatim_apart
    template = environment.get_template("review_sheet.html.jinja")
    pages = [
        (page, _named(own[0])[0] or page, [(text, _named(text)[1], place(text, language, site)) for text in own])
        for page, own in _by_page(texts)
    ]
    first = next((rows[0][0].id for _, _, rows in pages), "")
    return template.render(language=language, pages=pages, points=POINTS, first=first)


def _named(text: TranslatedText) -> tuple[str, str]:
    """Return the title of the page of a text, "" in the interface, and its kind, from its comment in the catalog."""
    title, dot, rest = text.place.partition("\n")[0].partition(" · ")
    return (title, rest.partition(" · ")[0]) if dot else ("", title)


def _verbatim_apart(text: str) -> Markup:
    """Return the HTML of a text with each value, tag and piece of code in an element that runs from the left."""
    parts, done = [], 0
    for match in VERBATIM.finditer(text):
        parts += [escape(text[done : match.start()]), Markup('<code dir="ltr">{}</code>').format(match[0])]
        done = match.end()
    return Markup("").join([*parts, escape(text[done:])])


def table(texts: Iterable[TranslatedText]) -> bytes:
    """Return the sheet as CSV, with the mark by which spreadsheets know UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for page, own in _by_page(texts):
        writer.writerows(
            (text.id, page, no_formula(text.source), no_formula(text.translation), "", "", "") for text in own
        )
    return out.getvalue().encode("utf-8-sig")


def _by_page(texts: Iterable[TranslatedText]) -> list[tuple[str, list[TranslatedText]]]:
    """Return the texts under the first page of each, the interface last."""
    order = sorted(texts, key=lambda text: text.pages[:1] in {(), (INTERFACE,)})
    return [(page, list(own)) for page, own in groupby(order, key=lambda text: (text.pages or (INTERFACE,))[0])]


def place(text: TranslatedText, language: Language, site: str) -> str:
    """Return the address of a text in the guide, "" for one that is on no page of its own."""
    page = (text.pages or (INTERFACE,))[0]
    if page == INTERFACE:
        return ""
    address = address_of(page.removeprefix("docs/"))
    folder, dots, _ = address.partition("…")  # a page for each device: its list
    words = quote(_shown(text.translation), safe="").replace("-", "%2D")
    return f"{site}{language.prefix}{folder.lstrip('/')}" + ("" if dots or not words else f"#:~:text={words}")


def _shown(translation: str) -> str:
    """Return the longest part of a text that is on the page as it is: without values, code and markup."""
    plain: Sequence[str] = VERBATIM.sub("\n", translation).replace("*", "\n").replace("[", "\n").split("\n")
    longest = max(plain, key=len).strip(" ]：:。.,،、")
    cut = longest[:FRAGMENT]
    return cut if len(longest) <= FRAGMENT or " " not in cut else cut.rpartition(" ")[0]
