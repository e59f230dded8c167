"""The Content-Security-Policy in files: each page begins with it, and contains nothing that it blocks."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT, BuiltSite

from generator.languages.page_source import mkdocs_yml

POLICY = mkdocs_yml(ROOT)["extra"]["policy"]

WITHIN_A_PAGE = {
    "a script": r"<script(?![^>]*\bsrc=)(?![^>]*type=.?application/json)",
    "a style sheet": r"<style\b",
    "a style": r"<[a-z][^<>]*\sstyle=",
    "a handler": r"<[a-z][^<>]*\son[a-z]+=",
}
"""What the policy blocks in every page."""


def test_every_page_says_the_policy_before_anything_is_loaded(site: BuiltSite) -> None:
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    for path in site.folder.rglob("*.html"):
        head = path.read_bytes()[:1024].decode(errors="ignore").replace("&#39;", "'")
        meta = head.find(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">')
        assert meta > 0, path
        assert not re.search("<(?:script|link|img)", head[:meta]), path
        assert "<meta charset" in head, "browsers look for it in the first 1024 bytes"


@pytest.mark.parametrize("what", WITHIN_A_PAGE)
def test_no_page_holds_what_the_policy_stops(what: str, site: BuiltSite) -> None:
    found = re.compile(WITHIN_A_PAGE[what])
    assert [path for path in site.folder.rglob("*.html") if found.search(path.read_text(encoding="utf-8"))] == []
