"""Sweeps: pending steps depend on plan and records; real processes die, and no record is lost or duplicated."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from conftest import THOROUGH
from hypothesis import HealthCheck, given, settings, strategies as st
from stub_worker import ENVIRONMENT, measurement
from test_executors import STUB, is_alive, wait_until

from bench.commands.selection import seconds_of
from bench.errors import AtlasError, Complaint
from bench.exchange.check import check
from bench.measuring.doctor import NO_COMPILER
from bench.plans.duration import OVERRUN, DurationEstimates, time_budget
from bench.plans.messages import CellOutcome, Job, Machine, Phase, Recipe, Request
from bench.plans.models import find
from bench.plans.plan import Plan, PlannedCell, Step, make_plan, pending, quickest_s
from bench.plans.profiles import PROFILES, Sampling
from bench.records import plausibility
from bench.records.record import SCHEMA, Measurement, Peaks, Record, Samples, Status, Work
from bench.records.run_file import append, read
from bench.running import resume, sweep
from bench.running.executors import ROOT, Executor, WorkerExit
from bench.running.resume import RunFile, earlier, find_run, owned
from bench.running.sweep import flags, run

MACHINE = Machine(device="cpu", environment=ENVIRONMENT)


def plan(*models: str, processes: int = 1, max_s: float = 0.1) -> Plan:
    profile = msgspec.structs.replace(
        PROFILES["quick"],
        models=models,
        processes=processes,
        timeout_s=20.0,
        sampling=Sampling(max_s=max_s),
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


class Silent:
    on_second: Callable[[], None] | None = None

    def warn(self, complaint: Complaint) -> None:
        pass

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        pass

    def phase(self, phase: Phase) -> None:
        pass

    def end(self, record: Record, seconds: float) -> None:
        pass


class Scripted:
    """An executor without processes: each job ends in the next scripted way."""

    def __init__(self, *endings: WorkerExit) -> None:
        self.endings = list(endings)
        self.jobs: list[Job] = []

    def run(self, request: Request, **_: Any) -> WorkerExit:
        assert isinstance(request, Job)
        self.jobs.append(request)
        return self.endings.pop(0)


def passed() -> WorkerExit:
    """A process that has measured something."""
    return WorkerExit(1.0, CellOutcome(status=Status.PASS, measurement=measurement()))


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sweep, "CACHE", tmp_path / "cache")


# ── Running ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    records = sweep_with(STUB, plan(*ends), tmp_path / "out")
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
    answered = WorkerExit(seconds=1.0, answer=CellOutcome(status=Status.PASS, measurement=measurement()))
    executor = Scripted(*[answered] * 3)
    sweep_with(executor, plan("ViT", processes=3), tmp_path)
    assert [job.warm for job in executor.jobs] == [False, True, True]


def test_two_processes_of_a_run_measure_the_peaks_and_the_others_know_them(tmp_path: Path) -> None:
    def ended(rate: float) -> WorkerExit:
        peaks = Peaks(matmul_flop_s=rate, copy_bytes_s=1e10)
        found = msgspec.structs.replace(measurement(), peaks=peaks)
        return WorkerExit(1.0, CellOutcome(status=Status.PASS, measurement=found), {"starting": 0.5, "peaks": 0.5})

    executor = Scripted(*map(ended, (1e11, 2e11, 1.5e11)))
    sweep_with(executor, plan("ViT", "BeiT", "ResNet"), tmp_path)
    assert [job.peaks and job.peaks.matmul_flop_s for job in executor.jobs] == [None, None, 2e11]


# ── Outcomes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_worker_that_hangs_is_a_time_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_CHILD", str(tmp_path / "child"))
    made = plan("DETR", "ViT")
    made = msgspec.structs.replace(made, profile=msgspec.structs.replace(made.profile, timeout_s=4.0))
    records = sweep_with(STUB, made, tmp_path / "out")
    assert [each.status for each in records] == [Status.TIMEOUT, Status.PASS]
    assert records[0].reason == "no answer within 4 s"


def test_a_time_out_is_an_outcome_the_end_of_the_budget_is_none(tmp_path: Path) -> None:
    late = WorkerExit(seconds=20.0, timed_out=True)
    records = sweep_with(Scripted(late), plan("ViT"), tmp_path / "a")
    assert records[0].status is Status.TIMEOUT
    stopped, told = WorkerExit(seconds=15.0, timed_out=True), Told()
    made, pace = plan("ViT"), DurationEstimates(plan().profile)
    pace.learn(msgspec.structs.replace(record(made.planned[0]), seconds=9.0), is_first=True)
    found = find_run(made, MACHINE, tmp_path / "b", is_ordinary=True)
    deadline = time.monotonic() + 10
    assert run(made, MACHINE, found, Scripted(stopped), told, pace=pace, deadline=deadline, grace_s=5.0) == []
    assert "ViT had not finished after 15 s" in told.complaints[0].what
    assert pace.of(made.planned[0].cell, is_first=True) == 20.0, "twice as long, but never longer than its time limit"
    (kept,) = earlier(MACHINE, [sweep.stopped_runs()])
    assert (kept.status, kept.seconds) == (Status.TIMEOUT, 15.0)
    assert list((tmp_path / "b").glob("*")) == []  # no empty file stays behind


class Timed:
    """An executor with a clock of its own: each process takes the seconds that its cell is given."""

    def __init__(self, seconds: Callable[[Job], float]) -> None:
        self.now, self.seconds = 0.0, seconds
        self.answers = 0

    def run(self, request: Request, *, timeout_s: float, **_: Any) -> WorkerExit:
        assert isinstance(request, Job)
        seconds = self.seconds(request)
        self.now += min(seconds, timeout_s)
        if seconds > timeout_s:
            return WorkerExit(seconds=timeout_s, timed_out=True)
        self.answers += 1
        outcome = CellOutcome(status=Status.PASS, measurement=measurement(warm=request.warm))
        return WorkerExit(seconds=seconds, answer=outcome)


TRUE_S = st.floats(1, 400)
"""The limit is 300 s: some cells never end."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    true_s=st.lists(st.tuples(TRUE_S, TRUE_S), min_size=1, max_size=4),
    known_s=st.lists(st.floats(1, 300), max_size=4),
    preparation_s=st.lists(st.floats(5, 10), min_size=12, max_size=12),
    jitter=st.randoms(use_true_random=False),
    processes=st.integers(1, 3),
    first_budget_s=st.integers(1, 400),
)
def test_a_budget_is_kept_however_wrong_the_estimates_are(
    tmp_path_factory: pytest.TempPathFactory,
    true_s: list[tuple[float, float]],
    known_s: list[float],
    preparation_s: list[float],
    jitter: random.Random,
    processes: int,
    first_budget_s: int,
) -> None:
    folder = tmp_path_factory.mktemp("budget")
    names = PROFILES["standard"].models[: len(true_s)]
    seconds_of_model = dict(zip(names, true_s, strict=True))
    made = plan(*names, processes=processes, max_s=12.0)
    made = msgspec.structs.replace(made, profile=msgspec.structs.replace(made.profile, timeout_s=300.0))
    known = [
        msgspec.structs.replace(record(planned), seconds=seconds)
        for planned, seconds in zip(made.planned, known_s, strict=False)
    ]
    executor = Timed(lambda job: min(seconds_of_model[job.cell.model][job.warm] * jitter.uniform(1.0, 1.4), 400.0))
    budget_s = float(first_budget_s)
    for each_s in preparation_s:
        start = executor.now
        executor.now += each_s
        found = find_run(made, MACHINE, folder / "out", is_ordinary=True)
        stopped = earlier(MACHINE, [folder / "cache" / "stopped"])
        pace = DurationEstimates.from_records(made.profile, [*known, *stopped, *found.records])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sweep, "CACHE", folder / "cache")
            records = run(
                made,
                MACHINE,
                found,
                executor,
                Silent(),
                pace=pace,
                deadline=start + budget_s,
                grace_s=OVERRUN * budget_s,
                clock=lambda: executor.now,
            )
        assert executor.now - start <= max(each_s, (1 + OVERRUN) * budget_s) + 1e-6
        assert executor.answers == sum(each.measurement is not None for each in records), "nothing is measured twice"
        assert len({(each.cell, each.process) for each in records}) == len(records)
        if not (left := pending(made, records)):
            break
        budget_s = seconds_of(time_budget(quickest_s(left, pace), each_s))


