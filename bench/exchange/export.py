"""Export records as CSV: one row per record, one column per field that a record has.

The last columns, `derived.…`, hold latencies and speedup computed from the raw samples.

    python -m bench export bench/results/measured --out records.csv
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from bench.choices import existing
from bench.errors import AtlasError, unwritable
from bench.records.record import Record
from bench.records.run_file import read, run_files
from bench.statistics.cells import latency, speedup


def export(paths: Sequence[Path], out: Path) -> int:
    """Write the records of all run files at or below `paths` to `out`, and return their number. Raises `AtlasError`."""
    records = [record for path in paths for file in run_files(existing(path)) for record in read(file)]
    if not records:
        where = ", ".join(map(str, paths))
        raise AtlasError("contains no records", where=where, remedy="measure something first: python -m bench run")
    rows = pd.json_normalize([_row(record) for record in records]).convert_dtypes()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        rows.map(_cell).to_csv(out, index=False, lineterminator="\n")
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


def _cell(value: Any) -> Any:
    """Return lists as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
