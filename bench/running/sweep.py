"""Measure many cells one after the other: run what is missing, and append each record as its process ends.

Takes a plan and a run file; returns all records of the run. What is still to do depends only on the plan and the
records (`bench.plans.plan.pending`), so a run that was interrupted, killed or out of time goes on where its file ends.
The processes of a cell are spread over the sweep, so that their scatter includes how the machine drifts in that time.

    python -m bench run --profile standard
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

from bench.errors import AtlasError, Complaint, unwritable
from bench.machine import boot
from bench.plans.duration import DurationEstimates
from bench.plans.messages import PEAKS, CellOutcome, Job, Machine, Phase, Refusal, is_out_of_memory
from bench.plans.plan import Plan, Step, duration_s, fitting, pending
from bench.plans.profiles import Profile
from bench.records import document, plausibility
from bench.records.record import COMPARABLE, DOCTOR, RESULTS, SCHEMA, Cell, Environment, Peaks, Record, Status
from bench.records.run_file import read
from bench.records.scrub import one_line
from bench.running.executors import Executor, WorkerExit, caches_below
from bench.running.preflight import variables_of
from bench.running.resume import RunFile, environment_of, owned, write
from bench.statistics.cells import best_peaks

CACHE = RESULTS.parents[1] / ".cache" / "bench"
"""Compile caches of unfinished runs: one folder per run with one per cell, removed when the run is complete."""

LOOK_EVERY_S = 20.0
"""How long a look at the machine holds for the processes that follow. While they measure, they watch it themselves."""

PEAK_PROCESSES = 2
"""Processes of a run that measure the peaks of the device, which is the same for all: one may have been disturbed."""


class Reporter(Protocol):
    """Shows the progress of a sweep."""

    on_second: Callable[[], None] | None

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        """A process starts; `left` and `left_s` include it."""

    def warn(self, complaint: Complaint) -> None:
        """Something would spoil the next measurement."""

    def phase(self, phase: Phase) -> None:
        """The process has entered this phase."""

    def end(self, record: Record, seconds: float) -> None:
        """The process has ended, and its record is on disk."""


def run(
    plan: Plan,
    machine: Machine,
    run_file: RunFile,
    executor: Executor,
    reporter: Reporter,
    *,
    pace: DurationEstimates | None = None,
    deadline: float | None = None,
    grace_s: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    retry_failed: bool = False,
    examine: Callable[[], Sequence[Complaint]] = tuple,
) -> list[Record]:
    """Measure what is pending and return all records of the run.

    `pace`: durations known from earlier runs. `deadline`: a time of the clock; no step begins that is expected to end
    later. One that lasts longer is stopped `grace_s` after the deadline; `stopped_runs` keeps its duration for the next
    run. `examine` is called before a process, but not within `LOOK_EVERY_S` of the last time; each of its complaints is
    shown once and flagged in the records. Raises `KeyboardInterrupt` on SIGINT and SIGTERM, with all finished records
    on disk.
    """
    pace, timeout_s = pace or DurationEstimates(plan.profile), plan.profile.timeout_s

    def left_s() -> float:
        return math.inf if deadline is None else deadline - clock()

    complaints, looked = list[Complaint](), -math.inf
    forgotten = run_file.forgotten(retry_failed=retry_failed)
    with writing(plan, run_file, reporter) as writer:
        while steps := remaining(plan, run_file, writer.records, forgotten):
            in_time = fitting(steps, pace, left_s())
            if not in_time:
                break
            step = in_time[0]
            document.check_writable(run_file.path.parent)  # before hours of measuring, not after
            if clock() - looked >= LOOK_EVERY_S:
                complaints, looked = list(examine()), clock()
            writer.warn(complaints)
            reporter.begin(step, len(writer.records), len(in_time), duration_s(in_time, pace))
            limit_s = min(timeout_s, left_s() + grace_s)
            ended = measure(
                step,
                plan.profile,
                _cache(run_file),
                executor,
                timeout_s=limit_s,
                on_phase=reporter.phase,
                on_second=reporter.on_second,
                peaks=known_peaks(writer.records, step.planned.cell),
            )
            if ended.timed_out and limit_s < timeout_s:  # the time budget ended, not the cell
                record = record_of(step, writer.digest, plan.profile.name, machine.environment, run_file.name, ended)
                pace.learn(record, step.is_first)
                _note_stopped(record, reporter)
                break
            if reason := skipped(ended):  # the device is busy, and the next process would be skipped as well
                remedy = (
                    "wait until that has finished, then run the same command to continue; to measure at the same time, "
                    "add --allow-busy"
                )
                raise AtlasError(reason, where=machine.environment.device_name, remedy=remedy)
            record = writer.append(step, ended, machine.environment, complaints)
            pace.learn(record, step.is_first)
        else:
            shutil.rmtree(_cache(run_file), ignore_errors=True)
    return writer.records


@contextmanager
def writing(plan: Plan, run_file: RunFile, reporter: Reporter) -> Iterator[RunWriter]:
    """Lock the run file, and make SIGINT and SIGTERM raise `KeyboardInterrupt`, but not while a record is written."""
    with owned(run_file.path), interruptible() as held:
        records = list(read(run_file.path))  # another run may have added to the file since it was chosen
        yield RunWriter(plan, run_file, reporter, held, records)


@dataclass
class RunWriter:
    """Appends the record of each process to the run file, and reports it. `records` are all of the run."""

    plan: Plan
    run_file: RunFile
    reporter: Reporter
    held: Callable[[], AbstractContextManager[None]]
    records: list[Record]
    _shown: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.digest = self.plan.digest  # takes a while

    def append(
        self, step: Step, ended: WorkerExit, environment: Environment, complaints: Sequence[Complaint]
    ) -> Record:
        """Keep the record of a process, flagged with the complaints. Raises `AtlasError` if it cannot be written."""
        record = record_of(step, self.digest, self.plan.profile.name, environment, self.run_file.name, ended)
        complaints = [*complaints, *_clock(record, self.records)]
        record = msgspec.structs.replace(marked_implausible(record), flags=flags(complaints))
        with self.held():
            write(self.run_file.path, record)
        self.records.append(record)
        self.reporter.end(record, ended.seconds)
        self.warn(complaints)
        return record

    def warn(self, complaints: Iterable[Complaint]) -> None:
        """Show the first complaint of each check."""
        for complaint in complaints:
            if complaint.check not in self._shown:
                self.reporter.warn(complaint)
            self._shown.add(complaint.check)


def remaining(plan: Plan, run_file: RunFile, records: Sequence[Record], forgotten: Sequence[Record] = ()) -> list[Step]:
    """Return the `pending` steps. Without its compile cache, as on another machine, a cell compiles as at first."""
    caches, begun, steps = _cache(run_file), set[Cell](), []
    for step in pending(plan, records, forgotten=forgotten):
        cell = step.planned.cell
        compiles = step.is_first or (cell not in begun and not _is_filled(_cache_of(cell, caches)))
        begun.add(cell)
        steps.append(dataclasses.replace(step, is_first=compiles))
    return steps


def stopped_runs() -> Path:
    """Return the folder of what time budgets stopped, as run files for estimates. They are no records of the atlas."""
    return CACHE / "stopped"


def _note_stopped(record: Record, reporter: Reporter) -> None:
    """Tell that a process was stopped, and keep for how long it ran: no record, but the next run plans with it."""
    with suppress(AtlasError):  # a hint is no reason to fail
        write(stopped_runs() / f"{record.run}.jsonl", record)
    what = (
        f"{record.cell.model} had not finished after {record.seconds:.0f} s, when the time was up; "
        "its results are discarded"
    )
    reporter.warn(Complaint("time-budget", what, "the next run expects it to take longer"))


def marked_implausible(record: Record) -> Record:
    """Return the record as unstable if no device could have measured it: it stays, and nothing follows from it."""
    fault = next(plausibility.faults(record), None)
    if fault is None or record.status not in COMPARABLE:
        return record
    reasons = (f"{plausibility.MARK}{fault[1]}", record.reason)
    return msgspec.structs.replace(record, status=Status.UNSTABLE, reason="; ".join(filter(None, reasons)))


def skipped(ended: WorkerExit) -> str | None:
    """Return why all of the cell was skipped: something else computes on the device. None if it was measured."""
    answer = ended.answer
    if isinstance(answer, CellOutcome) and answer.status is Status.SKIPPED and answer.measurement is None:
        return answer.reason or "the case was skipped"
    return None


def _clock(record: Record, earlier: Sequence[Record]) -> Iterator[Complaint]:
    """Complain if the clock went back since an earlier record of the run.

    Pages take the newest record as the last one; within a run, the order of the lines is the order of time.
    """
    last = max((each.measured_at for each in earlier if each.measured_at), default=None)
    if last and record.measured_at and record.measured_at < last:
        yield Complaint(
            "clock",
            f"the clock went back: it says {record.measured_at:%Y-%m-%d %H:%M}, and it was {last:%Y-%m-%d %H:%M}",
            "synchronise the clock with the network: sudo timedatectl set-ntp true",
        )


def _cache(run_file: RunFile) -> Path:
    """Return the run's folder of compile caches. Runs of the same name in other folders have their own."""
    place = hashlib.sha256(str(run_file.path.resolve()).encode()).hexdigest()[:6]
    return CACHE / f"{run_file.name}_{place}"


