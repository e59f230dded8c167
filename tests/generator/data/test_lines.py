"""Lines of run files are read as `bench.records.run_file` reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import measured, write
from hypothesis import given
from hypothesis import strategies as st

from bench.records.record import Record
from generator.data import lines


def test_a_line_is_a_record() -> None:
    assert lines._Line.__struct_fields__ == Record.__struct_fields__


ODD = st.sampled_from([0, 1.5, -2, 1e-5, 2e30, "1", "a]],[[r", None, True])
CALLS = st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=3)


@given(
    variants=st.lists(st.recursive(ODD, lambda inner: st.lists(inner, max_size=3), max_leaves=8), max_size=4)
    | st.lists(st.lists(CALLS, max_size=3), max_size=4),
    separator=st.sampled_from([",", ", "]),
)
def test_rounds_of_many_variants_are_read_as_those_of_each(variants: list[Any], separator: str) -> None:
    """Whatever stands there: what is no rounds is refused by both ways."""
    written = [json.dumps(each, separators=(separator, ":")).encode() for each in variants]
    try:
        each = [lines._rounds_of(text) for text in written]
    except msgspec.MsgspecError:
        with pytest.raises((msgspec.MsgspecError, lines._NotReadableError)):
            lines._rounds(written)
        return
    calls, rounds = lines._rounds(written)
    assert rounds.tolist() == list(map(len, each))
    assert calls.lists() == [list(calls) for rounds in each for calls in rounds]


def test_files_without_lines_give_none(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "torn.jsonl").write_bytes(b'{"schema":')
    write(tmp_path, [measured()])
    assert len(lines.read([tmp_path / "empty.jsonl", tmp_path / "torn.jsonl"])) == 0
    assert lines.read(sorted(tmp_path.glob("*.jsonl"))).records["file"].tolist() == [1]