def test_a_record_in_tf32_has_the_settings_of_its_worker(tmp_path: Path) -> None:
    profile = msgspec.structs.replace(PROFILES["quick"], models=("ViT",), dtypes=("float32", "TF32"))
    made = make_plan(profile, [Recipe(model="ViT", task=find("ViT").task)], "cuda")
    machine = msgspec.structs.replace(MACHINE, device="cuda")
    found = find_run(made, machine, tmp_path, is_ordinary=True)
    records = run(made, machine, found, STUB, Silent())
    allowed = {each.cell.precision: each.environment.settings["cuda_matmul_allow_tf32"] for each in records}
    assert allowed == {"float32": "False", "TF32": "True"}


def test_every_record_says_what_its_process_took(tmp_path: Path) -> None:
    costs_s = {"starting": 6.004, "compiling": 35.256}
    outcome = CellOutcome(status=Status.PASS, measurement=measurement())
    (kept,) = sweep_with(Scripted(WorkerExit(41.26, outcome, costs_s)), plan("ViT"), tmp_path)
    assert (kept.seconds, kept.costs_s) == (41.3, {"starting": 6.0, "compiling": 35.26})


def test_what_is_too_long_for_the_budget_gives_way_and_is_done_later(tmp_path: Path) -> None:
    made = plan("DETR", "ViT")
    detr, vit = made.planned
    pace = paced({"DETR": 500.0, "ViT": 50.0})
    answered = WorkerExit(seconds=1.0, answer=CellOutcome(status=Status.PASS, measurement=measurement()))
    records = sweep_with(Scripted(answered), made, tmp_path, pace=pace, deadline=time.monotonic() + 100)
    assert [each.cell for each in records] == [vit.cell]
    records = sweep_with(Scripted(answered), made, tmp_path)
    assert [each.cell for each in records] == [vit.cell, detr.cell]


