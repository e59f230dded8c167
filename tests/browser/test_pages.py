"""Pages in a real browser: languages, appearance, tables."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.kinds import PREFIXES, arrived, enter, switch

pytestmark = pytest.mark.browser


# ── Languages ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_switch_keeps_page_and_place(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}methodology/#limits")
    for code in ("ja", "ar", "en"):
        switch(page, code)
        assert page.url == f"{hosted_site}{PREFIXES[code]}methodology/#limits"
        expect(page.locator("#limits")).to_be_in_viewport()


def test_arabic_runs_from_right_to_left(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}ar/devices/a100/")
    assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
    content = page.locator(".md-content h1").bounding_box()
    navigation = page.locator(".md-sidebar--primary").bounding_box()
    assert content is not None
    assert navigation is not None
    assert navigation["x"] > content["x"], "the navigation stands right of the content"
    table = page.locator(".table table").first
    first, last = (table.locator(f"thead th:{side}-child").bounding_box() for side in ("first", "last"))
    assert first is not None
    assert last is not None
    assert first["x"] > last["x"], "columns run from right to left"


# ── Appearance ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_dark_toggle_changes_page_and_charts_and_is_remembered(browser: Browser, hosted_site: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{hosted_site}devices/a100/")
    body, light, dark = (
        page.locator("body"),
        'figure.chart img[src$="#only-light"]',
        'figure.chart img[src$="#only-dark"]',
    )
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    expect(page.locator(light).first).to_be_visible()
    expect(page.locator(dark).first).to_be_hidden()
    page.locator("label[for=__palette_1]").click()
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    expect(page.locator(dark).first).to_be_visible()
    expect(page.locator(light).first).to_be_hidden()
    page.goto(f"{hosted_site}zh/")
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    page.close()


def test_pages_can_be_read_without_scripts(browser: Browser, hosted_site: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{hosted_site}ja/devices/a100/")
    expect(page.locator(".table table").first).to_be_visible()
    expect(page.locator("figure.chart img:visible").first).to_be_visible()
    assert page.locator(".table thead button").count() == 0
    page.goto(f"{hosted_site}should-i-compile/")
    assert page.locator("article form:visible").count() == 0, "they need scripts"
    expect(page.locator('article a[href="../devices/"]').first).to_be_visible()
    context.close()


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def column(table: Any, number: int) -> list[str]:
    return list(table.locator(f"tbody tr > :nth-child({number})").all_inner_texts())


def test_tables_sort_by_mouse_and_keyboard_also_after_instant_navigation(page: Page, hosted_site: str) -> None:
    enter(page, f"{hosted_site}devices/")
    page.locator("article a[href$='/a100/'], article a[href='a100/']").first.click()
    arrived(page, f"{hosted_site}devices/a100/")
    table = page.locator("table[data-sortable]").first
    header = table.locator("thead th").nth(3)
    header.locator("button").click()
    expect(header).to_have_attribute("aria-sort", "ascending")
    ascending = [float(text) for text in column(table, 4)]
    assert ascending == sorted(ascending)
    assert len(set(ascending)) > 3
    page.keyboard.press("Enter")
    expect(header).to_have_attribute("aria-sort", "descending")
    assert [float(text) for text in column(table, 4)] == ascending[::-1]
    table.locator("thead th").nth(0).locator("button").focus()
    page.keyboard.press("Space")
    expect(header).not_to_have_attribute("aria-sort", re.compile(".*"))
    names = column(table, 1)
    assert names == sorted(names, key=str.lower)


# ── A page as Markdown ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_button_copies_the_page_as_markdown(page: Page, hosted_site: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{hosted_site}devices/a100/")
    for uri, heading in (("devices/a100/", "# A100"), ("devices/", "# Devices")):
        if not page.url.endswith(uri):  # by instant navigation
            page.locator(f".md-tabs__link[href$='{uri}'], .md-tabs__link[href='../']").first.click()
            page.wait_for_url(f"{hosted_site}{uri}")
        button = page.get_by_role("button", name="Copy as Markdown")
        expect(button).to_have_count(1)
        button.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".page-actions [role=status]")).to_have_text("Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(heading)
        assert f"({hosted_site}{uri})" in copied
    page.context.clear_permissions()
