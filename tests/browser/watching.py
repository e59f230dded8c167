"""What goes wrong in a page while nobody looks: console, requests, other hosts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from playwright.sync_api import ConsoleMessage, Page, Request, Response


@contextlib.contextmanager
def watched(page: Page, address: str) -> Iterator[list[str]]:
    """Collects problems of `page`, which may load only what lies below `address`."""
    problems: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            problems.append(f"{page.url}: console {message.type}: {message.text}")

    def on_request(request: Request) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            problems.append(f"{page.url}: request to {request.url}")

    def on_response(response: Response) -> None:
        if response.status >= 400:
            problems.append(f"{page.url}: {response.status} for {response.url}")

    def on_failure(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the browser itself gave it up, for the next page
            problems.append(f"{page.url}: {request.failure} for {request.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    page.on("request", on_request)
    page.on("response", on_response)
    page.on("requestfailed", on_failure)
    yield problems
