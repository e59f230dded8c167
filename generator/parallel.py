"""Calls in other processes: `ForkedCall` for one, `start` for several beside other work, `mapped` for a list of items.

The process is a fork of this one, so that only results and log records are pickled; they come back through a pipe. No
more calls run at a time than there are cores. When this process ends, its calls end too. Where processes cannot be
forked, or there is only one core, a call runs in this process when its result is asked for.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from bench.machine import cores

Item = TypeVar("Item")
Result = TypeVar("Result")

FORKS = sys.platform == "linux" and (cores() or 1) > 1
"""Whether calls run in processes of their own: on Linux, with more than one core."""

_END_OF_PIPE = EOFError, OSError, pickle.UnpicklingError
"""What reading from a process that has ended may raise; the last message may be incomplete."""


class CallError(Exception):
    """A call raised, or its process was killed."""


class ForkedCall(Generic[Result]):
    """A call of `function` in a process of its own, which starts at once.

    With `after`, it waits until fewer of those calls run than there are cores. `on_error` runs in the new process when
    the call raises: log records are all that reaches this process.
    """

    def __init__(
        self,
        function: Callable[[], Result],
        after: Iterable[ForkedCall[Any]] = (),
        on_error: Callable[[Exception], object] = lambda _: None,
    ) -> None:
        self._function = function
        self._results: list[Result] = []
        self._listener: threading.Thread | None = None
        self._process: BaseProcess | None = None
        if FORKS:
            context = multiprocessing.get_context("fork")
            self._pipe, sender = context.Pipe(duplex=False)  # one each: a killed process would keep the lock of a queue
            self._process = context.Process(target=self._run, args=(sender, [*after], on_error), daemon=True)
            self._process.start()
            sender.close()

    def result(self) -> Result:
        """Wait for the result. Raises `CallError` where the call raised, or its process was killed."""
        if self._process is None:
            return self._function()
        if self._listener:
            self._listener.join()
        else:
            self._listen()
        self.stop()
        if not self._results:
            raise CallError
        return self._results[0]

    def result_or_repeat(self) -> Result:
        """Wait for the result; where the call failed, repeat the call in this process, which raises the real error."""
        try:
            return self.result()
        except CallError:
            return self._function()

    def stop(self) -> None:
        """End the process, and pass on what it has logged."""
        if self._process:
            self._process.terminate()
            self._process.join()
        if self._listener:
            self._listener.join()

    def listen(self) -> None:
        """Pass log records on as they come, from a thread. To be called when no more processes are to be forked."""
        if self._process:
            self._listener = threading.Thread(target=self._listen, daemon=True)
            self._listener.start()

    def _listen(self) -> None:
        while not self._pipe.closed:
            try:
                message = self._pipe.recv()
            except _END_OF_PIPE:
                self._pipe.close()
                return
            if isinstance(message, logging.LogRecord):
                logging.getLogger(message.name).handle(message)
            else:
                self._results.append(message)

    def _run(self, pipe: Connection, after: list[ForkedCall[Any]], on_error: Callable[[Exception], object]) -> None:
        """Make the call, in the new process."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process in front, which ends this one
        threading.Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()
        _log_to(pipe)
        wait_for_core(after)
        try:
            pipe.send(self._function())
        except Exception as error:  # noqa: BLE001  # this process ends here, and must not go on as the one it copies
            with suppress(OSError):
                on_error(error)
        pipe.close()
        os._exit(0)  # without the exit handlers of the process that this one copies


def start(
    functions: Iterable[Callable[[], Result]], on_error: Callable[[Exception], object] = lambda _: None
) -> list[ForkedCall[Result]]:
    """Start a call for each function, while this process does work of its own. See `wait_for_core`."""
    calls: list[ForkedCall[Result]] = []
    for function in functions:
        calls.append(ForkedCall(function, calls, on_error))
    for call in calls:
        call.listen()
    return calls


def mapped(function: Callable[[Item], Result], items: Sequence[Item]) -> Generator[Result, None, None]:
    """Yield the result of `function` for each item, in order, made by as many calls at a time as there are cores.

    Once a call has failed, it and the rest run in this process, where they raise what is wrong.
    """
    waiting = deque(items if FORKS and len(items) > 1 else ())
    running: deque[tuple[Item, ForkedCall[Result]]] = deque()
    try:
        while waiting or running:
            while waiting and len(running) < (cores() or 1):
                item = waiting.popleft()
                running.append((item, ForkedCall(lambda item=item: function(item))))  # type: ignore[misc]
            item, call = running[0]
            try:
                result = call.result()
            except CallError:
                break
            running.popleft()
            yield result
    finally:
        for _, call in running:
            call.stop()
    rest = [*(item for item, _ in running), *waiting] if FORKS and len(items) > 1 else items
    yield from map(function, rest)


def wait_for_core(calls: Iterable[ForkedCall[Any]]) -> None:
    """Wait until fewer of the calls run than there are cores: more at a time take more memory, and no less time."""
    running: list[Any] = [call._process.sentinel for call in calls if call._process]  # noqa: SLF001  # its own class
    while len(running) >= (cores() or 1):
        ended = wait(running)
        running = [sentinel for sentinel in running if sentinel not in ended]


def _log_to(pipe: Connection) -> None:
    """Send log records to the pipe instead of the handlers that this process has inherited."""
    handler = QueueHandler(_PipeAsQueue(pipe))  # type: ignore[arg-type]  # it calls put_nowait, and nothing else
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger) and logger.handlers:
            logger.handlers = [handler]


class _PipeAsQueue:
    def __init__(self, pipe: Connection) -> None:
        self.put_nowait = pipe.send


def _end_with(parent: BaseProcess | None) -> None:
    """End this process with its parent: it would go on writing into the site of the next build."""
    if parent:
        parent.join()
        os._exit(1)
