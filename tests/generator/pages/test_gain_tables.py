"""Tables of the gains as data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from atlas_data import write
from throughput_records import CONV, NEW, OLD, OTHER, VIT, family, throughput

from bench.records.record import Record
from generator.data.load import Results, load
from generator.data.selection import records as plain
from generator.pages.gain_tables import GainTable, gain_tables, history_tables
from generator.pages.gains import Gains


def made(folder: Path, *records: Record) -> tuple[Gains, Results]:
    results = load(write(folder, records))
    return Gains(results), results


def tables(folder: Path, *records: Record) -> Mapping[str, GainTable]:
    gains, results = made(folder, *records)
    return gain_tables(gains, results.by_label)


def test_families_have_a_median_on_each_gpu(tmp_path: Path) -> None:
    found = tables(tmp_path, *VIT, *CONV, *family("cnn", *[-0.3] * 5, **OTHER))
    first, second = plain(found["families"].lines)
    assert (first["family"], second["family"]) == ("cnn", "vit")
    assert first["change on RTX 4090"] == pytest.approx(-0.3)
    assert first["change on RTX 5090"] == pytest.approx(-0.5)
    assert (first["models"], second["change on RTX 4090"]) == (5, None)


def test_losses_begin_with_the_worst(tmp_path: Path) -> None:
    found = tables(tmp_path, *CONV, *family("vit", 0.3, 0.5))
    lines = plain(found["losses"].lines)
    assert [(line["model"], round(line["compiled_images_s"], 1)) for line in lines] == [("vit1", 66.7), ("vit0", 76.9)]


def test_gpus_stand_pair_by_pair(tmp_path: Path) -> None:
    found, results = made(tmp_path, *CONV, *family("cnn", -0.5, -0.45, -0.4, -0.35, -0.3, **OTHER))
    (line,) = plain(gain_tables(found, results.by_label)["gpus"].lines)
    assert [results.by_label[label]["device"] for label in line["device_names"]] == ["rtx-4090", "rtx-5090"]
    assert (round(line["points"], 6), line["common"]) == (10, 5)


def test_versions_list_regressions_with_both_figures(tmp_path: Path) -> None:
    old = [throughput(f"a{n}", 100.0, 200.0, compiled_batch_size=64, **OLD) for n in range(25)]
    new = [throughput(f"a{n}", 90.0 - n, 200.0, **NEW) for n in range(25)]
    found, _ = made(tmp_path, *old, *new)
    (history,) = found.history
    shown = history_tables(history)
    lines = plain(shown["regressions"].lines)
    assert len(lines) == 20
    assert (lines[0]["model"], lines[0]["images/s with 2.4.0"], lines[0]["images/s with 2.9.1"]) == ("a24", 100, 66)
    assert shown["equal"].lines.empty
    (line,) = plain(shown["history"].lines)
    assert line["rate of eager"] == pytest.approx(-0.22)
