"""The parts of MkDocs that it does not document, in one place, as they are in MkDocs 1.6.1.

`tests/generator/site/test_mkdocs_internals.py` fails, and names what changed, when a release of MkDocs changes them:
then read the new code, adapt this module, and record the new digests there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jinja2
from mkdocs.commands.build import _build_page, _build_theme_template, _populate_page
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.livereload import LiveReloadServer
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.utils.templates import url_filter

VERSION = "1.6.1"
"""The release of MkDocs whose code this module was written for."""


# ── Configuration ───────────────────────────────────────────────────────────────────────────────────────────────────


def load_separate_config(path: str, **settings: Any) -> MkDocsConfig:
    """Load a configuration whose plugins are its own.

    MkDocs keeps plugins with a startup event for all configurations of a process, so that all languages would share one
    search plugin, and its index.
    """
    cache = MkDocsConfig.plugins.plugin_cache
    kept = dict(cache)
    cache.clear()
    try:
        return load_config(path, **settings)
    finally:
        cache.clear()
        cache.update(kept)


# ── Steps of a build ────────────────────────────────────────────────────────────────────────────────────────────────


def read_page(page: Page, config: MkDocsConfig, files: Files) -> None:
    """Read the Markdown of a page, and convert it."""
    _populate_page(page, config, files)


def write_page(page: Page, config: MkDocsConfig, files: Files, nav: Navigation, env: jinja2.Environment) -> None:
    """Render a page with its template, and write it into the site."""
    _build_page(page, config, files.documentation_pages(), nav, env)


def write_theme_template(
    name: str, config: MkDocsConfig, files: Files, nav: Navigation, env: jinja2.Environment
) -> None:
    """Render a template that is no page, such as ``404.html``, and write it into the site."""
    _build_theme_template(name, env, files, config, nav)


def rendered_title(page: Page) -> str | None:
    """The title that `Page.render` took from the first heading."""
    title: str | None = page._title_from_render  # noqa: SLF001
    return title


def set_rendered_title(page: Page, title: str | None) -> None:
    """Give a page that is not rendered again the title of its first heading."""
    page._title_from_render = title  # noqa: SLF001


def asset_url_filter(prefix: str) -> Callable[[Any, str], str]:
    """MkDocs' template filter ``url`` for a language below `prefix`: assets are at the root, once for all languages."""

    @jinja2.pass_context
    def url(context: Any, value: str) -> str:
        shared = bool(prefix) and str(value).startswith("assets/")
        return str(url_filter(context, f"../{value}" if shared else value))

    return url


# ── The development server ──────────────────────────────────────────────────────────────────────────────────────────


def wait_for_rebuild(server: LiveReloadServer) -> int:
    """Wait until no rebuild is under way, as MkDocs does before it serves a file. Returns the number of the build."""
    with server._epoch_cond:  # noqa: SLF001
        server._epoch_cond.wait_for(lambda: server._visible_epoch == server._wanted_epoch)  # noqa: SLF001
        return build_number(server)


def build_number(server: LiveReloadServer) -> int:
    """Return the number of the newest build, which may be under way."""
    return int(server._wanted_epoch)  # noqa: SLF001


def request_rebuild(server: LiveReloadServer) -> None:
    """Rebuild, as after a change of a watched file."""
    with server._rebuild_cond:  # noqa: SLF001
        server._want_rebuild = True  # noqa: SLF001
        server._rebuild_cond.notify_all()  # noqa: SLF001


def is_shut_down(server: LiveReloadServer) -> bool:
    """Whether the server has ended, or is about to."""
    return bool(server._shutdown)  # noqa: SLF001


def watch_again(server: LiveReloadServer, path: str) -> None:
    """Watch a path that was gone: the server believes that it still watches it."""
    server._watched_paths.pop(path, None)  # noqa: SLF001
    if watch := server._watch_refs.pop(path, None):  # noqa: SLF001
        server.observer.unschedule(watch)
    server.watch(path)
