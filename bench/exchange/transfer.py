"""Import records from other formats, one run file per run.

`import_` takes a source and `ImportOptions`, the arguments of `bench import`; it asks the importer of the source, which
reads its CSV files with `rows`.

    python -m bench import timm FILE… --out records
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from bench import durable
from bench.choices import pick
from bench.errors import AtlasError, counted, unwritable
from bench.records.record import Record, Source
from bench.records.run_file import COMPRESSED, SUFFIX, decode, encode, readable

Row = TypeVar("Row", bound=msgspec.Struct)
Whole = Annotated[int, msgspec.Meta(gt=0, lt=2**24)]
Positive = Annotated[float, msgspec.Meta(gt=0, lt=1e18)]
Known = Annotated[float, msgspec.Meta(ge=0, lt=1e18)]
"""A number that a source states, or 0."""

AGAIN = "get the file from its source again"


@dataclass(frozen=True)
class ImportOptions:
    """The arguments of `bench import`: the files, and values that they do not state (None if not given)."""

    files: tuple[Path, ...]
    device_name: str | None = None
    torch: str | None = None
    device: str | None = None
    dtype: str | None = None
    layout: str | None = None
    compile_mode: str | None = None
    date: str | None = None
    title: str | None = None
    url: str | None = None
    licence: str | None = None
    log: Callable[[str], None] = lambda _: None  # shows what was left out, and why

    def needed(self, name: str, example: str, where: Path) -> str:
        """Return the option `name`. Raises `AtlasError` if it was not given."""
        value: str | None = getattr(self, name)
        if not value:
            option = f"--{name.replace('_', '-')}"
            raise AtlasError(f"does not say its {option[2:]}", where=str(where), remedy=f"add {option} {example}")
        return value

    def source(self, files: Sequence[Path], *, title: str, url: str = "", licence: str = "", note: str) -> Source:
        """Return the source of some files, as the options say or by default. Raises `AtlasError` for a missing one."""
        stated = {
            "title": self.title or title,
            "url": self.url or url or self.needed("url", "https://…", files[0]),
            "date": self.needed("date", "2026-11-02", files[0]),
            "licence": self.licence or licence or self.needed("licence", "Apache-2.0", files[0]),
            "note": note,
            "files": sorted(path.name for path in files),
        }
        try:
            return msgspec.convert(stated, Source)
        except msgspec.ValidationError as error:
            remedy = "correct --title, --url, --date or --licence, whichever is named after `$.`"
            raise AtlasError(f"not a source: {readable(error)}", where=str(files[0]), remedy=remedy) from None


def rows(path: Path, kind: type[Row], key: Sequence[str], log: Callable[[str], None]) -> Sequence[tuple[str, Row]]:
    """Return the place (``file:line``) and the typed cells of each row of a CSV file. Empty cells and NaN are missing.

    A row that is no `kind` is left out and told to `log`. Raises `AtlasError` if the file cannot be read or lacks a
    column, and for a second row with the same `key`: nothing says which one counts.
    """
    reader = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    first: dict[tuple[str, ...], int] = {}
    found, left_out = list[tuple[str, Row]](), list[str]()
    try:
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        missing = [field.name for field in msgspec.structs.fields(kind) if field.required and field.name not in header]
        if missing:
            remedy = f"{AGAIN}: its columns are {', '.join(header)}"
            raise AtlasError(f"has no column {', '.join(missing)}", where=f"{path}:1", remedy=remedy)
        for cells in reader:
            line, known = reader.line_num, _known(cells)
            try:
                row = msgspec.convert(known, kind, strict=False)
            except msgspec.ValidationError as error:
                left_out.append(f"line {line}: {_fault(error, known)}")
                continue
            earlier = first.setdefault(tuple(known[name] for name in key), line)
            if earlier != line:
                what = f"{known[key[0]]} is already in line {earlier}: the same model twice, such as cold and warm"
                raise AtlasError(what, where=f"{path}:{line}: {key[0]}", remedy="remove one of the two lines")
            found.append((f"{path}:{line}", row))
    except csv.Error as error:
        where = f"{path}:{reader.reader.line_num}"  # the inner reader has counted the broken line
        raise AtlasError(f"not CSV: {error}", where=where, remedy="save it as CSV again") from None
    if left_out:
        log(f"{path.name}: left out {counted(len(left_out), 'row')}: {'; '.join(left_out)}")
    return found


def _known(cells: Mapping[Any, Any]) -> dict[str, str]:
    """Return the cells that say something, or none of a row that has more or fewer than the header."""
    if None in cells or None in cells.values():
        return {}
    return {name: value.strip() for name, value in cells.items() if value.strip().lower() not in {"", "nan"}}


def _fault(error: msgspec.ValidationError, known: Mapping[str, str]) -> str:
    column = re.findall(r"`(?:\$\.)?(\w+)`", str(error))[-1]
    reason = re.sub(r", got `str`| - at .*", "", str(error))
    return f"{column} {known[column]!r:.40}: {reason}" if column in known else f"{column} is missing"


def _text(path: Path) -> str:
    """Return the content of a UTF-8 file. Raises `AtlasError`."""
    try:
        return path.read_bytes().decode("utf-8-sig")  # keeps line ends within quotes
    except UnicodeDecodeError:
        raise AtlasError("is not UTF-8 text", where=str(path), remedy="save it as UTF-8") from None
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None


COMPRESS_FROM = 500
"""Records from which the file of a run is compressed, to a twentieth of its size."""


def importers() -> Mapping[str, str]:
    """Return module names by source: every module of `bench.exchange.importers` is an importer."""
    package = importlib.import_module("bench.exchange.importers")
    return {module.name: f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)}


def import_(source: str, options: ImportOptions, out: Path) -> dict[Path, list[Record]]:
    """Write the records of a source to run files below `out`, and return the files with their records.

    Replaces earlier files of the same runs. Raises `AtlasError`: for a faulty source, before anything is written.
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
    contents, files = {run: b"".join(map(_line, records)) for run, records in runs.items()}, {}
    try:
        for run, records in runs.items():
            plain, packed = out / f"{run}{SUFFIX}", out / f"{run}{SUFFIX}{COMPRESSED}"
            path, former = (packed, plain) if len(records) >= COMPRESS_FROM else (plain, packed)
            durable.write(path, gzip.compress(contents[run], 9, mtime=0) if path == packed else contents[run])
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
    except OverflowError as error:  # a figure of more than 64 bits
        raise AtlasError(f"not a record: {error}", where=where, remedy=AGAIN) from None
    decode(line, where)
    return line
