"""Records from a table that `python -m bench export` wrote: CSV or Parquet.

Columns are fields of records; those that begin with `derived.` follow from others, and are passed over.

    python -m bench import table records.csv --out records
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.errors import AtlasError
from bench.exporters.tables import DERIVED
from bench.flat import from_text, unflatten
from bench.importers import Given, csv_rows
from bench.record import Record


def read(given: Given) -> Iterator[Record]:
    """One record a row. Raises `AtlasError`."""
    for path in given.some_files("a .csv or .parquet file"):
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
        remedy = 'pip install -e ".[parquet]", or export csv'
        raise AtlasError("Parquet needs pyarrow, which is not installed", where=str(path), remedy=remedy) from None
    try:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise AtlasError(f"cannot be read: {error}", where=str(path), remedy="export it again") from None
    for number, row in enumerate(rows, start=1):
        known = {name: value for name, value in row.items() if value is not None and not name.startswith(DERIVED)}
        yield unflatten(known, f"{path}: row {number}")
