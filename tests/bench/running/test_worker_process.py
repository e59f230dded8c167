"""Real worker processes: they answer, die and hang, and their children end with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bench.errors import AtlasError
from bench.plans.messages import CellOutcome, Job, Phase, Recipe, Request
from bench.plans.models import find
from bench.plans.plan import make_plan
from bench.plans.profiles import PROFILES, Sampling
from bench.records.record import Status
from bench.records.scrub import MAX_LENGTH
from bench.running.worker_process import WorkerExit, run_worker

STUB = (sys.executable, str(Path(__file__).resolve().parents[2] / "stub_worker.py"))
run_stub = partial(run_worker, command=STUB)

NO_VECTORS = {"TORCHINDUCTOR_VEC_ISA_OK": "0"}
"""Halves the time of the C++ compiler, which takes half a minute for vectorized kernels."""


def job(model: str = "ViT", *, sampling: Sampling | None = None, shrunken: bool = False) -> Job:
    """Return the job of the first process of a cell in the quick profile."""
    recipe = Recipe(model=model, task=find(model).task, shrunken=shrunken)
    (planned,) = make_plan(PROFILES["quick"], [recipe], "cpu").planned
    return Job(cell=planned.cell, recipe=recipe, sampling=sampling or Sampling())


def run(request: Request, *, timeout_s: float = 30.0, **variables: str) -> tuple[WorkerExit, list[Phase]]:
    phases: list[Phase] = []
    return run_stub(request, variables=variables, timeout_s=timeout_s, on_phase=phases.append), phases


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_a_worker_tells_its_phases_and_answers() -> None:
    ended, phases = run(job())
    assert isinstance(ended.answer, CellOutcome)
    assert ended.answer.status is Status.PASS
    assert [phase.name for phase in phases] == ["building", "measuring"]


def test_where_workers_cannot_run_an_error_names_where_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(AtlasError, match="WSL 2"):
        run(job())


def test_a_worker_that_gives_up_leaves_its_last_words_without_paths() -> None:
    ended, _ = run(job("OwlViT"))
    assert ended.cause == "the process ended with exit status 3"
    assert ended.last_line == "RuntimeError: nothing fits in torch/x.py"


def test_a_hanging_worker_is_stopped_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    ended, _ = run(job("DETR"), timeout_s=1.0, STUB_CHILD=str(child))
    assert ended.timed_out
    assert ended.cause == "no answer within 1 s"
    wait_until(lambda: not is_alive(int(child.read_text())))  # killed, but perhaps not reaped yet


def test_a_worker_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """The parent has no chance to clean up: the worker itself sees its pipe close."""
    child = tmp_path / "child"
    parent = (
        "import sys; sys.path[:0] = sys.argv[2:]; from test_worker_process import job, run;"
        "run(job('DETR'), timeout_s=600, STUB_CHILD=sys.argv[1])"
    )
    here = Path(__file__).resolve()
    folders = [str(here.parent), str(here.parents[2])]
    process = subprocess.Popen([sys.executable, "-c", parent, str(child), *folders])
    wait_until(lambda: child.exists() and child.read_text())
    process.kill()
    process.wait()
    pid = int(child.read_text())
    wait_until(lambda: not is_alive(pid))


def test_a_worker_that_dies_is_not_waited_for_because_of_what_it_has_started(tmp_path: Path) -> None:
    """A process of another session keeps the pipes of the dead worker open."""
    child = tmp_path / "child"
    ended, _ = run(job("Mask2former"), timeout_s=120.0, STUB_CHILD=str(child))
    os.kill(int(child.read_text()), signal.SIGKILL)
    assert ended.cause == "the process was ended by SIGSEGV"
    assert ended.seconds < 60


def test_whatever_a_model_prints_is_no_answer() -> None:
    ended, _ = run(job("MobileNet"), STUB_PRINTS="400")  # 25 MB
    assert isinstance(ended.answer, CellOutcome)
    assert ended.answer.measurement is not None
    assert len(ended.last_line) <= MAX_LENGTH


def test_an_answer_with_figures_that_are_none_is_told_from_a_crash() -> None:
    ended, _ = run(job("Resnet-101"))
    assert ended.answer is None
    assert ended.cause.startswith("its answer cannot be read: Expected `float`, got `null`")


def test_a_worker_that_runs_out_of_memory_says_so() -> None:
    ended, _ = run(job("Conditional-DETR"))
    assert (ended.answer, ended.last_line) == (None, "MemoryError")


def test_text_that_is_no_message_ends_the_worker() -> None:
    command = (sys.executable, "-c", "import time; print('Hello', flush=True); time.sleep(600)")
    ended = run_worker(job(), variables={}, timeout_s=60.0, command=command)
    assert "JSON is malformed" in ended.cause


def test_the_parent_sleeps_while_it_waits() -> None:
    """Apart from starting a process, waiting for a second takes less than 1% of a core."""

    def spent_s(seconds: str) -> float:
        before = time.process_time()
        ended, _ = run(job(), STUB_SECONDS=seconds)
        assert ended.seconds >= float(seconds)
        return time.process_time() - before

    assert spent_s("1") - spent_s("0") < 0.01


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            pytest.fail("waited in vain")
        time.sleep(0.05)
