"""Charts: what they show of which rows, in which words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd
from atlas_data import PUBLISHED, measured, write

from generator.data.load import load
from generator.data.selection import Rows, records
from generator.figures import charts
from generator.figures.drawing import Drawing, Row
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


def test_marks_of_doubtful_rows_are_hollow() -> None:
    (line,) = lines(charts.overview(published(device="t4", torch="2.1.0.dev"), EN))
    assert [mark.hollow for mark in line.marks].count(True) == 1


def test_overview_keeps_published_and_measured_apart(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    rows = newest(write(tmp_path, [measured(device_name="NVIDIA A100")]))
    labels = [line.label.partition(" · n")[0] for line in lines(charts.overview(rows, EN))]
    assert labels == ["A100 · measured", "A100 · published", "T4", "V100"]


def test_languages_share_the_drawing() -> None:
    rows = published(device="v100", torch="2.0.1")
    assert charts.overview(rows, load_language("ar")).drawing == charts.overview(rows, EN).drawing
