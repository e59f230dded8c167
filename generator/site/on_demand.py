"""One language of the guide while somebody writes: a file of its site is made when a browser asks for it.

In: the guide, and the settings of the language. Out: files in a folder, each as new as its sources, byte for byte as a
build of everything would write them but for fonts, which hold all characters, and for social cards, which nobody sees.

    mkdocs serve
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

import jinja2
from mkdocs.commands.build import _build_page, _build_theme_template, _populate_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files, get_files, set_exclusions
from mkdocs.structure.nav import Navigation, get_navigation

from generator.pages.guide import Edition, Guide, Mark
from generator.pages.site_file import CHARTS, DATA, SiteFile
from generator.site.mkdocs_files import EditionFile

SEARCH_INDEX = "search/search_index.json"

EMITTED = (f"{CHARTS}/", f"{DATA}/")
"""Where the files lie that pages emit."""


@dataclass
class _Frame:
    """What MkDocs needs to build any page of a language: all but the pages themselves."""

    config: MkDocsConfig
    files: Files
    nav: Navigation
    env: jinja2.Environment
    pages: dict[str, EditionFile]  # by the path of what they become
    built: dict[str, SiteFile] = field(default_factory=dict)  # by path: what is in the folder now

    def take(self, edition: Edition) -> None:
        """From now on, the pages are those of this edition."""
        self.env = self.config.plugins.on_env(self.env, config=self.config, files=self.files)
        for page in edition.pages:
            self.files.src_uris[page.uri].source = page


class Desk:
    """One language. `configure` loads its configuration."""

    _edition: Edition
    _frame: _Frame | None = None
    _shared: tuple[Mark, ...] = ()  # what pages are built with
    _settings: Hashable = None  # that, and whatever else every page shows

    def __init__(self, guide: Guide, code: str, configure: Callable[[], MkDocsConfig]) -> None:
        self._guide = guide
        self._code = code
        self._configure = configure

    def bring(self, path: str) -> Iterator[None]:
        """Make the file at `path` of the site of this language, if it is one that is not made yet, or not any more.

        Yields where something else may be made first. Raises whatever is wrong with its sources.
        """
        frame = self._current()
        if path == SEARCH_INDEX:
            for each in frame.pages:
                self._build(frame, each)
                yield
                if self._frame is not frame:  # an index of other pages is being made elsewhere
                    return
            frame.config.plugins["material/search"].on_post_build(config=frame.config)
        elif path in frame.pages:
            self._build(frame, path)
        elif path.startswith(EMITTED) and (file := self._edition.find(path)) and frame.built.get(path) is not file:
            EditionFile.of(file, frame.config).copy_file()
            frame.built[path] = file

    def _current(self) -> _Frame:
        """The frame, made anew where something has changed that every page shows."""
        edition, shared = self._guide.edition(self._code), self._guide.settings
        if self._frame is not None and edition is self._edition and shared == self._shared:
            return self._frame
        titles = tuple((page.uri, page.title or page.content) for page in edition.pages)  # or its first heading
        settings = shared, edition.interface, titles
        if self._frame is None or settings != self._settings:
            self._frame, self._settings = _frame(self._configure()), settings
        else:
            self._frame.take(edition)
            if edition.newest != self._edition.newest:  # at the foot of every page
                self._frame.built.clear()
        self._edition, self._shared = edition, shared
        return self._frame

    def _build(self, frame: _Frame, path: str) -> None:
        file = frame.pages[path]
        if (before := frame.built.get(path)) is file.source:
            return
        if before is None or before.content != file.source.content:
            _populate_page(file.page, frame.config, frame.files)
            _build_page(file.page, frame.config, frame.files.documentation_pages(), frame.nav, frame.env)
        frame.built[path] = file.source


def _frame(config: MkDocsConfig) -> _Frame:
    """The beginning of MkDocs' own build, as far as it comes before pages, and the files that are no pages."""
    config = config.plugins.on_config(config)
    config.plugins.on_pre_build(config=config)
    files, env = get_files(config), config.theme.get_env()
    files.add_files_from_theme(env, config)
    files = config.plugins.on_files(files, config=config)
    set_exclusions(files, config)
    nav = config.plugins.on_nav(get_navigation(files, config), config=config, files=files)
    for file in files.documentation_pages():
        if file.source.title is None:  # its first heading is its title, for which it has to be converted
            _populate_page(file.page, config, files)
    env = config.plugins.on_env(env, config=config, files=files)
    files.copy_static_files(dirty=True)
    for template in config.theme.static_templates:
        _build_theme_template(template, env, files, config, nav)
    return _Frame(config, files, nav, env, {file.dest_uri: file for file in files.documentation_pages()})
