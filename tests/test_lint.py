"""The data lint: it finds the known faults of the published figures, and stays silent about sound data."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from atlas_data import PUBLISHED, measured, measurement, write

from bench.record import Status
from generator.lint import Finding, lint
from generator.load import load


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return load(PUBLISHED).newest


def of_kind(findings: tuple[Finding, ...], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def told(cells: pd.DataFrame, row: int) -> tuple[object, ...]:
    return tuple(cells.loc[row, ["device", "model", "batch_size", "torch"]])


def test_row_repeated_on_another_device(published: pd.DataFrame) -> None:
    (finding,) = of_kind(lint(published), "repeated")
    assert told(published, finding.rows[0]) == ("t4", "beit", 16, "2.1.0.dev")
    assert told(published, finding.rows[1]) == ("a100", "beit", 16, "2.1.0.dev")
    assert finding.figures == {"eager_ms": 42.179, "compiled_ms": 42.147, "expected_ms": 188.978}
    assert finding.doubtful == finding.rows[:1]


def test_device_order_inverted(published: pd.DataFrame) -> None:
    (finding,) = of_kind(lint(published), "device_order")
    assert [told(published, row)[:3] for row in finding.rows] == [("v100", "segformer", 1), ("a100", "segformer", 1)]
    assert (finding.figures["arm"], finding.figures["ms"], finding.figures["other_ms"]) == ("compiled", 5.862, 10.5)
    assert finding.figures["share"] > 0.75


def test_gaps_at_batch_sizes_that_all_siblings_have(published: pd.DataFrame) -> None:
    gaps = of_kind(lint(published), "gap")
    assert [told(published, gap.rows[0])[:2] for gap in gaps] == [(each, "owlvit") for each in ("a100", "t4", "v100")]
    assert all(gap.figures == {"batch_sizes": (4, 16), "siblings": 11} for gap in gaps)
    assert all(gap.doubtful == () for gap in gaps)


def test_a_larger_batch_that_is_faster(published: pd.DataFrame) -> None:
    (finding,) = of_kind(lint(published), "batch_order")
    assert [told(published, row)[:3] for row in finding.rows] == [("a100", "resnet", 4), ("a100", "resnet", 1)]
    assert (finding.figures["ms"], finding.figures["other_ms"]) == (2.187, 3.801)


def test_flags_of_the_importer(published: pd.DataFrame) -> None:
    flags = {finding.figures["flag"]: len(finding.rows) for finding in of_kind(lint(published), "flag")}
    assert flags == {"dtype-not-stated": 136, "batch-size-worded-unbatched": 14}


def test_nothing_else_is_doubted(published: pd.DataFrame) -> None:
    assert len(lint(published)) == 8


def test_no_rule_knows_the_published_rows_by_name(published: pd.DataFrame) -> None:
    """The same faults are found when everything goes by other names and every latency is a third longer."""
    renamed = published.copy()
    renamed["model"] = "m" + renamed["model"]
    renamed["device"] = renamed["device"].map({"a100": "zed", "t4": "alpha", "v100": "mid"})
    renamed["batch_size"] *= 3
    renamed[["eager_ms", "compiled_ms"]] *= 1.25
    assert {(each.kind, *each.rows) for each in lint(renamed)} == {(each.kind, *each.rows) for each in lint(published)}


def test_a_jump_between_versions(tmp_path: Path) -> None:
    old = measured(torch="2.12.0", figures=measurement(100.0, 90.0))
    new = measured(torch="2.13.0", figures=measurement(40.0, 35.0))
    cells = load(write(tmp_path, [old, new])).newest
    (finding,) = lint(cells)
    assert (finding.kind, cells.loc[finding.rows[0], "torch"]) == ("version_jump", "2.13.0")
    assert finding.figures["other_ms"] == pytest.approx(100, rel=0.02)


def test_a_speedup_that_is_too_good(tmp_path: Path) -> None:
    (finding,) = lint(load(write(tmp_path, [measured(figures=measurement(100.0, 10.0))])).newest)
    assert finding.kind == "implausible"
    assert finding.figures["speedup"] == pytest.approx(10, rel=0.02)


def test_failures_and_unfinished_runs_are_not_faults(tmp_path: Path) -> None:
    records = [
        measured(),
        measured(batch_size=4, status=Status.OOM, reason="CUDA out of memory"),
        measured(model="BeiT", checkpoint="microsoft/beit", figures=measurement(11.0, 9.0)),
    ]
    assert lint(load(write(tmp_path, records)).newest) == ()


def test_nothing_at_all() -> None:
    assert lint(load(PUBLISHED).newest.iloc[:0]) == ()


def test_two_common_cells_do_not_make_an_order(tmp_path: Path) -> None:
    records = [
        measured(device_name=name, batch_size=size, figures=measurement(eager, eager * 0.9, seed=size))
        for name, size, eager in (("A", 1, 10.0), ("B", 1, 20.0), ("A", 4, 40.0), ("B", 4, 25.0))
    ]
    assert lint(load(write(tmp_path, records)).newest) == ()
