"""Import a CSV or Parquet table that `python -m bench export` wrote.

Takes a table whose columns are fields of records; returns the records. Skips columns that begin with `derived.`, which
follow from others.

    python -m bench import table records.csv --out records
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.choices import MAX_BYTES, plain_file
from bench.errors import AtlasError
from bench.exchange.exporters.tables import DERIVED
from bench.exchange.source_files import ImportOptions, csv_rows
from bench.records.record import Record
from bench.records.tabular import from_text, unflatten

MAX_ROWS = 1_000_000
"""The limit for Parquet files, whose rows may take almost no space until they are unpacked."""


def read(options: ImportOptions) -> Iterator[Record]:
    """Yield one record per row. Raises `AtlasError`."""
    for path in options.some_files("a .csv or .parquet file"):
        yield from _from_parquet(path) if path.suffix == ".parquet" else _from_csv(path)


def _from_csv(path: Path) -> Iterator[Record]:
    for row in csv_rows(path, ("run", "cell.model", "environment.device_name"), "a table of records"):
        known = {name: text for name, text in row.cells.items() if text and not name.startswith(DERIVED)}
        yield unflatten({name: from_text(name, text, row.where) for name, text in known.items()}, row.where)


def _from_parquet(path: Path) -> Iterator[Record]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        remedy = 'pip install -e ".[parquet]", or use: export csv'
        raise AtlasError("Parquet needs pyarrow, which is not installed", where=str(path), remedy=remedy) from None
    try:
        plain_file(path)
        file = pyarrow.parquet.ParquetFile(path)
        unpacked = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
        if file.metadata.num_rows > MAX_ROWS or unpacked > MAX_BYTES:
            what = f"would unpack to {file.metadata.num_rows:,} rows with {unpacked:,} bytes in total"
            raise AtlasError(what, where=str(path), remedy="split it, and import the parts")
        rows = (row for batch in file.iter_batches(1000) for row in batch.to_pylist())
        yield from _from_rows(rows, path)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise AtlasError(f"cannot be read: {error}", where=str(path), remedy="export it again") from None


def _from_rows(rows: Iterator[dict[str, Any]], path: Path) -> Iterator[Record]:
    for number, row in enumerate(rows, start=1):
        known = {name: value for name, value in row.items() if value is not None and not name.startswith(DERIVED)}
        yield unflatten(known, f"{path}: row {number}")
