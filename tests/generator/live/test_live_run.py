"""The measurement beside the server, with real processes in place of those that install and measure."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.live_progress import LiveProgress
from generator.live import live_run as module
from generator.live.live_run import LiveRun, Stage

PATIENCE_S = 60.0

COMMANDS = """
import os, signal, sys, time
from pathlib import Path
from bench.live_progress import VARIABLE, LiveProgress

def until(name):
    while not Path(name).exists():
        time.sleep(0.01)

signal.signal(signal.SIGINT, signal.SIG_IGN if "IS_DEAF" in os.environ else signal.default_int_handler)
open("calls", "a").write(sys.argv[1] + "\\n")
if sys.argv[1] == "install":
    sys.exit(int(os.environ.get("INSTALL_FAILS", 0)))
progress, phases = Path(os.environ[VARIABLE]), os.environ["PHASES"].split()
for phase in phases:
    LiveProgress(model="ViT", number=1, of=2, ends_at=time.time() + 90, phase=phase).write(progress)
    until(f"after-{phase}")
"""
"""In place of ``python -m bench``: its run goes on when the test lets it."""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., LiveRun]:
    """A function that begins a measurement whose run has these phases."""

    def begin(*phases: str, **variables: str) -> LiveRun:
        script = tmp_path / "commands.py"
        script.write_text(textwrap.dedent(COMMANDS))
        monkeypatch.setattr(module, "BENCH", (sys.executable, str(script)))
        for name, value in {"PHASES": " ".join(phases), **variables}.items():
            monkeypatch.setenv(name, value)
        live_run = LiveRun(tmp_path, "3m")
        live_run.start(lambda: None, (tmp_path / "said").write_text)
        return live_run

    return begin


def reached(live_run: LiveRun, stage: Stage, phase: str | None = None) -> LiveProgress | None:
    """Wait for a stage, and return the progress in it."""
    end, situation = time.monotonic() + PATIENCE_S, live_run.situation
    while situation.stage is not stage or (phase and (not situation.progress or situation.progress.phase != phase)):
        assert time.monotonic() < end, situation
        situation = live_run.wait(situation.number, 1.0)
    return situation.progress


def test_it_installs_then_measures_and_says_how_far_it_is(made: Callable[..., LiveRun], tmp_path: Path) -> None:
    live_run = made("building", "measuring")
    progress = reached(live_run, Stage.MEASURING)
    assert progress is not None
    assert (progress.model, progress.number, progress.of) == ("ViT", 1, 2)
    (tmp_path / "after-building").touch()
    (tmp_path / "after-measuring").touch()
    reached(live_run, Stage.DONE)
    assert (tmp_path / "calls").read_text().split() == ["install", "run"]
    assert not live_run.is_running
    assert live_run.is_idle
    live_run.close()
    assert live_run.situation.stage is Stage.CLOSED


def test_pages_are_made_beforehand_only_while_nothing_is_timed(made: Callable[..., LiveRun], tmp_path: Path) -> None:
    phases = ("starting", "building", "warming-up", "compiling", "measuring")
    live_run = made(*phases)
    seen = {}
    for phase in phases:
        reached(live_run, Stage.MEASURING, phase)
        seen[phase] = live_run.is_idle
        (tmp_path / f"after-{phase}").touch()
    assert [phase for phase in phases if seen[phase]] == ["starting", "building"]
    reached(live_run, Stage.DONE)


def test_what_cannot_be_installed_is_not_measured(made: Callable[..., LiveRun], tmp_path: Path) -> None:
    live_run = made("building", INSTALL_FAILS="2")
    reached(live_run, Stage.FAILED)
    assert (tmp_path / "calls").read_text().split() == ["install"]
    end = time.monotonic() + PATIENCE_S
    while not (tmp_path / "said").exists() or not (tmp_path / "said").read_text():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "see above" in (tmp_path / "said").read_text()


@pytest.mark.parametrize("is_deaf", [False, True])
def test_a_stop_ends_the_process_and_begins_no_other(
    made: Callable[..., LiveRun], monkeypatch: pytest.MonkeyPatch, is_deaf: bool
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.5 if is_deaf else PATIENCE_S)
    live_run = made("building", **({"IS_DEAF": "1"} if is_deaf else {}))
    reached(live_run, Stage.MEASURING)
    process = live_run._process
    assert process is not None
    live_run.stop()
    reached(live_run, Stage.STOPPED)
    assert process.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_wait_ends_with_the_next_change_or_its_time(made: Callable[..., LiveRun], tmp_path: Path) -> None:
    live_run = made("building")
    reached(live_run, Stage.MEASURING)
    number = live_run.situation.number
    assert live_run.wait(number, 0.01).number == number, "nothing has changed"
    (tmp_path / "after-building").touch()
    assert live_run.wait(number, PATIENCE_S).number > number
    reached(live_run, Stage.DONE)
