"""Read and write run files: JSON Lines, one `Record` a line, append-only.

`read` takes a path and yields its records; `append` adds records so that an interruption loses at most the last line.
Every bad line is an `AtlasError` that names file, line, field and remedy. A large import is compressed (``.jsonl.gz``):
such a file is written at once, read like any other, and never appended to.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import durable
from bench.errors import AtlasError
from bench.records.record import MAX_NAME, SCHEMA, Name, Origin, Record, Seconds, variant_of

SUFFIX, COMPRESSED = ".jsonl", ".gz"
"""The end of the name of a run file, and what a compressed one adds to it."""


_ALIKE = tuple(f'{{"schema":{version},'.encode() for version in range(11, SCHEMA + 1))
"""The beginnings of nearly all lines that today's types can read."""


class _Version(msgspec.Struct):
    schema: int


class _OldCell(msgspec.Struct):
    compile_mode: Name
    dynamic: bool | None = None


class _OldCompilation(msgspec.Struct):
    cold_s: Seconds | None = None
    warm_s: Seconds | None = None


class _OldMeasurement(msgspec.Struct):
    compilation: _OldCompilation | None = None


class _OldRecord(msgspec.Struct):
    """The fields that lines before schema 11 have in another form."""

    origin: Origin
    cell: _OldCell
    command: str | None = None
    measurement: _OldMeasurement | None = None


def _upgraded(line: bytes) -> dict[str, Any]:
    """Return a line of a schema before 11 in today's form. Raises `msgspec.ValidationError`."""
    old = msgspec.json.decode(line, type=_OldRecord)
    new: dict[str, Any] = msgspec.json.decode(line)
    new["schema"] = SCHEMA
    new["cell"].pop("compile_mode")
    shapes = {None: "auto", True: "true", False: "false"}[new["cell"].pop("dynamic", None)]
    new["cell"]["variant"] = variant_of(old.cell.compile_mode, shapes)
    if old.origin == "measured":
        new["cell"]["grad_mode"] = "no_grad"
    if old.command:
        new["command"] = old.command.replace("--compile-mode ", "--variant compile:")
    if old.measurement and (cost := old.measurement.compilation):
        for name in ("cold_s", "warm_s"):
            new["measurement"]["compilation"].pop(name, None)
        ready_s = {"cold": cost.cold_s, "warm": cost.warm_s}
        new["measurement"]["compilation"]["ready_s"] = {start: s for start, s in ready_s.items() if s is not None}
    return new


def _of_today(record: Record) -> Record:
    return record if record.schema == SCHEMA else msgspec.structs.replace(record, schema=SCHEMA)


def decode(line: bytes, where: str) -> Record:
    """Return the record of one line. Raises `AtlasError`, which names the place `where` (``file:line``)."""
    try:
        if line.startswith(_ALIKE):
            return _of_today(msgspec.json.decode(line, type=Record))
        schema = msgspec.json.decode(line, type=_Version).schema
        if not 1 <= schema <= SCHEMA:
            raise AtlasError(
                f"schema version {schema} is not known; this version reads 1 to {SCHEMA}",
                where=where,
                remedy="update Compile Atlas, or measure the case again with this version",
            )
        if schema < 11:
            return msgspec.convert(_upgraded(line), Record)
        return _of_today(msgspec.json.decode(line, type=Record))
    except msgspec.ValidationError as error:
        remedy = "correct the field named after `$.`, or measure the case again"
        raise AtlasError(f"not a record: {readable(error)}", where=where, remedy=remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        remedy = "remove the line (`python -m bench run` with the same plan then measures that case again)"
        raise AtlasError(f"not valid JSON: {error}", where=where, remedy=remedy) from None


def readable(error: msgspec.ValidationError) -> str:
    """Return the message without regular expressions."""
    forbidden = r"Expected `str` matching regex (?s:.*?)(?= - at |\Z)"
    return re.sub(forbidden, "characters or a form that the field does not allow", str(error))


def encode(record: Record) -> bytes:
    """Return one line of compact JSON, with its newline. Fields keep their declared order."""
    return msgspec.json.encode(record) + b"\n"


def lines(path: Path) -> tuple[Sequence[bytes], bool]:
    """Return the complete lines of a run file, and whether an interrupted write left an incomplete one after them.

    A compressed file is whole or refused. Raises `AtlasError` if the file cannot be read.
    """
    try:
        if path.suffix == COMPRESSED:
            return gzip.decompress(path.read_bytes()).split(b"\n"), False
        content = path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        remedy = "import it from its source again"
        raise AtlasError(f"is not a complete gzip file: {error}", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    complete = _complete(content)
    return complete.split(b"\n"), len(complete) < len(content)


def read(path: Path) -> Iterator[Record]:
    """Yield the records of one run file, in order.

    Raises `AtlasError` at the first bad line, and at the second line of one process of a cell. Skips the incomplete
    last line of an interrupted write, which the next `append` cuts off.
    """
    first: dict[Any, int] = {}
    for number, line in enumerate(lines(path)[0], start=1):
        if line.strip():
            record = decode(line, f"{path}:{number}")
            if (earlier := first.setdefault((record.run, record.key), number)) != number:
                cell, device_name = record.cell, record.environment.device_name
                about = f"process {record.process} of {cell.model} on {device_name} ({cell.variant}, {cell.precision})"
                raise AtlasError(
                    f"{about} is already in line {earlier}",
                    where=f"{path}:{number}: $.cell, $.environment, $.process",
                    remedy="remove one of the two lines",
                )
            yield record


def _complete(content: bytes) -> bytes:
    """Return the lines that were written to their end.

    An interrupted write leaves a last line without a newline. After a power cut, the last line may contain zero bytes
    in place of data that never reached the disk.
    """
    end = content.rfind(b"\n") + 1
    last = content.rfind(b"\n", 0, max(end - 1, 0)) + 1
    return content[: last if b"\0" in content[last:end] else end]


def append(path: Path, records: Iterable[Record]) -> None:
    """Append records to a run file, so that a kill or a power cut loses at most the line being written.

    Cuts off the incomplete last line of an interrupted write, then writes and syncs line by line. Raises `OSError`,
    and then leaves at most one incomplete line; raises `AtlasError` for a compressed file.
    """
    if path.suffix == COMPRESSED:
        remedy = f"unpack it first: gunzip {path.name}"
        raise AtlasError("is compressed, and nothing can be appended to it", where=str(path), remedy=remedy)
    durable.make_folder(path.parent)
    with path.open("a+b") as file:
        file.seek(0)
        keep = len(_complete(file.read()))
        file.truncate(keep)
        if not keep:
            durable.sync_folder(path.parent)  # the file may be new
        for record in records:
            file.write(encode(record))
            file.flush()
            os.fsync(file.fileno())


def run_of(path: Path) -> str:
    """Return the run that a file is named after."""
    return path.name.removesuffix(COMPRESSED).removesuffix(SUFFIX)


def file_slug(text: str) -> str:
    """Return `text` as the name of a run and its file: lower-case letters, digits, points and hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower())[:MAX_NAME].strip("-.")


def run_files(results: Path) -> list[Path]:
    """Return all run files below the folder `results`, sorted; or `results` itself if it is a file."""
    if results.is_file():
        return [results]
    found = (path for suffix in ("", COMPRESSED) for path in results.rglob(f"*{SUFFIX}{suffix}"))
    return sorted(path for path in found if path.is_file())
