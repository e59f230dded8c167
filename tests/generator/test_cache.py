"""The cache: makes once, survives deletion and folders it may not write."""

from __future__ import annotations

import shutil
from pathlib import Path

from generator.cache import kept


def test_makes_once(tmp_path: Path) -> None:
    made: list[str] = []

    def make() -> bytes:
        made.append("made")
        return b"bytes"

    assert kept("charts", ".svg", "key", make, tmp_path) == b"bytes"
    assert kept("charts", ".svg", "key", make, tmp_path) == b"bytes"
    assert made == ["made"]


def test_may_be_deleted_at_any_moment(tmp_path: Path) -> None:
    kept("charts", "", "key", lambda: b"bytes", tmp_path)
    shutil.rmtree(tmp_path / "charts")
    assert kept("charts", "", "key", lambda: b"again", tmp_path) == b"again"


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "charts").write_text("a file where the folder should be")
    assert kept("charts", "", "key", lambda: b"bytes", tmp_path) == b"bytes"
