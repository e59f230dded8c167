"""The check of a built site: what one language lost or has besides is found, and named."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import BuiltSite

from bench.errors import AtlasError
from generator.checks.rendered_checks import check_site

ENGLISH = """<html><nav><a href="/elsewhere/">x</a></nav><article>
<h1 id="a">Title</h1>
<p id="p">See <a href="../b/#c">there</a> and <code>x.y</code>.</p>
<ul><li>one</li><li>two</li></ul>
<h2 id="one">One</h2>
<table><caption>First</caption><tr><th>a</th><th>b</th></tr><tr><td data-sort="1">1</td><td>2</td></tr></table>
<table><caption>Second</caption><tr><th>a</th></tr><tr><td data-sort="5">5</td></tr></table>
<h2 id="two">Two</h2>
<table><caption>Third</caption><tr><th>a</th></tr></table>
<figure><img src="../assets/chart.svg" alt="Chart"></figure>
<div class="highlight"><pre><span></span><code>import torch</code></pre></div>
</article></html>
"""
OTHER = ENGLISH.replace("Title", "标题").replace("First", "第一").replace("Second", "第二").replace(">there<", ">那里<")
"""The same page in another language."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    for name in ("index.html", "zh/index.html", "a/index.html", "zh/a/index.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(OTHER if name.startswith("zh/") else ENGLISH, encoding="utf-8")
    return tmp_path


def found(site: Path) -> list[tuple[str, str]]:
    return [(finding.file, finding.what) for finding in check_site(site, ("en", "zh"))]


def test_a_translated_page_has_the_same_structure(small: Path) -> None:
    assert found(small) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (r"<tr><td data-sort=\"1\">.*?</tr>", "", "the table “First” of the section #one has 1 row instead of 2"),
        (r"<table><caption>第二.*?</table>", "", "the table “Second” of the section #one is missing"),
        (r"<table><caption>第一.*?</table>", "", "the table “First” of the section #one is missing"),
        (r"<table><caption>Third.*?</table>", "", "the table “Third” of the section #two is missing"),
        (r"<td>2</td>", "", "the table “First” of the section #one has a different number of cells in a row"),
        (r"data-sort=\"5\"", 'data-sort="6"', "the table “Second” of the section #one has different values"),
        (r"<figure>.*?</figure>", "", "the figure a/assets/chart.svg is missing"),
        (r"<h2 id=\"two\">", '<h2 id="zwei">', "the heading h2 #two is missing"),
        (r"<h2 id=\"two\">", '<h3 id="two">', "the heading h2 #two is missing"),
        (r"import torch", "import numpy", "the code block import torch is missing"),
        (r"<code>x.y</code>", "x.y", "the inline code x.y is missing"),
        (r"\.\./b/#c", "../b/", "the link b/#c is missing"),
        (r" id=\"p\"", "", "the id p is missing"),
        (r"<li>two</li>", "", "1 list items instead of 2"),
    ],
)
def test_what_a_page_lost_is_named(small: Path, old: str, new: str, what: str) -> None:
    page = small / "zh" / "a" / "index.html"
    text = page.read_text(encoding="utf-8")
    changed = re.sub(old, new, text, count=1, flags=re.DOTALL)
    assert changed != text
    page.write_text(changed, encoding="utf-8")
    expected = what.replace("a/assets", "assets")
    assert ("zh/a/index.html", expected) in found(small)


def test_pages_that_one_language_lacks_or_has_besides_are_named(small: Path) -> None:
    shutil.move(small / "zh" / "a", small / "zh" / "b")
    assert found(small) == [
        ("zh/a/index.html", "the page is missing"),
        ("zh/b/index.html", "the page does not exist in English"),
    ]


def test_without_a_site_it_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="mkdocs build --strict"):
        check_site(tmp_path)


# --- the real site ----------------------------------------------------------------------------------------------------


def test_the_real_site_is_the_same_until_a_row_is_removed(site: BuiltSite, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    shutil.copytree(site.folder, folder, ignore=shutil.ignore_patterns("*.svg"))
    assert check_site(folder) == []
    page = folder / "ja" / "devices" / "a100" / "index.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"(?s)(<tbody>.*?)<tr>.*?</tr>", r"\1", text, count=1), encoding="utf-8")
    (finding,) = (each for each in check_site(folder) if "table" in each.what)
    assert finding.file == "ja/devices/a100/index.html"
    assert re.fullmatch(r"the table “.+” of the section #.+ has \d+ rows instead of \d+", finding.what)
