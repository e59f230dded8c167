"""Every kind of page there is, and going from one to the other as readers do."""

from __future__ import annotations

from conftest import LANGUAGES
from playwright.sync_api import Page

from generator.languages.language import load_language

PREFIXES = {code: load_language(code).prefix for code in LANGUAGES}

KINDS = (
    "",
    "should-i-compile/",
    "which-model/",
    "compile/",
    "modes/",
    "troubleshooting/",
    "dynamo/",
    "versions/",
    "explorer/",
    "devices/",
    "devices/a100/",
    "models/vit/",
    "methodology/",
    "data/",
)
"""An address for each, below the root of a language."""

LISTEN = (
    "addEventListener('securitypolicyviolation', event => (window.violations ||= []).push(event.violatedDirective))"
)
"""Remember what the policy of the page stops."""

WITHOUT_SEARCH = "window.Worker = class extends EventTarget { postMessage() {} }"
"""On each page that is loaded, a worker reads the index of the search: half of what loading costs."""

FOLLOW = """url => {
  const link = document.createElement("a")
  link.href = url
  document.body.append(link)
  link.click()
  link.remove()
}"""
"""Go where a link to this address would lead."""


def enter(page: Page, address: str) -> None:
    """Load a page until links lead on by instant navigation, which they do not before the sitemap has arrived."""
    with page.expect_response("**/sitemap.xml"):
        page.goto(address)
    page.wait_for_load_state("networkidle")


def follow(page: Page, address: str) -> None:
    """To another page of the same site by instant navigation, until it is there."""
    page.evaluate(FOLLOW, address)
    arrived(page, address)


def switch(page: Page, code: str) -> None:
    """To the same page in another language, as readers do, until it is there."""
    page.locator(".md-select button").hover()
    page.locator(f".md-select__link[hreflang={code}]").click()
    page.wait_for_function(f"document.documentElement.lang === '{code}' && document.readyState !== 'loading'")


def arrived(page: Page, address: str) -> None:
    """Wait until the page of this address is there, which its address in the window tells too soon."""
    page.wait_for_function(
        "url => document.querySelector('link[rel=canonical]').href === url && document.readyState !== 'loading'",
        arg=address,
    )
    if address.endswith("/explorer/"):
        page.locator(".explorer tbody tr").first.wait_for()
    if address.endswith("/should-i-compile/"):
        page.locator(".decision-outcome").wait_for()
