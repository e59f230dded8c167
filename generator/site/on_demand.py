"""The pages of one language while somebody edits them: a file of the site is built when a browser asks for it.

Takes the guide and the configuration of the language. The files are byte for byte those of a build, except
for fonts, which have all characters, and social cards, which are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

import jinja2
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files, get_files, set_exclusions
from mkdocs.structure.nav import Navigation, get_navigation

from generator.pages.guide import Edition, Guide, Mark
from generator.pages.site_file import BADGES, CHARTS, DATA, SiteFile, page_path
from generator.site.mkdocs_files import EditionFile
from generator.site.mkdocs_internals import read_page, write_page, write_theme_template

SEARCH_INDEX = "search/search_index.json"

EMITTED = (f"{BADGES}/", f"{CHARTS}/", f"{DATA}/")
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


class OnDemandPages:
    """The pages of one language. `configure` loads its configuration."""

    _edition: Edition
    _context: _Context | None = None
    _shared: tuple[Mark, ...] = ()  # the settings and templates of all pages
    _settings: Hashable = None  # these, and whatever else every page shows

    def __init__(self, guide: Guide, code: str, configure: Callable[[], MkDocsConfig]) -> None:
        self._guide = guide
        self._code = code
        self._configure = configure

    def listed(self) -> list[str]:
        """Return the files of the pages in the navigation, which are those of no single model."""
        pages = self._guide.edition(self._code).pages if self._guide.languages else ()
        return [
            f"{page_path(page.uri)}index.html" for page in pages if not page.item or page.uri.startswith("devices/")
        ]

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
            context.config.plugins["material/search"].on_post_build(config=context.config)
        elif path in context.pages:
            self._build_page(context, path)
        elif path in context.config.theme.static_templates:  # what lists all pages or records
            write_theme_template(path, context.config, context.files, context.nav, context.env)
        elif path.startswith(EMITTED) and (file := self._edition.find(path)) and context.built.get(path) is not file:
            EditionFile.of(file, context.config).copy_file()
            context.built[path] = file

    def _current(self) -> _Context:
        """Return the context, a new one where something has changed that every page shows."""
        edition, shared = self._guide.edition(self._code), self._guide.settings
        if self._context is not None and edition is self._edition and shared == self._shared:
            return self._context
        titles = tuple((page.uri, page.title or page.content) for page in edition.pages)  # or its first heading
        settings = shared, edition.interface, titles
        if self._context is None or settings != self._settings:
            self._context, self._settings = _new_context(self._configure()), settings
        else:
            self._context.update(edition)
        self._edition, self._shared = edition, shared
        return self._context

    def _build_page(self, context: _Context, path: str) -> None:
        file = context.pages[path]
        if (before := context.built.get(path)) is file.source:
            return
        if before is None or before.content != file.source.content:
            read_page(file.page, context.config, context.files)
            write_page(file.page, context.config, context.files, context.nav, context.env)
        context.built[path] = file.source


def _new_context(config: MkDocsConfig) -> _Context:
    """Run MkDocs' own build as far as it comes before pages, and write the files that are no pages."""
    config = config.plugins.on_config(config)
    config.plugins.on_pre_build(config=config)
    files, env = get_files(config), config.theme.get_env()
    files.add_files_from_theme(env, config)
    files = config.plugins.on_files(files, config=config)
    set_exclusions(files, config)
    nav = config.plugins.on_nav(get_navigation(files, config), config=config, files=files)
    for file in files.documentation_pages():
        if file.source.title is None:  # its first heading is its title, for which it has to be converted
            read_page(file.page, config, files)
    env = config.plugins.on_env(env, config=config, files=files)
    files.copy_static_files(dirty=True)
    for template in config.theme.static_templates:
        write_theme_template(template, config, files, nav, env)
    return _Context(config, files, nav, env, {file.dest_uri: file for file in files.documentation_pages()})
