"""Run one worker process and report how it ended.

Takes a request; returns a `WorkerExit` with the answer or the reason there is none. `LocalProcesses` starts the worker
on this machine, in its own process group. The parent sleeps in `select`, because a parent that polls uses the core that
it measures.

When a worker ends, its whole group is killed, including PyTorch's compile workers. A process that left the group with
``setsid`` survives: only a cgroup could hold it, and that needs rights that measuring doesn't. If it keeps a core or
the device busy, the doctor reports it before the next cell and in that cell's record.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from bench.errors import AtlasError
from bench.machine import ROOT, lines
from bench.plans.messages import STARTING, Answer, Message, Phase, Request
from bench.records import scrub
from bench.records.run_file import MAX_LINE_BYTES

STDERR_TAIL_BYTES = 4096
"""How much of the end of a worker's standard error is kept: enough for the line with the cause."""

CHUNK_BYTES = 1 << 16
"""The capacity of a pipe."""

LONGEST_WAIT_S = 3600.0
"""The longest wait in one call of `select`, which refuses infinity."""

QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class WorkerExit:
    """How a worker ended, after how many seconds, and what each phase took that it reported."""

    seconds: float
    answer: Answer | None = None
    costs_s: Mapping[str, float] = field(default_factory=dict)  # the last phase includes the end of the process
    timed_out: bool = False
    decode_error: str = ""  # why one of its messages could not be read; the worker was stopped for it
    returncode: int | None = None  # negative: the signal that ended it
    out_of_memory: bool = False  # the kernel killed a process for lack of memory meanwhile
    last_line: str = ""  # of its standard error

    @property
    def cause(self) -> str:
        """Why there is no answer."""
        if self.timed_out:
            return f"no answer within {self.seconds:.0f} s"
        if self.decode_error:
            return f"its answer cannot be read: {self.decode_error}"
        if self.returncode is not None and self.returncode < 0:
            number = -self.returncode
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            return f"the process was ended by {name}"
        return f"the process ended with exit status {self.returncode}"


class Executor(Protocol):
    """Runs workers on some machine."""

    def run(
        self,
        request: Request,
        *,
        variables: Mapping[str, str],
        timeout_s: float,
        on_phase: Callable[[Phase], None],
    ) -> WorkerExit:
        """Run one worker with extra environment variables, and return how it ended.

        Stops it after `timeout_s` and on `KeyboardInterrupt`. Calls `on_phase` for each phase that it reports. Raises
        `AtlasError` if no worker can be started.
        """


WORKER = (sys.executable, "-m", "bench.measuring.worker")


def refuse_windows() -> None:
    """Raise `AtlasError` on Windows, where `LocalProcesses` cannot run."""
    if sys.platform == "win32":
        remedy = "run it in WSL 2 (wsl --install), where NVIDIA GPUs can be measured too"
        raise AtlasError("measuring requires Linux or macOS", where="Windows", remedy=remedy)


@dataclass(frozen=True)
class LocalProcesses:
    """Runs workers on this machine, one at a time, each started with `command`.

    Raises `AtlasError` on Windows, whose `select` knows no pipes and which has no process groups to kill.
    """

    command: tuple[str, ...] = WORKER

    def run(
        self,
        request: Request,
        *,
        variables: Mapping[str, str],
        timeout_s: float,
        on_phase: Callable[[Phase], None],
    ) -> WorkerExit:
        """See `Executor.run`."""
        refuse_windows()
        kills, began = _kernel_kills(), time.monotonic()
        phase, since, costs_s = STARTING, began, defaultdict[str, float](float)
        answer, decode_error, timed_out = None, "", False

        def enter(following: str) -> None:
            nonlocal phase, since
            now = time.monotonic()
            costs_s[phase] += now - since
            phase, since = following, now

        deadline, tail = began + timeout_s, bytearray()
        with _start(self.command, variables) as process:
            try:
                assert process.stdin is not None
                with suppress(BrokenPipeError):  # one that died at once tells why by its exit status
                    process.stdin.write(msgspec.json.encode(request) + b"\n")
                    process.stdin.flush()
                for message in _messages(process, deadline, tail):
                    if isinstance(message, Phase):
                        enter(message.name)
                        on_phase(message)
                    else:
                        answer = message
                process.wait(max(0.0, deadline - time.monotonic()))
            except (TimeoutError, subprocess.TimeoutExpired):
                timed_out = answer is None
            except msgspec.DecodeError as error:
                decode_error = scrub.one_line(error)
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # compile workers outlive a crash
            enter("")
            return WorkerExit(
                seconds=since - began,
                answer=answer,
                costs_s=costs_s,
                timed_out=timed_out,
                decode_error=decode_error,
                returncode=process.wait(),
                out_of_memory=_kernel_kills() > kills,
                last_line=_last_line(process, tail),
            )


def caches_below(folder: Path) -> dict[str, str]:
    """Return the environment variables by which torch and Triton keep what they compile below a folder."""
    return {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton")}


def _start(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a worker in a process group of its own. Raises `AtlasError`."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **QUIET, **variables, "PYTHONPATH": path}
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True)
    except OSError as error:
        remedy = "close other programs, then run the same command to continue"
        raise AtlasError(f"no process can be started: {error.strerror}", where=command[0], remedy=remedy) from None


def _messages(process: subprocess.Popen[bytes], deadline: float, tail: bytearray) -> Iterator[Message]:
    """Yield messages until the worker has exited and its output is read, even if a child still holds the pipes.

    Keeps the end of its standard error in `tail`. Raises `TimeoutError` at the deadline, and `msgspec.DecodeError` if a
    line is no message.
    """
    out, errors = _pipes(process)
    rest, watched, exited = b"", {out, errors}, -1
    with ExitStack() as stack:
        with suppress(AttributeError, OSError):  # without pidfd, the end of its output marks the end of the process
            exited = os.pidfd_open(process.pid)
            stack.callback(os.close, exited)
        while watched:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready, _, _ = select.select(watched | ({exited} - {-1}), [], [], min(left, LONGEST_WAIT_S))
            if exited in ready and out not in ready:
                return
            if errors in ready and not _keep_end(errors, tail):
                watched.discard(errors)
            if out in ready:
                chunk = os.read(out, CHUNK_BYTES)
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    yield msgspec.json.decode(line, type=Message)
                if len(rest) > MAX_LINE_BYTES:
                    raise msgspec.DecodeError(f"a message of more than {MAX_LINE_BYTES:,} bytes")
                if not chunk:
                    watched.discard(out)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.fileno(), process.stderr.fileno()


def _keep_end(errors: int, tail: bytearray) -> int:
    chunk = os.read(errors, CHUNK_BYTES)
    tail[:] = (tail + chunk)[-STDERR_TAIL_BYTES:]
    return len(chunk)


def _last_line(process: subprocess.Popen[bytes], tail: bytearray) -> str:
    """Return the last line of standard error of a worker that has ended."""
    _, errors = _pipes(process)
    os.set_blocking(errors, False)
    with suppress(BlockingIOError):
        _keep_end(errors, tail)
    told = tail.decode(errors="replace").strip().splitlines()
    return scrub.one_line(told[-1]) if told else ""


def _kernel_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory since boot; 0 where it doesn't count them."""
    return next((int(line.split()[1]) for line in lines(Path("/proc/vmstat")) if line.startswith("oom_kill ")), 0)
