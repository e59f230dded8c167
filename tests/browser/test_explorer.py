"""The explorer in a real browser: filters, order, groups, comparison, address, files, details, keyboard, languages."""

from __future__ import annotations

import csv
import gzip
import json
import re
from functools import cache
from io import StringIO
from typing import Any
from urllib.parse import urljoin

import pytest
from conftest import LANGUAGES, PREFIXES, THOROUGH, BuiltSite
from playwright.sync_api import Browser, BrowserContext, Page, Response, Route, expect

from browser.kinds import arrived, enter
from generator.data.load import load
from generator.data.selection import Row

pytestmark = pytest.mark.browser

ADDRESS = "explorer/"
POLICY = "script-src 'self'; style-src 'self'"
SCRIPTS_LIMIT = 350_000
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


def test_a_device_brings_the_question_that_it_answers(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=rtx-5090")
    expect_count(page, chosen(device="rtx-5090"))
    page.locator("[name=device]").select_option("a100")
    expect(page.locator("[name=workload]")).to_have_value("latency")
    expect_count(page, chosen(device="a100"))


def test_models_are_found_by_a_part_of_their_name(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site)
    field = page.locator("[name=model]")
    field.fill("convnext_base")
    labels = {row["model_label"] for row in rows() if row["workload"] == "throughput"}
    assert "convnext_base" in labels
    expect_count(page, chosen(workload="throughput", model_label="convnext_base"))
    field.fill("CONVNEXT_B")
    expect_count(page, sum("convnext_b" in row["model_label"] for row in rows() if row["workload"] == "throughput"))
    field.fill("")
    field.focus()
    expect(page.locator("#explorer-models option")).to_have_count(len({row["model"] for row in rows()}))


def test_two_devices_are_compared_in_images_whatever_their_batch(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#compare=device&first=rtx-4090&second=rtx-5090&model=convnext-base")
    expect(page.locator(".explorer thead")).to_contain_text("Compiled (images/s): RTX 5090")
    figures = {
        row["device"]: row["compiled_images_s"]
        for row in rows()
        if (row["model"], row["torch"], row["input_size"]) == ("convnext-base", "2.9.1", "224×224")
        and row["dtype"] == "autocast float16"
    }
    change = figures["rtx-5090"] / figures["rtx-4090"] - 1
    cell = page.locator(".explorer tbody td", has_text=f"{change:+.1%}")
    expect(cell.first).to_be_visible()
    expect(cell.first.locator("span")).to_have_class("better")


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


def test_downloads_of_another_language_are_those_of_the_site(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "", "zh")
    links = page.locator("article a[download]").evaluate_all("links => links.map(link => link.href)")
    assert links == [f"{hosted_site}data/v2/compile-atlas.{kind}" for kind in ("csv", "json")]
    for link in links:
        assert page.request.head(link).ok
    with page.expect_download() as saved:
        page.locator(".explorer-tools button").nth(1).click()
    lines = list(csv.DictReader(StringIO(saved.value.path().read_text(encoding="utf-8"))))
    assert len(lines) == start()


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


def test_pages_of_the_table_turn(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site)
    status = page.locator(".explorer [role=status]")
    expect(status).to_have_text(re.compile("^Rows 1 to 25 of"))
    first = page.locator(".explorer tbody tr").first.text_content()
    following = page.locator(".explorer-pager button").last
    following.scroll_into_view_if_needed()  # the table gets its height when it is seen, which moves what is below it
    following.click()
    expect(status).to_have_text(re.compile("^Rows 26 to 50 of"))
    assert page.locator(".explorer tbody tr").first.text_content() != first


def test_a_column_that_tells_nothing_is_hidden(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=v100")
    assert "Status" in heads(page)
    assert "Break-even" not in heads(page), "nobody published it"
    page.locator("[name=status]").select_option("pass")
    expect_count(page, chosen(device="v100", status="pass"))
    assert "Status" not in heads(page)


def test_groups_open_and_close(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=a100&group=model")
    group = page.locator(".explorer-group").first
    expect(group).to_have_text(re.compile(r"^Model: BeiT \(\d+\)$"))
    rows = page.locator(".explorer tbody tr:not(.explorer-group)", has_text="BeiT")
    assert rows.count() == chosen(device="a100", model="beit")
    group.locator("button").focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(0)
    expect(page.locator(".explorer-group").first.locator("button")).to_be_focused()


def test_two_devices_are_compared_cell_by_cell(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#compare=device&first=t4&second=a100&model=vit&batch_size=1&sort=-compiled_change")
    expect(page.locator(".explorer thead")).to_contain_text("Compiled (ms): T4")
    by_device = {
        row["device"]: row["compiled_ms"]
        for row in rows()
        if (row["model"], row["batch_size"], row["torch"], row["compile_mode"]) == ("vit", 1, "2.0.1", "default")
    }
    line = page.locator(".explorer tbody tr", has_text="2.0.1")
    expect(line).to_contain_text(f"{by_device['t4']:.3f}")
    expect(line).to_contain_text(f"{by_device['a100']:.3f}")
    expect(line.locator("td").first).to_have_text(f"{by_device['a100'] / by_device['t4'] - 1:+.1%}".replace("-", "−"))


def test_what_is_shown_is_saved(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=v100&batch_size=16&sort=-eager_ms")
    with page.expect_download() as saved:
        page.get_by_role("button", name="as CSV").click()
    lines = list(csv.DictReader(StringIO(saved.value.path().read_text(encoding="utf-8"))))
    with page.expect_download() as saved:
        page.get_by_role("button", name="as JSON").click()
    objects = json.loads(saved.value.path().read_text(encoding="utf-8"))
    expected = sorted(
        (row["eager_ms"] for row in rows() if row["device"] == "v100" and row["batch_size"] == 16 and row["eager_ms"]),
        reverse=True,
    )
    assert [float(line["eager_ms"]) for line in lines if line["eager_ms"]] == expected
    assert [each["eager_ms"] for each in objects if each["eager_ms"] is not None] == expected
    assert len(lines) == len(objects) == chosen(device="v100", batch_size=16)


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
    expect(detail.locator("circle.eager").first).to_be_visible()
    assert detail.locator("circle.eager").count() == detail.locator("circle.compiled").count()
    page.keyboard.press("Enter")
    expect(detail).to_have_count(0)


def test_a_published_row_names_its_source_and_a_command_of_the_same_protocol(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=t4&model=vit&origin=published")
    page.locator(".explorer tbody .explorer-open").first.click()
    detail = page.locator(".explorer-detail")
    expect(detail.locator("[lang=en] a")).to_have_attribute("href", re.compile("^https://"))
    expect(detail.locator("pre")).to_contain_text("--profile paper-2023 --checkpoint google/vit-base-patch16-224")


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
    hollow = canvas.evaluate(HOLLOW, f"{hosted_site}assets/javascripts/explorer/vendor/chart.js")
    doubted = {row["eager_ms"] for row in rows() if row["row"] in results().doubts and row["speedup"]}
    assert hollow
    shown = {row["eager_ms"] for row in rows() if (row["device"], row["model"]) == ("t4", "beit")}
    assert set(hollow) == shown & doubted
    page.locator("[name=chart]").select_option("compiled_images_s")
    expect(canvas).to_have_attribute("aria-label", re.compile(r"^Compiled \(images/s\) plotted against"))


def test_nothing_moves_when_the_points_of_the_chart_come(page: Page, hosted_site: str) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:  # Playwright cannot take the method itself
        held.append(route)

    page.route("**/vendor/chart.js", hold)
    visit(page, hosted_site)
    top = "table => table.getBoundingClientRect().top"
    expect(page.locator(".explorer-legend li").first).to_be_visible()
    before = page.locator(".explorer table").evaluate(top)
    with page.expect_response("**/vendor/chart.js"):
        held[0].continue_()
    page.locator(".explorer canvas").evaluate(HOLLOW, f"{hosted_site}assets/javascripts/explorer/vendor/chart.js")
    assert page.locator(".explorer table").evaluate(top) == before


def test_an_address_that_names_what_does_not_exist_shows_all(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site, "#device=nothing&chart=nothing&sort=nothing&compare=nothing")
    expect_count(page, start())


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


def test_colours_of_the_chart_follow_dark_and_light(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site)
    mark = page.locator(".explorer-legend span").first
    light = mark.evaluate("mark => mark.style.color")
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    expect(mark).not_to_have_css("color", light)
    assert page.locator(".explorer-legend span").first.evaluate("mark => mark.style.color") != light


def test_it_works_under_a_strict_policy(context: BrowserContext, hosted_site: str) -> None:
    """Whatever the rest of the page does: neither the explorer's scripts nor its elements need anything inline."""

    def guarded(route: Any) -> None:
        response = route.fetch()
        route.fulfill(response=response, headers={**response.headers, "content-security-policy": POLICY})

    page = context.new_page()
    page.route(f"**/{ADDRESS}", guarded)
    page.add_init_script(
        "window.refused = []; addEventListener('securitypolicyviolation', event => refused.push(event.sourceFile))"
    )
    visit(page, hosted_site, "#device=a100&group=model")
    page.locator(".explorer tbody tr:not(.explorer-group) .explorer-open").first.click()
    expect(page.locator(".explorer canvas")).to_be_visible()
    assert [source for source in page.evaluate("refused") if "javascripts/explorer" in source] == []
    page.close()


def test_scripts_of_the_page_are_light_and_other_pages_have_none_of_them(browser: Browser, hosted_site: str) -> None:
    page = browser.new_page()  # with an empty cache: what is not sent again cannot be weighed
    scripts: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if response.url.endswith(".js"):
            scripts[response.url] = len(gzip.compress(response.body()))

    page.on("response", weigh)
    page.goto(f"{hosted_site}methodology/", wait_until="networkidle")
    assert scripts
    assert not [url for url in scripts if "explorer" in url]
    visit(page, hosted_site)
    expect(page.locator(".explorer canvas")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.close()
    assert [url for url in scripts if "explorer" in url]
    assert sum(scripts.values()) <= SCRIPTS_LIMIT


def test_the_page_names_every_module_that_it_imports(page: Page, hosted_site: str) -> None:
    visit(page, hosted_site)
    named = page.locator("link[rel=modulepreload]").evaluate_all("links => links.map(link => link.href)")
    imported, waiting = set(), [f"{hosted_site}assets/javascripts/explorer/page.js"]
    while waiting:
        address = waiting.pop()
        if address not in imported:
            imported.add(address)
            source = page.request.get(address).text()
            waiting += [urljoin(address, path) for path in re.findall(r'^import .* from "(.+)"', source, re.MULTILINE)]
    assert sorted(named) == sorted(imported)


def test_without_scripts_it_links_to_tables_and_files(browser: Browser, hosted_site: str, site: BuiltSite) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(hosted_site + ADDRESS)
    links = page.locator(".explorer-links a").evaluate_all("links => links.map(link => link.href)")
    assert {link.removeprefix(hosted_site) for link in links} <= site.pages().keys()
    assert len(links) == len({row["device"] for row in rows()})
    expect(page.locator("article a[download]")).to_have_count(2)
    context.close()