def test_no_step_begins_that_the_budget_cannot_hold(tmp_path: Path) -> None:
    executor = Scripted()
    assert sweep_with(executor, plan("ViT"), tmp_path, deadline=time.monotonic() + 1) == []
    assert executor.jobs == []


def test_the_kernel_running_out_of_memory_is_told_from_a_crash(tmp_path: Path) -> None:
    killed = WorkerExit(seconds=1.0, returncode=-signal.SIGKILL, out_of_memory=True)
    assert sweep_with(Scripted(killed), plan("ViT"), tmp_path)[0].status is Status.OOM


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


def test_what_another_run_has_added_since_is_not_measured_again(tmp_path: Path) -> None:
    """The other run ended after this one had read the file, and before it locked it."""
    made = plan("ViT", "BeiT")
    found = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    sweep_with(Scripted(passed(), passed()), made, tmp_path)
    records = run(made, MACHINE, found, Scripted(), Silent())
    assert [each.cell.model for each in records] == ["ViT", "BeiT"]
    assert list(check([found.path])) == []


def test_runs_of_one_name_in_two_folders_share_no_compile_cache(tmp_path: Path) -> None:
    one, other = (sweep._cache(RunFile(tmp_path / name / "run.jsonl")) for name in "ab")
    assert one != other
    assert one == sweep._cache(RunFile(tmp_path / "a" / "run.jsonl"))


