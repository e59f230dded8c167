"""All published rows are in the built pages of every language, to the digit and in their place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import LANGUAGES, ROOT, BuiltSite
from html_page import read

from bench.records import run_file
from bench.records.record import Record, Samples
from generator.data.names import short_name
from generator.languages.language import load_language

PUBLISHED = ROOT / "bench" / "results" / "published" / "huggingface-2023.jsonl"

ROWS = list(run_file.read(PUBLISHED))


def slug(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


def figure(variant: Samples | None) -> str:
    """Return the figure as the source printed it."""
    return "OOM" if variant is None or variant.published_mean_ms is None else f"{variant.published_mean_ms:.3f}"


def cells(row: Record) -> tuple[str, str]:
    if row.measurement is None:
        return "OOM", "OOM"
    return figure(row.measurement.eager), figure(row.measurement.compiled)


def plain(cell: str) -> str:
    """Return the text without the mark of a doubted row and thousands separators."""
    return re.sub("[,†]", "", cell).strip()


def test_the_source_has_136_rows_of_which_some_ran_out_of_memory() -> None:
    assert len(ROWS) == 136
    assert 0 < sum("OOM" in cells(row) for row in ROWS) < 10


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_published_row_is_on_the_page_of_its_model(site: BuiltSite, code: str) -> None:
    root = site.folder / Path(load_language(code).prefix)
    pages = {model: read(root / "models" / slug(model) / "index.html") for model in {row.cell.model for row in ROWS}}
    wrong = []
    for row in ROWS:
        values = {short_name(row.environment.device_name), *cells(row)}
        if not any(values <= set(map(plain, line)) for table in pages[row.cell.model].tables for line in table.rows):
            wrong.append((row.cell.model, values))
    assert wrong == []
