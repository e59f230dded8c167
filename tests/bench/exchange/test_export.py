"""Exports: records survive a table and PyTorch's format unchanged, and each format follows its specification."""

from __future__ import annotations

import csv
import json
import sys
import typing
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from atlas_data import measured, measurement, rounds, telling
from conftest import THOROUGH
from hypothesis import HealthCheck, given, settings, strategies as st
from test_command_line import bench

from bench.errors import AtlasError
from bench.exchange.exporters import FORMATS, github_action, pytorch_oss_v3, tables
from bench.exchange.importers import huggingface_2023, pytorch_oss_v3 as from_v3, table as from_table
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import export, import_
from bench.records.record import (
    SCHEMA,
    Day,
    Digest,
    Measurement,
    Moment,
    Name,
    Record,
    Slug,
    Status,
    Text,
    Url,
    Variant,
    as_name,
)
from bench.records.run_file import append, compressed, read
from bench.records.tabular import COLUMNS, flatten, unflatten

# ── Any record at all ───────────────────────────────────────────────────────────────────────────────────────────────

FLOATS = st.floats(1e-3, 1e6)  # latencies are positive, and keep their last digit
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(0, 9),
    float: FLOATS,
    bool: st.booleans(),
    type(None): st.none(),
    datetime: st.datetimes(timezones=st.just(UTC)),
}


LETTERS = st.characters(categories=["L", "N", "P", "Zs"], exclude_characters='<>`{}\\|$";')
LIMITED: dict[Any, st.SearchStrategy[Any]] = {
    Name: st.text(LETTERS, max_size=6).map(as_name),
    Text: st.text(LETTERS, max_size=6),
    Slug: st.text("abz09", min_size=1, max_size=6),
    Digest: st.text("0123456789abcdef", min_size=64, max_size=64),
    Url: st.sampled_from(["https://example.org/?a=1&b=%20#c", "http://localhost"]),
    Day: st.sampled_from(["2023", "2023-07", "2023-07-13"]),
    Moment: st.datetimes(timezones=st.just(UTC)),
}
"""Types of text whose values the schema limits further."""


