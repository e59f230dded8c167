"""Tables of the gains as data."""

from __future__ import annotations

from pathlib import Path

import pytest
from atlas_data import write
from throughput_records import CONV, NEW, OLD, OTHER, VIT, family, throughput

from bench.records.record import Record
from generator.data.load import Results, load
from generator.data.selection import records as plain
from generator.gains import gain_tables
from generator.gains.gains import Gains


def made(folder: Path, *records: Record) -> tuple[Gains, Results]:
    results = load(write(folder, records))
    return Gains(results), results


def test_families_have_a_median_on_each_gpu(tmp_path: Path) -> None:
    found = made(tmp_path, *VIT, *CONV, *family("cnn", *[-0.3] * 5, **OTHER))
    first, second = plain(gain_tables.families(*found))
    assert (first["family"], second["family"]) == ("cnn", "vit")
    assert first["change on RTX 4090"] == pytest.approx(-0.3)
    assert first["change on RTX 5090"] == pytest.approx(-0.5)
    assert (first["models"], second["change on RTX 4090"]) == (5, None)


def test_intensity_has_a_line_for_each_class(tmp_path: Path) -> None:
    (line,) = plain(gain_tables.intensity(*made(tmp_path, *CONV)))
    assert (line["bounds"], line["models"]) == ((400.0, 800.0), 5)
    assert line["change on RTX 5090"] == pytest.approx(-0.5)


def test_losses_begin_with_the_worst(tmp_path: Path) -> None:
    found = made(tmp_path, *CONV, *family("vit", 0.3, 0.5))
    lines = plain(gain_tables.losses(*found))
    assert [(line["model"], round(line["compiled_images_s"], 1)) for line in lines] == [("vit1", 66.7), ("vit0", 76.9)]


def test_gpus_stand_pair_by_pair(tmp_path: Path) -> None:
    found, results = made(tmp_path, *CONV, *family("cnn", -0.5, -0.45, -0.4, -0.35, -0.3, **OTHER))
    (line,) = plain(gain_tables.agreements(found))
    assert [results.by_label[label]["device"] for label in line["device_names"]] == ["rtx-4090", "rtx-5090"]
    assert (round(line["points"], 6), line["common"]) == (10, 5)


def test_versions_list_regressions_with_both_figures(tmp_path: Path) -> None:
    old = [throughput(f"a{n}", 100.0, 200.0, compiled_batch_size=64, **OLD) for n in range(25)]
    new = [throughput(f"a{n}", 90.0 - n, 200.0, **NEW) for n in range(25)]
    found, _ = made(tmp_path, *old, *new)
    (history,) = found.history
    lines = plain(gain_tables.regressions(history))
    assert len(lines) == 20
    assert (lines[0]["model"], lines[0]["images/s with 2.4.0"], lines[0]["images/s with 2.9.1"]) == ("a24", 100, 66)
    assert gain_tables.equal(history).empty
    (line,) = plain(gain_tables.unequal(history))
    assert (line["family"], line["models"], line["rate of †"]) == ("a", 25, 0)
    (line,) = plain(gain_tables.history(history))
    assert line["rate of eager"] == pytest.approx(-0.22)


def test_data_types_stand_side_by_side(tmp_path: Path) -> None:
    others = [
        throughput(f"cnn{n}", None, 300.0, dtype="bfloat16", autocast=on) for n in range(5) for on in (True, False)
    ]
    found, _ = made(tmp_path, *CONV, *others)
    (line,) = plain(gain_tables.types(found))
    assert line["rate of autocast bfloat16"] == line["rate of bfloat16"] == pytest.approx(0.5)
