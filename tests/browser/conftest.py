"""A tab for tests that look at the built site."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from browser.watching import watched


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One profile for the tests of a module, with its cache; reduced motion: nothing may be measured halfway."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, hosted_site: str) -> Iterator[Page]:
    """A fresh tab, in which nothing may go wrong."""
    page = context.new_page()
    with watched(page, hosted_site) as problems:
        yield page
        assert problems == []
    page.close()
