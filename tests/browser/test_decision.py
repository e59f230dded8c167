"""Should I compile? in a real browser: each recommendation, four languages, keyboard, permalink, no scripts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import LANGUAGES, PREFIXES, THOROUGH, BuiltSite
from playwright.sync_api import Browser, Page, expect

from browser.kinds import enter, switch

pytestmark = pytest.mark.browser

CPU = "cpu-intel-xeon-2-50-ghz-2-cores"
ADDRESS = "should-i-compile/"
DATA = "data/should-i-compile.*.json"


# ── The recommendation ──────────────────────────────────────────────────────────────────────────────────────────────


def row(**changes: Any) -> dict[str, Any]:
    """A measured row: compiled is faster, and has paid after 1,800 to 2,200 calls (with a warm cache 180 to 220)."""
    return {
        "status": "pass",
        "verdict": "faster",
        "origin": "measured",
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
    (row(verdict="ambiguous"), 10**9, "cold", "close"),
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
]

RECOMMEND = """async ([module, cases]) => {
  const { recommend } = await import(module)
  return cases.map(([row, calls, cache]) => recommend(row ?? undefined, calls, cache))
}"""

RANKED = """async ([module, rows, calls]) => {
  const { ranked } = await import(module)
  return ranked(rows, calls, "cold").map(row => row.name)
}"""


def test_each_outcome(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{ADDRESS}")
    module = f"{hosted_site}assets/javascripts/recommend.js"
    outcomes = page.evaluate(RECOMMEND, [module, [case[:3] for case in CASES]])
    assert outcomes == [case[3] for case in CASES]
    texts = json.loads(page.locator("[data-decision]").get_attribute("data-texts") or "")
    assert set(outcomes) == set(texts["outcomes"]), "every outcome has words, and is tested"


OUTCOMES = {
    "faster": {"compile", "few-calls", "close-calls", "cost-unknown", "likely"},
    "slower": {"slower"},
    "same": {"close"},
    "ambiguous": {"close"},
    "doubtful": {"doubtful"},
    "unknown": {"unknown"},
}
"""What the form may answer to a row with a verdict, unless the row has failed."""


def test_the_answer_to_each_record_is_its_verdict(page: Page, site: BuiltSite, hosted_site: str) -> None:
    rows = json.loads(next(site.folder.glob(DATA)).read_text("utf-8"))
    page.goto(f"{hosted_site}{ADDRESS}")
    module = f"{hosted_site}assets/javascripts/recommend.js"
    for calls in (1, 10**9):
        cases = [[each, calls, "cold"] for each in rows]
        for each, outcome in zip(rows, page.evaluate(RECOMMEND, [module, cases]), strict=True):
            failed = set() if each["status"] == "pass" else {"compiled-failed", "eager-failed", "wrong", "unknown"}
            assert outcome in OUTCOMES[each["verdict"]] | failed
            assert outcome != "compile" or each["speedup"][1] is not None, "no advice without an interval"


def test_the_best_record_comes_first(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{ADDRESS}")
    rows = [
        row(name="published", origin="published", compiled_ms=[1.0, None, None, 3]),
        row(
            name="slow to compile",
            compiled_ms=[8.0, 8.0, 8.0, 1],
            cold={"ready_s": [100.0, 0], "calls": [9000, None, None, 0]},
        ),
        row(name="quick to compile"),
        row(name="failed", status="oom", compiled_ms=None, speedup=None),
    ]
    module = f"{hosted_site}assets/javascripts/recommend.js"
    few, many = (page.evaluate(RANKED, [module, rows, calls]) for calls in (100, 10**6))
    assert few == ["quick to compile", "slow to compile", "failed", "published"]
    assert many == ["slow to compile", "quick to compile", "failed", "published"]


# ── The form ────────────────────────────────────────────────────────────────────────────────────────────────────────


def figures(page: Page) -> dict[str, str]:
    """The figures of the answer, by heading."""
    found = page.locator(".decision-answer dl > div")
    return {each.locator("dt").inner_text(): each.locator("dd").inner_text() for each in found.all()}


@pytest.mark.parametrize("code", LANGUAGES if THOROUGH else ("ar",))
def test_a_permalink_answers_in_every_language(code: str, page: Page, site: BuiltSite, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{PREFIXES[code]}{ADDRESS}#device={CPU}&model=resnet&batch=1&calls=50&cache=cold")
    answer = page.locator(".decision-answer")
    texts = json.loads(page.locator("[data-decision]").get_attribute("data-texts") or "")
    expect(answer.locator(".decision-outcome")).to_be_visible()
    assert answer.locator(".decision-outcome").inner_text() in [headline for headline, _ in texts["outcomes"].values()]
    data = json.loads(next(site.folder.glob(DATA)).read_text("utf-8"))
    (record,) = [
        each for each in data if (each["device"], each["model"], each["batch_size"]) == (CPU, "resnet", 1)
        and each["compile_mode"] == "default" and each["origin"] == "measured"
    ]  # fmt: skip
    shown = figures(page)
    latency = shown[texts["figures"]["eager_ms"]].replace("\u00a0", " ")
    value, _, _, digits = record["eager_ms"]
    assert latency.startswith(f"{value:,.{digits}f} ms")
    assert re.search(r"\d", shown[texts["figures"]["break_even"]])
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


def test_what_a_call_saves_fits_the_break_even_point(page: Page, site: BuiltSite, hosted_site: str) -> None:
    data = json.loads(next(site.folder.glob(DATA)).read_text("utf-8"))
    (record,) = [row for row in data if (row["device"], row["model"]) == (CPU, "detr")]
    page.goto(f"{hosted_site}{ADDRESS}#device={CPU}&model=detr&batch=1&calls=1000000&cache=cold")
    (ready_s, _), (calls, *_) = record["cold"]["ready_s"], record["cold"]["calls"]
    saving_ms = record["eager_ms"][0] - record["compiled_ms"][0]
    assert saving_ms == pytest.approx(1e3 * ready_s / calls, rel=0.02)
    digits = min(record["eager_ms"][3], record["compiled_ms"][3])
    answer = page.locator(".decision-answer")
    expect(answer).to_contain_text(f"each call saves {saving_ms / 1e3:.{digits + 3}f}\u00a0s")
    expect(answer).to_contain_text(f"{round(ready_s + 1e3 * record['compiled_ms'][0], -4):,.0f}")


def test_the_keyboard_is_enough_and_the_address_keeps_the_case(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{ADDRESS}")
    expect(page.locator(".decision-outcome")).to_be_visible()
    assert "#" not in page.url, "nothing was chosen yet"
    page.get_by_role("combobox", name="Device", exact=True).focus()
    page.keyboard.type("A100")
    page.keyboard.press("Tab")
    page.keyboard.type("DETR")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("123456")
    expect(page.locator(".decision-case")).to_contain_text("DETR · A100")
    page.wait_for_function("location.hash.includes('calls=123456')")
    assert "device=a100" in page.url
    assert page.get_by_role("link", name="Link to this answer").get_attribute("href") == page.evaluate("location.hash")
    expect(page.locator(".decision-answer")).to_contain_text("published")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.locator(".decision-answer")).to_contain_text("Give a whole number")
    assert "calls=123456" in page.url
    kept = page.url
    page.goto(hosted_site)
    page.goto(kept)
    expect(page.get_by_label("Calls per process start")).to_have_value("123456")
    expect(page.locator(".decision-case")).to_contain_text("DETR · A100")


def test_a_link_to_a_section_keeps_the_case(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}should-i-compile/#device=t4&model=detr&calls=77")
    expect(page.locator(".decision-case")).to_contain_text("DETR · T4")
    page.locator("h2#how").hover()
    page.locator("h2#how a.headerlink").click()
    page.wait_for_timeout(500)  # the content is loaded anew
    assert page.url.endswith("#how")
    expect(page.locator("input[name=calls]")).to_have_value("77")
    expect(page.locator(".decision-case")).to_contain_text("DETR · T4")


def test_a_task_shows_its_models_and_each_can_be_chosen(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{ADDRESS}#device=a100&model=object-detection&batch=16&calls=1000&cache=cold")
    table = page.locator(".decision-more table")
    expect(table).to_be_visible()
    expect(table.locator("thead th").nth(1)).to_have_text("Recommendation")
    names = table.locator("tbody th button").all_inner_texts()
    assert {"DETR", "Conditional-DETR", "Resnet-101"} <= set(names)
    table.get_by_role("button", name="Conditional-DETR").first.press("Enter")
    expect(page.locator(".decision-case")).to_contain_text("Conditional-DETR")
    expect(page.get_by_role("combobox", name="Model or task")).to_be_focused()
    expect(page.locator(".decision pre")).to_contain_text("AutoModelForObjectDetection")


def test_out_of_memory_and_missing_records_stand_in_words(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{ADDRESS}#device=t4&model=detr&batch=16&calls=1000&cache=cold")
    expect(page.locator(".decision-answer")).to_contain_text("Neither eager nor compiled")
    expect(page.locator(".decision-answer")).to_contain_text("Out of memory")
    expect(page.locator(".decision pre")).to_have_count(0)
    page.goto(f"{hosted_site}{ADDRESS}#device=a100&model=owlvit&batch=16&calls=1000&cache=cold")
    expect(page.locator(".decision-answer")).to_contain_text("There is no record for this choice")
    page.goto(f"{hosted_site}{ADDRESS}#device=nothing&model=nothing&batch=x&calls=-3")
    expect(page.locator(".decision-answer")).to_contain_text("Give a whole number")
    page.get_by_label("Calls per process start").fill("10")
    expect(page.locator(".decision-outcome")).to_be_visible()


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
    page.get_by_label("Calls per process start").fill("77")
    page.wait_for_function("location.hash.includes('calls=77')")
    switch(page, "ja")
    expect(page.locator("input[name=calls]")).to_have_value("77")
    expect(page.locator(".decision-outcome")).to_be_visible()


def test_without_scripts_the_table_says_it_all(browser: Browser, hosted_site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{hosted_site}ar/{ADDRESS}")
    expect(page.locator(".decision form")).to_be_hidden()
    table = page.locator(".table table").first
    expect(table).to_be_visible()
    assert table.locator("tbody tr").count() > 100
    expect(table.locator("abbr").first).to_have_text("OOM")
    context.close()
