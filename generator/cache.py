"""A cache on disk for bytes that are expensive to make, such as charts.

Takes a key, a text that names everything that the bytes depend on, and a function that makes them. The cache may be
deleted at any time and shared by threads and builds: two that make the same bytes write the same file. A file
whose digest shows that it is incomplete or replaced is made again.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import TypeVar

T = TypeVar("T")

CACHE = Path(__file__).resolve().parent.parent / ".cache"
"""The folder of all caches. Everything in it can be made again."""

MAX_BYTES = 64 * 1024 * 1024
"""A file with more is not ours, and is made again: the largest has a tenth of it."""


class Cache:
    """One folder of the cache, such as ``charts``. Nothing is kept in memory, which would grow."""

    def __init__(self, name: str, suffix: str = "", root: Path = CACHE) -> None:
        self.folder = root / name
        self.suffix = suffix
        self._locks = tuple(RLock() for _ in range(256))

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return the bytes of `key` from disk, else from `make`, which threads never run concurrently for one key."""
        with self._locks[int(_name(key)[:2], 16)]:
            if (content := self.read(key)) is None:
                self.write(key, content := make())
            return content

    def value(self, key: str, make: Callable[[], T]) -> T:
        """Return a value as `get` returns bytes. It is kept as a pickle: nobody but us writes into the cache."""
        value: T = pickle.loads(self.get(key, lambda: pickle.dumps(make())))  # noqa: S301
        return value

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name[2:]}{self.suffix}"

    def read(self, key: str) -> bytes | None:
        """Return the bytes of `key`, None where there are none."""
        name = _name(key)
        try:
            with self._path(name).open("rb") as file:
                digest, content = file.read(_DIGEST_BYTES), file.read(MAX_BYTES)
        except OSError:  # such as a missing file
            return None
        return content if digest == _digest(name, content) else None

    def write(self, key: str, content: bytes) -> None:
        """Keep the bytes of `key`."""
        path = self._path(name := _name(key))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_digest(name, content) + content)
        except OSError:  # such as a full disk: without the cache the build only takes longer
            with suppress(OSError):
                path.unlink(missing_ok=True)


_DIGEST_BYTES = 32


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _digest(name: str, content: bytes) -> bytes:
    """Return the digest of bytes under their name: those of another key are not what was put here."""
    return hashlib.sha256(name.encode() + content).digest()


def digest(*values: object) -> str:
    """Return a digest of values whose `repr` tells them apart, and is the same in every process."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:32]


def code_digest(modules: Iterable[Path], *versions: str) -> str:
    """Return a digest of the code that bytes are made by: modules of ours, and `versions` of libraries."""
    return digest(versions, sorted((str(path), path.stat().st_mtime_ns) for path in modules))