def test_a_compile_cache_is_trusted_until_the_machine_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = WorkerExit(seconds=1.0, answer=CellOutcome(status=Status.PASS, measurement=measurement()))
    made, executor = plan("ViT", processes=4), Scripted(*[answered] * 4)
    monkeypatch.setattr(sweep, "boot", lambda: "first" if len(executor.jobs) < 2 else "second")
    sweep_with(executor, made, tmp_path)
    assert [job.warm for job in executor.jobs] == [False, True, False, True]


class Compiling:
    """An executor whose jobs take 16 s with an empty compile cache, 4 s with a filled one, unless they are stopped."""

    def __init__(self) -> None:
        self.stops = False
        self.warm: list[bool] = []

    def run(self, request: Request, **_: Any) -> WorkerExit:
        assert isinstance(request, Job)
        if self.stops:
            raise KeyboardInterrupt
        self.warm.append(request.warm)
        outcome = CellOutcome(status=Status.PASS, measurement=measurement(warm=request.warm))
        return WorkerExit(seconds=4.0 if request.warm else 16.0, answer=outcome)


def test_a_run_that_goes_on_elsewhere_expects_to_compile_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, executor, machine = plan("ViT", processes=5), Compiling(), "first"
    pace, stop_at = DurationEstimates(made.profile), 2
    monkeypatch.setattr(sweep, "boot", lambda: machine)
    expected: list[float] = []

    class Expecting(Silent):
        def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
            expected.append(pace.of(step.planned.cell, step.is_first))
            executor.stops = done == stop_at

    def go_on() -> list[Record]:
        nonlocal pace
        found = find_run(made, MACHINE, tmp_path, is_ordinary=True)
        pace = DurationEstimates.from_records(made.profile, found.records)
        with suppress(KeyboardInterrupt):
            run(made, MACHINE, found, executor, Expecting(), pace=pace)
        return list(find_run(made, MACHINE, tmp_path, is_ordinary=True, reopen=True).records)

    assert len(go_on()) == 2
    machine = "second"
    assert len(go_on()) == 2, "stopped while it compiled: what it left is no compile cache"
    stop_at = -1
    records = go_on()
    assert executor.warm == [False, True, False, True, True]
    assert [record.seconds for record in records] == [16.0, 4.0, 16.0, 4.0, 4.0]
    assert expected[2:] == [4.0, 16.0, 16.0, 4.0, 4.0], "of the processes that were stopped, too"
    found = [record.measurement and record.measurement.compilation for record in records]
    assert [bool(each and "cold" in each.ready_s) for each in found] == [not warm for warm in executor.warm]


class Told(Silent):
    def __init__(self) -> None:
        self.complaints: list[Complaint] = []

    def warn(self, complaint: Complaint) -> None:
        self.complaints.append(complaint)


def test_a_clock_that_goes_back_is_told_and_flagged_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, told = plan("ViT", "BeiT", "ResNet"), Told()
    times = iter(datetime(*day, tzinfo=UTC) for day in ((2026, 3, 2), (2026, 3, 1), (2026, 3, 3)))
    monkeypatch.setattr(sweep, "datetime", SimpleNamespace(now=lambda _: next(times)))
    found = find_run(made, MACHINE, tmp_path, is_ordinary=True, today="2026-03-02")
    records = run(made, MACHINE, found, Scripted(*(passed() for _ in range(3))), told)
    assert [each.flags for each in records] == [(), ("doctor-clock",), ()]
    assert [each.check for each in told.complaints] == ["clock"]
    assert "2026-03-01 00:00" in told.complaints[0].what
    assert list(read(found.path)) == records
    earlier = find_run(made, MACHINE, tmp_path, is_ordinary=True, today="1970-01-01")
    assert earlier.path.name.startswith("1970-01-01"), "measured again, in a file of its own"
    assert list(read(found.path)) == records


