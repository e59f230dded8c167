"""The real site below a path, as GitHub Pages hosts it; tests/generator/site/test_publish.py has one at a root."""

from __future__ import annotations

import pytest
from conftest import weekly
from playwright.sync_api import Browser

from browser.visit import visit

pytestmark = pytest.mark.browser


@weekly
def test_everything_works_below_a_path(browser: Browser, hosted_site: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    visit(page, hosted_site, "ConvNeXT")
    page.close()
