"""Export records as a CSV or Parquet table: one row per record, one column per field.

Columns are those of `bench.records.tabular`, in its order, without empty ones. The last columns, `derived.…`, hold
latencies and speedup computed from the raw samples; `python -m bench import table` skips them.

    python -m bench export csv bench/results/measured --out records.csv
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from bench.errors import AtlasError
from bench.records.record import Record
from bench.records.tabular import COLUMNS, flatten, is_json, to_text
from bench.statistics.cells import latency, speedup

DERIVED = "derived."
"""The prefix of columns that follow from others."""

FIGURES = tuple(f"{DERIVED}{name}" for name in ("eager_ms", "compiled_ms", "speedup"))


def write_csv(records: Iterable[Record], path: Path) -> None:
    """Write UTF-8 CSV with a header. Lists are JSON."""
    header, rows = _table(records)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([to_text(row[name]) if name in row else "" for name in header] for row in rows)


def write_parquet(records: Iterable[Record], path: Path) -> None:
    """Write Parquet with typed columns. Raises `AtlasError` if pyarrow is not installed."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        remedy = 'pip install -e ".[parquet]", or use: export csv'
        raise AtlasError("Parquet needs pyarrow, which is not installed", where="parquet", remedy=remedy) from None

    def arrow(kind: Any) -> Any:
        if items := get_args(kind):
            return pa.list_(arrow(items[0])) if type(items[0]) is not str else pa.string()
        plain = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), datetime: pa.timestamp("us", tz="UTC")}
        return plain.get(kind, pa.string())

    header, rows = _table(records)
    kinds = {
        name: pa.string() if name in COLUMNS and is_json(name) else arrow(COLUMNS.get(name, float)) for name in header
    }
    columns = {name: pa.array([row.get(name) for row in rows], type=kind) for name, kind in kinds.items()}
    pyarrow.parquet.write_table(pa.table(columns), path, compression="zstd")


def _table(records: Iterable[Record]) -> tuple[list[str], Sequence[dict[str, Any]]]:
    rows = [flatten(record) | dict(_derived(record)) for record in records]
    known = {name for row in rows for name in row}
    return [name for name in (*COLUMNS, *FIGURES) if name in known], rows


def _derived(record: Record) -> Iterator[tuple[str, float]]:
    if measurement := record.measurement:
        figures = (
            latency([measurement.eager]).value,
            latency([measurement.compiled]).value if measurement.compiled else math.nan,
            speedup([measurement]).value,
        )
        yield from ((name, figure) for name, figure in zip(FIGURES, figures, strict=True) if math.isfinite(figure))
