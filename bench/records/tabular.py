"""Convert a record to one row of a table and back, without loss.

`flatten` takes a `Record` and returns a dict from dotted columns such as `cell.batch_size` to plain values, one column
for each known field. Lists stay lists; maps and lists of structures become JSON.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Union, get_args, get_origin

import msgspec

from bench.errors import AtlasError
from bench.records.record import SCHEMA, Record
from bench.records.run_file import invalid_record

FORMULA = frozenset("=+-@\t\r")
"""First characters that make a spreadsheet run a text as a formula."""

_MARKED = FORMULA | {"'"}


def no_formula(text: str) -> str:
    """Put an apostrophe before a text that would be a formula, as spreadsheets themselves mark text.

    A text that begins with an apostrophe gets one as well, so that `formula_of` can always remove the first.
    """
    return f"'{text}" if text[:1] in _MARKED else text


def formula_of(text: str) -> str:
    """Return the text without the apostrophe that `no_formula` put before it."""
    return text[1:] if text[:1] == "'" and text[1:2] in _MARKED else text


_SPECIAL = _MARKED | {'"'}
"""First characters of a text that is written as JSON, in quotes."""

PRESENT = "{}"
"""Value of a structure that is present and has no known field."""


def _plain(kind: Any) -> Any:
    """Return the type without None."""
    if get_origin(kind) in (Union, types.UnionType):
        return next(member for member in get_args(kind) if member is not type(None))
    return kind


def _is_structure(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def _fields(structure: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a structure. Cached, because msgspec resolves their types each time."""
    return msgspec.structs.fields(structure)


def _walk(structure: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(structure)
    for field in _fields(structure):
        path, kind = f"{prefix}{field.name}", _plain(hints[field.name])
        if _is_structure(kind):
            if not any(part.required for part in _fields(kind)):
                yield path, dict  # may be present and empty
            yield from _walk(kind, f"{path}.")
        else:
            yield path, kind


COLUMNS: Mapping[str, Any] = dict(_walk(Record))
"""The type of each column, without None."""


@cache
def is_json(column: str) -> bool:
    """Whether a column holds JSON text: maps, and lists of structures."""
    kind = COLUMNS[column]
    return kind is dict or get_origin(kind) is dict or any(map(_is_structure, get_args(kind)))


def flatten(record: Record) -> dict[str, Any]:
    """Return the known columns in the order of the schema.

    Values are text, numbers, booleans, times, lists of these, or JSON text.
    """
    return dict(_flatten(record, ""))


def _flatten(structure: msgspec.Struct, prefix: str) -> Iterator[tuple[str, Any]]:
    is_empty = True
    for field in _fields(type(structure)):
        value, path = getattr(structure, field.name), f"{prefix}{field.name}"
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if value is None or (not field.required and value == default):
            continue
        is_empty = False
        if isinstance(value, msgspec.Struct):
            yield from _flatten(value, f"{path}.")
        elif is_json(path):
            yield path, msgspec.json.encode(value).decode()
        elif isinstance(value, datetime):
            yield path, value
        else:
            yield path, msgspec.to_builtins(value)
    if is_empty:
        yield prefix.removesuffix("."), PRESENT


def unflatten(columns: Mapping[str, Any], where: str) -> Record:
    """Return the record of these columns. Raises `AtlasError`, which names the place `where`, if they form none."""
    tree: dict[str, Any] = {}
    for column, value in columns.items():
        if column not in COLUMNS:
            raise AtlasError("is not a field of a record", where=f"{where}: {column}", remedy="remove the column")
        *parents, name = column.split(".")
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        decoded = _decoded(value, f"{where}: {column}") if is_json(column) else value
        if COLUMNS[column] is dict and not isinstance(decoded, dict):
            raise AtlasError("is not a JSON object", where=f"{where}: {column}", remedy="export the record again")
        if decoded != {} or name not in branch:
            branch[name] = decoded
    try:
        return msgspec.convert({**tree, "schema": SCHEMA}, Record)
    except msgspec.ValidationError as error:
        raise invalid_record(error, where, "export the record again") from None


def _decoded(text: Any, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, TypeError, RecursionError) as error:
        raise AtlasError(f"not JSON: {error}", where=where, remedy="export the record again") from None


def to_text(value: Any) -> str:
    """Return a value as a field of a CSV file: plain single-line text stays as it is, anything else becomes JSON."""
    if isinstance(value, datetime):
        return value.isoformat()
    # JSON quotes keep a spreadsheet from running a text as a formula.
    begins_plain = isinstance(value, str) and value and value[0] not in _SPECIAL
    is_plain = begins_plain and value == value.strip() and value.isprintable()
    return value if is_plain else msgspec.json.encode(value).decode()


def from_text(column: str, text: str, where: str) -> Any:
    """Return the value that `to_text` wrote. Raises `AtlasError`."""
    kind = COLUMNS.get(column, str)
    is_words = kind is datetime or _is_text(kind) or (column in COLUMNS and is_json(column))
    if is_words and not text.startswith('"'):
        return text
    return _decoded(text, f"{where}: {column}")


def _is_text(kind: Any) -> bool:
    """Return whether the type is text or a set of literals."""
    return (isinstance(kind, type) and issubclass(kind, str)) or get_origin(kind) is typing.Literal
