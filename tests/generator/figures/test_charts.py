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


def lines(chart: charts.Chart) -> list[Row]:
    assert isinstance(chart.drawing, Drawing)
    return list(chart.drawing.rows)


# ── Latency ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_intervals_and_their_weakness_are_told(tmp_path: Path) -> None:
    rows = newest(write(tmp_path, [measured()]))
    chart = charts.latency(rows, EN)
    mark = lines(chart)[0].marks[0]
    assert mark is not None
    assert mark.low < mark.value < mark.high
    assert "95% intervals" in chart.caption
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


def test_marks_of_doubtful_rows_are_hollow() -> None:
    for draw in (charts.latency, charts.speedup):
        for line in lines(draw(published(device="t4", torch="2.1.0.dev"), EN)):
            hollow = [mark.hollow for mark in line.marks if mark]
            assert any(hollow) == (line.label == f"BeiT · default {DOUBT}")


# ── Speedups ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_settings_that_tell_rows_apart_are_in_their_names(tmp_path: Path) -> None:
    rows = newest(write(tmp_path, [measured(variant=f"compile:default{shapes}") for shapes in ("", ":marked")]))
    labels = [line.label for line in lines(charts.speedup(rows, EN))]
    assert [label.split()[0] for label in sorted(labels)] == ["dynamic=auto", "dynamic=marked"]


def test_overview_keeps_published_and_measured_apart(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    rows = newest(write(tmp_path, [measured(device_name="NVIDIA A100")]))
    labels = [line.label.partition(" · n")[0] for line in lines(charts.overview(rows, EN))]
    assert labels == ["A100 · measured", "A100 · published", "T4", "V100"]


# ── Languages ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("make", [charts.latency, charts.speedup, charts.overview])
def test_languages_share_the_drawing(make: Callable[..., charts.Chart]) -> None:
    rows = published(device="v100", torch="2.0.1")
    assert make(rows, load_language("ar")).drawing == make(rows, EN).drawing
