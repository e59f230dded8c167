"""Serve one request in one process: read it from standard input, and write phases and an answer to standard output.

This module talks to the parent and imports no torch; `bench.measuring.trial` measures. A failure is an answer with its
reason, except for the death of the process, which the parent reports. When standard input closes, the parent has ended,
and the worker ends with everything that it started.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from bench.errors import AtlasError
from bench.parent import at_end_of_parent
from bench.plans.messages import (
    READY,
    Answer,
    CheckSelf,
    Job,
    Message,
    Phase,
    Preflight,
    Prepare,
    Refusal,
    Request,
    Send,
    TakeWalkthrough,
    WalkthroughTaken,
)


def main(
    answer: Callable[[Request, Send], Answer] | None = None, prepare: Callable[[Prepare], object] | None = None
) -> None:
    """Serve one request, then exit. A worker of another kind gives its own `answer`, and its own way to `prepare`."""
    with suppress(OSError):  # out of memory, the kernel should kill this process, not the sweep
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    at_end_of_parent(_end)
    channel = _claim_stdout()
    request, prepared = _read(), None

    def send(message: Message) -> None:
        channel.write(msgspec.json.encode(message) + b"\n")
        channel.flush()

    if isinstance(request, Prepare):
        prepared = (prepare or _prepared)(request)
        send(Phase(name=READY))
        request = _read()
    send((answer or partial(_answer, prepared=prepared))(request, send))
    os._exit(0)  # tearing torch down takes seconds and may still crash


def _read() -> Request:
    """Return the next request. Ends this process if the parent has ended."""
    line = sys.stdin.buffer.readline()
    if not line:
        _end()
    request: Request = msgspec.json.decode(line, type=Request)
    return request


def _claim_stdout() -> BinaryIO:
    """Reserve standard output for messages, and redirect the output of models and libraries to standard error."""
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return channel


def _end() -> None:
    """Kill the process group, with its compile workers."""
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _prepared(request: Prepare) -> object:
    """Return what the job needs. If that fails, this process ends, and another one will find out why."""
    from bench.measuring.trial import prepare  # noqa: PLC0415 - imports torch, which takes seconds

    return prepare(request.job, request.device)


def _answer(request: Request, send: Send, prepared: Any = None) -> Answer:
    try:
        if isinstance(request, Preflight):
            from bench.measuring.preflight import preflight  # noqa: PLC0415 - imports torch, which takes seconds

            return preflight(request)
        if isinstance(request, TakeWalkthrough):
            from bench.measuring import dynamo_walkthrough  # noqa: PLC0415 - as above

            return WalkthroughTaken(walkthrough=dynamo_walkthrough.run(send))
        if isinstance(request, CheckSelf):
            from bench.measuring import selfcheck  # noqa: PLC0415 - as above

            return selfcheck.run(request, send)
        assert isinstance(request, Job)
        from bench.measuring.trial import run  # noqa: PLC0415 - as above

        return run(request, send, prepared)
    except AtlasError as error:
        return Refusal(what=error.what, where=error.where, remedy=error.remedy)


if __name__ == "__main__":
    main()
