"""Many cells, one after the other: plan them, run what is missing, append each as it ends, resume after anything.

What is still to do is a pure function of the plan and of the records that there are (`pending`): a run that was
interrupted, killed or stopped by its time budget goes on where its file ends, on any machine of the same kind.
The processes of a cell are spread over the sweep, so that what the machine does in an hour shows in their scatter.

    python -m bench run --profile standard
"""

from __future__ import annotations

import fcntl
import hashlib
import math
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

from bench import durable
from bench.errors import AtlasError, Complaint, unwritable
from bench.machine import boot
from bench.plans.duration import DurationEstimates
from bench.plans.messages import CellOutcome, Job, Machine, Phase, Preflight, Recipe, Refusal, is_out_of_memory
from bench.plans.plan import Plan, Step, duration_s, fitting, pending
from bench.plans.profiles import KEEP_MEMORY, STANDARD, Profile
from bench.records.record import DOCTOR, RESULTS, SCHEMA, Environment, Record, Status, gave_nothing
from bench.records.run_file import append, decode, encode, file_slug, read
from bench.records.scrub import one_line
from bench.running.executors import Ended, Executor

CACHE = RESULTS.parents[1] / ".cache" / "bench"
"""Compile caches of unfinished runs, a folder a run and one below it a cell; removed when the run is finished."""

ROOM = "make room or choose another folder with --out; the same command then goes on"
ROOM_THERE = "make room there; the same command then goes on"

SURVEY_TIMEOUT_S = 300.0
"""Importing torch from a cold disk takes a minute; looking at a checkpoint on the hub as long again."""


# ── Run files ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class RunFile:
    """Where a plan's records go, and those that are there already."""

    path: Path
    records: tuple[Record, ...] = ()

    @property
    def name(self) -> str:
        """Of the run: the file's name without its suffix."""
        return self.path.stem

    @property
    def failed(self) -> tuple[Record, ...]:
        """Records of processes that gave no pair of latencies."""
        return tuple(filter(gave_nothing, self.records))


def find_run(
    plan: Plan,
    machine: Machine,
    out: Path,
    *,
    is_ordinary: bool,
    fresh: bool = False,
    reopen: bool = False,
    today: str | None = None,
) -> RunFile:
    """The newest unfinished run of this plan on this kind of machine; today's, if finished; or else a new one.

    `is_ordinary` says that the plan is just what its profile's name promises; another has its digest in the name.
    `fresh` asks for a new run in any case, `reopen` for the newest in any case.
    """
    today = today or datetime.now(UTC).date().isoformat()
    environment = machine.environment
    kind = "_".join(
        (
            _hardware(machine),
            f"torch-{slug(environment.torch.partition('+')[0])}",
            plan.profile.name if is_ordinary else f"{plan.profile.name}-{plan.digest}",
        )
    )
    pattern = re.compile(rf"(\d{{4}}-\d\d-\d\d)_{re.escape(kind)}(?:_(\d+))?")
    found = sorted(
        (match[1], int(match[2] or 1), path)
        for path in out.glob("*.jsonl")
        if (match := pattern.fullmatch(path.stem)) is not None
    )
    if found and not fresh:
        date, _, path = found[-1]
        run = RunFile(path, tuple(read(path)))
        if is_same_kind(run.records, plan, environment) and (reopen or date == today or pending(plan, run.records)):
            return run
    number = max((number for date, number, _ in found if date == today), default=0) + 1
    return RunFile(out / f"{today}_{kind}{f'_{number}' if number > 1 else ''}.jsonl")


def earlier(machine: Machine, folders: Iterable[Path]) -> list[Record]:
    """Records of this kind of machine in all run files below the folders, for estimates: bad files are passed over."""
    records: list[Record] = []
    pattern = f"*_{_hardware(machine)}_torch-*.jsonl"
    for path in sorted({path.resolve() for folder in folders for path in folder.rglob(pattern)}):
        with suppress(AtlasError):
            records += read(path)
    return records


def _hardware(machine: Machine) -> str:
    cores = f"-{machine.environment.cores}-cores" if machine.device == "cpu" else ""
    return slug(machine.environment.device_name) + cores


def is_same_kind(records: Sequence[Record], plan: Plan, environment: Environment) -> bool:
    """Whether records of this plan and environment may join those: the same device, versions, threads and settings, and
    the same constants, which a profile may have changed since."""
    return all(record.plan == plan.digest and kind(record.environment) == kind(environment) for record in records[-1:])


def kind(environment: Environment) -> Environment:
    """What machines must share to measure into one run: all but the commit, and the last bytes of memory."""
    return msgspec.structs.replace(environment, commit=None, memory_gb=None)


def slug(name: str) -> str:
    """A device's name for a file: "Intel(R) Xeon(R) Processor @ 2.50GHz" is intel-xeon-2.50ghz."""
    return file_slug(re.sub(r"\((?:r|tm|c)\)|\b(?:cpu|processor|gpu)\b", " ", name.lower()))


