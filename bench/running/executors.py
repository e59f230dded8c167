"""Run a worker somewhere and say how it ended. `LocalProcesses` runs it here, in a process group of its own.

Enter a request, leave an `Ended`: the answer, or what became of the process. The parent sleeps in `select` until the
worker says something: a parent that polls takes the core that it measures.

When a worker ends, all of its group is killed, PyTorch's compile workers too. Only a process that has left the group
on purpose (``setsid``) lives on: nothing but a cgroup would hold it, which takes rights that measuring doesn't need.
Nobody waits for it, and where it keeps a core or the device busy, the doctor says so before the next cell, and in its
record.

    python -m bench run --profile quick
"""

from __future__ import annotations

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
from bench.plans.messages import Answer, Message, Phase, Request
from bench.records.run_file import MAX_LINE_BYTES
from bench.records.scrub import one_line

ROOT = Path(__file__).resolve().parents[2]

LAST_WORDS_BYTES = 4096
"""Of a dead worker's standard error, from its end: enough for the line that says why."""

CHUNK_BYTES = 1 << 16
"""Read at once: what a pipe holds."""

LONGEST_WAIT_S = 3600.0
"""In one call of `select`, which refuses an unlimited number of seconds."""

QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class Ended:
    """How a worker ended: with an `answer`, `timed_out`, stopped for its `nonsense`, or by `returncode` (negative: the
    signal)."""

    seconds: float
    answer: Answer | None = None
    timed_out: bool = False
    nonsense: str = ""  # what is wrong with a message that cannot be read
    returncode: int | None = None
    out_of_memory: bool = False  # the kernel killed something for memory meanwhile
    is_lost: bool = False  # with the machine it ran on, or for what went wrong before it could be started there
    last_words: str = ""

    @property
    def cause(self) -> str:
        """Why there is no answer, in words."""
        if self.timed_out:
            return f"no answer within {self.seconds:.0f} s"
        if self.is_lost:
            return "its machine was lost"
        if self.nonsense:
            return f"its answer cannot be read: {self.nonsense}"
        if self.returncode is not None and self.returncode < 0:
            number = -self.returncode
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            return f"the process was ended by {name}"
        return f"the process ended with exit status {self.returncode}"


class Executor(Protocol):
    """Where workers run."""

    def run(
        self,
        request: Request,
        *,
        variables: Mapping[str, str],
        timeout_s: float,
        on_phase: Callable[[Phase], None],
        on_second: Callable[[], None] | None = None,
    ) -> Ended:
        """Run one worker with these environment variables; stop it after `timeout_s`, and when this is interrupted."""


WORKER = (sys.executable, "-m", "bench.measuring.worker")


@dataclass(frozen=True)
class LocalProcesses:
    """Workers on this machine, one at a time, each started by `command`."""

    command: tuple[str, ...] = WORKER

    def run(
        self,
        request: Request,
        *,
        variables: Mapping[str, str],
        timeout_s: float,
        on_phase: Callable[[Phase], None],
        on_second: Callable[[], None] | None = None,
    ) -> Ended:
        """See `Executor.run`. `on_second`, where given, is called about once a second meanwhile."""
        start, kills = time.monotonic(), _kernel_kills()
        answer, nonsense, timed_out = None, "", False
        with _process(self.command, variables) as process, _Pipes(process) as pipes:
            try:
                _send(process, request)
                for message in pipes.messages(start + timeout_s, on_second):
                    if isinstance(message, Phase):
                        on_phase(message)
                    else:
                        answer = message
                process.wait(max(0.0, start + timeout_s - time.monotonic()))
            except (TimeoutError, subprocess.TimeoutExpired):
                timed_out = answer is None
            except msgspec.DecodeError as error:
                nonsense = one_line(error)
            finally:
                _kill_group(process)  # compile workers too, which outlive a crash
            return Ended(
                seconds=time.monotonic() - start,
                answer=answer,
                timed_out=timed_out,
                nonsense=nonsense,
                returncode=process.wait(),
                out_of_memory=_kernel_kills() > kills,
                last_words=pipes.last_words(),
            )


def _send(process: subprocess.Popen[bytes], request: Request) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it died at once: its exit status tells more
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        process.stdin.flush()


def _process(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
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
        remedy = "end other programs; the same command then goes on"
        raise AtlasError(f"no process can be started: {error.strerror}", where=command[0], remedy=remedy) from None


@dataclass
class _Pipes:
    """What a worker says: messages on its standard output, the rest on standard error, of which the end is kept."""

    process: subprocess.Popen[bytes]
    _tail: bytes = b""
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        out, errors = self.process.stdout, self.process.stderr
        assert out is not None
        assert errors is not None
        self.out, self.errors = out.fileno(), errors.fileno()
        self.ended = -1
        with suppress(AttributeError, OSError):  # where there is none, the end of its output tells the end of a process
            self.ended = os.pidfd_open(self.process.pid)
            self._stack.callback(os.close, self.ended)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def messages(self, deadline: float, on_second: Callable[[], None] | None) -> Iterator[Message]:
        """Messages as they come, until the worker has ended and all are read, although what it has started may live on
        and hold its pipes. Raises `TimeoutError` at the deadline and `msgspec.DecodeError` for what is no message."""
        rest = b""
        heard = {self.out, self.errors} | ({self.ended} - {-1})
        while heard & {self.out, self.errors}:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready, _, _ = select.select(heard, [], [], min(left, 1.0) if on_second else min(left, LONGEST_WAIT_S))
            if self.ended in ready and self.out not in ready:
                return
            if self.errors in ready and not self._keep_tail():
                heard.discard(self.errors)
            if self.out in ready:
                chunk = os.read(self.out, CHUNK_BYTES)
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield msgspec.json.decode(line, type=Message)
                if len(rest) > MAX_LINE_BYTES:
                    raise msgspec.DecodeError(f"a message of more than {MAX_LINE_BYTES:,} bytes")
                if not chunk:
                    heard.discard(self.out)
            if not ready and on_second:
                on_second()

    def _keep_tail(self) -> int:
        chunk = os.read(self.errors, CHUNK_BYTES)
        self._tail = (self._tail + chunk)[-LAST_WORDS_BYTES:]
        return len(chunk)

    def last_words(self) -> str:
        """The last line on standard error, of a worker that has ended."""
        os.set_blocking(self.errors, False)
        with suppress(BlockingIOError):
            self._keep_tail()
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return one_line(lines[-1]) if lines else ""


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _kernel_kills() -> int:
    """How many processes the kernel has killed for memory since it started; 0 where it doesn't say."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
