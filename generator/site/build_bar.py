"""How far a build has come: a bar where somebody watches a terminal, and nothing elsewhere.

Steps that are done enter, from this process and from those that are copies of it; a line on standard error leaves.

    mkdocs build --strict
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


class Bar:
    """What a build shows of itself. `count` comes before further processes, `show` after them: it starts threads."""

    def __init__(self) -> None:
        self._done: Synchronized[int] | None = None
        self._progress: Progress | None = None
        self._streams: list[tuple[logging.StreamHandler[Any], Any]] = []

    def count(self, steps: int) -> None:
        """A build begins that has so many steps."""
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
        """Show them. Log lines stand above the bar from here on."""
        if self._progress is None or self._done is None:
            return
        atexit.register(self.end)  # who interrupts a build wants the cursor back
        self._progress.start()  # puts its own in the place of sys.stderr, which handlers do not notice
        for handler in logging.getLogger("mkdocs").handlers:
            if isinstance(handler, logging.StreamHandler) and (before := handler.setStream(sys.stderr)):
                self._streams.append((handler, before))
        threading.Thread(target=self._follow, args=(self._progress, self._done), daemon=True).start()

    def step(self) -> None:
        """One is done."""
        if self._done is not None:
            with self._done.get_lock():
                self._done.value += 1

    def end(self) -> None:
        """The build is over, well or not: the bar goes."""
        progress, self._progress, self._done = self._progress, None, None
        for handler, before in self._streams:
            handler.setStream(before)
        self._streams.clear()
        if progress:
            progress.stop()

    def _follow(self, progress: Progress, done: Synchronized[int]) -> None:
        (task,) = progress.task_ids
        while self._progress is progress:
            progress.update(task, completed=done.value)
            time.sleep(REFRESH_S)


bar = Bar()
"""One per process: the hooks of MkDocs are functions, and are loaded anew for each language."""
