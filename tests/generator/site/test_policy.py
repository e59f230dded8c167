"""The Content-Security-Policy in files: each page begins with it, and a build tells what it stops."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT, BuiltSite

from generator.languages.page_source import mkdocs_yml
from generator.site.policy import stopped

POLICY = mkdocs_yml(ROOT)["extra"]["policy"]


def test_every_page_says_the_policy_before_anything_is_loaded(site: BuiltSite) -> None:
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    for path in site.folder.rglob("*.html"):
        head = path.read_bytes()[:1024].decode(errors="ignore").replace("&#39;", "'")
        meta = head.find(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">')
        assert meta > 0, path
        assert not re.search("<(?:script|link|img)", head[:meta]), path
        assert "<meta charset" in head, "browsers look for it in the first 1024 bytes"


@pytest.mark.parametrize(
    ("html", "told"),
    [
        ('<img src="../a.png"><img src="data:image/gif;base64,x">', []),
        ('<img alt="a > b" src="https://cdn.test/a.png">', ["https://cdn.test/a.png", "img-src"]),
        ("<link rel=stylesheet href=//cdn.test/a.css>", ["//cdn.test/a.css", "style-src"]),
        ('<link rel="icon" href="https://cdn.test/a.ico">', []),
        ("<iframe src='https://cdn.test/'></iframe>", ["https://cdn.test/", "frame-src"]),
        ('<script type="application/json">{}</script><script src="a.js"></script>', []),
        ("<script>1</script>", ["without a file", "'unsafe-inline' to script-src"]),
        ('<p style="color: red">', ['style="…"', "'unsafe-inline' to style-src"]),
        ('<p title=" style= onclick=">', []),
        ('<p class="a" onclick="f()">', ['onclick="…"', "script-src"]),
        ('<pre class="mermaid"></pre>', ["https://unpkg.com/mermaid", "add https://unpkg.com to script-src"]),
    ],
)
def test_what_the_policy_stops_is_told_with_a_remedy(html: str, told: list[str]) -> None:
    found = " ".join(map(" ".join, stopped(html, POLICY)))
    assert all(part in found for part in told)
    assert bool(found) == bool(told)
    assert [*stopped(html, "default-src * data: 'unsafe-inline'")] == []


def test_a_source_in_the_policy_allows_what_it_names() -> None:
    pictures = '<img src="https://cdn.test/a.png"><img src="https://img.other.test/a.png">'
    assert [*stopped(pictures, "default-src 'none'; img-src https://cdn.test *.other.test")] == []
    assert [*stopped('<pre class="mermaid"></pre>', POLICY, has_mermaid=True)] == []
