"""Other people's figures as records: one module per source, with `read(Given) -> Iterator[Record]`.

A module in this package is an importer, by its name with hyphens: `huggingface_2023` is `huggingface-2023`. What all of
them need is here: what was given on the command line, and reading tables and JSON with advice for every mistake.

Rules for an importer. A figure is kept as printed, and none is made up. What the source doesn't say and a record can do
without becomes a flag; what it can't do without is asked for (`Given.needed`). A row that its format marks as failed is
a record with its status; a broken row refuses the file, so that nothing is lost without a word. Variants of different
batch
sizes stay as they are (`bench.records.record.UNEQUAL_BATCHES`): nobody divides them.

    python -m bench import timm results/benchmark-infer-amp-nchw-pt240-cu124-rtx4090*.csv --out records
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
"""When versions of torch came out, by https://github.com/pytorch/pytorch/releases: a figure is no older than that."""

DATE_OF_TORCH = "date-is-that-of-the-torch-release"
"""Flags a source without a date: it has that of its torch."""

NOT_INTERLEAVED = "arms-measured-apart"
"""Flags variants of two runs: what slowed the machine down during one of them doesn't cancel out."""

ONE_VARIANT = "the source has no {} figures of this model"
"""The reason of a record whose other variant is missing; its status is skipped."""

TASKS = {
    "image-classification": "image-classification",
    "object-detection": "object-detection",
    "image-segmentation": "image-segmentation",
    "semantic-segmentation": "image-segmentation",
    "instance-segmentation": "image-segmentation",
}
"""Our tasks by other people's names of them."""


@dataclass(frozen=True)
class Given:
    """What the command line tells an importer: the files, and what they don't say. None where it wasn't told."""

    files: tuple[Path, ...] = ()
    device_name: str | None = None
    torch: str | None = None
    dtype: str | None = None
    compile_mode: str | None = None
    date: str | None = None
    title: str | None = None
    url: str | None = None
    licence: str | None = None
    tell: Callable[[str], None] = lambda _: None  # what was left out, and why

    def needed(self, name: str, what: str, example: str, where: Path) -> str:
        """The option `name`, without which a record would say nothing. Raises `AtlasError` where it wasn't given."""
        value: str | None = getattr(self, name)
        if not value:
            option = f"--{name.replace('_', '-')}"
            raise AtlasError(f"does not say {what}", where=str(where), remedy=f"add {option} {example}")
        return value

    def some_files(self, kind: str) -> tuple[Path, ...]:
        """The files. Raises `AtlasError` where there are none."""
        if not self.files:
            raise AtlasError("no file was given", where="FILE", remedy=f"name {kind}")
        return self.files

    def dated(self, torch: str) -> tuple[str, tuple[str, ...]]:
        """The date of the source, and the flag that goes with it where it is only that of this version of torch."""
        if self.date:
            if not ISO_DATE.fullmatch(self.date):
                raise AtlasError(
                    f"{self.date!r:.40} is no date", where="--date", remedy="write 2024, 2024-08 or 2024-08-31"
                )
            return self.date, ()
        release = RELEASED.get(".".join(re.split(r"[.+]", torch)[:2]))
        if release is None:
            raise AtlasError(
                "the source has no date", where="--date", remedy="add --date 2026-11, when it was measured"
            )
        return release, (DATE_OF_TORCH,)

    def source(self, where: Path, *, title: str, date: str, files: Collection[str], note: str | None = None) -> Source:
        """Whom to thank, for a source whose address and licence only a person knows."""
        return Source(
            title=self.title or title,
            url=self.needed("url", "where it was published", "https://…", where),
            date=date,
            licence=self.needed("licence", "under which licence it was published", "Apache-2.0", where),
            note=note,
            files=tuple(sorted(files)),
        )


@dataclass(frozen=True)
class Row:
    """One row of a table by column, and where it stands. A column that isn't there reads as empty."""

    where: str  # file:line
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Raises `AtlasError` where the field is empty."""
        value = self.cells.get(column, "").strip()
        if not value:
            raise self.wrong(column, "is empty", "fill it in, or take the file from its source again")
        return value

    def number(self, column: str, *, zero: bool = False) -> float:
        """A positive number, or `zero`. Raises `AtlasError` for anything else."""
        text = self.text(column)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (0 < value < math.inf or (zero and value == 0)):
            raise self.wrong(column, f"{text!r} is no positive number", "take the file from its source again")
        return value

    def count(self, column: str, *, zero: bool = False) -> int:
        """A whole number of 1 or more, or `zero`."""
        value = self.number(column, zero=zero)
        if value != int(value):
            raise self.wrong(column, f"{self.text(column)!r} is no whole number", "take the file from its source again")
        return int(value)

    def known(self, column: str, *, zero: bool = False) -> float | None:
        """The number, or None where the field is empty or the column isn't there."""
        return self.number(column, zero=zero) if self.cells.get(column, "").strip() else None

    def wrong(self, column: str, what: str, remedy: str) -> AtlasError:
        return AtlasError(what, where=f"{self.where}: {column}", remedy=remedy)


def csv_rows(path: Path, columns: Collection[str], kind: str) -> Iterator[Row]:
    """The rows of a CSV file. Raises `AtlasError` where it can't be read, lacks one of `columns`, or has a row with
    more or fewer fields than its header."""
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
                what = f"has {len(fields)} fields where the header has {len(header)}"
                raise AtlasError(what, where=where, remedy="take the file from its source again: it was cut or edited")
            yield Row(where, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise AtlasError(
            f"not CSV: {error}", where=f"{path}:{reader.line_num}", remedy="save it as CSV again"
        ) from None


MAX_BYTES = 256 * 1024 * 1024
"""A larger file is refused: all results of PyTorch's own benchmarks of a night have a tenth."""


def refuse_large(path: Path) -> None:
    """Raises `AtlasError` for what is too large to be read at once, and for what has no end; `OSError`."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise AtlasError("is no plain file", where=str(path), remedy="name a file")
    if about.st_size > MAX_BYTES:
        raise AtlasError(f"has more than {MAX_BYTES:,} bytes", where=str(path), remedy="import it in parts")


def documents(path: Path) -> Iterator[tuple[str, Any]]:
    """The JSON values of a file, each with its place: one value, or one a line. Raises `AtlasError`."""
    text = read_text(path)
    try:
        yield str(path), _loads(text)
    except RecursionError:
        raise AtlasError("not JSON: nested too deep", where=str(path), remedy="take it from its source again") from None
    except json.JSONDecodeError as whole:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        for position, (number, line) in enumerate(lines):
            try:
                value = _loads(line)
            except json.JSONDecodeError as error:
                # A first line that is no value on its own: the file was meant as a whole.
                at, what = (number, error.msg) if position else (whole.lineno, whole.msg)
                raise AtlasError(
                    f"not JSON: {what}", where=f"{path}:{at}", remedy="take the file from its source again"
                ) from None
            yield f"{path}:{number}", value
        if not lines:
            raise AtlasError("the file is empty", where=str(path), remedy="take it from its source again") from None


_DIGITS = 18


def _loads(text: str) -> Any:
    """JSON, where a whole number of any length is one that can be reckoned with."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= _DIGITS else float(digits))


def read_text(path: Path) -> str:
    """The file as text. Raises `AtlasError`."""
    try:
        refuse_large(path)
        return path.read_bytes().decode("utf-8-sig")  # line ends within quotes stay as they are
    except UnicodeDecodeError:
        raise AtlasError("is not UTF-8 text", where=str(path), remedy="save it as UTF-8") from None
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
