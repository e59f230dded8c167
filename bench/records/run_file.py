"""Read and write run files: JSON Lines, one `Record` a line, append-only.

`read` takes a path and yields its records; `append` adds records so that an interruption loses at most the last line.
Every bad line is an `AtlasError` that names file, line, field and remedy. A large import is compressed (``.jsonl.gz``):
such a file is written at once, read like any other, and never appended to.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import count
from pathlib import Path
from typing import IO, Any

import msgspec

from bench import durable
from bench.errors import AtlasError
from bench.records.record import FIRST_YEAR, MAX_NAME, REMOVED, SCHEMA, Record, variant_of

SUFFIX, COMPRESSED = ".jsonl", ".gz"
"""What the name of a run file ends with, and what follows in that of a compressed one."""

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Limit for one line. The samples of the longest permitted cell take less than a tenth of it."""

MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""Limit for what a compressed file unpacks to: thirty times the largest import, and soon read."""


MAX_BLANK = 100_000
"""Limit for empty lines, of which no run writes any."""

_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{")


def _upgrade(line: dict[str, Any]) -> dict[str, Any]:
    """Convert a line of an older schema, which may lack newer fields, all of them optional."""
    line = _without_removed(line)
    if line["schema"] < 11:
        cell = line["cell"]
        dynamic = {None: "auto", True: "true", False: "false"}[cell.pop("dynamic", None)]
        cell["variant"] = variant_of(cell.pop("compile_mode"), dynamic)
        if line["origin"] == "measured":
            cell["grad_mode"] = "no_grad"
        if line.get("command"):
            line["command"] = line["command"].replace("--compile-mode ", "--variant compile:")
        if compilation := (line.get("measurement") or {}).get("compilation"):
            starts = {start: compilation.pop(f"{start}_s", None) for start in ("cold", "warm")}
            compilation["ready_s"] = {start: seconds for start, seconds in starts.items() if seconds is not None}
    return {**line, "schema": SCHEMA}


def _convert(line: bytes) -> Record:
    try:
        upgraded = _upgrade(msgspec.json.decode(line))
    except (AttributeError, KeyError, TypeError) as error:
        raise msgspec.ValidationError(f"an older line without its parts, or of other types: {error}") from None
    return msgspec.convert(upgraded, Record)


def _without_removed(part: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_removed(value) if isinstance(value, dict) else value
        for name, value in part.items()
        if name not in REMOVED
    }


class _Versioned(msgspec.Struct):
    schema: Any = None


def decode(line: bytes, where: str) -> Record:
    """Return the record of one line. Raises `AtlasError`, which names the place `where` (``file:line``)."""
    if len(line.rstrip(b"\n")) > MAX_LINE_BYTES:
        raise _too_long(where)
    try:
        schema = msgspec.json.decode(line, type=_Versioned).schema
        if type(schema) is not int or not 1 <= schema <= SCHEMA:
            shown = f"{schema!r:.40}"
            raise AtlasError(
                f"schema version {shown} is not known; this version reads 1 to {SCHEMA}",
                where=where,
                remedy="update Compile Atlas, or measure the case again with this version",
            )
        # Decoded directly, a hostile line can take no more memory than a record.
        record = msgspec.json.decode(line, type=Record) if schema == SCHEMA else _convert(line)
    except msgspec.ValidationError as error:
        what = _PATTERN.sub("characters or a form that the field does not allow", str(error))
        remedy = "correct the field named after `$.`, or measure the case again"
        raise AtlasError(f"not a record: {what}", where=where, remedy=remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AtlasError(
            f"not valid JSON: {error}",
            where=where,
            remedy="remove the line (`python -m bench run` with the same plan then measures that case again)",
        ) from None
    _refuse_impossible_dates(record, where)
    return record


_PATTERN = re.compile(r"Expected `str` matching regex .*?(?= - at |\Z)", re.DOTALL)


def _refuse_impossible_dates(record: Record, where: str) -> None:
    """Raise `AtlasError` for a date that does not exist, or is before torch or after the year 2199."""
    field = "$.source.date" if record.source else "$.measured_at"
    try:
        years = [date(*[*map(int, record.source.date.split("-")), 1, 1][:3]).year] if record.source else []
        years += [record.measured_at.year] if record.measured_at else []
        what = "" if all(FIRST_YEAR <= year < 2200 for year in years) else f"is not within {FIRST_YEAR} to 2199"
    except ValueError:
        what = "no such day"
    if what:
        raise AtlasError(
            f"not a record: {what} - at `{field}`", where=where, remedy="correct the date, or measure the case again"
        )


def _too_long(where: str) -> AtlasError:
    return AtlasError(
        f"the line is longer than {MAX_LINE_BYTES:,} bytes",
        where=where,
        remedy="remove the line, or measure the case again",
    )


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the non-empty lines of a run file with their 1-based numbers, holding at most two in memory.

    The incomplete last line of an interrupted write has no newline (see `_complete_lines`). A compressed file is whole
    or refused, so each of its lines has one. Raises `AtlasError` if the file cannot be read, or if a line is too long,
    or all that is compressed.
    """
    is_compressed = path.suffix == COMPRESSED
    before, total, blank = b"", 0, 0
    try:
        with _opened(path) as file:
            _refuse_utf16(file, path)
            for number in count(1):
                line = file.readline(MAX_LINE_BYTES + 2)
                is_last = not line.endswith(b"\n")
                if before.strip():
                    is_torn = is_last and b"\0" in before and not is_compressed
                    yield number - 1, before.rstrip(b"\n") if is_torn else before
                blank += not line.strip() and not is_last
                if blank > MAX_BLANK:
                    what = f"has more than {MAX_BLANK:,} empty lines"
                    raise AtlasError(what, where=f"{path}:{number}", remedy="remove them")
                if len(line) > MAX_LINE_BYTES + 1:
                    raise _too_long(f"{path}:{number}")
                total += len(line)
                if is_compressed and total > MAX_UNPACKED_BYTES:
                    what = f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes"
                    raise AtlasError(what, where=f"{path}:{number}", remedy="split it, and import the parts")
                if is_last:
                    break
                before = line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        remedy = "import it from its source again"
        raise AtlasError(f"is not a complete gzip file: {error}", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    if line.strip():
        yield number, line + b"\n" if is_compressed else line


def _opened(path: Path) -> io.BufferedReader | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix == COMPRESSED else path.open("rb")


def _refuse_utf16(file: io.BufferedReader | gzip.GzipFile, path: Path) -> None:
    if file.peek(2).startswith(_UTF16):
        raise AtlasError("is UTF-16 text", where=str(path), remedy="save it as UTF-8")


def read(path: Path) -> Iterator[Record]:
    """Yield the records of one run file, in order. Raises `AtlasError` at the first bad line.

    Skips the incomplete last line of an interrupted write, which the next `append` cuts off.
    """
    for number, line in lines(path):
        if line.endswith(b"\n"):
            yield decode(line, f"{path}:{number}")


def _complete_lines(content: bytes) -> list[bytes]:
    """Return the lines that were written to their end, without newlines.

    An interrupted write leaves a last line without a newline. After a power cut, the last line may contain zero bytes
    in place of data that never reached the disk.
    """
    complete = content.split(b"\n")[:-1]
    return complete[:-1] if complete and b"\0" in complete[-1] else complete


def name_of(run: str, *, compressed: bool = False) -> str:
    """Return the name of the file of a run."""
    return f"{run}{SUFFIX}{COMPRESSED if compressed else ''}"


def run_of(path: Path) -> str:
    """Return the run that a file is named after."""
    return path.name.removesuffix(COMPRESSED).removesuffix(SUFFIX)


def compressed(content: bytes) -> bytes:
    """Return the content of a compressed file: the same for the same lines, whenever it is written."""
    return gzip.compress(content, compresslevel=9, mtime=0)


def encode(record: Record) -> bytes:
    """Return one line of compact JSON, with its newline. Fields keep their declared order."""
    return msgspec.json.encode(record) + b"\n"


def append(path: Path, records: Iterable[Record]) -> None:
    """Append records to a run file, so that a kill or a power cut loses at most the line being written.

    Cuts off the incomplete last line of an interrupted write, then writes and syncs line by line. Raises `OSError`,
    and then leaves at most one incomplete line; raises `AtlasError` for a compressed file.
    """
    if path.suffix == COMPRESSED:
        remedy = f"unpack it first: gunzip {path.name}"
        raise AtlasError(
            "is compressed, and only uncompressed run files can be appended to", where=str(path), remedy=remedy
        )
    durable.make_folder(path.parent)
    with path.open("a+b") as file:
        if not _cut_incomplete_line(file):
            durable.sync_folder(path.parent)  # the file may be new
        for record in records:
            file.write(encode(record))
            file.flush()
            os.fsync(file.fileno())


def _cut_incomplete_line(file: IO[bytes]) -> int:
    """Truncate the file to its complete lines and return its size."""
    file.seek(0)
    content = file.read()
    keep = sum(len(line) + 1 for line in _complete_lines(content))
    if keep != len(content):
        file.truncate(keep)
    file.seek(keep)
    return keep


def file_slug(text: str) -> str:
    """Return `text` as the name of a run and its file: lower-case letters, digits, points and hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower())[:MAX_NAME].strip("-.")


def run_files(results: Path) -> list[Path]:
    """Return all run files below the folder `results`, sorted; or `results` itself if it is a file."""
    if results.is_file():
        return [results]
    found = (path for suffix in ("", COMPRESSED) for path in results.rglob(f"*{SUFFIX}{suffix}"))
    return sorted(path for path in found if path.is_file())
