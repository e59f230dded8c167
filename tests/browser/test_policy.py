"""The site under its Content-Security-Policy: everything works, and nothing runs that is no file of the site.

That it stops nothing on any kind of page is in test_kinds.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from browser.kinds import LISTEN, follow

pytestmark = pytest.mark.browser
SEARCHES = True

SMUGGLED = """
<p id="smuggled" onclick="window.ran = 'handler'" style="color: rgb(1, 2, 3)">text of a record</p>
<script>window.ran = "script"</script>
<script src="data:text/javascript,window.ran = 'data'"></script>
<script src="https://evil.test/evil.js"></script>
<img src="data:," onerror="window.ran = 'image'">
<iframe srcdoc="<script>parent.ran = 'frame'</script>"></iframe>
<style>#smuggled { background: rgb(4, 5, 6) }</style>
<base href="https://evil.test/">
"""
"""What a record or a translation could try to bring onto a page."""


def test_search_copying_colours_and_tabs_work_under_the_policy(page: Page, hosted_site: str) -> None:
    page.add_init_script(LISTEN)
    page.goto(f"{hosted_site}compile/#__tabbed_1_2")
    expect(page.locator("#__tabbed_1_2")).to_be_checked()
    page.locator("label[for=__palette_1]").click()
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    page.locator(".md-clipboard:visible, .md-code__button:visible").first.click()
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").fill("convnext")
    page.keyboard.press("End")
    expect(page.locator(".md-search-result__link").first).to_be_visible()
    page.locator(".md-search [data-clipboard]").click()
    assert page.evaluate("window.violations") is None


def test_colours_are_those_of_the_reader_before_anything_is_shown(browser: Browser, hosted_site: str) -> None:
    page = browser.new_page(color_scheme="dark")
    page.route("**/bundle.*.js", lambda route: route.abort())  # Material's script comes last, and sets them again
    page.goto(hosted_site)
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    page.close()


@pytest.fixture
def tampered(context: BrowserContext, hosted_site: str) -> Iterator[Page]:
    """A tab where the page on data holds something."""

    def tamper(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace("</article>", f"{SMUGGLED}</article>"))

    page = context.new_page()
    page.add_init_script(LISTEN)
    page.route(f"{hosted_site}data/", tamper)
    yield page
    page.close()


@pytest.mark.parametrize("way", ["directly", "by instant navigation"])
def test_what_is_injected_onto_a_page_does_not_run(way: str, tampered: Page, hosted_site: str) -> None:
    page = tampered
    loaded: list[str] = []
    page.on("response", lambda response: loaded.append(response.url))
    stopped: list[str] = []
    page.on("requestfailed", lambda request: stopped.append(f"{request.url} {request.failure}"))
    page.goto(hosted_site if way == "by instant navigation" else f"{hosted_site}data/")
    if way == "by instant navigation":
        follow(page, f"{hosted_site}data/")
    injected = page.locator("#smuggled")
    injected.dispatch_event("click")
    page.wait_for_timeout(100)  # for what would run
    assert page.evaluate("window.ran") is None
    assert [url for url in loaded if "evil" in url] == []
    assert {each for each in stopped if "evil" in each} <= {"https://evil.test/evil.js csp"}
    colours: dict[str, Any] = injected.evaluate(
        "it => (({ color, background }) => ({ color, background }))(getComputedStyle(it))"
    )
    assert "rgb(1, 2, 3)" not in colours["color"]
    assert "rgb(4, 5, 6)" not in colours["background"]
    assert {"script-src-elem", "script-src-attr", "style-src-attr"} <= set(page.evaluate("window.violations"))
