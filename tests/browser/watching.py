"""What goes wrong in a page while nobody looks: console, requests, other hosts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import ConsoleMessage, Page, Request, Response


@contextlib.contextmanager
def watched(page: Page, address: str) -> Iterator[list[str]]:
    """Collects problems of `page`, which may load only what lies below `address`."""
    problems: list[str] = []

    def told(what: Callable[[Any], str | None]) -> Callable[[Any], None]:
        def listen(event: Any) -> None:
            if said := what(event):
                problems.append(f"{page.url}: {said}")

        return listen

    listeners = {
        "console": told(_of_console),
        "pageerror": told(str),
        "request": told(lambda request: _of_request(request, address)),
        "response": told(_of_response),
        "requestfailed": told(_of_failure),
    }
    for event, listener in listeners.items():
        page.on(event, listener)  # type: ignore[call-overload]
    yield problems
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


def _of_console(message: ConsoleMessage) -> str | None:
    return f"console {message.type}: {message.text}" if message.type in {"error", "warning"} else None


def _of_request(request: Request, address: str) -> str | None:
    return None if request.url.startswith((address, "data:", "blob:")) else f"request to {request.url}"


def _of_response(response: Response) -> str | None:
    return f"{response.status} for {response.url}" if response.status >= 400 else None


def _of_failure(request: Request) -> str | None:
    given_up = request.failure == "net::ERR_ABORTED"  # by the browser itself, for the next page
    return None if given_up else f"{request.failure} for {request.url}"
