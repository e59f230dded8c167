"""Charts: what they show of which rows, in which words; drawn once and kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from atlas_data import PUBLISHED, measured, measurement, rounds, write

from bench.records.record import Measurement, Samples, Status
from generator.data.load import load
from generator.data.selection import Rows, records
from generator.drawing import canvas, plot
from generator.drawing.plot import Mark, PlotRow
from generator.figures import charts, tables
from generator.figures.words import DOUBT
from generator.languages.language import load_language

EN = load_language("en")


@cache
def every() -> pd.DataFrame:
    return load(PUBLISHED).newest


def published(**chosen: object) -> Rows:
    cells = every()
    for name, value in chosen.items():
        cells = cells[cells[name] == value]
    return records(cells)


def newest(path: Path) -> Rows:
    return records(load(path).newest)


A100 = {"device": "a100", "torch": "2.0.1"}


def lines(chart: charts.Chart) -> list[PlotRow]:
    return [line for panel in chart.plot.panels for line in panel.rows]


def texts(chart: charts.Chart) -> Iterator[str]:
    yield from plot.texts(chart.plot)
    yield chart.alt
    yield chart.caption


# ── Latency ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_latency_has_a_row_per_model_the_fastest_first() -> None:
    chart = charts.latency(published(**A100, batch_size=1), EN)
    assert chart.plot.kind == "bars"
    assert len(lines(chart)) == 12
    first = lines(chart)[0]
    assert (first.label, [mark.text for mark in first.marks if mark]) == ("ResNet", ["6.531", "4.124"])
    values = [line.marks[0].value for line in lines(chart) if line.marks[0]]
    assert values == sorted(values)


def test_wide_ranges_become_dots_on_a_logarithmic_scale() -> None:
    chart = charts.latency(published(**A100, batch_size=16), EN)
    assert (chart.plot.kind, chart.plot.log) == ("dots", True)
    assert "logarithmic" in chart.plot.axis
    assert [text for _, text in chart.plot.ticks] == ["10", "20", "50", "100", "200", "500"]


def test_out_of_memory_stands_in_words_at_its_place() -> None:
    chart = charts.latency(published(device="v100", torch="2.0.1", batch_size=16), EN)
    detr = next(line for line in lines(chart) if line.label == "DETR")
    assert (detr.marks, detr.note) == ((None, None), "out of memory")


def test_alt_states_the_finding_with_its_numbers() -> None:
    chart = charts.latency(published(**A100, batch_size=1), EN)
    assert chart.alt == (
        "Latency, eager and compiled (A100 · PyTorch 2.0.1 · mode default · batch size 1 · Hugging Face guide (2023)). "
        "The largest gain: MobileNet goes from 8.583\u00a0ms to 3.974\u00a0ms (−53.7%). "
        "The smallest gain: ConvNeXT goes from 10.410\u00a0ms to 10.208\u00a0ms (−1.9%)."
    )


def test_caption_states_selection_n_and_date() -> None:
    chart = charts.change(published(**A100, batch_size=1), EN)
    for part in ("A100", "PyTorch 2.0.1", "batch size 1", "Hugging Face guide (2023)", "12 comparisons"):
        assert part in chart.caption.replace("\u00a0", " ")


def test_intervals_and_their_weakness_are_told(tmp_path: Path) -> None:
    rows = newest(write(tmp_path, [measured()]))
    chart = charts.latency(rows, EN)
    mark = lines(chart)[0].marks[0]
    assert mark is not None
    assert mark.low < mark.value < mark.high
    assert "95% intervals" in chart.caption
    assert "too narrow" in chart.caption
    assert "measured\u00a0on\u00a0July\u00a01,\u00a02026" in chart.caption
    assert "too narrow" not in charts.overview(rows, EN).caption


def test_nothing_to_compare_is_said(tmp_path: Path) -> None:
    eager_only = Measurement(eager=Samples(rounds_ms=rounds(10.0)))
    rows = newest(write(tmp_path, [measured(status=Status.OOM, reason="x", figures=eager_only)]))
    chart = charts.latency(rows, EN)
    (line,) = lines(chart)
    assert line.marks[0] is not None
    assert (line.marks[1], line.note) == (None, "out of memory")
    assert "no latencies to compare" in chart.alt
    assert charts.change(rows, EN).light
    assert charts.overview(rows, EN).light


def test_doubtful_rows_are_marked_and_told_below() -> None:
    rows = published(device="t4", torch="2.1.0.dev")
    marked = [line.label for line in lines(charts.change(rows, EN)) if DOUBT in line.label]
    assert marked == [f"BeiT {DOUBT}"]
    for draw in (charts.latency, charts.batches):
        assert f"{DOUBT} The data lint marks these figures as doubtful" in draw(rows, EN).caption
        assert DOUBT not in draw([row for row in rows if row["verdict"] != "doubtful"], EN).caption
    assert "Hollow dots: 3 more" in charts.overview(published(), EN).caption


def test_the_finding_is_not_a_doubtful_one() -> None:
    rows = published(device="a100")
    changes = {row["change"]: row["model"] for row in rows if row["change"] is not None}
    assert changes[min(changes)] == "resnet"
    assert "largest gain: Conditional-DETR" in charts.change(rows, EN).alt


def test_versions_stand_on_one_line_the_oldest_first(tmp_path: Path) -> None:
    found = [
        measured(torch=torch, run=torch, figures=measurement(10.0, ms))
        for torch, ms in (("2.9.1", 9.0), ("2.13.0", 6.0))
    ]
    rows = tables.version_rows(load(write(tmp_path, found)).newest)
    chart = charts.versions(records(rows), EN)
    assert [text for text, _ in chart.plot.legend] == ["PyTorch 2.9.1", "PyTorch 2.13.0"]
    (line,) = lines(chart)
    older, newer = (mark.value for mark in line.marks if mark)
    assert newer < older
    assert "compiled latency is −33" in chart.alt
    assert "1\u00a0benchmark\u00a0case" in chart.caption
    assert "comparison" not in chart.caption
    assert chart.light


# ── Change ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_change_is_sorted_by_gain_within_each_batch_size() -> None:
    chart = charts.change(published(**A100), EN)
    assert [panel.title for panel in chart.plot.panels] == ["batch size 1", "batch size 4", "batch size 16"]
    for panel in chart.plot.panels:
        values = [mark.value for line in panel.rows for mark in line.marks if mark]
        assert values == sorted(values)
    assert lines(chart)[0] == PlotRow("MobileNet", (Mark(3.974 / 8.583 - 1, "−53.7%", verdict="faster"),), "")


# ── Batch sizes and overview ────────────────────────────────────────────────────────────────────────────────────────


def test_batches_put_the_sizes_of_a_model_on_one_line() -> None:
    chart = charts.batches(published(**A100), EN)
    by_label = {line.label: line for line in lines(chart)}
    assert len(by_label) == 12
    assert [mark is None for mark in by_label["OwlViT"].marks] == [False, True, True]
    assert [name for name, _ in chart.plot.legend] == ["batch size 1", "batch size 4", "batch size 16"]
    assert "Batch size 4: median change −16.8% in 11 comparisons." in chart.alt


def test_overview_has_every_comparison_and_the_median() -> None:
    chart = charts.overview(published(), EN)
    by_label = {line.label: line for line in lines(chart)}
    assert {label: len(line.marks) - 1 for label, line in by_label.items()} == {"A100": 48, "T4": 46, "V100": 38}
    median = by_label["V100"].marks[0]
    assert median is not None
    assert median.text == "median −22.8%"
    assert "T4: median −11.9%, from −36.6% to −0.1%, in 45 comparisons." in chart.alt


def test_overview_keeps_published_and_measured_apart(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    rows = newest(write(tmp_path, [measured(device_name="NVIDIA A100")]))
    labels = [line.label for line in lines(charts.overview(rows, EN))]
    assert labels == ["A100 · measured", "A100 · published", "T4", "V100"]


# ── Languages ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("make", [charts.latency, charts.change, charts.batches, charts.overview])
def test_no_english_is_left_in_other_languages(make: object) -> None:
    rows = published(device="v100", torch="2.0.1")
    names = {row["model_label"] for row in rows} | {"V100", "PyTorch", "Hugging", "Face", "default", "ms", "OOM"}
    chart = make(rows, load_language("ar"))  # type: ignore[operator]
    words = {word.strip("()·.,:\u200e") for text in texts(chart) for word in text.replace("<", " <").split()}
    english = {word for word in words - names if word.isascii() and word.isalpha() and len(word) > 1}
    assert english <= {"br", "bdi"}


def test_arabic_is_mirrored_and_drawn() -> None:
    arabic = load_language("ar")
    chart = charts.latency(published(**A100, batch_size=1), arabic)
    assert chart.plot.right_to_left
    assert canvas._font_letters()["AtlasSansArabic-Regular"].encode() in set(re.findall(rb'<path id="(.)', chart.light))


# ── Drawing once ────────────────────────────────────────────────────────────────────────────────────────────────────


# ── Ticks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (4.0, 200.0, [5, 10, 20, 50, 100, 200]),
        (5.0, 640.0, [10, 30, 100, 300]),
        (1.0, 1e6, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
    ],
)
def test_log_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert charts.log_ticks(low, high) == pytest.approx(ticks)
