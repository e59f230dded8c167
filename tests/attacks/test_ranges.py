"""The range of every number of a record: outside it is refused with its place, and inside it the site is built."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from attack import honest, put
from conftest import THOROUGH
from hypothesis import given, settings, strategies as st

from bench.exchange.check import check
from bench.records.record import Record
from bench.records.run_file import range_of
from generator.data.load import load
from generator.languages.language import load_language
from generator.pages import downloads
from generator.pages.pages import render

LISTS = {"input_size": 2, "load_average": 2}
"""Numbers of a list whose length is fixed."""


def numbers(kind: Any = Record, path: str = "", limits: Any = None) -> Iterator[tuple[str, type, Any]]:
    """Yield every number of the schema: its place, its type, and its limits or None. Lists and maps have one item."""
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Annotated:
        meta = next((each for each in arguments[1:] if each.ge is not None), None)
        yield from numbers(arguments[0], path, meta)
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for name, each in typing.get_type_hints(kind, include_extras=True).items():
            yield from numbers(each, f"{path}.{name}" if path else name)
    elif kind in (int, float):
        yield path, kind, limits
    else:
        first, last = (
            (1, 2) if typing.get_origin(kind) is dict else (0, 1 if typing.get_origin(kind) is tuple else None)
        )
        for each in arguments[first:last]:
            yield from numbers(each, path)


NUMBERS = {path: (kind, limits) for path, kind, limits in numbers() if path != "schema"}


def test_every_number_has_a_range() -> None:
    assert len(NUMBERS) > 50
    assert [path for path, (_, limits) in NUMBERS.items() if limits is None] == []
    assert all(range_of(path) == (limits.ge, limits.le) for path, (_, limits) in NUMBERS.items())


ITEMS = {"phases_s": "inductor", "throttle_reasons": "power cap", "costs_s": "compiling"}
"""An item of each map."""


def shaped(path: str, value: Any) -> Any:
    """Return the number as the field holds it: alone, in lists, or in a map."""
    name = path.rpartition(".")[2]
    if name == "rounds_ms":
        return [[value]] * 40
    if name in ITEMS:
        return {ITEMS[name]: value}
    is_list = name in ("device_ms", "clock_mhz", "temperature_c", *LISTS)
    return [value] * LISTS.get(name, 3) if is_list else value


def with_parts(line: dict[str, Any]) -> dict[str, Any]:
    line["measurement"].setdefault("accuracy", {"max_relative_error": 1e-6})
    return line


@pytest.mark.parametrize("path", NUMBERS)
def test_a_number_outside_its_range_is_refused_with_its_place(path: str, tmp_path: Path) -> None:
    kind, limits = NUMBERS[path]
    beyond = (limits.ge - 1, limits.le + 1) if kind is int else (limits.ge - 1, limits.le * 2)
    for value in beyond:
        line = with_parts(honest()[0])
        put(line, path, shaped(path, value))
        file = tmp_path / "r.jsonl"
        file.write_text(json.dumps(line) + "\n", encoding="utf-8")
        (problem,) = check([file], tmp_path)
        assert (problem.where, problem.field) == (f"{file}:1", path)
        assert f"{limits.le:g}" in problem.what


@settings(max_examples=200 if THOROUGH else 5, deadline=None)
@given(data=st.data())
def test_what_the_check_accepts_is_shown(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("inside")
    lines = [with_parts(line) for line in honest()]
    for path in data.draw(st.lists(st.sampled_from(sorted(NUMBERS)), min_size=1, max_size=4, unique=True)):
        kind, limits = NUMBERS[path]
        if path in ("process", "cell.batch_size"):
            continue
        draw = st.integers(limits.ge, limits.le) if kind is int else st.floats(limits.ge, limits.le)
        value = data.draw(st.sampled_from([limits.ge, limits.le]) | draw)
        for line in lines:
            put(line, path, shaped(path, value))
    file = folder / "r.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    if not list(check([file], folder)):
        results = load(folder)
        json.loads(downloads.as_json(results))
        downloads.as_csv(results)
        assert list(render(load_language("en"), results))
