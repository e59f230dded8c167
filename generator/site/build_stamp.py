"""The stamp of a built site: what it was built from, so that nothing is built again that is unchanged.

Takes the settings of a build and the project they belong to; keeps two files per site below ``.cache/sites``. A
file counts as unchanged by its time and size, else by its content. After a restart of the machine no site does: a power
cut leaves files of the right size with nothing in them.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from mkdocs.config.defaults import MkDocsConfig

from generator.cache import CACHE, put
from generator.site.last_build import BuiltEdition

SOURCES = ("mkdocs.yml", "docs", "locales", "bench", "generator")
"""The sources of a site, below the folder of the project."""

LIBRARIES = (
    *("babel", "brotli", "duckdb", "fonttools", "jieba", "jinja2", "markdown", "matplotlib", "mkdocs"),
    *("mkdocs-material", "msgspec", "numpy", "pandas", "pillow", "polib", "pygments", "pymdown-extensions"),
    "uharfbuzz",
)
"""Libraries whose version can change the site."""

EDITIONS = ".editions"
"""The suffix of the file with what was built of each language, beside the stamp."""

Files = dict[str, list[Any]]
"""Path → time of change in ns, size and, for a source, the digest of its content."""


class BuildStamp:
    """The stamp of one site. True where the site is there, whole, and would be built the same."""

    def __init__(self, config: MkDocsConfig) -> None:
        self._site = Path(config.site_dir)
        self._root = Path(config.config_file_path).parent
        self._settings = _settings(config)
        self._path = _path_of(self._site)
        self._editions_path = self._path.with_suffix(EDITIONS)
        self._known = _read(self._path)
        self._sources = dict(_with_digests(self._root, _files(self._root, SOURCES), self._known.get("sources", {})))

    def __bool__(self) -> bool:
        return self._is_whole and _contents(self._known["sources"]) == _contents(self._sources)

    @cached_property
    def _is_whole(self) -> bool:
        """Whether the site is as it was built, with the settings of this build."""
        return (
            self._known.get("settings") == self._settings
            and self._known["site"] == dict(_files(self._site, ("",)))
            and bool(self._known["site"])
        )

    @property
    def editions(self) -> Mapping[str, BuiltEdition]:
        """What was built of each language, as far as it can be kept: nothing unless the site is as it was built, from
        the same code, templates and assets."""
        with suppress(OSError, msgspec.MsgspecError):
            encoded = self._editions_path.read_bytes()
            is_known = self._is_whole and hashlib.sha256(encoded).hexdigest() == self._known["editions"]
            if is_known and _frame(self._known["sources"]) == _frame(self._sources):
                return msgspec.msgpack.decode(encoded, type=dict[str, BuiltEdition])
        return {}

    def write(self, editions: Mapping[str, BuiltEdition]) -> None:
        """Record that the site was built from the sources as they were when this object was created."""
        encoded = msgspec.msgpack.encode(editions)
        put(self._editions_path, encoded)
        stamp = {
            "folder": str(self._site),
            "settings": self._settings,
            "sources": self._sources,
            "site": dict(_files(self._site, ("",))),
            "editions": hashlib.sha256(encoded).hexdigest(),
        }
        put(self._path, json.dumps(stamp).encode())
        with suppress(OSError):
            for path in self._path.parent.glob("*.json"):
                if not Path(_read(path).get("folder", "")).exists():
                    path.unlink()
                    path.with_suffix(EDITIONS).unlink()

    def remove(self) -> None:
        """Remove the stamp of a site that is about to change."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def _frame(sources: Files) -> dict[str, str]:
    """Return the contents of all sources but records, and texts that belong to one page: a page that they change
    differs in its Markdown."""
    return {
        path: content
        for path, content in _contents(sources).items()
        if not (path.endswith((".md", ".po")) or path.startswith("bench/results/"))
    }


def _path_of(site: Path) -> Path:
    return CACHE / "sites" / f"{hashlib.sha256(str(site).encode()).hexdigest()[:16]}.json"


def _read(path: Path) -> dict[str, Any]:
    """Return a stamp, empty where there is none or it is damaged."""
    try:
        stamp: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return stamp if stamp.keys() == {"folder", "settings", "sources", "site", "editions"} else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _settings(config: MkDocsConfig) -> str:
    """Return what decides about the site besides its sources, as text."""
    settings = {
        "address": config.site_url,
        "folders": config.use_directory_urls,
        "strict": config.strict,
        "extra": config.extra,
        "plugins": {name: dict(plugin.config) for name, plugin in config.plugins.items()},
        "date": os.environ.get("SOURCE_DATE_EPOCH", "0"),
        "python": sys.version,
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }
    return json.dumps(settings, sort_keys=True, default=str)


def _files(root: Path, below: Iterable[str]) -> Iterator[tuple[str, list[Any]]]:
    """Yield path, time of change and size of every file below some folders."""
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
