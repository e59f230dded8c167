"""The head of every page: addresses in each language, words and a picture for those who show a link to it."""

from __future__ import annotations

import re
import struct
from functools import cache
from pathlib import Path

import pytest
from conftest import LANGUAGES, PREFIXES, BuiltSite
from html_page import HtmlPage, read

from generator.languages.language import load_language
from generator.site.settings import open_graph_locale

SCRIPTS = {"zh": "[\u4e00-\u9fff]", "ja": "[\u3041-\u30fa\u4e00-\u9fff]", "ar": "[\u0620-\u064a]"}


@cache
def head(path: Path) -> HtmlPage:
    return read(path)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_names_its_translations_and_itself(code: str, site: BuiltSite) -> None:
    for address, path in site.pages(PREFIXES[code]).items():
        found = head(path)
        expected = {other: f"{site.address}{prefix}{address}" for other, prefix in PREFIXES.items()}
        assert found.alternates == {**expected, "x-default": f"{site.address}{address}"}
        assert found.said["canonical"] == found.said["og:url"] == expected[code]


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_has_words_of_its_own_in_its_language(code: str, site: BuiltSite) -> None:
    heads = {address: head(path).said for address, path in site.pages(PREFIXES[code]).items()}
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
        said = head(path).said
        card = site.folder / said["og:image"].removeprefix(site.address)
        width, height = struct.unpack(">II", card.read_bytes()[16:24])
        assert (width, height) == (1200, 630), address
