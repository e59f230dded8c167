"""Tables as data: which lines and columns there are, and what is never averaged together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from atlas_data import KEEPING, ON_CPU, PUBLISHED, TELLING, measured, measurement, write
from throughput_records import throughput

from bench.records.record import Record
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


def test_the_conclusion_follows_the_name_and_the_source_comes_last(tmp_path: Path, results: Results) -> None:
    told = rows_of(tmp_path, *TELLING)
    both = pd.concat([told, results.newest], ignore_index=True)
    made = (tables.latency, tables.slower, tables.compile_cost, tables.break_even, tables.modes, tables.memory)
    for lines in (*made, tables.efficiency, tables.summary, tables.models):
        _name, first, *others = lines(both)
        assert column(str(first)).decisive, lines
        assert "origin" not in others[:-1], lines
    assert [*tables.break_even(tables.compile_rows(told))][1:3] == ["break_even_calls", "break_even_warm_calls"]


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
    assert own["median_speedup"] == pytest.approx(0.5, rel=0.05)
    assert (guide["models"], guide["comparisons"], guide["slower"]) == (12, 47, 0)
    assert (own["batch_sizes"], guide["batch_sizes"]) == ((1,), (1, 4, 16))
    assert own["quartiles"] is None, "one comparison has none"
    speedups = trusted(chosen(load(tmp_path), device="a100", origin="published"))["speedup"]
    assert guide["quartiles"] == pytest.approx(speedups.quantile([0.25, 0.75]).tolist())


def test_a_summary_of_throughput_has_the_newest_version_and_no_doubts(tmp_path: Path) -> None:
    rows = [throughput(f"m{n}", 10.0, 10.0 + n) for n in range(1, 10)]
    rows += [throughput("old", 10.0, 90.0, torch="2.4.0"), throughput("toy", 10.0, 40.0, flags=("toy-model",))]
    rows += [throughput("apart", 10.0, 45.0, compiled_batch_size=64)]
    (line,) = plain(tables.summary(rows_of(tmp_path, *rows)))
    assert (line["comparisons"], line["torch"], line["batch_sizes"]) == (9, ("2.9.1",), (256,))
    assert line["median_speedup"] == pytest.approx(1.5)
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
