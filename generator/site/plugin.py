"""The MkDocs plugin ``compile-atlas``: the guide in every language, from one ``mkdocs build`` or ``mkdocs serve``.

MkDocs itself builds nothing. For each language, the plugin lets MkDocs build a site from a configuration of its own
(see `generator.site.settings`), which names the language as an option of this plugin; there, the plugin hands over the
pages. The server builds a page when a browser asks for it: see `generator.site.preview`. Nothing is written into
`docs_dir`.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from mkdocs.config import config_options, load_config
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException, PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from generator.languages.language import SOURCE
from generator.pages import explorer
from generator.pages.guide import Guide
from generator.pages.pages import PageFile
from generator.site import PLUGIN, search
from generator.site.build import build_all, put_into_place, told
from generator.site.list_of_pages import list_of_pages
from generator.site.policy import stopped
from generator.site.preview import PreviewServer, check_address
from generator.site.publishing import address, refuse_uncommitted, uncommitted_runs
from generator.site.settings import settings_of

log = logging.getLogger("mkdocs.plugins.compile-atlas")

ONLY_AT_THE_ROOT = ("CNAME", "robots.txt")
"""Files below `docs_dir` that are about the whole site."""


class AtlasConfig(Config):  # type: ignore[misc]  # mkdocs has no types
    """The settings of the plugin in ``mkdocs.yml``."""

    language = config_options.Optional(config_options.Type(str))
    """The language of a configuration. The plugin itself sets it."""


class AtlasPlugin(BasePlugin[AtlasConfig]):  # type: ignore[misc]
    """The plugin of the whole site, or of one language: the former loads the configuration with the latter."""

    guide: Guide

    def __init__(self) -> None:
        self._command = ""
        self._site_dir = ""
        self._built: TemporaryDirectory[str] | None = None  # where a build leaves the languages until all are finished
        self._server: PreviewServer | None = None
        self._pages: Mapping[str, PageFile] = {}
        self._stopped: set[str] = set()  # of what the policy stops, what has been told

    # ── The whole site ──────────────────────────────────────────────────────────────────────────────────────────────

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:  # noqa: ARG002
        """Note the command. A server ends as by Ctrl-C when it is asked to, and so removes its folder."""
        self._command = command
        os.environ["SOURCE_DATE_EPOCH"] = "0"  # MkDocs dates sitemap.xml.gz
        if command == "serve" and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.default_int_handler)

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Read the sources, once for all languages, and leave nothing to MkDocs' own build."""
        if self.config.language:
            return config
        guide = self.guide = Guide(Path(config.config_file_path).parent)
        guide.has_folders = config.use_directory_urls
        config.nav = []
        config.theme.static_templates.clear()
        for event, methods in config.plugins.events.items():  # other plugins and hooks work in the languages
            if event not in {"startup", "serve", "shutdown"}:
                config.plugins.events[event] = [each for each in methods if getattr(each, "__self__", None) is self]
        if self._command == "serve":
            check_address(*config.dev_addr)
            guide.own_runs = partial(uncommitted_runs, guide.root)
            return config
        if self._command == "gh-deploy":
            refuse_uncommitted(guide.root)
            config.site_url = address(guide.root, config.remote_name)
        self._built = TemporaryDirectory(prefix="compile-atlas-")
        self._site_dir, config.site_dir = config.site_dir, self._built.name
        guide.update()
        return config

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Build all languages, and put the site into its place."""
        if self._built is None:
            return
        explorer.details_as_json(self.guide.results)  # the same for all languages, and then known to all processes
        codes = [language.code for language in self.guide.languages]
        build_all({code: partial(self.load, config, code) for code in codes})
        config.site_dir = self._site_dir
        put_into_place(Path(self._built.name), codes, Path(self._site_dir))

    def on_serve(
        self, server: LiveReloadServer, /, *, config: MkDocsConfig, builder: Callable[[], None]
    ) -> LiveReloadServer:
        """Build pages when a browser asks for them, by a server of our own."""
        del builder
        self._server = PreviewServer(server, self.guide, partial(self.load, config))
        for path in (config.docs_dir, config.config_file_path):
            self._server.watch(path)
        return self._server

    def on_shutdown(self) -> None:
        """Remove the temporary folder, and stop the server's own processes."""
        if self._built:
            self._built.cleanup()
        if self._server:
            self._server.close()

    def on_build_error(self, *, error: Exception) -> None:
        """Report a mistake in a template or a source, and an unusable folder, without a traceback."""
        if not isinstance(error, MkDocsException) and (fault := told(error)):
            raise PluginError(fault) from None

    def load(self, outer: MkDocsConfig, code: str) -> MkDocsConfig:
        """Load the configuration of a language, with plugins of its own, and start them.

        Raises `AtlasError` where its pages cannot be read.
        """
        guide, edition = self.guide, self.guide.edition(code)
        is_served = self._command == "serve"
        given = {
            "site_dir": str(Path(outer.site_dir, edition.language.prefix if is_served else code)),
            "site_url": outer.site_url,
            "strict": outer.strict,
            "use_directory_urls": outer.use_directory_urls,
        }
        settings = settings_of(edition, guide.languages, {**guide.settings, **given}, serving=is_served)
        # MkDocs keeps plugins with a startup event for all configurations of a process, so that all languages would
        # share one search plugin, and its index.
        kept = MkDocsConfig.plugins.plugin_cache
        kept.clear()
        config = load_config(outer.config_file_path, **settings)
        kept.clear()
        config.plugins.on_startup(command="serve" if is_served else "build", dirty=False)
        config.plugins[PLUGIN].guide = guide
        return config

    # ── One language ────────────────────────────────────────────────────────────────────────────────────────────────

    def on_files(self, files: Files, /, *, config: MkDocsConfig) -> Files:
        """Replace the authored pages by the language's, and add the files that they emit. A server makes those when
        they are asked for."""
        if not self.config.language:
            return Files([])
        edition = self.guide.edition(self.config.language)
        self._pages = {page.uri: page for page in edition.pages}
        searching = config.plugins["material/search"]
        searching.search_index = search.SearchIndex(edition.language.code, **searching.config)
        left_out = () if edition.language.code == SOURCE else ONLY_AT_THE_ROOT
        kept = [file for file in files if not file.is_documentation_page() and file.src_uri not in left_out]
        for page in edition.pages:  # with its source, of which plugins tell the history, and where a reader edits it
            source = page.translated.source.uri
            file = File(page.uri, config.docs_dir, config.site_dir, config.use_directory_urls)
            file.abs_src_path, file.edit_uri = str(Path(config.docs_dir, source)), source
            kept.append(file)
        if self._command == "serve":
            return Files(kept)
        made = (*edition.files, list_of_pages(edition, config))
        others = (file for file in made if file.uri not in self._pages)
        return Files([*kept, *(File.generated(config, file.uri, content=file.content) for file in others)])

    def on_page_read_source(self, /, *, page: Page, config: MkDocsConfig) -> str | None:
        """Return the finished Markdown of a page."""
        del config
        made = self._pages.get(page.file.src_uri)
        return made.content if made else None

    @event_priority(-100)  # type: ignore[untyped-decorator]  # after all that other plugins do to the page
    def on_post_page(self, output: str, /, *, page: Page, config: MkDocsConfig) -> str:
        """Write the page as plain Markdown beside its HTML, and warn of what the policy of the site stops."""
        has_mermaid = any("mermaid" in str(script) for script in config.extra_javascript)
        policy = config.extra.get("policy")
        for what, remedy in stopped(output, policy, has_mermaid=has_mermaid) if policy else ():
            if what not in self._stopped:
                self._stopped.add(what)
                where = page.file.edit_uri or page.file.src_uri
                log.warning("%s: the policy of the site stops %s\n  remedy: %s", where, what, remedy)
        if made := self._pages.get(page.file.src_uri):  # else it is of another plugin
            twin = Path(page.file.abs_dest_path).with_suffix(".md")
            twin.parent.mkdir(parents=True, exist_ok=True)
            text = made.twin(page.canonical_url or "", has_folders=config.use_directory_urls)
            twin.write_text(text, encoding="utf-8")
        return output
