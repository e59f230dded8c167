"""Import records from other formats: one run file per run.

python -m bench import timm FILE… --out records
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import durable
from bench.choices import pick
from bench.errors import AtlasError, unwritable
from bench.exchange.source_files import AGAIN, ImportOptions
from bench.records.record import Record
from bench.records.run_file import COMPRESSED, SUFFIX, compressed, decode, encode

COMPRESS_FROM = 500
"""Records from which the file of a run is compressed, to a twentieth of its size."""


def importers() -> Mapping[str, str]:
    """Return module names by source: every module of `bench.exchange.importers` is an importer."""
    package = importlib.import_module("bench.exchange.importers")
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return {name.replace("_", "-"): f"{package.__name__}.{name}" for name in names}


def import_(source: str, options: ImportOptions, out: Path) -> dict[Path, list[Record]]:
    """Write the records of a source to run files below `out`, and return the files with their records.

    Replaces earlier files of the same runs. Raises `AtlasError` before anything is written.
    """
    known = importers()
    module: Any = importlib.import_module(known[pick("source", source, known, where="SOURCE")])
    given = ", ".join(map(str, options.files))
    runs: dict[str, list[Record]] = {}
    seen: set[tuple[Any, ...]] = set()
    for record in module.read(options):
        key = (record.run, record.key)
        if key in seen:
            what = f"{record.cell.model} appears twice: the same case of the run {record.run}"
            raise AtlasError(what, where=given, remedy="import the files one by one, or omit one of them")
        seen.add(key)
        runs.setdefault(record.run, []).append(record)
    if not runs:
        raise AtlasError("contains no record", where=given, remedy="check the file")
    contents = {run: b"".join(map(_line, records)) for run, records in runs.items()}
    files = {}
    try:
        for run, records in runs.items():
            plain, packed = out / f"{run}{SUFFIX}", out / f"{run}{SUFFIX}{COMPRESSED}"
            path, former = (packed, plain) if len(records) >= COMPRESS_FROM else (plain, packed)
            durable.write(path, compressed(contents[run]) if path == packed else contents[run])
            former.unlink(missing_ok=True)  # an earlier import may have had more lines, or fewer
            files[path] = records
    except OSError as error:
        raise unwritable(out, error) from None
    return files


def _line(record: Record) -> bytes:
    """Return the record's line. Raises `AtlasError` for a record that could not be read back."""
    where = f"{record.cell.model!r:.100} of {record.run!r:.100}"
    try:
        line = encode(record)
    except OverflowError as error:
        raise AtlasError(f"not a record: {error}", where=where, remedy=AGAIN) from None
    decode(line, where)
    return line
