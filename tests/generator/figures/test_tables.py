"""Tables as data: which lines and columns there are, and what is never averaged together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from atlas_data import KEEPING, ON_CPU, PUBLISHED, measured, measurement, telling, write
from throughput_records import throughput

from bench.records.record import Record, Status
from generator.data.load import Results, load
from generator.data.registry import column
from generator.data.selection import records as plain, trusted
from generator.figures import tables


@pytest.fixture(scope="module")
def results() -> Results:
    return load(PUBLISHED)


def chosen(results: Results, **values: object) -> pd.DataFrame:
    cells = results.newest
    for name, value in values.items():
        cells = cells[cells[name] == value]
    return cells


def rows_of(tmp_path: Path, *found: Record) -> pd.DataFrame:
    return load(write(tmp_path, found)).newest


def test_latency_columns_are_what_tells_rows_apart(results: Results) -> None:
    one_table = tables.latency(chosen(results, device="a100", torch="2.0.1", batch_size=1))
    assert ([*one_table], len(one_table)) == (["model", "change", "speedup", "eager_ms", "compiled_ms"], 12)
    assert [*tables.latency(chosen(results, model="detr"))][:4] == ["device", "change", "batch_size", "torch"]
    everything = tables.latency(results.newest)
    assert [*everything][:6] == ["model", "change", "device", "compile_mode", "batch_size", "torch"]
    assert len(everything) == 136


def test_the_conclusion_follows_the_name_and_the_source_comes_last(told: pd.DataFrame, results: Results) -> None:
    both = pd.concat([told, results.newest], ignore_index=True)
    made = (tables.latency, tables.slower, tables.compile_cost, tables.break_even, tables.modes, tables.memory)
    for lines in (*made, tables.efficiency, tables.summary, tables.models):
        _name, first, *others = lines(both)
        assert column(str(first)).decisive, lines
        assert "origin" not in others[:-1], lines
    assert [*tables.break_even(tables.compile_rows(told))][1:3] == ["break_even_calls", "break_even_warm_calls"]


def test_intervals_and_rarer_coordinates_are_columns_where_any_differ(tmp_path: Path) -> None:
    lines = tables.latency(rows_of(tmp_path, measured(), measured(batch_size=4, status=Status.CRASH, reason="x")))
    assert "dtype" not in lines
    assert lines["interval"].notna().tolist() == [True, False]
    assert "dtype" in tables.latency(rows_of(tmp_path, measured(run="half", dtype="float16")))


def test_summary_has_a_line_per_device_and_source(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    cells = rows_of(tmp_path, measured(device_name="NVIDIA A100", figures=measurement(10.0, 20.0)))
    lines = plain(tables.summary(cells))
    assert [(line["device"], cells["profile"].to_dict()[line["source"]]) for line in lines] == [
        ("a100", "standard"),
        ("a100", "paper-2023"),
        ("t4", "paper-2023"),
        ("v100", "paper-2023"),
    ]
    own, guide = lines[:2]
    assert (own["comparisons"], own["slower"]) == (1, 1)
    assert own["median_change"] == pytest.approx(1, rel=0.05)
    assert (guide["models"], guide["comparisons"], guide["slower"]) == (12, 47, 0)
    assert (own["batch_sizes"], guide["batch_sizes"]) == ((1,), (1, 4, 16))
    assert own["quartiles"] is None, "one comparison has none"
    changes = trusted(chosen(load(tmp_path), device="a100", origin="published"))["change"]
    assert guide["quartiles"] == pytest.approx(changes.quantile([0.25, 0.75]).tolist())


def test_a_summary_of_throughput_has_the_newest_version_and_no_doubts(tmp_path: Path) -> None:
    rows = [throughput(f"m{n}", 10.0, 10.0 + n) for n in range(1, 10)]
    rows += [throughput("old", 10.0, 90.0, torch="2.4.0"), throughput("toy", 10.0, 40.0, flags=("toy-model",))]
    rows += [throughput("apart", 10.0, 45.0, compiled_batch_size=64)]
    (line,) = plain(tables.summary(rows_of(tmp_path, *rows)))
    assert (line["comparisons"], line["torch"], line["batch_sizes"]) == (9, ("2.9.1",), (256,))
    assert line["median_change"] == pytest.approx(10 / 15 - 1)
    assert rows_of(tmp_path).loc[line["best_model"], "model_label"] == "m9"


def test_versions_of_a_throughput_are_no_versions_of_a_latency(tmp_path: Path) -> None:
    found = [throughput("a", 100.0, 200.0 + len(torch), torch=torch) for torch in ("2.4.0", "2.10.0")]
    assert tables.version_rows(rows_of(tmp_path, *found)).empty


def test_batch_sizes_are_compared_over_the_same_cells_of_one_origin(results: Results, tmp_path: Path) -> None:
    same = ["device", "model", "torch"]
    small, large = tables.batch_pairs(results.newest)
    assert ({*small["batch_size"]}, {*large["batch_size"]}) == ({1}, {16})
    assert small[same].to_numpy().tolist() == large[same].to_numpy().tolist()
    assert not {*small.index, *large.index} & {*results.doubts}
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    sizes = [measured(batch_size=size, figures=measurement(11.0 * size, 10.0 * size)) for size in (1, 4, 8)]
    lone = measured(batch_size=8, model="BeiT", checkpoint="microsoft/beit")
    ((first,), (last,)) = map(plain, tables.batch_pairs(rows_of(tmp_path, *sizes, lone)))
    assert (first["origin"], first["batch_size"], last["batch_size"]) == ("measured", 1, 8)
    assert all(rows.empty for rows in tables.batch_pairs(chosen(results, batch_size=1)))


def test_slower_counts_only_what_is_surely_slower(tmp_path: Path) -> None:
    sizes = {1: 10.01, 4: 12.0, 16: 14.0}
    records = [measured(batch_size=size, figures=measurement(10.0, compiled)) for size, compiled in sizes.items()]
    assert list(tables.slower(rows_of(tmp_path, *records))["batch_size"]) == [16, 4]


def test_compile_cost_leaves_published_rows_out(results: Results, tmp_path: Path) -> None:
    assert tables.compile_cost(tables.compile_rows(results.newest)).empty
    (line,) = plain(tables.compile_cost(tables.compile_rows(rows_of(tmp_path, measured()))))
    assert (line["compile_cold_s"], line["compile_warm_s"], line["graphs"]) == (20.0, 5.0, 1)
    assert line["break_even_calls"] == pytest.approx(10_000, rel=0.05)


# ── What a measurement knows besides latency ────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Two modes of a model that tells all, the older version of one of them, and a model that tells little."""
    records = [
        measured(figures=telling()),
        measured(figures=telling(10.0, 12.0), compile_mode="reduce-overhead"),
        measured(figures=telling(12.0, 10.0), torch="2.9.1", run="old"),
        measured(model="DETR", checkpoint="facebook/detr"),
    ]
    return load(write(tmp_path_factory.mktemp("results"), records)).newest


