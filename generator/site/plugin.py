"""The MkDocs plugin ``compile-atlas``: the guide in every language, from one ``mkdocs build`` or ``mkdocs serve``.

MkDocs itself builds an empty site. For each language, the plugin loads ``mkdocs.yml`` again and makes its pages, so
that each has its own search index, navigation, sitemap and 404 page. A build makes all of them, and the server
those that a browser asks for: see `generator.site.edition_site`. Nothing is written into `docs_dir`.

Templates below ``docs/theme`` may use `language`, `languages`, `wording`, `policy`, `to_root`, `root_url`,
`metadata_of(page)`, `sidebars`, `feed()`, `feed_id`, `first_moment`, gettext functions, and the filters `marked` for a
text that may be untranslated and `in_markdown` for one that Markdown shall not read: see `AtlasPlugin.on_env`.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin, urlsplit

import click
import jinja2
from markupsafe import Markup, escape
from mkdocs.config import config_options
from mkdocs.config.base import Config, ValidationError
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink
from pathspec.gitignore import GitIgnoreSpec

from bench.errors import AtlasError, unusable
from generator.languages.language import SOURCE, load_locale, published_languages
from generator.languages.typography import code_from_the_left, plain
from generator.live import BUDGET
from generator.pages.guide import Edition, Guide, guide_of
from generator.progress_bar import ProgressBar
from generator.site import PLUGIN, watching
from generator.site.edition_site import EditionSite
from generator.site.link_preview import PageMetadata, page_metadata
from generator.site.material import BUNDLE, apply_language, mended, wording
from generator.site.mkdocs_files import EditionPage
from generator.site.mkdocs_internals import load_separate_config
from generator.site.policy import policy
from generator.site.preview import Preview, check_address, template_error
from generator.site.publishing import address, is_published, refuse_uncommitted, uncommitted_runs
from generator.site.search_index import SearchIndex
from generator.site.site_build import Outcome, SiteBuild, concerns_site
from generator.site.theme import SidebarCache, install, offers, translate

if TYPE_CHECKING:
    from generator.live.strip import LiveRun

GARBAGE_THRESHOLD = 100_000
"""Objects after which garbage is collected. Builds make hardly any, and the default of 700 takes 5% of their time."""

_log = get_plugin_logger(PLUGIN)
"""Its warnings fail a strict build."""


class _Languages(config_options.ListOfItems):  # type: ignore[misc]  # mkdocs has no types
    """A list of languages that begins with the source language."""

    def __init__(self) -> None:
        super().__init__(config_options.Type(str), default=[])

    def run_validation(self, value: object) -> list[str]:
        codes: list[str] = super().run_validation(value)
        if codes and codes[0] != SOURCE:
            raise ValidationError(f"The list of languages must begin with {SOURCE}")
        return codes


class AtlasConfig(Config):  # type: ignore[misc]
    """The settings of the plugin in ``mkdocs.yml``."""

    languages = _Languages()
    """The languages of the site, by default those of ``locales/languages.toml``."""


class AtlasPlugin(BasePlugin[AtlasConfig]):  # type: ignore[misc]
    """MkDocs' plugin for the whole site, or for one language: the former creates the latter."""

    guide: Guide

    def __init__(self) -> None:
        self.language = ""  # that of the pages; "" for the whole site, of which MkDocs makes no page
        self.serving = False
        self._publishing = False
        self._published_as: tuple[Path, Path, str, str] | None = None
        self._site_dir = ""  # that of the site, whose pages are written elsewhere first
        self._progress = ProgressBar()
        self._build: SiteBuild | None = None
        self._preview: Preview | None = None
        self._live_run: LiveRun | None = None  # beside the server

    # ── Events of the whole run ─────────────────────────────────────────────────────────────────────────────────────

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:  # noqa: ARG002
        """Note the command, and keep the date of the build out of the site: MkDocs dates ``sitemap.xml.gz``."""
        os.environ["SOURCE_DATE_EPOCH"] = "0"
        self.serving = command == "serve"
        self._publishing = command == "gh-deploy"
        gc.set_threshold(GARBAGE_THRESHOLD)
        if not self.serving:
            return
        for name in ("SIGTERM", "SIGHUP"):  # as Ctrl-C: MkDocs removes its folder; nohup's choice stays
            if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)

    def on_serve(
        self, server: LiveReloadServer, /, *, config: MkDocsConfig, builder: Callable[[], None]
    ) -> LiveReloadServer:
        """Build pages when a browser asks for them, from here on. Measure this machine beside that, if asked to."""
        del builder
        if self.serving:
            if budget := os.environ.get(BUDGET):
                from generator.live.strip import LiveRun

                self._live_run = LiveRun(self.guide.root, budget)
            pages = {
                _folder(code): EditionSite(self.guide, code, partial(self.config_of, config, code))
                for code in self.languages
            }
            for path in (config.docs_dir, config.config_file_path):
                server.unwatch(path)  # which MkDocs' own observer watches
            self._preview = Preview(self.guide, pages, self._live_run)
            self._preview.take_over(server)
            for path in (config.docs_dir, config.config_file_path):
                server.watch(path)
            if self._live_run:
                self._live_run.conduct(server)
        watching.start(server, (config.docs_dir, config.config_file_path, *config.watch))
        return server

    def on_shutdown(self) -> None:
        """Stop measuring and building: MkDocs removes the folder next, or publishes it, unless that would change
        nothing."""
        if self._live_run:
            self._live_run.stop()
        if self._preview:
            self._preview.close()
        if self._published_as and sys.exc_info()[0] is None and is_published(*self._published_as):
            _log.info("Already published: %s has this exact site", self.guide.address)
            raise click.exceptions.Exit(0)

    # ── Events of the build of one language ─────────────────────────────────────────────────────────────────────────

    @event_priority(100)  # type: ignore[untyped-decorator]  # before the search plugin reads its settings
    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Read the sources, once for all languages, or fit the configuration to one."""
        try:
            if self.language:
                self._fit(config)
            else:
                self._begin(config)
        except AtlasError as error:
            raise PluginError(str(error)) from None
        except OSError as error:  # a source that cannot be read
            raise PluginError(str(unusable(error))) from None
        return config

    def _begin(self, config: MkDocsConfig) -> None:
        """Begin a build of the site, or prepare to serve it. Raises `AtlasError`."""
        root = Path(config.config_file_path).parent
        self._build = None
        self.guide = guide_of(root, self.languages)
        self._site_dir = config.site_dir
        self.guide.address = config.site_url or ""
        install(config, publish_files=False)
        if self.serving:
            self.guide.own_runs = partial(uncommitted_runs, root)
            _leave_nothing(config)
            check_address(*config.dev_addr)
            return
        if self._publishing:
            refuse_uncommitted(root)
            self.guide.address = config.site_url = address(root, config.remote_name)
            self._published_as = (Path(config.site_dir), root, config.remote_name, config.remote_branch)
        self._build = SiteBuild(config)
        self._build.begin(config)
        _leave_nothing(config)
        self.guide.update()

    def _fit(self, config: MkDocsConfig) -> None:
        """Set labels, search and navigation of the language."""
        edition = self._edition
        install(config, publish_files=self._is_source)
        apply_language(config, edition.language)
        config.extra["scope"] = (
            urlsplit(self._root_url(config)).path or "/"
        )  # light or dark is chosen for all languages
        config.nav = edition.navigation(config.nav or [])
        config.not_in_nav = GitIgnoreSpec.from_lines(edition.unlisted)

    def on_files(self, files: Files, /, *, config: MkDocsConfig) -> Files:
        """Leave out authored Markdown: the pages of the language are made from it. Assets are there once for all."""
        if self.language:
            searching = config.plugins["material/search"]
            searching.search_index = SearchIndex(self.language, **searching.config)
        assets = (file for file in files if self._is_source and not file.is_documentation_page())
        return Files([_corrected(file, config) for file in assets])

    def on_env(self, env: jinja2.Environment, /, *, config: MkDocsConfig, files: Files) -> jinja2.Environment:
        """Give templates the messages of the language, and what they show."""
        del files
        env.globals["policy"] = policy(serving=self.serving)
        if not self.language:
            return env
        from generator.pages import feed

        edition = self._edition
        translate(env, edition.language)
        env.globals.update(
            language=edition.language,
            languages=self.guide.languages,
            offers=offers(self.guide.languages),
            wording=wording(edition.language),
            to_root="../" if edition.language.prefix else "",
            root_url=self._root_url(config),
            metadata_of=partial(self._metadata, config=config),
            sidebars=SidebarCache(),
            feed=partial(feed.entries, self.guide.results, edition.language),
            feed_id=feed.urn(edition.language.code),
            first_moment=feed.FIRST_MOMENT,
        )
        return env

    def on_page_content(self, html: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Style tables written in Markdown like those of records, and keep code from breaking at its hyphens.

        On a right-to-left page, code has its own direction, and in the list of sections direction marks replace the
        markup of names.
        """
        del config, files
        is_rtl = self._edition.language.direction == "rtl"
        if is_rtl:
            headings = dict(_HEADING.findall(html))
            for entry in _entries(page.toc):
                name = Markup(plain(headings.get(entry.id, entry.title)))  # noqa: S704  # made by Markdown
                entry.title = str(escape(name.striptags()))
        from generator.figures.markup import unbroken

        html = unbroken(html)
        return code_from_the_left(html) if is_rtl else html

    def on_post_page(self, output: str, /, *, page: Page, config: MkDocsConfig) -> str:
        """Write the page as plain Markdown as well, and count it as done."""
        del config
        if isinstance(page, EditionPage):
            page.write_twin()
        self._progress.step()
        return output

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Build all languages."""
        if self._build is None:
            return
        self._build_languages(self._build, config)
        self._progress.end()
        self._build.end(config)

    def _build_languages(self, site: SiteBuild, config: MkDocsConfig) -> list[Mapping[str, bytes]]:
        """Build each language in a process of its own, with all that they share made before."""
        from generator.pages import explorer

        explorer.details_as_json(self.guide.results)
        site.wait_for_shared()
        self._progress.count(len(self.languages) * len(self.guide.edition(SOURCE).pages))
        site.start({_named(code): partial(self._build_language, config, code) for code in self.languages})
        self._progress.show()
        return site.outlines()

    def _build_language(self, config: MkDocsConfig, code: str) -> Outcome:
        """Build a language, or return what is wrong with it: the others go on."""
        pages = EditionSite(self.guide, code, partial(self.config_of, config, code))
        try:
            return pages.build_all()
        except (AtlasError, jinja2.TemplateError, OSError, PluginError) as error:
            fault = self._told(error) or str(error)
            return fault if code == SOURCE else f"{_named(code)}: {fault}"

    def on_build_error(self, *, error: Exception) -> None:
        """Stop all languages. Report a mistake in a template, and an unusable folder, without a traceback."""
        self._progress.end()
        if self._build:
            self._build.stop()
        if told := self._told(error):
            raise Abort(told) from None

    def _told(self, error: Exception) -> str:
        """Return what a user needs to know of an error, "" where that is not known."""
        if isinstance(error, AtlasError):
            return str(error)
        if isinstance(error, jinja2.TemplateError):
            return template_error(error)
        unfinished = str(self._build.unfinished) if self._build else ""
        if isinstance(error, OSError) and concerns_site(error, self._site_dir, unfinished):
            return str(unusable(error, self._site_dir))
        return ""

    # ── Languages ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the site, English first. Raises `AtlasError` where the list of them cannot be read."""
        return tuple(self.config.languages) or published_languages()

    def config_of(self, outer: MkDocsConfig, code: str) -> MkDocsConfig:
        """Load the configuration of a language: ``mkdocs.yml`` again, for a folder and an address of its own."""
        config = load_separate_config(
            outer.config_file_path,
            site_dir=str(Path(outer.site_dir, _folder(code))),
            site_url=urljoin(outer.site_url, _folder(code)) if outer.site_url else None,
            use_directory_urls=outer.use_directory_urls,
            strict=False,  # the outer build counts the warnings of all languages, and fails at the end
        )
        own = config.plugins[PLUGIN]
        own.config.languages = self.config.languages
        own.language, own.serving, own.guide = code, self.serving, self.guide
        own._progress = self._progress  # noqa: SLF001  # its own class
        return config

    @property
    def _is_source(self) -> bool:
        return self.language == SOURCE

    @property
    def _edition(self) -> Edition:
        return self.guide.edition(self.language)

    def _root_url(self, config: MkDocsConfig) -> str:
        """The address of the English site; that of a nested build is one folder deeper."""
        return str(config.site_url or "").removesuffix(self._edition.language.prefix)

    # ── Pages ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _metadata(self, page: Page, config: MkDocsConfig) -> PageMetadata:
        section = page.parent.title if "/" in page.file.src_uri and page.parent and not page.is_index else ""
        title = page.meta.get("title") or unescape(page.title)
        words = title, section, page.meta.get("description") or config.site_description
        language, languages = self._edition.language, self.guide.languages
        return page_metadata(page.file.source.card_uri, page.url, words, language, languages, self._root_url(config))


