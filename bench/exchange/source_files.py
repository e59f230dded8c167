"""Read the files of an importer's source: CSV rows, with a remedy for every error.

Takes `ImportOptions`, the arguments of `bench import`; returns rows with their places for error messages.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.choices import plain_file
from bench.errors import AtlasError
from bench.records.record import Source

ISO_DATE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?")

RELEASED = {
    "1.10": "2021-10",
    "1.11": "2022-03",
    "1.12": "2022-06",
    "1.13": "2022-10",
    "2.0": "2023-03",
    "2.1": "2023-10",
    "2.2": "2024-01",
    "2.3": "2024-04",
    "2.4": "2024-07",
    "2.5": "2024-10",
    "2.6": "2025-01",
    "2.7": "2025-04",
    "2.8": "2025-08",
    "2.9": "2025-10",
}
"""Release months of torch (https://github.com/pytorch/pytorch/releases): a figure is at least as recent."""

DATE_OF_TORCH = "date-is-that-of-the-torch-release"
"""Flags a source without a date: its date is that of the torch release."""

NOT_INTERLEAVED = "arms-measured-apart"
"""Flags variants from two runs: a disturbance during one of them does not cancel out."""


@dataclass(frozen=True)
class ImportOptions:
    """The arguments of `bench import`: the files, and values that they do not state (None if not given)."""

    files: tuple[Path, ...] = ()
    device_name: str | None = None
    torch: str | None = None
    dtype: str | None = None
    compile_mode: str | None = None
    date: str | None = None
    title: str | None = None
    url: str | None = None
    licence: str | None = None
    log: Callable[[str], None] = lambda _: None  # shows what was left out, and why

    def needed(self, name: str, what: str, example: str, where: Path) -> str:
        """Return the option `name`. Raises `AtlasError` if it was not given."""
        value: str | None = getattr(self, name)
        if not value:
            option = f"--{name.replace('_', '-')}"
            raise AtlasError(f"does not say {what}", where=str(where), remedy=f"add {option} {example}")
        return value

    def some_files(self, kind: str) -> tuple[Path, ...]:
        """Return the files. Raises `AtlasError` if there are none."""
        if not self.files:
            raise AtlasError("no file was given", where="FILE", remedy=f"name {kind}")
        return self.files

    def dated(self, torch: str) -> tuple[str, tuple[str, ...]]:
        """Return the date of the source; without one, the release date of this torch and the flag that says so."""
        if self.date:
            if not ISO_DATE.fullmatch(self.date):
                raise AtlasError(
                    f"{self.date!r:.40} is not a date",
                    where="--date",
                    remedy="use the form 2024, 2024-08 or 2024-08-31",
                )
            return self.date, ()
        release = RELEASED.get(".".join(re.split(r"[.+]", torch)[:2]))
        if release is None:
            raise AtlasError(
                "the source has no date",
                where="--date",
                remedy="add the date of the measurement, such as --date 2026-11",
            )
        return release, (DATE_OF_TORCH,)

    def source(self, where: Path, *, title: str, date: str, files: Collection[str], note: str | None = None) -> Source:
        """Return the source of a file that does not state its own address and licence. Raises `AtlasError`."""
        return Source(
            title=self.title or title,
            url=self.needed("url", "where it was published", "https://…", where),
            date=date,
            licence=self.needed("licence", "under which licence it was published", "Apache-2.0", where),
            note=note,
            files=tuple(sorted(files)),
        )


@dataclass(frozen=True)
class SourceRow:
    """One row of a table by column. A missing column reads as empty."""

    where: str  # file:line
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Return the text of a field. Raises `AtlasError` if it is empty."""
        value = self.cells.get(column, "").strip()
        if not value:
            raise self.wrong(column, "is empty", "fill it in, or get the file from its source again")
        return value

    def number(self, column: str, *, zero: bool = False) -> float:
        """Return a positive number, or 0 if `zero` allows it. Raises `AtlasError` for anything else."""
        text = self.text(column)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (0 < value < math.inf or (zero and value == 0)):
            raise self.wrong(column, f"{text!r} is not a positive number", "get the file from its source again")
        return value

    def count(self, column: str, *, zero: bool = False) -> int:
        """Return a positive whole number, or 0 if `zero` allows it. Raises `AtlasError` for anything else."""
        value = self.number(column, zero=zero)
        if value != int(value):
            raise self.wrong(
                column, f"{self.text(column)!r} is not a whole number", "get the file from its source again"
            )
        return int(value)

    def known(self, column: str, *, zero: bool = False) -> float | None:
        """Return the number, or None if the field is empty or the column is missing."""
        return self.number(column, zero=zero) if self.cells.get(column, "").strip() else None

    def wrong(self, column: str, what: str, remedy: str) -> AtlasError:
        """Return an error that names this row and the column."""
        return AtlasError(what, where=f"{self.where}: {column}", remedy=remedy)


def csv_rows(path: Path, columns: Collection[str], kind: str) -> Iterator[SourceRow]:
    """Yield the rows of a CSV file.

    Raises `AtlasError` if it cannot be read, lacks one of `columns`, or has a row of another length than its header.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        missing = [name for name in columns if name not in header]
        if missing:
            found = f"its columns are {', '.join(header)}" if any(header) else "the file is empty"
            raise AtlasError(f"not {kind}: no column {', '.join(missing)}", where=f"{path}:1", remedy=found)
        for fields in reader:
            where = f"{path}:{reader.line_num}"
            if not fields:
                continue
            if len(fields) != len(header):
                what = f"has {len(fields)} fields, but the header has {len(header)}"
                raise AtlasError(
                    what, where=where, remedy="get the file from its source again: it was cut off or edited"
                )
            yield SourceRow(where, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise AtlasError(
            f"not CSV: {error}", where=f"{path}:{reader.line_num}", remedy="save it as CSV again"
        ) from None


def read_text(path: Path) -> str:
    """Return the content of a UTF-8 file. Raises `AtlasError`."""
    try:
        return plain_file(path).read_bytes().decode("utf-8-sig")  # keeps line ends within quotes
    except UnicodeDecodeError:
        raise AtlasError("is not UTF-8 text", where=str(path), remedy="save it as UTF-8") from None
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
