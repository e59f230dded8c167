"""The data lint: it finds the known faults of the published figures, and stays silent about sound data."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pandas as pd
import pytest
from atlas_data import PUBLISHED, measured, measurement, write
from conftest import ROOT

from bench.records.record import UNEQUAL_BATCHES, Peaks, Record, Status, Work
from generator.data.lint import Anomaly, lint
from generator.data.load import load
from generator.figures.findings import finding
from generator.figures.words import NAMES, Words
from generator.languages.language import load_language


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return load(PUBLISHED).table


@pytest.fixture(scope="module")
def findings(published: pd.DataFrame) -> tuple[Anomaly, ...]:
    return lint(published)


def of_kind(findings: tuple[Anomaly, ...], kind: str) -> list[Anomaly]:
    return [finding for finding in findings if finding.kind == kind]


def linted(tmp_path: Path, *records: Record) -> tuple[Anomaly, ...]:
    return lint(load(write(tmp_path, records)).newest)


def test_the_known_faults_of_the_published_figures(published: pd.DataFrame, findings: tuple[Anomaly, ...]) -> None:
    columns = published[["device", "model", "batch_size", "torch"]]
    places = [" ".join(map(str, row)) for row in columns.itertuples(index=False)]
    named = [(each.kind, *(places[row] for row in each.rows[:2])) for each in findings if each.kind != "flag"]
    assert named == [
        ("repeated", "t4 beit 16 2.1.0.dev", "a100 beit 16 2.1.0.dev"),
        ("device_order", "v100 segformer 1 2.0.1", "a100 segformer 1 2.0.1"),
        ("batch_order", "a100 resnet 4 2.1.0.dev", "a100 resnet 1 2.1.0.dev"),
    ]
    by_kind = {each.kind: each for each in findings}
    repeated, device_order = (by_kind[each] for each in ("repeated", "device_order"))
    assert repeated.figures == {"eager_ms": 42.179, "compiled_ms": 42.147, "expected_ms": 188.978}
    assert repeated.doubtful == repeated.rows[:1]
    assert device_order.figures["share"] > 0.75
    latencies = [(each.figures["ms"], each.figures["other_ms"]) for each in (device_order, by_kind["batch_order"])]
    assert latencies == [(5.862, 10.5), (2.187, 3.801)]
    flags = {finding.figures["flag"]: len(finding.rows) for finding in of_kind(findings, "flag")}
    assert flags == {"dtype-not-stated": 136, "batch-size-worded-unbatched": 14}


def test_no_rule_knows_the_published_rows_by_name(published: pd.DataFrame, findings: tuple[Anomaly, ...]) -> None:
    """The same faults are found when everything goes by other names and every latency is a third longer."""
    devices = {"a100": "zed", "t4": "alpha", "v100": "mid"}
    renamed = published.assign(
        model="m" + published["model"],
        device=published["device"].map(devices),
        batch_size=published["batch_size"] * 3,
        eager_ms=published["eager_ms"] * 1.25,
        compiled_ms=published["compiled_ms"] * 1.25,
    )
    assert {(each.kind, *each.rows) for each in lint(renamed)} == {(each.kind, *each.rows) for each in findings}


def test_a_jump_between_versions(tmp_path: Path) -> None:
    old = measured(torch="2.12.0", figures=measurement(100.0, 90.0))
    new = measured(torch="2.13.0", figures=measurement(40.0, 35.0))
    rows = load(write(tmp_path, [old, new])).newest
    (finding,) = lint(rows)
    assert (finding.kind, rows.loc[finding.rows[0], "torch"]) == ("version_jump", "2.13.0")
    assert finding.figures["other_ms"] == pytest.approx(100, rel=0.02)


@pytest.mark.parametrize(("device_ms", "doubted"), [(None, True), (90.0, True), (40.0, False)])
def test_a_speedup_that_is_too_good_unless_eager_left_the_device_idle(
    tmp_path: Path, device_ms: float | None, doubted: bool
) -> None:
    figures = measurement(100.0, 10.0)
    if device_ms:
        eager = msgspec.structs.replace(figures.eager, device_ms=(device_ms,))
        figures = msgspec.structs.replace(figures, eager=eager)
    found = linted(tmp_path, measured(figures=figures))
    assert [each.kind for each in found] == ["implausible"] * doubted
    assert not doubted or found[0].figures["speedup"] == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize(
    ("eager_ms", "doubted"),
    [(100.0, False), (20.0, False), (5.0, True), (200_000.0, True)],  # of a product that takes 100 ms at the peak
)
def test_a_latency_that_the_device_cannot_have(tmp_path: Path, eager_ms: float, doubted: bool) -> None:
    figures = measurement(
        eager_ms,
        eager_ms / 1.1,
        work=Work(flop=1e12, traffic_bytes=1e9),
        peaks=Peaks(matmul_flop_s=1e13, copy_bytes_s=1e12),
    )
    found = of_kind(linted(tmp_path, measured(figures=figures)), "impossible")
    assert [finding.figures["variant"] for finding in found] == (["eager", "compiled"] if doubted else [])
    assert all(finding.doubtful == (0,) for finding in found)


def test_only_a_failure_without_a_reason_is_a_fault(tmp_path: Path) -> None:
    oom = measured(batch_size=8, status=Status.OOM, reason="CUDA out of memory")
    other = measured(model="BeiT", checkpoint="microsoft/beit", figures=measurement(11.0, 9.0))
    assert linted(tmp_path, measured(), oom, other) == ()
    (finding,) = linted(tmp_path, measured(run="later", batch_size=4, status=Status.CRASH))
    assert (finding.kind, finding.figures, finding.doubtful) == ("no_reason", {"status": "crash"}, ())


def test_variants_of_different_batches(tmp_path: Path) -> None:
    flagged = msgspec.structs.replace(measured(), flags=(UNEQUAL_BATCHES,))
    (finding,) = linted(tmp_path, flagged, measured(batch_size=4, figures=measurement(30.0, 25.0)))
    assert (finding.kind, finding.doubtful) == ("unequal_batches", (0,))


def test_two_common_cells_do_not_make_an_order(tmp_path: Path) -> None:
    records = [
        measured(device_name=name, batch_size=size, figures=measurement(eager, eager * 0.9, seed=size))
        for name, size, eager in (("A", 1, 10.0), ("B", 1, 20.0), ("A", 4, 40.0), ("B", 4, 25.0))
    ]
    assert linted(tmp_path, *records) == ()


def test_flags_are_told_in_words_and_none_is_forgotten() -> None:
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "bench" / "exchange").rglob("*.py")}
    flags = set(re.findall(r'"([a-z]+(?:-[a-z]+)*-(?:stated|apart|kept|named|unbatched|compiled))"', str(sources)))
    assert flags <= NAMES["flag"].keys()
    doctor = (ROOT / "bench" / "measuring" / "doctor.py").read_text(encoding="utf-8")
    assert set(re.findall(r'Complaint\(\s*"([\w-]+)"', doctor)) == set(NAMES["check"])


def test_a_flag_that_nobody_knows_stands_for_itself_and_is_no_markup() -> None:
    words = Words(load_language("en"), html=True)
    told = finding(Anomaly("flag", (0,), {"flag": "compile-mode-not-stated"}), [{}], words)
    assert told == "The importer marked 1 row: the compile mode is not stated."
    assert "&lt;i&gt;" in finding(Anomaly("complaint", (0,), {"check": "<i>"}), [{}], words)
