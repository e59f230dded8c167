"""A reader's way through a site: what has to work wherever it is hosted, at a root or below a path."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from browser.kinds import switch
from browser.watching import watched


def visit(page: Page, home: str, model: str) -> None:
    """From the first page by search, language, explorer and download to a page that is missing.

    `home` is the address of the site, `model` a model that it has records of. Anything that fails to load, or comes
    from elsewhere, is an error.
    """
    with watched(page, home) as problems:
        page.goto(home)
        assert page.locator("link[rel=canonical]").get_attribute("href") == home
        _search(page, model)
        page.goto(f"{home}explorer/#model={model.lower()}")
        switch(page, "ar")
        expect(page).to_have_url(f"{home}ar/explorer/#model={model.lower()}")
        expect(page.locator(".explorer tbody tr").first).to_contain_text(model)
        _open_row(page)
        _download(page, home)
        page.locator(".md-header__button.md-logo").first.click()
        expect(page).to_have_url(re.compile(rf"{home}ar/(\.|$)"))
        assert problems == []
    _miss(page, home)


def _search(page: Page, model: str) -> None:
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").fill(model)
    page.keyboard.press("End")  # the search listens to keys
    expect(page.locator(".md-search-result__link").first).to_be_visible()
    page.keyboard.press("Escape")


def _open_row(page: Page) -> None:
    page.locator(".explorer tbody tr button").first.click()
    expect(page.locator(".explorer code", has_text="python -m bench run").first).to_be_visible()


def _download(page: Page, home: str) -> None:
    for link in page.locator("article a[href$='.csv'], article a[href$='.json']").all():
        address = link.evaluate("link => link.href")
        assert address.startswith(home)
        response = page.request.get(address)
        assert response.ok, address
        assert len(response.body()) > 100


def _miss(page: Page, home: str) -> None:
    response = page.goto(f"{home}ar/no-such-page/")
    assert response is not None
    assert response.status == 404
    told = page.locator("section[data-prefix]:visible")
    expect(told).to_have_attribute("lang", "ar")
    told.locator("a").click()
    page.wait_for_url(f"{home}ar/")
    expect(page.locator("h1")).to_be_visible()
