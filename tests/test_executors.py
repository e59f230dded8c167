"""Workers as real processes: they answer, die, hang, and take their children with them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.executors import Ended, LocalProcesses
from bench.job import Finding, Job, Machine, Phase, Recipe, Request, Survey
from bench.models import find
from bench.profiles import Sampling
from bench.record import Cell, Status

STUB = LocalProcesses((sys.executable, str(Path(__file__).with_name("stub_worker.py"))))


def job(model: str = "ViT") -> Job:
    spec = find(model)
    cell = Cell(
        model=model,
        checkpoint=spec.checkpoint,
        task=spec.task,
        device="cpu",
        dtype="float32",
        batch_size=1,
        compile_mode="default",
    )
    return Job(cell=cell, recipe=Recipe(model=model, task=spec.task), sampling=Sampling())


def run(request: Request, *, timeout_s: float = 30.0, **variables: str) -> tuple[Ended, list[Phase]]:
    phases: list[Phase] = []
    return STUB.run(request, variables=variables, timeout_s=timeout_s, on_phase=phases.append), phases


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_a_worker_tells_its_phases_and_answers() -> None:
    ended, phases = run(job())
    assert isinstance(ended.answer, Finding)
    assert ended.answer.status is Status.PASS
    assert [phase.name for phase in phases] == ["building", "measuring"]


def test_a_survey_describes_the_machine() -> None:
    ended, _ = run(Survey())
    assert isinstance(ended.answer, Machine)
    assert ended.answer.device == "cpu"


def test_a_worker_that_dies_of_a_signal_is_named() -> None:
    ended, _ = run(job("Segformer"))
    assert ended.answer is None
    assert ended.cause == "the process was ended by SIGSEGV"


def test_a_worker_that_gives_up_leaves_its_last_words_without_paths() -> None:
    ended, _ = run(job("OwlViT"))
    assert ended.cause == "the process ended with exit status 3"
    assert ended.last_words == "RuntimeError: nothing fits in torch/x.py"


def test_a_hanging_worker_is_stopped_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    ended, _ = run(job("DETR"), timeout_s=2.0, STUB_CHILD=str(child))
    assert ended.timed_out
    assert ended.cause == "no answer within 2 s"
    wait_until(lambda: not is_alive(int(child.read_text())))  # killed, but perhaps not buried yet


def test_a_worker_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """The parent has no chance to clean up: the worker itself sees its pipe close."""
    child = tmp_path / "child"
    parent = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_executors import job, run; import os;"
        "run(job('DETR'), timeout_s=600, STUB_CHILD=sys.argv[2])"
    )
    process = subprocess.Popen([sys.executable, "-c", parent, str(Path(__file__).parent), str(child)])
    wait_until(lambda: child.exists() and child.read_text())
    process.kill()
    process.wait()
    pid = int(child.read_text())
    wait_until(lambda: not is_alive(pid))


def test_the_parent_sleeps_while_it_waits() -> None:
    before = os.times()
    ended, _ = run(job(), STUB_SECONDS="2")
    spent = os.times()
    assert ended.seconds >= 2
    assert (spent.user + spent.system) - (before.user + before.system) < 0.1 * ended.seconds


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            pytest.fail("waited in vain")
        time.sleep(0.05)
