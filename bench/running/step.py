"""Take one step of a plan: run its worker processes, and make the record of it.

`measure` takes a `Step` and returns one `WorkerExit`; `record_of` makes a `Record` of it. Most steps are one process.
A variant that cannot run beside eager has two, eager first, and one that starts from a built program has it built in a
process before its first step.
"""

from __future__ import annotations

import hashlib
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.errors import unwritable
from bench.measuring.variants import VARIANTS
from bench.plans.messages import CellOutcome, Job, Phase, Refusal, Role, is_out_of_memory
from bench.plans.plan import Step, artifact_processes
from bench.plans.profiles import Profile
from bench.records.record import (
    BUILDING_S,
    COMPARABLE,
    RANDOM_HEAD,
    SCHEMA,
    Cell,
    Environment,
    Peaks,
    Record,
    Start,
    Status,
)
from bench.records.scrub import one_line
from bench.running.worker_process import Executor, WorkerExit, caches_below, variables_of


def measure(
    step: Step,
    profile: Profile,
    caches: Path,
    executor: Executor,
    *,
    timeout_s: float,
    on_phase: Callable[[Phase], None] = lambda _: None,
    peaks: Peaks | None = None,
) -> WorkerExit:
    """Run one step within `timeout_s`. The compile cache of its cell is below `caches`, which belongs to the run and
    this machine."""
    cell, recipe = step.planned.cell, step.planned.recipe
    cache = cache_of(cell, caches)
    warm, folder, kept = not step.is_first and is_filled(cache), cache / "folder", cache / "compiled"
    found = VARIANTS[cell.variant]
    start: Start = "loaded" if found.build else "cold"
    if warm and not found.build:
        start = "artifacts" if step.from_artifacts else "warm"
    if start == "artifacts":
        kept = cache / "emptied"
        shutil.rmtree(kept, ignore_errors=True)
    if not warm:
        shutil.rmtree(cache, ignore_errors=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "free up disk space there, then run the same command to continue"
        raise unwritable(cache, error, remedy) from None
    job = Job(
        cell=cell,
        recipe=recipe,
        sampling=profile.sampling,
        start=start,
        saves_artifacts=artifact_processes(profile, cell.variant) > 0,
        peaks=peaks,
        allow_busy=profile.allow_busy,
        folder=str(folder),
    )
    variables = variables_of([recipe], keep_memory=profile.keep_memory) | caches_below(kept)
    if cell.threads:
        variables["OMP_NUM_THREADS"] = str(cell.threads)
    exits = dict[Role, WorkerExit]()
    built: Sequence[Role] = ("build",) if found.build and not warm else ()
    roles: Sequence[Role] = ("both",) if found.same_process else ("eager", "variant")  # the variant is compared
    for role in (*built, *roles):
        exits[role] = executor(
            msgspec.structs.replace(job, role=role),
            variables=variables,
            timeout_s=timeout_s - sum(each.seconds for each in exits.values()),
            on_phase=on_phase,
        )
        answer = exits[role].answer
        if not isinstance(answer, CellOutcome) or answer.status not in (*COMPARABLE, Status.THROTTLED):
            break
    ended = _merged(exits)
    if isinstance(ended.answer, CellOutcome) and ("build" not in exits or len(exits) > 1):
        with suppress(OSError):  # without it, the next process compiles again, and says so
            (cache / "filled").touch()
    return ended


def _merged(exits: dict[Role, WorkerExit]) -> WorkerExit:
    """Return how the last process ended, with the time of all, and eager's latencies if it had its own process."""
    *_, last = exits.values()
    costs_s = Counter[str]()
    for role, ended in exits.items():
        costs_s.update({BUILDING_S: ended.seconds} if role == "build" else ended.costs_s)
    eager, found = exits["eager"].answer if "eager" in exits else None, last.answer
    if isinstance(eager, CellOutcome) and eager.measurement and isinstance(found, CellOutcome) and found is not eager:
        measurement = eager.measurement
        if found.measurement:
            measurement = msgspec.structs.replace(found.measurement, eager=measurement.eager, interleaved=False)
        worst = min(eager, found, key=lambda each: [*Status].index(each.status))
        found = msgspec.structs.replace(eager, status=worst.status, reason=worst.reason, measurement=measurement)
    return replace(last, seconds=sum(ended.seconds for ended in exits.values()), answer=found, costs_s=costs_s)


def cache_of(cell: Cell, caches: Path) -> Path:
    """Return the folder of the compile cache of a cell."""
    return caches / hashlib.sha256(msgspec.json.encode(cell)).hexdigest()[:12]


def is_filled(cache: Path) -> bool:
    """Return whether a process has compiled with this cache and has not been stopped meanwhile."""
    return (cache / "filled").exists()


def record_of(
    step: Step, ended: WorkerExit, environment: Environment, *, flags: Sequence[str] = (), **names: Any
) -> Record:
    """Return the record of a step that has ended. `names`: its run, profile and plan."""
    finding, cell = _finding(ended), step.planned.cell
    return Record(
        schema=SCHEMA,
        origin="measured",
        process=step.process,
        status=finding.status,
        cell=msgspec.structs.replace(cell, input_size=finding.input_size or cell.input_size),
        environment=msgspec.structs.replace(environment, threads=cell.threads or environment.threads),
        measured_at=datetime.now(UTC).replace(microsecond=0),
        reason=finding.reason and one_line(finding.reason),
        measurement=finding.measurement,
        calls=finding.calls,
        seconds=round(ended.seconds, 1),
        costs_s={phase: round(seconds, 2) for phase, seconds in ended.costs_s.items()},
        command=step.planned.command,
        flags=(*flags, RANDOM_HEAD) if finding.has_random_head else tuple(flags),
        **names,
    )


def _finding(ended: WorkerExit) -> CellOutcome:
    """Return the worker's finding, or one with the reason why it failed."""
    match ended.answer:
        case CellOutcome() as finding:
            return finding
        case Refusal(what=what, where=where):
            reason = f"AtlasError: {where}: {what}" if where else f"AtlasError: {what}"
            return CellOutcome(status=Status.FAIL_TO_RUN, reason=reason)
    reason = f"{ended.cause}; its last words: {ended.last_line}" if ended.last_line else ended.cause
    if ended.timed_out:
        return CellOutcome(status=Status.TIMEOUT, reason=reason)
    if not ended.decode_error and ended.out_of_memory and ended.returncode == -signal.SIGKILL:
        return CellOutcome(status=Status.OOM, reason="the kernel ended the process for want of memory")
    if not ended.decode_error and is_out_of_memory(ended.last_line):
        return CellOutcome(status=Status.OOM, reason=reason)
    return CellOutcome(status=Status.CRASH, reason=reason)


def skipped(ended: WorkerExit) -> str | None:
    """Return why all of the cell was skipped: something else computes on the device. None if it was measured."""
    answer = ended.answer
    if isinstance(answer, CellOutcome) and answer.status is Status.SKIPPED and answer.measurement is None:
        return answer.reason or "the case was skipped"
    return None
