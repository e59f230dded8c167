"""From phone to wall and on paper: tables show their conclusion, pages hold still, links land, charts can be read."""

from __future__ import annotations

import re

import pytest
from conftest import THOROUGH
from playwright.sync_api import Browser, Page, expect

from browser.kinds import FOLLOW, PREFIXES, arrived, enter, follow
from browser.test_kinds import TOO_WIDE

pytestmark = pytest.mark.browser

PAPER = 718
"""A4 within its margins, in pixels."""


@pytest.mark.parametrize(("code", "address"), [("en", "modes/"), ("ar", "modes/")])
def test_a_wide_table_scrolls_by_keyboard_and_keeps_its_first_column(
    code: str, address: str, page: Page, hosted_site: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(f"{hosted_site}{PREFIXES[code]}{address}")
    frame = page.locator(".table").first
    expect(frame).to_have_attribute("aria-label", re.compile("."))
    first, second = (frame.locator(f"tbody tr:first-child > :nth-child({n})") for n in (1, 2))
    left = "element => element.getBoundingClientRect().left"
    before = first.evaluate(left), second.evaluate(left)
    frame.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft" if code == "ar" else "ArrowRight")
    page.wait_for_function("() => Math.abs(document.activeElement.scrollLeft) > 15")
    after = first.evaluate(left), second.evaluate(left)
    assert after[0] == pytest.approx(before[0], abs=1), "the name of the row stays"
    assert (after[1] > before[1]) == (code == "ar"), "the figures move"


HIDDEN = """most => [...document.querySelectorAll("article .table")].flatMap(frame => {
  const { left, right } = frame.getBoundingClientRect()
  const heads = [...frame.querySelectorAll("thead .decisive")].slice(0, most)
  const isOut = box => box.right > right + 1 || box.left < left - 1
  return heads.filter(head => isOut(head.getBoundingClientRect())).map(head => head.textContent)
})"""
"""The headings of decisive columns, the first ones of each table, that its frame cuts off."""


@pytest.mark.parametrize(("width", "most"), [(1280, 9), (390, 1)])
@pytest.mark.parametrize("code", ["en", "ar"])
def test_no_table_hides_its_conclusion(code: str, width: int, most: int, page: Page, hosted_site: str) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    home = hosted_site + PREFIXES[code]
    enter(page, home)
    found, decisive = {}, 0
    for address in ("", "devices/a100/", "models/", "models/vit/", "modes/", "versions/", "when-not/"):
        follow(page, home + address)
        decisive += page.locator("article .table .decisive").count()
        found[address] = page.evaluate(HIDDEN, most)
    assert {where: what for where, what in found.items() if what} == {}
    assert decisive > 20


HEIGHTS = """async () => {
  const root = document.documentElement
  const seen = new Set([root.scrollHeight])
  for (let top = 0; top < root.scrollHeight; top += 500) {
    scrollTo(0, top)
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame)
    seen.add(root.scrollHeight)
  }
  return [...seen]
}"""
"""The heights of a page while its reader scrolls to the end."""


def test_a_page_keeps_its_height_while_its_reader_scrolls(page: Page, hosted_site: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{hosted_site}devices/a100/")
    page.wait_for_load_state("networkidle")
    assert len(page.evaluate(HEIGHTS)) == 1


SECTION = "#torch-2-1-0-dev-default-batch-16"
BELOW_HEADER = """section => {
  const { top } = document.querySelector(section).getBoundingClientRect()
  return top > 40 && top < 200
}"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("way", ["at once", "by instant navigation"])
def test_a_link_lands_at_its_section(way: str, width: int, page: Page, hosted_site: str) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    address = f"{hosted_site}devices/a100/"
    if way == "at once":
        page.goto(address + SECTION)
    else:
        enter(page, hosted_site)
        page.evaluate(FOLLOW, address + SECTION)
        arrived(page, address)
    page.wait_for_load_state("networkidle")
    page.wait_for_function(BELOW_HEADER, arg=SECTION)


# ── Paper ───────────────────────────────────────────────────────────────────────────────────────────────────────────

CUT = """() => [...document.querySelectorAll("article :is(.table, figure, pre, details)")]
  .filter(element => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1)
  .map(element => `${element.scrollWidth - element.clientWidth} of ${element.outerHTML.slice(0, 160)}`)"""
"""What paper would cut off: it does not scroll."""


@pytest.mark.parametrize("code", ["en", "ar"])
def test_paper_has_all_of_the_page_in_light_colours_and_nothing_else(
    code: str, browser: Browser, hosted_site: str
) -> None:
    page = browser.new_page(viewport={"width": PAPER, "height": 1000}, color_scheme="dark", reduced_motion="reduce")
    home = hosted_site + PREFIXES[code]
    page.goto(home)
    every = ("", "devices/a100/", "modes/", "should-i-compile/", "methodology/")
    for address in every if code == "en" or THOROUGH else ("devices/a100/", "should-i-compile/"):
        follow(page, home + address)
        page.emulate_media(media="print", color_scheme="dark")
        for gone in (".md-header", ".md-tabs", ".md-sidebar", ".md-footer", ".md-top", ".headerlink"):
            assert not any(page.locator(gone).evaluate_all("all => all.map(each => each.checkVisibility())")), gone
        expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
        assert page.locator('figure.chart img[src$="#only-dark"]:visible').count() == 0
        assert page.evaluate(CUT) == [], address
        assert page.evaluate(TOO_WIDE) == [], address
        page.emulate_media(media="screen", color_scheme="dark")
    page.close()
