"""The whole guide in memory: every page in every language, rendered again only where its sources changed.

In: the folder of the project. Out: one `Edition` per language, for an adapter to hand on (MkDocs, or a folder on disk).

    mkdocs build --strict
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from generator.language import LANGUAGES, Language, load_language
from generator.load import Results, load
from generator.pages import SiteFile, render

Mark = frozenset[tuple[str, int, int]]
"""Path, modification time in ns and size of each file that something was made from."""


@dataclass(frozen=True, eq=False)
class Edition:
    """The guide in one language: Markdown pages, charts and downloads, in the order they were rendered."""

    language: Language
    files: tuple[SiteFile, ...]

    def navigation(self, items: Iterable[Any]) -> list[Any]:
        """`nav` of mkdocs.yml with translated titles, and with the pages below it in place of each ``folder/``."""
        nav: list[Any] = []
        for item in items:
            if isinstance(item, dict):
                nav += [{self.language.gettext(title): self._below(entry)} for title, entry in item.items()]
            else:
                below = self._below(item)
                nav += below if isinstance(below, list) else [below]
        return nav

    def _below(self, entry: str | list[Any]) -> str | list[Any]:
        if not isinstance(entry, str):
            return self.navigation(entry)
        if not entry.endswith("/"):
            return entry
        pages = [file.uri for file in self.files if file.uri.startswith(entry) and file.uri.endswith(".md")]
        return sorted(pages, key=lambda uri: uri != f"{entry}index.md")  # the section's own page first


class Guide:
    """The last good editions of one project.

    `editions` and the `results` in them are replaced as a whole by a successful `update` and left alone by a failed
    one, so that who shows the guide while it is being written always has something to show.
    """

    editions: Mapping[str, Edition]
    results: Results | None

    def __init__(self, root: Path) -> None:
        self.editions = {}
        self.results = None
        self._docs = root / "docs"
        self._results = root / "bench" / "results"
        self._locales = root / "locales"
        self._templates = root / "generator" / "templates"
        self._loaded: tuple[Mark, Results] | None = None
        self._rendered: dict[str, tuple[Results, tuple[Mark, ...], Edition]] = {}

    def update(self) -> None:
        """Bring every edition up to date with its sources; `AtlasError` when one of them cannot be."""
        results = self._load(_mark(self._results))
        self.editions, self.results = {code: self._edition(code, results) for code in LANGUAGES}, results

    def _edition(self, code: str, results: Results) -> Edition:
        mark = (_mark(self._docs, "*.md"), _mark(self._locales / code), _mark(self._templates))
        known = self._rendered.get(code)
        if known is None or known[0] is not results or known[1] != mark:
            language = load_language(code, self._locales)
            files = tuple(render(language, results, self._docs))
            known = self._rendered[code] = (results, mark, Edition(language, files))
        return known[2]

    def _load(self, mark: Mark) -> Results:
        if self._loaded is None or self._loaded[0] != mark:
            self._loaded = (mark, load(self._results))
        return self._loaded[1]


@cache
def guide_of(root: Path) -> Guide:
    """The one `Guide` of a project in this process: rebuilds while serving keep what they can."""
    return Guide(root)


def _mark(folder: Path, pattern: str = "*") -> Mark:
    return frozenset(_stamps(folder, pattern))


def _stamps(folder: Path, pattern: str) -> Iterator[tuple[str, int, int]]:
    for path in folder.rglob(pattern):
        with contextlib.suppress(FileNotFoundError):  # an editor's temporary file, gone since it was listed
            status = path.stat()
            yield str(path), status.st_mtime_ns, status.st_size
