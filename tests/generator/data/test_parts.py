"""What the data lint finds in many rows is kept for other processes, by all that these rows depend on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from atlas_data import PUBLISHED

from generator.cache import Cache
from generator.data import parts
from generator.data.load import load
from generator.data.parts import Part


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    (part,) = (part for part in load(PUBLISHED.parent).parts if len(part.rows))
    return part.rows


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parts, "_FOUND", Cache("lint", ".pickle", tmp_path))
    return tmp_path


def test_what_was_found_is_found_again_without_looking(rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Part(rows, (), key="a").problems
    assert found == Part(rows, ()).problems != ()
    monkeypatch.delattr(parts, "lint_within")
    assert Part(rows, (), key="a").problems == found


def test_other_rows_are_looked_at(rows: pd.DataFrame) -> None:
    assert Part(rows, (), key="a").problems != Part(rows.iloc[:1], (), key="b").problems
    assert Part(rows, (), key="a").former_problems == Part(rows, ()).former_problems


def test_few_rows_are_not_kept(rows: pd.DataFrame, folder: Path) -> None:
    assert Part(rows, ()).problems
    assert not list(folder.iterdir())


def test_damage_is_made_good(rows: pd.DataFrame, folder: Path) -> None:
    found = Part(rows, (), key="a").problems
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    path.write_bytes(path.read_bytes()[:-1])
    assert Part(rows, (), key="a").problems == found
