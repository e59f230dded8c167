"""Charts: what they show of which rows, in which words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from atlas_data import PUBLISHED, measured, rounds, write

from bench.records.record import Measurement, Samples, Status
from generator.data.load import load
from generator.data.selection import Rows, records
from generator.figures import charts, drawing
from generator.figures.drawing import Drawing, Row
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


def lines(chart: charts.Chart) -> list[Row]:
    assert isinstance(chart.drawing, Drawing)
    return list(chart.drawing.rows)


# ── Latency ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_latency_has_a_row_per_model_the_fastest_first() -> None:
    chart = charts.latency(published(**A100, batch_size=1), EN)
    assert len(lines(chart)) == 12
    assert (lines(chart)[0].label, lines(chart)[0].figures) == ("ResNet", ("6.531 → 4.124",))
    values = [line.marks[0].value for line in lines(chart) if line.marks[0]]
    assert values == sorted(values)
    assert "logarithmic" in chart.axis


def test_out_of_memory_stands_at_its_place() -> None:
    chart = charts.latency(published(device="v100", torch="2.0.1", batch_size=16), EN)
    detr = next(line for line in lines(chart) if line.label == "DETR")
    assert (detr.marks, detr.figures) == ((None, None), ("OOM → OOM",))


def test_alt_and_caption_state_the_finding_the_selection_and_its_date() -> None:
    chart = charts.latency(published(**A100, batch_size=1), EN)
    selection = "A100 · PyTorch 2.0.1 · mode default · batch size 1 · Hugging Face guide (2023)"
    assert chart.alt == (
        f"Latency, eager and compiled ({selection}). "
        "The largest speedup: MobileNet goes from 8.583\u00a0ms to 3.974\u00a0ms (2.16×). "
        "The smallest speedup: ConvNeXT goes from 10.410\u00a0ms to 10.208\u00a0ms (1.02×)."
    )
    assert f"{selection} · 12 comparisons" in chart.caption.replace("\u00a0", " ")


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
    assert line.marks[1] is None
    assert line.figures[0].endswith("→ OOM")
    assert "no latencies to compare" in chart.alt
    for draw in (charts.latency, charts.speedup):
        assert drawing.svg(draw(rows, EN).drawing)


def test_doubtful_rows_are_marked_and_told_below() -> None:
    rows = published(device="t4", torch="2.1.0.dev")
    marked = [line for line in lines(charts.speedup(rows, EN)) if DOUBT in line.label]
    assert [line.label for line in marked] == [f"BeiT · default {DOUBT}"]
    assert any(mark.hollow for mark in marked[0].marks if mark)
    for draw in (charts.latency, charts.speedup):
        assert f"{DOUBT} The data lint marks these figures as doubtful" in draw(rows, EN).caption
        assert DOUBT not in draw([row for row in rows if row["verdict"] != "doubtful"], EN).caption
    assert "Hollow dots: 3 more" in charts.overview(published(), EN).caption


def test_the_finding_is_not_a_doubtful_one() -> None:
    rows = published(device="a100")
    assert min((row["change"], row["model"]) for row in rows if row["change"] is not None)[1] == "resnet"
    assert "largest speedup: Conditional-DETR" in charts.speedup(rows, EN).alt


# ── Speedups ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_has_a_bar_for_each_batch_size_and_the_largest_gain_comes_first() -> None:
    chart = charts.speedup(published(**A100), EN)
    assert [name for name, _ in chart.legend] == ["batch size 1", "batch size 4", "batch size 16"]
    first = [line.marks[0].value for line in lines(chart) if line.marks[0]]
    assert first == sorted(first, reverse=True)
    by_label = {line.label: line for line in lines(chart)}
    assert by_label["MobileNet"].figures == ("2.16×", "1.66×", "1.71×")
    assert [mark is None for mark in by_label["OwlViT"].marks] == [False, True, True]


def test_one_batch_size_has_the_colours_of_the_verdicts() -> None:
    chart = charts.speedup(published(**A100, batch_size=1), EN)
    shown = {mark.role for line in lines(chart) for mark in line.marks if mark}
    assert shown == {role for _, role in chart.legend} == {"gain", "zero"}


def test_settings_that_tell_rows_apart_are_in_their_names(tmp_path: Path) -> None:
    rows = newest(write(tmp_path, [measured(variant=f"compile:default{shapes}") for shapes in ("", ":marked")]))
    labels = [line.label for line in lines(charts.speedup(rows, EN))]
    assert [label.split()[0] for label in sorted(labels)] == ["dynamic=auto", "dynamic=marked"]


def test_overview_has_every_comparison_and_the_median() -> None:
    by_label = {line.label: line for line in lines(charts.overview(published(), EN))}
    counts = {label: len(line.marks) for label, line in by_label.items()}
    assert counts == {"A100 · n = 47": 48, "T4 · n = 45": 46, "V100 · n = 37": 38}
    v100 = by_label["V100 · n = 37"]
    assert (v100.figures, v100.extremes) == (("1.30×",), ("BeiT 1.01×", "MobileNet 1.94×"))
    alt = charts.overview(published(), EN).alt
    assert "T4 · n = 45: median 1.13×, with half of the comparisons between 1.06× and 1.27×." in alt


def test_overview_keeps_published_and_measured_apart(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    rows = newest(write(tmp_path, [measured(device_name="NVIDIA A100")]))
    labels = [line.label.partition(" · n")[0] for line in lines(charts.overview(rows, EN))]
    assert labels == ["A100 · measured", "A100 · published", "T4", "V100"]


# ── Languages ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("make", [charts.latency, charts.speedup, charts.overview])
def test_languages_share_the_drawing_and_no_english_is_left_beside_it(make: Callable[..., charts.Chart]) -> None:
    rows = published(device="v100", torch="2.0.1")
    names = {row["model_label"] for row in rows} | {"V100", "PyTorch", "Hugging", "Face", "default", "ms", "OOM"}
    chart = make(rows, load_language("ar"))
    assert chart.drawing == make(rows, EN).drawing
    texts = (chart.alt, chart.caption, chart.axis, *(text for text, _ in chart.legend))
    words = {word.strip("()·.,:\u200e") for text in texts for word in text.replace("<", " <").split()}
    english = {word for word in words - names if word.isascii() and word.isalpha() and len(word) > 1}
    assert english <= {"br", "bdi"}
