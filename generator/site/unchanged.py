"""Whether a site that was built is what its sources would give again: then there is nothing to build.

In: the settings of a build, and the project they belong to. Out: a note below ``.cache/sites`` of what the site was
made from and of what it is made of. A file counts as unchanged by its time and size, else by its content; after the
machine was started again nothing does, since a power cut leaves files of that size with nothing in them.

    mkdocs build --strict
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

from bench.machine import boot
from generator.cache import CACHE, put

SOURCES = ("mkdocs.yml", "docs", "locales", "bench", "generator")
"""What a site is made from, below the folder of the project."""

LIBRARIES = (
    *("babel", "brotli", "fonttools", "jieba", "jinja2", "markdown", "matplotlib", "mkdocs", "mkdocs-material"),
    *("msgspec", "numpy", "pillow", "polib", "pygments", "pymdown-extensions", "uharfbuzz"),
)
"""Those whose version can be seen in the site."""

Files = dict[str, list[Any]]
"""Path → time of change in ns, size, and of a source the digest of its content."""


class Unchanged:
    """One site, and its note."""

    def __init__(self, config: MkDocsConfig) -> None:
        self._site = Path(config.site_dir)
        self._root = Path(config.config_file_path).parent
        self._settings = _settings(config)
        self._note = _note_of(self._site)
        self._known = _read(self._note)
        self._sources = dict(_with_digests(self._root, _files(self._root, SOURCES), self._known.get("sources", {})))

    def __bool__(self) -> bool:
        """Whether the site is there, whole, and would come out the same."""
        return (
            self._known.get("settings") == self._settings
            and _contents(self._known["sources"]) == _contents(self._sources)
            and self._known["site"] == dict(_files(self._site, ("",)))
            and bool(self._known["site"])
        )

    def remember(self) -> None:
        """That the site was just made from the sources as they were when this was made."""
        note = {
            "folder": str(self._site),
            "settings": self._settings,
            "sources": self._sources,
            "site": dict(_files(self._site, ("",))),
        }
        put(self._note, json.dumps(note).encode())
        with suppress(OSError):
            for path in self._note.parent.glob("*.json"):
                if not Path(_read(path).get("folder", "")).exists():
                    path.unlink()

    def forget(self) -> None:
        """The site is about to change."""
        with suppress(OSError):
            self._note.unlink(missing_ok=True)


def _note_of(site: Path) -> Path:
    return CACHE / "sites" / f"{hashlib.sha256(str(site).encode()).hexdigest()[:16]}.json"


def _read(note: Path) -> dict[str, Any]:
    """A note, empty where there is none or it is damaged."""
    try:
        found: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        return found if found.keys() == {"folder", "settings", "sources", "site"} else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _settings(config: MkDocsConfig) -> str:
    """What decides about the site besides files."""
    told = {
        "address": config.site_url,
        "folders": config.use_directory_urls,
        "strict": config.strict,
        "extra": config.extra,
        "boot": boot(),
        "date": os.environ.get("SOURCE_DATE_EPOCH", "0"),
        "python": sys.version,
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }
    return json.dumps(told, sort_keys=True, default=str)


def _files(root: Path, below: Iterable[str]) -> Iterator[tuple[str, list[Any]]]:
    """Path, and time of change and size, of every file."""
    for name in below:
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            with suppress(FileNotFoundError):
                if path.is_file() and "__pycache__" not in path.parts:
                    status = path.stat()
                    yield path.relative_to(root).as_posix(), [status.st_mtime_ns, status.st_size]


def _with_digests(root: Path, files: Iterable[tuple[str, list[Any]]], known: Files) -> Iterator[tuple[str, list[Any]]]:
    for path, status in files:
        before = known.get(path, [])
        if before[:2] != status:
            with suppress(FileNotFoundError):
                before = [*status, hashlib.sha256((root / path).read_bytes()).hexdigest()]
        yield path, before


def _contents(sources: Files) -> dict[str, str]:
    return {path: entry[-1] for path, entry in sources.items() if entry}
