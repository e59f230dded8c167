"""Errors say what is wrong, where, and what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from bench.errors import unusable, unwritable


def test_what_is_in_the_way_is_not_called_a_lack_of_room(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for attempt, says in (
        (file.mkdir, "is a file, but a folder is needed"),
        (tmp_path.read_bytes, "is a folder, but a"),
    ):
        with pytest.raises(OSError) as failed:
            attempt()
        for error in (unwritable(failed.value.filename, failed.value), unusable(failed.value)):
            assert says in error.what
            assert "space" not in error.remedy
    assert "free up disk space" in unwritable(file, OSError(errno.ENOSPC, "No space left on device")).remedy
