"""The compressed size of a first visit: every page in every language, from the files of the site.

Counted are the page, styles, scripts, its search (without the index), pictures in one colouring, and those fonts that
it has characters for. Pictures load as a reader comes near them: `IN_REACH` of them on arrival.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from conftest import LANGUAGES, BuiltSite

from generator.languages.language import load_language

LIMIT = 250 * 1024
IN_REACH = 4
"""Charts within a screen and the two thousand pixels below it."""

COMPRESSED = {".woff2", ".png"}

_FONT = re.compile(r"font-weight:(\d+).*?src:url\(([^)]+)\)[^;}]*(?:;unicode-range:([^;}]+))?")
_BOLD = re.compile(r"<(h[1-6]|th|strong|b|em|label|summary)\b[^>]*>(.*?)</\1>", re.DOTALL)
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)


@cache
def weight(path: Path) -> int:
    """Return the size of a file as a compressing host sends it."""
    content = path.read_bytes()
    return len(content) if path.suffix in COMPRESSED else len(gzip.compress(content, 6))


def requests(page: Path, root: Path, code: str) -> set[Path]:
    """Return the files of a first visit."""
    html = page.read_text(encoding="utf-8")
    links = re.findall(r'<link rel="(?:stylesheet|icon|preload)" href="([^"]+)"', html)
    scripts = re.findall(r'<script[^>]* src="([^"]+)"', html)
    images = [name for name in re.findall(r'<img[^>]* src="([^"]+)"', html) if not name.endswith("#only-dark")]
    named = [name for name in (*links, *scripts, *images[:IN_REACH]) if not name.startswith("data:")]
    files = {(page.parent / re.sub(r"[?#].*", "", unescape(name))).resolve() for name in named}
    return {page, *files, *fonts(html, root), *worker(root, code), root / "sitemap.xml"}


def fonts(html: str, root: Path) -> set[Path]:
    """Return the fonts with a character of the page in their weight."""
    text = {
        "400": unescape(_TAG.sub("", html)),
        "700": unescape(_TAG.sub("", "".join(part for _, part in _BOLD.findall(html)))),
    }
    rules = _FONT.findall((root / "fonts" / "fonts.css").read_text(encoding="utf-8"))
    return {root / "fonts" / name for css_weight, name, ranges in rules if needed(set(text[css_weight]), ranges)}


def needed(characters: set[str], ranges: str) -> bool:
    """Whether a browser takes a font with this ``unicode-range`` for one of the characters."""
    runs = [run.strip().removeprefix("U+").partition("-") for run in ranges.split(",") if run]
    bounds = [(int(first, 16), int(last or first, 16)) for first, _, last in runs]
    return not bounds or any(first <= ord(each) <= last for first, last in bounds for each in characters)


def worker(root: Path, code: str) -> set[Path]:
    """The scripts of the search."""
    folder = (root if code == "en" else root.parent) / "assets" / "javascripts"
    files = {*(folder / "workers").glob("*.js")}
    if code == "ja":
        names = ("min/lunr.stemmer.support.min.js", "tinyseg.js", "min/lunr.ja.min.js", "min/lunr.multi.min.js")
        files |= {folder / "lunr" / name for name in names}
    return files


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_content_page_is_light(code: str, site: BuiltSite) -> None:
    pages = site.pages(load_language(code).prefix)
    pages.pop("explorer/")
    root = site.folder / load_language(code).prefix
    weights = {address: sum(map(weight, requests(path, root, code))) for address, path in pages.items()}
    assert {address: total for address, total in weights.items() if total > LIMIT} == {}


def test_no_page_loads_a_font_of_another_script(site: BuiltSite) -> None:
    for code in LANGUAGES:
        root = site.folder / load_language(code).prefix
        for path in root.glob("*/index.html"):
            loaded = {file.name.split("-")[0] for file in fonts(path.read_text(encoding="utf-8"), root)}
            assert loaded <= {"en", code}
