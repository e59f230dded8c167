"""Make `mkdocs serve` build a page when a browser asks for it, never hang, and show what is wrong.

Takes MkDocs' development server, the guide, and functions that return and load the settings of a language. The server
then notices changes at once, reloads browsers, and builds what they ask for. While the newest input cannot be used,
pages show the last good input, with the reason on top.
"""

from __future__ import annotations

import errno
import gc
import html
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException, PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.structure.files import File
from watchdog import events
from watchdog.observers import Observer

from bench.errors import AtlasError
from generator.languages.language import SOURCE
from generator.live import BUDGET
from generator.pages.guide import Edition, Guide
from generator.pages.pages import PageFile
from generator.pages.site_file import SiteFile
from generator.site.build import told
from generator.site.for_programs import files_for_programs
from generator.site.mkdocs_internals import SiteOnDemand

log = logging.getLogger("mkdocs.plugins.compile-atlas")

Settings = dict[str, Any]
"""The settings of a language."""

App = Callable[..., Iterable[bytes]]
"""A WSGI application."""

SEARCH = "material/search"
SEARCH_INDEX = "search/search_index.json"

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


class EditionOnDemand:
    """The site of one language: pages are built when they are asked for."""

    def __init__(
        self, guide: Guide, code: str, settings: Callable[[str], Settings], load: Callable[[Settings], MkDocsConfig]
    ) -> None:
        self._guide, self._code, self._settings_of, self._load = guide, code, settings, load
        self._edition: Edition | None = None
        self._site: SiteOnDemand | None = None
        self._settings: Settings = {}
        self._pages: dict[str, tuple[File, PageFile]] = {}  # by the path of their HTML
        self._programs: dict[str, SiteFile] = {}
        self._built: set[str] = set()  # of this edition
        self._is_indexed = False

    def build(self, path: str) -> Iterator[None]:
        """Build the file at `path` below the folder of the language, if it is missing or out of date. Yields where
        another file may be built first. Raises whatever is wrong with its sources."""
        site = self._current()
        path = f"{path.removesuffix('.md')}.html" if path.endswith(".md") else path  # both are written at once
        if path == SEARCH_INDEX:
            yield from self._index(site)
        elif path in self._pages:
            self._build_page(site, path)
        elif (name := path.removesuffix(".gz")) in site.config.theme.static_templates:
            site.write_template(name)
        elif path not in self._built and (file := self._programs.get(path) or self._guide.find(path)):
            target = Path(site.config.site_dir, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content_bytes)
            self._built.add(path)

    def _current(self) -> SiteOnDemand:
        """Return the site of the newest edition. A page that it lacks is removed."""
        edition = self._guide.edition(self._code)
        if self._site and edition is self._edition:
            return self._site
        settings = self._settings_of(self._code)
        if self._site and settings == self._settings:
            self._site.renew()
        else:
            self._site, self._settings = SiteOnDemand.begin(self._load(settings), self._site), settings
        site, sources = self._site, {page.uri: page for page in edition.pages}
        pages = {file.dest_uri: (file, sources[file.src_uri]) for file in site.files.documentation_pages()}
        for gone in self._pages.keys() - pages.keys():
            Path(site.config.site_dir, gone).unlink(missing_ok=True)
        self._edition, self._pages, self._built = edition, pages, set()
        self._programs = {file.uri: file for file in files_for_programs(edition, self._guide.results, site.config)}
        for path, (_, page) in pages.items():
            if page.title is None:  # the navigation shows its first heading
                self._read(site, path)
        return site

    def _read(self, site: SiteOnDemand, path: str) -> File:
        file, page = self._pages[path]
        file.content_string = page.content
        site.read_page(file)
        return file

    def _build_page(self, site: SiteOnDemand, path: str) -> None:
        if path not in self._built:
            site.write_page(self._read(site, path))
            self._built.add(path)

    def _index(self, site: SiteOnDemand) -> Iterator[None]:
        """Build all pages and the search index, once: words that come later are found after a restart."""
        pages = self._pages
        for path in () if self._is_indexed else pages:
            if self._pages is not pages:  # a newer edition: whoever asks next gets its index
                return
            self._build_page(site, path)
            yield
        if not self._is_indexed:
            site.config.plugins[SEARCH].on_post_build(config=site.config)
            site.config.plugins[SEARCH].config.enabled = False  # reading a page for it takes a quarter of its time
            self._is_indexed = True


