"""What Material for MkDocs knows of a language: its labels, how its search reads words, and what it makes of links.

A language code enters; the name of Material's file of labels and the settings of its search leave. Its script enters
and leaves, with one mistake less.

    python -m generator add-language ko
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.utils import get_theme_dir

from bench.errors import AtlasError

FALLBACK = "en"
"""Whose labels a language shows that Material has not been translated into."""

WORD_BREAKS = (
    r"&(?:lt|gt|amp);|\.(?!\d)"
    r"|[\s\-−–—…·,:;!?=\[\](){}<>\"'`“”‘’«»/|\\*#@%&×†≥≤≈→"
    r"\u200b-\u200f\u2066-\u2069\u3000、。，．：；？！（）「」『』《》〜～・،؛؟]+"
    r"|(?<=\w)(?=[\u0600-\u06ff\u3040-\u9fff])|(?<=[\u0600-\u06ff\u3040-\u9fff])(?=\w)"
)
"""Where search splits text in every language: within ``torch.compile``, not within ``2.0.1``; between Latin letters and
those of another script, which are often written without a space. The zero-width space is what jieba leaves between
Chinese words."""

WITHOUT_LUNR = ("zh", "ar")
"""Languages whose words lunr need not know: jieba cuts Chinese when the index is built, and the stemmer of Arabic would
merge words that differ. What remains to be known of them is in ``workers/words.js`` among the scripts."""


def labels(code: str) -> str:
    """The name of Material's labels for a language: its own, those without the region, else English ones."""
    return next((name for name in _candidates(code) if labels_file(name).is_file()), FALLBACK)


def labels_file(name: str) -> Path:
    """Where Material keeps the labels of that name."""
    return _theme() / "partials" / "languages" / f"{name}.html"


def search(code: str) -> dict[str, Any]:
    """Settings of the search in a language. English is kept in each, since every page has names and code in it."""
    known = (name for name in _candidates(code) if (_theme() / _LUNR / f"lunr.{name}.min.js").is_file())
    own = next((name for name in known if name not in (FALLBACK, *WITHOUT_LUNR)), None)
    return {"lang": [FALLBACK, own] if own else [FALLBACK], "separator": WORD_BREAKS}


BUNDLE = re.compile(r"assets/javascripts/bundle\.\w+\.min\.js")
"""Material's own script, with a hash in its name."""

_MENDED = {
    # It takes the links between translations for the roots of other versions of the site, and asks for a sitemap below
    # each, where there is none.
    r"link\[rel=alternate\]": r"\g<0>:not([hreflang])",
    # It writes all addresses of a page anew as soon as it is there, so that they hold where the reader goes next: every
    # stylesheet and picture is loaded twice, and the page laid out again. When the reader goes is early enough.
    r'\$\(document\)\.subscribe\((\w+)\);(.{0,400}?)(?=history\.replaceState\(\w+,""\),history\.pushState)': (
        r"\2\1(document),"
    ),
    # It tells the browser twice which colours the page is in, each time for a new style of every element. The
    # stylesheet says it sooner.
    (
        r'let (\w+)=\w+\("meta",\{name:"color-scheme"\}\);document\.head\.appendChild\(\1\);'
        r"(.{0,2000}?)\1\.content=\w+\.colorScheme,"
    ): r"\2",
}


def mended(bundle: str) -> str:
    """Material's script, without what it does on our pages in vain.

    Raises `AtlasError` where the script has changed.
    """
    for pattern, replacement in _MENDED.items():
        bundle, count = re.subn(pattern, replacement, bundle)
        if count != 1:
            raise AtlasError(
                f"Material's script has {count} places that fit {pattern}, instead of one",
                where="mkdocs-material",
                remedy="see what this version does there, and correct generator/site/material.py",
            )
    return bundle


_LUNR = Path("assets", "javascripts", "lunr", "min")


def _candidates(code: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((code, code.split("-", maxsplit=1)[0])))


@cache
def _theme() -> Path:
    return Path(get_theme_dir("material"))
