"""Charts of the gains: what they draw and say."""

from __future__ import annotations

from pathlib import Path

import pytest
from atlas_data import write
from throughput_records import CONV, NEW, OLD, OTHER, VIT, family, throughput

from bench.records.record import Record
from generator.data.load import load
from generator.drawing.plot import compose
from generator.figures.charts import Chart
from generator.languages.language import load_language
from generator.pages.gain_charts import GainCharts
from generator.pages.gains import Gains


def charts(folder: Path, *records: Record, language: str = "en") -> GainCharts:
    results = load(write(folder, records))
    return GainCharts(Gains(results), results, load_language(language))


def labels(chart: Chart) -> list[list[str]]:
    return [[row.label for row in panel.rows] for panel in chart.plot.panels]


def test_each_gpu_has_a_panel_with_the_same_families(tmp_path: Path) -> None:
    chart = charts(tmp_path, *CONV, *VIT, *family("cnn", -0.61, -0.51, -0.51, -0.49, -0.41, **OTHER)).families()
    assert [panel.title for panel in chart.plot.panels] == ["RTX 4090", "RTX 5090"]
    assert labels(chart) == [["all models", "cnn"], ["all models", "cnn", "vit"]]
    _, cnn, vit = chart.plot.panels[1].rows
    assert [mark.text for row in (cnn, vit) for mark in row.marks if mark] == ["−50.0%", "−10.0%"]
    assert [mark.verdict for row in (cnn, vit) for mark in row.marks if mark] == ["faster", "inconclusive"]
    assert "RTX 5090 · cnn: median −50.0%, with half of the comparisons between −55.0% and −45.0%." in chart.alt
    for part in ("PyTorch 2.9.1", "autocast float16", "15 comparisons"):
        assert part.replace(" ", "\u00a0") in chart.caption
    assert b"<svg" in chart.light


def test_history_draws_eager_by_family_and_compiled_apart(tmp_path: Path) -> None:
    made = charts(
        tmp_path,
        *(throughput(f"a{n}", 100.0, 200.0, compiled_batch_size=64 if n else None, **OLD) for n in range(5)),
        *(throughput(f"a{n}", 120.0, 200.0, **NEW) for n in range(5)),
    )
    chart = made.history(made.gains.history[0])
    assert labels(chart) == [["all models", "a"], ["all models"]]
    assert [row.box.count for panel in chart.plot.panels for row in panel.rows if row.box] == [5, 5, 1]
    assert "from PyTorch\u00a02.4.0 to PyTorch\u00a02.9.1".replace("\u00a0", " ") in chart.alt
    assert chart.plot.panels[0].rows[0].marks[0] is not None
    assert chart.plot.panels[0].rows[0].marks[0].verdict == "faster"  # more images per second


@pytest.mark.parametrize("language", ["en", "ar"])
def test_no_texts_overlap(tmp_path: Path, language: str) -> None:
    chart = charts(tmp_path, *CONV, *VIT, *family("cnn", -0.61, 0.5, -0.51, -0.49, 0.4, **OTHER), language=language)
    texts = compose(chart.families().plot).texts
    for number, first in enumerate(texts):
        for other in texts[number + 1 :]:
            apart_x = first.x + first.width <= other.x + 0.5 or other.x + other.width <= first.x + 0.5
            assert apart_x or abs(first.y - other.y) >= 0.8 * max(first.size, other.size), (first, other)
