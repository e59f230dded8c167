"""Share cards: the same bytes each time, a name of any length, with its figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from atlas_data import PUBLISHED
from PIL import Image

from generator.data.load import load
from generator.data.selection import records
from generator.figures.card import card


@pytest.fixture(scope="module")
def rows() -> list[dict[str, object]]:
    cells = load(PUBLISHED).newest
    return records(cells[cells["device"] == "a100"])  # type: ignore[return-value]


def test_a_card_has_the_same_bytes_each_time(rows: list[dict[str, object]]) -> None:
    assert card("A100", rows) == card("A100", rows) != card("A100", [])


def test_the_longest_name_does_not_leave_the_card(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    (tmp_path / "card.png").write_bytes(card("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", rows))
    image = Image.open(tmp_path / "card.png").convert("L")
    assert image.crop((1160, 100, 1200, 260)).getextrema() == (255, 255), "nothing at the edge"
