"""The formats of the downloads as JSON Schema: of the table of results, and of a record.

Returns what `json.dumps` writes. The first follows from the registry of columns, the second from the types of records.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import msgspec

from bench.records.record import SCHEMA, SHAPES, Origin, Record, Status, Task, Workload
from bench.statistics.verdicts import Verdict
from generator.data.registry import COLUMNS, Column

VERSION = 2
"""Version of the downloads, which their addresses contain. Raise it if a column that rows fill goes, or changes its
name, unit or meaning: a new one disturbs nobody who reads columns by their names."""

ALWAYS = ("run", "device", "model", "torch", "compile_mode", "dtype", "origin", "workload", "status", "newest")
"""Columns that each row knows. Any other may be missing in the JSON, and empty in the CSV."""

V1, V1_URI = Path(__file__).with_name("v1.schema.json"), "data/v1/schema.json"
"""The schema of the last version, which stays for a release, and its address."""

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


def table_schema() -> dict[str, Any]:
    """Return the schema of ``compile-atlas.json``: a list of rows. A column with a unit has it as ``x-unit``."""
    return {
        "$schema": DIALECT,
        "title": f"Compile Atlas, version {VERSION}: one row per cell and run",
        "type": "array",
        "items": {
            "type": "object",
            "properties": {column.name: _column(column) for column in COLUMNS.values()},
            "required": [*ALWAYS],
        },
    }


def record_schema() -> dict[str, Any]:
    """Return the schema of a line of a run file, from which all rows are computed."""
    schema = json.dumps(msgspec.json.schema(Record)).replace(r"\\Z", "$")  # the end of a text outside of Python
    title = f"Compile Atlas: a line of a run file, schema {SCHEMA}"
    return {"$schema": DIALECT, "title": title, **json.loads(schema, object_hook=_undented)}


def _undented(part: dict[str, Any]) -> dict[str, Any]:
    """Return the part with its docstring as Python 3.13 and newer keep it, whichever version runs."""
    text = part.get("description")
    return part | {"description": inspect.cleandoc(text)} if isinstance(text, str) else part


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
