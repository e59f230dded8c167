"""Find the run file that a plan goes on with, lock it, and append records to it.

Takes a plan and a machine; returns a `RunFile`. A run resumes on any machine of the same kind.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

if sys.platform != "win32":  # where nothing measures: see `refuse_windows`
    import fcntl

from bench import durable
from bench.errors import AtlasError, unwritable
from bench.machine import compiler
from bench.plans.messages import Machine
from bench.plans.plan import Plan, pending
from bench.records.record import Environment, Record, Status, gave_nothing
from bench.records.run_file import append, decode, encode, file_slug, read

ROOM = "free up disk space, or choose a different folder with --out; then run the same command to continue"


@dataclass(frozen=True)
class RunFile:
    """A run file and the records that it holds already."""

    path: Path
    records: tuple[Record, ...] = ()

    @property
    def name(self) -> str:
        """The name of the run: the file name without its suffix."""
        return self.path.stem

    def forgotten(self, *, retry_failed: bool) -> tuple[Record, ...]:
        """Return the records of processes to measure again: those that failed if asked to, and those that lacked a
        compiler as soon as there is one."""
        failed = filter(gave_nothing, self.records)
        return tuple(each for each in failed if retry_failed or (each.status is Status.SKIPPED and compiler()))


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
    """Return the newest run of this plan on this kind of machine if it is unfinished or from today, else a new run.

    `is_ordinary`: the plan is exactly its profile's; the name of any other plan includes its digest. `fresh` always
    starts a new run; `reopen` takes the newest one even if it is finished.
    """
    today = today or datetime.now(UTC).date().isoformat()
    name = plan.profile.name if is_ordinary else f"{plan.profile.name}-{plan.digest}"
    stem = f"{_hardware(machine)}_torch-{slug(machine.environment.torch.partition('+')[0])}_{name}"
    pattern = re.compile(rf"(\d{{4}}-\d\d-\d\d)_{re.escape(stem)}(?:_(\d+))?")
    matches = ((pattern.fullmatch(path.stem), path) for path in out.glob("*.jsonl"))
    runs = sorted((match[1], int(match[2] or 1), path) for match, path in matches if match)
    for date, _, path in [] if fresh else reversed(runs):
        run = RunFile(path, tuple(read(path)))
        own = kind(machine.environment)
        # The constants of the profile may have changed since.
        if all(each.plan == plan.digest and kind(each.environment) == own for each in run.records[-1:]):
            if reopen or date == today or pending(plan, run.records):
                return run
            break
    number = max((number for date, number, _ in runs if date == today), default=0) + 1
    return RunFile(out / f"{today}_{stem}{f'_{number}' if number > 1 else ''}.jsonl")


def earlier(machine: Machine, folders: Iterable[Path]) -> list[Record]:
    """Return the records of this kind of machine below the folders, for estimates. Skips files that cannot be read."""
    records: list[Record] = []
    pattern = f"*_{_hardware(machine)}_torch-*.jsonl"
    for path in sorted({path.resolve() for folder in folders for path in folder.rglob(pattern)}):
        with suppress(AtlasError):
            records += read(path)
    return records


def _hardware(machine: Machine) -> str:
    cores = f"-{machine.environment.cores}-cores" if machine.device == "cpu" else ""
    return slug(machine.environment.device_name) + cores


def kind(environment: Environment) -> Environment:
    """Return what machines must share to measure into one run: everything but the commit and the exact memory size."""
    return msgspec.structs.replace(environment, commit=None, memory_gb=None)


def slug(name: str) -> str:
    """Return a device name for a file name: "Intel(R) Xeon(R) Processor @ 2.50GHz" becomes intel-xeon-2.50ghz."""
    return file_slug(re.sub(r"\((?:r|tm|c)\)|\b(?:cpu|processor|gpu)\b", " ", name.lower()))


@contextmanager
def owned(path: Path) -> Iterator[None]:
    """Lock the run file. Raises `AtlasError` if another process holds the lock or the file cannot be opened."""
    try:
        durable.make_folder(path.parent)
        file = path.open("ab")
    except OSError as error:
        raise unwritable(path, error, ROOM) from None
    with file:
        try:
            if sys.platform != "win32":
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            remedy = "wait until it has finished, or start a separate run with --fresh"
            raise AtlasError("another process is measuring into this file", where=str(path), remedy=remedy) from None
        try:
            yield
        finally:
            with suppress(OSError):  # the file may have been moved or removed meanwhile
                if path.stat().st_size == 0:
                    path.unlink()


def write(path: Path, record: Record) -> None:
    """Append the record, after checking that it can be read back. Raises `AtlasError`."""
    decode(encode(record), str(path))
    try:
        append(path, [record])
    except OSError as error:
        raise unwritable(path, error, ROOM) from None
