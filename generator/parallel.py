"""Several builds, as many at once as there are cores, each in a process of its own; their log reads as that of one.

In: functions that build. Out: what they write, and return; their messages, so that warnings of all of them count; and
one failure for theirs.

    mkdocs build --strict
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from mkdocs.exceptions import Abort

from bench.machine import cores

Item = TypeVar("Item")
Made = TypeVar("Made")

_log = logging.getLogger("mkdocs.plugins.atlas")

FORKS = sys.platform == "linux" and (cores() or 1) > 1
"""Whether a process can be had as a copy of this one, with all that it has loaded, and would gain time."""


_ENDED = EOFError, OSError, pickle.UnpicklingError
"""What reading from a process that has ended may raise: maybe it was in the midst of a word."""


class Builds:
    """Builds beside that of this process, which comes last; elsewhere than on Linux they follow it, one by one."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], Any]] = []
        self._running: list[BaseProcess] = []
        self._listener: threading.Thread | None = None
        self._made: list[Any] = []

    def start(self, builds: Iterable[Callable[[], Any]]) -> None:
        """Begin."""
        if not FORKS:
            self._waiting = list(builds)
            return
        # A pipe for each: of a queue, one that is ended in the midst of a word would keep the lock.
        ears = []
        for build in builds:
            earlier = [each.sentinel for each in self._running]
            process, ear = _begun(self._run, build, earlier)
            self._running.append(process)
            ears.append(ear)
        self._made = [None] * len(ears)
        self._listener = threading.Thread(target=_listen, args=(ears, self._made), daemon=True)  # after the processes
        self._listener.start()

    def take_turn(self) -> None:
        """Wait until there is a core for the build of this process."""
        _wait_for_a_core(each.sentinel for each in self._running)

    def finish(self) -> list[Any]:
        """Wait for all of them; what each returned. Raises `Abort` where one failed, having told why."""
        made = [build() for build in self._waiting]
        for process in self._running:
            process.join()
        failed = any(process.exitcode for process in self._running)
        self.stop()
        if failed:
            raise Abort("Aborted with an error in another language")
        return made or self._made

    def stop(self) -> None:
        """End those that still run, and tell what they have said."""
        for process in self._running:
            process.terminate()
            process.join()
        if self._listener:
            self._listener.join()
        self._waiting, self._running, self._listener = [], [], None

    def _run(self, mouth: Connection, build: Callable[[], Any], earlier: Iterable[int]) -> None:
        """In the new process: build when it is its turn, and tell everything to the old one."""
        _never_in_front()
        self._waiting, self._running, self._listener = [], [], None  # those are not its own
        handler = QueueHandler(_Mouth(mouth))  # type: ignore[arg-type]  # it puts, and does nothing else
        for logger in (logging.root, *logging.root.manager.loggerDict.values()):
            if isinstance(logger, logging.Logger) and logger.handlers:
                logger.handlers = [handler]
        code = 1
        _wait_for_a_core(earlier)
        try:
            mouth.send(build())
            code = 0
        except Abort as error:  # MkDocs has said why
            _log.error(error)
        except Exception:  # noqa: BLE001 - `explain` fails for some models that compile; the counters have the reasons
            _log.exception("The build failed")
        mouth.close()
        os._exit(code)  # without the endings of the process that this is a copy of


class Beside(Generic[Made]):
    """What a function makes in a process of its own, from now on; elsewhere than on Linux in this one, when it is asked
    for."""

    def __init__(self, function: Callable[[], Made]) -> None:
        self._function = function
        self._process: BaseProcess | None = None
        if FORKS:
            self._process, self._ear = _begun(_make, function)

    def made(self) -> Made:
        """Wait for it. Where the process has ended early, it is made here, and tells what kept it from it there."""
        if self._process is None:
            return self._function()
        try:
            found: Made = self._ear.recv()
        except _ENDED:
            return self._function()
        finally:
            self.stop()
        return found

    def stop(self) -> None:
        """Nobody asks for it any more."""
        if self._process:
            self._process.terminate()
            self._process.join()
            self._ear.close()
            self._process = None


def _begun(run: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A copy of this process that runs something, and where is heard what that tells its first argument."""
    context = multiprocessing.get_context("fork")
    ear, mouth = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(mouth, *arguments), daemon=True)
    process.start()
    mouth.close()
    return process, ear


def _make(mouth: Connection, function: Callable[[], Any]) -> None:
    _never_in_front()
    with suppress(Exception):
        mouth.send(function())
    os._exit(0)  # without the endings of the process that this is a copy of


def _wait_for_a_core(builds: Iterable[int]) -> None:
    """Until fewer of the builds run than there are cores. Memory is for no more, and more at once would take no less
    time. Each is told by what becomes ready when its process ends."""
    running: list[Any] = list(builds)
    while len(running) >= (cores() or 1):
        ended = wait(running)
        running = [each for each in running if each not in ended]


def _end_with(parent: BaseProcess | None) -> None:
    """Who kills a build ends all of it: what went on would write into the site of the next one."""
    if parent:
        parent.join()
        os._exit(1)


def mapped(function: Callable[[Item], Made], items: Sequence[Item]) -> Generator[Made, None, None]:
    """What `function` makes of each item, in their order, over the cores there are. What a process that has ended early
    would have made is made here. Who stops asking waits for what has been begun, and for no more."""
    if not FORKS or len(items) < 2:
        yield from map(function, items)
        return
    context = multiprocessing.get_context("fork")
    processes = ProcessPoolExecutor(min(len(items), cores() or 1), context, _never_in_front)
    done = 0
    try:
        for each in [processes.submit(function, item) for item in items]:
            yield each.result()
            done += 1
    except BrokenProcessPool:
        yield from map(function, items[done:])
    finally:
        processes.shutdown(cancel_futures=True)


def _never_in_front() -> None:
    """Ctrl-C is for the process that asked, and whoever kills it ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()


class _Mouth:
    """A connection as the queue of a `QueueHandler`."""

    def __init__(self, connection: Connection) -> None:
        self.put_nowait = connection.send


def _listen(ears: list[Connection], made: list[Any]) -> None:
    """Hand messages of other processes to the loggers that they come from, and note what each has made, until all of
    these have ended."""
    places = {ear: place for place, ear in enumerate(ears)}
    while places:
        for ear in wait([*places]):
            assert isinstance(ear, Connection)
            try:
                told = ear.recv()
            except _ENDED:
                del places[ear]
                ear.close()
                continue
            if isinstance(told, logging.LogRecord):
                logging.getLogger(told.name).handle(told)
            else:
                made[places[ear]] = told
