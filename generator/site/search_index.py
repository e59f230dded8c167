"""What the search of one edition knows of its pages: their words, without the figures in their tables.

In: pages of MkDocs, as Material's search plugin is given them. Out: its index, smaller: a table says each word once,
nothing between two cells runs together, and Chinese is cut into words where the edition is Chinese. (Material cuts Han
characters everywhere, by a Chinese dictionary, which leaves Japanese in pieces.)

    mkdocs build --strict
"""

from __future__ import annotations

import copy
import re
from functools import lru_cache
from typing import Any

import jieba
import msgspec
from material.plugins.search.plugin import SearchIndex as MaterialIndex

from generator.languages.language import UNKNOWN

_CHOICES = re.compile(r"<select\b.*?</select>", re.DOTALL)
_TABLE = re.compile(r'<table class="atlas".*?</table>', re.DOTALL)
_CELL = re.compile(r"<t[dh]\b([^>]*)>(.*?)</t[dh]>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SPACES = re.compile(r"[ \n]+")
_UNKEPT = re.compile(
    r'<a class="headerlink".*?</a>|<(?!/?(?:p|code|pre|li|ol|ul|sub|sup|h[1-6]|script|style|object)\b)[^>]*>', re.DOTALL
)
"""What Material's index leaves out anyway, by a parser that takes its time."""

_EXCLUDES = re.compile(r"<[^>]*\b(?:data-search-exclude|linenodiv)\b")
"""What leaves out more than itself."""

_END = re.compile(r"<br\s*/?>|</(?:button|caption|dd|div|dt|figcaption|label|li|p|small|summary|t[dh])>")


class SearchIndex(MaterialIndex):  # type: ignore[misc]  # Material has no types
    """Material's index, of words that readers look for."""

    def __init__(self, language: str, **config: Any) -> None:
        super().__init__(**config)
        self._is_chinese = language.partition("-")[0] == "zh"

        self._pages: dict[str, Any] = {}
        self._entries: dict[str, list[Any]] = {}

    def add_entry_from_context(self, page: Any) -> None:
        """Take a page in. Its words are looked for when there is to be an index."""
        uri = page.file.src_uri
        self._pages[uri] = page = copy.copy(page)
        self._entries.pop(uri, None)

    def generate_search_index(self, prev: Any) -> str:
        """As JSON, in which letters are letters: escaped ones are up to twice as long."""
        for uri in self._pages.keys() - self._entries.keys():
            self._entries[uri] = self._found(self._pages[uri])
        self.entries = [entry for uri in sorted(self._entries) for entry in self._entries[uri]]
        return msgspec.json.encode(msgspec.json.decode(super().generate_search_index(prev))).decode()

    def _found(self, page: Any) -> list[Any]:
        self.entries = []
        page.content = searchable(page.content)
        super().add_entry_from_context(page)
        return self.entries

    def _segment_chinese(self, data: str) -> str:
        if not self._is_chinese:
            return data
        return _CHINESE.sub(lambda words: _in_words(words[0]), data).strip(_BREAK)


_BREAK = "\u200b"
_CHINESE = re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]+")


@lru_cache(maxsize=1 << 14)  # pages of one kind say much in the same words
def _in_words(text: str) -> str:
    """As Material's index has them: breaks between words, and on both sides."""
    return _BREAK.join(("", *jieba.cut(text), ""))


def searchable(html: str) -> str:
    """The content of a page as far as it can be searched for. Blocks end with a space: the index knows no elements."""
    html = _END.sub(r"\g<0> ", _CHOICES.sub("", html))
    html = _TABLE.sub(lambda table: _SPACES.sub(" ", _UNKEPT.sub("", _said_once(table[0]))), html)
    return html if _EXCLUDES.search(html) else _UNKEPT.sub("", html)


def _said_once(table: str) -> str:
    """A table without its figures, and without what an earlier cell of it says."""
    said: set[str] = set()

    def cell(match: re.Match[str]) -> str:
        text = _TAG.sub(" ", match[2]).strip()
        is_figure = "number" in match[1] and (text == UNKNOWN or bool(re.search(r"\d", text)))
        if text in said or (is_figure and "scope=" not in match[1]):
            return ""
        said.add(text)
        return match[0]

    return _CELL.sub(cell, table)
