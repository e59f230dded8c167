"""Run files in a DuckDB database below ``.cache``: only files that have changed are read.

Takes the folder of the records; brings the tables `files`, `cells` (one row per cell and run) and `processes` (one row
per process that measured something) up to date, and lets the caller ask them. Few records are read strictly, by
`bench.records`. Of many, DuckDB first reads what names their cells, and `read_strictly` the files with rows that pages
show.

Safe to delete at any moment: a database that is damaged, of another version or gone is made again, and one that another
process uses, or that cannot be written, is replaced by one in memory.

    rm -rf .cache
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import duckdb
import msgspec

from bench.errors import AtlasError
from bench.machine import cores
from bench.records import record, run_file, strict
from bench.records.record import SCHEMA, Cell, Environment, Record, Source, Status

WORTH_KEEPING = 2_000_000
"""Bytes of run files from which the database is kept: fewer are read sooner than it is opened."""

STRICT = 48_000_000
"""Bytes of run files up to which all of them are read strictly: more hold more rows than pages show."""

BATCH = 64_000_000
"""Bytes of run files that are read at once: they bound the memory that it takes."""

SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was looked at may change again within the same tick of its clock."""

UNUSED_S = 3600
"""How long a database of another version stays: another build may be using it."""

WAIT_S = 2.0
"""How long to wait for another process that uses the database."""

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "2GB",  # buffers count with 32 MB a file, of which most files fill little
    "threads": "1",  # two take twice the work for many small files, and longer for few
    "temp_directory": str(Path(tempfile.gettempdir(), f"atlas-{os.getpid()}")),
}

Database = duckdb.DuckDBPyConnection
Answer = TypeVar("Answer")


def ask(results: Path, root: Path, question: Callable[[Database, Sequence[Path]], Answer]) -> Answer:
    """Return the answer to a `question` about the run files below `results`, given the database and their paths.

    Raises `AtlasError` as `bench.records.strict.read` does, and for a file that changes meanwhile.
    """
    paths = run_file.run_files(results)
    seen = {path: _seen(path) for path in paths}
    size = sum(each for each, _ in seen.values())
    file = root / "records" / f"{digest_of(str(results.resolve()).encode())}.{version()}.duckdb"
    for kept in (file, file, None) if size >= WORTH_KEEPING else (None,):
        if (database := _connected(kept)) is None:
            continue
        try:
            with contextlib.closing(database):
                update(database, seen, is_strict=size <= STRICT)
                return question(database, paths)
        except duckdb.Error:  # damaged, or the disk is full
            if kept is None:
                raise
            _remove(kept)
    raise AssertionError


@cache
def version() -> str:
    """Return a digest of what the database depends on besides the run files."""
    sources = [Path(module).read_bytes() for module in (record.__file__, run_file.__file__, strict.__file__, __file__)]
    return digest_of(b"\0".join([duckdb.__version__.encode(), *sources]))[:16]


def digest_of(content: bytes) -> str:
    """Return 32 hexadecimal digits that tell contents apart."""
    return hashlib.sha256(content).hexdigest()[:32]