def anything(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for any values of a type of the schema."""
    if get_origin(kind) is Annotated:
        known = [strategy for limited, strategy in LIMITED.items() if limited == kind]
        plain, limits = get_args(kind)
        if plain in (int, float):
            draw: Any = st.integers if plain is int else st.floats
            return draw(limits.ge, limits.le)  # type: ignore[no-any-return]
        return known[0] if known else anything(plain)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = {name: anything(hints[name]) for name in kind.__struct_fields__}
        return st.builds(kind, **fields | ({"schema": st.just(SCHEMA)} if kind is Record else {}))
    origin, items = get_origin(kind), get_args(kind)
    if origin is tuple and len(items) > 1 and items[1] is ...:
        some = int(get_origin(items[0]) is not tuple)  # a round has calls
        return st.lists(anything(items[0]), min_size=some, max_size=2).map(tuple)
    made: dict[Any, Callable[[], st.SearchStrategy[Any]]] = {
        Union: lambda: st.one_of(*map(anything, items)),
        UnionType: lambda: st.one_of(*map(anything, items)),
        tuple: lambda: st.tuples(*map(anything, items)),
        dict: lambda: st.dictionaries(anything(items[0]), anything(items[1]), max_size=2),
        Literal: lambda: st.sampled_from(items),
        None: lambda: PLAIN[kind] if kind in PLAIN else st.sampled_from(list(kind)),
    }
    return made[origin]()


RECORDS = st.lists(anything(Record), min_size=1, max_size=3, unique_by=lambda record: record.process)


FEW = settings(
    max_examples=500 if THOROUGH else 20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FEW
@given(anything(Record))
def test_a_record_survives_its_columns(record: Record) -> None:
    columns = flatten(record)
    assert columns.keys() <= COLUMNS.keys()
    assert unflatten(columns, "x") == record


@FEW
@given(records=RECORDS)
@pytest.mark.parametrize(
    ("write", "name", "read_back"),
    [
        (tables.write_csv, "a.csv", from_table.read),
        (tables.write_parquet, "a.parquet", from_table.read),
        (pytorch_oss_v3.write, "a.json", from_v3.read),
    ],
    ids=["csv", "parquet", "pytorch-oss-v3"],
)
def test_any_records_come_back_as_they_were(
    tmp_path: Path, records: list[Record], write: Any, name: str, read_back: Any
) -> None:
    path = tmp_path / name
    write(records, path)
    assert list(read_back(ImportOptions(files=(path,)))) == records


# ── Real ones ───────────────────────────────────────────────────────────────────────────────────────────────────────

KINDS = [
    measured(figures=telling()),
    measured(
        process=1, status=Status.OOM, reason="out of memory", figures=Measurement(eager=Variant(rounds_ms=rounds(9.0)))
    ),
    measured(process=2, status=Status.CRASH, reason="killed by SIGSEGV"),
]


@pytest.mark.parametrize("form", [name for name in FORMATS if name != "github-action-benchmark"])
def test_measured_failed_and_published_records_go_out_and_come_in(tmp_path: Path, form: str) -> None:
    records = [*KINDS, *huggingface_2023.read()]
    for record in records:
        append(tmp_path / "in" / f"{record.run}.jsonl", [record])
    name = tmp_path / f"out.{'parquet' if form == 'parquet' else form}"
    assert export(form, [tmp_path / "in"], name) == (len(records), 0)
    import_("pytorch-oss-v3" if form == "pytorch-oss-v3" else "table", ImportOptions(files=(name,)), tmp_path / "back")
    for path in (tmp_path / "in").iterdir():
        assert list(read(tmp_path / "back" / path.name)) == list(read(path))


def test_a_table_has_a_column_a_field_and_figures_that_follow(tmp_path: Path) -> None:
    tables.write_csv(KINDS, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        first, _, crash = csv.DictReader(file)
    assert (first["cell.model"], first["cell.batch_size"], first["status"]) == ("ViT", "1", "pass")
    assert float(first["derived.speedup"]) == pytest.approx(10 / 8, rel=0.05)
    assert json.loads(first["measurement.eager.rounds_ms"])[0] == list(rounds(10.0)[0])
    assert (crash["reason"], crash["derived.eager_ms"]) == ("killed by SIGSEGV", "")
    assert "contributor" not in first  # no record has one, so there is no such column


def test_pytorch_metrics_are_numbers_by_variant_and_extra_information_is_text() -> None:
    found = list(pytorch_oss_v3.entries(KINDS[0]))
    by_name = {(entry["model"]["backend"], entry["metric"]["name"]): entry for entry in found}
    latency = by_name["eager", "latency_ms"]
    assert len(latency["metric"]["benchmark_values"]) == 80
    assert by_name["inductor", "compilation.cold_s"]["metric"]["benchmark_values"] == [20.0]
    assert latency["benchmark"]["mode"] == "inference"
    assert latency["runners"][0]["gpu_info"] == "NVIDIA H200"
    assert latency["dependencies"]["pytorch"] == {"version": "2.13.0"}
    assert all(isinstance(value, str) for entry in found for value in entry["benchmark"]["extra_info"].values())
    (failure,) = pytorch_oss_v3.entries(KINDS[2])
    assert failure["metric"] == {
        "name": "FAILURE_REPORT",
        "benchmark_values": [0.0],
        "extra_info": {"failure_type": "crash"},
    }


def test_github_action_tracks_the_newest_latency_of_each_working_cell(tmp_path: Path) -> None:
    older, newer = (
        measured(run=f"run-{day}", day=day, process=process, figures=measurement(eager_ms=10.0 * day, seed=process))
        for day in (1, 2)
        for process in (0,)
    )
    failed = measured(status=Status.OOM, reason="out of memory", batch_size=64)
    assert github_action.write([older, newer, failed], tmp_path / "a.json") == 1
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [set(entry) for entry in found] == [{"name", "unit", "value", "range", "extra"}] * 2
    eager, compiled = found
    assert eager["value"] == pytest.approx(20.0, rel=0.05)
    assert (eager["unit"], "run run-2" in eager["extra"]) == ("ms", True)
    assert eager["name"] == "ViT · batch 1 · float32 · 224×224 · NVIDIA H200 · eager beside default"
    assert len({entry["name"] for entry in found}) == 2
    assert compiled["value"] == pytest.approx(8.0, rel=0.05)


# ── Mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_mistakes_in_a_table_are_told_with_place_and_field(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    tables.write_csv(KINDS[:1], path)
    text = path.read_text(encoding="utf-8")
    for old, new, where in (
        ("cell.model", "cell.modle", ":1"),
        ("cell.dtype", "cell.dype", ":2: cell.dype"),
        (",image-classification,", ",images,", ":2"),
        ("[[", "[(", ":2: measurement.eager.rounds_ms"),
    ):
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(AtlasError) as error:
            import_("table", ImportOptions(files=(path,)), tmp_path / "out")
        assert error.value.where == f"{path}{where}"
        assert error.value.remedy
    assert not (tmp_path / "out").exists()


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for attempt in (
        lambda: tables.write_parquet(KINDS, tmp_path / "a.parquet"),
        lambda: list(from_table.read(ImportOptions(files=(tmp_path / "a.parquet",)))),
    ):
        with pytest.raises(AtlasError, match="pyarrow") as error:
            attempt()
        assert "[parquet]" in error.value.remedy


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append(tmp_path / "run-1.jsonl", KINDS)
    out = tmp_path / "new" / "records.csv"
    assert bench("export", "csv", str(tmp_path / "run-1.jsonl"), "--out", str(out)) == 0
    assert f"3 records: {out}" in capsys.readouterr().out
    packed, plain = tmp_path / "run-1.jsonl.gz", out.read_bytes()
    packed.write_bytes(compressed((tmp_path / "run-1.jsonl").read_bytes()))
    assert bench("export", "csv", str(packed), "--out", str(out)) == 0
    assert out.read_bytes() == plain
    assert bench("import", "table", str(out), "--out", str(tmp_path / "back"), "--by", "A. Person") == 0
    text = capsys.readouterr().out
    assert "1 pass" in text
    assert "1 oom" in text
    assert {record.contributor for record in read(tmp_path / "back" / "run-1.jsonl")} == {"A. Person"}
    for arguments, says in (
        (("export", "cvs", "--out", str(out)), "format 'cvs' is not known"),
        (("export", "csv", str(tmp_path / "nowhere"), "--out", str(out)), "no such file"),
        (("export", "csv", str(out), "--out", str(out)), "records.csv:1"),
        (("import", "timm"), "no file was given"),
        (("import", "table", str(out), "--by", "a\nb"), "is not a valid name"),
        (("import", "huggingface-2023", str(out)), "omit the files"),
    ):
        assert bench(*arguments) == 2
        assert says in capsys.readouterr().err