class Response(NamedTuple):
    """A response that has not been sent."""

    status: str
    headers: list[tuple[str, str]]
    body: Iterable[bytes]

    @classmethod
    def of(cls, app: App, environ: Mapping[str, Any]) -> Self:
        """Return the answer of an application."""
        begun: list[Any] = []
        body = app(environ, lambda *arguments: begun.extend(arguments))
        return cls(begun[0], begun[1], body)

    def with_page(self, change: Callable[[bytes], bytes]) -> Response:
        """Return the response with its page changed; the same if it is no page."""
        if not any(name == "Content-Type" and value.startswith("text/html") for name, value in self.headers):
            return self
        content = change(b"".join(self.body))
        getattr(self.body, "close", lambda: None)()
        headers = [(name, value) for name, value in self.headers if name != "Content-Length"]
        return Response(self.status, [*headers, ("Content-Length", str(len(content)))], [content])


class Preview:
    """The site that the development server shows."""

    def __init__(
        self,
        guide: Guide,
        settings: Callable[[str], Settings],
        load: Callable[[Settings], MkDocsConfig],
        budget: str | None = None,
    ) -> None:
        self._guide, self._settings, self._load, self._budget = guide, settings, load, budget
        self._editions: dict[str, EditionOnDemand] = {}
        self._problems: dict[str, str] = {}
        """Why the newest input cannot be shown, by the language that it concerns, "" for all."""
        self._updates = 0
        self._building = threading.Lock()
        self._live_run: Any = None

    def take_over(self, server: LiveReloadServer, paths: Iterable[str]) -> None:
        """Make a server that has not started show the guide, and watch `paths`, which MkDocs' own observer watched."""
        for path in paths:
            server.unwatch(path)
        server.observer = ChangeObserver()
        for path in paths:
            server.watch(path)
        Path(server.root, EMPTY_PAGE_NAME).write_text(EMPTY_PAGE, encoding="utf-8")
        self._guide.address = server.url
        self._update()
        gc.freeze()  # or garbage collection, while a page is built, would search everything that is loaded
        server.request_queue_size = CLIENTS
        server.builder, server.build_delay = self._update, SETTLING_S
        server.error_handler = partial(self._error_page, Path(server.root))
        app = partial(self._answer, server.get_app(), server.mount_path)
        if self._budget:
            from generator.live.strip import LiveRun, Strip  # only a server that measures draws it

            self._live_run = LiveRun(self._guide.root, self._budget)
            app = partial(_with_strip, app, Strip(self._live_run, self._guide, server.mount_path))
            self._live_run.conduct(server)
        server.set_app(app)
        log.info("Pages are built when they are asked for; plugins that need all pages work in `mkdocs build`")

    def close(self) -> None:
        """Stop measuring, wait for what is being built, and build nothing more: the folder is to be removed."""
        if self._live_run:
            self._live_run.stop()
        self._building.acquire()  # never released

    def _update(self) -> None:
        """Read all sources again. Pages made from them are built on demand."""
        self._try("", self._read_sources)
        self._updates += 1

    def _read_sources(self) -> None:
        self._problems = {}
        self._guide.update()
        for code, fault in self._guide.faults.items():
            log.error(str(fault))
            self._problems[code] = str(fault)
        for language in self._guide.languages:
            edition = EditionOnDemand(self._guide, language.code, self._settings, self._load)
            self._editions.setdefault(language.code, edition)

    def _answer(
        self, app: App, mount_path: str, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request by MkDocs' own application, after building what is asked for."""
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "ignore")
        if not path.startswith(mount_path) or path.startswith("/livereload/"):
            return app(environ, start_response)
        path = path.removeprefix(mount_path)
        name = path.rpartition("/")[2]
        for _ in range(TRIES):  # or what was built from older sources would go out as the newest build
            updates = self._updates
            # MkDocs redirects an address without its last slash, once the page exists.
            self._build(path if "." in name else f"{path}{'/' if name else ''}index.html")
            response = Response.of(app, environ)
            if self._updates == updates:
                break
        if problem := self._problems.get("") or self._problems.get(self._code(path)):
            has_page = response.status.startswith("200")
            if not has_page and not name:
                response = Response.of(app, {**environ, "PATH_INFO": mount_path + EMPTY_PAGE_NAME})
            response = response.with_page(partial(_with_notice, problem, has_page=has_page))
        start_response(response.status, response.headers)
        return response.body

    def _code(self, path: str) -> str:
        """Return the language that a path of the site belongs to."""
        prefixes = (language.code for language in self._guide.languages if language.prefix)
        return next((code for code in prefixes if path.startswith(f"{code}/")), SOURCE)

    def _build(self, path: str) -> None:
        """Build the file at `path` of the site if it is out of date. Between steps, other requests have their turn."""
        code, problems = self._code(path), self._problems
        if code in self._editions:
            steps = self._editions[code].build(path if code == SOURCE else path.removeprefix(f"{code}/"))
            while self._try(code, partial(next, steps, _FINISHED), problems) is None:
                pass

    def _try(self, code: str, step: Callable[[], Any], problems: dict[str, str] | None = None) -> Any:
        """Return the result of `step`. Where it fails, keep the reason for the language, and return `_FINISHED`.

        `problems` belong to the input that the step began with, by default to the newest. Those of an older one are
        of no interest once there is a newer one.
        """
        with self._building, _ErrorLog() as errors:
            try:
                return step()
            except Exception as error:  # noqa: BLE001  # a server that stopped at an error would hang every open page
                (self._problems if problems is None else problems)[code] = _explain(error, errors.messages)
                return _FINISHED

    def _error_page(self, root: Path, code: int) -> bytes | None:
        """Return the page that the server shows for an error."""
        page = root / f"{code}.html"
        self._build(page.name)
        return page.read_bytes() if page.is_file() else None


