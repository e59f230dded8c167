"""Measure this machine beside the server of the guide, and show at the foot of every page how far it is.

`LiveRun` installs what measuring takes, then runs the quick profile, each in a process of its own; the lines that a run
prints say how far it is. `Strip` tells it in the language of each page, and answers ``strip.js``, which asks for news.

    make guide
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import click

from bench.commands import INTERRUPTED
from generator.figures.markup import render
from generator.figures.words import Words
from generator.pages.guide import Guide

BENCH = (sys.executable, "-u", "-X", "utf8", "-m", "bench")

PATIENCE_S = 20.0
"""Time that a process has to end when it is asked to."""

FILES = {"strip.js": "text/javascript", "strip.css": "text/css"}

_BEGUN = re.compile(r"\[(\d+)/(\d+)\] (.+), process \d+ … about (.+) left")
"""The line of `bench.running.progress.Reporter` when a process begins."""


class Stage(Enum):
    """The present step. The value of a last step is the message in the terminal."""

    INSTALLING = "installing"
    MEASURING = "measuring"  # the machine is checked first, without any progress
    DONE = "This machine has been measured. The guide is served until you press Ctrl-C."
    STOPPED = "Measuring has stopped; finished records are kept. Press Ctrl-C again to stop the server."
    FAILED = "This machine could not be measured: see above. The guide is served until you press Ctrl-C."
    CLOSED = "closed"  # by the reader


class Progress(NamedTuple):
    """The process that has begun last, and the minutes until all have ended."""

    model: str
    number: int
    of: int
    minutes: int


def progress_of(line: str) -> Progress | None:
    """Return the progress that a line of a run tells, if it does."""
    if (match := _BEGUN.match(line)) is None:
        return None
    seconds = {"s": 1, "min": 60, "h": 3600}
    left_s = sum(int(count) * seconds[unit] for count, unit in re.findall(r"(\d+) (s|min|h)\b", match[4]))
    return Progress(match[3], int(match[1]), int(match[2]), max(1, math.ceil(left_s / 60)))


class LiveRun:
    """The steps, one after the other, below the folder of the project."""

    def __init__(self, root: Path, budget: str) -> None:
        self.stage, self._root, self._budget = Stage.INSTALLING, root, budget
        self.progress: Progress | None = None
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped = False

    @property
    def is_running(self) -> bool:
        """Whether there is anything to stop."""
        return self.stage in (Stage.INSTALLING, Stage.MEASURING)

    def begin(self, url: str) -> None:
        """Measure while the guide is served at `url`. Ctrl-C then ends measuring; once that has ended, the server."""

        def interrupt(*_: object) -> None:
            if not self.is_running:
                raise KeyboardInterrupt  # MkDocs then ends the server
            threading.Thread(target=self.stop).start()

        click.echo(f"The guide is at {url}; this machine is measured meanwhile. Press Ctrl-C to stop measuring.")
        signal.signal(signal.SIGINT, interrupt)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        """Install and measure, and print what the commands print."""
        status = self._run("install")
        if not status:
            self.stage = Stage.MEASURING
            status = self._run("run", "--profile", "quick", "--time-budget", self._budget)
        is_stopped = self._is_stopped or status == INTERRUPTED
        self.stage = Stage.STOPPED if is_stopped else Stage.FAILED if status else Stage.DONE
        click.echo(self.stage.value)

    def _run(self, *arguments: str) -> int:
        """Run a command of `python -m bench`, which Ctrl-C in the terminal does not reach. Return its exit status."""
        self._process = process = subprocess.Popen(
            [*BENCH, *arguments], cwd=self._root, stdout=subprocess.PIPE, encoding="utf-8", start_new_session=True
        )
        if self._is_stopped:
            self.stop()
        for line in process.stdout or ():
            click.echo(line.rstrip())
            self.progress = progress_of(line) or self.progress
        return process.wait()

    def stop(self) -> None:
        """End the present process with all that it started, and let no other one measure. Finished records stay."""
        self._is_stopped, process = True, self._process
        if process and process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
            process.kill()


class Strip:
    """The strip in all languages of a guide, below `mount_path`. The server has its own addresses in `address`."""

    def __init__(self, live_run: LiveRun, guide: Guide, mount_path: str) -> None:
        self.live_run, self._guide, self._root = live_run, guide, mount_path
        self.address = f"{mount_path}measuring/"

    def answer(self, name: str, method: str) -> tuple[str, bytes]:
        """Return the type and the content of a name in its folder: a file, or the code of a language."""
        if name in FILES:
            return FILES[name], Path(__file__).with_name(name).read_bytes()
        if name == "close" and method == "POST" and not self.live_run.is_running:
            self.live_run.stage = Stage.CLOSED
        return "text/html; charset=utf-8", self.html(name).encode()

    def html(self, code: str) -> str:
        """Return the strip in a language, "" once the reader has closed it."""
        language = next((each for each in self._guide.languages if each.code == code), None)
        if language is None or self.live_run.stage is Stage.CLOSED:
            return ""
        return render(
            "measuring.html.jinja",
            address=self.address,
            device=min(self._guide.results.own_devices, default=""),
            devices=f"{self._root}{language.prefix}devices/",
            gettext=language.gettext,
            language=language,
            run=self.live_run,
            words=Words(language, html=True),
        )
