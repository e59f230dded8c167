"""Read and write run files: JSON Lines, one `Record` a line, append-only.

`read` takes a path and yields its records; `append` adds records so that an interruption loses at most the last line.
Every bad line is an `AtlasError` that names file, line, field and remedy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import count
from pathlib import Path
from typing import IO, Any

import msgspec

from bench import durable
from bench.errors import AtlasError
from bench.records.record import MAX_NAME, SCHEMA, Record

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is refused: the raw samples of the longest permitted cell need less than a tenth of it."""


def _upgrade(line: dict[str, Any]) -> dict[str, Any]:
    """Convert a line of an older schema."""
    if line["schema"] < SCHEMA:  # every version so far only added what is unknown of older lines
        line = {**line, "schema": SCHEMA}
    return line


class _Versioned(msgspec.Struct):
    schema: Any = None


def decode(line: bytes, where: str) -> Record:
    """One line as a `Record`; `where` is ``file:line`` for the message of the `AtlasError`."""
    if len(line.rstrip(b"\n")) > MAX_LINE_BYTES:
        raise _too_long(where)
    try:
        schema = msgspec.json.decode(line, type=_Versioned).schema
        if type(schema) is not int or not 1 <= schema <= SCHEMA:
            shown = f"{schema!r:.40}"
            raise AtlasError(
                f"schema version {shown} is not known; this version reads 1 to {SCHEMA}",
                where=where,
                remedy="update Compile Atlas, or measure the cell again with this version",
            )
        if schema == SCHEMA:  # straight into its type, which takes no more memory than a record has
            record = msgspec.json.decode(line, type=Record)
        else:
            record = msgspec.convert(_upgrade(msgspec.json.decode(line)), Record)
    except msgspec.ValidationError as error:
        raise no_record(error, where, "measure the cell again") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AtlasError(
            f"not valid JSON: {error}",
            where=where,
            remedy="remove the line (`python -m bench run` with the same plan measures that cell again)",
        ) from None
    _refuse_other_days(record, where)
    return record


def no_record(error: msgspec.ValidationError, where: str, otherwise: str) -> AtlasError:
    """What is wrong with something that should be a record: the advice is to correct the field, or what is said."""
    what = _PATTERN.sub("a sign that has no place there, or another form than it has to have", str(error))
    return AtlasError(
        f"not a record: {what}", where=where, remedy=f"correct the field named after `$.`, or {otherwise}"
    )


_PATTERN = re.compile(r"Expected `str` matching regex .*?(?= - at |\Z)", re.DOTALL)


def _refuse_other_days(record: Record, where: str) -> None:
    """Dates that no calendar has, and times that no computer will have measured at."""
    try:
        if record.source:
            date(*[*map(int, record.source.date.split("-")), 1, 1][:3])
        is_fine = record.measured_at is None or 2000 <= record.measured_at.year < 2200
    except ValueError:
        is_fine = False
    if not is_fine:
        field = "$.source.date" if record.source else "$.measured_at"
        raise AtlasError(
            f"not a record: no such day - at `{field}`",
            where=where,
            remedy="correct the date, or measure the cell again",
        )


def _too_long(where: str) -> AtlasError:
    return AtlasError(
        f"the line has more than {MAX_LINE_BYTES:,} bytes",
        where=where,
        remedy="remove the line, or measure the cell again",
    )


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a run file that hold something, with their numbers: no more than two are in memory.

    What an interrupted write leaves behind (see `finished`) has no newline. Raises `AtlasError` for a file that can't
    be read, and for a line that is too long.
    """
    before = b""
    try:
        with path.open("rb") as file:
            for number in count(1):
                line = file.readline(MAX_LINE_BYTES + 2)
                is_last = not line.endswith(b"\n")
                if before.strip():
                    yield number - 1, before.rstrip(b"\n") if is_last and b"\0" in before else before
                if len(line) > MAX_LINE_BYTES + 1:
                    raise _too_long(f"{path}:{number}")
                if is_last:
                    break
                before = line
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    if line.strip():
        yield number, line


def read(path: Path) -> Iterator[Record]:
    """The records of one run file, in order.

    Raises `AtlasError` at the first bad line. What an interrupted write leaves behind is passed over: `append` cuts it
    off before it writes again.
    """
    for number, line in lines(path):
        if line.endswith(b"\n"):
            yield decode(line, f"{path}:{number}")


def finished(content: bytes) -> list[bytes]:
    """The lines of a run file that were written to their end, without their newlines.

    A write that was interrupted leaves a last line without a newline; or, where the power went before all of it was on
    the disk, one with bytes of zero, as which the file system shows what it never received.
    """
    lines = content.split(b"\n")[:-1]
    return lines[:-1] if lines and b"\0" in lines[-1] else lines


def encode(record: Record) -> bytes:
    """One line, newline included: compact JSON with fields in their declared order."""
    return msgspec.json.encode(record) + b"\n"


def append(path: Path, records: Iterable[Record]) -> None:
    """Add records to a run file so that a kill or a power cut at any moment loses at most the line being written.

    Each line is written whole and fsynced; the torn last line of an earlier, interrupted write is cut off first. Raises
    `OSError`, and leaves no more than such a line.
    """
    durable.make_folder(path.parent)
    with path.open("a+b") as file:
        if not _cut_torn_line(file):
            durable.sync_folder(path.parent)  # the file is new, and so is its name
        for record in records:
            file.write(encode(record))
            file.flush()
            os.fsync(file.fileno())


def _cut_torn_line(file: IO[bytes]) -> int:
    """How many bytes are left."""
    file.seek(0)
    content = file.read()
    keep = sum(len(line) + 1 for line in finished(content))
    if keep != len(content):
        file.truncate(keep)
    file.seek(keep)
    return keep


def file_slug(text: str) -> str:
    """A name for a run, and so for a file: small letters, digits, points and hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower())[:MAX_NAME].strip("-.")


def run_files(results: Path) -> list[Path]:
    """Every run file below `results`, in a stable order. An existing file stands for itself."""
    return [results] if results.is_file() else sorted(path for path in results.rglob("*.jsonl") if path.is_file())
