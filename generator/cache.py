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


def kept(name: str, suffix: str, key: str, make: Callable[[], bytes], root: Path = CACHE) -> bytes:
    """Return the bytes of `key` from the folder `name` of the cache, else from `make`."""
    path = root / name / f"{hashlib.sha256(key.encode()).hexdigest()}{suffix}"
    with suppress(OSError):
        return path.read_bytes()
    content = make()
    with suppress(OSError):  # such as a full disk: without the cache, a build only takes longer
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(content)
        part.replace(path)  # at once, so that nobody reads half a file
    return content
