"""The registry of columns: whatever shows a column finds there how."""

from __future__ import annotations

import pytest
from atlas_data import PUBLISHED

from generator.data.load import load
from generator.data.registry import column
from generator.data.selection import numbered
from generator.figures.words import Words
from generator.languages.language import load_language


@pytest.mark.parametrize(
    ("name", "heading"), [("models", "Models"), ("torch", "PyTorch"), ("batch_size", "Batch size")]
)
def test_names_are_no_messages(name: str, heading: str) -> None:
    assert Words(load_language("en"), html=False).heading(name) == heading
    arabic = Words(load_language("ar"), html=False).heading(name)
    assert (arabic == heading) is (name == "torch")


def test_a_version_of_pytorch_is_a_column_of_figures() -> None:
    assert (column("version 2.13.0").alignment, column("model").alignment) == ("end", "start")


def test_groups_are_numbered_as_they_occur_and_unknown_is_a_value() -> None:
    cells = load(PUBLISHED).table.assign(memory_gb=float("nan"))
    by = ["model", "threads", "memory_gb"]
    assert numbered(cells, by).tolist() == cells.groupby(by, sort=False, dropna=False).ngroup().tolist()
