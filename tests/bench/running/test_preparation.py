"""Workers that are prepared side by side: they wait for their turn, and none is left or measured twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from stub_worker import ENVIRONMENT
from test_executors import STUB, is_alive, job

from bench.plans.messages import CellOutcome, Job, Machine, Phase
from bench.records.record import Status
from bench.running import preparation
from bench.running.executors import LocalProcesses, WorkerExit
from bench.running.preflight import variables_of
from bench.running.preparation import SideBySide, executor_for

MODELS = ("ViT", "ResNet", "ViT")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STUB_PREPARED", str(tmp_path / "prepared"))
    return tmp_path / "prepared"


@pytest.fixture
def side_by_side(log: Path) -> Iterator[SideBySide]:
    executor = SideBySide(STUB.command, at_once=2)
    yield executor
    executor.expect(())
    assert not any(is_alive(pid) for _, pid in prepared(log)), "a worker outlives its run"


def prepared(log: Path) -> list[tuple[str, int]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [(model, int(pid)) for model, pid in (line.split() for line in lines)]


def expect(executor: SideBySide, models: Sequence[str]) -> None:
    recipes = [job(model).recipe for model in models]
    executor.expect([(recipe, variables_of([recipe], keep_memory=False)) for recipe in recipes])


def run(executor: LocalProcesses, request: Job) -> tuple[WorkerExit, list[Phase]]:
    phases: list[Phase] = []
    return executor.run(request, variables={}, timeout_s=30.0, on_phase=phases.append), phases


def test_the_next_workers_are_prepared_together_and_measure_in_turn(side_by_side: SideBySide, log: Path) -> None:
    for done, model in enumerate(MODELS):
        expect(side_by_side, MODELS[done:])
        ended, phases = run(side_by_side, job(model))
        assert isinstance(ended.answer, CellOutcome)
        assert ended.answer.status is Status.PASS
        assert [phase.name for phase in phases] == ["building", "measuring"]
        assert next(iter(ended.costs_s)) == "starting", "the time to prepare belongs to the first that waits for it"
        assert sorted(name for name, _ in prepared(log)) == sorted(MODELS[: max(2, done + 1)])
    pids = [pid for _, pid in prepared(log)]
    assert len(set(pids)) == len(MODELS), "every process is fresh"


def test_a_worker_that_waits_uses_no_core(side_by_side: SideBySide, log: Path) -> None:
    expect(side_by_side, MODELS)
    run(side_by_side, job("ViT"))
    waiting = dict(prepared(log))["ResNet"]

    def ticks() -> list[str]:
        return Path(f"/proc/{waiting}/stat").read_text().rsplit(")", 1)[1].split()[11:13]

    before = ticks()
    time.sleep(0.3)
    assert ticks() == before


def test_a_worker_for_what_no_longer_comes_is_stopped(side_by_side: SideBySide, log: Path) -> None:
    expect(side_by_side, MODELS)
    run(side_by_side, job("ViT"))
    waiting = dict(prepared(log))["ResNet"]
    expect(side_by_side, ["ResNet"])
    assert is_alive(waiting)
    expect(side_by_side, ["BeiT"])
    assert not is_alive(waiting)


def test_a_worker_that_died_while_it_waited_is_replaced(side_by_side: SideBySide, log: Path) -> None:
    expect(side_by_side, MODELS)
    run(side_by_side, job("ViT"))
    _, process = side_by_side._ready[0]
    process.kill()
    process.wait()
    ended, _ = run(side_by_side, job("ResNet"))
    assert isinstance(ended.answer, CellOutcome)


def test_a_worker_that_is_never_ready_costs_no_record(
    side_by_side: SideBySide, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "LONGEST_S", 1.0)
    monkeypatch.setenv("STUB_UNREADY", "ResNet")
    expect(side_by_side, MODELS)
    assert isinstance(run(side_by_side, job("ViT"))[0].answer, CellOutcome)
    hanging = dict(prepared(log))["ResNet"]
    assert not is_alive(hanging)
    monkeypatch.delenv("STUB_UNREADY")
    assert isinstance(run(side_by_side, job("ResNet"))[0].answer, CellOutcome)


def test_a_real_worker_measures_what_it_has_built() -> None:
    request = job(shrunken=True)
    request = msgspec.structs.replace(request, sampling=msgspec.structs.replace(request.sampling, max_s=0.5, min_s=0.1))
    executor = SideBySide(at_once=1)
    executor.expect([(request.recipe, variables_of([request.recipe], keep_memory=False))])
    phases: list[str] = []
    ended = executor.run(request, variables={}, timeout_s=200.0, on_phase=lambda phase: phases.append(phase.name))
    assert isinstance(ended.answer, CellOutcome)
    assert ended.answer.measurement is not None
    assert ended.answer.measurement.compilation is not None
    assert ended.answer.measurement.compilation.cold_s, "a prepared worker has compiled nothing"
    assert ended.costs_s["building"] < ended.costs_s["starting"]
    assert "ready" not in phases


@pytest.mark.parametrize(("device", "cores", "is_shared"), [("cuda", 16, True), ("cuda", 2, False), ("cpu", 16, False)])
def test_a_cpu_that_is_measured_has_no_worker_waiting(device: str, cores: int, is_shared: bool) -> None:
    machine = Machine(device=device, environment=msgspec.structs.replace(ENVIRONMENT, cores=cores))
    assert isinstance(executor_for(machine, STUB), SideBySide) == is_shared
    assert executor_for(machine, STUB).command == STUB.command
