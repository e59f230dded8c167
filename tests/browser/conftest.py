"""A tab for tests that look at the built site."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from browser.kinds import WITHOUT_SEARCH
from browser.watching import watched

SCREEN: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """One profile for the tests of a module, with its cache; reduced motion: nothing may be measured halfway.

    Pages can be searched where the module has `SEARCHES`.
    """
    context = browser.new_context(viewport=SCREEN, reduced_motion="reduce")
    if not hasattr(request.module, "SEARCHES"):
        context.add_init_script(WITHOUT_SEARCH)
    yield context
    context.close()


@pytest.fixture(scope="module")
def tab(context: BrowserContext) -> Iterator[Page]:
    """One tab for the tests of a module: a new one is a new process, and has compiled no script yet."""
    tab = context.new_page()
    yield tab
    tab.close()


@pytest.fixture
def page(tab: Page, hosted_site: str) -> Iterator[Page]:
    """An empty tab, in which nothing may go wrong. What a test listens to or puts into pages, it takes away again."""
    if tab.viewport_size != SCREEN:
        tab.set_viewport_size(SCREEN)
    with watched(tab, hosted_site) as problems:
        yield tab
        assert problems == []
    tab.evaluate("try { localStorage.clear() } catch {}")  # what the guide remembers of a reader
    tab.goto("about:blank")
