"""The cache: makes once, survives deletion, damage by others and folders it may not write."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from generator.cache import Cache


def test_makes_once_in_a_process_and_once_on_disk(tmp_path: Path) -> None:
    made: list[str] = []

    def make() -> bytes:
        made.append("made")
        return b"bytes"

    cache = Cache("charts", ".svg", tmp_path)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: cache.get("key", make), range(50))) == {b"bytes"}
    assert Cache("charts", ".svg", tmp_path).get("key", make) == b"bytes"
    assert made == ["made"]


def test_may_be_deleted_at_any_moment(tmp_path: Path) -> None:
    cache = Cache("charts", root=tmp_path)
    cache.get("key", lambda: b"bytes")
    shutil.rmtree(tmp_path / "charts")
    assert Cache("charts", root=tmp_path).get("key", lambda: b"again") == b"again"


def test_a_file_that_is_not_whole_is_made_again(tmp_path: Path) -> None:
    """Whoever is killed while writing leaves one."""
    Cache("charts", root=tmp_path).get("key", lambda: b"bytes" * 99)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert Cache("charts", root=tmp_path).get("key", lambda: b"again") == b"again"
    assert Cache("charts", root=tmp_path).get("key", lambda: b"never") == b"again"


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "charts").write_text("a file where the folder should be")
    assert Cache("charts", root=tmp_path).get("key", lambda: b"bytes") == b"bytes"
