"""How many requests a server has begun and ended during a measurement, in a file that both processes share.

The server counts with `ServedRequests.counted`. Whoever times a round compares `ServedRequests.state` before and after,
and learns from one small read whether the server was computing meanwhile.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

VARIABLE = "ATLAS_REQUESTS"
"""The environment variable that names the file to a process that measures."""

_COUNTS = struct.Struct("<QQ")


class ServedRequests:
    """The counts in an open file. One process writes them, any number read them."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_COUNTS.pack(0, 0))
        self._file = path.open("r+b", buffering=0)
        self._lock = threading.Lock()
        self._begun, self._ended = 0, 0

    @classmethod
    def of_environment(cls) -> Self | None:
        """Return the counts of the server that started this measurement, or None if there is none."""
        path = os.environ.get(VARIABLE)
        return cls(Path(path)) if path and Path(path).is_file() else None

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request that is answered inside of this context."""
        self._add(1, 0)
        try:
            yield
        finally:
            self._add(0, 1)

    def are_quiet_since(self, state: tuple[int, int]) -> bool:
        """Return whether no request was answered since this state, not even one that had begun before."""
        begun, ended = state
        return begun == ended and self.state() == state

    def state(self) -> tuple[int, int]:
        """Return how many requests have begun and ended by now."""
        with self._lock:
            self._file.seek(0)
            begun, ended = _COUNTS.unpack(self._file.read(_COUNTS.size))
        return begun, ended

    def _add(self, begun: int, ended: int) -> None:
        with self._lock:
            self._begun += begun
            self._ended += ended
            self._file.seek(0)
            self._file.write(_COUNTS.pack(self._begun, self._ended))
