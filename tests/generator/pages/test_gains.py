"""What the gains are made of: which rows enter a median, and what is compared with what."""

from __future__ import annotations

from pathlib import Path

import pytest
from atlas_data import measured, write
from throughput_records import CONV, NEW, OLD, OTHER, VIT, family, throughput

from bench.records.record import TOY, Record
from generator.data.load import load
from generator.pages.gains import Gains


def gains(folder: Path, *records: Record) -> Gains:
    return Gains(load(write(folder, records)))


def test_families_are_ordered_by_their_medians(tmp_path: Path) -> None:
    found = gains(tmp_path, *VIT, *CONV, *family("few", -0.9, -0.9, -0.9, -0.9)).every
    assert {name: round(box.median, 6) for name, box in found.families.items()} == {"cnn": -0.5, "vit": -0.1}
    assert found.best_families == ("cnn", "vit")
    assert found.slower == 1
    assert found.losses["model"].tolist() == ["vit4"]


def test_doubts_toys_and_unequal_batches_enter_no_median(tmp_path: Path) -> None:
    doubted = [
        throughput("cnn5", 100.0, 900.0),  # nine times as fast
        throughput("cnn6", 100.0, 50.0, flags=(TOY,)),
        throughput("cnn7", 100.0, 50.0, compiled_batch_size=512),
    ]
    found = gains(tmp_path, *CONV, *doubted).every
    assert (found.count, found.slower) == (5, 0)
    assert found.box.median == pytest.approx(-0.5)
    assert found.best == found.ranked.index[0]
    assert found.ranked["model"].iloc[0] == "cnn0"


def test_without_throughput_there_are_no_gains(tmp_path: Path) -> None:
    found = gains(tmp_path, measured())
    assert (found.every.count, found.torch, found.agreements, found.history, found.types) == (0, "", (), (), ())


def test_the_version_that_most_gpus_share_counts(tmp_path: Path) -> None:
    newest = family("cnn", -0.9, torch="2.10.0")
    found = gains(tmp_path, *CONV, *family("cnn", -0.3, -0.3, **OTHER), *newest)
    assert found.torch == "2.9.1"
    assert list(found.by_device) == ["rtx-4090", "rtx-5090"]


def test_intensity_falls_into_classes(tmp_path: Path) -> None:
    low = [throughput(f"a{n}", 100.0, 200.0, intensity=100.0) for n in range(5)]
    high = [throughput(f"b{n}", 100.0, 110.0, intensity=800.0) for n in range(5)]
    found = gains(tmp_path, *low, *high, throughput("lone", 100.0, 110.0, intensity=9000.0))
    classes = found.classes(found.every)
    assert [(each.low, each.high, each.changes.count) for each in classes] == [(0, 200, 5), (800, 1600, 5)]
    assert classes[0].changes.box.median == pytest.approx(-0.5)
    assert found.intensity_correlation > 0.9


def test_gpus_are_compared_over_the_models_that_both_have(tmp_path: Path) -> None:
    other = family("cnn", -0.5, -0.45, -0.4, -0.35, 0.3, -0.9, **OTHER)
    (found,) = gains(tmp_path, *CONV, *other).agreements
    assert (found.count, found.same_verdict) == (5, 0.8)
    assert found.difference == pytest.approx(0.1)
    assert found.correlation == pytest.approx(1)


# ── Versions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_versions_are_compared_in_equal_batches_alone(tmp_path: Path) -> None:
    records = [
        throughput("a", 100.0, 200.0, **OLD),
        throughput("a", 110.0, 220.0, **NEW),
        throughput("b", 100.0, 200.0, compiled_batch_size=64, **OLD),
        throughput("b", 80.0, 400.0, **NEW),
        throughput("c", 100.0, 200.0, batch_size=64, **OLD),
        throughput("c", 900.0, 900.0, **NEW),
        throughput("gone", 100.0, 200.0, **OLD),
    ]
    (history,) = gains(tmp_path, *records).history
    assert (history.old, history.new) == ("2.4.0", "2.9.1")
    assert history.eager.ranked["model"].tolist() == ["a", "b"]
    assert history.eager.ranked["change"].tolist() == pytest.approx([0.1, -0.2])
    assert history.eager.losses["model"].tolist() == ["b"]
    assert history.compiled.ranked["model"].tolist() == ["a"]
    assert history.unequal == 2


# ── Data types ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_data_types_are_compared_with_float16_autocast(tmp_path: Path) -> None:
    records = [
        throughput("a", 100.0, 200.0),
        throughput("b", 100.0, 200.0, compiled_batch_size=128),
        throughput("c", 100.0, 200.0),
        throughput("a", None, 220.0, dtype="bfloat16", autocast=False),
        throughput("b", None, 100.0, dtype="bfloat16", autocast=False, batch_size=128),
        throughput("c", None, 100.0, dtype="bfloat16", autocast=False, batch_size=128),
        throughput("a", None, 210.0, dtype="bfloat16"),
    ]
    autocast, pure = gains(tmp_path, *records).types
    assert (autocast.dtype, pure.dtype) == ("autocast bfloat16", "bfloat16")
    assert autocast.changes.box.median == pytest.approx(0.05)
    assert pure.changes.ranked["model"].tolist() == ["a", "b"]
    assert pure.unequal == 1