def _connected(file: Path | None) -> Database | None:
    """Open a database, one in memory for None. Returns None where another process keeps it, or it cannot be made."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            if file:
                file.parent.mkdir(parents=True, exist_ok=True)
                _forget_versions(file)
            database = duckdb.connect(file or ":memory:", config=_CONFIG)
            database.execute("SET TimeZone = 'UTC'")
        except OSError:
            return None
        except duckdb.Error as error:
            if file is None:
                raise
            if "lock on file" not in str(error):
                _remove(file)
                return None
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)
        else:
            return database


def _remove(file: Path) -> None:
    for path in (file, Path(f"{file}.wal")):
        with contextlib.suppress(OSError):
            path.unlink()


def _forget_versions(file: Path) -> None:
    """Remove databases of other versions that nobody has used for a while."""
    for path in file.parent.glob(f"{file.name.partition('.')[0]}.*"):
        with contextlib.suppress(OSError):
            if not path.name.startswith(file.name) and time.time() - path.stat().st_mtime > UNUSED_S:
                path.unlink()


# ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Stamp(NamedTuple):
    """A file as it was when its content was read."""

    size: int
    modified_ns: int
    digest: str


def _seen(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:  # gone, or not readable: reading it says why
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _stamp(path: Path) -> Stamp:
    size, modified_ns = _seen(path)
    settled = time.time_ns() - modified_ns > SETTLED_NS
    digest = ""  # for a file that cannot be read: reading it says why
    with contextlib.suppress(OSError), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:32]
    return Stamp(size, modified_ns if settled else 0, digest)


def make_table(database: Database, name: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
    """Make a temporary table with these columns and rows."""
    columns = ", ".join(f"unnest(?::{kind}[]) AS {column}" for column, kind in types.items())
    lists = [[row[at] for row in rows] for at in range(len(types))]
    database.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {columns}", lists)


def update(database: Database, seen: Mapping[Path, tuple[int, int]], *, is_strict: bool) -> None:
    """Read the run files that are new or changed, and forget those that are gone.

    `seen` has the size and the time of each. A file that was renamed or touched is not read again.
    """
    database.execute(_TABLES)
    known = {Path(path): (number, Stamp(*stamp)) for number, path, _, *stamp in database.table("files").fetchall()}
    new = [path for path in seen if path not in known or known[path][1][:2] != seen[path]]
    with ThreadPoolExecutor(cores()) as threads:
        stamps = dict(zip(new, threads.map(_stamp, new), strict=True))
    dropped = {number: stamp for path, (number, stamp) in known.items() if path not in seen or path in stamps}
    by_digest = {stamp.digest: number for number, stamp in dropped.items()}
    for path, stamp in list(stamps.items()):
        if (number := by_digest.pop(stamp.digest, None)) is not None:
            database.execute(
                "UPDATE files SET path = ?, size = ?, modified_ns = ? WHERE file = ?", [str(path), *stamp[:2], number]
            )
            del stamps[path], dropped[number]
    _forget(database, dropped)
    _insert(database, stamps, is_strict=is_strict)


def read_strictly(database: Database, paths: Collection[str]) -> None:
    """Read these files again, with what was measured. Their cells get other numbers."""
    known = {path: (number, Stamp(*stamp)) for number, path, _, *stamp in database.table("files").fetchall()}
    _forget(database, [known[path][0] for path in paths])
    _insert(database, {Path(path): known[path][1] for path in paths}, is_strict=True)


def _forget(database: Database, files: Collection[int]) -> None:
    for table in ("processes", "cells", "files") if files else ():
        database.execute(f"DELETE FROM {table} WHERE file IN (SELECT unnest(?))", [list(files)])


def _insert(database: Database, stamps: Mapping[Path, Stamp], *, is_strict: bool) -> None:
    """Read files, some at once. What DuckDB refuses is read strictly: that says what is wrong with which line."""
    batch: dict[Path, Stamp] = {}
    for at, (path, stamp) in enumerate(stamps.items(), start=1):
        batch[path] = stamp
        if at == len(stamps) or sum(each.size for each in batch.values()) > BATCH:
            plain = {} if is_strict else {path: stamp for path, stamp in batch.items() if _is_plain(path)}
            others = {path: stamp for path, stamp in batch.items() if path not in plain}
            try:
                _insert_batch(database, plain, is_strict=False)
            except (duckdb.Error, msgspec.MsgspecError, ValueError, RecursionError):
                others = batch
            _insert_batch(database, others, is_strict=True)
            batch = {}


def _insert_batch(database: Database, stamps: Mapping[Path, Stamp], *, is_strict: bool) -> None:
    """Raises `AtlasError` for a file that is no longer as its stamp says: its rows would be kept as those of another
    content."""
    if not stamps:
        return
    ((first,),) = database.execute("SELECT coalesce(max(file), -1) + 1 FROM files").fetchall()
    rows = [(first + at, str(path), is_strict, *stamp) for at, (path, stamp) in enumerate(stamps.items())]
    if is_strict:
        lines = [(path, run_file.encode(one)) for _, path, *_ in rows for _, one in strict.read(Path(path))]
        database.execute(_FROM_RECORDS, [[each[part] for each in lines] for part in range(2)])
    else:
        database.execute(_FROM_FILES, [[path for _, path, *_ in rows]])
        _refuse_other_values(database)
    _number_values(database)
    make_table(database, "batch", {"file": "INTEGER", "path": "VARCHAR"}, rows)
    database.execute(_NAMED)
    database.execute(_GROUPS)
    if database.execute("SELECT 1 FROM groups WHERE is_twice LIMIT 1").fetchall():
        raise _RefusedError
    for path, stamp in stamps.items():
        if _seen(path) != stamp[:2] and _stamp(path).digest != stamp.digest:
            raise AtlasError("has changed while it was read", where=str(path), remedy="read it again")
    _choose_standing(database)
    database.begin()  # what fails before the end is rolled back as the database closes
    database.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", rows)
    database.execute(_CELLS)
    if is_strict:
        database.execute(_PROCESSES)
    database.commit()


def _is_plain(path: Path) -> bool:
    """Return whether DuckDB can read a file: its name is no pattern, and no write to it was interrupted."""
    if set("*?[{") & set(str(path)):
        return False
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(path.stat().st_size - 65_536, 0))
        end = file.read()
        return end.endswith(b"\n") and b"\0" not in end
    return False


# ── Lines ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class _RefusedError(ValueError):
    """DuckDB has read something that no record says."""


def _sql_type(kind: msgspec.inspect.Type) -> str:
    """Return the type of DuckDB for values of a field."""
    types = msgspec.inspect
    match kind:
        case types.StructType(fields=fields):
            return f"STRUCT({', '.join(f'{field.name} {_sql_type(field.type)}' for field in fields)})"
        case types.VarTupleType(item_type=item) | types.TupleType(item_types=(item, *_)):
            return f"{_sql_type(item)}[]"
        case types.DictType(value_type=value):
            return f"MAP(VARCHAR, {_sql_type(value)})"
        case types.UnionType(types=several):
            return _sql_type(next(each for each in several if not isinstance(each, types.NoneType)))
    names = {types.IntType: "BIGINT", types.FloatType: "DOUBLE", types.DateTimeType: "TIMESTAMPTZ"}
    return names.get(type(kind), "VARCHAR")


_HINTS = typing.get_type_hints(Record, include_extras=True)
_SHARED: Mapping[str, Any] = {"cell": Cell, "environment": Environment, "source": Source | None}
_TYPES = {
    name: "JSON" if name in _SHARED else _sql_type(msgspec.inspect.type_info(kind)) for name, kind in _HINTS.items()
}
_NAMES = {
    **{name: kind for name, kind in _TYPES.items() if name != "seconds"},
    "measurement": "STRUCT(compiled STRUCT(batch_size BIGINT))",
}
_TEXTS = ("run", "origin", "profile", "status", "reason", "command", "contributor")

_TABLES = f"""
CREATE TABLE IF NOT EXISTS files (
    file INTEGER, path VARCHAR, is_strict BOOLEAN, size BIGINT, modified_ns BIGINT, digest VARCHAR);
