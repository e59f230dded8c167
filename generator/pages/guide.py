"""The whole guide in memory: every page in every language, rendered again only where its sources changed.

Takes the folder of the project and returns one `Edition` per language.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bench.errors import AtlasError, unusable
from generator.languages.language import Language, load_language, published_languages, without_catalog
from generator.pages.pages import PageFile, emitted_by, expressions_of, render_pages
from generator.pages.site_file import SiteFile

if TYPE_CHECKING:
    from generator.data.load import Results

Made = TypeVar("Made")

Mark = frozenset[tuple[str, bytes]]
"""Path and digest of each file that something was made from."""

SETTINGS = ("mkdocs.yml", "docs/theme", "docs/assets")
"""What all pages are built with. The guide doesn't read them; builders of pages compare them."""


_EDITION = "edition "


@dataclass(frozen=True, eq=False)
class Edition:
    """The guide in one language. A page is rendered when its content is first asked for."""

    language: Language
    pages: tuple[PageFile, ...]
    interface: Hashable  # the translations that are not text of one page

    @property
    def files(self) -> tuple[SiteFile, ...]:
        """All pages, and the charts and downloads that they ask for: every page is rendered."""
        return (*self.pages, *self.emitted)

    @cached_property
    def emitted(self) -> tuple[SiteFile, ...]:
        """Charts and downloads of all pages. Only the source language has any: the others use the same files."""
        return () if self.language.prefix else tuple(emitted_by(self.pages))

    def navigation(self, items: Iterable[Any]) -> list[Any]:
        """Return `nav` of mkdocs.yml with translated titles, and each ``folder/`` replaced by the pages below it."""
        nav: list[Any] = []
        for item in items:
            if isinstance(item, dict):
                nav += [{str(self.language.gettext(title)): self._below(entry)} for title, entry in item.items()]
            else:
                below = self._below(item)
                nav += below if isinstance(below, list) else [below]
        return nav

    def _below(self, entry: str | list[Any]) -> str | list[Any]:
        if not isinstance(entry, str):
            return self.navigation(entry)
        if not entry.endswith("/"):
            return entry
        pages = [page.uri for page in self.pages if page.uri.startswith(entry)]
        index = f"{entry}index.md"
        pages = [uri for uri in pages if uri == index or f"{posixpath.dirname(uri)}/" not in self._crowded]
        return sorted(pages, key=lambda uri: uri != index)  # the section's own page first

    @property
    def unlisted(self) -> list[str]:
        """Patterns, as in a .gitignore, of pages outside the navigation, to which other pages lead."""
        return [pattern for each in self._crowded for pattern in (f"/{each}*", f"!/{each}*/", f"!/{each}index.md")]

    @cached_property
    def _crowded(self) -> list[str]:
        """Folders with so many devices, models or families that an index and the pages of groups lead to them: a
        navigation stands on every page."""
        from generator.pages import atlas

        folders = Counter(posixpath.dirname(page.uri) for page in self.pages if page.item)
        return [f"{folder}/" for folder, count in sorted(folders.items()) if count > atlas.FEW]


