"""Metadata of a page for search engines and link previews: Open Graph, canonical address and hreflang.

Takes a page's address and words, its `Language` and the languages of the site. Returns `PageMetadata` for the template.
All addresses are absolute; there are none if the site does not know its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from babel.core import get_global

from generator.figures.card import SIZE
from generator.languages.language import Language

DEFAULT = "x-default"
"""The hreflang for readers of other languages."""

_OPEN_GRAPH = {"ar": "ar_AR"}
"""Open Graph's locales of languages for which it has one without a real region."""


@dataclass(frozen=True)
class PageMetadata:
    """One page in one language."""

    title: str
    section: str  # "" if the title alone says enough
    description: str
    locale: str  # in the notation of Open Graph: en_US
    other_locales: tuple[str, ...]
    address: str
    image: str
    alternates: tuple[tuple[str, str], ...]  # hreflang, address
    image_size: tuple[int, int] = SIZE


def page_metadata(
    card: str, url: str, words: tuple[str, str, str], language: Language, languages: Iterable[Language], root: str
) -> PageMetadata:
    """Return the metadata of a page, which is published at `url` below the root of each language.

    `card` is the URI of its share card, and `words` are its title, section and description. `root` is the address of
    the source language, "" if the site does not know it.
    """
    languages = tuple(languages)
    title, section, description = words
    alternates = [(each.code, f"{root}{each.prefix}{url}") for each in languages] + [(DEFAULT, f"{root}{url}")]
    return PageMetadata(
        title=title,
        section=section,
        description=description,
        locale=open_graph_locale(language),
        other_locales=tuple(open_graph_locale(each) for each in languages if each != language),
        address=f"{root}{language.prefix}{url}" if root else "",
        image=f"{root}{card}" if root else "",
        alternates=tuple(alternates) if root else (),
    )


def open_graph_locale(language: Language) -> str:
    """Return language and region, such as ``zh_CN``. Without a region it is the one where most speakers live."""
    locale = language.locale
    likely = get_global("likely_subtags").get(locale.language, locale.language).split("_")[-1]
    return _OPEN_GRAPH.get(language.code) or f"{locale.language}_{locale.territory or likely}"
