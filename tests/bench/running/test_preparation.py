"""Workers that are prepared side by side: they wait for their turn, and none is left or measured twice."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import weekly
from stub_worker import ENVIRONMENT
from test_executors import STUB, is_alive, job

from bench.errors import Complaint
from bench.plans.messages import CellOutcome, Job, Machine, Phase
from bench.records.record import Status
from bench.running import preparation
from bench.running.executors import LocalProcesses, WorkerExit
from bench.running.preflight import variables_of
from bench.running.preparation import Expected, SideBySide, executor_for

MODELS = ("ViT", "ResNet", "ViT")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STUB_PREPARED", str(tmp_path / "prepared"))
    return tmp_path / "prepared"


@pytest.fixture
def warned() -> list[Complaint]:
    return []


@pytest.fixture
def side_by_side(log: Path, warned: list[Complaint]) -> Iterator[SideBySide]:
    executor = SideBySide(STUB.command, most=2, at_once=2, warn=warned.append)
    yield executor
    executor.expect(())
    assert not any(is_alive(pid) for _, pid in prepared(log)), "a worker outlives its run"


def prepared(log: Path) -> list[tuple[str, int]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [(model, int(pid)) for model, pid in (line.split() for line in lines)]


def expect(executor: SideBySide, models: Sequence[str]) -> None:
    executor.expect([Expected(each, variables_of([each.recipe], keep_memory=False)) for each in map(job, models)])


def run(executor: LocalProcesses, request: Job) -> tuple[WorkerExit, list[Phase]]:
    phases: list[Phase] = []
    return executor.run(request, variables={}, timeout_s=30.0, on_phase=phases.append), phases


def test_the_next_workers_are_prepared_together_and_measure_in_turn(side_by_side: SideBySide, log: Path) -> None:
    seconds: list[float] = []
    for done, model in enumerate(MODELS):
        expect(side_by_side, MODELS[done:])
        ended, phases = run(side_by_side, job(model))
        assert isinstance(ended.answer, CellOutcome)
        assert ended.answer.status is Status.PASS
        assert [phase.name for phase in phases if phase.name != "starting"] == ["building", "measuring"]
        assert sum(ended.costs_s.values()) == pytest.approx(ended.seconds)
        seconds.append(ended.costs_s["starting"])
        assert sorted(name for name, _ in prepared(log)) == sorted(MODELS[: max(2, done + 1)])
    pids = [pid for _, pid in prepared(log)]
    assert len(set(pids)) == len(MODELS), "every process is fresh"
    assert seconds[0] == pytest.approx(seconds[1], abs=0.1), "each has its share of the time until both were ready"


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
    process = side_by_side._workers[0].process
    process.kill()
    process.wait()
    ended, _ = run(side_by_side, job("ResNet"))
    assert isinstance(ended.answer, CellOutcome)


def test_a_worker_that_is_never_ready_costs_no_record(
    side_by_side: SideBySide, warned: list[Complaint], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "LONGEST_S", 1.0)
    monkeypatch.setenv("STUB_UNREADY", "ResNet")
    expect(side_by_side, MODELS)
    assert isinstance(run(side_by_side, job("ViT"))[0].answer, CellOutcome)
    hanging = dict(prepared(log))["ResNet"]
    assert not is_alive(hanging)
    assert [each.what for each in warned] == ["1 of 2 workers could not get ready beside others: it took too long"]
    expect(side_by_side, ["ResNet", "BeiT", "DETR"])
    assert isinstance(run(side_by_side, job("ResNet"))[0].answer, CellOutcome)
    assert [model for model, _ in prepared(log)].count("ResNet") == 1, "it is not tried again"
    run(side_by_side, job("BeiT"))
    assert "BeiT" in dict(prepared(log)), "the others still get ready"


def test_those_that_get_ready_are_fewer_than_those_that_wait(log: Path) -> None:
    """The next one begins as soon as one is ready, and the first of them tells how far it is."""
    executor, models = SideBySide(STUB.command, most=5, at_once=2), ["ViT", "ResNet", "BeiT", "ViT", "DETR", "BeiT"]
    try:
        expect(executor, models)
        ended, phases = run(executor, job("ViT"))
        assert isinstance(ended.answer, CellOutcome)
        assert len(prepared(log)) == len(executor._workers) + 1 == 5
        assert [(phase.done, phase.of) for phase in phases if phase.name == "starting"][-1] == (5, 5)
    finally:
        executor.expect(())
    assert not any(is_alive(pid) for _, pid in prepared(log))


@pytest.mark.parametrize("how", ["answer", "death"])
def test_what_lacks_memory_beside_others_is_measured_again_without_them(
    side_by_side: SideBySide, log: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("STUB_CROWDED", how)
    monkeypatch.setenv("STUB_SECONDS", "0.5")
    limits: list[float] = []
    plain = LocalProcesses.run

    def noted(executor: LocalProcesses, request: Job, *, timeout_s: float, **options: Any) -> WorkerExit:
        limits.append(timeout_s)
        return plain(executor, request, timeout_s=timeout_s, **options)

    monkeypatch.setattr(LocalProcesses, "run", noted)
    expect(side_by_side, ["ViT", "ResNet"])
    ended, _ = run(side_by_side, job("ViT"))
    assert isinstance(ended.answer, CellOutcome)
    assert ended.answer.status is Status.PASS
    assert not any(is_alive(pid) for _, pid in prepared(log)), "the others held memory"
    assert ended.seconds > 1.0, "both tries count"
    first, second = limits
    assert second < first - 0.5, "both have one time limit"


def test_where_only_one_process_can_use_the_device_none_waits_any_more(
    log: Path, warned: list[Complaint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_EXCLUSIVE", str(log.with_name("exclusive")))
    executor, models = SideBySide(STUB.command, 3, 3, warned.append), ["ViT", "ResNet", "BeiT"]
    for done, model in enumerate(models):
        expect(executor, models[done:])
        ended, _ = run(executor, job(model))
        assert isinstance(ended.answer, CellOutcome)
        assert ended.answer.status is Status.PASS
        assert len(prepared(log)) == 3, "it is tried once"
    (told,) = warned
    assert told.what.startswith("2 of 3 workers could not get ready beside others: "), "and says so"
    assert "every process now starts in turn" in told.remedy


def test_an_interrupted_start_leaves_no_worker(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_UNREADY", "ResNet")
    executor = SideBySide(STUB.command, most=3, at_once=2)
    expect(executor, ["ViT", "ResNet", "BeiT"])

    def interrupt() -> None:
        if len(prepared(log)) > 1:
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        executor.run(job("ViT"), variables={}, timeout_s=60.0, on_phase=lambda _: None, on_second=interrupt)
    executor.expect(())
    assert time.monotonic() - began < 30
    assert not any(is_alive(pid) for _, pid in prepared(log))


@pytest.mark.parametrize("unready", ["", "BeiT"])
def test_workers_end_with_the_sweep_that_is_killed(log: Path, monkeypatch: pytest.MonkeyPatch, unready: str) -> None:
    """Whether they wait, or still get ready."""
    monkeypatch.setenv("STUB_UNREADY", unready)

    def sweep() -> None:
        executor = SideBySide(STUB.command, most=3, at_once=3)
        expect(executor, ["ViT", "ResNet", "BeiT"])
        run(executor, job("ViT"))
        time.sleep(600)

    process = multiprocessing.get_context("fork").Process(target=sweep)
    process.start()
    while len(prepared(log)) < 3:
        time.sleep(0.05)
    waiting = [pid for model, pid in prepared(log) if model != "ViT"]
    assert all(map(is_alive, waiting))
    process.kill()
    process.join()
    deadline = time.monotonic() + 30
    while any(map(is_alive, waiting)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, waiting))


@pytest.mark.parametrize("ahead", [pytest.param(False, marks=weekly), True])
def test_a_real_worker_measures_what_it_has_made_ready(tmp_path: Path, *, ahead: bool) -> None:
    plain = job(shrunken=True)
    short = msgspec.structs.replace(plain.sampling, max_s=0.5, min_s=0.1)
    request = msgspec.structs.replace(plain, sampling=short, ahead=ahead, cache=str(tmp_path / "cell"))
    variables = {**variables_of([request.recipe], keep_memory=False), "TORCHINDUCTOR_VEC_ISA_OK": "0"}
    executor, phases = SideBySide(most=1, at_once=1), list[str]()
    executor.expect([Expected(request, variables)])
    ended = executor.run(request, variables={}, timeout_s=200.0, on_phase=lambda phase: phases.append(phase.name))
    assert isinstance(ended.answer, CellOutcome)
    assert ended.answer.status in (Status.PASS, Status.UNSTABLE), ended.answer.reason
    found = ended.answer.measurement
    assert found is not None
    assert found.compilation is not None
    assert bool(found.compilation.cold_s) != ahead, "beside others, compiling takes longer"
    assert found.graphs is not None
    assert (found.graphs.graphs, found.graphs.recompiles) == (1, 0), "it is compiled once"
    assert found.work is not None
    assert found.work.compiled_traffic_bytes, "Inductor counts it when it compiles"
    assert ended.costs_s["starting"] > ended.costs_s["building"]
    assert "ready" not in phases
    if ahead:
        assert ended.costs_s["starting"] > 5 * ended.costs_s["compiling"], "what is left is to run it"


@pytest.mark.parametrize(
    ("device", "cores", "memory_gb", "most", "at_once"),
    [
        *[("cuda", 16, 80.0, 24, 12), ("cuda", 64, 141.0, 24, 12), ("cuda", 8, 24.0, 8, 8), ("cuda", 4, 16.0, 5, 4)],
        *[("cuda", 2, 80.0, 4, 2), ("cuda", 1, 80.0, 0, 0), ("cuda", 16, 5.0, 0, 0), ("cuda", 16, None, 0, 0)],
        ("cpu", 16, 80.0, 0, 0),
    ],
)
def test_as_many_workers_wait_as_the_machine_has_room_for(
    device: str, cores: int, memory_gb: float | None, most: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "quota_cores", lambda: float(cores))
    monkeypatch.setattr(preparation, "quota_gb", lambda: 128.0)
    environment = msgspec.structs.replace(ENVIRONMENT, memory_gb=memory_gb)
    executor = executor_for(Machine(device=device, environment=environment), STUB)
    assert executor.command == STUB.command
    found = (executor.most, executor.at_once) if isinstance(executor, SideBySide) else (0, 0)
    assert found == (most, at_once), "none waits while a CPU is measured itself"
    monkeypatch.setattr(preparation, "quota_gb", lambda: 9.0)
    little = executor_for(Machine(device=device, environment=environment), STUB)
    assert not isinstance(little, SideBySide) or (little.most, little.at_once) == (2, 2)
    monkeypatch.setattr(preparation, "quota_gb", lambda: 128.0)
    monkeypatch.setattr(preparation, "quota_cores", lambda: 3.5)
    slow = executor_for(Machine(device=device, environment=environment), STUB)
    assert not isinstance(slow, SideBySide) or slow.at_once <= 3, "a container has a quota"
