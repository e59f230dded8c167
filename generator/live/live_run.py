"""Measure this machine beside the server of the guide: install the dependencies, then run the quick profile.

Takes the folder of the project and a time budget; each step is a process of its own. `LiveRun.situation` says what
is being done, and `LiveRun.wait` waits until that changes. The server counts its requests in `LiveRun.served`,
so that rounds that were timed meanwhile are repeated, and makes no page beforehand unless `LiveRun.is_idle`.

    make guide
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from mkdocs.livereload import LiveReloadServer

from bench import live_progress, served_requests
from bench.commands import INTERRUPTED
from bench.live_progress import LiveProgress
from bench.served_requests import ServedRequests

BUDGET = "ATLAS_MEASURE"
"""The environment variable with the time that measuring may take. With it, `mkdocs serve` measures as well."""

BENCH = (sys.executable, "-m", "bench")
"""The command line that installs and measures."""

LOOK_EVERY_S = 0.5
"""Time between two looks at the progress of a run, which take a few microseconds."""

PATIENCE_S = 20.0
"""Time that a process has to end when it is asked to."""

UNTIMED = ("starting", "building")
"""Phases of a run in which the machine may do something else: what is timed comes later."""


class Stage(Enum):
    """What is being done."""

    INSTALLING = "installing"
    CHECKING = "checking"
    MEASURING = "measuring"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    CLOSED = "closed"  # and the reader has seen it


class Situation(NamedTuple):
    """What is being done, and how far it is. `number` grows with each change."""

    number: int
    stage: Stage
    progress: LiveProgress | None = None


class LiveRun:
    """The steps of a live_run, one after the other, in processes of their own."""

    def __init__(self, root: Path, budget: str) -> None:
        folder = root / ".cache" / "guide"
        self.served = ServedRequests(folder / "requests", create=True)
        self._progress = folder / "progress.json"
        self._progress.unlink(missing_ok=True)
        self._root = root
        self._variables = {
            served_requests.VARIABLE: str(folder / "requests"),
            live_progress.VARIABLE: str(self._progress),
        }
        self._measure = ("run", "--profile", "quick", "--time-budget", budget)
        self._changed = threading.Condition()
        self._situation = Situation(0, Stage.INSTALLING)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    # ── What others see ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def situation(self) -> Situation:
        """What is being done now."""
        with self._changed:
            return self._situation

    @property
    def is_running(self) -> bool:
        """Whether there is anything to stop."""
        return self.situation.stage in (Stage.INSTALLING, Stage.CHECKING, Stage.MEASURING)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is timed now: neither a model nor the load of this machine."""
        progress = LiveProgress.read(self._progress)
        is_untimed = progress is not None and progress.phase in UNTIMED
        return self.situation.stage not in (Stage.CHECKING, Stage.MEASURING) or is_untimed

    def wait(self, number: int, timeout_s: float) -> Situation:
        """Return the situation as soon as its number differs from this one, and after the timeout at the latest."""
        with self._changed:
            self._changed.wait_for(lambda: self._situation.number != number, timeout_s)
            return self._situation

    def wait_until_idle(self) -> None:
        """Return when `is_idle`."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_idle)

    def close(self) -> None:
        """Show nothing more of a measurement that has ended."""
        if not self.is_running:
            self._enter(Stage.CLOSED)

    # ── What is done ────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, when: Callable[[], None], log: Callable[[str], object]) -> None:
        """Begin in a thread, after `when` has returned. `log` prints a line."""

        def work() -> None:
            when()
            self._enter(self._last_stage())
            log(_LAST_WORDS[self.situation.stage])

        threading.Thread(target=work, daemon=True).start()

    def stop(self) -> None:
        """End the present process, and begin no other one. What was measured stays."""
        with self._changed:
            self._is_stopped, process = True, self._process
        if process is None or process.poll() is not None:
            return
        _interrupt(process)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        process.kill()

    def _last_stage(self) -> Stage:
        if status := self._run("install"):
            return self._failure(status)
        self._enter(Stage.CHECKING)
        return self._failure(status) if (status := self._run(*self._measure)) else Stage.DONE

    def _failure(self, status: int) -> Stage:
        return Stage.STOPPED if self._is_stopped or status == INTERRUPTED else Stage.FAILED

    def _run(self, *arguments: str) -> int:
        """Run a command of `python -m bench` to its end, following its progress. Returns its exit status."""
        with self._changed:
            if self._is_stopped:
                return INTERRUPTED
            self._process = _started([*BENCH, *arguments], self._root, self._variables)
        while (status := self._process.poll()) is None:
            time.sleep(LOOK_EVERY_S)
            if (progress := LiveProgress.read(self._progress)) != self.situation.progress:
                self._enter(Stage.MEASURING, progress)
        return status

    def _enter(self, stage: Stage, progress: LiveProgress | None = None) -> None:
        with self._changed:
            self._situation = Situation(self._situation.number + 1, stage, progress)
            self._changed.notify_all()


def conduct(live_run: LiveRun, server: LiveReloadServer) -> None:
    """Begin to measure once the server answers. Ctrl-C then ends measuring; once that has ended, it ends the server."""

    def wait_for_server() -> None:
        while not server.serve_thread.is_alive():
            time.sleep(LOOK_EVERY_S / 10)
        _say(f"The guide is at {server.url}; this machine is being measured meanwhile. Press Ctrl-C to stop measuring.")

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGINT or not live_run.is_running:
            raise KeyboardInterrupt  # MkDocs then ends the server
        threading.Thread(target=live_run.stop).start()

    for number in (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
        signal.signal(number, interrupt)
    live_run.start(wait_for_server, _say)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201  # a command line


_LAST_WORDS = {
    Stage.DONE: "This machine has been measured. The guide is served until you press Ctrl-C.",
    Stage.STOPPED: "Measuring has stopped; finished records are kept. Press Ctrl-C again to stop the server.",
    Stage.FAILED: "This machine could not be measured: see above. The guide is served until you press Ctrl-C.",
}


def _started(command: Sequence[str], folder: Path, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that Ctrl-C in the terminal does not reach: the server decides what ends."""
    is_windows = sys.platform == "win32"
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,  # which closes when this process ends, however it does
        start_new_session=not is_windows,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, with all that it started."""
    if sys.platform == "win32":
        process.terminate()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