def _cache_of(cell: Cell, caches: Path) -> Path:
    """Return the folder of the compile cache of a cell, which is another after each boot: a power cut may damage it."""
    return caches / hashlib.sha256(msgspec.json.encode((cell, boot()))).hexdigest()[:12]


def _is_filled(cache: Path) -> bool:
    """Return whether a process has compiled with this cache and has not been stopped meanwhile."""
    return (cache / "filled").exists()


def flags(complaints: Iterable[Complaint]) -> tuple[str, ...]:
    """Return the flags of a record that was measured despite these complaints.

    What is missing disturbs nothing; what it prevents has that reason.
    """
    checks = dict.fromkeys(each.check for each in complaints if each.distorts)  # once, if several GPUs have it
    return tuple(f"{DOCTOR}{check}" for check in checks)


def known_peaks(records: Iterable[Record], cell: Cell) -> Peaks | None:
    """Return the best rates that the first processes of a run have measured, or None if there are too few of them."""
    measured = [
        record.measurement
        for record in records
        if record.measurement and PEAKS in record.costs_s and _on_device(record.cell) == _on_device(cell)
    ]
    return best_peaks(measured) if len(measured) >= PEAK_PROCESSES else None


def _on_device(cell: Cell) -> tuple[str, str]:
    """Return what the peaks of a device depend on."""
    return cell.device, cell.precision