def _folder(code: str) -> str:
    """The folder of a language in the site."""
    return "" if code == SOURCE else f"{code}/"


def _leave_nothing(config: MkDocsConfig) -> None:
    """Leave nothing to MkDocs' own build of the site: those of its languages follow."""
    config.nav = []
    config.theme.static_templates.clear()
    if searching := config.plugins.get("material/search"):
        searching.config.enabled = False  # or it asks the theme for labels, which are those of a language


def _corrected(file: File, config: MkDocsConfig) -> File:
    """Return the file; Material's script without what it does on our pages in vain, and our scripts and stylesheets
    without their comments and indentation, which are up to a third of what a browser loads of them."""
    if BUNDLE.fullmatch(file.src_uri):
        return File.generated(config, file.src_uri, content=mended(file.content_string))
    comments = _COMMENTS.get(Path(file.src_uri).suffix)
    if comments and file.src_dir == config.docs_dir and "vendor" not in file.src_uri:
        return File.generated(config, file.src_uri, content=comments.sub("", file.content_string))
    return file


_COMMENTS = {
    ".css": re.compile(r"\s*/\*.*?\*/|^[ \t]+", re.DOTALL | re.MULTILINE),
    ".js": re.compile(r"^[ \t]*//.*\n|^[ \t]+", re.MULTILINE),
}
"""Comments and indentation of our own files, by their suffix. Vendored ones keep their licences."""

_HEADING = re.compile(r'<h[1-6] id="([^"]+)">(.*?)(?:<a class="headerlink"|</h[1-6]>)', re.DOTALL)


def _named(code: str) -> str:
    return f"{load_locale(code).get_language_name(SOURCE)} ({code})"


def _entries(toc: Iterable[AnchorLink]) -> Iterator[AnchorLink]:
    for entry in toc:
        yield entry
        yield from _entries(entry.children)
