"""Export records as a CSV or Parquet table: one row per record, one column per field that a record has.

The last columns, `derived.…`, hold latencies and speedup computed from the raw samples.

    python -m bench export csv bench/results/measured --out records.csv
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from bench.choices import existing, pick
from bench.errors import AtlasError, unwritable
from bench.records.record import Record
from bench.records.run_file import read, run_files
from bench.statistics.cells import latency, speedup

FORMATS = ("csv", "parquet")


def export(form: str, paths: Sequence[Path], out: Path) -> int:
    """Write the records of all run files at or below `paths` to `out`, and return their number. Raises `AtlasError`."""
    form = pick("format", form, FORMATS, where="FORMAT")
    if form == "parquet" and importlib.util.find_spec("pyarrow") is None:
        remedy = 'pip install -e ".[parquet]", or use: export csv'
        raise AtlasError("Parquet needs pyarrow, which is not installed", where="parquet", remedy=remedy)
    if out.is_dir():  # reading all records takes a while
        raise unwritable(out, IsADirectoryError())
    records = [record for path in paths for file in run_files(existing(path)) for record in read(file)]
    if not records:
        where = ", ".join(map(str, paths))
        raise AtlasError("contains no records", where=where, remedy="measure something first: python -m bench run")
    rows = pd.json_normalize([_row(record) for record in records]).convert_dtypes()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if form == "csv":
            rows.map(_csv_cell).to_csv(out, index=False, lineterminator="\n")
        else:
            rows.to_parquet(out, engine="pyarrow", compression="zstd", index=False)
    except OSError as error:
        raise unwritable(out, error) from None
    return len(records)


def _row(record: Record) -> dict[str, Any]:
    """Return the fields of a record, and figures that follow from them."""
    fields: dict[str, Any] = msgspec.to_builtins(record, builtin_types=(datetime,))
    if measurement := record.measurement:
        fields["derived"] = {
            "eager_ms": latency([measurement.eager]).value,
            "compiled_ms": latency([measurement.compiled]).value if measurement.compiled else math.nan,
            "speedup": speedup([measurement]).value,
        }
    return fields


def _csv_cell(value: Any) -> Any:
    """Return lists as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
