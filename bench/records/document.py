"""A record that is one JSON file: written whole or not at all, refused with advice where it cannot be read.

Runs append to JSON Lines (`bench.records.run_file`); what is made in one piece, a tour or a comparison of methods, is a
document.
Its schema has a version of its own: such a file is made again, so an old one is refused with that advice instead of
converted.

    python -m bench check
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from bench import durable
from bench.errors import AtlasError, unwritable

MAX_BYTES = 64 * 1024 * 1024
"""A larger file is refused: tours and comparisons have a thousandth of it."""


class JsonDocument(Protocol):
    """What all documents tell of themselves."""

    @property
    def schema(self) -> int:
        """Version of the file format."""

    @property
    def taken_at(self) -> datetime:
        """When it was made, in UTC."""


D = TypeVar("D", bound=JsonDocument)


def write(document: JsonDocument, path: Path) -> Path:
    """Write the file whole or not at all, and replace one that is there. Raises `AtlasError` where that cannot be."""
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    try:
        return durable.write(path, content)
    except OSError as error:
        raise unwritable(path, error) from None


def check_writable(folder: Path) -> None:
    """Raise `AtlasError` where no document could be written: better before hours of measuring than after them."""
    try:
        durable.make_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise unwritable(folder, error) from None


def read(path: Path, kind: type[D], schema: int, command: str) -> D:
    """One document. Raises `AtlasError` for a file that is none or has another schema, and names the `command` that
    makes a new one."""
    remedy = f"remove the file and make it again: {command}"
    try:
        if path.stat().st_size > MAX_BYTES:
            raise AtlasError(f"has more than {MAX_BYTES:,} bytes", where=str(path), remedy=remedy)
        raw = msgspec.json.decode(path.read_bytes())
        found = raw["schema"] if isinstance(raw, dict) and "schema" in raw else None
        if found != schema:
            raise AtlasError(f"schema version {found!r} is not known", where=str(path), remedy=remedy)
        return msgspec.convert(raw, kind)
    except (OSError, UnicodeError, RecursionError, msgspec.MsgspecError) as error:
        raise AtlasError(f"not a {kind.__name__.lower()}: {error}", where=str(path), remedy=remedy) from None


def newest(folder: Path, read: Callable[[Path], D]) -> D | None:
    """What was made last of the documents in a folder; None where there is none. Raises what `read` raises."""
    return max(map(read, sorted(folder.glob("*.json"))), key=lambda document: document.taken_at, default=None)
