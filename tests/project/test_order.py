"""The files that `conftest.LONG` starts first exist, so that none loses its place when it moves."""

from __future__ import annotations

from conftest import LONG, TESTS


def test_long_test_files_exist() -> None:
    assert [name for name in LONG if not (TESTS / name).is_file()] == []
