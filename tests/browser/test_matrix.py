"""The first screen in a real browser: the matrix and the short form, by mouse, by keyboard and without scripts."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, Request, ViewportSize, expect

from browser.kinds import PREFIXES, arrived, enter
from browser.test_kinds import TOO_WIDE

pytestmark = pytest.mark.browser

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

"""The lightness of each colour, by its class."""

SWIPED = """frame => {
  frame.scrollLeft = getComputedStyle(frame).direction === "rtl" ? -150 : 150
  return frame.scrollLeft
}"""

LEFT = "element => element.getBoundingClientRect().left"


def caption(page: Page) -> str:
    return page.locator(".matrix caption").inner_text()


# ── The matrix ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_screen_has_the_matrix_and_an_answer(page: Page, hosted_site: str) -> None:
    page.set_viewport_size(DESKTOP)
    page.goto(hosted_site)
    expect(page.locator(".matrix-legend")).to_be_in_viewport(ratio=1)
    expect(page.locator(".decision-outcome")).to_be_in_viewport(ratio=1)
    expect(page.locator("[data-more]")).to_be_in_viewport(ratio=1)
    assert page.locator(".md-sidebar:visible").count() == 0


def test_batch_size_and_mode_are_chosen_by_keyboard(page: Page, hosted_site: str) -> None:
    enter(page, f"{hosted_site}modes/")
    page.evaluate("window.sameDocument = true")
    page.locator(".md-header .md-logo").first.evaluate("link => link.click()")
    arrived(page, hosted_site)
    batch, mode = (page.locator(f".matrix select[name={name}]") for name in ("batch", "mode"))
    assert "batch size 1 · mode default" in caption(page).replace("\u00a0", " ")
    batch.focus()
    page.keyboard.type("16")
    expect(page.locator(".matrix caption")).to_contain_text("batch size 16")
    expect(batch).to_be_focused()
    expect(page.get_by_role("link", name="DETR on T4: out of memory", exact=True)).to_have_text("OOM")
    page.keyboard.press("Tab")
    expect(mode).to_be_focused()
    page.keyboard.type("reduce")
    expect(page.locator(".matrix caption")).to_contain_text("mode reduce-overhead")
    expect(batch).to_have_value("1")
    assert batch.locator("option:disabled").all_inner_texts() == ["16"], "nothing was measured there"
    page.keyboard.press("Home")
    expect(page.locator(".matrix tbody tr")).to_have_count(12)
    assert page.locator(".matrix table").count() == 1
    assert page.evaluate("window.sameDocument"), "the page was loaded anew"


def test_a_cell_leads_to_its_table(page: Page, hosted_site: str) -> None:
    page.goto(hosted_site)
    cell = page.get_by_role("link", name=re.compile(r"^DETR on A100: .* \(faster\)$"))
    shown = float(cell.inner_text().rstrip("×"))
    cell.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{hosted_site}devices/a100/#torch-2-0-1-default-batch-1")
    heading = page.locator("#torch-2-0-1-default-batch-1")
    expect(heading).to_be_in_viewport()
    table = heading.locator("xpath=following::div[contains(@class, 'table')][1]")
    row = table.locator("tr", has=page.get_by_role("link", name="DETR", exact=True))
    figures = row.locator("[data-sort]").evaluate_all("all => all.map(each => Number(each.dataset.sort))")
    assert [each for each in figures if each == pytest.approx(shown, rel=0.05)], "the figure of the cell is in its row"


@pytest.mark.parametrize("code", ["en", "ar"])
def test_on_a_phone_columns_are_swiped_below_a_fixed_one(code: str, page: Page, hosted_site: str) -> None:
    page.set_viewport_size(PHONE)
    page.goto(hosted_site + PREFIXES[code])
    frame = page.locator(".matrix .table")
    expect(frame.locator("tbody tr").first).to_be_in_viewport()
    assert page.evaluate(TOO_WIDE) == []
    first, second = (frame.locator(f"tbody tr:first-child > :nth-child({n})") for n in (1, 2))
    before = first.evaluate(LEFT), second.evaluate(LEFT)
    moved = frame.evaluate(SWIPED)
    assert abs(moved) > 50
    assert first.evaluate(LEFT) == pytest.approx(before[0], abs=1), "the name of the model stays"
    assert second.evaluate(LEFT) == pytest.approx(before[1] - moved, abs=2), "the figures move"
    sizes = frame.locator("thead :is(a, small)").evaluate_all(
        "all => all.map(each => parseFloat(getComputedStyle(each).fontSize))"
    )
    assert min(sizes) >= 10


# ── The short form ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_answer_needs_no_data_and_others_fetch_it_once(page: Page, hosted_site: str) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.goto(hosted_site, wait_until="networkidle")
    headline = page.locator(".decision-outcome")
    expect(headline).to_be_visible()
    page.evaluate("window.sameDocument = true")
    assert not [url for url in asked if url.endswith(".json") and "/data/" in url]
    page.get_by_role("combobox", name="Device", exact=True).select_option("t4")
    page.locator(".decision input[name=model]").fill("DETR")
    expect(page.locator(".decision-case")).to_contain_text("Hugging Face")
    page.get_by_label("Calls per process").fill("5")
    page.wait_for_timeout(300)
    loaded = [url for url in asked if "/data/" in url]
    assert len(loaded) == len(set(loaded)) <= 2, "a file for each device, and each of them once"
    assert "#" not in page.url, "the first page has no case of its own"
    texts = json.loads(page.locator("[data-decision]").get_attribute("data-texts") or "")
    assert headline.inner_text() in [each for each, _ in texts["outcomes"].values()]
    told = headline.inner_text()
    page.locator("[data-more]").click()
    page.wait_for_url(
        re.compile(r"/should-i-compile/#question=latency&device=t4&model=detr&batch=1&calls=5&cache=cold")
    )
    expect(page.locator(".decision-more")).to_be_visible()
    expect(page.locator(".decision-outcome")).to_have_text(told)
    assert page.evaluate("window.sameDocument"), "the page was loaded anew"
    page.remove_listener("request", note)
