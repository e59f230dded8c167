"""What identifies each record, in a DuckDB database below ``.cache``: only run files that have changed are read again.

Takes the folder of the records; brings the tables `files`, `lines` (one row per record) and `names` (what the numbers
in `lines` mean) up to date, and lets the caller ask them. What was measured stays in the run files: `measurements`
reads it strictly, from those files alone whose rows pages show.

Safe to delete at any moment: a database that is damaged, of another version or gone is made again, and one that another
process uses, or that cannot be written, is replaced by one in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import msgspec

from bench.errors import AtlasError
from bench.plans.profiles import KEEP_MEMORY
from bench.records import record, run_file
from bench.records.record import Cell, Environment, Measurement, Source, Status
from generator.data import names
from generator.data.names import device_label, short_name

WORTH_KEEPING = 2_000_000
"""Bytes of run files from which the database is kept: fewer are read sooner than it is opened."""

PACKED = 16
"""How many times its size a compressed file is about worth."""

ROW_GROUP = 122_880
"""Lines that DuckDB gives to a thread at once. With fewer, other threads only get in the way."""

BATCH = 64_000_000
"""Bytes of run files that are read at once: they bound the memory that it takes."""

_SOURCES = [Path(module).read_bytes() for module in (record.__file__, names.__file__, __file__)]
VERSION = hashlib.sha256(b"\0".join([duckdb.__version__.encode(), *_SOURCES])).hexdigest()[:16]
"""Changes with what the database depends on besides the run files."""

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "2GB",  # buffers count with 32 MB a file, of which most files fill little
    "threads": "1",  # to read: two take twice the work for many small files, and longer for few
    "async_threads": "0",  # the files are local, and processes are forked
    "temp_directory": str(Path(tempfile.gettempdir(), f"atlas-{os.getpid()}")),
}

Database = duckdb.DuckDBPyConnection
Stamp = tuple[int, int]
"""The size of a file in bytes, and when it was modified, in ns."""

Answer = TypeVar("Answer")


def ask(results: Path, root: Path, question: Callable[[Database], Answer]) -> Answer:
    """Return the answer to a `question` about the run files below `results`.

    Raises `AtlasError` for a line that is no record, and for a file that changes meanwhile.
    """
    stamps = {str(path): _stamp(path) for path in run_file.run_files(results)}
    is_large = sum(map(_bytes, stamps, stamps.values())) >= WORTH_KEEPING
    kept = root / "records" / f"{hashlib.sha256(bytes(results.resolve())).hexdigest()[:16]}.{VERSION}.duckdb"
    for file in (kept, None) if is_large else (None,):
        try:
            with _attached(file) as database:
                _update(database, stamps)
                if len(database.table("lines")) > ROW_GROUP:
                    database.execute("RESET threads")
                return question(database)
        except (duckdb.Error, OSError) as error:
            _engine.cache_clear()  # which may refuse to go on
            if file is None:
                raise
            if "lock on file" not in str(error):  # damaged, or the disk is full
                _remove(file)
    raise AssertionError


def measurements(path: str, stamp: Stamp) -> Sequence[Measurement | None]:
    """Return what each record of a run file measured.

    Raises `AtlasError` as `bench.records.run_file.read` does, and for a file that is no longer as its `stamp` says.
    """
    found = [one.measurement for one in run_file.read(Path(path))]
    _refuse_change(path, stamp)
    return found


@cache
def _engine() -> Database:
    """Return DuckDB in this process, which takes longer to start and stop than to answer after a new record."""
    return duckdb.connect(config=_CONFIG)


@contextlib.contextmanager
def _attached(file: Path | None) -> Iterator[Database]:
    """Open a database for a while, one in memory for None, and remove those of other versions."""
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        for other in file.parent.glob(f"{file.name.partition('.')[0]}.*"):
            if not other.name.startswith(file.name):
                _remove(other)
    place, engine = str(file or ":memory:").replace("'", "''"), _engine()
    engine.execute(f"ATTACH '{place}' AS records")
    try:
        with engine.cursor() as database:
            database.execute(f"USE records; {_TABLES}")
            yield database
    finally:
        engine.execute("DETACH records; SET threads = 1")  # no thread is left: processes may be forked


def _remove(file: Path) -> None:
    for path in (file, Path(f"{file}.wal")):
        with contextlib.suppress(OSError):
            path.unlink()


# ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _stamp(path: Path | str) -> Stamp:
    with contextlib.suppress(OSError):  # gone, or not readable: reading it says why
        status = Path(path).stat()
        return status.st_size, status.st_mtime_ns
    return 0, 0


def _bytes(path: str, stamp: Stamp) -> int:
    """Return how many bytes there are to read in a file, about."""
    return stamp[0] * (PACKED if path.endswith(run_file.COMPRESSED) else 1)


def _update(database: Database, stamps: Mapping[str, Stamp]) -> None:
    """Read the run files that are new or changed, and forget those that are gone."""
    known = {path: (number, tuple(stamp)) for number, path, *stamp in database.table("files").fetchall()}
    gone = [number for path, (number, stamp) in known.items() if stamps.get(path) != stamp]
    if gone:
        database.begin()
        for table in ("lines", "files"):
            database.execute(f"DELETE FROM {table} WHERE file IN (SELECT unnest(?))", [gone])
        database.commit()
    batch: dict[str, Stamp] = {}
    for at, (path, stamp) in enumerate(stamps.items(), start=1):
        if path not in known or known[path][1] != stamp:
            batch[path] = stamp
        if batch and (at == len(stamps) or sum(size for size, _ in batch.values()) > BATCH):
            _insert(database, batch)
            batch = {}


def _refuse_change(path: str, stamp: Stamp) -> None:
    if _stamp(path) != stamp:
        raise AtlasError("changed while it was being read", where=path, remedy="read it again")


def _insert(database: Database, batch: Mapping[str, Stamp]) -> None:
    """Read some files. What DuckDB refuses is read strictly: that says what is wrong with which line."""
    try:
        new = _read(database, list(batch))
    except (duckdb.Error, msgspec.MsgspecError, ValueError):
        with tempfile.TemporaryDirectory() as folder:
            copies = {path: f"{folder}/{number}{run_file.SUFFIX}" for number, path in enumerate(batch)}
            for path, copy in copies.items():
                Path(copy).write_bytes(b"".join(map(run_file.encode, run_file.read(Path(path)))))
            new = _read(database, list(copies.values()))
    for path, stamp in batch.items():
        _refuse_change(path, stamp)
    ((first,),) = database.execute("SELECT coalesce(max(file), -1) + 1 FROM files").fetchall()
    files = [(first + at, path, *stamp) for at, (path, stamp) in enumerate(batch.items())]
    database.begin()  # what fails before the end is rolled back as the database closes
    _execute(database, "INSERT INTO files", _FILE, files)
    _execute(database, "INSERT INTO names", _NAME, new)
    database.execute(_LINES, [first])
    database.commit()


def _execute(database: Database, statement: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
    """Execute a statement that ends in a table with these columns and rows."""
    values = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in types.items())
    database.execute(f"{statement} SELECT {values}", [[row[at] for row in rows] for at in range(len(types))])


def _is_complete(path: str) -> bool:
    """Return whether a file is empty or ends with a complete line."""
    if path.endswith(run_file.COMPRESSED):  # written at once: whole, or refused
        return True
    with contextlib.suppress(OSError), Path(path).open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
        return file.read() in (b"", b"\n")
    return False


_Name = tuple[str, str]
"""The kind and the text of what a number in `lines` means."""

# ── Lines ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_TEXTS = ("run", "origin", "profile", "status", "reason", "command")
_STATUSES = frozenset(each.value for each in Status)
_PARTS = ("cell", "environment", "source")
_PART_TEXTS = [f"{part}_text" for part in _PARTS]

# Of what tells rows apart, a machine is a device with a version of torch, which name the processes of one cell.
_NUMBERS = (
    "cell",
    "model",
    "named",
    "environment",
    "machine",
    "device",
    "processor",
    "host",
    "malloc",
    "grad_mode",
    "source",
)

_TYPES = {
    **dict.fromkeys(_TEXTS, "VARCHAR"),
    **dict.fromkeys(_PARTS, "JSON"),
    "process": "BIGINT",
    "flags": "VARCHAR[]",
    "measured_at": "TIMESTAMPTZ",
    "measurement": "STRUCT(compiled STRUCT(batch_size BIGINT))",
}

_FILE = {"file": "INTEGER", "path": "VARCHAR", "size": "BIGINT", "modified_ns": "BIGINT"}
_NUMBERED = dict.fromkeys(_PART_TEXTS, "VARCHAR") | dict.fromkeys(_NUMBERS, "INTEGER") | {"source_date": "VARCHAR"}
_NAME = {"kind": "VARCHAR", "number": "INTEGER", "text": "VARCHAR"}

_TABLES = f"""
CREATE TABLE IF NOT EXISTS files ({", ".join(map(" ".join, _FILE.items()))});
CREATE TABLE IF NOT EXISTS names ({", ".join(map(" ".join, _NAME.items()))});
CREATE TABLE IF NOT EXISTS lines (
    file INTEGER, line INTEGER, {" VARCHAR, ".join(_TEXTS)} VARCHAR, {" INTEGER, ".join(_NUMBERS)} INTEGER,
    source_date VARCHAR, process BIGINT, flags VARCHAR[], measured_at BIGINT, gave BOOLEAN);
