"""The browser of the tests: the machine's own Chromium, so that nothing has to be downloaded for them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")

HOW_TO_GET_ONE = (
    "no Chromium found: install one (Debian, Ubuntu: apt-get install chromium), or set ATLAS_BROWSER to the path of a "
    "Chromium, Chrome or Edge"
)

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def executable() -> str | None:
    """The browser that ATLAS_BROWSER names, else the first one on the path, else None."""
    return os.environ.get("ATLAS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """A headless browser while the context lasts."""
    path = executable()
    if path is None:
        raise SystemExit(HOW_TO_GET_ONE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