class Guide:
    """The last good sources of one project, and an edition of them for each language.

    A successful `update` replaces all sources, and a failed one changes none, so that a preview always has something to
    show. A catalog that cannot be read is a fault of its language alone: the others go on.
    """

    address = ""
    """That of the site, for what is shown elsewhere; "" if it does not know its own."""
    languages: tuple[Language, ...] = ()
    faults: Mapping[str, AtlasError] = {}
    """Why the newest catalog of a language cannot be used, by its code. Its last good one stays."""
    settings: tuple[Mark, ...] = ()
    own_runs: Callable[[], frozenset[str]] = frozenset
    """Returns the runs whose devices come first: in a preview, those that the reader measured."""

    def __init__(self, root: Path, codes: tuple[str, ...] | None = None) -> None:
        self.root = root
        self._codes = published_languages() if codes is None else codes
        self._docs = root / "docs"
        self._locales = root / "locales"
        self._sources: tuple[Any, ...] = ()
        self._made: dict[str, tuple[tuple[Any, ...], Any]] = {}
        self._last: dict[str, tuple[tuple[Any, ...], tuple[PageFile, ...]]] = {}

    def update(self) -> None:
        """Bring results and languages up to date with their files. Raises `AtlasError` where all languages lack one."""
        self.settings = tuple(mark(self.root / each) for each in SETTINGS)
        from generator.data.load import load

        folder = self.root / "bench" / "results"
        own = self.own_runs()
        results = self._keep("results", (mark(folder), own), lambda: load(folder, own_runs=own))
        faults: dict[str, AtlasError] = {}
        languages = tuple(self._language(code, faults) for code in self._codes)
        templates = mark(self.root / "generator" / "templates")
        self._sources = results, templates, self.address, mark(self._docs, "*.md"), mark(self._locales)
        self.languages, self.faults = languages, faults

    @property
    def results(self) -> Results:
        """The records that all editions show."""
        results: Results = self._sources[0]
        return results

    def edition(self, code: str) -> Edition:
        """Return the edition of a language. Raises `AtlasError` where there can't be one."""
        if code in self.faults and self._catalog(code) not in self._made:
            raise self.faults[code]
        language = next(each for each in self.languages if each.code == code)
        return self._keep(f"{_EDITION}{code}", (language, *self._sources), lambda: self._new_edition(language))

    def find(self, uri: str) -> SiteFile | None:
        """Return a chart or download that a page of any language asks for. Pages that are rendered come first, and
        those of single models last."""
        made = (each for name, each in self._made.items() if name.startswith(_EDITION))
        editions = [edition for (_, *sources), edition in made if tuple(sources) == self._sources]
        pages = [page for edition in editions for page in edition.pages]
        by_effort = sorted(pages, key=lambda page: (not page.is_rendered, bool(page.item)))
        return next((file for page in by_effort for file in page.emitted if file.uri == uri), None)

    def _language(self, code: str, faults: dict[str, AtlasError]) -> Language:
        """Return a language with its newest catalog, or with the last good one, and why."""
        sources, name = (mark(self._locales / code),), self._catalog(code)
        try:
            return self._keep(name, sources, lambda: load_language(code, self._locales))
        except AtlasError as error:
            faults[code] = error
        except OSError as error:
            faults[code] = unusable(error)
        last: Language = self._made[name][1] if name in self._made else without_catalog(code)
        return last

    @staticmethod
    def _catalog(code: str) -> str:
        return f"language {code}"

    def _new_edition(self, language: Language) -> Edition:
        """Return an edition that keeps those pages of the last one that did not change."""
        results, templates, address, *_ = self._sources
        made_from = results, language, templates, address
        name = f"expressions {language.code}"
        expressions = self._keep(name, made_from, lambda: expressions_of(results, language, address))
        pages = tuple(render_pages(language, expressions, self._docs))
        shared = _interface(language, pages), expressions
        before, last = self._last.get(language.code, ((), ()))
        known = {page.uri: page for page in last} if before == shared else {}
        pages = tuple(_kept(page, known.get(page.uri)) for page in pages)
        self._last[language.code] = shared, pages
        return Edition(language, pages, shared[0])

    def _keep(self, name: str, sources: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """Return what was made from the same sources before, else what `make` returns."""
        known = self._made.get(name)
        if known is None or known[0] != sources:
            known = self._made[name] = (sources, make())
        made: Made = known[1]
        return made


def _interface(language: Language, pages: Iterable[PageFile]) -> Hashable:
    sources = {id(page.translated): page.translated.source for page in pages}.values()
    texts = {(None, block.message) for source in sources for block in source.document.blocks}
    texts.update((None, message) for source in sources for message in source.front.messages.values())
    return tuple(sorted((each for each in language.messages.items() if each[0] not in texts), key=repr))


def _kept(page: PageFile, known: PageFile | None) -> PageFile:
    """Return the known page if it was made from the same text."""
    return page if known is None or known.translated != page.translated else known


@cache
def guide_of(root: Path, codes: tuple[str, ...] | None = None) -> Guide:
    """Return the one `Guide` of a project in this process: rebuilds while serving keep what they can."""
    return Guide(root, codes)


def mark(path: Path, pattern: str = "*") -> Mark:
    """Return the digests of a file, or of the files of a folder that match `pattern`."""
    return frozenset(_digests(path.rglob(pattern) if path.is_dir() else [path]))


def _digests(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # an editor's temporary file, gone since it was listed
            status = path.stat()
            if path.is_file():
                yield str(path), _digest(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=10_000)
def _digest(path: Path, _modified_ns: int, _size: int) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
