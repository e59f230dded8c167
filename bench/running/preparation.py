"""Get several workers ready at once, and measure with one after the other.

A worker needs seconds of its host before it can measure: to import torch, to build its model, and to compile. While
nothing is measured, `SideBySide` gets the workers that come next ready together, each on a core. They take turns with
the device, for which Inductor also times kernels. Then each waits for its own turn without using a core. The workers
are fresh processes as ever: only their waiting is shared.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from threading import Event
from typing import Protocol, runtime_checkable

import msgspec

from bench.errors import Complaint, counted
from bench.machine import quota_cores, quota_gb
from bench.plans.messages import (
    READY,
    STARTING,
    CellOutcome,
    Job,
    Machine,
    Phase,
    Prepare,
    Request,
    is_out_of_memory,
)
from bench.records.record import Status
from bench.records.scrub import one_line
from bench.running.executors import LocalProcesses, Pipes, WorkerExit, kill_group, send

MOST, AT_ONCE = 24, 12
"""Workers that wait, and of them those that get ready at the same time, at most."""

ROOM_GB, HOST_ROOM_GB = 3.0, 4.0
"""Memory of the device and of the host for each that waits. One holds torch, a context, a model and its batches: 1 GB
of the device for most models, and 2 GB for DETR at batch size 16."""

LONGEST_S = 600.0
"""A worker that is not ready after this time, or half of its time limit, is stopped, and a new one measures instead."""

COMPILE_THREADS = {"TORCHINDUCTOR_COMPILE_THREADS": "4"}
"""Compilers of kernels that each worker starts while others get ready, unless the user has chosen another number. By
itself, it would start one for each core."""


@dataclass(frozen=True)
class Expected:
    """What will be measured, the environment variables of its worker, and the seconds that this may take."""

    job: Job
    variables: Mapping[str, str]
    seconds: float = 0.0


@runtime_checkable
class Foreseeing(Protocol):
    """An executor that can get workers ready for what comes."""

    def expect(self, expected: Sequence[Expected]) -> None:
        """Tell what comes next, in order. Workers for anything else are stopped."""


@dataclass(frozen=True)
class _Worker:
    """A worker that gets ready or waits, and its share of the seconds until all of its round were ready."""

    job: Job
    process: subprocess.Popen[bytes]
    share_s: float = 0.0


@dataclass(frozen=True)
class SideBySide(LocalProcesses):
    """Runs workers on this machine as `LocalProcesses` does, up to `most` of them ready, `at_once` at a time."""

    most: int = MOST
    at_once: int = AT_ONCE
    warn: Callable[[Complaint], object] = lambda _: None
    _expected: list[Expected] = field(default_factory=list, init=False)  # without a worker
    _workers: list[_Worker] = field(default_factory=list, init=False)
    _failed: list[Job] = field(default_factory=list, init=False)  # never got ready
    _has_given_up: Event = field(default_factory=Event, init=False)  # after most of a round have failed

    def expect(self, expected: Sequence[Expected]) -> None:
        """See `Foreseeing.expect`."""
        left = {index: each.job for index, each in enumerate(expected) if each.job not in self._failed}
        for worker in list(self._workers):
            index = next((index for index, job in left.items() if job == worker.job), None)
            if index is None:
                self._stop(worker)
            else:
                del left[index]
        self._expected[:] = [expected[index] for index in left]

    def run(
        self,
        request: Request,
        *,
        variables: Mapping[str, str],
        timeout_s: float,
        on_phase: Callable[[Phase], None],
        on_second: Callable[[], None] | None = None,
    ) -> WorkerExit:
        """See `Executor.run`. Each worker takes its share of the time in which its round got ready.

        Those that wait hold memory. Whatever lacks it is measured again, without them, in the time that is left.
        """
        began = time.monotonic()
        if isinstance(request, Job):
            self._get_ready(request, began + min(timeout_s / 2, LONGEST_S), on_phase, on_second)
        share_s = next((worker.share_s for worker in self._workers if worker.job == _foreseen(request)), 0.0)

        def once() -> WorkerExit:
            left_s = max(0.0, timeout_s - (time.monotonic() - began))
            return super(SideBySide, self).run(
                request, variables=variables, timeout_s=left_s, on_phase=on_phase, on_second=on_second
            )

        ended = once()
        if self._workers and _lacked_memory(ended):
            self.expect(())
            share_s += ended.seconds
            ended = once()
        costs_s = {**ended.costs_s, STARTING: ended.costs_s.get(STARTING, 0.0) + share_s}
        return replace(ended, seconds=ended.seconds + share_s, costs_s=costs_s)

    def start(self, request: Request, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Return the worker that is ready for this request, or a new one."""
        for worker in list(self._workers):
            if worker.job == _foreseen(request):
                self._workers.remove(worker)
                if worker.process.poll() is None:
                    return worker.process
        return super().start(request, variables)

    def _get_ready(
        self,
        request: Job,
        deadline: float,
        on_phase: Callable[[Phase], None],
        on_second: Callable[[], None] | None,
    ) -> None:
        """If no worker is ready for the request, get those ready that come next, and return when all of them wait.

        What never gets ready is not tried again. If most of a round fail, nothing is: the device may be in a mode in
        which only one process can use it.
        """
        job = _foreseen(request)
        if self._has_given_up.is_set() or job in self._failed or any(worker.job == job for worker in self._workers):
            return
        began, is_interrupted = time.monotonic(), Event()
        coming = next_ones(self._expected, self.most - len(self._workers))
        self._expected[:] = [each for each in self._expected if each not in coming]

        def ready(expected: Expected) -> _Worker | str:
            threads = COMPILE_THREADS if expected.job.ahead and not COMPILE_THREADS.keys() & os.environ.keys() else {}
            process = super(SideBySide, self).start(expected.job, {**threads, **expected.variables})
            worker = _Worker(expected.job, process)
            self._workers.append(worker)
            device = str(Path(expected.job.cache).parent / "device") if expected.job.cache else ""
            send(process, Prepare(job=expected.job, device=device))
            why_not = "it was interrupted" if is_interrupted.is_set() else _why_not_ready(process, deadline)
            if why_not is None:
                return worker
            self._stop(worker)
            self._failed.append(expected.job)
            return why_not

        with ThreadPoolExecutor(self.at_once) as pool:
            begun = [pool.submit(ready, expected) for expected in coming]
            try:
                left = set(begun)
                while left:
                    _, left = wait(left, timeout=1.0 if on_second else None, return_when=FIRST_COMPLETED)
                    on_phase(Phase(name=STARTING, done=len(coming) - len(left), of=len(coming)))
                    if on_second:
                        on_second()
                ended = [each.result() for each in begun]
            except BaseException:
                is_interrupted.set()
                pool.shutdown(wait=False, cancel_futures=True)
                for worker in list(self._workers):
                    kill_group(worker.process)  # ends the waiting of its thread
                raise
        self._share(ended, time.monotonic() - began)

    def _share(self, ended: Sequence[_Worker | str], seconds: float) -> None:
        """Give each worker that is ready its share of the time of the round, and tell why others are not."""
        found = [each for each in ended if isinstance(each, _Worker)]
        if len(ended) > 2 * max(1, len(found)):
            self._has_given_up.set()
        if reasons := [each for each in ended if isinstance(each, str)]:
            self.warn(_not_ready(reasons, len(ended), are_last=self._has_given_up.is_set()))
        for worker in found:
            self._workers[self._workers.index(worker)] = replace(worker, share_s=seconds / len(found))

    def _stop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        kill_group(worker.process)
        with worker.process as process:
            process.wait()


