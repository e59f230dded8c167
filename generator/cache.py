"""A cache on disk for bytes that take long to make: charts.

Takes a key, a text that names everything that the bytes depend on, and a function that makes them. The folder may be
deleted at any time; processes that make the same bytes at once write the same file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache"
"""The folder of all caches. Everything in it can be made again."""


class Cache:
    """One folder of the cache, such as ``charts``."""

    def __init__(self, name: str, suffix: str = "", root: Path = CACHE) -> None:
        self.folder = root / name
        self.suffix = suffix

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return the bytes of `key` from disk, else from `make`."""
        path = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}{self.suffix}"
        with suppress(OSError):
            return path.read_bytes()
        content = make()
        with suppress(OSError):  # such as a full disk: without the cache, a build only takes longer
            self.folder.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(content)
            part.replace(path)  # at once, so that nobody reads half a file
        return content