"""

_READ = f"""
CREATE OR REPLACE TEMP TABLE batch AS
SELECT list_position(?, filename) AS position, * EXCLUDE (filename, {", ".join(_PARTS)}),
    {", ".join(f"coalesce({part}::VARCHAR, 'null') AS {part}_text" for part in _PARTS)}
FROM read_json(?, format = 'newline_delimited', filename = true, maximum_object_size = {run_file.MAX_LINE_BYTES},
    columns = {{{", ".join(f"{name}: '{kind}'" for name, kind in _TYPES.items())}}})
"""

_DISTINCT = f"""
SELECT {", ".join(_PART_TEXTS)}, list(DISTINCT status), bool_and(run IS NOT NULL AND process IS NOT NULL)
FROM batch GROUP BY {", ".join(_PART_TEXTS)}
"""

_LINES = f"""
INSERT INTO lines
SELECT ? + position - 1, row_number() OVER (PARTITION BY position ORDER BY batch.rowid) - 1, {", ".join(_TEXTS)},
    {", ".join(_NUMBERS)}, source_date, process, flags, epoch_us(measured_at), measurement.compiled IS NOT NULL
FROM batch JOIN numbered USING ({", ".join(_PART_TEXTS)}) ORDER BY batch.rowid
"""


def _read(database: Database, paths: Sequence[str]) -> Sequence[tuple[str, int, str]]:
    """Read files into the table `batch`; decode each part of its lines strictly, and number it in `numbered`.

    Returns the new rows of `names`. Raises an error of DuckDB or msgspec, or `ValueError`, for what is no record, for a
    name that is a pattern, and for what an interrupted write left behind.
    """
    if not all(map(_is_complete, paths)) or set("*?[{") & set("".join(paths)):
        raise ValueError
    database.execute(_READ, [paths, paths])
    named: dict[_Name, None] = {}

    def number(kind: str, value: Any) -> _Name:
        """Return what the number of a value will be found by."""
        name = kind, msgspec.json.encode(value).decode()
        named[name] = None
        return name

    @cache
    def of_cell(text: str) -> tuple[str, _Name, _Name, _Name, _Name]:
        cell = msgspec.json.decode(text, type=Cell)
        names = (cell.model, cell.checkpoint)
        model = (cell.digest,) if cell.digest else names
        of_any_run = msgspec.structs.replace(cell, grad_mode=None)  # so that a newer run takes its place
        if cell.digest:  # whatever a local checkpoint is called
            of_any_run = msgspec.structs.replace(of_any_run, model=cell.digest, checkpoint=cell.digest)
        return (
            cell.device,
            number("cell", of_any_run),
            number("model", model),
            number("named", names),
            number("grad_mode", cell.grad_mode or ""),
        )

    @cache
    def of_environment(text: str, device_type: str) -> Sequence[_Name]:
        """The cores tell CPUs apart; beside an accelerator they are its host's, and it stays the same device."""
        on = msgspec.json.decode(text, type=Environment)
        device = (device_type, device_label(device_type, on.device_name))
        cores, threads = (on.cores, on.threads) if device_type == "cpu" else (None, None)
        is_kept = KEEP_MEMORY.items() <= on.settings.items()
        return (
            number("environment", on),
            number("machine", (on.device_name, on.torch)),
            number("device", (*device, cores)),
            number("processor", short_name(on.device_name)),
            number("host", (*device, on.torch, cores, threads)),
            number("malloc", "keep" if is_kept else "default"),
        )

    @cache
    def of_source(text: str) -> tuple[_Name, str]:
        source: Source | None = msgspec.json.decode(text, type=Source | None)
        return number("source", source), source.date if source else ""

    rows: list[tuple[str | _Name, ...]] = []
    for cell, environment, source, statuses, is_complete in database.execute(_DISTINCT).fetchall():
        if not is_complete or any(status not in _STATUSES for status in statuses):
            raise ValueError
        device_type, *of_it, grad_mode = of_cell(cell)
        of_device = of_environment(environment, device_type)
        rows.append((cell, environment, source, *of_it, *of_device, grad_mode, *of_source(source)))
    known, count = _known_numbers(database, [text for _, text in named])
    new = {name: at for at, name in enumerate((name for name in named if name not in known), start=count)}
    numbers: dict[Any, Any] = {**known, **new}
    numbered = [[numbers[value] if isinstance(value, tuple) else value for value in row] for row in rows]
    _execute(database, "CREATE OR REPLACE TEMP TABLE numbered AS", _NUMBERED, numbered)
    return [(kind, at, text) for (kind, text), at in new.items()]


def _known_numbers(database: Database, texts: Sequence[str]) -> tuple[Mapping[_Name, int], int]:
    """Return the numbers of those names that have one and any of these texts, and how many names have a number."""
    found = database.execute(
        "SELECT kind, text, number FROM names WHERE text IN (SELECT unnest(?))", [texts]
    ).fetchall()
    ((count,),) = database.execute("SELECT count(*) FROM names").fetchall()
    return {(kind, text): number for kind, text, number in found}, count
