"""Languages in the browser: offered once to those who read them; a missing page is told in the one of its address."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from browser.kinds import PREFIXES
from generator.languages.language import load_language

pytestmark = pytest.mark.browser

OFFER = ".atlas-offer"

Reader = Callable[[str], Page]


ASKED = "Object.defineProperty(navigator, 'languages', { get: () => window.name.split(',') })"
"""What a browser asks for is kept in the name of its one tab."""


@pytest.fixture(scope="module")
def tab(context: BrowserContext) -> Iterator[Page]:
    tab = context.new_page()
    tab.add_init_script(ASKED)
    yield tab
    tab.close()


@pytest.fixture
def reader(tab: Page, hosted_site: str) -> Reader:
    """Somebody who was never here, by what their browser asks for: a language, or several with commas."""

    def come(languages: str) -> Page:
        tab.goto(f"{hosted_site}assets/logo.svg")
        tab.evaluate("asked => { localStorage.clear(); window.name = asked }", languages)
        return tab

    return come


def settled(page: Page) -> None:
    """All scripts of the page have run."""
    page.wait_for_function("window.document$ && document.readyState === 'complete'")


@pytest.mark.parametrize(("asked", "code"), [("ar", "ar"), ("zh-CN,en", "zh"), ("fr,ja-JP", "ja")])
def test_the_first_page_offers_the_language_of_the_browser(
    asked: str, code: str, reader: Reader, hosted_site: str
) -> None:
    page, language = reader(asked), load_language(code)
    page.goto(f"{hosted_site}methodology/#limits")
    offer = page.locator(OFFER)
    expect(offer).to_have_text(
        language.gettext("This guide is also available in %(language)s.") % {"language": language.name}
    )
    assert page.evaluate("document.documentElement.lang") == "en", "nobody is sent away"
    assert (offer.get_attribute("lang"), offer.get_attribute("dir")) == (code, language.direction)
    assert offer.evaluate("it => getComputedStyle(it).direction") == language.direction
    assert page.evaluate("performance.getEntriesByType('layout-shift').length") == 0
    offer.locator("a").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{hosted_site}{PREFIXES[code]}methodology/#limits")
    page.goto(hosted_site)
    settled(page)
    expect(page.locator(OFFER)).to_have_count(0)


def test_who_has_used_the_switch_is_not_asked(reader: Reader, hosted_site: str) -> None:
    page = reader("ja")
    page.goto(f"{hosted_site}zh/")
    page.locator(".md-select button").hover()
    page.locator(".md-select__link[hreflang=en]").click()
    page.wait_for_url(hosted_site)
    settled(page)
    expect(page.locator(OFFER)).to_have_count(0)


@pytest.mark.parametrize(
    "path", ["no-such-page/", "zh/no/such/page/", "ja/no-such-page/", "ar/devices/no-such-device/"]
)
def test_the_one_404_page_of_a_host_has_title_and_text_in_the_language_of_the_address(
    path: str, reader: Reader, hosted_site: str
) -> None:
    code = path.partition("/")[0] if path.partition("/")[0] in PREFIXES else "en"
    page, language = reader("en"), load_language(code)
    response = page.goto(hosted_site + path)
    assert response is not None
    assert response.status == 404
    told = language.gettext("Page not found")
    expect(page.locator("article h1:visible")).to_have_text(told)
    expect(page).to_have_title(f"{told} - Compile Atlas")
    assert page.locator("article h1:visible").evaluate("it => getComputedStyle(it).direction") == language.direction
    assert page.evaluate("document.documentElement.lang") == code
    section = page.locator("section[data-prefix]:visible")
    expect(section).to_have_count(1)
    expect(section).to_have_attribute("lang", code)
    section.locator("a").click()
    page.wait_for_url(hosted_site + PREFIXES[code])
