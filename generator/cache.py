"""A store of bytes by the hash of what they were made from: charts and web fonts are made once.

A key (any text that names all that the bytes depend on) and a function that makes them enter; the bytes leave. Safe
to delete at any moment, and safe with several threads and several builds at once: two who make the same bytes write the
same file, and one that is not whole, as its checksum tells, counts as none.

    rm -rf .cache
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock

CACHE = Path(__file__).resolve().parent.parent / ".cache"
"""Below it everything can be made again."""

MAX_BYTES = 64 * 1024 * 1024
"""A file that unpacks to more was not written here, and is made again: the largest has a tenth."""


class Cache:
    """One folder of the cache, such as ``charts``. It keeps nothing in memory, so that this does not grow."""

    def __init__(self, name: str, suffix: str = "", root: Path = CACHE) -> None:
        self.folder = root / name
        self.suffix = suffix
        self._locks = tuple(RLock() for _ in range(256))

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The bytes of `key`, from disk, else from `make`, which two threads never run at once for the same key."""
        name = hashlib.sha256(key.encode()).hexdigest()
        with self._locks[int(name[:2], 16)]:
            return self._read(name) or self._write(name, make())

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name[2:]}{self.suffix}.z"

    def _read(self, name: str) -> bytes | None:
        try:
            with self._path(name).open("rb") as file:
                unpacking = zlib.decompressobj()
                content = unpacking.decompress(file.read(MAX_BYTES), MAX_BYTES)
        except (OSError, zlib.error):  # not there, or damaged: made again
            return None
        return content if unpacking.eof else None

    def _write(self, name: str, content: bytes) -> bytes:
        # Not compressed, which would take longer than all else here: zlib adds its checksum.
        path, packed = self._path(name), zlib.compress(content, 0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(packed)
        except OSError:  # a disk that is full: what cannot be kept costs time and nothing else
            with suppress(OSError):
                path.unlink(missing_ok=True)
        return content


def put(path: Path, content: bytes | memoryview) -> None:
    """Write a file of the cache, whole or not at all. What cannot be written costs time and nothing else."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, path)  # noqa: PTH105  # atomic, unlike a write in place
        except OSError:  # a disk that is full, or a folder that was deleted meanwhile
            Path(temporary).unlink(missing_ok=True)
