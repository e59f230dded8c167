"""Report the progress of a sweep to another program as well, which shows it elsewhere.

Takes any reporter; returns one that does the same and keeps `LiveProgress` up to date.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.errors import Complaint
from bench.live_progress import VARIABLE, LiveProgress
from bench.plans.messages import STARTING, Phase
from bench.plans.plan import Step
from bench.records.record import Record
from bench.running.sweep import Reporter


def watched(reporter: Reporter) -> Reporter:
    """Return the reporter, one that also writes a file if the environment names it."""
    path = os.environ.get(VARIABLE)
    return LiveReporter(reporter, Path(path)) if path else reporter


class LiveReporter:
    """Passes every event on, and writes the file where something changes that others show."""

    def __init__(self, reporter: Reporter, path: Path) -> None:
        self._reporter = reporter
        self._path = path
        self.on_second: Callable[[], None] | None = reporter.on_second
        self._progress = LiveProgress()

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        """See `Reporter.begin`."""
        self._show(
            LiveProgress(
                model=step.planned.cell.model,
                number=done + 1,
                of=done + left,
                ends_at=time.time() + left_s,
                phase=STARTING,
            )
        )
        self._reporter.begin(step, done, left, left_s)

    def warn(self, complaint: Complaint) -> None:
        """See `Reporter.warn`."""
        self._reporter.warn(complaint)

    def phase(self, phase: Phase) -> None:
        """See `Reporter.phase`. Most of them only count rounds, which are timed now: then nothing is written."""
        if phase.name != self._progress.phase:
            self._show(msgspec.structs.replace(self._progress, phase=phase.name))
        self._reporter.phase(phase)

    def end(self, record: Record, seconds: float) -> None:
        """See `Reporter.end`."""
        self._show(msgspec.structs.replace(self._progress, phase=""))
        self._reporter.end(record, seconds)

    def _show(self, progress: LiveProgress) -> None:
        self._progress = progress
        progress.write(self._path)
