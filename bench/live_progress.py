"""How far a run has come, for a program that shows it elsewhere: one small file, replaced at each event.

`bench.running.live_reporter` writes it if the environment variable `VARIABLE` names a file; the server of the guide
reads it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from bench import durable

VARIABLE = "ATLAS_PROGRESS"
"""The environment variable that names the file to a run."""


class LiveProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The process that runs now: of which model, the how many-th of how many, and when all are done.

    `ends_at` is in seconds since 1970. `phase` is empty between two processes.
    """

    model: str = ""
    number: int = 0
    of: int = 0
    ends_at: float = 0.0
    phase: str = ""

    @classmethod
    def read(cls, path: Path) -> LiveProgress | None:
        """Return the newest progress, or None if nothing was written yet."""
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(path.read_bytes(), type=cls)
        return None

    def write(self, path: Path) -> None:
        """Replace the file. A disk that is full spoils the display, and not the run."""
        with suppress(OSError):
            durable.write(path, msgspec.json.encode(self))
