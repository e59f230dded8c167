"""The formats of the downloads as JSON Schema: of the table of results, and of a record.

Returns what `json.dumps` writes. The first follows from the registry of columns, the second from the types of records.
"""

from __future__ import annotations

import inspect
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.records.record import SCHEMA, Record
from generator.data.registry import COLUMNS, Column

VERSION = 2
"""Version of the downloads, which their addresses contain. Raise it if a column that rows fill goes, or changes its
name, unit or meaning: a new one disturbs nobody who reads columns by their names."""

ALWAYS = ("run", "device", "model", "torch", "compile_mode", "dtype", "origin", "workload", "status", "newest")
"""Columns that each row knows. Any other may be missing in the JSON, and empty in the CSV."""

V1, V1_URI = Path(__file__).with_name("v1.schema.json"), "data/v1/schema.json"
"""The schema of the last version, which stays for a release, and its address."""

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
    unit = {"x-unit": column.unit} if column.unit else {}
    return {"description": column.description, **unit, **_values(column)}


def _values(column: Column) -> dict[str, Any]:
    """Return the rule for the values of a column. An unknown value is missing."""
    if column.values:
        return {"enum": [*column.values]}
    if column.name.startswith("break_even"):
        return {"anyOf": [{"type": "number"}, {"const": "inf"}]}
    if column.type is datetime:
        return {"type": "string", "format": "date-time"}
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return {"type": names[column.type]}
