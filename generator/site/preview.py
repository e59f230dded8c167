"""Make `mkdocs serve` build a page when a browser asks for it, never hang, and show what is wrong.

Takes MkDocs' development server and the `EditionSite` of each language. The server then notices changes at once,
reloads browsers, and builds what they ask for. While the newest input cannot be used, pages show the last good input,
with the reason on top.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import html
import ipaddress
import logging
import os
import re
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit
from wsgiref.headers import Headers

import jinja2
from mkdocs.exceptions import MkDocsException
from mkdocs.livereload import LiveReloadServer

from bench.errors import AtlasError
from generator.live import BUDGET
from generator.pages.guide import Guide
from generator.site.edition_site import EditionSite
from generator.site.mkdocs_internals import build_number, wait_for_rebuild
from generator.site.watching import ChangeObserver

if TYPE_CHECKING:
    from generator.live.strip import LiveRun, Strip

log = logging.getLogger("mkdocs.plugins.compile-atlas")

ANCHOR = b'<div data-md-component="announce">'
"""Where a notice goes: the element for announcements, which instant navigation replaces with each page."""

EMPTY_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Compile Atlas</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:3rem auto;padding:0 1rem}
pre{white-space:pre-wrap;padding:1rem;border:1px solid #d55e00;border-radius:.25rem}</style></head>
<body><h1>Compile Atlas</h1><div data-md-component="announce"></div></body>
</html>
"""
"""Shown until the first good build. It uses nothing that could be broken."""

EMPTY_PAGE_NAME = "nothing.html"

SETTLING_S = 0.01
"""A change is complete after this time without another one: an editor writes a file in several steps."""

TRIES = 3
"""Times that a page is built while its sources change. Where changes go on, the next one reloads it."""

CLIENTS = 128
"""Connections that may wait to be accepted; each browser opens several."""

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8000

HOSTS = "ATLAS_HOSTS"
"""The variable with further names by which browsers may reach the server, such as behind a proxy: ``a.dev b.dev``."""

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})

GOALS = "ATLAS_GOALS"
"""The variable in which make tells what it was asked for."""

_FAILED = object()

_ALL = "all"
"""In place of a folder: a problem of every language."""

App = Callable[..., Iterable[bytes]]
"""A WSGI application."""