@contextmanager
def owned(path: Path) -> Iterator[None]:
    """Nobody else writes to the run meanwhile. Raises `AtlasError` when somebody does, or when nobody can."""
    try:
        durable.make_folder(path.parent)
        file = _locked(path)
    except BlockingIOError:
        raise AtlasError(
            "another process is measuring into this file",
            where=str(path),
            remedy="wait for it, or start a separate run with --fresh",
        ) from None
    except OSError as error:
        raise unwritable(path, error, ROOM) from None
    with file:
        try:
            yield
        finally:
            with suppress(OSError):  # somebody may have moved or removed it meanwhile
                if path.stat().st_size == 0:
                    path.unlink()


def _locked(path: Path) -> IO[bytes]:
    """The file, owned until it is closed. Raises `BlockingIOError` when somebody else owns it."""
    while True:
        file = path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()  # its last owner had removed it for being empty: we own what nobody finds any more


def write(path: Path, record: Record) -> None:
    decode(encode(record), str(path))  # what could not be read again is not written
    try:
        append(path, [record])
    except OSError as error:
        raise unwritable(path, error, ROOM) from None


# ── Running ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Reporter(Protocol):
    """Who is told how the sweep gets on."""

    on_second: Callable[[], None] | None

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        """A process starts, with so many done and left, itself included."""

    def warn(self, complaint: Complaint) -> None:
        """This would spoil what is measured next."""

    def phase(self, phase: Phase) -> None:
        """It has come to this phase."""

    def end(self, record: Record, seconds: float) -> None:
        """It has ended, and its record is on disk."""


def preflight(
    executor: Executor, device: str | None, recipes: Sequence[Recipe] = (), profile: Profile = STANDARD
) -> Machine:
    """The machine that a worker finds itself on. Raises `AtlasError` for a missing or busy device, or a missing
    checkpoint."""
    return surveyed(look_at(executor, survey_of(device, recipes, profile)))


def survey_of(device: str | None, recipes: Sequence[Recipe], profile: Profile) -> Preflight:
    """What to ask of a machine before it measures these."""
    return Preflight(
        device=device,
        recipes=tuple(each for each in recipes if each.needs_hub),
        allow_busy=profile.allow_busy,
        keep_memory=profile.keep_memory,
    )


def look_at(executor: Executor, request: Preflight) -> Ended:
    """The answer of a worker of this executor."""
    variables = _variables(request.recipes, keep_memory=request.keep_memory)
    return executor.run(request, variables=variables, timeout_s=SURVEY_TIMEOUT_S, on_phase=lambda _: None)


def surveyed(ended: Ended) -> Machine:
    """The machine that was found. Raises `AtlasError` where there was none to be found."""
    match ended.answer:
        case Machine() as machine:
            return machine
        case Refusal(what=what, where=where, remedy=remedy):
            raise AtlasError(what, where=where, remedy=remedy)
    remedy = 'install what measuring needs: pip install -e ".[bench]"' if "No module" in ended.last_words else ""
    raise AtlasError(f"torch cannot be used here: {ended.last_words or ended.cause}", remedy=remedy)


def run(
    plan: Plan,
    machine: Machine,
    run_file: RunFile,
    executor: Executor,
    reporter: Reporter,
    *,
    pace: DurationEstimates | None = None,
    deadline: float | None = None,
    retry_failed: bool = False,
    contributor: str | None = None,
    examine: Callable[[], Sequence[Complaint]] = tuple,
) -> list[Record]:
    """Do what is pending and return all records of the run. Raises `KeyboardInterrupt` on SIGINT and SIGTERM, with all
    that was measured on disk.

    `pace` says what steps take, as far as it is known from earlier runs. `deadline` is a time of `time.monotonic()`:
    the most useful is done first (`by_use`), no step begins that would end after it, and one that does is stopped.
    `examine` tells before each process what would spoil it: that is told once, and kept in the records.
    """
    pace, told = pace or DurationEstimates(plan.profile.sampling), set[str]()

    def warn(complaints: Iterable[Complaint]) -> None:
        for complaint in complaints:
            if complaint.check not in told:
                reporter.warn(complaint)
            told.add(complaint.check)

    forgotten = run_file.failed if retry_failed else ()
    with owned(run_file.path), interruptible() as held:
        records = list(read(run_file.path))  # another run may have added to it since it was found
        while steps := pending(plan, records, forgotten=forgotten, durations=None if deadline is None else pace):
            left_s = math.inf if deadline is None else deadline - time.monotonic()
            if not (steps := fitting(steps, pace, left_s)):
                break
            step, complaints = steps[0], list(examine())
            warn(complaints)
            reporter.begin(step, len(records), len(steps), duration_s(steps, pace))
            left_s = math.inf if deadline is None else deadline - time.monotonic()
            ended = measure(
                step,
                plan.profile,
                _cache(run_file),
                executor,
                timeout_s=min(plan.profile.timeout_s, left_s),
                on_phase=reporter.phase,
                on_second=reporter.on_second,
            )
            if ended.timed_out and ended.seconds < plan.profile.timeout_s:
                break  # the budget ended, not the cell
            if isinstance(ended.answer, CellOutcome) and ended.answer.status is Status.SKIPPED:
                raise AtlasError(  # no outcome of the cell, and the next one would fare no better
                    ended.answer.reason or "the cell was skipped",
                    where=machine.environment.device_name,
                    remedy="wait until that has ended, or measure beside it with --allow-busy; then the same command "
                    "goes on",
                )
            record = record_of(step, plan.digest, plan.profile.name, machine.environment, run_file.name, ended)
            complaints += _clock(record, records)
            record = msgspec.structs.replace(record, contributor=contributor, flags=flags(complaints))
            with held():
                write(run_file.path, record)
            records.append(record)
            pace.note(step.planned.cell, step.is_first, ended.seconds)
            reporter.end(record, ended.seconds)
            warn(complaints)
        else:
            shutil.rmtree(_cache(run_file), ignore_errors=True)
    return records


