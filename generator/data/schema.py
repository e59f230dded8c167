"""The format of the downloads as JSON Schema, which follows from the registry of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from bench.records.record import SHAPES, Origin, Status, Task, Workload
from bench.statistics.verdicts import Verdict
from generator.data.registry import COLUMNS, Column

VERSION = 2
"""Version of the downloads, which their addresses contain. Raise it if a column that rows fill goes, or changes its
name, unit or meaning: a new one disturbs nobody who reads columns by their names."""

ALWAYS = ("run", "device", "model", "torch", "compile_mode", "dtype", "origin", "workload", "status", "newest")
"""Columns that each row knows. Any other may be missing in the JSON, and empty in the CSV."""

VALUES: Mapping[str, Sequence[str]] = {
    "dynamic": [*SHAPES],
    "weights": ["random", "pretrained"],
    "origin": get_args(Origin),
    "workload": get_args(Workload),
    "status": [*Status],
    "verdict": get_args(Verdict),
    "task": get_args(Task),
}
"""Texts that a column may have. Any other column may have any text."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def table_schema() -> str:
    """Return the schema of ``compile-atlas.json``: a list of rows. A column with a unit has it as ``x-unit``."""
    row = {
        "type": "object",
        "properties": {column.name: _column(column) for column in COLUMNS.values()},
        "required": [*ALWAYS],
    }
    title = f"Compile Atlas, version {VERSION}: one row per cell and run"
    schema = {"$schema": DIALECT, "title": title, "type": "array", "items": row}
    return f"{json.dumps(schema, ensure_ascii=False, indent=2)}\n"


def _column(column: Column) -> dict[str, Any]:
    """Return the rule for a column. An unknown value is missing."""
    unit = {"x-unit": column.unit} if column.unit else {}
    names = {str: "string", bool: "boolean", int: "integer", float: "number", datetime: "string"}
    values: dict[str, Any] = {"type": names[column.type]}
    if column.name in VALUES:
        values = {"enum": [*VALUES[column.name]]}
    elif column.name.startswith("break_even"):
        values = {"anyOf": [values, {"const": "inf"}]}
    elif column.type is datetime:
        values["format"] = "date-time"
    return {"description": column.description, **unit, **values}
