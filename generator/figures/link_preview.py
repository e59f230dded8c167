"""What the head of a page tells search engines and those who show links to it: addresses, words, languages.

A page's file, title and description, its `Language` and those of the site enter; a `Head` leaves, for the template. All
addresses are absolute; where the site knows no address of its own, there are none.

    mkdocs build --strict
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from babel.core import get_global

from generator.languages.language import Language

CARD_SIZE = 1200, 630
"""Width and height of a card in pixels: what the sites that show cards ask for."""

DEFAULT = "x-default"
"""The hreflang of the page for readers of other languages."""

_OPEN_GRAPH = {"ar": "ar_AR"}
"""Where Open Graph's list of locales has one for a language as a whole, in place of its largest region."""


@dataclass(frozen=True)
class Head:
    """One page in one language."""

    title: str
    section: str  # of the site; "" where the title alone says enough
    description: str
    locale: str  # as Open Graph writes it: en_US
    other_locales: tuple[str, ...]
    address: str
    image: str
    alternates: tuple[tuple[str, str], ...]  # hreflang, address
    image_size: tuple[int, int] = CARD_SIZE


def head(
    uri: str, url: str, words: tuple[str, str, str], language: Language, languages: Iterable[Language], root: str
) -> Head:
    """The head of the page `uri`, which is published at `url` below the root of each language.

    `words` are its title, section and description; `root` is the address of the source language, "" where the site does
    not know it.
    """
    others = tuple(languages)
    title, section, description = words
    alternates = [(each.code, f"{root}{each.prefix}{url}") for each in others] + [(DEFAULT, f"{root}{url}")]
    return Head(
        title=title,
        section=section,
        description=description,
        locale=open_graph_locale(language),
        other_locales=tuple(open_graph_locale(each) for each in others if each != language),
        address=f"{root}{language.prefix}{url}" if root else "",
        image=f"{root}{language.prefix}{card_uri(uri)}" if root else "",
        alternates=tuple(alternates) if root else (),
    )


def card_uri(page: str) -> str:
    """Where the card of a page lies, both relative to the root of their language: ``cards/devices/a100.png``."""
    return f"cards/{page.removesuffix('.md')}.png"


def open_graph_locale(language: Language) -> str:
    """Language and region: ``zh_CN``; where the language names no region, the one where most of its readers live."""
    locale = language.locale
    likely = get_global("likely_subtags").get(locale.language, locale.language).split("_")[-1]
    return _OPEN_GRAPH.get(language.code) or f"{locale.language}_{locale.territory or likely}"
