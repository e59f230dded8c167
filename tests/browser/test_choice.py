"""Which model to run in a real browser: the best models for an accuracy and for a throughput, in both directions."""

from __future__ import annotations

import pytest
from conftest import PREFIXES
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("code", ["en", "ar"])
def test_the_best_models_follow_the_choice(code: str, page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{PREFIXES[code]}which-model/")
    answer = page.locator(".choice-answer")
    first, rows = answer.locator("tbody tr").first, answer.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(first).to_contain_text("tiny_vit_21m_224")
    expect(first).to_contain_text("9,003")
    page.locator("[name=accuracy]").fill("90")
    expect(rows).to_have_count(1)
    expect(first).to_contain_text("eva02_large_patch14_448")
    expect(first).to_contain_text("–", timeout=1000)  # no speedup between unequal batches
    page.locator("[name=goal][value=speed]").check()
    page.locator("[name=speed]").fill("100000")
    expect(first).to_contain_text("shvit_s1")
    page.locator("[name=variant]").select_option("eager")
    expect(rows).to_have_count(0)
    assert "speed=100000&variant=eager&device=rtx-5090" in page.url
    page.locator("[name=speed]").fill("")
    expect(answer).to_contain_text("100%")
    page.goto(page.url.replace("100000", "50000"))
    page.reload()
    expect(first).to_contain_text("shvit_s2")
    assert page.locator("article").evaluate("each => each.scrollWidth <= each.clientWidth")
    first.locator("a").click()
    page.wait_for_url("**/models/families/shvit/#shvit-s2")