def next_ones(expected: Sequence[Expected], room: int) -> list[Expected]:
    """Return what gets ready together: the next ones that all compile, or all do not, so that nobody waits for others
    that take longer by far. Those that take longest come first."""
    alike = takewhile(lambda each: each.job.ahead == expected[0].job.ahead, expected[:room])
    return sorted(alike, key=lambda each: -each.seconds)


def _foreseen(request: Request) -> Request:
    """Return a job as it was when it was expected: the peaks of the device may have been unknown."""
    return msgspec.structs.replace(request, peaks=None) if isinstance(request, Job) else request


def executor_for(
    machine: Machine, executor: LocalProcesses, warn: Callable[[Complaint], object] = lambda _: None
) -> LocalProcesses:
    """Return the executor; on a machine with an accelerator, and with room for several, one with workers side by side.

    Those that wait hold memory, so that they might slow a CPU down that is measured itself. `warn` receives why
    workers do not get ready.
    """
    at_once, device_gb = min(AT_ONCE, int(quota_cores())), machine.environment.memory_gb or 0.0
    most = min(MOST, 2 * at_once, int(device_gb / ROOM_GB), int(quota_gb() / HOST_ROOM_GB))
    if machine.device == "cpu" or min(most, at_once) < 2:
        return executor
    return SideBySide(executor.command, most, min(most, at_once), warn)


def _why_not_ready(process: subprocess.Popen[bytes], deadline: float) -> str | None:
    """Wait until a worker is ready, and return why it is not, or None if it is."""
    with Pipes(process) as pipes:
        pipes.deadline = deadline
        try:
            if any(isinstance(message, Phase) and message.name == READY for message in pipes.messages(None)):
                return None
        except TimeoutError:
            return "it took too long"
        except msgspec.DecodeError as error:
            return one_line(error)
        return one_line(pipes.last_line()) or "it ended without a word"


def _not_ready(reasons: Sequence[str], tried: int, *, are_last: bool) -> Complaint:
    """Return the warning of a round. Nothing is distorted: what is not ready starts as on a CPU."""
    now = "every process now starts" if are_last else "their processes start"
    return Complaint(
        "preparation",
        f"{len(reasons)} of {counted(tried, 'worker')} could not get ready beside others: {reasons[0]}",
        f"{now} in turn, which takes longer and changes no figure; report this line if it comes back",
        distorts=False,
    )


def _lacked_memory(ended: WorkerExit) -> bool:
    if isinstance(ended.answer, CellOutcome):
        return ended.answer.status in (Status.OOM, Status.EAGER_OOM)
    return ended.answer is None and (ended.out_of_memory or is_out_of_memory(ended.last_line))
