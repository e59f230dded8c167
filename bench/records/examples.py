"""The captured output of the example programs in ``docs/examples``, one JSON document in ``results/examples``.

It holds the source of each program, so the page docs/dynamo.md shows the code that made the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.records import document
from bench.records.document import Lines
from bench.records.record import RESULTS

EXAMPLES = RESULTS / "examples"
"""The folder of the document."""

SCHEMA = 1
COMMAND = "python -m bench examples"


class Capture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The programs, the JSON that each of them prints, and the machine."""

    schema: int
    taken_at: datetime  # UTC
    device_name: Lines
    torch: Lines
    sources: Mapping[str, Lines]
    graphs: Mapping[str, Any]
    training_step: Mapping[str, Any]
    k_fold: Mapping[str, Any]


def read(path: Path) -> Capture:
    """Read the document. Raises `AtlasError` if the file is invalid or has another schema."""
    return document.read(path, Capture, SCHEMA, COMMAND)


def newest(results: Path = RESULTS) -> Capture | None:
    """Return the document below the folder `results`, or None."""
    found = map(read, (results / EXAMPLES.name).glob("*.json"))
    return max(found, key=lambda capture: capture.taken_at, default=None)
