"""Accessibility in a real browser: axe finds nothing, all works by keyboard, the reader's settings hold."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from conftest import LANGUAGES, THOROUGH
from playwright.sync_api import Browser, Page, expect

from browser.kinds import KINDS, PREFIXES, enter, follow
from browser.test_kinds import TOO_WIDE

pytestmark = pytest.mark.browser

# ── axe ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

LESS_OF_THE_SAME = """() => {
  const alike = [
    "article tbody tr:nth-child(n+5), article pre code > span:nth-child(n+15), article option:nth-child(n+4)",
    ".md-nav .md-nav .md-nav__item:nth-child(n+4), .md-select__item:nth-child(n+3)",
  ]
  document.querySelectorAll(alike.join()).forEach(element => element.remove())
}"""
"""Rows of a table are alike, lines of code, entries of the navigation: axe takes a second for a hundred of them."""

CODE_CAN_BE_FOCUSED = """() => [...document.querySelectorAll("pre > code")].every(
  code => !code.checkVisibility() || code.scrollWidth <= code.clientWidth || code.closest("[tabindex='0']")
)"""
"""Material's script sees to that, soon after the page is there."""

COLOURFUL = ("", "should-i-compile/", "compile/", "modes/", "explorer/", "devices/a100/")
"""Kinds that have between them all that styles give a colour to."""

COLOURS = "scheme => { document.body.dataset.mdColorScheme = scheme }"

RUN = """async only => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"], runOnly: only })
  const told = (id, { target, html }) => `${id} ${target}: ${html.slice(0, 160)}`
  return violations.flatMap(({ id, nodes }) => nodes.map(node => told(id, node)))
}"""


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe finds on the page as it is shown now."""
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": RULES}
    found: list[str] = page.evaluate(RUN, only)
    # Material's script makes a nav of the copy button of each code block: nothing that our markup could name.
    return [each for each in found if not (each.startswith("landmark-unique") and "md-code__nav" in each)]


@pytest.mark.parametrize("code", LANGUAGES)
def test_axe_finds_nothing(code: str, page: Page, hosted_site: str) -> None:
    """Every kind of page in one language or another: light with all rules, and those with most colours dark."""
    home = hosted_site + PREFIXES[code]
    enter(page, f"{home}when-not/")
    page.evaluate(AXE)
    found = []
    for address in KINDS[LANGUAGES.index(code) :: len(LANGUAGES)]:
        follow(page, home + address)
        page.wait_for_function(CODE_CAN_BE_FOCUSED)
        found += [(address, "too wide", each) for each in page.evaluate(TOO_WIDE)]
        page.evaluate(LESS_OF_THE_SAME)
        found += [(address, "light", each) for each in violations(page)]
        if address not in COLOURFUL and not THOROUGH:
            continue
        page.evaluate(COLOURS, "slate")
        found += [(address, "dark", each) for each in violations(page, ["color-contrast", "link-in-text-block"])]
        page.evaluate(COLOURS, "default")
    assert found == []


# ── Keyboard ────────────────────────────────────────────────────────────────────────────────────────────────────────

FOCUSED = """() => {
  const element = document.activeElement
  if (element === document.body) return null
  const stand = { __palette: element.nextElementSibling, drawer: document.querySelector(".md-header [for=__drawer]") }
  const mark = stand[element.name || element.dataset.mdToggle] ?? element // these two are shown by their labels
  const { left, right, top, bottom, width, height } = mark.getClientRects()[0] // a link may go on in another line
  const { outlineStyle, outlineWidth } = getComputedStyle(mark)
  const x = (Math.max(left, 0) + Math.min(right, innerWidth)) / 2
  const y = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2
  const hit = document.elementFromPoint(x, y)
  return {
    name: element.outerHTML.slice(0, 120),
    marked: (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || mark.matches(".md-search__input"),
    inside: width > 0 && height > 0 && right > 0 && left < innerWidth && bottom > 0 && top < innerHeight,
    covered: !hit ? "nothing" : mark.contains(hit) || hit.contains(mark) ? "" : hit.outerHTML.slice(0, 80),
  }
}"""
"""What has the focus: whether a line is around it, and whether it can be seen."""


def walk(page: Page, steps: int, settled_ms: int = 500) -> Iterator[dict[str, Any]]:
    """What the tab key comes to, at most `steps` places. What is covered gets `settled_ms` to be seen."""
    for _ in range(steps):
        page.keyboard.press("Tab")
        if (focused := page.evaluate(FOCUSED)) is None:
            return
        if "md-search__input" in focused["name"]:
            page.wait_for_function("() => document.querySelector('#__search').checked")  # it opens by its focus
            focused = page.evaluate(FOCUSED)
        if focused["covered"]:  # the theme moves its sidebars some frames after the page has scrolled
            page.wait_for_timeout(settled_ms)
            focused = page.evaluate(FOCUSED)
        yield focused


@pytest.mark.parametrize(
    ("address", "width", "steps"),
    [("", 1280, 60), ("ar/devices/a100/", 1280, 50), ("explorer/", 1280, 45), ("should-i-compile/", 1280, 45),
     ("", 390, 25), ("ar/modes/", 390, 30)],
)  # fmt: skip
def test_the_focus_is_always_seen(address: str, width: int, steps: int, page: Page, hosted_site: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(hosted_site + address)
    if "explorer" in address:
        page.locator(".explorer tbody tr").first.wait_for()
    places = list(walk(page, steps))
    assert len(places) > 15
    assert [place for place in places if not (place["marked"] and place["inside"]) or place["covered"]] == []


def test_the_drawer_of_a_phone_by_keyboard(page: Page, hosted_site: str) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(f"{hosted_site}compile/")
    closed = page.locator(".md-sidebar--primary a[href$='modes/']")
    expect(closed).to_be_hidden()
    page.get_by_role("checkbox", name="Navigation").focus()
    page.keyboard.press("Space")
    expect(closed).to_be_visible()
    names = [place["name"] for place in walk(page, 40, settled_ms=0)]
    assert any("modes/" in name for name in names)
    assert any("md-nav__title" in name for name in names), "the way back to the first level"


# ── Headers and settings ────────────────────────────────────────────────────────────────────────────────────────────


def test_forced_colours_keep_charts_and_focus(browser: Browser, hosted_site: str) -> None:
    page = browser.new_page(forced_colors="active", color_scheme="dark")
    page.goto(f"{hosted_site}devices/a100/")
    chart = page.locator('figure.chart img[src$="#only-dark"]').first
    expect(chart).to_have_css("background-color", "rgb(17, 26, 34)")
    expect(page.locator(".table thead th").first).to_have_css("background-color", "rgb(0, 0, 0)")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED)["marked"]
    page.close()
