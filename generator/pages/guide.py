"""The guide in memory: the sources of a project, and an edition of them for each language.

Takes the folder of the project. `Guide.update` reads what has changed; `Guide.edition` returns an `Edition`. Its pages
are rendered when their content is first read.
"""

from __future__ import annotations

import posixpath
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import AtlasError, unusable
from generator.languages.language import Language, listed, load_language, without_catalog
from generator.languages.page_source import PageSource, mkdocs_yml, read_pages
from generator.pages.expressions import Expressions
from generator.pages.pages import PageFile, emitted_by, expressions_of, render_pages
from generator.pages.site_file import EMITTED, SiteFile

if TYPE_CHECKING:
    from generator.data.load import Results

Snapshot = frozenset[tuple[str, int, int]]
"""Path, time of change and size of each file of a folder: equal as long as nothing has changed."""


@dataclass(frozen=True, eq=False)
class Edition:
    """The guide in one language."""

    language: Language
    pages: tuple[PageFile, ...]

    @property
    def files(self) -> tuple[SiteFile, ...]:
        """All pages. With them in the source language, the charts and downloads that all languages share."""
        return (*self.pages, *(() if self.language.prefix else emitted_by(self.pages)))

    def navigation(self, items: Iterable[Any]) -> list[Any]:
        """Return `nav` of mkdocs.yml with translated titles, and each ``folder/`` replaced by the pages below it."""
        nav: list[Any] = []
        for item in items:
            if isinstance(item, dict):
                nav += [{str(self.language.gettext(title)): self._below(entry)} for title, entry in item.items()]
            else:
                nav += below if isinstance(below := self._below(item), list) else [below]
        return nav

    def _below(self, entry: str | list[Any]) -> Any:
        if not isinstance(entry, str):
            return self.navigation(entry)
        if not entry.endswith("/"):
            return self._titled(entry)
        index = f"{entry}index.md"
        uris = [page.uri for page in self.pages if page.uri.startswith(entry)]
        listed = [uri for uri in uris if uri == index or f"{posixpath.dirname(uri)}/" not in self._crowded]
        return [self._titled(uri) for uri in sorted(listed, key=lambda uri: uri != index)]  # the section's page first

    def _titled(self, uri: str) -> str | dict[str, str]:
        """Return a page with its title, which a builder then knows before it reads the page."""
        title = next((page.title for page in self.pages if page.uri == uri), None)
        return {title: uri} if title else uri

    @property
    def unlisted(self) -> str:
        """Patterns, as in a .gitignore, of pages outside the navigation, to which other pages lead."""
        return "".join(f"/{folder}*\n!/{folder}*/\n!/{folder}index.md\n" for folder in self._crowded)

    @cached_property
    def _crowded(self) -> list[str]:
        """Folders with so many devices, models or families that an index and the pages of groups lead to them: a
        navigation stands on every page."""
        from generator.pages import atlas

        folders = Counter(posixpath.dirname(page.uri) for page in self.pages if page.item)
        return [f"{folder}/" for folder, count in sorted(folders.items()) if count > atlas.FEW]


class Guide:
    """The last good sources of one project.

    A successful `update` replaces all sources, and a failed one changes none, so that a preview always has something to
    show. A catalog that cannot be read is a fault of its language alone: the others go on.
    """

    has_folders = True
    """Whether a page ``a.md`` is served as ``a/``, not as ``a.html``: `use_directory_urls` of MkDocs."""
    settings: Mapping[str, Any]
    """The settings in mkdocs.yml."""
    languages: tuple[Language, ...] = ()
    faults: Mapping[str, AtlasError] = {}
    """Why the newest catalog of a language cannot be used, by its code. Its last good one stays."""
    results: Results
    """The records that all editions show."""
    own_runs: Callable[[], frozenset[str]] = frozenset
    """Returns the runs whose devices come first: in a preview, those that the reader measured."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._pages: tuple[PageSource, ...] = ()
        self._templates: Snapshot = frozenset()
        self._editions: dict[str, Edition] = {}

    def update(self) -> None:
        """Bring all sources up to date with their files. Raises `AtlasError` where all languages lack one."""
        settings = mkdocs_yml(self.root)
        pages = tuple(read_pages(self.root / "docs", settings))
        folder = self.root / "bench" / "results"
        results = _results(folder, snapshot(folder), self.own_runs())
        last = {language.code: language for language in self.languages}
        languages: list[Language] = []
        faults: dict[str, AtlasError] = {}
        for code in listed(self.root / "locales").languages:
            try:
                languages.append(_language(self.root / "locales", code, snapshot(self.root / "locales" / code)))
            except (AtlasError, OSError) as error:
                faults[code] = error if isinstance(error, AtlasError) else unusable(error)
                languages.append(last.get(code) or without_catalog(code))
        self.settings, self._pages = settings, pages
        self.results, self.languages, self.faults = results, tuple(languages), faults
        self._templates = snapshot(self.root / "generator" / "templates")
        self._editions = {}

    def edition(self, code: str) -> Edition:
        """Return the newest edition of a language. Raises `AtlasError` where its catalog cannot be read."""
        if code not in self._editions:
            language = next(each for each in self.languages if each.code == code)
            if code in self.faults and language.catalog is None:
                raise self.faults[code]
            expressions = _expressions(self.results, language, self._templates, self.has_folders)
            self._editions[code] = Edition(language, tuple(render_pages(language, expressions, self._pages)))
        return self._editions[code]

    def find(self, uri: str) -> SiteFile | None:
        """Return a chart or download that a page of any language asks for. Pages that are rendered come first, and
        those of single models last."""
        if not uri.startswith(EMITTED):
            return None
        pages = [page for edition in self._editions.values() for page in edition.pages]
        by_effort = sorted(pages, key=lambda page: (not page.is_rendered, bool(page.item)))
        return next((file for page in by_effort for file in page.emitted if file.uri == uri), None)


def snapshot(folder: Path) -> Snapshot:
    """Return the state of the files below a folder."""
    states: set[tuple[str, int, int]] = set()
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # an editor's temporary file, gone since it was listed
            state = path.stat()
            if stat.S_ISREG(state.st_mode):
                states.add((str(path), state.st_mtime_ns, state.st_size))
    return frozenset(states)


@lru_cache(maxsize=1)
def _results(folder: Path, _snapshot: Snapshot, own_runs: frozenset[str]) -> Results:
    from generator.data.load import load

    return load(folder, own_runs=own_runs)


@lru_cache(maxsize=64)
def _language(locales: Path, code: str, _snapshot: Snapshot) -> Language:
    return load_language(code, locales)


@lru_cache(maxsize=64)
def _expressions(results: Results, language: Language, _templates: Snapshot, has_folders: bool) -> Expressions:
    """Return the expressions of a language, whose computed values serve all of its pages."""
    return expressions_of(results, language, has_folders=has_folders)
