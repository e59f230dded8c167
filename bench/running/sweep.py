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
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.errors import AtlasError, Complaint
from bench.plans.duration import DurationEstimates
from bench.plans.messages import Machine
from bench.plans.plan import Plan, Step, duration_s, fitting, pending
from bench.records.record import DOCTOR, RESULTS, Cell, Environment, Peaks, Record
from bench.records.run_file import read
from bench.running.progress import Reporter
from bench.running.resume import RunFile, owned, write
from bench.running.step import cache_of, is_filled, measure, record_of, skipped
from bench.running.worker_process import Executor, WorkerExit
from bench.statistics.cells import best_peaks

CACHE = RESULTS.parents[1] / ".cache" / "bench"
"""Compile caches of unfinished runs: one folder per run with one per cell, removed when the run is complete."""

LOOK_EVERY_S = 20.0
"""How long a look at the machine holds for the processes that follow. While they measure, they watch it themselves."""

WHILE_BUSY = "wait until that has finished, then run the same command to continue; or add --allow-busy"


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
    later. One that lasts longer is stopped `grace_s` after the deadline, and leaves nothing. `examine` is called before
    a process, but not within `LOOK_EVERY_S` of the last time; each of its complaints is shown once and flagged in the
    records. Raises `KeyboardInterrupt` on SIGINT and SIGTERM, with all finished records on disk.
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
                peaks=_known_peaks(writer.records, step.planned.cell),
            )
            if ended.timed_out and limit_s < timeout_s:  # the time budget ended, not the cell
                what = f"{step.planned.cell.model} had not finished after {ended.seconds:.0f} s, when the time was up"
                reporter.warn(Complaint("time-budget", what, "run the same command with more time"))
                break
            if reason := skipped(ended):  # the device is busy, and the next process would be skipped as well
                raise AtlasError(reason, where=machine.environment.device_name, remedy=WHILE_BUSY)
            pace.learn(writer.append(step, ended, machine.environment, complaints), step.is_first)
        else:
            shutil.rmtree(_cache(run_file), ignore_errors=True)
    return writer.records


@contextmanager
def writing(plan: Plan, run_file: RunFile, reporter: Reporter) -> Iterator[RunWriter]:
    """Lock the run file, and make SIGINT and SIGTERM raise `KeyboardInterrupt`. One that cuts off the line of a record
    loses that record only."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with owned(run_file.path):  # another run may have added to the file since it was chosen
            yield RunWriter(plan, run_file, reporter, list(read(run_file.path)))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class RunWriter:
    """Appends the record of each process to the run file, and reports it. `records` are all of the run."""

    plan: Plan
    run_file: RunFile
    reporter: Reporter
    records: list[Record]
    _shown: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._digest = self.plan.digest  # takes a while

    def append(
        self, step: Step, ended: WorkerExit, environment: Environment, complaints: Sequence[Complaint]
    ) -> Record:
        """Keep the record of a process, flagged with the complaints. Raises `AtlasError` if it cannot be written."""
        names = {"run": self.run_file.name, "profile": self.plan.profile.name, "plan": self._digest}
        # A missing tool disturbs nothing: where it prevents something, that has it as its reason.
        flags = dict.fromkeys(f"{DOCTOR}{each.check}" for each in complaints if each.distorts)  # once for several GPUs
        record = record_of(step, ended, environment, flags=[*flags], **names)
        write(self.run_file.path, record)
        self.records.append(record)
        self.reporter.end(record, ended.seconds)
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
        compiles = step.is_first or (cell not in begun and not is_filled(cache_of(cell, caches)))
        begun.add(cell)
        steps.append(dataclasses.replace(step, is_first=compiles))
    return steps


def _known_peaks(records: Iterable[Record], cell: Cell) -> Peaks | None:
    """Return the best rates of the device so far, or None before the first process in this data type."""
    alike = (each for each in records if (each.cell.device, each.cell.precision) == (cell.device, cell.precision))
    return best_peaks([record.measurement for record in alike if record.measurement])


def _cache(run_file: RunFile) -> Path:
    """Return the run's folder of compile caches. Runs of the same name in other folders have their own."""
    place = hashlib.sha256(str(run_file.path.resolve()).encode()).hexdigest()[:6]
    return CACHE / f"{run_file.name}_{place}"