def measure(
    step: Step,
    profile: Profile,
    caches: Path,
    executor: Executor,
    *,
    timeout_s: float,
    on_phase: Callable[[Phase], None],
    on_second: Callable[[], None] | None = None,
    peaks: Peaks | None = None,
) -> WorkerExit:
    """Run one process. The compile cache of its cell is below `caches`, which belongs to the run and this machine."""
    cache = _cache_of(step.planned.cell, caches)
    warm = not step.is_first and _is_filled(cache)
    if not warm:
        shutil.rmtree(cache, ignore_errors=True)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "free up disk space there, then run the same command to continue"
        raise unwritable(cache, error, remedy) from None
    job = Job(
        cell=step.planned.cell,
        recipe=step.planned.recipe,
        sampling=profile.sampling,
        warm=warm,
        peaks=peaks,
        allow_busy=profile.allow_busy,
    )
    ended = executor.run(
        job,
        variables=variables_of([job.recipe], keep_memory=profile.keep_memory) | caches_below(cache),
        timeout_s=timeout_s,
        on_phase=on_phase,
        on_second=on_second,
    )
    if isinstance(ended.answer, CellOutcome):
        with suppress(OSError):  # without it, the next process compiles again, and says so
            (cache / "filled").touch()
    return ended


def record_of(step: Step, plan: str, profile: str, environment: Environment, run: str, ended: WorkerExit) -> Record:
    """Return the record of a process that has ended. `plan` is the digest, which takes a while to compute."""
    finding = _finding(ended)
    cell = step.planned.cell
    return Record(
        schema=SCHEMA,
        run=run,
        origin="measured",
        profile=profile,
        process=step.process,
        status=finding.status,
        cell=msgspec.structs.replace(cell, input_size=finding.input_size or cell.input_size),
        environment=environment_of(cell, environment),
        measured_at=datetime.now(UTC).replace(microsecond=0),
        reason=finding.reason and one_line(finding.reason),
        measurement=finding.measurement,
        seconds=round(ended.seconds, 1),
        costs_s={phase: round(seconds, 2) for phase, seconds in ended.costs_s.items()},
        command=step.planned.command,
        plan=plan,
    )


def _finding(ended: WorkerExit) -> CellOutcome:
    """Return the worker's finding, or one with the reason why it failed."""
    match ended.answer:
        case CellOutcome() as finding:
            return finding
        case Refusal(what=what, where=where):
            return CellOutcome(
                status=Status.FAIL_TO_RUN,
                reason=f"AtlasError: {where}: {what}" if where else f"AtlasError: {what}",
            )
    words = f"; its last words: {ended.last_line}" if ended.last_line else ""
    if ended.timed_out:
        return CellOutcome(status=Status.TIMEOUT, reason=f"{ended.cause}{words}")
    if not ended.decode_error and ended.out_of_memory and ended.returncode == -signal.SIGKILL:
        return CellOutcome(status=Status.OOM, reason="the kernel ended the process for want of memory")
    if not ended.decode_error and is_out_of_memory(ended.last_line):
        return CellOutcome(status=Status.OOM, reason=f"{ended.cause}{words}")
    return CellOutcome(status=Status.CRASH, reason=f"{ended.cause}{words}")


@contextmanager
def interruptible() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Make SIGINT and SIGTERM raise `KeyboardInterrupt`, but inside the context that is yielded only at its end."""
    is_held, is_wanted = False, False

    def interrupt(_number: int, _frame: Any) -> None:
        nonlocal is_wanted
        is_wanted = True
        if not is_held:
            raise KeyboardInterrupt

    @contextmanager
    def held() -> Iterator[None]:
        nonlocal is_held
        is_held = True
        try:
            yield
        finally:
            is_held = False
        if is_wanted:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield held
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
