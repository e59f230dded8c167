"""The head of every page: addresses in each language, words and a picture for those who show a link to it."""

from __future__ import annotations

import re
import struct
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest
from conftest import LANGUAGES, BuiltSite

from generator.languages.language import load_language
from generator.site.settings import open_graph_locale

PREFIXES = {code: load_language(code).prefix for code in LANGUAGES}
SCRIPTS = {"zh": "[\u4e00-\u9fff]", "ja": "[\u3041-\u30fa\u4e00-\u9fff]", "ar": "[\u0620-\u064a]"}


class _Head(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.said: dict[str, str] = {}
        self.alternates: dict[str, str] = {}
        self.feed(path.read_text(encoding="utf-8").partition("</head>")[0])

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag == "meta":
            self.said[values.get("property") or values.get("name", "")] = values.get("content", "")
        elif tag == "link" and values["rel"].split() == ["alternate"] and "hreflang" in values:
            self.alternates[values["hreflang"]] = values["href"]
        elif tag == "link" and values["rel"] == "canonical":
            self.said["canonical"] = values["href"]


@cache
def read(path: Path) -> _Head:
    return _Head(path)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_names_its_translations_and_itself(code: str, site: BuiltSite) -> None:
    for address, path in site.pages(PREFIXES[code]).items():
        found = read(path)
        expected = {other: f"{site.address}{prefix}{address}" for other, prefix in PREFIXES.items()}
        assert found.alternates == {**expected, "x-default": f"{site.address}{address}"}
        assert found.said["canonical"] == found.said["og:url"] == expected[code]


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_has_words_of_its_own_in_its_language(code: str, site: BuiltSite) -> None:
    heads = {address: read(path).said for address, path in site.pages(PREFIXES[code]).items()}
    descriptions = [said["description"] for said in heads.values()]
    assert len(set(descriptions)) == len(heads)
    locale = open_graph_locale(load_language(code))
    for said in heads.values():
        assert said["og:description"] == said["og:description"].strip() == said["description"]
        assert said["og:title"]
        assert said["og:locale"] == locale
        assert re.search(SCRIPTS.get(code, "[a-z]"), said["description"])


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_has_a_card(code: str, site: BuiltSite) -> None:
    for address, path in site.pages(PREFIXES[code]).items():
        said = read(path).said
        card = site.folder / said["og:image"].removeprefix(site.address)
        width, height = struct.unpack(">II", card.read_bytes()[16:24])
        assert (width, height) == (1200, 630), address


def test_the_sitemap_says_what_the_pages_say(site: BuiltSite) -> None:
    text = (site.folder / "sitemap.xml").read_text(encoding="utf-8")
    listed = set(re.findall(r"<loc>([^<]*)</loc>", text))
    assert listed == {urljoin(site.address, address) for address in site.pages()}
