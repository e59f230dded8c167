"""`mkdocs serve` that never hangs and never shows half a site, whatever is being written at the moment.

In: MkDocs' development server and its builder. Out: the same server, which swaps a finished build in as a whole
and, while the newest input cannot be built, shows what is wrong on top of the last good pages.

    mkdocs serve
"""

from __future__ import annotations

import html
import logging
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from wsgiref.headers import Headers

from mkdocs.exceptions import MkDocsException
from mkdocs.livereload import LiveReloadServer

from bench.errors import AtlasError

log = logging.getLogger("mkdocs.plugins.atlas")

ANCHOR = b'<div data-md-component="announce">'
"""Where a notice goes: the element for announcements, which instant navigation carries from page to page."""

EMPTY_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Compile Atlas</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:3rem auto;padding:0 1rem}
pre{white-space:pre-wrap;padding:1rem;border:1px solid #d55e00;border-radius:.25rem}</style></head>
<body><h1>Compile Atlas</h1><div data-md-component="announce"></div></body>
</html>
"""
"""Stands in for the site until there has been one good build. It needs nothing that could be broken, too."""


@dataclass
class Preview:
    """What the development server shows: the finished build in `folder`, and `problem` if a newer one failed."""

    serving: bool = False
    folder: str = ""
    problem: str | None = None
    complete: bool = True  # False: there has been no good build, and `folder` holds only `EMPTY_PAGE`
    _next: str = ""

    @property
    def guarded(self) -> bool:
        """Whether the server runs: from then on, bad input is shown instead of ending the program."""
        return bool(self.folder)

    def next_folder(self) -> str:
        """A new folder to build into, so that readers keep the old build until the new one is whole."""
        self._next = tempfile.mkdtemp(prefix="mkdocs_")
        return self._next

    def guard(self, server: LiveReloadServer, builder: Callable[[], None]) -> LiveReloadServer:
        """Take over a server whose first build has just ended."""
        self.folder = server.root

        def rebuild() -> None:
            self._next = ""
            with _ErrorLog() as errors:
                try:
                    builder()
                except Exception as error:  # noqa: BLE001  # a server that stops at one would hang every open page
                    self.problem = _explained(error, errors.messages)
                    discarded = self._next
                else:
                    self.problem, self.complete = None, True
                    discarded, self.folder, server.root = self.folder, self._next, self._next
            if discarded:
                shutil.rmtree(discarded, ignore_errors=True)

        def error_page(code: int) -> bytes | None:
            page = Path(server.root, f"{code}.html")
            return page.read_bytes() if page.is_file() else None

        server.builder = rebuild
        server.error_handler = error_page
        server.set_app(self._with_notice(server.get_app(), server.mount_path))
        return server

    def close(self) -> None:
        """Remove what was built last; MkDocs removes only the folder of its first build."""
        if self.guarded:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _with_notice(self, app: Callable[..., Iterable[bytes]], mount_path: str) -> Callable[..., Iterable[bytes]]:
        """WSGI middleware: pages pass through it untouched unless there is a problem to tell."""

        def noticed(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            if self.problem is None or environ["PATH_INFO"].startswith("/livereload/"):
                return app(environ, start_response)
            if not self.complete:
                environ = {**environ, "PATH_INFO": f"{mount_path}index.html"}
            response: list[Any] = []
            body = app(environ, lambda *arguments: response.extend(arguments))
            status, headers = response[0], Headers(response[1])
            if (headers["Content-Type"] or "").startswith("text/html"):
                content = b"".join(body).replace(ANCHOR, ANCHOR + self._notice(), 1)
                getattr(body, "close", lambda: None)()
                headers["Content-Length"] = str(len(content))
                body = [content]
            start_response(status, headers.items())
            return body

        return noticed

    def _notice(self) -> bytes:
        shown = "The pages show the last good build." if self.complete else "There is no page to show yet."
        return (
            '<aside class="atlas-problem" role="alert" lang="en" dir="ltr"><div class="md-grid md-typeset">'
            f"<p><strong>The newest input cannot be built.</strong> {shown} This page reloads when it is mended.</p>"
            f"<pre>{html.escape(self.problem or '')}</pre></div></aside>"
        ).encode()


class _ErrorLog(logging.Handler):
    """Collects what MkDocs logs as errors: its exceptions often say no more than that there was one."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    def __enter__(self) -> Self:
        logging.getLogger("mkdocs").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("mkdocs").removeHandler(self)


def _explained(error: Exception, logged: list[str]) -> str:
    """What went wrong, for a reader of the page; logged as well where MkDocs has not done so yet."""
    if isinstance(error, MkDocsException):
        if not logged:
            log.error(str(error))
        return "\n".join(logged) or str(error)
    log.error("The rebuild failed", exc_info=error)  # not bad input but a mistake in the program
    return "\n".join([*logged, f"{type(error).__name__}: {error}"])


def check_address(host: str, port: int) -> None:
    """Raise `AtlasError` when the server could not listen there: better before a build than after it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError) as error:
        free = port + 1 if port < 65535 else 8000
        raise AtlasError(
            f"cannot listen there: {getattr(error, 'strerror', None) or error}",
            where=f"{host}:{port}",
            remedy=f"choose another port: make serve PORT={free}, or mkdocs serve --dev-addr {host}:{free}",
        ) from None


preview = Preview()
"""One per process: MkDocs makes a new configuration for each rebuild, and this has to outlive it."""
