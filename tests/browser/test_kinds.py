"""One walk over the pages of each language, and all that has to hold on every one of them, whatever it is about.

By instant navigation, as readers go from page to page: it changes all but the header and the scripts.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import LANGUAGES, THOROUGH, BuiltSite, weekly
from playwright.sync_api import BrowserContext, Page

from browser.kinds import KINDS, LISTEN, PREFIXES, enter, follow
from browser.watching import watched

pytestmark = pytest.mark.browser

SCREEN, PHONE, NARROW = 1280, 390, 360

WIDTHS = (PHONE, 768, SCREEN, 2560)

UNLIKE = ("", "devices/a100/", "explorer/", "should-i-compile/")
"""Kinds that differ most in how they fill a screen."""

TOO_WIDE = """async () => {
  const root = document.documentElement
  const excess = () => root.scrollWidth - root.clientWidth
  if (excess() > 0) await new Promise(done => setTimeout(done, 200))  // what a script sizes follows a frame later
  if (excess() <= 0) return []
  const sides = element => element.getBoundingClientRect()
  const outside = element => sides(element).right > root.clientWidth + 1 || sides(element).left < -1
  const culprits = [...document.body.querySelectorAll("*")].filter(outside).slice(0, 5)
  return [excess(), ...culprits.map(element => element.outerHTML.slice(0, 80))]
}"""
"""By how many pixels a page is too wide, and a few elements that may be why."""

HEADLESS = """() => {
  const isHeaded = ({ cells: [first, ...rest] }) => !rest.length || (first.tagName === "TH" && first.scope === "row")
  return [...document.querySelectorAll("article table")].filter(table =>
    [...table.querySelectorAll("thead th")].some(cell => cell.scope !== "col") ||
    ![...table.querySelectorAll("tbody tr")].every(isHeaded)
  ).map(table => table.outerHTML.slice(0, 200))
}"""
"""Tables with a column or a row that no cell heads."""

NOT_DRAWN = """async () => {
  const images = [...document.images]
  for (const image of images) image.loading = "eager"
  await Promise.all(images.map(image => image.decode().catch(() => {})))
  return images.filter(image => !image.naturalWidth).map(image => image.src)
}"""
"""Images that were not loaded, or cannot be drawn."""


@pytest.fixture
def page(context: BrowserContext, hosted_site: str) -> Iterator[Page]:
    """A tab that remembers what the policy stopped, and in which nothing may go wrong."""
    page = context.new_page()
    page.add_init_script(LISTEN)
    with watched(page, hosted_site) as problems:
        yield page
        assert page.evaluate("window.violations") is None
        assert problems == []
    page.close()


def addresses(code: str, site: BuiltSite) -> list[str]:
    """Pages of devices and of models differ in their figures alone: those with the longest names stand for all.

    By day, Japanese, whose lines break anywhere, has pages with much else than text.
    """
    every = list(site.pages(PREFIXES[code]))
    if code == "ja" and not THOROUGH:
        return [*UNLIKE, "compile/", "dynamo/"]

    def is_one_of_a_kind(address: str) -> bool:
        folder, _, name = address.partition("/")
        return address in KINDS or folder not in {"devices", "models"} or name.startswith(("cpu-", "conditional-"))

    return every if THOROUGH else list(filter(is_one_of_a_kind, every))


@pytest.mark.parametrize("code", LANGUAGES if THOROUGH else ("en", "ja", "ar"))  # Chinese breaks as Japanese does
def test_every_kind_of_page(code: str, page: Page, site: BuiltSite, hosted_site: str) -> None:
    """On the narrowest phone: that is where long words tell."""
    home = hosted_site + PREFIXES[code]
    page.set_viewport_size({"width": NARROW, "height": 900})
    page.goto(home, wait_until="networkidle")
    page.evaluate("window.sameDocument = true")
    found = {}
    for address in addresses(code, site):
        follow(page, home + address)
        assert page.evaluate("document.documentElement.lang") == code
        found[address, "too wide"] = page.evaluate(TOO_WIDE)
        found[address, "without headers"] = page.evaluate(HEADLESS)
        # The other languages have the same files, but for text and search.
        found[address, "not drawn"] = page.evaluate(NOT_DRAWN) if code == "en" or address in UNLIKE else []
    assert {where: what for where, what in found.items() if what} == {}
    assert page.evaluate("window.sameDocument"), "a page was loaded anew"


@weekly
@pytest.mark.parametrize("code", LANGUAGES)
def test_pages_fit_every_width(code: str, page: Page, site: BuiltSite, hosted_site: str) -> None:
    home = hosted_site + PREFIXES[code]
    enter(page, home)
    found = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for address in addresses(code, site):
            follow(page, home + address)
            found[address, width] = page.evaluate(TOO_WIDE)
    assert {where: what for where, what in found.items() if what} == {}