def test_a_reason_in_colours_and_lines_can_be_read_again(tmp_path: Path) -> None:
    failed = CellOutcome(status=Status.FAIL_TO_RUN, reason="\x1b[31mtoo\nlarge\x00\u202e\x1b[0m" + "!" * 5000)
    (record_,) = sweep_with(Scripted(WorkerExit(seconds=1.0, answer=failed)), plan("ViT"), tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    assert list(read(path)) == [record_]
    assert "too large" in (record_.reason or "")


def test_a_record_that_cannot_be_is_marked_by_the_run_and_accepted_by_the_check(tmp_path: Path) -> None:
    fast = Samples(rounds_ms=((1.0,),) * 9)
    peaks = Peaks(matmul_flop_s=1e11, copy_bytes_s=1e10)
    impossible = Measurement(eager=fast, compiled=fast, work=Work(flop=1e12), peaks=peaks)
    answer = CellOutcome(status=Status.PASS, measurement=impossible)
    (record,) = sweep_with(Scripted(WorkerExit(1.0, answer)), plan("ViT"), tmp_path)
    assert record.status is Status.UNSTABLE
    assert (record.reason or "").startswith("implausible: 1 ms implies")
    assert not [problem for problem in check([tmp_path]) if problem.field.startswith("measurement")]
    claimed = msgspec.structs.replace(record, status=Status.PASS, reason=None)
    assert list(plausibility.faults(claimed)), "without the mark it would be refused"


def test_processes_that_follow_soon_share_what_the_doctor_said(tmp_path: Path) -> None:
    made, looks, now = plan("ViT", "BeiT", "ResNet"), list[float](), iter([0.0, 0.0, 15.0, 25.0, 25.0])

    def examine() -> list[Complaint]:
        looks.append(1)
        return [Complaint("load", "so it is", "mend it")]

    found = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    executor = Scripted(*(passed() for _ in range(3)))
    records = run(made, MACHINE, found, executor, Silent(), clock=lambda: next(now), examine=examine)
    assert [each.flags for each in records] == [("doctor-load",)] * 3
    assert len(looks) == 2


def test_what_the_doctor_says_is_told_once_and_kept_in_the_records(tmp_path: Path) -> None:
    made, told = plan("ViT", "BeiT", "ResNet"), Told()
    load, battery = (Complaint(check, "so it is", "mend it") for check in ("load", "battery"))
    looks, now = iter([[load], [load, battery], []]), iter(range(0, 1000, int(sweep.LOOK_EVERY_S)))
    found = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    executor = Scripted(*(passed() for _ in range(3)))
    records = run(made, MACHINE, found, executor, told, clock=lambda: next(now), examine=lambda: next(looks))
    assert [each.flags for each in records] == [("doctor-load",), ("doctor-load", "doctor-battery"), ()]
    assert flags([load, load, NO_COMPILER]) == ("doctor-load",), "once, and not for what distorts nothing"
    assert told.complaints == [load, battery]
    assert list(check([found.path])) == []


def test_a_file_in_place_of_the_folder_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AtlasError, match="is a file, but a folder is needed here"):
        sweep_with(Scripted(), plan("ViT"), tmp_path / "file" / "out")


# ── Killed ──────────────────────────────────────────────────────────────────────────────────────────────────────────

PARENT = """
import sys
from pathlib import Path
from bench.commands import command_line
from bench.running import executors, sweep
from bench.commands import doctor
stub = executors.LocalProcesses((sys.executable, sys.argv[1]))
executors.LocalProcesses = lambda: stub
doctor.complaints = list
sweep.CACHE = Path(sys.argv[2]) / "cache"
models = ["ViT", "BeiT", "ResNet", "MobileNet"]
command_line.main(["run", "--model", *models, "--processes", "3", "--out", sys.argv[2] + "/out"])
"""
"""`python -m bench run` with the stub for a worker."""

KILLS = 20 if THOROUGH else 5


