"""The first screen in a real browser: the matrix and the short form, by mouse, by keyboard and without scripts."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser, Page, Request, ViewportSize, expect

from browser.kinds import PREFIXES, arrived, enter

pytestmark = pytest.mark.browser

DESKTOP: ViewportSize = {"width": 1280, "height": 800}


# ── The matrix ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_screen_has_the_matrix_and_an_answer(page: Page, hosted_site: str) -> None:
    page.set_viewport_size(DESKTOP)
    page.goto(hosted_site)
    expect(page.locator(".matrix-legend")).to_be_in_viewport(ratio=1)
    expect(page.locator(".decision-outcome")).to_be_in_viewport(ratio=1)
    expect(page.locator("[data-more]")).to_be_in_viewport(ratio=1)
    assert page.locator(".md-sidebar:visible").count() == 0


@pytest.mark.parametrize("code", PREFIXES)
def test_a_phone_without_scripts_shows_the_gain_on_todays_gpus(code: str, browser: Browser, hosted_site: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    page.goto(hosted_site + PREFIXES[code])
    expect(page.locator(".matrix form")).to_be_hidden()
    table = page.locator(".matrix table").first
    expect(table.get_by_role("link", name="RTX 5090", exact=True)).to_be_in_viewport(ratio=1)
    of_all = table.locator("tbody tr").first.locator("td a")
    expect(of_all).to_have_text([re.compile(r"^\d\.\d×$")] * 3)
    for cell in of_all.all():
        expect(cell).to_be_in_viewport(ratio=1)
        expect(cell).to_have_accessible_name(re.compile(r"RTX.*[\d,]{5}.*[\d,]{5}.*(images|张|枚|صورة)"))
    of_all.first.click()
    expect(page.locator(":target")).to_be_in_viewport()
    page.close()


def test_workload_batch_size_and_mode_are_chosen_by_keyboard(page: Page, hosted_site: str) -> None:
    enter(page, f"{hosted_site}modes/")
    page.evaluate("window.sameDocument = true")
    page.locator(".md-header .md-logo").first.evaluate("link => link.click()")
    arrived(page, hosted_site)
    batch, mode = (page.locator(f".matrix select[name={name}]") for name in ("batch", "mode"))
    expect(batch).to_be_hidden()
    page.locator(".matrix").get_by_label("Throughput", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".matrix caption")).to_contain_text("batch size 1 · mode default")
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
    expect(page.locator(".matrix tbody tr")).to_have_count(24)
    assert page.locator(".matrix table").count() == 1
    assert page.evaluate("window.sameDocument"), "the page was loaded anew"


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
    device = page.get_by_role("combobox", name="Device", exact=True)
    expect(device).to_have_value("rtx-5090")  # as the matrix, of throughput on current GPUs
    page.locator(".decision").get_by_label("Latency", exact=True).check()
    device.select_option("t4")
    page.locator(".decision input[name=model]").fill("DETR")
    expect(page.locator(".decision-case")).to_contain_text("Hugging Face")
    page.get_by_label("Calls per process").fill("5")
    page.wait_for_timeout(300)
    loaded = [url for url in asked if "/data/" in url]
    assert len(loaded) == len(set(loaded)) <= 3, "a file for each device, and each of them once"
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