_FINISHED = object()


def _with_notice(problem: str, page: bytes, *, has_page: bool) -> bytes:
    shown = "The pages show the last good input." if has_page else "There is no page to show yet."
    notice = (
        '<aside class="atlas-problem" role="alert" lang="en" dir="ltr"><div class="md-grid md-typeset">'
        f"<p><strong>The newest input cannot be built.</strong> {shown} This page reloads once it is fixed.</p>"
        f"<pre>{html.escape(problem)}</pre></div></aside>"
    )
    return page.replace(ANCHOR, ANCHOR + notice.encode(), 1)


def _with_strip(app: App, strip: Any, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Insert the strip into each page, and answer what its script asks."""
    path = environ["PATH_INFO"]
    if path.startswith(strip.address):
        kind, content = strip.answer(path.removeprefix(strip.address), environ["REQUEST_METHOD"])
        start_response("200 OK", [("Content-Type", kind)])
        return [content]
    response = Response.of(app, environ).with_page(lambda page: strip.inserted(page, ANCHOR, path))
    start_response(response.status, response.headers)
    return response.body


class ChangeObserver(Observer):  # type: ignore[misc,valid-type]  # which class that is depends on the system
    """Reports changes of files as the system sees them, at once. Reading a source would be an event, too."""

    def start(self) -> None:
        """Start, or raise `PluginError` with a remedy."""
        try:
            super().start()
        except OSError as error:
            unwatchable = AtlasError(
                f"files cannot be watched: {error.strerror or error}",
                remedy="close programs that watch files, or raise fs.inotify.max_user_instances and max_user_watches",
            )
            raise PluginError(str(unwatchable)) from None

    def schedule(self, *arguments: Any, **named: Any) -> Any:
        """Watch a path for changes."""
        changes = [events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent]
        return super().schedule(*arguments, **named, event_filter=changes)


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
    if isinstance(error, MkDocsException) and logged:
        return "\n".join(logged)
    if known := told(error):
        log.error(known)
        return known
    log.error("The rebuild failed", exc_info=error)  # not bad input but a mistake in the program
    return f"{type(error).__name__}: {error}"


def check_address(host: str, port: int) -> None:
    """Raise `AtlasError` when a server cannot listen at an address: better before it reads the records than after."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError) as error:
        is_taken = getattr(error, "errno", None) == errno.EADDRINUSE
        what = "the port is already in use" if is_taken else getattr(error, "strerror", None) or str(error)
        command = "python -m generator guide" if BUDGET in os.environ else "mkdocs serve"
        remedy = f"choose another: {command} --dev-addr 127.0.0.1:{port + 1 if is_taken else 8000}"
        raise AtlasError(f"the server cannot listen here: {what}", where=f"{host}:{port}", remedy=remedy) from None
