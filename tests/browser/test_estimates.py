"""Estimates in a real browser: they equal those of Python, look like no record, and answer by keyboard, right to left
and on a phone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from conftest import LANGUAGES, PREFIXES, THOROUGH
from playwright.sync_api import Browser, Page, expect

from bench.estimates import comparisons, features
from bench.estimates.trees import evaluated
from bench.records.estimates import Estimates, Evidence
from bench.records.operations import Operations, read as read_operations
from generator.data.load import Results, load
from generator.estimates import own_model
from generator.estimates.answers import Answer, answers
from generator.pages import downloads, explorer

pytestmark = pytest.mark.browser

ADDRESS = "should-i-compile/"

EVALUATE = """async ([module, model, cases]) => {
  const { evaluated, features } = await import(module)
  return cases.map(([known, device]) => evaluated(model, features(known, device, model)))
}"""


@cache
def results() -> Results:
    return load()


def estimates() -> Estimates:
    found = results().estimates
    assert found is not None
    return found


def pasted(operations: Operations) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(features.described(operations))
    return known


def test_the_browser_estimates_what_python_does_to_four_digits(page: Page, hosted_site: str) -> None:
    rows = comparisons.newest(comparisons.read()).dropna(subset=["flop"])[::60].reset_index(drop=True)
    rows = rows[rows["operations"].notna()].reset_index(drop=True)
    devices = tuple(estimates().devices)
    cases, expected = [], []
    for operations, eager in ((True, True), (True, False), (False, True), (False, False)):
        described = features.without(features.of(rows, devices), operations=operations, eager=eager)
        expected += evaluated(estimates().trees, described).tolist()
        for row in rows.to_dict("records"):
            given = {name: row[name] for name in ("flop", "activations", "parameters")}
            counted = {"operations": pasted(row["operations"])["operations"]} if operations else {}
            cases.append(({**given, **counted, **({"eager_ms": row["eager_ms"]} if eager else {})}, row["device"]))
    page.goto(f"{hosted_site}{ADDRESS}")
    model = json.loads(own_model.as_json(estimates()))
    found = page.evaluate(EVALUATE, [f"{hosted_site}assets/javascripts/estimate.js", model, cases])
    assert len(found) > 300
    assert [f"{math.exp(x):.4g}" for x in found] == [f"{math.exp(x):.4g}" for x in expected]


def test_what_the_browser_loads_is_small() -> None:
    assert len(own_model.as_json(estimates()).encode()) < 50_000


# ── The advisor ─────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def unmeasured() -> Mapping[Evidence, Answer]:
    """An answer from each evidence, on devices without records of an older PyTorch, which would come first."""
    every = (each for device, several in answers(results()).items() if device != "rtx-4090" for each in several)
    found: dict[Evidence, Answer] = {}
    for each in every:
        found.setdefault(each.estimate.evidence, each)
    return found


def address(answer: Answer) -> str:
    return f"#question=throughput&device={answer.device}&model={answer.model}&size={answer.input_size}"


@pytest.mark.parametrize("evidence", ["other_size", "other_device", "family", "features"])
def test_an_estimate_looks_like_no_record_and_names_what_it_rests_on(
    evidence: Evidence, page: Page, hosted_site: str
) -> None:
    answer = unmeasured()[evidence]
    page.goto(f"{hosted_site}{ADDRESS}{address(answer)}")
    shown = page.locator(".decision-answer")
    expect(shown.locator(".estimate-mark")).to_have_text("Estimated, not measured")
    assert shown.evaluate("element => getComputedStyle(element).borderBlockStartStyle") == "dashed"
    expect(shown.locator(".decision-outcome")).to_contain_text("Estimate:")
    expect(shown).to_contain_text(f"{answer.estimate.speedup:.2f}×")
    reach = answer.estimate.accuracy.reach_90
    assert reach is not None
    expect(shown).to_contain_text(f"{answer.estimate.speedup * math.exp(reach):.2f}×")
    expect(shown.locator("pre")).to_contain_text("python -m bench run --checkpoint timm/")
    links = shown.locator("li a")
    assert links.count() == len(answer.relatives)
    assert "NaN" not in shown.inner_text()
    for relative, link in zip(answer.relatives, links.all(), strict=True):
        expect(link).to_contain_text(f"{relative.speedup:.2f}×")


def test_a_relative_leads_to_its_record(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{ADDRESS}{address(unmeasured()['other_device'])}")
    page.locator(".decision-answer li a").first.click()
    expect(page.locator(".decision-answer .decision-case")).to_contain_text("timm")
    expect(page.locator(".decision-answer .estimate-mark")).to_have_count(0)
    expect(page.locator(".decision-answer")).not_to_have_class("decision-answer estimated")


MIRRORED = """() => {
  const [even, last] = [".even", ".tick:nth-child(4)"].map(each => document.querySelector(`.estimate-scale > ${each}`))
  return even && last && last.getBoundingClientRect().x < even.getBoundingClientRect().x
}"""
"""The scale grows to the left."""


def test_by_keyboard_in_arabic_on_a_phone(browser: Browser, hosted_site: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    for answer in unmeasured().values():
        label = results().newest.set_index("model")["model_label"].to_dict()[answer.model]
        page.goto("about:blank")
        page.goto(f"{hosted_site}ar/{ADDRESS}#question=throughput")
        expect(page.locator(".decision-outcome")).to_be_visible()
        page.locator(".decision select[name=device]").focus()
        page.keyboard.press("Home")
        while page.locator(".decision select[name=device]").input_value() != answer.device:
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        page.keyboard.type(label)
        page.keyboard.press("Enter")
        page.wait_for_function("model => location.hash.includes(`model=${model}`)", arg=answer.model)
        if page.locator(".decision select[name=size]").is_visible():
            page.keyboard.press("Tab")
            page.keyboard.type(answer.input_size)
        shown = page.locator(".decision-answer")
        expect(shown.locator(".estimate-mark")).to_be_visible()
        expect(shown).to_contain_text(f"{answer.estimate.speedup:.2f}×")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.wait_for_function(MIRRORED)  # the answer may still be made again
    context.close()


# ── My model is not here ────────────────────────────────────────────────────────────────────────────────────────────


def own_speedup(page: Page) -> float:
    """The estimate that the form shows."""
    return float(page.locator(".own-answer bdi", has_text="×").first.inner_text().removesuffix("×"))


def test_three_numbers_are_enough_and_the_line_says_more(page: Page, hosted_site: str) -> None:
    operations = read_operations()["timm/resnet50", (224, 224)]
    page.goto(f"{hosted_site}{ADDRESS}")
    answer = page.locator(".own-answer")
    expect(answer).to_contain_text("Enter FLOP, activations, and parameters")
    page.get_by_label("FLOP per image (G)").fill("8.178")
    page.get_by_label("Activations per image (M)").fill("11.11")
    page.get_by_label("Parameters (M)").fill("25.56")
    expect(answer).to_contain_text("counts every operation")
    coarse = estimates().of("features", operations=False, eager=False)
    expect(answer).to_contain_text(f"{coarse.median_error:.1%}")
    page.get_by_label("The line that bench describe prints").fill(f"copied: {features.described(operations)}")
    expect(answer).not_to_contain_text("counts every operation")
    fine = estimates().of("features", eager=False)
    expect(answer).to_contain_text(f"{fine.median_error:.1%}")
    assert 1.2 < own_speedup(page) < 2.5
    before = own_speedup(page)
    page.get_by_label("Your device").select_option(index=1)
    page.wait_for_function(
        "before => !document.querySelector('.own-answer').innerText.includes(before)", arg=f"{before:.2f}×"
    )
    for wrong in ("nonsense", "{", '{"flop":1}', '{"flop":1,"activations":1,"parameters":1,"operations":{"stem":"x"}}'):
        page.get_by_label("The line that bench describe prints").fill(wrong)
        expect(answer).to_contain_text("This is not a line that bench describe prints")
        expect(page.get_by_label("The line that bench describe prints")).to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize("code", LANGUAGES if THOROUGH else ("zh", "ja"))
def test_the_form_speaks_every_language(code: str, page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}{PREFIXES[code]}{ADDRESS}")
    for name, value in (("flop", "8"), ("activations", "11"), ("parameters", "25")):
        page.locator(f".own-model [name={name}]").fill(value)
    expect(page.locator(".own-answer .estimate-mark")).to_be_visible()
    assert "%(" not in page.locator(".own-answer").inner_text()


# ── Nowhere else ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_estimates_enter_neither_downloads_nor_the_explorer() -> None:
    table = results().table
    for answer in unmeasured().values():
        same = (table["device"] == answer.device) & (table["model"] == answer.model)
        rows = table[same & (table["input_size"] == answer.input_size) & (table["torch"] == "2.9.1")]
        assert rows["speedup"].isna().all()
    assert "estimate" not in downloads.as_csv(results())
    assert "estimate" not in explorer.as_json(results(), lambda *_: "")