def test_modes_of_a_cell_stand_together_default_first(told: pd.DataFrame) -> None:
    lines = plain(tables.modes(tables.mode_rows(told)))
    assert [line["compile_mode"] for line in lines] == ["default", "reduce-overhead"]
    assert {told["model"].iloc[0], *tables.mode_rows(told)["model"]} == {"vit"}
    assert {"compiled_ms", "change", "compile_cold_s", "compile_warm_s", "break_even_calls"} <= lines[0].keys()
    assert lines[1]["break_even_calls"] == math.inf


def test_breaks_and_skips_are_told_once_a_model_with_their_modes(told: pd.DataFrame) -> None:
    first, second = plain(tables.graph_breaks(tables.break_rows(told)))
    assert (first["model"], first["modes"]) == ("vit", ("default", "reduce-overhead"))
    assert (first["reason"], first["location"]) == ("call <print>", "transformers/vit.py:7")
    assert second["location"] == ""
    assert list(tables.skips(tables.skip_rows(told))["reason"]) == ["mutated inputs"]
    (line,) = plain(tables.recompiles(tables.recompile_rows(told)))
    assert (line["dynamic"], line["batch_size_recompiles"]) == ("auto", 2)
    assert line["modes"] == ("default", "reduce-overhead")


def test_versions_compare_the_newest_with_the_oldest(told: pd.DataFrame) -> None:
    lines = tables.versions(tables.version_rows(told))
    (line,) = plain(lines)
    assert [*lines] == ["model", "version_change", "version 2.9.1", "version 2.13.0"]
    assert line["version_change"]["compiled"] == pytest.approx(8 / 10 - 1, rel=0.05)
    assert line["version_change"]["eager"] == pytest.approx(10 / 12 - 1, rel=0.05)


def test_what_keeping_memory_changes_is_told_by_the_newest_runs_of_both_ways(tmp_path: Path) -> None:
    def run(name: str, day: int, eager_ms: float, **changes: Any) -> Record:
        return measured(run=name, day=day, figures=measurement(eager_ms, 8.0), **changes)

    records = [
        run("old", 1, 9.0, **ON_CPU),
        run("default", 2, 14.0, **ON_CPU),
        run("old-keep", 3, 9.0, **KEEPING),
        run("keep", 4, 10.0, **KEEPING),
        run("keep", 4, 10.0, batch_size=4, **KEEPING),
        run("gpu", 1, 9.0),
        run("gpu-keep", 2, 9.0, environment={"settings": KEEPING["environment"]["settings"]}),
    ]
    pairs = tables.malloc_pairs(load(write(tmp_path, records)).table)
    ((default,), (keep,)) = map(plain, pairs)
    assert (default["run"], keep["run"]) == ("default", "keep")
    assert all(rows.empty for rows in tables.malloc_pairs(load(PUBLISHED).table))


def test_environment_shows_each_distinct_one_the_newest_first(results: Results, tmp_path: Path) -> None:
    published = tables.environment(chosen(results, device="v100"))
    assert ([*published], len(published)) == (["torch"], 2)
    cpu = ON_CPU | {"environment": {"cores": 2, "settings": {"TF32": "off"}}}
    new = [measured(run="new", day=2, batch_size=size, **cpu) for size in (1, 4)]
    lines = tables.environment(rows_of(tmp_path, measured(run="old", torch="2.12.0", **cpu), *new))
    assert list(lines["torch"]) == ["2.13.0", "2.12.0"]
    assert lines["settings"].iloc[0] == '{"TF32": "off"}'
    assert "driver" not in lines


def test_runs_are_told_with_all_their_records(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    records = [measured(run="old", day=1), measured(run="new", day=2), measured(run="new", day=2, process=1)]
    lines = plain(tables.runs(load(write(tmp_path, records)).table))
    assert [(line["run"], line["records"]) for line in lines] == [("new", 2), ("old", 1), ("huggingface-2023", 136)]
    assert lines[2]["licence"] == "Apache-2.0"
    assert len(lines[2]["device_names"]) == 3
