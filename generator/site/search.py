"""Material's search in a language: its settings, and an index of the words that readers search for.

The index leaves out figures, which make up most of it. Only Chinese is cut into Chinese words: Material cuts Han
characters in every language, which breaks Japanese. ``workers/words.js`` among the scripts knows about other forms of a
word.
"""

from __future__ import annotations

import copy
import json
import logging
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from material.plugins.search.plugin import SearchIndex as MaterialIndex
from mkdocs.utils import get_theme_dir

_OTHER_LETTERS = r"\u0590-\u06ff\u0900-\u0eff\u3040-\u9fff\uac00-\ud7a3"

WORD_BREAKS = (
    r"&(?:lt|gt|amp);|\.(?!\d)"
    r"|[\s\-−–—…·,:;!?=\[\](){}<>\"'`“”‘’«»/|\\*#@%&×†≥≤≈→"
    r"\u200b-\u200f\u2066-\u2069\u3000、。，．：；？！（）「」『』《》〜～・،؛؟]+"
    rf"|(?<=\w)(?=[{_OTHER_LETTERS}])|(?<=[{_OTHER_LETTERS}])(?=\w)"
)
"""Where search splits text in every language: within ``torch.compile``, not within ``2.0.1``; between Latin letters and
those of another script, which are often written without a space. The zero-width space is what jieba leaves between
Chinese words."""

WITHOUT_LUNR = ("zh", "ar")
"""Languages without lunr's own support: its Arabic stemmer would merge different words."""

_LEFT_OUT = re.compile(r'<td class="number.*?</td>|<(select|template)\b.*?</\1>', re.DOTALL)
"""Figures, and choices that a reader does not see."""

_HAN = re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]+")


def settings(code: str) -> dict[str, Any]:
    """Return the settings of the search in a language. All include English: every page has English names and code.

    No stemmer: Material searches for beginnings of words (``happens*``), which stems would not match. Material's boost
    of titles, a thousand, puts a title with a part of a name before a text with all of it.
    """
    folder = Path(get_theme_dir("material"), "assets", "javascripts", "lunr", "min")
    own = [] if code in ("en", *WITHOUT_LUNR) or not (folder / f"lunr.{code}.min.js").is_file() else [code]
    fields = {"title": {"boost": 20.0}}
    return {"lang": ["en", *own], "separator": WORD_BREAKS, "pipeline": ["stopWordFilter"], "fields": fields}


class SearchIndex(MaterialIndex):  # type: ignore[misc]  # Material has no types
    """Material's index, of the words that readers search for."""

    def __init__(self, code: str, **config: Any) -> None:
        super().__init__(**config)
        self._is_chinese = code.partition("-")[0] == "zh"

    def add_entry_from_context(self, page: Any) -> None:
        """Add a page. One that counts less in its sections is still found by its name."""
        first, page = len(self.entries), copy.copy(page)
        page.content = _LEFT_OUT.sub(" ", page.content)
        super().add_entry_from_context(page)
        for entry in self.entries[first : first + 1]:
            entry.pop("boost", None)

    def generate_search_index(self, prev: Any) -> str:
        """Return the index as JSON with unescaped letters: escaped text is up to twice as long."""
        return json.dumps(json.loads(super().generate_search_index(prev)), ensure_ascii=False, separators=(",", ":"))

    def _segment_chinese(self, data: str) -> str:
        return _HAN.sub(lambda text: _in_words(text[0]), data).strip("\u200b") if self._is_chinese else data


@lru_cache(maxsize=1 << 14)  # pages of one kind say much in the same words
def _in_words(text: str) -> str:
    """Return Chinese text with breaks between words and on both sides, as in Material's index."""
    import jieba  # takes a tenth of a second, which other languages need not wait

    jieba.setLogLevel(logging.WARNING)
    return "\u200b".join(("", *jieba.cut(text), ""))
