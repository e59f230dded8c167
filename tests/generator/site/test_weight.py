"""The compressed size of a first visit: every page in every language, from the files of the site.

Counted are the page, styles, scripts, its search (without the index), and pictures in one colouring. Pictures load as a
reader comes near them: `IN_REACH` of them on arrival.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from conftest import LANGUAGES, PREFIXES, BuiltSite

LIMIT = 150 * 1024
IN_REACH = 4
"""Charts within a screen and the two thousand pixels below it."""


@cache
def weight(path: Path) -> int:
    """Return the size of a file as a compressing host sends it."""
    content = path.read_bytes()
    return len(content) if path.suffix == ".png" else len(gzip.compress(content, 6))


def requests(page: Path, root: Path, code: str) -> set[Path]:
    """Return the files of a first visit."""
    html = page.read_text(encoding="utf-8")
    links = re.findall(r'<link rel="(?:stylesheet|icon)" href="([^"]+)"', html)
    scripts = re.findall(r'<script[^>]* src="([^"]+)"', html)
    images = [name for name in re.findall(r'<img[^>]* src="([^"]+)"', html) if not name.endswith("#only-dark")]
    named = [name for name in (*links, *scripts, *images[:IN_REACH]) if not name.startswith("data:")]
    files = {(page.parent / re.sub(r"[?#].*", "", unescape(name))).resolve() for name in named}
    return {page, *files, *worker(root, code), root / "sitemap.xml"}


def worker(root: Path, code: str) -> set[Path]:
    """The scripts of the search."""
    folder = root / "assets" / "javascripts"
    files = {*(folder / "workers").glob("*.js")}
    if code == "ja":
        names = ("min/lunr.stemmer.support.min.js", "tinyseg.js", "min/lunr.ja.min.js", "min/lunr.multi.min.js")
        files |= {folder / "lunr" / name for name in names}
    return files


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_content_page_is_light(code: str, site: BuiltSite) -> None:
    pages = site.pages(PREFIXES[code])
    pages.pop("explorer/")
    root = site.folder / PREFIXES[code]
    weights = {address: sum(map(weight, requests(path, root, code))) for address, path in pages.items()}
    assert {address: total for address, total in weights.items() if total > LIMIT} == {}