def _clock(record: Record, earlier: Sequence[Record]) -> Iterator[Complaint]:
    """That the clock was set back, where the record claims to be older than one before it. Pages take the newest record
    for the last; within the run, the order of its lines is that of time."""
    last = max((each.measured_at for each in earlier if each.measured_at), default=None)
    if last and record.measured_at and record.measured_at < last:
        yield Complaint(
            "clock",
            f"the clock went back: it says {record.measured_at:%Y-%m-%d %H:%M}, and it was {last:%Y-%m-%d %H:%M}",
            "let it be set from the network: sudo timedatectl set-ntp true",
        )


def _cache(run_file: RunFile) -> Path:
    """Compile caches of this run: runs of the same name in other folders have their own."""
    place = hashlib.sha256(str(run_file.path.resolve()).encode()).hexdigest()[:6]
    return CACHE / f"{run_file.name}_{place}"


def flags(complaints: Iterable[Complaint]) -> tuple[str, ...]:
    """What a record keeps of them."""
    return tuple(f"{DOCTOR}{each.check}" for each in complaints)


def measure(
    step: Step,
    profile: Profile,
    caches: Path,
    executor: Executor,
    *,
    timeout_s: float,
    on_phase: Callable[[Phase], None],
    on_second: Callable[[], None] | None = None,
) -> Ended:
    """One process of a cell. Its compile cache is below `caches`, which belongs to the run and to this machine."""
    planned = step.planned
    cache = caches / hashlib.sha256(msgspec.json.encode((planned.cell, boot()))).hexdigest()[:12]
    if step.is_first:
        shutil.rmtree(cache, ignore_errors=True)
    job = Job(
        cell=planned.cell,
        recipe=planned.recipe,
        sampling=profile.sampling,
        warm=cache.exists(),
        allow_busy=profile.allow_busy,
    )
    folders = {"TORCHINDUCTOR_CACHE_DIR": cache / "inductor", "TRITON_CACHE_DIR": cache / "triton"}
    try:
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(cache, error, ROOM_THERE) from None
    return executor.run(
        job,
        variables={name: str(folder) for name, folder in folders.items()}
        | _variables([planned.recipe], keep_memory=profile.keep_memory),
        timeout_s=timeout_s,
        on_phase=on_phase,
        on_second=on_second,
    )


def _variables(recipes: Sequence[Recipe], *, keep_memory: bool) -> dict[str, str]:
    """Nothing is asked of the network, unless a checkpoint may have to come from there; and memory is kept, unless
    whoever started this said something else of it."""
    offline = {} if any(recipe.needs_hub for recipe in recipes) else {"HF_HUB_OFFLINE": "1"}
    kept = {name: KEEP_MEMORY[name] for name in KEEP_MEMORY if keep_memory and name not in os.environ}
    return offline | kept


def record_of(step: Step, plan: str, profile: str, environment: Environment, run: str, ended: Ended) -> Record:
    """What is kept of a process that has ended so. `plan` is its digest, which takes a while to work out."""
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
        environment=environment,
        measured_at=datetime.now(UTC).replace(microsecond=0),
        reason=finding.reason and one_line(finding.reason),
        measurement=finding.measurement,
        seconds=round(ended.seconds, 1),
        command=step.planned.command,
        plan=plan,
    )


def _finding(ended: Ended) -> CellOutcome:
    """What the worker found, or what became of it."""
    match ended.answer:
        case CellOutcome() as finding:
            return finding
        case Refusal(what=what, where=where):
            return CellOutcome(status=Status.FAIL_TO_RUN, reason=f"{where}: {what}" if where else what)
    words = f"; its last words: {ended.last_words}" if ended.last_words else ""
    if ended.timed_out:
        return CellOutcome(status=Status.TIMEOUT, reason=f"{ended.cause}{words}")
    if not ended.nonsense and ended.out_of_memory and ended.returncode == -signal.SIGKILL:
        return CellOutcome(status=Status.OOM, reason="the kernel ended the process for want of memory")
    if not ended.nonsense and is_out_of_memory(ended.last_words):
        return CellOutcome(status=Status.OOM, reason=f"{ended.cause}{words}")
    return CellOutcome(status=Status.CRASH, reason=f"{ended.cause}{words}")


@contextmanager
def interruptible() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """SIGINT and SIGTERM raise `KeyboardInterrupt`, but inside the given context only at its end."""
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
