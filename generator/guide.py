"""The whole guide in memory: every page in every language, rendered again only where its sources changed.

In: the folder of the project. Out: one `Edition` per language, for an adapter to hand on (MkDocs, or a folder on disk).

    mkdocs build --strict
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from generator.language import LANGUAGES, Language, load_language
from generator.load import Results, load
from generator.pages import SiteFile, render

Made = TypeVar("Made")

Mark = frozenset[tuple[str, bytes]]
"""Path and digest of each file that something was made from."""


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
        pages = [file.uri for file in self.files if file.uri.startswith(entry) and file.uri.endswith(".md")]
        return sorted(pages, key=lambda uri: uri != f"{entry}index.md")  # the section's own page first


class Guide:
    """The last good editions of one project.

    `editions` and the `results` in them are replaced as a whole by a successful `update` and left alone by a failed
    one, so that who shows the guide while it is being written always has something to show.
    """

    editions: Mapping[str, Edition]
    results: Results | None

    def __init__(self, root: Path, codes: tuple[str, ...] = LANGUAGES) -> None:
        self.editions = {}
        self.results = None
        self._codes = codes
        self._docs = root / "docs"
        self._results = root / "bench" / "results"
        self._locales = root / "locales"
        self._templates = root / "generator" / "templates"
        self._made: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def update(self) -> None:
        """Bring every edition up to date with its sources; `AtlasError` when one of them cannot be."""
        results = self._keep("results", (mark(self._results),), lambda: load(self._results))
        languages = [self._language(code) for code in self._codes]
        self.editions, self.results = {each.code: self._edition(each, results) for each in languages}, results

    def _language(self, code: str) -> Language:
        folder = self._locales / code
        return self._keep(f"language {code}", (mark(folder),), lambda: load_language(code, self._locales))

    def _edition(self, language: Language, results: Results) -> Edition:
        sources = (language, results, mark(self._docs, "*.md"), mark(self._templates))
        make = lambda: Edition(language, tuple(render(language, results, self._docs)))  # noqa: E731
        return self._keep(f"edition {language.code}", sources, make)

    def _keep(self, name: str, sources: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """What was made from the same sources before, else what `make` makes."""
        known = self._made.get(name)
        if known is None or known[0] != sources:
            known = self._made[name] = (sources, make())
        made: Made = known[1]
        return made


@cache
def guide_of(root: Path, codes: tuple[str, ...] = LANGUAGES) -> Guide:
    """The one `Guide` of a project in this process: rebuilds while serving keep what they can."""
    return Guide(root, codes)


def mark(path: Path, pattern: str = "*") -> Mark:
    """The content of a file, or of the files of a folder that match `pattern`."""
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
