"""Sweeps: pending steps depend on plan and records; real processes die, and no record is lost or duplicated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import THOROUGH
from hypothesis import HealthCheck, given, settings, strategies as st
from rich.console import Console
from stub_worker import ENVIRONMENT, measurement
from test_worker_process import is_alive, run_stub, wait_until

from bench.errors import AtlasError, Complaint
from bench.exchange.check import check
from bench.machine import ROOT
from bench.measuring.doctor import NO_COMPILER
from bench.measuring.variants import Variant
from bench.plans.duration import OVERRUN, DurationEstimates
from bench.plans.messages import CellOutcome, Job, Machine, Recipe, Request
from bench.plans.models import find
from bench.plans.plan import Plan, PlannedCell, Step, make_plan, pending
from bench.plans.profiles import PROFILES, Sampling
from bench.records.record import SCHEMA, Measurement, Peaks, Record, Status
from bench.records.run_file import read
from bench.running import resume, step, sweep
from bench.running.progress import Reporter
from bench.running.resume import find_run, owned
from bench.running.sweep import run
from bench.running.worker_process import Executor, WorkerExit

MACHINE = Machine(device="cpu", environment=ENVIRONMENT)


def plan(*models: str, processes: int = 1, max_s: float = 0.1) -> Plan:
    profile = msgspec.structs.replace(
        PROFILES["quick"], models=models, processes=processes, timeout_s=20.0, sampling=Sampling(max_s=max_s)
    )
    return make_plan(profile, [Recipe(model=name, task=find(name).task) for name in models], "cpu")


def record(
    planned: PlannedCell,
    process: int = 0,
    status: Status = Status.PASS,
    found: Measurement | None = None,
    run_name: str = "r",
    of_plan: Plan | None = None,
) -> Record:
    return Record(
        schema=SCHEMA,
        run=run_name,
        origin="measured",
        profile="quick",
        process=process,
        status=status,
        cell=planned.cell,
        environment=ENVIRONMENT,
        measured_at=datetime.now(UTC),
        reason=None if status is Status.PASS else "so it was",
        measurement=found or (measurement() if status is Status.PASS else None),
        plan=of_plan.digest if of_plan else None,
    )


def todo(steps: list[Step]) -> list[tuple[str, int, bool]]:
    return [(step.planned.cell.model, step.process, step.is_first) for step in steps]


def paced(seconds: dict[str, float]) -> DurationEstimates:
    """Return a pace with these durations of first processes; later processes take 10 s."""
    pace = DurationEstimates(PROFILES["quick"])
    for model, each in seconds.items():
        for planned in plan(model).planned:
            pace.learn(msgspec.structs.replace(record(planned), seconds=each), is_first=True)
            pace.learn(msgspec.structs.replace(record(planned), seconds=10.0), is_first=False)
    return pace


class Silent(Reporter):
    def __init__(self) -> None:
        super().__init__(Console(quiet=True))


class Scripted:
    """Takes the place of `run_worker`: each job ends in the next scripted way."""

    def __init__(self, *endings: WorkerExit) -> None:
        self.endings = list(endings)
        self.jobs: list[Job] = []

    def __call__(self, request: Request, **_: Any) -> WorkerExit:
        assert isinstance(request, Job)
        self.jobs.append(request)
        return self.endings.pop(0)


def passed() -> WorkerExit:
    """A process that has measured something."""
    return WorkerExit(1.0, CellOutcome(status=Status.PASS, measurement=measurement()))


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sweep, "CACHE", tmp_path / "cache")


def sweep_with(executor: Executor, made: Plan, out: Path, **options: Any) -> list[Record]:
    found = find_run(made, MACHINE, out, is_ordinary=True)
    return run(made, MACHINE, found, executor, Silent(), **options)


def test_every_outcome_is_recorded_and_the_sweep_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = tmp_path / "child"
    monkeypatch.setenv("STUB_CHILD", str(child))
    monkeypatch.setenv("STUB_PRINTS", "20")
    ends: dict[str, tuple[Status, str]] = {
        "Segformer": (Status.CRASH, "the process was ended by SIGSEGV"),
        "OwlViT": (Status.CRASH, "RuntimeError: nothing fits"),
        "ConvNeXT": (Status.OOM, "out of memory"),
        "Mask2former": (Status.CRASH, "the process was ended by SIGSEGV"),
        "MobileNet": (Status.PASS, ""),
        "Conditional-DETR": (Status.OOM, "MemoryError"),
        "Resnet-101": (Status.CRASH, "its answer cannot be read"),
        "ViT": (Status.PASS, ""),
    }
    records = sweep_with(run_stub, plan(*ends), tmp_path / "out")
    os.kill(int(child.read_text()), signal.SIGKILL)
    assert [(each.cell.model, each.status) for each in records] == [(name, end[0]) for name, end in ends.items()]
    for each in records:
        assert ends[each.cell.model][1] in (each.reason or "")
        assert "/home" not in (each.reason or "")
    assert records[2].measurement is not None  # only eager, which fitted into memory
    (path,) = (tmp_path / "out").glob("*.jsonl")
    assert list(read(path)) == records
    assert [str(finding) for finding in check([path])] == []


def test_the_first_process_compiles_cold_and_later_ones_warm(tmp_path: Path) -> None:
    executor = Scripted(*(passed() for _ in range(3)))
    sweep_with(executor, plan("ViT", processes=3), tmp_path)
    assert [job.start for job in executor.jobs] == ["cold", "warm", "warm"]


def test_starts_are_measured_model_by_model_and_a_package_is_built_once(tmp_path: Path) -> None:
    executor = Scripted(*(passed() for _ in range(26)))
    profile = msgspec.structs.replace(PROFILES["startup"], models=("ViT", "BeiT"), variants=("compile:default", "aoti"))
    recipes = [Recipe(model=name, task="image-classification") for name in profile.models]
    records = sweep_with(executor, make_plan(profile, recipes, "cpu"), tmp_path)
    assert [record.cell.model for record in records] == ["ViT"] * 11 + ["BeiT"] * 11
    of_vit = [(job.cell.variant, job.start, job.role) for job in executor.jobs if job.cell.model == "ViT"]
    assert [(start, role) for name, start, role in of_vit if name == "aoti"] == [
        ("loaded", "build"),
        *[("loaded", "both")] * 4,
    ]
    starts = [start for name, start, _ in of_vit if name == "compile:default"]
    assert starts == ["cold", *["warm"] * 3, *["artifacts"] * 3]
    assert {job.saves_artifacts for job in executor.jobs if job.cell.variant == "compile:default"} == {True}


def test_the_threads_of_a_cell_are_those_of_its_process_and_of_its_record(tmp_path: Path) -> None:
    seen = list[str | None]()

    def executor(job: Any, *, variables: Mapping[str, str], **_: Any) -> WorkerExit:
        seen.append(variables.get("OMP_NUM_THREADS"))
        return passed()

    recipes = [Recipe(model="ViT", task="image-classification")]
    found = []
    for threads in (None, 1):
        profile = msgspec.structs.replace(PROFILES["quick"], models=("ViT",))
        made = make_plan(profile, recipes, "cpu", threads)
        found += sweep_with(executor, made, tmp_path / str(threads))
    assert seen == [None, "1"]
    assert [record.environment.threads for record in found] == [MACHINE.environment.threads, 1]


def test_the_first_process_of_a_run_measures_the_peaks_and_later_ones_know_the_best(tmp_path: Path) -> None:
    def ended(rate: float) -> WorkerExit:
        peaks = Peaks(matmul_flop_s=rate, copy_bytes_s=1e10)
        found = msgspec.structs.replace(measurement(), peaks=peaks)
        return WorkerExit(1.0, CellOutcome(status=Status.PASS, measurement=found))

    executor = Scripted(*map(ended, (1e11, 2e11, 1.5e11)))
    sweep_with(executor, plan("ViT", "BeiT", "ResNet"), tmp_path)
    assert [job.peaks and job.peaks.matmul_flop_s for job in executor.jobs] == [None, 1e11, 2e11]


def test_a_variant_that_cannot_run_beside_eager_is_built_once_and_measured_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("only workers build and start variants")

    apart = Variant("compile:default", never, build=never, same_process=False)  # type: ignore[arg-type]
    monkeypatch.setattr(step, "VARIANTS", {apart.name: apart})
    log = tmp_path / "roles"
    monkeypatch.setenv("STUB_ROLES", str(log))
    records = sweep_with(run_stub, plan("ViT", processes=2), tmp_path / "out")
    assert log.read_text().split() == ["build", "eager", "variant", "eager", "variant"]
    for each in records:
        found = each.measurement
        assert each.status is Status.PASS
        assert found is not None
        assert found.compiled is not None
        assert not found.interleaved
        assert min(found.eager.rounds_ms) > max(found.compiled.rounds_ms), "each side from its own process"
        assert each.seconds == pytest.approx(sum(each.costs_s.values()), abs=0.2)
    assert "building the variant" in records[0].costs_s


def test_a_time_out_is_an_outcome_the_end_of_the_budget_is_none(tmp_path: Path) -> None:
    late = WorkerExit(seconds=20.0, timed_out=True)
    records = sweep_with(Scripted(late), plan("ViT"), tmp_path / "a")
    assert records[0].status is Status.TIMEOUT
    killed = WorkerExit(seconds=1.0, returncode=-signal.SIGKILL, out_of_memory=True)
    assert sweep_with(Scripted(killed), plan("ViT"), tmp_path / "c")[0].status is Status.OOM
    stopped, told, made = WorkerExit(seconds=15.0, timed_out=True), Told(), plan("ViT")
    found = find_run(made, MACHINE, tmp_path / "b", is_ordinary=True)
    deadline, pace = time.monotonic() + 10, paced({"ViT": 9.0})
    assert run(made, MACHINE, found, Scripted(stopped), told, pace=pace, deadline=deadline, grace_s=5.0) == []
    assert "ViT had not finished after 15 s" in told.complaints[0].what
    assert list((tmp_path / "b").glob("*")) == []  # no empty file stays behind


class Timed:
    """Takes the place of `run_worker`, with a clock of its own: a process takes the seconds that its cell is given."""

    def __init__(self, seconds: Callable[[Job], float]) -> None:
        self.now, self.seconds = 0.0, seconds
        self.answers = 0

    def __call__(self, request: Request, *, timeout_s: float, **_: Any) -> WorkerExit:
        assert isinstance(request, Job)
        seconds = self.seconds(request)
        self.now += min(seconds, timeout_s)
        if seconds > timeout_s:
            return WorkerExit(seconds=timeout_s, timed_out=True)
        self.answers += 1
        outcome = CellOutcome(status=Status.PASS, measurement=measurement(warm=request.start == "warm"))
        return WorkerExit(seconds=seconds, answer=outcome)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    true_s=st.lists(st.floats(1, 400), min_size=1, max_size=4),  # beyond the limit of 300 s, a cell never ends
    known_s=st.lists(st.floats(1, 300), max_size=4),
    budget_s=st.integers(1, 400),
)
def test_a_budget_is_kept_however_wrong_the_estimates_are(
    tmp_path_factory: pytest.TempPathFactory, true_s: list[float], known_s: list[float], budget_s: int
) -> None:
    names = PROFILES["standard"].models[: len(true_s)]
    made = plan(*names, max_s=12.0)
    made = msgspec.structs.replace(made, profile=msgspec.structs.replace(made.profile, timeout_s=300.0))
    executor = Timed(lambda job: dict(zip(names, true_s, strict=True))[job.cell.model])
    found = find_run(made, MACHINE, tmp_path_factory.mktemp("budget"), is_ordinary=True)
    records = run(
        made,
        MACHINE,
        found,
        executor,
        Silent(),
        pace=paced(dict(zip(names, known_s, strict=False))),
        deadline=float(budget_s),
        grace_s=OVERRUN * budget_s,
        clock=lambda: executor.now,
    )
    assert executor.now <= (1 + OVERRUN) * budget_s + 1e-6
    assert executor.answers == sum(each.measurement is not None for each in records), "nothing is measured twice"
    assert len({(each.cell, each.process) for each in records}) == len(records)


def test_what_is_too_long_for_the_budget_gives_way_and_is_done_later(tmp_path: Path) -> None:
    made = plan("DETR", "ViT")
    detr, vit = made.planned
    pace = paced({"DETR": 500.0, "ViT": 50.0})
    answered = WorkerExit(seconds=1.0, answer=CellOutcome(status=Status.PASS, measurement=measurement()))
    records = sweep_with(Scripted(answered), made, tmp_path, pace=pace, deadline=time.monotonic() + 100)
    assert [each.cell for each in records] == [vit.cell]
    records = sweep_with(Scripted(answered), made, tmp_path)
    assert [each.cell for each in records] == [vit.cell, detr.cell]


def test_failed_cells_are_retried_once_when_asked(tmp_path: Path) -> None:
    made = plan("ViT")
    failure = WorkerExit(seconds=1.0, answer=CellOutcome(status=Status.FAIL_TO_RUN, reason="no"))
    sweep_with(Scripted(failure), made, tmp_path)
    assert len(sweep_with(Scripted(), made, tmp_path)) == 1
    records = sweep_with(Scripted(failure), made, tmp_path, retry_failed=True)
    assert [each.process for each in records] == [0, 1]


def test_what_lacked_a_compiler_is_kept_and_measured_as_soon_as_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, missing = plan("ViT", "BeiT", processes=2), [NO_COMPILER]
    eager = [
        WorkerExit(
            1.0, CellOutcome(status=Status.SKIPPED, reason="no compiler", measurement=measurement(compiled=False))
        )
        for _ in range(2)
    ]
    monkeypatch.setattr(resume, "compiler", lambda: None)
    skipped = sweep_with(Scripted(*eager), made, tmp_path, examine=lambda: missing)
    assert [(each.status, each.flags) for each in skipped] == [(Status.SKIPPED, ())] * 2
    (path,) = tmp_path.glob("*.jsonl")
    assert list(check([path])) == []
    assert sweep_with(Scripted(), made, tmp_path) == skipped, "nothing has changed"
    monkeypatch.setattr(resume, "compiler", lambda: "/usr/bin/g++")
    answered = WorkerExit(1.0, CellOutcome(status=Status.PASS, measurement=measurement()))
    records = sweep_with(Scripted(*[answered] * 4), made, tmp_path)
    assert [each.status for each in records] == [Status.SKIPPED] * 2 + [Status.PASS] * 4
    assert pending(made, records) == []


def test_a_cell_that_was_skipped_as_a_whole_ends_the_run(tmp_path: Path) -> None:
    busy = WorkerExit(1.0, CellOutcome(status=Status.SKIPPED, reason="another process was computing"))
    with pytest.raises(AtlasError, match="another process was computing"):
        sweep_with(Scripted(busy), plan("ViT"), tmp_path)


def test_two_sweeps_cannot_write_to_one_file(tmp_path: Path) -> None:
    made = plan("ViT")
    found = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    with owned(found.path), pytest.raises(AtlasError, match="another process"):
        run(made, MACHINE, found, Scripted(), Silent())


def test_the_doctor_looks_now_and_then_is_told_once_and_kept_in_the_records(tmp_path: Path) -> None:
    made, told = plan("ViT", "BeiT", "ResNet"), Told()
    load, battery = (Complaint(name, "so it is", "mend it") for name in ("load", "battery"))
    looks, now = iter([[load, load, NO_COMPILER], [load, battery]]), iter([0.0, 0.0, 15.0, 25.0, 25.0])
    found = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    executor = Scripted(*(passed() for _ in range(3)))
    records = run(made, MACHINE, found, executor, told, clock=lambda: next(now), examine=lambda: next(looks))
    assert [each.flags for each in records] == [("doctor-load",), ("doctor-load",), ("doctor-load", "doctor-battery")]
    assert told.complaints == [load, NO_COMPILER, battery]
    assert list(check([found.path])) == []


class Told(Silent):
    def __init__(self) -> None:
        super().__init__()
        self.complaints: list[Complaint] = []

    def warn(self, complaint: Complaint) -> None:
        self.complaints.append(complaint)


PARENT = """
import sys
from pathlib import Path
from bench.commands import command_line
from functools import partial
from bench.running import sweep, worker_process
from bench.commands import doctor
worker_process.run_worker = partial(worker_process.run_worker, command=(sys.executable, sys.argv[1]))
doctor.complaints = lambda _: []
sweep.CACHE = Path(sys.argv[2]) / "cache"
models = ["ViT", "BeiT", "ResNet", "MobileNet"]
command_line.main(["run", "--model", *models, "--processes", "3", "--out", sys.argv[2] + "/out"])
"""
"""`python -m bench run` with the stub for a worker."""

KILLS = 20 if THOROUGH else 5


def start_parent(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PARENT, str(Path(__file__).resolve().parents[2] / "stub_worker.py"), str(folder)]
    environment, pipe = {**os.environ, "STUB_SECONDS": "0.02"}, subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def test_a_parent_killed_at_random_moments_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    """One in four is killed at any moment, the others while they measure and write."""
    before, moments = list[Record](), random.Random(4)
    for number in range(KILLS):
        with start_parent(tmp_path) as parent:
            assert parent.stdout is not None
            while number % 4 and (line := parent.stdout.readline()) and not line.startswith("["):
                pass  # not measuring yet
            time.sleep(moments.uniform(0, 0.3))
            parent.kill()
        for path in (tmp_path / "out").glob("*.jsonl"):
            records = list(read(path))  # the file parses after a kill at any moment
            assert records[: len(before)] == before
            before = records
    with start_parent(tmp_path) as parent:
        parent.communicate(timeout=60)
    assert parent.returncode == 0
    (path,) = (tmp_path / "out").glob("*.jsonl")
    models = ("ViT", "BeiT", "ResNet", "MobileNet")
    done = Counter((each.cell.model, each.process) for each in read(path))
    assert done == {(model, process): 1 for model in models for process in range(3)}
    assert list(check([path])) == []


KILLER = """
import os, pathlib, sys, time
child, parent, number = sys.argv[1:]
while not pathlib.Path(child).exists() or not pathlib.Path(child).read_text():
    time.sleep(0.05)
os.kill(int(parent), int(number))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_the_worker_and_keeps_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    child = tmp_path / "child"
    made = plan("ViT", "DETR")
    monkeypatch.setenv("STUB_CHILD", str(child))
    killer = [sys.executable, "-c", KILLER, str(child), str(os.getpid()), str(int(number))]
    with subprocess.Popen(killer), pytest.raises(KeyboardInterrupt):
        sweep_with(run_stub, made, tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    assert [each.cell.model for each in read(path)] == ["ViT"]
    wait_until(lambda: not is_alive(int(child.read_text())))
