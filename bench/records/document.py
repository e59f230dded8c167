"""Read and write JSON documents: results that are made in one piece, such as a self-check.

Each kind of document has its own schema version. An old document is not converted: the error names the command that
makes a new one. Records of runs are JSON Lines instead; see `bench.records.run_file`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from bench import durable
from bench.choices import plain_file
from bench.errors import AtlasError, unwritable

Lines = Annotated[
    str, msgspec.Meta(max_length=100_000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*\Z")
]
"""Text of one or more lines, such as source code: no control characters, and nothing that turns its direction."""

D = TypeVar("D")


def write(document: object, path: Path) -> Path:
    """Write the document atomically, replacing an existing file. Raises `AtlasError` if that fails."""
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    try:
        return durable.write(path, content)
    except OSError as error:
        raise unwritable(path, error) from None


def check_writable(folder: Path) -> None:
    """Raise `AtlasError` if nothing can be written into the folder. Call it before hours of measuring, not after."""
    try:
        durable.make_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise unwritable(folder, error) from None


def read(path: Path, kind: type[D], schema: int, command: str) -> D:
    """Read a document of type `kind`.

    Raises `AtlasError` if the file is invalid or has another schema version; it names the `command` to make a new one.
    """
    remedy = f"remove the file and create it again: {command}"
    try:
        raw = msgspec.json.decode(plain_file(path).read_bytes())
        found = raw.get("schema") if isinstance(raw, dict) else None
        if found != schema:
            raise AtlasError(f"schema version {found!r:.40} is not known", where=str(path), remedy=remedy)
        return msgspec.convert(raw, kind)
    except (OSError, UnicodeError, RecursionError, msgspec.MsgspecError) as error:
        raise AtlasError(f"not a {kind.__name__.lower()}: {error}", where=str(path), remedy=remedy) from None
