"""The server of `mkdocs serve`: it builds a page when a browser asks for it, never hangs, and shows what is wrong.

Takes the place of MkDocs' development server. It notices changes at once, reloads browsers, and builds what they ask
for. While the newest input cannot be used, pages show the last good input, with the reason on top.
"""

from __future__ import annotations

import errno
import gc
import html
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable
from functools import partial
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException, PluginError
from mkdocs.livereload import LiveReloadServer
from watchdog import events
from watchdog.observers import Observer

from bench.errors import AtlasError
from generator.languages.language import SOURCE
from generator.live import BUDGET
from generator.live.strip import LiveRun, Strip
from generator.pages.guide import Guide
from generator.site.build import told
from generator.site.on_demand import SiteOnDemand

log = logging.getLogger("mkdocs.plugins.compile-atlas")

ANCHOR = b'<div data-md-component="announce">'
"""Where a notice goes: the element for announcements, which instant navigation replaces with each page."""

EMPTY_PAGE = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Compile Atlas</title><style>pre{white-space:pre-wrap}</style></head>
<body><h1>Compile Atlas</h1><div data-md-component="announce"></div></body></html>
"""
"""Shown until the first good build. It uses nothing that could be broken."""

CHANGES = [events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent]
"""The events that start an update. Reading a source would be an event, too."""

SETTLING_S = 0.01
"""A change is complete after this time without another one: an editor writes a file in several steps."""


class PreviewServer(LiveReloadServer):  # type: ignore[misc]  # mkdocs has no types
    """The guide, as the development server shows it."""

    request_queue_size = 128  # connections that may wait to be accepted; each browser opens several

    def __init__(self, given: LiveReloadServer, guide: Guide, load: Callable[[str], MkDocsConfig]) -> None:
        """Take the place of the `given` server, which has not started. `load` loads the settings of a language."""
        super().__init__(self._update, *given.server_address[:2], given.root, given.mount_path)
        given.server_close()
        self.observer = Observer()  # told by the system, at once
        self.observer.schedule = partial(self.observer.schedule, event_filter=CHANGES)  # type: ignore[method-assign]
        self.build_delay = SETTLING_S
        self.error_handler = self._error_page
        self._guide, self._load = guide, load
        self._sites: dict[str, SiteOnDemand] = {}
        self._problems: dict[str, str] = {}
        """Why the newest input cannot be shown, by the language that it concerns, "" for all."""
        self._building = threading.Lock()
        self._logged = BufferingHandler(100)
        """The errors of a step that MkDocs logs: its exceptions often say no more than that there was one."""
        self._logged.setLevel(logging.ERROR)
        logging.getLogger("mkdocs").addHandler(self._logged)
        budget = os.environ.get(BUDGET)
        self._strip = Strip(LiveRun(guide.root, budget), guide, self.mount_path) if budget else None
        self._update()
        gc.freeze()  # or garbage collection, while a page is built, would search everything that is loaded

    def serve(self, **options: Any) -> None:
        """Serve until Ctrl-C. Raises `PluginError` with a remedy where files cannot be watched."""
        log.info("Pages are built when they are asked for; plugins that need all pages work in `mkdocs build`")
        try:
            super().serve(**options)
        except OSError as error:  # `check_address` has made sure of the port
            unwatchable = AtlasError(
                f"files cannot be watched: {error.strerror or error}",
                remedy="close programs that watch files, or raise fs.inotify.max_user_instances and max_user_watches",
            )
            raise PluginError(str(unwatchable)) from None

    def server_activate(self) -> None:
        """Accept connections, and measure this machine meanwhile, if asked to."""
        super().server_activate()
        if self._strip:
            self._strip.live_run.begin(self.url)

    def close(self) -> None:
        """Stop measuring, wait for what is being built, and build nothing more: the folder is to be removed."""
        if self._strip:
            self._strip.live_run.stop()
        self._building.acquire()  # never released

    # ── Building ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _update(self) -> None:
        """Read all sources again. Pages made from them are built on demand."""
        self._try("", self._read_sources)

    def _read_sources(self) -> None:
        self._problems = {}
        self._guide.update()
        for code, fault in self._guide.faults.items():
            log.error(str(fault))
            self._problems[code] = str(fault)
        for language in self._guide.languages:
            self._sites.setdefault(language.code, SiteOnDemand(self._guide, language.code, self._load))

    def _try(self, code: str, step: Callable[[], Any]) -> Any:
        """Return the result of `step`, which no other step interrupts. Where it fails, return None and keep the reason
        for the language: a server that stopped at an error would hang every open page."""
        with self._building:
            self._logged.flush()
            try:
                return step()
            except Exception as error:  # noqa: BLE001
                self._problems[code] = self._explain(error)

    def _explain(self, error: Exception) -> str:
        """Return what went wrong, for a reader of the page; log it where MkDocs has not."""
        if isinstance(error, MkDocsException) and self._logged.buffer:
            return "\n".join(record.getMessage() for record in self._logged.buffer)
        if known := told(error):
            log.error(known)
            return known
        log.error("The rebuild failed", exc_info=error)  # not bad input but a mistake in the program
        return f"{type(error).__name__}: {error}"

    def _build(self, code: str, path: str) -> None:
        """Build a file of a language, if it is out of date. Between steps, other requests have their turn."""
        while code in self._sites and self._try(code, partial(self._sites[code].build, path)):
            pass

    # ── Answering ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _serve_request(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes] | None:
        """Answer a request after building the file that it names: a page here, and others as MkDocs does."""
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "ignore")
        if self._strip and path.startswith(self._strip.address):
            kind, content = self._strip.answer(path.removeprefix(self._strip.address), environ["REQUEST_METHOD"])
            start_response("200 OK", [("Content-Type", kind)])
            return [content]
        if path.startswith(self.mount_path) and not path.startswith("/livereload/"):
            epoch = self._visible_epoch  # a page of older sources than the newest then reloads itself
            path = path.removeprefix(self.mount_path)
            name = path.rpartition("/")[2]
            # MkDocs redirects an address without its last slash, once the page exists.
            file = path if "." in name else f"{path}{'/' if name else ''}index.html"
            folder, _, below = file.partition("/")
            is_language = any(language.prefix == f"{folder}/" for language in self._guide.languages)
            code, file = (folder, below) if is_language else (SOURCE, file)
            self._build(code, file)
            if (not name or name.endswith(".html")) and (page := self._page(code, file)):
                start_response("200 OK", [("Content-Type", "text/html")])
                return [self._inject_js_into_html(page, epoch)]
        return super()._serve_request(environ, start_response)  # type: ignore[no-any-return]

    def _page(self, code: str, file: str) -> bytes | None:
        """Return the last good state of a page, with a notice if the newest input has a problem, and the strip."""
        problem = self._problems.get("") or self._problems.get(code)
        page = self._sites[code].page(file) if code in self._sites else None
        if not page and not problem:
            return None
        content = page.read_bytes() if page else EMPTY_PAGE
        strip = self._strip.html(code) if self._strip else ""
        notice = _notice(problem, has_page=bool(page)) if problem else ""
        return content.replace(ANCHOR, ANCHOR + strip.encode() + notice.encode(), 1)

    def _error_page(self, code: int) -> bytes | None:
        self._build(SOURCE, f"{code}.html")
        page = Path(self.root, f"{code}.html")
        return page.read_bytes() if page.is_file() else None


def _notice(problem: str, *, has_page: bool) -> str:
    shown = "The pages show the last good input." if has_page else "There is no page to show yet."
    return (
        '<aside class="atlas-problem" role="alert" lang="en" dir="ltr"><div class="md-grid md-typeset">'
        f"<p><strong>The newest input cannot be built.</strong> {shown} This page reloads once it is fixed.</p>"
        f"<pre>{html.escape(problem)}</pre></div></aside>"
    )


def check_address(host: str, port: int) -> None:
    """Raise `AtlasError` when a server cannot listen at an address: better before it reads the records than after."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except (OSError, OverflowError) as error:
        is_taken = getattr(error, "errno", None) == errno.EADDRINUSE
        what = "the port is already in use" if is_taken else getattr(error, "strerror", None) or str(error)
        command = "python -m generator guide" if BUDGET in os.environ else "mkdocs serve"
        remedy = f"choose another: {command} --dev-addr 127.0.0.1:{port + 1 if is_taken else 8000}"
        raise AtlasError(f"the server cannot listen here: {what}", where=f"{host}:{port}", remedy=remedy) from None
