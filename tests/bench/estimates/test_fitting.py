"""Estimates are tried honestly: intervals hold what they promise, and nothing learns from what it is tried on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from estimates_data import benchmark, row, table
from hypothesis import given, settings, strategies as st
from rich.console import Console

from bench.commands.command_line import main
from bench.errors import AtlasError
from bench.estimates import comparisons, features, fitting, report
from bench.records import estimates
from bench.records.operations import KINDS

pytest.importorskip("sklearn")


@settings(max_examples=60, deadline=None)
@given(st.integers(20, 400), st.sampled_from([0.5, 0.9]), st.integers(0, 2**32 - 1))
def test_an_interval_holds_at_least_its_share_of_what_made_it(count: int, share: float, seed: int) -> None:
    residuals = np.abs(np.random.default_rng(seed).standard_t(3, count))
    assert (residuals <= fitting.conformal(residuals, share)).mean() >= share


def test_intervals_hold_their_share_of_new_rows() -> None:
    random = np.random.default_rng(1)
    held = [
        (np.abs(random.standard_t(3, 50)) <= fitting.conformal(np.abs(random.standard_t(3, 99)), 0.9)).mean()
        for _ in range(2000)
    ]
    assert np.mean(held) == pytest.approx(0.9, abs=0.01)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> estimates.Estimates:
    """Estimates fitted to invented models, whose gain follows from their operations."""
    patch = pytest.MonkeyPatch()
    patch.setattr(comparisons, "read", lambda _results: benchmark())
    found = fitting.fit("python -m bench estimate", tmp_path_factory.mktemp("results"), tell=lambda _: None)
    patch.undo()
    return found


def test_the_trees_find_what_decides_the_gain(fitted: estimates.Estimates) -> None:
    known, blind = fitted.of("features"), fitted.of("features", operations=False, eager=False)
    naive = fitted.of("median")
    assert known.median_error < 0.06 < naive.median_error
    assert known.median_error < blind.median_error
    assert known.reach_90 is not None
    assert blind.reach_90 is not None
    assert known.reach_90 < blind.reach_90


def test_coverage_is_that_of_rows_that_did_not_make_the_interval(fitted: estimates.Estimates) -> None:
    for each in fitted.accuracy:
        if each.share is None and each.coverage_90 is not None and each.scheme != "device_left_out":
            assert each.coverage_90 == pytest.approx(0.9, abs=0.05)


def test_the_other_device_is_nearer_than_the_trees(fitted: estimates.Estimates) -> None:
    assert fitted.of("other_device").median_error < fitted.of("device_left_out").median_error < 0.09


def test_each_device_and_big_family_is_listed(fitted: estimates.Estimates) -> None:
    assert [each.name for each in fitted.groups("features", "device")] == ["A", "B"]
    assert len(fitted.groups("features", "family")) == 12


def test_a_document_is_read_as_it_was_written(fitted: estimates.Estimates, tmp_path: Path) -> None:
    assert estimates.read(estimates.write(fitted, tmp_path)) == fitted


def test_the_report_names_every_way(fitted: estimates.Estimates) -> None:
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(report.tables(fitted))
    text = console.export_text()
    assert all(way in text for way in ("other device", "features without operations and eager", "family median"))


def test_too_few_comparisons_are_no_ground_for_estimates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(comparisons, "read", lambda _results: benchmark(models=50))
    with pytest.raises(AtlasError, match="no device has 200 comparisons"):
        fitting.fit("", tmp_path, tell=lambda _: None)


def test_the_newest_version_and_the_usual_setting_count() -> None:
    rows = table(row(torch="2.10.0"), row(torch="2.9.1"), row(torch="2.10.0", dtype="bfloat16", speedup=float("nan")))
    found = comparisons.newest(rows)
    assert found[["torch", "dtype"]].to_numpy().tolist() == [["2.10.0", "autocast float16"]]


def test_what_is_unknown_of_a_model_is_missing_from_its_features() -> None:
    found = features.of(benchmark(models=1), ("A", "B"))
    assert found.notna().all(axis=None)
    blind = features.without(found, operations=False, eager=False)
    missing = set(blind.columns[blind.isna().all()])
    assert missing == {*features.OPERATIONS, *features.EAGER}
    assert {f"{kind}_share" for kind in KINDS} <= missing


def test_the_committed_estimates_fit_the_committed_records() -> None:
    """Whoever imports records fits again: `python -m bench estimate`."""
    known = estimates.newest()
    assert known is not None
    rows = fitting.usable(comparisons.newest(comparisons.read()))
    assert (rows["speedup"].notna().sum(), set(rows["device"])) == (known.comparisons, set(known.devices))
    assert known.trees.features == features.names(sorted(known.devices))
    assert 0.88 <= (known.of("features").coverage_90 or 0) <= 0.92


def test_validating_writes_nothing(
    fitted: estimates.Estimates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fitting, "fit", lambda **_: fitted)
    with pytest.raises(SystemExit) as ended:
        main(["estimate", "--validate", "--out", str(tmp_path)])
    assert (ended.value.code, list(tmp_path.iterdir())) == (0, [])
    assert "How far off" in capsys.readouterr().out
