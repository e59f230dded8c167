"""Run a worker somewhere and say how it ended. `LocalProcesses` runs it here, in a process group of its own.

Enter a request, leave an `Ended`: the answer, or what became of the process. The parent sleeps in `select` until the
worker says something: a parent that polls takes the core that it measures.

    python -m bench run --profile quick
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import msgspec

from bench.job import Answer, Message, Phase, Request
from bench.scrub import one_line

ROOT = Path(__file__).resolve().parents[1]

LAST_WORDS_BYTES = 4096
"""Of a dead worker's standard error, from its end: enough for the line that says why."""

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
    """How a worker ended: with an `answer`, or `timed_out`, or by `returncode` (negative: the signal)."""

    seconds: float
    answer: Answer | None = None
    timed_out: bool = False
    returncode: int | None = None
    out_of_memory: bool = False  # the kernel killed something for memory meanwhile
    last_words: str = ""

    @property
    def cause(self) -> str:
        """Why there is no answer, in words."""
        if self.timed_out:
            return f"no answer within {self.seconds:.0f} s"
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


WORKER = (sys.executable, "-m", "bench.worker")


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
        answer, fault, timed_out = None, "", False
        with tempfile.TemporaryFile() as errors, _process(self.command, variables, errors) as process:
            try:
                _send(process, request)
                for message in _messages(process, start + timeout_s, on_second):
                    if isinstance(message, Phase):
                        on_phase(message)
                    else:
                        answer = message
                process.wait(max(0.0, start + timeout_s - time.monotonic()))
            except (TimeoutError, subprocess.TimeoutExpired):
                timed_out = answer is None
            except msgspec.DecodeError as error:
                fault = f"its answer cannot be read: {error}"
            finally:
                _kill_group(process)  # compile workers too, which outlive a crash
            return Ended(
                seconds=time.monotonic() - start,
                answer=answer,
                timed_out=timed_out,
                returncode=process.wait(),
                out_of_memory=_kernel_kills() > kills,
                last_words=fault or _last_words(errors),
            )


def _send(process: subprocess.Popen[bytes], request: Request) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it died at once: its exit status tells more
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        process.stdin.flush()


def _process(command: Sequence[str], variables: Mapping[str, str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **QUIET, **variables, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
    )


def _messages(
    process: subprocess.Popen[bytes], deadline: float, on_second: Callable[[], None] | None
) -> Iterator[Message]:
    """Messages as they come, until the worker closes its end. Raises `TimeoutError` at the deadline."""
    assert process.stdout is not None
    rest = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        ready, _, _ = select.select(
            [process.stdout], [], [], min(left, 1.0) if on_second else min(left, LONGEST_WAIT_S)
        )
        if not ready:
            if on_second:
                on_second()
            continue
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield msgspec.json.decode(line, type=Message)


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


def _last_words(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - LAST_WORDS_BYTES))
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return one_line(lines[-1]) if lines else ""
