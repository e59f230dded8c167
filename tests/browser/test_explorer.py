"""The explorer in a real browser: filters, order, comparison, address, details, keyboard, languages."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from conftest import LANGUAGES, PREFIXES, THOROUGH, BuiltSite
from playwright.sync_api import Browser, Page, expect

from browser.kinds import arrived, enter
from generator.data.load import load
from generator.data.selection import Row

pytestmark = pytest.mark.browser

ADDRESS = "explorer/"
results = cache(load)  # not at import: every process collects every test


@cache
def rows() -> list[Row]:
    return [row for row in results().by_label if row["newest"]]


def visit(page: Page, site: str, state: str = "", code: str = "en") -> None:
    page.goto(f"{site}{PREFIXES[code]}{ADDRESS}{state}")
    expect(page.locator(".explorer tbody tr").first).to_be_visible()


def start() -> int:
    """The rows that the explorer begins with: those of one question."""
    return chosen(workload="throughput")


def chosen(**coordinates: Any) -> int:
    return sum(all(row[name] == value for name, value in coordinates.items()) for row in rows())


def expect_count(page: Page, count: int) -> None:
    expect(page.locator(".explorer [role=status]")).to_have_text(re.compile(rf"\D{count:,}$"))


def figures(page: Page, number: int) -> list[float]:
    cells = page.locator(f".explorer tbody tr > :nth-child({number})").all_inner_texts()
    return [float(text.replace(",", "").rstrip("×")) for text in cells if text[0].isdigit()]


def test_filters_leave_what_they_say_and_the_address_keeps_them(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site)
    expect_count(page, start())
    page.locator("[name=device]").select_option("a100")
    page.locator("[name=batch_size]").select_option("4")
    expect_count(page, chosen(device="a100", batch_size=4))
    expect(page).to_have_url(re.compile(r"#workload=latency&device=a100&batch_size=4$"))
    page.reload()
    expect_count(page, chosen(device="a100", batch_size=4))
    expect(page.locator("[name=device]")).to_have_value("a100")
    page.locator(".explorer-tools button").first.click()
    expect_count(page, start())


def test_search_wants_every_word(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site)
    page.locator("[name=q]").fill("vit v100")
    found = [
        row
        for row in rows()
        if row["device"] == "v100" and re.search("vit", f"{row['model_label']} {row['checkpoint']}", re.IGNORECASE)
    ]
    expect_count(page, len(found))
    page.locator("[name=q]").fill("no such thing")
    expect(page.locator(".explorer tbody")).to_have_text("There is no record for this selection yet.")


def heads(page: Page) -> str:
    return " ".join(page.locator(".explorer thead th:visible").all_inner_texts())


def test_each_question_has_rows_and_figures_of_its_own(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site)
    expect_count(page, start())
    assert "Compiled (images/s)" in heads(page)
    assert "Compiled (ms)" not in heads(page)
    page.locator("[name=verdict]").select_option("slower")
    expect_count(page, chosen(workload="throughput", verdict="slower"))
    page.locator("[name=verdict]").select_option("")
    page.locator("[name=workload]").select_option("latency")
    expect_count(page, chosen(workload="latency"))
    assert "Compiled (ms)" in heads(page)
    assert "Compiled (images/s)" not in heads(page)


def test_rows_that_differ_in_layout_are_told_apart(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=rtx-4090&torch=2.4.0")
    assert "Memory layout" in heads(page)
    for layout in ("contiguous", "channels_last"):
        page.locator("[name=layout]").select_option(layout)
        expect_count(page, chosen(device="rtx-4090", torch="2.4.0", layout=layout))
    expect(page.locator(".explorer tbody tr").first).to_contain_text("channels_last")
    visit(page, hosted_site, "#workload=latency&device=a100")
    assert "Memory layout" not in heads(page)  # all rows have the usual one


def test_every_language_reads_the_same_data(page: Page, hosted_site: str, site: BuiltSite) -> None:
    loaded: dict[str, set[str]] = {}
    for code in ("en", "ar"):
        seen: list[str] = []
        note = lambda response, seen=seen: seen.append(response.url)  # noqa: E731
        page.on("response", note)
        visit(page, hosted_site, "#device=a100", code)
        page.locator(".explorer tbody .explorer-open").first.click()
        expect(page.locator(".explorer-detail dl").first).to_be_visible()
        link = page.locator(".explorer-detail dl a").first
        assert page.request.get(link.evaluate("link => link.href")).ok
        assert PREFIXES[code] in link.evaluate("link => link.href")
        page.remove_listener("response", note)
        loaded[code] = {url for url in seen if url.endswith(".json") and "/data/" in url}
    assert len(loaded["en"]) == 2
    assert loaded["en"] == loaded["ar"]
    for code in LANGUAGES[1:]:
        assert not [*(site.folder / code / "data").rglob("*.json")]


def test_sorting_by_keyboard_keeps_the_unknown_last(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=a100")
    header = page.locator(".explorer thead th", has_text="Speedup")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    expect(header).to_have_attribute("aria-sort", "descending")
    number = 1 + header.evaluate("th => th.cellIndex")
    assert figures(page, number) == sorted(figures(page, number), reverse=True)
    page.keyboard.press("Enter")
    expect(header).to_have_attribute("aria-sort", "ascending")
    assert figures(page, number) == sorted(figures(page, number))
    expect(page).to_have_url(re.compile("sort=speedup"))


def test_two_values_are_compared_in_pairs(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site)
    page.locator("[name=compare]").select_option("torch")
    expect(page.locator("[name=torch]")).to_be_disabled()
    first, second = (page.locator(f"[name={side}]") for side in ("first", "second"))
    assert first.input_value() != second.input_value()
    assert f"Eager (images/s): {second.input_value()}" in heads(page)
    page.locator(".explorer tbody .explorer-open").first.click()
    sides = [first.input_value(), second.input_value()]
    expect(page.locator(".explorer-side")).to_have_text(sides)
    page.locator("[name=compare]").select_option("")
    expect_count(page, start())


def test_a_row_opens_its_interval_environment_and_command(page: Page, hosted_site: str) -> None:
    row = next(row for row in rows() if row["origin"] == "measured" and row["speedup_low"])
    visit(page, hosted_site, f"#device={row['device']}&model={row['model']}&origin=measured")
    opener = page.locator(".explorer tbody .explorer-open").first
    opener.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".explorer tbody .explorer-open").first).to_be_focused()
    detail = page.locator(".explorer-detail")
    expect(detail).to_contain_text(f"(from {row['speedup_low']:.2f}× to {row['speedup_high']:.2f}×)")
    expect(detail).to_contain_text(row["transformers"])
    expect(detail.locator("pre")).to_have_text(row["command"])
    page.keyboard.press("Enter")
    expect(detail).to_have_count(0)


HOLLOW = """async (canvas, module) => {
  const { Chart } = await import(module)
  while (!Chart.getChart(canvas)) await new Promise(requestAnimationFrame)
  const { datasets } = Chart.getChart(canvas).data
  return datasets.flatMap(each => (each.backgroundColor === "#0000" ? each.data.map(({ x }) => x) : []))
}"""


def test_the_chart_follows_the_filters_and_is_told_in_words(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=t4&model=vit")
    n = sum(row["device"] == "t4" and row["model"] == "vit" and bool(row["speedup"]) for row in rows())
    canvas = page.locator(".explorer canvas")
    told = f"Speedup plotted against Eager (ms). Points: {n}. The table has the same figures."
    expect(canvas).to_have_attribute("aria-label", told)
    page.locator("[name=model]").fill("BeiT")
    expect(canvas).to_have_attribute(
        "aria-label", re.compile("Hollow points are records that the data lint marks as doubtful")
    )
    canvas.scroll_into_view_if_needed()  # it is drawn when it is seen
    hollow = canvas.evaluate(HOLLOW, f"{hosted_site}assets/javascripts/explorer/vendor/chart.js")
    doubted = {row["eager_ms"] for row in rows() if row["row"] in results().doubts and row["speedup"]}
    assert hollow
    shown = {row["eager_ms"] for row in rows() if (row["device"], row["model"]) == ("t4", "beit")}
    assert set(hollow) == shown & doubted
    page.locator("[name=chart]").select_option("compiled_images_s")
    expect(canvas).to_have_attribute("aria-label", re.compile(r"^Compiled \(images/s\) plotted against"))


@pytest.mark.parametrize("code", LANGUAGES if THOROUGH else ("ar",))
def test_in_every_language_at_every_width(code: str, page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=a100&sort=-speedup", code)
    expect(page.locator(".explorer [role=status]")).to_contain_text(str(chosen(device="a100")))
    expect(page.locator(".explorer canvas")).to_be_visible()
    page.locator(".explorer tbody .explorer-open").first.click()
    for width in (360, 768, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert not re.search("[\u0660-\u0669]", page.locator(".explorer").inner_text()), "digits are Latin"


def test_it_comes_and_goes_with_instant_navigation(page: Page, hosted_site: str) -> None:
    enter(page, hosted_site)
    page.evaluate("window.sameDocument = true")
    page.locator(".md-tabs__link[href$='explorer/']").click()
    expect(page.locator(".explorer canvas")).to_be_visible()
    page.locator("[name=device]").select_option("t4")
    expect_count(page, chosen(device="t4"))
    page.locator(".md-tabs__link[href$='devices/']").click()
    arrived(page, f"{hosted_site}devices/")
    page.locator(".md-tabs__link[href$='explorer/']").click()
    expect_count(page, start())
    assert page.evaluate("window.sameDocument"), "the page was loaded anew"


def test_without_scripts_it_links_to_tables_and_files(browser: Browser, hosted_site: str, site: BuiltSite) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(hosted_site + ADDRESS)
    links = page.locator(".explorer-links a").evaluate_all("links => links.map(link => link.href)")
    assert {link.removeprefix(hosted_site) for link in links} <= site.pages().keys()
    assert len(links) == len({row["device"] for row in rows()})
    context.close()
