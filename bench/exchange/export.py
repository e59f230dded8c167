"""Export records as CSV: one row per record, one column per field that a record has.

The last columns, `derived.…`, hold latencies and speedup computed from the raw samples.

    python -m bench export bench/results/measured --out records.csv
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from bench.choices import existing
from bench.errors import AtlasError, unwritable
from bench.records.run_file import read, run_files
from bench.statistics.cells import Cells
from bench.statistics.processes import VARIANTS


def export(paths: Sequence[Path], out: Path) -> int:
    """Write the records of all run files at or below `paths` to `out`, and return their number. Raises `AtlasError`."""
    records = [record for path in paths for file in run_files(existing(path)) for record in read(file)]
    if not records:
        where = ", ".join(map(str, paths))
        raise AtlasError("contains no records", where=where, remedy="measure something first: python -m bench run")
    fields = [msgspec.to_builtins(record, builtin_types=(datetime,)) for record in records]
    rows = pd.json_normalize(fields).convert_dtypes()
    cells = Cells([[record.measurement] if record.measurement else [] for record in records])
    rows["derived.eager_ms"], rows["derived.compiled_ms"] = (cells.latency(variant)[0] for variant in VARIANTS)
    rows["derived.speedup"] = cells.speedup[0]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        rows.map(_cell).to_csv(out, index=False, lineterminator="\n")
    except OSError as error:
        raise unwritable(out, error) from None
    return len(records)


def _cell(value: Any) -> Any:
    """Return lists as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
