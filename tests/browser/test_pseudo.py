"""The site in languages without English words: what nobody can translate, is clipped, too wide, or doesn't mirror."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, copy_of_project, in_project, keep_few_records, weekly
from guide_figures import proper_names
from playwright.sync_api import Browser, Page
from pseudo import ACCENTED, CODES, MIRRORED, english_words, write_catalogs

from browser.hosting import hosted
from browser.kinds import WITHOUT_SEARCH
from browser.test_kinds import PHONE, SCREEN, TOO_WIDE

pytestmark = pytest.mark.browser

SHOWN = """() => {
  const skipped = "code, pre, kbd, samp, bdi, script, style, svg, [hidden], body [lang], .md-search, .md-select"
  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const { parentElement: parent, textContent: text } = walker.currentNode
    if (text.trim() && !parent.closest(skipped)) texts.push(text.trim())
  }
  for (const element of document.querySelectorAll("main [title], main [aria-label], main [alt]"))
    for (const name of ["title", "aria-label", "alt"])
      if (element.hasAttribute(name) && !element.closest(skipped)) texts.push(element.getAttribute(name))
  return texts
}"""
"""What a reader sees or hears, without code and names in isolates."""

CLIPPED = """() => [...document.querySelectorAll(".md-content *, .md-tabs *, .md-footer *")].filter(element => {
  const { overflowX, textOverflow } = getComputedStyle(element)
  const hides = ["hidden", "clip"].includes(overflowX) || textOverflow === "ellipsis"
  return hides && element.clientWidth > 1 && element.innerText?.trim() && element.scrollWidth > element.clientWidth + 1
}).map(element => element.outerHTML.slice(0, 100))"""

EDGES = """selectors => selectors.map(selector => {
  const element = document.querySelector(selector)
  const { left, right } = element.getBoundingClientRect()
  const far = document.documentElement.clientWidth - right
  return getComputedStyle(document.body).direction === "rtl" ? [far, left] : [left, far]
})"""
"""The distances of elements from the edges of the screen: at the start of a line, at its end."""


@pytest.fixture(scope="module")
def pseudo_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The guide about a few records, in English and both languages of `pseudo`."""
    project = copy_of_project(tmp_path_factory.mktemp("pseudo"))
    keep_few_records(project)
    write_catalogs(project, project / "locales")
    out = project / "site"
    done = in_project(project, "mkdocs", "build", "--strict", "--site-dir", str(out))
    assert done.returncode == 0, done.stderr
    with hosted(out) as address:
        yield address


PAGES = ("", "compile/", "devices/a100/", "data/", "glossary/")


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": SCREEN, "height": 900}, reduced_motion="reduce")
    page.add_init_script(WITHOUT_SEARCH)
    yield page
    page.close()


def names() -> set[str]:
    """Words that stay English in every language."""
    return {*proper_names(), "Material for MkDocs", " and "}


def leaks(texts: list[str], kept: set[str]) -> list[str]:
    joined = re.sub("\u200e[^\u200e\n]*\u200e", " ", "\n".join(texts))
    for name in sorted(kept, key=len, reverse=True):
        joined = joined.replace(name, " ")
    return sorted(set(english_words(joined)))


@weekly
@pytest.mark.parametrize("code", CODES)
def test_no_english_leaks_nothing_is_clipped_and_nothing_is_too_wide(code: str, page: Page, pseudo_site: str) -> None:
    kept, found = names(), {}
    for path in PAGES:
        page.set_viewport_size({"width": SCREEN, "height": 900})
        page.goto(f"{pseudo_site}{code}/{path}")
        wrong: dict[str, Any] = {"English": leaks(page.evaluate(SHOWN), kept), "clipped": page.evaluate(CLIPPED)}
        for width in (SCREEN, PHONE):
            page.set_viewport_size({"width": width, "height": 900})
            wrong[f"too wide at {width}"] = page.evaluate(TOO_WIDE)
        found[path] = {kind: what for kind, what in wrong.items() if what}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@weekly
def test_an_english_sentence_is_found(page: Page, pseudo_site: str) -> None:
    page.goto(f"{pseudo_site}{ACCENTED}/")
    page.evaluate("document.querySelector('article p').textContent = 'Nobody has translated this.'")
    assert {"Nobody", "translated"} <= set(leaks(page.evaluate(SHOWN), names()))


PARTS = (
    *(".md-logo", ".md-content__inner > h1", ".md-sidebar--primary", ".md-sidebar--secondary", ".table", "figcaption"),
    *("figure.chart img:nth-of-type(1)", ".md-footer-meta__inner"),
)


@weekly
def test_right_to_left_is_the_mirror_image(page: Page, pseudo_site: str) -> None:
    page.set_viewport_size({"width": SCREEN, "height": 900})
    edges = {}
    for code in CODES:
        page.goto(f"{pseudo_site}{code}/devices/a100/")
        edges[code] = page.evaluate(EDGES, list(PARTS))
    ltr, rtl = edges[ACCENTED], edges[MIRRORED]
    assert {name: (a, b) for name, a, b in zip(PARTS, ltr, rtl, strict=True) if abs(a[0] - b[0]) > 2} == {}


# --- our own styles ---------------------------------------------------------------------------------------------------

PHYSICAL = re.compile(
    r"(?<![\w-])(?:(?:margin|padding|border)-(?:left|right)(?:-\w+)?|left|right|border-(?:top|bottom)-(?:left|right)-radius)"
    r"\s*:|(?:text-align|float|clear)\s*:\s*(?:left|right)\b"
)
"""A declaration that names a side of the screen where it should name a side of the text."""


def styles() -> Iterator[tuple[Path, int, str]]:
    for path in sorted([*(ROOT / "docs").rglob("*.css"), *(ROOT / "docs" / "theme").rglob("*.html")]):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            if "physical on purpose" not in line:
                yield path.relative_to(ROOT), number, line


def test_styles_name_sides_of_the_text_not_of_the_screen() -> None:
    assert [(str(path), number, line.strip()) for path, number, line in styles() if PHYSICAL.search(line)] == []


@pytest.mark.parametrize(
    ("declaration", "is_physical"),
    [
        ("margin-left: 1em;", True),
        ("  right: 0;", True),
        ("text-align: left;", True),
        ("border-top-left-radius: 1px;", True),
        ("margin-inline-start: 1em;", False),
        ("inset-inline: 0;", False),
        ("text-align: start;", False),
    ],
)
def test_a_physical_side_is_recognised(declaration: str, is_physical: bool) -> None:
    assert bool(PHYSICAL.search(declaration)) == is_physical
