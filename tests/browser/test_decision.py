"""Should I compile? in a real browser: each recommendation, both questions, four languages, keyboard, no scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from conftest import LANGUAGES, PREFIXES, THOROUGH
from guide_figures import shipped
from playwright.sync_api import Locator, Page, expect
from unpacking import by_device, unpacked

from bench.statistics.verdicts import SAME
from browser.kinds import enter, switch

pytestmark = pytest.mark.browser

CPU = "cpu-intel-xeon-2-cores"
ADDRESS = "should-i-compile/"


@cache
def files() -> Mapping[str, str]:
    """The records of each device."""
    return by_device(shipped())


def record(device: str, model: str, batch_size: int) -> dict[str, Any]:
    """The only record of a case."""
    (found,) = [
        row for row in unpacked(files()[device]) if (row["model"], row["batch_size"]) == (model, batch_size)
    ]  # fmt: skip
    return found


# ── The recommendation ──────────────────────────────────────────────────────────────────────────────────────────────


def row(**changes: Any) -> dict[str, Any]:
    """A measured row: compiled is faster, and has paid after 1,800 to 2,200 calls (with a warm cache 180 to 220)."""
    return {
        "status": "pass",
        "verdict": "faster",
        "origin": "measured",
        "age": 0,
        "eager_ms": [20.0, 19.0, 21.0, 0],
        "compiled_ms": [10.0, 9.0, 11.0, 0],
        "speedup": [2.0, 1.8, 2.2, 1],
        "cold": {"ready_s": [20.0, 1], "calls": [2000, 1800, 2200, -2]},
        "warm": {"ready_s": [2.0, 2], "calls": [200, 180, 220, -1]},
        **changes,
    }


NO_FIGURES = {"eager_ms": None, "compiled_ms": None, "speedup": None, "verdict": "unknown"}
FAILED = {"compiled_ms": None, "speedup": None, "verdict": "unknown"}
UNKNOWN_COST = {"ready_s": None, "calls": None}
PUBLISHED = {"origin": "published", "speedup": [1.5, None, None, 2], "cold": UNKNOWN_COST}

CASES = [
    (row(), 2200, "cold", "compile"),
    (row(), 1799, "cold", "few-calls"),
    (row(), 2000, "cold", "close-calls"),
    (row(), 220, "warm", "compile"),
    (row(), 179, "warm", "few-calls"),
    (row(cold={"ready_s": [20.0, 1], "calls": [2000, 1800, "inf", -2]}), 10**9, "cold", "close-calls"),
    (row(verdict="inconclusive"), 10**9, "cold", "close"),
    (row(verdict="same"), 10**9, "cold", "close"),
    (row(verdict="slower"), 10**9, "cold", "slower"),
    (row(cold=UNKNOWN_COST), 10, "cold", "cost-unknown"),
    (row(**PUBLISHED), 10**9, "cold", "likely"),  # never "compile" without an interval
    (row(**{**PUBLISHED, "verdict": "slower"}), 10**9, "cold", "slower"),
    (row(verdict="doubtful"), 2200, "cold", "doubtful"),
    (row(status="unstable", verdict="doubtful"), 2200, "cold", "doubtful"),
    (row(status="fail_accuracy"), 2200, "cold", "wrong"),
    (row(status="throttled"), 2200, "cold", "unknown"),
    (row(eager_ms=None), 2200, "cold", "compile"),  # of another batch size than the row
    (row(status="oom", **FAILED), 1, "cold", "compiled-failed"),
    (row(status="crash", **FAILED), 1, "cold", "compiled-failed"),
    (row(status="timeout", **NO_FIGURES), 1, "cold", "unknown"),
    (row(status="eager_oom", **NO_FIGURES), 1, "cold", "eager-failed"),
    (row(status="skipped", **NO_FIGURES), 1, "cold", "unknown"),
    (None, 1, "cold", "not-measured"),
    (row(estimate={"speedup": 1.5, "reach": [0.1, 0.2], "same": SAME}, **FAILED), 1, "cold", "estimated-faster"),
    (row(estimate={"speedup": 0.7, "reach": [0.1, 0.2], "same": SAME}, **FAILED), 1, "cold", "estimated-slower"),
    (row(estimate={"speedup": 1.1, "reach": [0.1, 0.2], "same": SAME}, **FAILED), 1, "cold", "estimated-open"),
]

RECOMMEND = """async ([module, cases]) => {
  const { recommend } = await import(module)
  return cases.map(([row, calls, cache]) => recommend(row ?? undefined, calls, cache))
}"""


def figures(page: Page) -> dict[str, str]:
    """The figures of the answer, by heading."""
    found = page.locator(".decision-answer dl > div")
    return {each.locator("dt").inner_text(): each.locator("dd").inner_text() for each in found.all()}


def test_each_outcome(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{ADDRESS}")
    module = f"{hosted_site}assets/javascripts/decision/recommend.js"
    outcomes = page.evaluate(RECOMMEND, [module, [case[:3] for case in CASES]])
    assert outcomes == [case[3] for case in CASES]
    texts = json.loads(page.locator("[data-decision]").get_attribute("data-texts") or "")
    assert set(outcomes) == set(texts["outcomes"]), "every outcome has words, and is tested"


# ── The form ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("code", LANGUAGES if THOROUGH else ("ar",))
def test_a_permalink_answers_in_every_language(code: str, page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{PREFIXES[code]}{ADDRESS}#device={CPU}&model=resnet&batch=1&calls=50&cache=cold")
    answer = page.locator(".decision-answer")
    texts = json.loads(page.locator("[data-decision]").get_attribute("data-texts") or "")
    expect(answer.locator(".decision-outcome")).to_be_visible()
    assert answer.locator(".decision-outcome").inner_text() in [headline for headline, _ in texts["outcomes"].values()]
    latency, break_even = (answer.locator(f"[data-fill={name}]").inner_text() for name in ("eager_ms", "break_even"))
    value, _, _, digits = record(CPU, "resnet", 1)["eager_ms"]
    assert latency.replace("\u00a0", " ").startswith(f"{value:,.{digits}f} ms")
    assert re.search(r"\d", break_even)
    assert not re.search(r"%\(|[٠-٩]|undefined|NaN", answer.inner_text())
    assert "ResNetForImageClassification" not in page.locator(".decision pre").inner_text()
    assert (
        'AutoModelForImageClassification.from_pretrained("microsoft/resnet-50")'
        in page.locator(".decision pre").inner_text()
    )
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    if code == "ar":
        first, second = (page.locator(".decision label").nth(number).bounding_box() for number in (0, 1))
        assert first is not None
        assert second is not None
        assert first["x"] > second["x"], "controls follow each other from the right"


def test_the_keyboard_is_enough_and_the_address_keeps_the_case(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{ADDRESS}")
    expect(page.locator(".decision-outcome")).to_be_visible()
    assert "#" not in page.url, "nothing was chosen yet"
    page.get_by_role("combobox", name="Device", exact=True).focus()
    page.keyboard.type("A100")
    page.keyboard.press("Tab")
    page.keyboard.type("DETR")
    page.keyboard.press("Tab")  # takes the model that the list marks
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("123456")
    expect(page.locator(".decision-case")).to_contain_text("DETR · A100")
    page.wait_for_function("location.hash.includes('calls=123456')")
    assert "device=a100" in page.url
    assert page.get_by_role("link", name="Link to this answer").get_attribute("href") == page.evaluate("location.hash")
    expect(page.locator(".decision-answer")).to_contain_text("Hugging Face")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.locator(".decision-answer")).to_contain_text("as a whole number")
    assert "calls=123456" in page.url
    kept = page.url
    page.goto(hosted_site)
    page.goto(kept)
    expect(page.get_by_label("Calls per process")).to_have_value("123456")
    expect(page.locator(".decision-case")).to_contain_text("DETR · A100")


def test_it_works_after_instant_navigation_and_follows_the_language(page: Page, hosted_site: str) -> None:
    enter(page, f"{hosted_site}versions/")
    page.evaluate("window.sameDocument = true")
    for _ in range(2):
        page.locator(f".md-nav__link[href$='{ADDRESS}']").first.evaluate("link => link.click()")
        expect(page.locator(".decision-outcome")).to_be_visible()
        page.locator(".md-nav__link[href$='modes/']").first.evaluate("link => link.click()")
        expect(page.locator(".decision")).to_have_count(0)
    page.go_back()
    expect(page.locator(".decision-outcome")).to_be_visible()
    assert page.evaluate("window.sameDocument"), "a page was loaded anew"
    page.get_by_label("Calls per process").fill("77")
    page.wait_for_function("location.hash.includes('calls=77')")
    switch(page, "ja")
    expect(page.locator("input[name=calls]")).to_have_value("77")
    expect(page.locator(".decision-outcome")).to_be_visible()


# ── Both questions ──────────────────────────────────────────────────────────────────────────────────────────────────


def field(page: Page) -> Locator:
    """Where readers type the name of a model."""
    return page.locator(".decision input[name=model]")


def ask_for_throughput(page: Page, hosted_site: str, prefix: str = "") -> None:
    """Choose the question with the keyboard alone, and wait for the answer."""
    page.goto(f"{hosted_site}{prefix}{ADDRESS}")
    expect(page.locator(".decision-outcome")).to_be_visible()
    page.locator("[name=question]:checked").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".decision-case")).to_contain_text("resnet50")


def test_throughput_is_answered_in_images_per_second(page: Page, hosted_site: str) -> None:
    ask_for_throughput(page, hosted_site)
    devices = page.get_by_role("combobox", name="Device", exact=True).locator("option").all_inner_texts()
    assert devices[:2] == ["RTX 4090", "RTX 5090"]
    assert not {"A100", "T4"} & set(devices), "nobody measured their throughput"
    for label in ("Batch size", "Compile cache"):
        expect(page.get_by_label(label, exact=True)).to_be_hidden()
    (known,) = [
        row for row in unpacked(files()["rtx-4090"])
        if (row["model"], row["input_size"], row["torch"]) == ("resnet50", "224×224", "2.9.1")
    ]  # fmt: skip
    shown = figures(page)
    assert shown["Eager throughput"].replace("\u00a0", " ") == f"{known['eager_images_s'][0]:,.2f} images/s"
    assert shown["Batch size, chosen by the benchmark"] == f"{known['batch_size']:,}"
    assert "Eager latency" not in shown
    answer = page.locator(".decision-answer")
    expect(answer).to_contain_text("Compile if the process makes many calls")
    expect(answer).to_contain_text("Source: timm. Each model runs with a large batch")
    assert not re.search(r"300 inferences|%\(|undefined|NaN", answer.inner_text())
    assert 'timm.create_model("resnet50", pretrained=True)' in page.locator(".decision pre").inner_text()
    assert "torch.autocast(device.type, torch.float16)" in page.locator(".decision pre").inner_text()
    expect(page.get_by_role("button", name="Copy", exact=True)).to_be_visible()
    page.locator("select[name=size]").select_option("288×288")
    expect(page.locator(".decision-case")).to_contain_text("288×288")
    page.get_by_role("link", name="Open these records in the explorer").click()
    for version in ("2.9.1", "2.4.0"):
        expect(page.locator(".explorer tbody tr", has_text="resnet50").filter(has_text=version).first).to_be_visible()


def test_a_model_is_found_by_parts_of_its_name_with_the_keyboard(page: Page, hosted_site: str) -> None:
    ask_for_throughput(page, hosted_site)
    field(page).focus()
    page.keyboard.type("Tiny  convnext")  # focus has selected the name before
    suggested = page.locator(".decision datalist#models option").evaluate_all("all => all.map(each => each.value)")
    assert {"convnext_tiny", "convnextv2_tiny", "tiny: model not listed"} <= {*suggested}
    assert "convnext" not in page.url, "nothing is chosen yet"
    page.keyboard.press("Tab")
    expect(page.locator(".decision-case")).to_contain_text("convnext_tiny · RTX 4090")
    expect(field(page)).to_have_value("convnext_tiny")
    page.wait_for_function("location.hash.includes('model=convnext-tiny')")
    field(page).fill("no such model")
    page.keyboard.press("Tab")
    expect(page.locator(".decision-case")).to_contain_text("resnet50 · RTX 4090")
