"""The progress of a build: a bar where standard error is a terminal, and nothing elsewhere.

Counts the steps of this process and of those forked from it after `ProgressBar.count`.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import sys
import threading
import time
from multiprocessing.sharedctypes import Synchronized
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

REFRESH_S = 0.1


class ProgressBar:
    """The bar of one build. Call `count` before processes are forked, and `show` after: it starts threads."""

    def __init__(self) -> None:
        self._done: Synchronized[int] | None = None
        self._progress: Progress | None = None
        self._streams: list[tuple[logging.StreamHandler[Any], Any]] = []

    def count(self, steps: int) -> None:
        """Begin a build of so many steps."""
        if not sys.stderr.isatty() or not logging.getLogger("mkdocs").isEnabledFor(logging.INFO):  # as by --quiet
            return
        from rich.console import Console  # noqa: PLC0415  # most builds show nothing
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        self._done = multiprocessing.Value("i", 0)
        columns = TextColumn("building the guide"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._progress.add_task("", total=steps)

    def show(self) -> None:
        """Show the bar, with log lines above it."""
        if self._progress is None or self._done is None:
            return
        atexit.register(self.end)  # an interrupted build has to restore the cursor
        self._progress.start()  # replaces sys.stderr, which handlers do not notice
        for handler in logging.getLogger("mkdocs").handlers:
            if isinstance(handler, logging.StreamHandler) and (before := handler.setStream(sys.stderr)):
                self._streams.append((handler, before))
        threading.Thread(target=self._follow, args=(self._progress, self._done), daemon=True).start()

    def step(self) -> None:
        """Count one step as done."""
        if self._done is not None:
            with self._done.get_lock():
                self._done.value += 1

    def end(self) -> None:
        """Remove the bar."""
        progress, done, self._progress, self._done = self._progress, self._done, None, None
        for handler, before in self._streams:
            handler.setStream(before)
        self._streams.clear()
        if progress and done:
            progress.update(progress.task_ids[0], completed=done.value)  # a short build ends between two looks
            progress.stop()

    def _follow(self, progress: Progress, done: Synchronized[int]) -> None:
        (task,) = progress.task_ids
        while self._progress is progress:
            progress.update(task, completed=done.value)
            time.sleep(REFRESH_S)
