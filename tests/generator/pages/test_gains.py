"""What the gains are made of: which rows enter a median, what is compared with what, and the tables of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from atlas_data import measured, write
from guide_figures import shipped
from throughput_records import CONV, NEW, OLD, OTHER, VIT, family, throughput

from bench.records.record import TOY, Record
from generator.data.load import load
from generator.data.rows import CONTIGUOUS
from generator.data.selection import records as plain
from generator.languages.language import load_language
from generator.pages.atlas import Atlas
from generator.pages.gains import GAIN_TABLES, HISTORY_TABLES, Gains


def gains(folder: Path, *records: Record) -> Gains:
    return Gains(load(write(folder, records)))


def lines(table: str, subject: Any) -> Any:
    """The lines of a table as plain values."""
    return plain({**GAIN_TABLES, **HISTORY_TABLES}[table].lines(subject))


def test_families_are_ordered_by_their_medians_with_one_for_each_gpu(tmp_path: Path) -> None:
    few = family("few", -0.9, -0.9, -0.9, -0.9)
    found = gains(tmp_path, *VIT, *CONV, *few, *family("cnn", *[-0.3] * 5, **OTHER))
    assert found.every.best_families == ("cnn", "vit")
    first, second = lines("families", found)
    assert (first["family"], second["family"]) == ("cnn", "vit")
    assert first["speedup of RTX 4090"] == pytest.approx(1 / 0.7)
    assert first["speedup of RTX 5090"] == pytest.approx(2.0)
    assert (first["models"], second["speedup of RTX 4090"]) == (5, None)


def test_the_first_page_has_all_families_and_then_the_largest(tmp_path: Path) -> None:
    found = gains(tmp_path, *family("few", -0.9), *CONV, *VIT, throughput("vit5", 100.0, 200.0))
    assert [*found.largest_families] == ["", "vit", "cnn"], "none of a few models"
    gain = found.largest_families["cnn"]["rtx-5090"]
    assert gain.speedup == pytest.approx(2.0)
    assert found.every.rows["model"].loc[gain.typical] == "cnn2"
    assert found.largest_families[""]["rtx-5090"].speedup == found.every.box.median


def test_losses_begin_with_the_worst(tmp_path: Path) -> None:
    found = gains(tmp_path, *CONV, *family("vit", 0.3, 0.5))
    assert found.every.slower == 2
    shown = [(line["model"], round(line["compiled_images_s"], 1)) for line in lines("losses", found)]
    assert shown == [("vit1", 66.7), ("vit0", 76.9)]


def test_doubts_toys_and_unequal_batches_enter_no_median(tmp_path: Path) -> None:
    doubted = [
        throughput("cnn5", 100.0, 900.0),  # nine times as fast
        throughput("cnn6", 100.0, 50.0, flags=(TOY,)),
        throughput("cnn7", 100.0, 50.0, compiled_batch_size=512),
    ]
    found = gains(tmp_path, *CONV, *doubted).every
    assert (found.count, found.slower) == (5, 0)
    assert found.box.median == pytest.approx(2.0)
    assert found.ranked["model"].loc[found.best] == "cnn0"


def test_without_throughput_there_are_no_gains(tmp_path: Path) -> None:
    found = gains(tmp_path, measured())
    assert (found.every.count, found.torch, found.agreements, found.history, found.types) == (0, "", [], [], [])
    assert [lines(name, found) for name in GAIN_TABLES] == [[]] * len(GAIN_TABLES)


def test_the_version_that_most_gpus_share_counts(tmp_path: Path) -> None:
    newest = family("cnn", -0.9, torch="2.10.0")
    found = gains(tmp_path, *CONV, *family("cnn", -0.3, -0.3, **OTHER), *newest)
    assert found.torch == "2.9.1"
    assert list(found.by_device) == ["RTX 4090", "RTX 5090"]


def test_intensity_falls_into_classes(tmp_path: Path) -> None:
    low = [throughput(f"a{n}", 100.0, 200.0, intensity=100.0) for n in range(5)]
    high = [throughput(f"b{n}", 100.0, 110.0, intensity=800.0) for n in range(5)]
    found = gains(tmp_path, *low, *high, throughput("lone", 100.0, 110.0, intensity=9000.0))
    shown = lines("intensity", found)
    assert [(line["bounds"], line["models"]) for line in shown] == [((0, 200), 5), ((800, 1600), 5)]
    assert shown[0]["speedup of RTX 5090"] == pytest.approx(2.0)
    assert found.intensity_correlation < -0.9


def test_gpus_are_compared_over_the_models_that_both_have(tmp_path: Path) -> None:
    found = gains(tmp_path, *CONV, *family("cnn", -0.5, -0.45, -0.4, -0.35, 0.3, -0.9, **OTHER))
    (pair,) = found.agreements
    assert pair.same_verdict == 0.8
    assert pair.correlation == pytest.approx(1)
    assert pair.difference == pytest.approx(2 / 9)


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
    assert history.eager.ranked["speedup"].tolist() == pytest.approx([1.1, 0.8])
    assert history.eager.losses["model"].tolist() == ["b"]
    assert history.compiled.ranked["model"].tolist() == ["a"]
    assert history.unequal == 2


def test_regressions_are_listed_with_both_rates_the_worst_first(tmp_path: Path) -> None:
    old = [throughput(f"a{n}", 100.0, 200.0, compiled_batch_size=64, **OLD) for n in range(25)]
    new = [throughput(f"a{n}", 90.0 - n, 200.0, **NEW) for n in range(25)]
    (history,) = gains(tmp_path, *old, *new).history
    first, *others = lines("regressions", history)
    assert (first["model"], first["images/s with 2.4.0"], first["images/s with 2.9.1"]) == ("a24", 100, 66)
    assert len(others) == 19
    assert lines("equal", history) == []
    assert [line["speedup of eager"] for line in lines("history", history)] == pytest.approx([0.78])


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
    assert autocast.speedups.box.median == pytest.approx(1.05)
    assert pure.speedups.ranked["model"].tolist() == ["a", "b"]


# ── Memory layouts ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_layouts_of_the_committed_records_are_as_computed_by_hand() -> None:
    found = Gains(shipped())
    layout, pair = found.layouts[0], found.layout_pairs[0]
    box = layout.speedups.box
    counts = layout.speedups.count, layout.speedups.losing
    assert (layout.device, layout.torch, *counts) == ("rtx-3090", "2.4.0", 1316, 75)
    assert [round(each, 3) for each in (box.lower, box.median, box.upper)] == [1.007, 1.083, 1.165]
    factors = layout.speedups.rows.set_index("model")["speedup"].round(2)
    models = ["convmixer-1024-20-ks9-p14", "convmixer-1536-20", "convmixer-768-32"]
    assert factors[models].tolist() == [0.5, 0.5, 1.71]
    assert (pair.device, round(pair.correlation, 2)) == ("rtx-4090", 0.22)
    assert pair.rows.set_index("model")["compiled"][models[1:]].round(2).tolist() == [0.41, 2.71]
    assert found.layout_explains_losses


def test_layouts_are_compared_in_equal_batches_beside_compiling(tmp_path: Path) -> None:
    last: dict[str, Any] = {"channels_last": True}
    other = [throughput(f"cnn{n}", 60.0 + 10 * n, 120.0, **last) for n in range(5)]
    found = gains(tmp_path, *CONV, *other, throughput("cnn5", 100.0, None, batch_size=64, **last))
    (layout,), (pair,) = found.layouts, found.layout_pairs
    turned = layout.speedups
    assert (turned.count, turned.losing, turned.best) == (5, 4, turned.ranked.index[0])
    assert (len(pair.rows), pair.slower, found.layout_explains_losses) == (5, 0, False)
    (line,) = lines("layouts", found)
    assert line["factor layout RTX 5090"] == pytest.approx(0.8)
    assert line["factor compiled RTX 5090"] == pytest.approx(2.0)
    assert found.every.box.median == pytest.approx(2.0)  # nothing of the other layout


def test_a_layout_never_enters_what_is_about_the_other(tmp_path: Path) -> None:
    last = [throughput(f"cnn{n}", 100.0, 300.0, channels_last=True) for n in range(5)]
    alone = throughput("vit", 100.0, 200.0, channels_last=True)
    results = load(write(tmp_path, [*CONV, *last, alone]))
    atlas = Atlas(results, load_language("en"))
    device = atlas.device["rtx-5090"]
    assert set(results.newest["layout"]) == {CONTIGUOUS}
    assert len(device.throughput.rows) == 5
    assert device.throughput.spread.median == pytest.approx(2.0)
    usual, other = device.sections
    assert (usual.layout, len(usual.compared.rows)) == (CONTIGUOUS, 5)
    assert (other.layout, len(other.compared.rows), other.slug) == ("channels_last", 6, f"{usual.slug}-channels-last")
    assert atlas.model["vit"].devices == [device]  # its page is there, without a comparison
    assert not atlas.model["vit"].throughput.rows
