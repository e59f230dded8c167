"""The synthetic archives are valid, or timings on them would be worthless."""

from __future__ import annotations

from pathlib import Path

from archive import BATCH_SIZES, MODES, PROCESSES, model_names, write_archive

from bench.exchange.check import check
from generator.data.load import load


def test_an_archive_has_as_many_records_as_asked_for(tmp_path: Path) -> None:
    results = load(write_archive(tmp_path / "records", 500, models=10))
    assert results.records == 500
    assert {row["model_label"] for row in results.by_label} == set(model_names(10))
    assert len(results.runs) == 3
    whole = [row for row in results.by_label if row["run"] == results.runs[0]]
    assert len(whole) == 10 * len(BATCH_SIZES) * len(MODES)
    assert {row["processes"] for row in whole} == {PROCESSES}
    kinds = {each.kind for found in results.doubts.values() for each in found}
    assert kinds == {"unconfirmed"}, "its models are invented"


def test_the_same_arguments_give_the_same_bytes_and_sound_records(tmp_path: Path) -> None:
    one, two = (write_archive(tmp_path / name, 40, models=2) for name in ("one", "two"))
    files = sorted(one.iterdir())
    assert [path.read_bytes() for path in files] == [(two / path.name).read_bytes() for path in files]
    assert not list(check(files, atlas=tmp_path / "none"))
