"""The browser of the tests: the machine's own Chromium, so that nothing has to be downloaded for them."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

NAMES = (
    "chromium-headless-shell",  # the same pages without the windows around them, in a fifth less time
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"),
)

HOW_TO_GET_ONE = (
    "no Chromium found: install one (Debian: apt-get install chromium-headless-shell), or set ATLAS_BROWSER to the "
    "path of a Chromium, Chrome or Edge"
)

QUIET = (
    # Pages of the browser's own for the suggestions below its address: a second of work for every window.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    # The last such switch counts, so it has to name what Playwright's own turns off as well.
    *("AimEnabled", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay", "MediaRouter"),
    *("NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"),
    *("ThirdPartyStoragePartitioning", "Translate"),
)
"""Features that no test needs."""

ARGUMENTS = [
    f"--disable-features={','.join(QUIET)}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def wait_for_function(page: Page, expression: str, *, arg: Any = None, timeout: float = 30_000) -> None:
    """As Playwright's own, which from its second look on evaluates text within the page: our policy refuses that."""
    end = time.monotonic() + timeout / 1000
    while time.monotonic() < end:
        with contextlib.suppress(Error):  # between two pages
            if page.evaluate(expression, arg):
                return
        page.wait_for_timeout(20)
    raise AssertionError(f"not within {timeout / 1000:.0f} s at {page.url}: {expression}")


Page.wait_for_function = wait_for_function  # type: ignore[assignment,method-assign]


PATIENCE_MS = 20_000
"""What is expected comes at once; on a busy machine, nothing does."""

expect.set_options(timeout=PATIENCE_MS)


def executable() -> str | None:
    """The browser that ATLAS_BROWSER names, else the first one on the path, else None."""
    return os.environ.get("ATLAS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """A headless browser while the context lasts."""
    path = executable()
    if path is None:
        raise SystemExit(HOW_TO_GET_ONE)
    with contextlib.ExitStack() as stack:
        ending = threading.Timer(PATIENCE_MS / 1000, _kill)
        stack.callback(ending.cancel)  # when all has ended
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            ending.start()
            with contextlib.suppress(Error):
                browser.close()


def _kill() -> None:
    """What a browser consists of. Now and then one does not end when it is told to, and the tests would wait for it."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.name().startswith(("node", "chrom", "msedge")):
                process.kill()
