"""The search index of one language: the words of its pages, without the figures in their tables.

Takes the pages that MkDocs gives to Material's search plugin; returns its index, smaller: each word of a table appears
once, words of adjacent cells stay apart, a row with an address of its own is an entry of its own, and only Chinese is
cut into Chinese words. (Material cuts Han characters in every language by a Chinese dictionary, which breaks Japanese
words.) From the index, the search worker learns which plurals belong to which singular.
"""

from __future__ import annotations

import copy
import re
from functools import lru_cache
from typing import Any

import msgspec
from material.plugins.search.plugin import SearchIndex as MaterialIndex

from generator.languages.glossary import load_glossary
from generator.languages.language import UNKNOWN
from generator.languages.typography import chinese_words

_CHOICES = re.compile(r"<(select|template)\b.*?</\1>", re.DOTALL)
"""What a reader may choose, and does not see: it is found where it is shown."""

_TABLE = re.compile(r'<table class="atlas".*?</table>', re.DOTALL)
_PLACE = re.compile(r'<tr id="([^"]+)"[^>]*>\s*<th\b[^>]*>(.*?)(?:<br>|</th>)', re.DOTALL)
"""A row with an address, and the name in its first cell. A table with such rows is searched for nothing else."""

_CELL = re.compile(r"<t[dh]\b([^>]*)>(.*?)</t[dh]>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SPACES = re.compile(r"[ \n]+")
_UNKEPT = re.compile(
    r'<a class="headerlink".*?</a>|<(?!/?(?:p|code|pre|li|ol|ul|sub|sup|h[1-6]|script|style|object)\b)[^>]*>', re.DOTALL
)
"""Markup that Material's index drops anyway, by a slower parser."""

_EXCLUDES = re.compile(r"<[^>]*\b(?:data-search-exclude|linenodiv)\b")
"""Markup whose content is not indexed, either."""

_END = re.compile(r"<br\s*/?>|</(?:button|caption|dd|div|dt|figcaption|label|li|p|small|summary|t[dh])>")


class SearchIndex(MaterialIndex):  # type: ignore[misc]  # Material has no types
    """Material's index, of the words that readers search for."""

    def __init__(self, language: str, **config: Any) -> None:
        super().__init__(**config)
        self._is_chinese = language.partition("-")[0] == "zh"
        self._plurals = load_glossary().plurals.get(language, ())

        self._pages: dict[str, Any] = {}
        self._entries: dict[str, list[Any]] = {}

    def add_entry_from_context(self, page: Any) -> None:
        """Add a page. Its words are extracted when the index is generated."""
        uri = page.file.src_uri
        self._pages[uri] = page = copy.copy(page)
        self._entries.pop(uri, None)

    def entries_of(self, uri: str) -> list[Any]:
        """Return what the index has of a page that was added."""
        if uri not in self._entries:
            self._entries[uri] = self._extracted(self._pages[uri])
        return self._entries[uri]

    def generate_search_index(self, prev: Any) -> str:
        """Return the index as JSON with unescaped letters: escaped text is up to twice as long."""
        self.entries = [entry for uri in sorted(self._pages) for entry in self.entries_of(uri)]
        index = msgspec.json.decode(super().generate_search_index(prev))
        if self._plurals:
            index["config"]["plurals"] = [forms.split() for forms in self._plurals]
        return msgspec.json.encode(index).decode()

    def _extracted(self, page: Any) -> list[Any]:
        self.entries = []
        places = _PLACE.findall(page.content)
        page.content = searchable(page.content)
        super().add_entry_from_context(page)
        for entry in self.entries[:1]:
            entry.pop("boost", None)  # a page that counts less in its sections is still found by its name
        named = ((anchor, _TAG.sub("", name)) for anchor, name in places)
        return [*self.entries, *({"location": f"{page.url}#{at}", "title": name, "text": ""} for at, name in named)]

    def _segment_chinese(self, data: str) -> str:
        if not self._is_chinese:
            return data
        return _CHINESE.sub(lambda text: _in_words(text[0]), data).strip(_BREAK)


_BREAK = "\u200b"
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_CHINESE = re.compile(f"[{_HAN}]+")
_IN_WORDS = re.compile(f"[{_HAN}{_BREAK}]+")


@lru_cache(maxsize=1 << 14)  # pages of one kind say much in the same words
def _in_words(text: str) -> str:
    """Return the text with breaks between words and on both sides, as in Material's index."""
    return _BREAK.join(("", *chinese_words(text), ""))


def searchable(html: str) -> str:
    """Return the searchable content of a page. Blocks end with a space, since the index has no elements."""
    html = _END.sub(r"\g<0> ", _CHOICES.sub("", html))
    html = _TABLE.sub(lambda table: _SPACES.sub(" ", _UNKEPT.sub("", _without_repeats(table[0]))), html)
    return html if _EXCLUDES.search(html) else _UNKEPT.sub("", html)


def _without_repeats(table: str) -> str:
    """Remove the figures of a table, and cells that repeat an earlier one."""
    if _PLACE.search(table):
        return ""
    seen: set[str] = set()

    def cell(match: re.Match[str]) -> str:
        text = _TAG.sub(" ", match[2]).strip()
        is_figure = "number" in match[1] and (text == UNKNOWN or bool(re.search(r"\d", text)))
        if text in seen or (is_figure and "scope=" not in match[1]):
            return ""
        seen.add(text)
        return match[0]

    return _CELL.sub(cell, table)
