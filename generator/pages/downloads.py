"""Everything as files: `Results` enter, CSV and JSON leave. The same results give the same bytes.

One row is one cell of one run, with the columns of `load.COLUMNS`.

    python -c "from generator import downloads, load; print(downloads.as_csv(load.load()))"
"""

from __future__ import annotations

import csv
import math
from datetime import datetime
from functools import lru_cache
from io import StringIO
from typing import Any

import msgspec

from bench.records.tabular import FORMULA
from generator.data.load import Results
from generator.data.registry import COLUMNS


@lru_cache(maxsize=2)
def as_csv(results: Results) -> str:
    """Every row of every run, no text of which is a formula. What is unknown is empty; a break-even point that is never
    reached is inf."""
    content = StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_no_formula(_plain(row[name])) for name in COLUMNS] for row in results.rows)
    return content.getvalue()


@lru_cache(maxsize=2)
def as_json(results: Results) -> str:
    """The same as a list of objects, one a line: what is unknown is null, never is the text "inf"."""
    rows = ({name: _plain(row[name]) for name in COLUMNS} for row in results.rows)
    return (b"[\n" + b",\n".join(map(msgspec.json.encode, rows)) + b"\n]\n").decode()


_MARKED = FORMULA | {"'"}


def _no_formula(value: Any) -> Any:
    """A text that would be a formula gets an apostrophe before it, as spreadsheets themselves mark text; whoever reads
    the file otherwise takes it off, or reads the JSON, where every text is as it is."""
    return f"'{value}" if isinstance(value, str) and value[:1] in _MARKED else value


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value.isoformat() if isinstance(value, datetime) else value