CREATE TABLE IF NOT EXISTS cell_values (number INTEGER, text VARCHAR);
CREATE TABLE IF NOT EXISTS environment_values (number INTEGER, text VARCHAR);
CREATE TABLE IF NOT EXISTS source_values (number INTEGER, text VARCHAR);
CREATE TABLE IF NOT EXISTS cells (
    id BIGINT, file INTEGER, {", ".join(f"{name} VARCHAR" for name in _TEXTS)}, cell INTEGER, environment INTEGER,
    source INTEGER, flags VARCHAR, attempts BIGINT, measured_at BIGINT);
CREATE TABLE IF NOT EXISTS processes (file INTEGER, id BIGINT, process BIGINT, measurement {_TYPES["measurement"]});
"""

_LINES = f"""
CREATE OR REPLACE TEMP TABLE lines AS
SELECT path, {", ".join(_TEXTS)}, schema, process, epoch_us(measured_at) AS measured_at, node, plan, flags,
    {", ".join(f"coalesce({name}::VARCHAR, 'null') AS {name}" for name in _SHARED)},
    measurement.compiled IS NOT NULL AS gave, measurement FROM
"""

_FROM_RECORDS = f"""
{_LINES} (SELECT path, unnest(from_json(decode(text), '{json.dumps(_TYPES)}'))
    FROM (SELECT unnest(?::VARCHAR[]) AS path, unnest(?::BLOB[]) AS text))
"""

_FROM_FILES = f"""
{_LINES} (SELECT filename AS path, *
    FROM read_json(?, format = 'newline_delimited', filename = true, maximum_object_size = {run_file.MAX_LINE_BYTES},
        columns = {{{", ".join(f"{name}: '{kind}'" for name, kind in _NAMES.items())}}}))
"""

# A machine is a device with a version of torch. Groups have the order of their first lines.
_NAMED = """
CREATE OR REPLACE TEMP TABLE named AS
SELECT file, lines.rowid AS line, lines.* EXCLUDE (path, cell, environment, source, measurement), c.number AS cell,
    e.number AS environment, e.machine, s.number AS source
