"""A record as one row of a table, and back: dotted columns such as `cell.batch_size`, one for each field of the schema.

Enter a `Record`, leave its columns with plain values; what is unknown has none. Nothing is lost either way. Lists stay
lists; fields that are maps or lists of structures are JSON.

    python -c "from bench.records.tabular import COLUMNS; print(list(COLUMNS))"
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
from bench.records.run_file import no_record

FORMULA = frozenset("=+-@\t\r")
"""Signs with which a spreadsheet takes a text for a formula, and runs it."""

_SPECIAL = FORMULA | {'"', "'"}
"""Signs that a field may not begin with, as they are."""

PRESENT = "{}"
"""Value of a structure of which nothing is known but that it is there."""


def _plain(kind: Any) -> Any:
    """The type without None."""
    if get_origin(kind) in (Union, types.UnionType):
        return next(each for each in get_args(kind) if each is not type(None))
    return kind


def _is_structure(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def _fields(structure: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Looking them up resolves their types, which takes long."""
    return msgspec.structs.fields(structure)


def _walk(structure: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(structure)
    for field in _fields(structure):
        path, kind = f"{prefix}{field.name}", _plain(hints[field.name])
        if _is_structure(kind):
            if not any(each.required for each in _fields(kind)):
                yield path, dict  # it may be there, and empty
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
    """Known columns in the order of the schema: text, numbers, truth values, times, lists of these, or JSON text."""
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
    """The record of these columns. Raises `AtlasError` with `where` for what is none."""
    tree: dict[str, Any] = {}
    for column, value in columns.items():
        if column not in COLUMNS:
            raise AtlasError("is not a field of a record", where=f"{where}: {column}", remedy="remove the column")
        *parents, name = column.split(".")
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        known = _decoded(value, f"{where}: {column}") if is_json(column) else value
        if COLUMNS[column] is dict and not isinstance(known, dict):
            raise AtlasError("is no object", where=f"{where}: {column}", remedy="export the record again")
        if known != {} or name not in branch:
            branch[name] = known
    try:
        return msgspec.convert({**tree, "schema": SCHEMA}, Record)
    except msgspec.ValidationError as error:
        raise no_record(error, where, "export the record again") from None


def _decoded(text: Any, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, TypeError, RecursionError) as error:
        raise AtlasError(f"not JSON: {error}", where=where, remedy="export the record again") from None


def to_text(value: Any) -> str:
    """A value as the field of a CSV file. Text stays as it is where that is a line that reads as itself, else it is
    JSON."""
    if isinstance(value, datetime):
        return value.isoformat()
    # What a spreadsheet would take for a formula is no plain text either: in quotes it is none.
    begins_plain = isinstance(value, str) and value and value[0] not in _SPECIAL
    is_plain = begins_plain and value == value.strip() and value.isprintable()
    return value if is_plain else msgspec.json.encode(value).decode()


def from_text(column: str, text: str, where: str) -> Any:
    """The value that `to_text` wrote. Raises `AtlasError`."""
    kind = COLUMNS.get(column, str)
    is_words = kind is datetime or _is_text(kind) or (column in COLUMNS and is_json(column))
    if is_words and not text.startswith('"'):
        return text
    return _decoded(text, f"{where}: {column}")


def _is_text(kind: Any) -> bool:
    """Text, or one of some words."""
    return (isinstance(kind, type) and issubclass(kind, str)) or get_origin(kind) is typing.Literal
