"""`mkdocs serve` that makes a page when somebody looks at it, never hangs, and shows what is wrong while it is.

In: MkDocs' development server, and a desk for each language. Out: the same server, which notes at once that a source
has changed, lets browsers reload, and makes what they then ask for. While the newest input cannot be used, the pages
are the last good ones, with the reason on top.

    mkdocs serve
"""

from __future__ import annotations

import gc
import html
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from wsgiref.headers import Headers

import jinja2
from mkdocs.exceptions import MkDocsException, PluginError
from mkdocs.livereload import LiveReloadServer
from watchdog import events
from watchdog.observers import Observer

from bench.errors import AtlasError
from generator.pages.guide import Guide
from generator.site.on_demand import Desk

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


NOTHING = "nothing.html"
"""The name of that page."""

SETTLING_S = 0.01
"""Without further changes for so long, a change is complete. (An editor writes a file in several steps.)"""

TRIES = 3
"""Times that a page is made while its sources change. Where changes go on, the next one reloads it."""

CLIENTS = 128
"""So many may connect at once, each with the connections of a browser, before one of them has to try again."""

DONE = object()

App = Callable[..., Iterable[bytes]]
"""A WSGI application."""


@dataclass
class Preview:
    """What the development server shows, and the `problem` that keeps it from showing the newest."""

    serving: bool = False
    starting: bool = False
    problem: str | None = None
    _guide: Guide | None = None
    _desks: Mapping[str, Desk] = field(default_factory=dict)
    _making: threading.Lock = field(default_factory=threading.Lock)

    def take_over(self, server: LiveReloadServer, guide: Guide, desks: Mapping[str, Desk]) -> None:
        """Let a server that has not begun show `guide`; `desks` are by the folder of their language, "" or "zh/"."""
        self.starting, self._guide, self._desks = False, guide, desks
        Path(server.root, NOTHING).write_text(EMPTY_PAGE, encoding="utf-8")
        self._update()
        gc.collect()
        gc.freeze()  # or collecting garbage, in the midst of a page, would look through all that was loaded
        server.request_queue_size = CLIENTS
        server.builder, server.build_delay, server.observer = self._update, SETTLING_S, _Observer()
        server.error_handler = lambda code: self._error_page(Path(server.root), code)
        server.set_app(self._with_notice(self._on_demand(server), server.mount_path))

    def close(self) -> None:
        """Make nothing any more, whoever still asks, once what is being made is done: the folder is to go."""
        if self.serving:
            self._making.acquire()  # for good

    def _update(self) -> None:
        """Look at all sources again. What is made from them is made when somebody asks for it."""
        self._try(self._look_again)

    def _look_again(self) -> None:
        assert self._guide
        self.problem = None
        self._guide.update()

    def _bring(self, path: str) -> None:
        """Make the file at `path` of the site as new as its sources, in steps: others may ask for something small."""
        if self._guide and self._guide.languages:
            folder = next((each for each in self._desks if each and path.startswith(each)), "")
            steps = self._desks[folder].bring(path.removeprefix(folder))
            while self._try(lambda: next(steps, DONE)) is None:
                pass

    def _bring_newest(self, server: LiveReloadServer, path: str) -> None:
        """What was made from older sources must not go out as made from the newest: it would not reload."""
        for _ in range(TRIES):
            with server._epoch_cond:  # noqa: SLF001  # as MkDocs waits before it builds a page of its own
                server._epoch_cond.wait_for(lambda: server._visible_epoch == server._wanted_epoch)  # noqa: SLF001
                epoch = server._wanted_epoch  # noqa: SLF001
            self._bring(path)
            if server._wanted_epoch == epoch:  # noqa: SLF001
                break

    def _try(self, make: Callable[[], Any]) -> Any:
        """What `make` returns; `DONE` where it failed, whose reason is then the problem."""
        with self._making, _ErrorLog() as errors:
            try:
                return make()
            except Exception as error:  # noqa: BLE001 - whatever Ray raises, it is not there
                self.problem = _explained(error, errors.messages)
                return DONE

    def _error_page(self, root: Path, code: int) -> bytes | None:
        page = root / f"{code}.html"
        return page.read_bytes() if page.is_file() else None

    def _on_demand(self, server: LiveReloadServer) -> App:
        """The server's own application, but what is asked for is made first."""
        mount_path = server.mount_path
        app: App = server.get_app()

        def made(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "ignore")
            if "\0" in path:  # no file is named so, and the system would not even look
                start_response("400 Bad Request", [("Content-Type", "text/plain")])
                return [b"no such address"]
            if path.startswith(mount_path) and not path.startswith("/livereload/"):
                path = path.removeprefix(mount_path)
                name = path.rpartition("/")[2]
                # An address without its last slash leads to the one with it, once there is a page.
                self._bring_newest(server, path if "." in name else f"{path}{'/' if name else ''}index.html")
            return app(environ, start_response)

        return made

    def _with_notice(self, app: App, mount_path: str) -> App:
        """WSGI middleware: pages pass through it untouched unless there is a problem to tell."""

        def noticed(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            response: list[Any] = []
            body = app(environ, lambda *arguments: response.extend(arguments))
            if self.problem and not response[0].startswith("200") and environ["PATH_INFO"].endswith("/"):
                response.clear()
                body = app({**environ, "PATH_INFO": mount_path + NOTHING}, lambda *each: response.extend(each))
            status, headers = response[0], Headers(response[1])
            if self.problem is None or environ["PATH_INFO"].startswith("/livereload/"):
                start_response(status, headers.items())
                return body
            if (headers["Content-Type"] or "").startswith("text/html"):
                content = b"".join(body).replace(ANCHOR, ANCHOR + self._notice(), 1)
                getattr(body, "close", lambda: None)()
                headers["Content-Length"] = str(len(content))
                body = [content]
            start_response(status, headers.items())
            return body

        return noticed

    def _notice(self) -> bytes:
        some = self._guide and self._guide.languages
        shown = "The pages show the last good input." if some else "There is no page to show yet."
        return (
            '<aside class="atlas-problem" role="alert" lang="en" dir="ltr"><div class="md-grid md-typeset">'
            f"<p><strong>The newest input cannot be built.</strong> {shown} This page reloads when it is mended.</p>"
            f"<pre>{html.escape(self.problem or '')}</pre></div></aside>"
        ).encode()


class _Observer(Observer):  # type: ignore[misc,valid-type]  # which class that is depends on the system
    """Told by the system of changes, and of nothing else: reading the sources would be an event as well."""

    def start(self) -> None:
        """As its parent does."""
        try:
            super().start()
        except OSError as error:
            told = AtlasError(
                f"files cannot be watched: {error.strerror or error}",
                remedy="end programs that watch files, or raise fs.inotify.max_user_instances and max_user_watches",
            )
            raise PluginError(str(told)) from None

    def schedule(self, *arguments: Any, **named: Any) -> Any:
        """As its parent does."""
        return super().schedule(*arguments, **named, event_filter=_CHANGES)


_CHANGES = [events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent]


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
    if isinstance(error, jinja2.TemplateError):
        return template_mistake(error)
    if isinstance(error, MkDocsException | AtlasError):
        if not logged:
            log.error(str(error))
        return "\n".join(logged) or str(error)
    log.error("The rebuild failed", exc_info=error)  # not bad input but a mistake in the program
    return "\n".join([*logged, f"{type(error).__name__}: {error}"])


def template_mistake(error: jinja2.TemplateError) -> str:
    """What is wrong with a template of the theme, and where."""
    place = f"{error.filename}:{error.lineno}: " if isinstance(error, jinja2.TemplateSyntaxError) else ""
    return f"{place}{error.message}\n  remedy: correct the template below docs/theme"


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
"""One per process: the hooks of MkDocs are functions."""
