"""The formats of the downloads: every row fits the schema, and the schema is no wider than it says."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from atlas_data import ON_CPU, measured, mixed

from bench.records.record import Status
from generator.data import schema
from generator.data.load import load
from generator.pages.downloads import as_json

KINDS: dict[str, Any] = {"string": str, "integer": int, "number": int | float, "boolean": bool, "null": type(None)}


def fits(value: Any, rule: dict[str, Any]) -> bool:
    """Whether a value fits a rule of the few kinds that the schema has."""
    if "anyOf" in rule:
        return any(fits(value, each) for each in rule["anyOf"])
    if "const" in rule:
        return bool(value == rule["const"])
    if "enum" in rule:
        return value in rule["enum"]
    names = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
    kinds = tuple(KINDS[name] for name in names)
    is_moment = "format" not in rule or value is None or bool(datetime.fromisoformat(value).tzinfo)
    return isinstance(value, kinds) and is_moment and (not isinstance(value, bool) or "boolean" in names)


def test_every_row_fits_the_schema(tmp_path: Path) -> None:
    failed = measured(batch_size=16, status=Status.OOM, reason="x", **ON_CPU)
    rows = json.loads(as_json(load(mixed(tmp_path, failed))))
    items = json.loads(schema.table_schema())["items"]
    properties = items["properties"]
    wrong = {(name, value) for row in rows for name, value in row.items() if not fits(value, properties[name])}
    assert wrong == set()
    assert {*items["required"]} <= {*rows[0]}


@pytest.mark.parametrize(("name", "value"), [("verdict", "great"), ("change", "inf"), ("model", None), ("cores", 1.5)])
def test_other_values_do_not_fit(name: str, value: Any) -> None:
    assert not fits(value, json.loads(schema.table_schema())["items"]["properties"][name])
