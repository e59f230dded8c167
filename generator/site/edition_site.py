"""The site of one language: the one way in which a page is made, for the server as for a build.

Takes the guide and the configuration of the language. The server builds a file when a browser asks for it (`build`),
and a build all of them (`build_all`). What the server shows is byte for byte what a build writes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

import jinja2
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files, get_files, set_exclusions
from mkdocs.structure.nav import Navigation, get_navigation

from generator.languages.language import Language
from generator.pages.guide import Edition, Guide, Mark
from generator.pages.site_file import CARDS, CHARTS, DATA, SiteFile
from generator.site.mkdocs_files import EditionFile
from generator.site.mkdocs_internals import read_page, write_page, write_theme_template
from generator.site.search_index import SearchIndex
from generator.site.theme import offers

SEARCH = "material/search"
SEARCH_INDEX = "search/search_index.json"

EMITTED = (f"{CHARTS}/", f"{DATA}/", f"{CARDS}/")
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

    def build_all(self) -> dict[str, bytes]:
        """Build all pages, and the search index. Links between all pages are checked. Returns the outline of each page,
        by its file."""
        for template in self.config.theme.static_templates:
            self.write_template(template)
        for file in self.pages.values():
            self.read(file)
        for file in self.pages.values():
            self.write(file)
        for file in self.pages.values():
            file.page.validate_anchor_links(files=self.files, log_level=self.config.validation.links.anchors)
        self.write_search_index()
        return dict.fromkeys(self.pages, b"")

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
        elif path.startswith(EMITTED) and (file := self._guide.find(path)) and context.built.get(path) is not file:
            EditionFile.of(file, context.config).copy_file()
            context.built[path] = file

    def _current(self) -> _Context:
        """Return the context, a new one where something has changed that every page shows."""
        edition, shared = self._guide.edition(self._code), self._guide.settings
        if self._context is not None and edition is self._edition and shared == self._shared:
            return self._context
        frame = shared, *_frame(edition, self._guide.languages)
        if self._context is None or frame != self._frame:
            self._context, self._frame = _new_context(self._configure(), edition), frame
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

    def build_all(self) -> dict[str, bytes]:
        """Build the site into an empty folder, and return the outline of each page, by its file.

        Raises whatever is wrong with the sources.
        """
        edition = self._guide.edition(self._code)
        return _new_context(self._configure(), edition, edition.emitted).build_all()


def _frame(edition: Edition, languages: Iterable[Language]) -> tuple[Hashable, ...]:
    """Return what every page of a language shows besides settings and templates."""
    titles = tuple((page.uri, page.title or page.content) for page in edition.pages)  # or its first heading
    return edition.interface, titles, tuple(offers(languages).items())


def _new_context(config: MkDocsConfig, edition: Edition, others: Iterable[SiteFile] = ()) -> _Context:
    """Run MkDocs' own build as far as it comes before pages, and write the `others`: files that are no pages."""
    config = config.plugins.on_config(config)
    config.plugins.on_pre_build(config=config)
    files, env = get_files(config), config.theme.get_env()
    files.add_files_from_theme(env, config)
    files = config.plugins.on_files(files, config=config)
    for file in (*edition.pages, *others):
        files.append(EditionFile.of(file, config))
    set_exclusions(files, config)
    nav = config.plugins.on_nav(get_navigation(files, config), config=config, files=files)
    for file in files.documentation_pages():
        if file.source.title is None:  # its first heading is its title, for which it has to be converted
            read_page(file.page, config, files)
    env = config.plugins.on_env(env, config=config, files=files)
    files.copy_static_files(dirty=True)
    return _Context(config, files, nav, env, {file.dest_uri: file for file in files.documentation_pages()})
