"""All published rows are in the built pages of every language, to the digit and in their place."""

from __future__ import annotations

import re

import pytest
from conftest import LANGUAGES, PREFIXES, ROOT, BuiltSite
from html_page import read

from bench.records import run_file
from bench.records.record import Record
from generator.data.names import short_name


def cells(row: Record) -> set[str]:
    """The device and both figures, as the source printed them."""
    measurement = row.measurement
    samples = (measurement.eager, measurement.compiled) if measurement else (None, None)
    figures = [each.published_mean_ms if each else None for each in samples]
    return {short_name(row.environment.device_name), *("OOM" if x is None else f"{x:.3f}" for x in figures)}


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_published_row_is_on_the_page_of_its_model(site: BuiltSite, code: str) -> None:
    rows = list(run_file.read(ROOT / "bench/results/published/huggingface-2023.jsonl"))
    assert len(rows) == 136
    pages = {
        model: read(site.folder / PREFIXES[code] / "models" / re.sub("[^a-z0-9]+", "-", model.lower()) / "index.html")
        for model in {row.cell.model for row in rows}
    }
    for row in rows:
        shown = [line for table in pages[row.cell.model].tables for line in table]
        texts = [{re.sub("[,†]", "", cell).strip() for cell in line} for line in shown]
        assert any(cells(row) <= each for each in texts), (row.cell.model, cells(row))
