"""The table of results as CSV and JSON files, one row per cell and run, with the columns of the table.

Takes `Results` and returns text: the same results give the same bytes.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pandas as pd

from generator.data.load import Results
from generator.data.selection import plain


def as_csv(results: Results) -> str:
    """Return every row of every run. Unknown values are empty; a break-even point beyond reach is inf.

    A text that a spreadsheet would run as a formula has an apostrophe before it, as spreadsheets themselves do.
    """
    formula = ("=", "+", "-", "@", "\t", "\r", "'")
    columns = {
        name: [
            f"'{each}" if isinstance(each, str) and each.startswith(formula) else each for each in json_values(column)
        ]
        for name, column in results.table.items()
    }
    return pd.DataFrame(columns, dtype=object).to_csv(index=False, lineterminator="\n")


def as_json(results: Results) -> str:
    """Return the same as a list of objects, one per line: an unknown value is missing, never is the text "inf"."""
    names = results.table.columns.tolist()
    rows = (
        {name: value for name, value in zip(names, values, strict=True) if value is not None and value != ""}
        for values in zip(*(json_values(results.table[name]) for name in names), strict=True)
    )
    return (b"[\n" + b",\n".join(map(msgspec.json.encode, rows)) + b"\n]\n").decode()


def json_values(column: pd.Series) -> list[Any]:
    """Return the values of a column as JSON has them: None for unknown, "inf" for infinity, dates in ISO 8601."""
    values = plain(column)
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return [value and value.isoformat() for value in values]
    if column.dtype.kind == "f":
        return ["inf" if value == math.inf else value for value in values]
    return values


DIGITS = 7
"""Significant digits of a figure for a script: as many as the published latencies have, more than any measurement, and
more than pages show."""


def rounded(value: Any) -> Any:
    """Return a figure with `DIGITS`, the text "inf" for infinity, and anything else unchanged."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else "inf"


def compact(value: Any) -> str:
    """Return a value as JSON that takes as little room as it can: scripts read it, and nobody else."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
