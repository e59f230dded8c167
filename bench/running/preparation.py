"""Start several workers at once, and measure with one after the other.

A worker needs seconds for importing torch and building its model, on one core and without the device. `SideBySide`
prepares the workers that come next all together, while nothing is measured. Then each waits, without using a core,
until its turn. The workers are fresh processes as ever: only their waiting is shared.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import msgspec

from bench.plans.messages import Job, Machine, Phase, Prepare, Recipe, Request
from bench.running.executors import LocalProcesses, Pipes, kill_group, send, start_process

MOST = 8
"""Workers that wait at once. Each holds a model and torch in the memory of the host, up to 2 GB."""

LONGEST_S = 120.0
"""A worker that is not ready after this time is stopped, and its model is built in its turn."""

Expected = tuple[Recipe, Mapping[str, str]]
"""A model that will be measured, and the environment variables of its worker without its caches."""


@runtime_checkable
class Foreseeing(Protocol):
    """An executor that can prepare what comes."""

    def expect(self, expected: Sequence[Expected]) -> None:
        """Tell which workers come next, in order. All others that wait are stopped."""


@dataclass(frozen=True)
class SideBySide(LocalProcesses):
    """Runs workers on this machine as `LocalProcesses` does, up to `at_once` of them prepared together."""

    at_once: int = MOST
    _expected: list[Expected] = field(default_factory=list, init=False)  # and not ready
    _ready: list[tuple[Expected, subprocess.Popen[bytes]]] = field(default_factory=list, init=False)

    def expect(self, expected: Sequence[Expected]) -> None:
        """See `Foreseeing.expect`."""
        left = list(expected)
        for waiting in list(self._ready):
            if waiting[0] in left:
                left.remove(waiting[0])
            else:
                self._stop(*waiting)
        self._expected[:] = left

    def start(self, request: Request, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Return a prepared worker, after preparing the next ones if none is; or else a new one."""
        if isinstance(request, Job):
            if not self._has(request.recipe):
                self._prepare()
            for waiting in list(self._ready):
                if waiting[0][0] == request.recipe:
                    self._ready.remove(waiting)
                    if waiting[1].poll() is None:
                        return waiting[1]
        return super().start(request, variables)

    def _has(self, recipe: Recipe) -> bool:
        return any(own == recipe for (own, _), _ in self._ready)

    def _prepare(self) -> None:
        """Start the next workers and wait until all of them wait."""
        deadline = time.monotonic() + LONGEST_S
        begun = []
        while self._expected and len(self._ready) < self.at_once:
            expected = self._expected.pop(0)
            process = start_process(self.command, expected[1])
            self._ready.append((expected, process))
            begun.append(self._ready[-1])
            send(process, Prepare(recipe=expected[0]))
        for waiting in begun:
            if not _is_ready(waiting[1], deadline):
                self._stop(*waiting)

    def _stop(self, expected: Expected, process: subprocess.Popen[bytes]) -> None:
        self._ready.remove((expected, process))
        kill_group(process)
        with process:
            process.wait()


def executor_for(machine: Machine, executor: LocalProcesses) -> LocalProcesses:
    """Return the executor, on a machine with an accelerator and many cores with workers side by side.

    Those that wait hold memory of the host, so that they might slow a CPU down that is measured itself.
    """
    at_once = min(MOST, (machine.environment.cores or 1) // 2)
    return executor if machine.device == "cpu" or at_once < 2 else SideBySide(executor.command, at_once)


def _is_ready(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait until a worker is ready, and return whether it is."""
    with Pipes(process) as pipes, suppress(TimeoutError, msgspec.DecodeError):
        pipes.deadline = deadline
        return any(isinstance(message, Phase) for message in pipes.messages(None))
    return False
