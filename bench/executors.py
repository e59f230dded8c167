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
from collections.abc import Callable, Iterator, Mapping
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


class LocalProcesses:
    """Workers on this machine, one at a time."""

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
        with tempfile.TemporaryFile() as errors, _process(variables, errors) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            answer, timed_out = None, False
            try:
                with suppress(BrokenPipeError):
                    process.stdin.write(msgspec.json.encode(request) + b"\n")
                    process.stdin.flush()
                for line in _lines(process.stdout, start + timeout_s, on_second):
                    message: Message = msgspec.json.decode(line, type=Message)
                    if isinstance(message, Phase):
                        on_phase(message)
                    else:
                        answer = message
            except TimeoutError:
                timed_out = True
            finally:
                if timed_out or answer is not None or sys.exc_info()[0]:
                    _kill_group(process)
            returncode = process.wait()
            _kill_group(process)  # compile workers that outlived a crash
            return Ended(
                seconds=time.monotonic() - start,
                answer=answer,
                timed_out=timed_out,
                returncode=returncode,
                out_of_memory=_kernel_kills() > kills,
                last_words=_last_words(errors),
            )


def _process(variables: Mapping[str, str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "bench.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **QUIET, **variables, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
    )


def _lines(pipe: IO[bytes], deadline: float, on_second: Callable[[], None] | None) -> Iterator[bytes]:
    """Whole lines as they come, until the pipe is closed. Raises `TimeoutError` at the deadline."""
    rest = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        ready, _, _ = select.select([pipe], [], [], min(left, 1.0) if on_second else left)
        if not ready:
            if on_second:
                on_second()
            continue
        chunk = os.read(pipe.fileno(), 1 << 16)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


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