def start_parent(folder: Path, seconds: float = 0.02) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PARENT, str(Path(__file__).resolve().parents[2] / "stub_worker.py"), str(folder)]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "STUB_SECONDS": str(seconds)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_same_command_beside_itself_is_refused_and_disturbs_nothing(tmp_path: Path) -> None:
    with start_parent(tmp_path, seconds=600.0) as first:
        wait_until(lambda: list((tmp_path / "out").glob("*.jsonl")), seconds=60.0)
        with start_parent(tmp_path) as second:
            said, _ = second.communicate(timeout=60)
        assert second.returncode == 2
        assert "another process" in said
        assert "remedy: " in said
        assert first.poll() is None
        first.kill()


def kill_again_and_again(folder: Path, moments: random.Random) -> None:
    """Kill half of the `KILLS` runs: one in four at any moment, the others while they measure and write."""
    before: list[Record] = []
    for number in range(KILLS // 2):
        with start_parent(folder) as parent:
            assert parent.stdout is not None
            while number % 4 and (line := parent.stdout.readline()) and not line.startswith("["):
                pass  # not measuring yet
            time.sleep(moments.uniform(0, 0.3))
            parent.kill()
        for path in (folder / "out").glob("*.jsonl"):
            records = list(read(path))  # the file parses after a kill at any moment
            assert records[: len(before)] == before
            before = records
    with start_parent(folder) as parent:
        parent.communicate(timeout=60)
    assert parent.returncode == 0


def test_a_parent_killed_at_random_moments_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    with ThreadPoolExecutor() as pool:
        list(pool.map(kill_again_and_again, folders, [random.Random(4), random.Random(5)]))
    for folder in folders:
        (path,) = (folder / "out").glob("*.jsonl")
        done = Counter((each.cell.model, each.process) for each in read(path))
        models = ("ViT", "BeiT", "ResNet", "MobileNet")
        assert done == {(model, process): 1 for model in models for process in range(3)}
        assert list(check([path])) == []


@pytest.mark.parametrize(("model", "name"), [("Segformer", "SIGSEGV"), ("Maskformer", "SIGKILL")])
def test_a_killed_worker_is_one_lost_cell_and_no_lost_sweep(tmp_path: Path, model: str, name: str) -> None:
    made = plan("ViT", model, "BeiT", processes=2)
    records = sweep_with(STUB, made, tmp_path)
    assert [(each.cell.model, each.process, each.status) for each in records] == [
        ("ViT", 0, Status.PASS),
        (model, 0, Status.CRASH),
        ("BeiT", 0, Status.PASS),
        ("ViT", 1, Status.PASS),
        ("BeiT", 1, Status.PASS),
    ]
    assert records[1].reason == f"the process was ended by {name}"
    (path,) = tmp_path.glob("*.jsonl")
    assert list(read(path)) == records
    assert sweep_with(STUB, made, tmp_path) == records  # nothing is left to do


def test_a_torn_last_line_is_measured_again(tmp_path: Path) -> None:
    made = plan("ViT", "BeiT")
    found = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    append(found.path, [record(made.planned[0], run_name=found.name, of_plan=made)])
    with found.path.open("ab") as file:
        file.write(json.dumps({"schema": 1, "run": "cut off he"}).encode()[:-4])
    records = sweep_with(STUB, made, tmp_path)
    assert [each.cell.model for each in records] == ["ViT", "BeiT"]
    assert list(read(found.path)) == records


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
        sweep_with(STUB, made, tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    assert [each.cell.model for each in read(path)] == ["ViT"]
    wait_until(lambda: not is_alive(int(child.read_text())))


def test_a_full_disk_is_told_before_a_cell_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    executor = Scripted()
    with pytest.raises(AtlasError, match="the disk is full") as error:
        sweep_with(executor, plan("ViT"), tmp_path)
    assert not executor.jobs
    assert error.value.where == str(tmp_path)
    assert "free up disk space" in error.value.remedy
