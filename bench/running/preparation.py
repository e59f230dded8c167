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
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from threading import Event
from typing import Protocol, runtime_checkable

import msgspec

from bench.machine import memory_gb
from bench.plans.messages import READY, STARTING, CellOutcome, Job, Machine, Phase, Prepare, Request
from bench.records.record import Status
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
class SideBySide(LocalProcesses):
    """Runs workers on this machine as `LocalProcesses` does, up to `most` of them ready, `at_once` at a time."""

    most: int = MOST
    at_once: int = AT_ONCE
    _expected: list[Expected] = field(default_factory=list, init=False)  # without a worker
    _workers: list[tuple[Job, subprocess.Popen[bytes]]] = field(default_factory=list, init=False)
    _has_given_up: Event = field(default_factory=Event, init=False)

    def expect(self, expected: Sequence[Expected]) -> None:
        """See `Foreseeing.expect`."""
        left = list(expected)
        jobs = [each.job for each in left]
        for job, process in list(self._workers):
            if job in jobs:
                left.pop(jobs.index(job))
                jobs.remove(job)
            else:
                self._stop(job, process)
        self._expected[:] = left

    def run(
        self,
        request: Request,
        *,
        variables: Mapping[str, str],
        timeout_s: float,
        on_phase: Callable[[Phase], None],
        on_second: Callable[[], None] | None = None,
    ) -> WorkerExit:
        """See `Executor.run`. The time until workers are ready belongs to the one that needs them first.

        Those that wait hold memory of the device. Whatever lacks it is measured again, without them.
        """

        def once() -> WorkerExit:
            began = time.monotonic()
            if isinstance(request, Job) and not (self._has(request) or self._has_given_up.is_set()):
                self._get_ready(began + min(timeout_s / 2, LONGEST_S), on_phase, on_second)
            waited_s = time.monotonic() - began
            ended = super(SideBySide, self).run(
                request,
                variables=variables,
                timeout_s=max(0.0, timeout_s - waited_s),
                on_phase=on_phase,
                on_second=on_second,
            )
            costs_s = {**ended.costs_s, STARTING: ended.costs_s.get(STARTING, 0.0) + waited_s}
            return replace(ended, seconds=ended.seconds + waited_s, costs_s=costs_s)

        ended = once()
        if self._workers and _lacked_memory(ended):
            self.expect(())
            ended = once()
        return ended

    def start(self, request: Request, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Return the worker that is ready for this request, or a new one."""
        for job, process in list(self._workers):
            if isinstance(request, Job) and job == _foreseen(request):
                self._workers.remove((job, process))
                if process.poll() is None:
                    return process
        return super().start(request, variables)

    def _has(self, request: Job) -> bool:
        return any(job == _foreseen(request) for job, _ in self._workers)

    def _get_ready(
        self, deadline: float, on_phase: Callable[[Phase], None], on_second: Callable[[], None] | None
    ) -> None:
        """Get the next workers ready, and return when all of them wait.

        If most of them fail, none is tried again: the device may be in a mode in which only one process can use it.
        """
        coming = next_ones(self._expected, self.most - len(self._workers))
        self._expected[:] = [each for each in self._expected if each not in coming]
        is_interrupted = Event()

        def is_ready(expected: Expected) -> bool:
            job = expected.job
            threads = COMPILE_THREADS if job.ahead and not COMPILE_THREADS.keys() & os.environ.keys() else {}
            process = super(SideBySide, self).start(job, {**threads, **expected.variables})
            self._workers.append((job, process))
            device = str(Path(job.cache).parent / "device") if job.cache else ""
            send(process, Prepare(job=job, device=device))
            if not is_interrupted.is_set() and _is_ready(process, deadline):
                return True
            self._stop(job, process)
            return False

        with ThreadPoolExecutor(self.at_once) as pool:
            begun = [pool.submit(is_ready, expected) for expected in coming]
            try:
                left = set(begun)
                while left:
                    _, left = wait(left, timeout=1.0 if on_second else None, return_when=FIRST_COMPLETED)
                    on_phase(Phase(name=STARTING, done=len(coming) - len(left), of=len(coming)))
                    if on_second:
                        on_second()
                if 2 * sum(each.result() for each in begun) < len(begun):
                    self._has_given_up.set()
            except BaseException:
                is_interrupted.set()
                pool.shutdown(wait=False, cancel_futures=True)
                for _, process in list(self._workers):
                    kill_group(process)  # ends the waiting of its thread
                raise

    def _stop(self, job: Job, process: subprocess.Popen[bytes]) -> None:
        self._workers.remove((job, process))
        kill_group(process)
        with process:
            process.wait()


def next_ones(expected: Sequence[Expected], room: int) -> list[Expected]:
    """Return what gets ready together: the next ones that all compile, or all do not, so that nobody waits for others
    that take longer by far. Those that take longest come first."""
    alike = takewhile(lambda each: each.job.ahead == expected[0].job.ahead, expected[:room])
    return sorted(alike, key=lambda each: -each.seconds)


def _foreseen(job: Job) -> Job:
    """Return the job as it was when it was expected: the peaks of the device may have been unknown."""
    return msgspec.structs.replace(job, peaks=None)


def executor_for(machine: Machine, executor: LocalProcesses) -> LocalProcesses:
    """Return the executor; on a machine with an accelerator and many cores, one with workers side by side.

    Those that wait hold memory, so that they might slow a CPU down that is measured itself.
    """
    environment = machine.environment
    at_once = min(AT_ONCE, environment.cores or 1)
    most = min(MOST, 2 * at_once, int((environment.memory_gb or 0.0) / ROOM_GB), int(memory_gb() / HOST_ROOM_GB))
    if machine.device == "cpu" or min(most, at_once) < 2:
        return executor
    return SideBySide(executor.command, most, min(most, at_once))


def _is_ready(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait until a worker is ready, and return whether it is."""
    with Pipes(process) as pipes, suppress(TimeoutError, msgspec.DecodeError):
        pipes.deadline = deadline
        return any(isinstance(message, Phase) and message.name == READY for message in pipes.messages(None))
    return False


def _lacked_memory(ended: WorkerExit) -> bool:
    return isinstance(ended.answer, CellOutcome) and ended.answer.status in (Status.OOM, Status.EAGER_OOM)
