"""Charts of the gains: what they draw and say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from atlas_data import write
from throughput_records import CONV, NEW, OLD, OTHER, VIT, family, throughput

from bench.records.record import Record
from generator.data.load import load
from generator.figures.charts import Chart
from generator.figures.drawing import Drawing, Panel
from generator.languages.language import load_language
from generator.pages.gain_charts import GainCharts
from generator.pages.gains import Gains


def charts(folder: Path, *records: Record) -> GainCharts:
    results = load(write(folder, records))
    return GainCharts(Gains(results), results, load_language("en"))


def panels(chart: Chart) -> Sequence[Panel]:
    assert isinstance(chart.drawing, Drawing)
    return chart.drawing.panels


def labels(chart: Chart) -> list[list[str]]:
    return [[row.label for row in panel.rows] for panel in panels(chart)]


def test_each_gpu_has_a_panel_with_the_same_families(tmp_path: Path) -> None:
    chart = charts(tmp_path, *CONV, *VIT, *family("cnn", -0.61, -0.51, -0.51, -0.49, -0.41, **OTHER)).families()
    assert [panel.title for panel in panels(chart)] == ["RTX 4090", "RTX 5090"]
    assert labels(chart) == [["n = 5", "cnn"], ["n = 10", "cnn", "vit"]]
    _, cnn, vit = panels(chart)[1].rows
    assert [(row.figures, row.role) for row in (cnn, vit)] == [(("2.00×",), "gain"), (("1.11×",), "zero")]
    assert "RTX 5090 · cnn: median 2.00×, with half of the comparisons between 1.82× and 2.22×." in chart.alt
    for part in ("PyTorch 2.9.1", "autocast float16", "15 comparisons"):
        assert part.replace(" ", "\u00a0") in chart.caption


def test_history_draws_eager_by_family(tmp_path: Path) -> None:
    made = charts(
        tmp_path,
        *(throughput(f"a{n}", 100.0, 200.0, compiled_batch_size=64 if n else None, **OLD) for n in range(5)),
        *(throughput(f"a{n}", 120.0, 200.0, **NEW) for n in range(5)),
    )
    chart = made.history(made.gains.history[0])
    assert labels(chart) == [["n = 5", "a"]]
    headline = "Images per second in eager mode with PyTorch 2.9.1, as a multiple of PyTorch 2.4.0"
    assert headline in chart.alt.replace("\u00a0", " ")
    first = panels(chart)[0].rows[0]
    assert (first.figures, first.role) == (("1.20×",), "gain"), "more images per second"
