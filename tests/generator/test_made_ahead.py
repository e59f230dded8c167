"""Files that another process makes ahead: the same as without it, whatever happens to that process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from generator.made_ahead import MadeAhead
from generator.pages.site_file import SiteFile
from generator.parallel import ForkedCall


def by(uri: str = "data/process") -> SiteFile:
    """A file that tells in which process it was made."""
    return SiteFile(uri, lambda: str(os.getpid()))


def kill() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.fixture
def ahead(tmp_path: Path) -> MadeAhead:
    return MadeAhead(tmp_path / "ahead")


def test_another_process_makes_a_file_for_all_that_are_forked_later(ahead: MadeAhead) -> None:
    ahead.begin([by()])
    here, there = int(ahead.content_of(by())), ForkedCall(lambda: int(ahead.content_of(by()))).result()
    assert here == there != os.getpid()
    ahead.end()


def test_what_was_not_made_ahead_is_made_where_it_is_needed(ahead: MadeAhead) -> None:
    assert int(ahead.content_of(by())) == os.getpid()
    ahead.begin([by()])
    assert int(ahead.content_of(by("data/other"))) == os.getpid()
    ahead.end()


def test_a_process_that_is_killed_leaves_only_whole_files(ahead: MadeAhead) -> None:
    ahead.begin([by("data/first"), SiteFile("data/killed", kill), by("data/last")])
    assert int(ahead.content_of(by("data/first"))) != os.getpid()
    assert int(ahead.content_of(by("data/killed"))) == int(ahead.content_of(by("data/last"))) == os.getpid()
    ahead.end()


def test_an_error_is_raised_where_the_file_is_needed(ahead: MadeAhead) -> None:
    def broken() -> str:
        raise ValueError("a column is missing")

    file = SiteFile("data/broken", broken)
    ahead.begin([file])
    with pytest.raises(ValueError, match="a column is missing"):
        ahead.content_of(file)
    ahead.end()


def test_nothing_is_left_at_the_end(ahead: MadeAhead, tmp_path: Path) -> None:
    ahead.begin([by()])
    assert int(ahead.content_of(by())) != os.getpid()
    ahead.end()
    assert not list(tmp_path.iterdir())