class Response(NamedTuple):
    """A response that has not been sent."""

    status: str
    headers: Headers
    body: Iterable[bytes]

    @classmethod
    def of(cls, app: App, environ: Mapping[str, Any]) -> Self:
        """Return what the application answers."""
        begun: list[Any] = []
        body = app(environ, lambda *arguments: begun.extend(arguments))
        return cls(begun[0], Headers(begun[1]), body)

    def with_page(self, change: Callable[[bytes], bytes]) -> Response:
        """Return the response with its page changed; the same if it is no page."""
        if not (self.headers["Content-Type"] or "").startswith("text/html"):
            return self
        content = change(b"".join(self.body))
        getattr(self.body, "close", lambda: None)()
        self.headers["Content-Length"] = str(len(content))
        return self._replace(body=[content])

    def send(self, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Begin the response, and return its body."""
        start_response(self.status, self.headers.items())
        return self.body


class Preview:
    """The pages that the development server shows, by the folder of their language: "" or "zh/"."""

    def __init__(self, guide: Guide, pages: Mapping[str, EditionSite], live_run: LiveRun | None = None) -> None:
        self._problems: dict[str, str] = {}
        """Why the server cannot show the newest input, by the folder of the language that it concerns, or `_ALL`."""
        self._guide = guide
        self._pages = pages
        self._live_run = live_run
        self._building = threading.Lock()

    def take_over(self, server: LiveReloadServer) -> None:
        """Make a server that has not started show the guide."""
        Path(server.root, EMPTY_PAGE_NAME).write_text(EMPTY_PAGE, encoding="utf-8")
        self._update()
        gc.freeze()  # or garbage collection, while a page is built, would search everything that is loaded
        server.request_queue_size = CLIENTS
        server.builder, server.build_delay, server.observer = self._update, SETTLING_S, ChangeObserver()
        server.error_handler = partial(self._error_page, Path(server.root))
        app = self._with_notice(self._on_demand(server), server.mount_path)
        if self._live_run:
            from generator.live.strip import Strip  # its words take what draws tables, and most servers do without

            app = _with_strip(app, Strip(self._live_run, self._guide, server.mount_path))
        server.set_app(_of_known_hosts(app, urlsplit(server.url).hostname or ""))

    def close(self) -> None:
        """Wait for what is being built, and build nothing more, whoever asks: the folder is to be removed."""
        self._building.acquire()  # never released
        gc.unfreeze()  # or libraries take what was frozen for leaked, and say so

    def _update(self) -> None:
        """Read all sources again. Pages made from them are built on demand."""
        self._try(self._read_sources, _ALL)

    def _read_sources(self) -> None:
        self._problems = {}
        self._guide.update()
        for code, fault in self._guide.faults.items():
            log.error(str(fault))
            self._problems[f"{code}/"] = str(fault)

    def _folder(self, path: str) -> str:
        """Return the folder of the language that a path of the site belongs to."""
        return next((folder for folder in self._pages if folder and path.startswith(folder)), "")

    def _problem(self, path: str) -> str:
        """Return why a page does not show the newest input, "" where it does."""
        return self._problems.get(_ALL) or self._problems.get(self._folder(path), "")

    def _build(self, path: str) -> None:
        """Build the file at `path` of the site if it is out of date. Between steps, other requests have their turn."""
        if self._guide.languages:
            folder, problems = self._folder(path), self._problems
            steps = self._pages[folder].build(path.removeprefix(folder))
            while self._try(lambda: next(steps, _FAILED), folder, problems) is None:
                pass

    def _build_newest(self, server: LiveReloadServer, path: str) -> None:
        """Build a file, and again if its sources have changed meanwhile: or it would go out as the newest build."""
        for _ in range(TRIES):
            number = wait_for_rebuild(server)
            self._build(path)
            if build_number(server) == number:
                break

    def _try(self, step: Callable[[], Any], folder: str, problems: dict[str, str] | None = None) -> Any:
        """Return the result of `step`. Where it fails, keep the reason for `folder`, and return `_FAILED`.

        `problems` are those of the input that the step began with; without them, it is the newest. What an older input
        had is of no interest once there is a newer one.
        """
        with self._building, _ErrorLog() as errors:
            try:
                return step()
            except Exception as error:  # noqa: BLE001  # a server that stopped at an error would hang every open page
                (self._problems if problems is None else problems)[folder] = _explain(error, errors.messages)
                return _FAILED

    def _on_demand(self, server: LiveReloadServer) -> App:
        """Return the server's own application, which builds first what is asked for."""
        mount_path = server.mount_path
        app: App = server.get_app()

        def on_demand(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "ignore")
            if "\0" in path:  # not a file name on any system
                start_response("400 Bad Request", [("Content-Type", "text/plain")])
                return [b"no such address"]
            if path.startswith(mount_path) and not path.startswith("/livereload/"):
                path = path.removeprefix(mount_path)
                name = path.rpartition("/")[2]
                # The server redirects an address without its last slash, once the page exists.
                self._build_newest(server, path if "." in name else f"{path}{'/' if name else ''}index.html")
            return app(environ, start_response)

        return on_demand

    def _error_page(self, root: Path, code: int) -> bytes | None:
        """Return what the server shows in place of a page."""
        page = root / f"{code}.html"
        self._build(page.name)
        return page.read_bytes() if page.is_file() else None

    def _with_notice(self, app: App, mount_path: str) -> App:
        """Return WSGI middleware that changes pages only while there is a problem to show."""

        def with_notice(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            answer, path = Response.of(app, environ), environ["PATH_INFO"]
            problem = self._problem(path.removeprefix(mount_path))
            has_page = answer.status.startswith("200")
            if problem and not has_page and path.endswith("/"):
                answer = Response.of(app, {**environ, "PATH_INFO": mount_path + EMPTY_PAGE_NAME})
            if problem:
                notice = _notice(problem, has_page=has_page)
                answer = answer.with_page(lambda page: page.replace(ANCHOR, ANCHOR + notice, 1))
            return answer.send(start_response)

        return with_notice


def _with_strip(app: App, strip: Strip) -> App:
    """Return WSGI middleware that inserts the strip into each page, and answers what its script asks."""

    def with_strip(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith(strip.address):
            kind, content = strip.answer(path.removeprefix(strip.address), environ["REQUEST_METHOD"])
            start_response("200 OK", [("Content-Type", kind)])
            return [content]
        answer = Response.of(app, environ).with_page(lambda page: strip.inserted(page, ANCHOR, path))
        return answer.send(start_response)

    return with_strip


def _of_known_hosts(app: App, address: str) -> App:
    """Return WSGI middleware that refuses other names of this server: one may belong to a page on the Internet, which
    then reads the guide through the browser of its reader (DNS rebinding). Addresses belong to nobody else."""
    known = {*LOCAL, address.lower(), *os.environ.get(HOSTS, "").lower().split()}

    def of_known_hosts(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        host = re.sub(r":\d*\Z", "", environ.get("HTTP_HOST", "localhost").lower())
        if host in known or _is_address(host):
            return app(environ, start_response)
        start_response("421 Misdirected Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [
            f"This server does not answer to that name. To allow it, start the server with {HOSTS}=NAME.\n".encode()
        ]

    return of_known_hosts


def _is_address(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(host.strip("[]")))
    return False


def _notice(problem: str, *, has_page: bool) -> bytes:
    shown = "The pages show the last good input." if has_page else "There is no page to show yet."
    return (
        '<aside class="atlas-problem" role="alert" lang="en" dir="ltr"><div class="md-grid md-typeset">'
        f"<p><strong>The newest input cannot be built.</strong> {shown} This page reloads once it is fixed.</p>"
        f"<pre>{html.escape(problem)}</pre></div></aside>"
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


def _explain(error: Exception, logged: list[str]) -> str:
    """Return what went wrong, for a reader of the page; log it where MkDocs has not."""
    if isinstance(error, jinja2.TemplateError):
        return template_error(error)
    if isinstance(error, MkDocsException | AtlasError):
        if not logged:
            log.error(str(error))
        return "\n".join(logged) or str(error)
    log.error("The rebuild failed", exc_info=error)  # not bad input but a mistake in the program
    return "\n".join([*logged, f"{type(error).__name__}: {error}"])


def template_error(error: jinja2.TemplateError) -> str:
    """Return what is wrong with a template of the theme, and where."""
    place = f"{error.filename}:{error.lineno}: " if isinstance(error, jinja2.TemplateSyntaxError) else ""
    return f"{place}{error.message}\n  remedy: correct the template below docs/theme"


def check_address(host: str, port: int) -> None:
    """Raise `AtlasError` when a server cannot listen at an address: better before a build than after it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        is_of_host = isinstance(error, socket.gaierror) or number == errno.EADDRNOTAVAIL
        what = (
            "the port is already in use"
            if number == errno.EADDRINUSE
            else getattr(error, "strerror", None) or str(error)
        )
        again = _again(DEFAULT_HOST, port) if is_of_host else _again(host, _free_port(host, family, port))
        raise AtlasError(
            f"the server cannot listen at this address: {what}", where=f"{host}:{port}", remedy=again
        ) from None


def _free_port(host: str, family: socket.AddressFamily, taken: int) -> int:
    """Return a port above the one that is taken, or any, where a server can listen."""
    for port in (*range(max(taken, 1023) + 1, min(taken + 100, 65536)), 0):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, port))
            found: int = probe.getsockname()[1]
            return found
    return DEFAULT_PORT


def _again(host: str, port: int) -> str:
    """Return the command that the user has run, at another address: make tells its goals to what it runs."""
    goals = os.environ.get(GOALS)
    if goals is None:
        command = "python -m generator guide" if BUDGET in os.environ else "mkdocs serve"
        return f"{command} --dev-addr {host}:{port}"
    return f"make {goals} PORT={port}" + (f" HOST={host}" if host != DEFAULT_HOST else "")
