"""The formats of the downloads: every row fits the schema, and the schema is no wider than it says."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import ON_CPU, measured, mixed

from bench.records.record import Record, Status
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
    properties = schema.table_schema()["items"]["properties"]
    wrong = {(name, value) for row in rows for name, value in row.items() if not fits(value, properties[name])}
    assert wrong == set()
    assert {*schema.table_schema()["items"]["required"]} <= {*rows[0]}


@pytest.mark.parametrize(("name", "value"), [("verdict", "great"), ("change", "inf"), ("model", None), ("cores", 1.5)])
def test_other_values_do_not_fit(name: str, value: Any) -> None:
    assert not fits(value, schema.table_schema()["items"]["properties"][name])


def test_the_schema_of_a_record_has_every_field_and_patterns_that_others_can_read() -> None:
    document = schema.record_schema()
    fields = {field.encode_name for field in msgspec.structs.fields(Record)}
    assert fields == {*document["$defs"]["Record"]["properties"]}
    assert "\n    " not in document["$defs"]["Samples"]["description"], "as Python 3.13 keeps docstrings"
    patterns = re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', json.dumps(document))
    assert patterns
    assert not [pattern for pattern in patterns if r"\Z" in pattern]
    run = document["$defs"]["Record"]["properties"]["run"]["pattern"]
    assert re.search(run, "run-1")
    assert not re.search(run, "../run")
