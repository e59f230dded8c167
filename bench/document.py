"""A record that is one JSON file: written whole or not at all, refused with advice where it cannot be read.

Runs append to JSON Lines (`bench.record`); what is made in one piece, a tour or a comparison of methods, is a document.
Its schema has a version of its own: such a file is made again, so an old one is refused with that advice instead of
converted.

    python -m bench check
"""

from __future__ import annotations

import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from bench.errors import AtlasError


class Document(Protocol):
    """What all documents tell of themselves."""

    @property
    def schema(self) -> int:
        """Version of the file format."""

    @property
    def taken_at(self) -> datetime:
        """When it was made, in UTC."""


D = TypeVar("D", bound=Document)


def write(document: Document, path: Path) -> Path:
    """Write the file whole or not at all, and replace one that is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    descriptor, staged = tempfile.mkstemp(dir=path.parent, suffix=".part")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(staged).chmod(0o644)
    return Path(staged).replace(path)


def read(path: Path, kind: type[D], schema: int, command: str) -> D:
    """One document. Raises `AtlasError` for a file that is none or has another schema, and names the `command` that
    makes a new one."""
    remedy = f"remove the file and make it again: {command}"
    try:
        raw = msgspec.json.decode(path.read_bytes())
        found = raw["schema"] if isinstance(raw, dict) and "schema" in raw else None
        if found != schema:
            raise AtlasError(f"schema version {found!r} is not known", where=str(path), remedy=remedy)
        return msgspec.convert(raw, kind)
    except (OSError, msgspec.MsgspecError) as error:
        raise AtlasError(f"not a {kind.__name__.lower()}: {error}", where=str(path), remedy=remedy) from None
