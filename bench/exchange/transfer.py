"""Records to other formats and from them: what `bench import` and `bench export` do once the command line is read.

Enter a source with its files, leave run files, one a run, all of them or none; enter run files, leave one file of
another format.

    python -m bench import timm FILE… --out records
    python -m bench export csv --out records.csv
"""

from __future__ import annotations

import importlib
import pkgutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import durable
from bench.choices import existing, pick
from bench.errors import AtlasError, unwritable
from bench.exchange.exporters import FORMATS
from bench.exchange.importers import Given
from bench.records.record import Record, decode, encode, read, run_files


def importers() -> Mapping[str, str]:
    """Module names by source: every module of `bench.exchange.importers` is one."""
    names = [
        module.name for module in pkgutil.iter_modules(importlib.import_module("bench.exchange.importers").__path__)
    ]
    return {name.replace("_", "-"): f"bench.exchange.importers.{name}" for name in names}


def import_(source: str, given: Given, out: Path, contributor: str | None = None) -> dict[Path, list[Record]]:
    """Write what `source` reads into run files below `out`, and return them with their records.

    A file of the same run is replaced. Raises `AtlasError` before anything is written.
    """
    known = importers()
    module: Any = importlib.import_module(known[pick("source", source, known)])
    runs: dict[str, list[Record]] = {}
    seen: set[tuple[Any, ...]] = set()
    for record in module.read(given):
        key = (record.run, record.key)
        if key in seen:
            raise AtlasError(
                f"{record.cell.model} is there twice: the same cell of the run {record.run}",
                where=", ".join(map(str, given.files)),
                remedy="import the files one by one, or leave one of them out",
            )
        seen.add(key)
        named = msgspec.structs.replace(record, contributor=contributor) if contributor else record
        runs.setdefault(record.run, []).append(named)
    if not runs:
        raise AtlasError("holds no record", where=", ".join(map(str, given.files)), remedy="check the file")
    files = {out / f"{run}.jsonl": records for run, records in runs.items()}
    try:
        durable.write_all({path: b"".join(map(_checked, records)) for path, records in files.items()})
    except OSError as error:
        raise unwritable(out, error) from None
    return files


def _checked(record: Record) -> bytes:
    """Its line. Raises `AtlasError` for what nobody could read again: no importer, and no file of strangers, writes
    that."""
    where = f"{record.cell.model!r:.100} of {record.run!r:.100}"
    try:
        line = encode(record)
    except (OverflowError, TypeError, ValueError) as error:  # as a source may have it where it should have a figure
        raise AtlasError(f"not a record: {error}", where=where, remedy="take the file from its source again") from None
    decode(line, where)
    return line


def export(form: str, paths: Sequence[Path], out: Path) -> tuple[int, int]:
    """Write the records of all run files at or below `paths` to `out`.

    Returns how many there are, and how many cells the format can't hold. Raises `AtlasError`.
    """
    module, function, _ = FORMATS[pick("format", form, FORMATS)]
    records = [record for path in paths for file in run_files(existing(path)) for record in read(file)]
    if not records:
        where = ", ".join(map(str, paths))
        raise AtlasError("holds no records", where=where, remedy="measure first: python -m bench run")
    write: Any = getattr(importlib.import_module(module), function)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent) as folder:
            part = Path(folder, out.name)
            left_out = write(records, part)
            durable.write(out, part.read_bytes())
    except OSError as error:
        raise unwritable(out, error) from None
    return len(records), left_out or 0
