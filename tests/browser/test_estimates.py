"""Estimates in a real browser: they look like no record, name what they rest on, and stand for models nobody listed."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest
from conftest import LANGUAGES, PREFIXES, THOROUGH
from guide_figures import shipped
from playwright.sync_api import Browser, Page, expect

from generator.data.estimates import Estimates, Way

pytestmark = pytest.mark.browser

ADDRESS = "should-i-compile/"
DEVICE = "rtx-5090"  # has no records of an older PyTorch, which would come first


def made() -> Estimates:
    return shipped().estimates


def estimated(way: Way) -> dict[Any, Any]:
    """The first estimate of a way."""
    rows = made().models[made().models["device"] == DEVICE]
    return rows[rows["way"] == way].iloc[0].to_dict()


def address(case: dict[Any, Any]) -> str:
    return f"#question=throughput&device={case['device']}&model={case['model']}&size={case['input_size']}"


@pytest.mark.parametrize("way", get_args(Way))
def test_an_estimate_looks_like_no_record_and_names_what_it_rests_on(way: Way, page: Page, hosted_site: str) -> None:
    case, accuracy = estimated(way), made().accuracy[way]
    page.goto(f"{hosted_site}{ADDRESS}{address(case)}")
    shown = page.locator(".decision-answer")
    expect(shown.locator(".estimate-mark")).to_have_text("Estimated, not measured")
    assert shown.evaluate("element => getComputedStyle(element).borderBlockStartStyle") == "dashed"
    expect(shown.locator(".decision-outcome")).to_contain_text("Estimate:")
    for factor in (-accuracy.reach_90, -accuracy.reach_50, 0.0, accuracy.reach_50, accuracy.reach_90):
        expect(shown).to_contain_text(f"{case['speedup'] * math.exp(factor):.2f}×")
    expect(shown).to_contain_text(f"{accuracy.median_error:.1%} over {accuracy.count:,} records")
    expect(shown.locator("pre")).to_contain_text("python -m bench run --checkpoint timm/")
    links = shown.locator("li a")
    expect(links).to_have_count(0 if way == "family" else len(case["relatives"]))
    for (_, _, speedup), link in zip(case["relatives"], links.all(), strict=False):
        expect(link).to_contain_text(f"{speedup:.2f}×")
    assert "NaN" not in shown.inner_text()


@pytest.mark.parametrize("code", LANGUAGES if THOROUGH else ("en", "ar"))
def test_whoever_does_not_find_a_model_is_offered_its_family(code: str, browser: Browser, hosted_site: str) -> None:
    rows = made().families
    (speedup,) = rows.loc[(rows["device"] == DEVICE) & (rows["family"] == "convnext"), "speedup"]
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{hosted_site}{PREFIXES[code]}{ADDRESS}#question=throughput&device={DEVICE}")
    expect(page.locator(".decision-outcome")).to_be_visible()
    page.locator(".decision input[name=model]").fill("ConvNeXt_mine.in22k")
    page.keyboard.press("Tab")
    answer = page.locator(".decision-answer")
    expect(answer.locator(".estimate-mark")).to_be_visible()
    expect(answer).to_contain_text(f"{speedup:.2f}×")
    expect(answer.locator("pre")).to_have_count(0)
    page.wait_for_function("location.hash.includes('model=family%3Aconvnext')")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert "%(" not in answer.inner_text()
    page.reload()
    expect(answer).to_contain_text(f"{speedup:.2f}×")
    answer.get_by_role("link", name="convnext").click()
    page.wait_for_url("**/models/families/convnext/")
    expect(page.locator("h1")).to_contain_text("convnext")
    context.close()
