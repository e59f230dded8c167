"""The site of one language: the one way in which a page is made, for the server as for a build.

Takes the guide and the configuration of the language. The server builds a file when a browser asks for it (`build`). A
build asks for all pages that have changed since the last one, and links the others to their files there (`build_all`).
What the server shows is byte for byte what a build writes, except for fonts, which have all characters, and social
cards, which are left out.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files, get_files, set_exclusions
from mkdocs.structure.nav import Navigation, get_navigation

from generator.cache import digest
from generator.checks.rendered_checks import outline
from generator.drawing.link_preview import card_uri, has_card
from generator.languages.language import Language
from generator.made_ahead import MadeAhead
from generator.pages.guide import Edition, Guide, Mark
from generator.pages.pages import PageFile
from generator.pages.site_file import CHARTS, DATA, SiteFile
from generator.site import PLUGIN
from generator.site.last_build import BuiltEdition, BuiltHtml, BuiltMarkdown, rendered
from generator.site.mkdocs_files import EditionFile, KeptFile
from generator.site.mkdocs_internals import read_page, write_page, write_theme_template
from generator.site.search_index import SearchIndex
from generator.site.theme import offers
from generator.site.web_fonts import web_fonts, whole_fonts

if TYPE_CHECKING:
    from generator.data.scopes import Digests

SEARCH = "material/search"
SEARCH_INDEX = "search/search_index.json"

EMITTED = (f"{CHARTS}/", f"{DATA}/")
"""The folders of files that pages emit."""


@dataclass
class _Context:
    """What MkDocs needs to build any page of a language, apart from the page."""

    config: MkDocsConfig
    files: Files
    nav: Navigation
    env: jinja2.Environment
    pages: dict[str, EditionFile]  # by path in the site
    built: dict[str, SiteFile] = field(default_factory=dict)  # by path: the source of the file in the folder

    def update(self, edition: Edition) -> None:
        """Take the pages of a newer edition."""
        self.env = self.config.plugins.on_env(self.env, config=self.config, files=self.files)
        for page in edition.pages:
            self.files.src_uris[page.uri].source = page

    @property
    def index(self) -> SearchIndex:
        """The search index."""
        index: SearchIndex = self.config.plugins[SEARCH].search_index
        return index

    def read(self, file: EditionFile) -> None:
        """Convert a page to HTML."""
        read_page(file.page, self.config, self.files)

    def write(self, file: EditionFile) -> None:
        """Write a page that was converted."""
        write_page(file.page, self.config, self.files, self.nav, self.env)

    def write_template(self, name: str) -> None:
        """Write a file of the theme that lists all pages or records, or is no page, such as ``404.html``."""
        write_theme_template(name, self.config, self.files, self.nav, self.env)

    def build_all(self, kept: Mapping[str, BuiltHtml]) -> dict[str, BuiltHtml]:
        """Build all pages but those that are kept, with their cards, and the search index. Links between all pages are
        checked."""
        plugins, index = self.config.plugins, self.index
        for template in self.config.theme.static_templates:
            self.write_template(template)
        changed = [file for file in self.pages.values() if file.src_uri not in kept]
        for file in changed:
            self.read(file)
        for file in changed:
            self.write(file)
            if has_card(file.src_uri):
                plugins[PLUGIN].card(file.page, self.config).copy_file()
        for uri, html in kept.items():
            self.files.src_uris[uri].page.keep(html.anchors, html.links, self.files)
            index.keep(uri, html.search)
        for file in self.pages.values():
            file.page.validate_anchor_links(files=self.files, log_level=self.config.validation.links.anchors)
        self.write_search_index()
        return {file.src_uri: kept.get(file.src_uri) or self._html(file) for file in self.pages.values()}

    def _html(self, file: EditionFile) -> BuiltHtml:
        text = Path(file.abs_dest_path).read_text(encoding="utf-8")
        search = self.index.entries_of(file.src_uri)
        return BuiltHtml(outline(text), sorted(file.page.present_anchor_ids), file.page.links, search)

    def files_of(self, pages: Iterable[str]) -> Iterator[str]:
        """Yield the files of some pages: HTML, Markdown and card."""
        for uri in pages:
            file = self.files.src_uris[uri]
            yield from (file.dest_uri, file.twin_uri, *([card_uri(uri)] if has_card(uri) else []))

    def write_search_index(self) -> None:
        """Write the index of the pages that were written, or kept."""
        self.config.plugins[SEARCH].on_post_build(config=self.config)


class EditionSite:
    """The site of one language. `configure` loads its configuration."""

    _edition: Edition
    _context: _Context | None = None
    _shared: tuple[Mark, ...] = ()  # the settings and templates of all pages
    _frame: Hashable = None  # these, and whatever else every page shows

    def __init__(self, guide: Guide, code: str, configure: Callable[[], MkDocsConfig]) -> None:
        self._guide = guide
        self._code = code
        self._configure = configure

    # ── For the server ──────────────────────────────────────────────────────────────────────────────────────────────

    def build(self, path: str) -> Iterator[None]:
        """Build the file at `path` of the site of this language, if it is one that is missing or out of date.

        Yields where another file may be built first. Raises whatever is wrong with its sources.
        """
        context = self._current()
        path = f"{path.removesuffix('.md')}.html" if path.endswith(".md") else path  # both are written at once
        if path == SEARCH_INDEX:
            for page in context.pages:
                self._build_page(context, page)
                yield
                if self._context is not context:  # another request builds an index of newer pages
                    return
            context.write_search_index()
        elif path in context.pages:
            self._build_page(context, path)
        elif (name := path.removesuffix(".gz")) in context.config.theme.static_templates:
            context.write_template(name)
        elif path.startswith(EMITTED) and (file := self._edition.find(path)) and context.built.get(path) is not file:
            EditionFile.of(file, context.config).copy_file()
            context.built[path] = file

    def _current(self) -> _Context:
        """Return the context, a new one where something has changed that every page shows."""
        edition, shared = self._guide.edition(self._code), self._guide.settings
        if self._context is not None and edition is self._edition and shared == self._shared:
            return self._context
        frame = shared, *_frame(edition, self._guide.languages)
        if self._context is None or frame != self._frame:
            self._context, self._frame = _new_context(self._configure(), edition, whole_fonts(edition.language)), frame
        else:
            self._context.update(edition)
        self._edition, self._shared = edition, shared
        return self._context

    def _build_page(self, context: _Context, path: str) -> None:
        file = context.pages[path]
        if (before := context.built.get(path)) is file.source:
            return
        if before is None or before.content != file.source.content:
            context.read(file)
            context.write(file)
        context.built[path] = file.source

    # ── For a build ─────────────────────────────────────────────────────────────────────────────────────────────────

    def build_all(self, last: BuiltEdition, last_site: Path, digests: Digests, made_ahead: MadeAhead) -> BuiltEdition:
        """Build the site into an empty folder, and return what the next build should know of it.

        `last` is what the last build returned for the files in `last_site`; `made_ahead` has some files already.
        Raises whatever is wrong with the sources.
        """
        edition = self._guide.edition(self._code)
        frame = digest(*_frame(edition, self._guide.languages))
        last = last if last.frame == frame else BuiltEdition()
        markdown = {page.uri: _markdown(page, edition, last.markdown.get(page.uri), digests) for page in edition.pages}
        kept = {
            uri: last.html[uri]
            for uri, page in markdown.items()
            if uri in last.html and page.content == last.markdown[uri].content
        }
        emitted = edition.emitted_by(page for page in edition.pages if page.is_rendered)
        stay = {uri for page in markdown.values() for uri in page.emitted} - {file.uri for file in emitted}
        fonts = web_fonts(edition.language, {uri: page.letters for uri, page in markdown.items()})

        shared = [SiteFile(file.uri, partial(made_ahead.content_of, file)) for file in emitted if file.shared]
        others = *shared, *(file for file in emitted if not file.shared), *fonts
        context = _new_context(self._configure(), edition, others, stay)
        for known in last.html.values():
            context.index.learn(known.search)
        html = context.build_all(kept)
        link(Path(context.config.site_dir), last_site, (*stay, *context.files_of(kept)))
        return BuiltEdition(frame, markdown, html)


def _markdown(page: PageFile, edition: Edition, last: BuiltMarkdown | None, digests: Digests) -> BuiltMarkdown:
    """Return what is known of the Markdown of a page, which is rendered only where it may have changed."""
    if last and not page.is_rendered and last.is_that_of(page, digests):
        return last
    return rendered(page, [file.uri for file in edition.emitted_by([page])], digests)


def _frame(edition: Edition, languages: Iterable[Language]) -> tuple[Hashable, ...]:
    """Return what every page of a language shows besides settings and templates."""
    titles = tuple((page.uri, page.title or page.content) for page in edition.pages)  # or its first heading
    return edition.interface, titles, tuple(offers(languages).items())


def link(site: Path, last_site: Path, names: Iterable[str]) -> None:
    """Let files of the last site be files of this one as well, without a copy where the disk has links."""
    for name in names:
        path = site / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(last_site / name, path)
            except OSError:
                shutil.copy2(last_site / name, path)


def _new_context(
    config: MkDocsConfig, edition: Edition, others: Iterable[SiteFile], stay: Collection[str] = ()
) -> _Context:
    """Run MkDocs' own build as far as it comes before pages, and write the files that are no pages: all `others`, while
    those that `stay` are there already."""
    config = config.plugins.on_config(config)
    config.plugins.on_pre_build(config=config)
    files, env = get_files(config), config.theme.get_env()
    files.add_files_from_theme(env, config)
    files = config.plugins.on_files(files, config=config)
    for file in (*edition.pages, *others):
        files.append(EditionFile.of(file, config))
    for uri in stay:
        files.append(KeptFile.of(SiteFile(uri), config))
    set_exclusions(files, config)
    nav = config.plugins.on_nav(get_navigation(files, config), config=config, files=files)
    for file in files.documentation_pages():
        if file.source.title is None:  # its first heading is its title, for which it has to be converted
            read_page(file.page, config, files)
    env = config.plugins.on_env(env, config=config, files=files)
    files.copy_static_files(dirty=True)
    return _Context(config, files, nav, env, {file.dest_uri: file for file in files.documentation_pages()})