FROM lines JOIN batch USING (path)
JOIN cell_numbers c ON c.text = cell JOIN environment_numbers e ON e.text = environment
JOIN source_numbers s ON s.text = source
"""

_GROUPS = """
CREATE OR REPLACE TEMP TABLE groups AS
SELECT file, run, cell, machine, arg_min(line, process) AS line, count(*) AS attempts, max(measured_at) AS measured_at,
    row_number() OVER (ORDER BY file, min(line)) + (SELECT coalesce(max(id), -1) FROM cells) AS id,
    array_to_string(list_sort(list_distinct(flatten(list(coalesce(flags, []))))), ' ') AS flags,
    min(status) <> max(status) AS is_mixed, count(DISTINCT process) < count(*) AS is_twice
FROM named GROUP BY file, run, cell, machine
"""

_MIXED = """
SELECT id, list(n.line ORDER BY process), list(status ORDER BY process), list(gave ORDER BY process)
FROM named n JOIN groups USING (file, run, cell, machine) WHERE is_mixed GROUP BY id
"""

_CELLS = f"""
INSERT INTO cells SELECT g.id, file, {", ".join(f"n.{name}" for name in _TEXTS)}, n.cell, environment, source, g.flags,
    attempts, g.measured_at
FROM groups g JOIN named n USING (file, line)
"""

_PROCESSES = """
INSERT INTO processes SELECT file, id, l.process, l.measurement
FROM (SELECT file, n.line, id FROM named n JOIN groups USING (file, run, cell, machine)) JOIN lines l ON l.rowid = line
WHERE l.measurement IS NOT NULL
"""


def _refuse_other_values(database: Database) -> None:
    """Raise for a value that has the type of its column, and is none that its field may have."""
    for name in (*_TEXTS, "node", "plan", "flags"):
        values = [value for (value,) in database.execute(f"SELECT DISTINCT {name} FROM lines").fetchall()]
        for value in values:
            msgspec.convert([] if value is None and name == "flags" else value, _HINTS[name], strict=name != "status")
    wrong = f"""
        SELECT 1 FROM lines WHERE coalesce(schema, 0) NOT BETWEEN 1 AND {SCHEMA}
        OR coalesce(process, {2**40}) NOT BETWEEN {-(2**31)} AND {2**31 - 1}
        OR year(make_timestamp(measured_at)) NOT BETWEEN 2000 AND 2199 LIMIT 1
    """
    if database.execute(wrong).fetchall():
        raise _RefusedError


def _number_values(database: Database) -> None:
    """Decode each distinct cell, environment and source once, strictly, and number them."""
    machines: dict[tuple[str, str], int] = {}
    for name, kind in _SHARED.items():
        known = {text: number for number, text in database.table(f"{name}_values").fetchall()}
        kept = len(known)
        decode = msgspec.json.Decoder(kind).decode
        numbers: list[tuple[str, int, int]] = []
        for (text,) in database.execute(f"SELECT DISTINCT {name} FROM lines").fetchall():
            value = decode(text)
            if isinstance(value, Source):
                date(*[*map(int, value.date.split("-")), 1, 1][:3])  # a ValueError for a day that no calendar has
            pair = (value.device_name, value.torch) if isinstance(value, Environment) else ("", "")
            number = known.setdefault(msgspec.json.encode(value).decode(), len(known))
            numbers.append((text, number, machines.setdefault(pair, len(machines))))
        new = list(known.items())[kept:]
        make_table(database, "new", {"text": "VARCHAR", "number": "INTEGER"}, new)
        database.execute(f"INSERT INTO {name}_values SELECT number, text FROM new")
        types = {"text": "VARCHAR", "number": "INTEGER", "machine": "INTEGER"}
        make_table(database, f"{name}_numbers", types, numbers)


def _choose_standing(database: Database) -> None:
    """Let `bench.records.record` say which process stands for a cell whose processes have ended differently."""
    chosen = [
        (number, lines[record.standing([Status(each) for each in statuses], gave)])
        for number, lines, statuses, gave in database.execute(_MIXED).fetchall()
    ]
    if chosen:
        make_table(database, "chosen", {"number": "BIGINT", "standing": "BIGINT"}, chosen)
        database.execute("UPDATE groups SET line = standing FROM chosen WHERE id = number")
