"""Run one worker process and report how it ended.

Takes a request; returns a `WorkerExit` with the answer or the reason there is none. `LocalProcesses` starts the worker
on this machine, in its own process group. The parent sleeps in `select`, because a parent that polls uses the core that
it measures.

When a worker ends, its whole group is killed, including PyTorch's compile workers. A process that left the group with
``setsid`` survives: only a cgroup could hold it, and that needs rights that measuring doesn't. If it keeps a core or
the device busy, the doctor reports it before the next cell and in that cell's record.
"""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

import msgspec

from bench.errors import AtlasError
from bench.plans.messages import STARTING, Answer, Message, Phase, Request
from bench.records import scrub
from bench.records.run_file import MAX_LINE_BYTES

ROOT = Path(__file__).resolve().parents[2]

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
        on_second: Callable[[], None] | None = None,
    ) -> WorkerExit:
        """Run one worker with extra environment variables, and return how it ended.

        Stops it after `timeout_s` and on `KeyboardInterrupt`. Calls `on_phase` for each phase that it reports, and
        `on_second` about once a second. Raises `AtlasError` if no worker can be started.
        """


WORKER = (sys.executable, "-m", "bench.measuring.worker")


def refuse_windows() -> None:
    """Raise `AtlasError` on Windows, where `LocalProcesses` cannot run."""
    if sys.platform == "win32":
        remedy = "run it in WSL 2 (wsl --install), where NVIDIA GPUs can be measured too"
        raise AtlasError("measuring requires Linux or macOS", where="Windows", remedy=remedy)


class _Stopwatch:
    """Divides the time of a worker among its phases. The first one ends with the worker's first message."""

    def __init__(self) -> None:
        self.began = self._since = time.monotonic()
        self._phase = STARTING
        self._costs_s: dict[str, float] = {}

    def enter(self, phase: str) -> None:
        """Begin a phase, or go on with it."""
        self._add()
        self._phase = phase

    def stop(self) -> dict[str, float]:
        """Return the seconds of each phase."""
        self._add()
        return self._costs_s

    def _add(self) -> None:
        now = time.monotonic()
        self._costs_s[self._phase] = self._costs_s.get(self._phase, 0.0) + now - self._since
        self._since = now


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
        on_second: Callable[[], None] | None = None,
    ) -> WorkerExit:
        """See `Executor.run`."""
        refuse_windows()
        stopwatch, kills = _Stopwatch(), _kernel_kills()
        answer, decode_error, timed_out = None, "", False
        with _start(self.command, variables) as process, _Pipes(process) as pipes:
            try:
                assert process.stdin is not None
                with suppress(BrokenPipeError):  # one that died at once tells why by its exit status
                    process.stdin.write(msgspec.json.encode(request) + b"\n")
                    process.stdin.flush()
                pipes.deadline = stopwatch.began + timeout_s
                for message in pipes.messages(on_second):
                    if isinstance(message, Phase):
                        stopwatch.enter(message.name)
                        on_phase(message)
                    else:
                        answer = message
                process.wait(max(0.0, pipes.deadline - time.monotonic()))
            except (TimeoutError, subprocess.TimeoutExpired):
                timed_out = answer is None
            except msgspec.DecodeError as error:
                decode_error = scrub.one_line(error)
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # compile workers outlive a crash
            costs_s = stopwatch.stop()
            return WorkerExit(
                seconds=sum(costs_s.values()),
                answer=answer,
                costs_s=costs_s,
                timed_out=timed_out,
                decode_error=decode_error,
                returncode=process.wait(),
                out_of_memory=_kernel_kills() > kills,
                last_line=pipes.last_line(),
            )


def caches_below(folder: Path) -> dict[str, str]:
    """Return the environment variables by which torch and Triton keep what they compile below a folder."""
    return {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton")}


def _start(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a worker in a process group of its own. Raises `AtlasError`."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **QUIET, **variables, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
    except OSError as error:
        remedy = "close other programs, then run the same command to continue"
        raise AtlasError(f"no process can be started: {error.strerror}", where=command[0], remedy=remedy) from None


@dataclass
class _Pipes:
    """The output of a worker: messages on standard output, and the end of standard error."""

    process: subprocess.Popen[bytes]
    deadline: float = math.inf
    _tail: bytes = b""
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        out, errors = self.process.stdout, self.process.stderr
        assert out is not None
        assert errors is not None
        self.out, self.errors = out.fileno(), errors.fileno()
        self.exited = -1
        with suppress(AttributeError, OSError):  # without pidfd, the end of its output marks the end of the process
            self.exited = os.pidfd_open(self.process.pid)
            self._stack.callback(os.close, self.exited)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def messages(self, on_second: Callable[[], None] | None) -> Iterator[Message]:
        """Yield messages until the worker has exited and its output is read, even if a child still holds the pipes.

        Raises `TimeoutError` at the `deadline`, and `msgspec.DecodeError` if a line is no message.
        """
        rest = b""
        watched = {self.out, self.errors} | ({self.exited} - {-1})
        while watched & {self.out, self.errors}:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready, _, _ = select.select(watched, [], [], min(left, 1.0) if on_second else min(left, LONGEST_WAIT_S))
            if self.exited in ready and self.out not in ready:
                return
            if self.errors in ready and not self._keep_tail():
                watched.discard(self.errors)
            if self.out in ready:
                chunk = os.read(self.out, CHUNK_BYTES)
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield msgspec.json.decode(line, type=Message)
                if len(rest) > MAX_LINE_BYTES:
                    raise msgspec.DecodeError(f"a message of more than {MAX_LINE_BYTES:,} bytes")
                if not chunk:
                    watched.discard(self.out)
            if not ready and on_second:
                on_second()

    def _keep_tail(self) -> int:
        chunk = os.read(self.errors, CHUNK_BYTES)
        self._tail = (self._tail + chunk)[-STDERR_TAIL_BYTES:]
        return len(chunk)

    def last_line(self) -> str:
        """Return the last line of standard error; call it after the worker has ended."""
        os.set_blocking(self.errors, False)
        with suppress(BlockingIOError):
            self._keep_tail()
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return scrub.one_line(lines[-1]) if lines else ""


def _kernel_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory since boot; 0 where it doesn't count them."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
