"""What a run tells a program beside it: how far it is, and nothing while rounds are timed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from rich.console import Console
from test_sweep import plan, record

from bench.live_progress import VARIABLE, LiveProgress
from bench.plans.messages import Phase
from bench.plans.plan import pending
from bench.running.live_reporter import LiveReporter, watched
from bench.running.progress import PlainReporter


def test_the_file_has_the_newest_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "progress.json"
    monkeypatch.setenv(VARIABLE, str(path))
    made = plan("ViT", "BeiT")
    reporter = watched(PlainReporter(Console(quiet=True)))
    assert LiveProgress.read(path) is None
    before = time.time()
    reporter.begin(pending(made, [])[0], done=1, left=2, left_s=600.0)
    begun = LiveProgress.read(path)
    assert begun is not None
    assert (begun.model, begun.number, begun.of, begun.phase) == ("ViT", 2, 3, "starting")
    assert 600.0 <= begun.ends_at - before < 660.0
    reporter.phase(Phase(name="measuring", done=1, of=30))
    timed = path.stat()
    for number in range(2, 30):
        reporter.phase(Phase(name="measuring", done=number, of=30))
    assert path.stat().st_ino == timed.st_ino, "not replaced while rounds are timed"
    reporter.end(record(made.planned[0]), 12.0)
    ended = LiveProgress.read(path)
    assert ended is not None
    assert ended.phase == ""


def test_without_anybody_to_tell_the_reporter_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    reporter = PlainReporter(Console(quiet=True))
    assert watched(reporter) is reporter


def test_a_full_disk_spoils_the_display_alone(tmp_path: Path) -> None:
    reporter = LiveReporter(PlainReporter(Console(quiet=True)), tmp_path / "a file" / "progress.json")
    (tmp_path / "a file").touch()
    reporter.phase(Phase(name="measuring"))
    assert LiveProgress.read(tmp_path / "a file" / "progress.json") is None
