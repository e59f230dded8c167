"""Run one worker process and report how it ended.

`run_worker` takes a request; it returns a `WorkerExit` with the answer or the reason there is none. `preflight` asks a
worker about its machine. The worker starts in its own process group, which is killed as soon as it ends, with PyTorch's
compile workers. The parent sleeps in `select`, because a parent that polls uses the core that it measures.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from bench.errors import AtlasError
from bench.machine import ROOT, lines
from bench.plans.messages import STARTING, Answer, Machine, Message, Phase, Preflight, Recipe, Refusal, Request
from bench.plans.profiles import KEEP_MEMORY, Profile
from bench.records import scrub

STDERR_TAIL_BYTES = 4096
"""How much of the end of a worker's standard error is read: enough for the line with the cause."""

CHUNK_BYTES = 1 << 16
"""The capacity of a pipe."""

PREFLIGHT_TIMEOUT_S = 300.0
"""Importing torch from a cold disk takes a minute, and reading a checkpoint from the hub as long again."""

QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
}

WORKER = (sys.executable, "-m", "bench.measuring.worker")


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


Executor = Callable[..., WorkerExit]
"""`run_worker`, or another function with its arguments."""


def refuse_windows() -> None:
    """Raise `AtlasError` on Windows, whose `select` knows no pipes and which has no process groups to kill."""
    if sys.platform == "win32":
        remedy = "run it in WSL 2 (wsl --install), where NVIDIA GPUs can be measured too"
        raise AtlasError("measuring requires Linux or macOS", where="Windows", remedy=remedy)


def run_worker(
    request: Request,
    *,
    variables: Mapping[str, str],
    timeout_s: float,
    on_phase: Callable[[Phase], None] = lambda _: None,
    command: tuple[str, ...] = WORKER,
) -> WorkerExit:
    """Run one worker with extra environment variables, and return how it ended.

    Stops it after `timeout_s` and on `KeyboardInterrupt`. Calls `on_phase` for each phase that it reports. Raises
    `AtlasError` if no worker can be started.
    """
    refuse_windows()
    kills, began = _kernel_kills(), time.monotonic()
    phase, since, costs_s = STARTING, began, defaultdict[str, float](float)
    answer, decode_error, timed_out = None, "", False

    def enter(following: str) -> None:
        nonlocal phase, since
        now = time.monotonic()
        costs_s[phase] += now - since
        phase, since = following, now

    with tempfile.TemporaryFile() as errors, _start(command, variables, errors) as process:
        try:
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # one that died at once tells why by its exit status
                process.stdin.write(msgspec.json.encode(request) + b"\n")
                process.stdin.flush()
            for message in _messages(process, began + timeout_s):
                if isinstance(message, Phase):
                    enter(message.name)
                    on_phase(message)
                else:
                    answer = message
            process.wait(max(0.0, began + timeout_s - time.monotonic()))
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
            last_line=_last_line(errors),
        )


def caches_below(folder: Path) -> dict[str, str]:
    """Return the environment variables by which torch and Triton keep what they compile below a folder."""
    return {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton")}


def _start(command: tuple[str, ...], variables: Mapping[str, str], errors: BinaryIO) -> subprocess.Popen[bytes]:
    """Start a worker in a process group of its own. Raises `AtlasError`."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **QUIET, **variables, "PYTHONPATH": path}
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=errors, env=environment, start_new_session=True
        )
    except OSError as error:
        remedy = "close other programs, then run the same command to continue"
        raise AtlasError(f"no process can be started: {error.strerror}", where=command[0], remedy=remedy) from None


def _messages(process: subprocess.Popen[bytes], deadline: float) -> Iterator[Message]:
    """Yield messages until the worker ends: the programs that it starts have no access to its channel.

    Raises `TimeoutError` at the deadline, and `msgspec.DecodeError` if a line is no message.
    """
    assert process.stdout is not None
    out, rest = process.stdout.fileno(), b""
    while select.select([out], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(out, CHUNK_BYTES)
        if not chunk:
            return
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield msgspec.json.decode(line, type=Message)
    raise TimeoutError


def _last_line(errors: BinaryIO) -> str:
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - STDERR_TAIL_BYTES))
    told = errors.read(STDERR_TAIL_BYTES).decode(errors="replace").strip().splitlines()
    return scrub.one_line(told[-1]) if told else ""


def _kernel_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory since boot; 0 where it doesn't count them."""
    return next((int(line.split()[1]) for line in lines(Path("/proc/vmstat")) if line.startswith("oom_kill ")), 0)


# ── Before measuring ────────────────────────────────────────────────────────────────────────────────────────────────


def preflight(executor: Executor, device: str | None, recipes: Sequence[Recipe], profile: Profile) -> Machine:
    """Return the machine that a worker finds. Raises `AtlasError`."""
    request = Preflight(
        device=device, recipes=tuple(recipe for recipe in recipes if recipe.needs_hub), allow_busy=profile.allow_busy
    )
    variables = variables_of(request.recipes, keep_memory=profile.keep_memory)
    ended = executor(request, variables=variables, timeout_s=PREFLIGHT_TIMEOUT_S)
    machine = answer_of(ended, "torch cannot be used here")
    assert isinstance(machine, Machine)
    return machine


def answer_of(ended: WorkerExit, failure: str) -> Answer:
    """Return the worker's answer. Raises `AtlasError` for a refusal, or with `failure` if there is no answer."""
    match ended.answer:
        case Refusal(what=what, where=where, remedy=remedy):
            raise AtlasError(what, where=where, remedy=remedy)
        case None:
            remedy = (
                "install the measuring dependencies: python -m bench install" if "No module" in ended.last_line else ""
            )
            raise AtlasError(f"{failure}: {ended.last_line or ended.cause}", remedy=remedy)
    return ended.answer


def variables_of(recipes: Sequence[Recipe], *, keep_memory: bool) -> dict[str, str]:
    """Return a worker's environment variables.

    They forbid network access unless a checkpoint may come from the hub. With `keep_memory`, malloc keeps freed memory,
    unless the user has set the same variables.
    """
    offline = {} if any(recipe.needs_hub for recipe in recipes) else {"HF_HUB_OFFLINE": "1"}
    kept = {name: KEEP_MEMORY[name] for name in KEEP_MEMORY if keep_memory and name not in os.environ}
    return offline | kept
