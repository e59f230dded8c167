"""Serve one request in one process: read it from standard input, and write phases and an answer to standard output.

This module talks to the parent and imports no torch; `bench.measuring.trial` measures. A failure is an answer with its
reason, except for the death of the process, which the parent reports. When standard input closes, the parent has ended,
and the worker ends with everything that it started.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from bench.errors import AtlasError
from bench.measuring.variants import VARIANTS
from bench.plans.messages import Answer, CheckSelf, Job, Message, Preflight, Refusal, Request, Send


def main(answer: Callable[[Request, Send], Answer] | None = None) -> None:
    """Serve one request, then exit. A worker of another kind gives its own `answer`."""
    with suppress(OSError):  # out of memory, the kernel should kill this process, not the sweep
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    channel = os.fdopen(os.dup(1), "wb")  # standard output is for messages alone:
    os.dup2(2, 1)  # models and libraries print to standard error
    line = sys.stdin.buffer.readline()
    if not line:
        _end()

    def send(message: Message) -> None:
        channel.write(msgspec.json.encode(message) + b"\n")
        channel.flush()

    send((answer or _answer)(msgspec.json.decode(line, type=Request), send))
    os._exit(0)  # tearing torch down takes seconds and may still crash


def _end_with_parent() -> None:
    """Wait until the other end of standard input, a pipe, closes: the parent has ended, however that happened."""
    poll = select.poll()
    poll.register(0, 0)  # no event but the hangup, which is always told
    poll.poll()
    _end()


def _end() -> None:
    """Kill the process group, with its compile workers."""
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _answer(request: Request, send: Send) -> Answer:
    try:
        if isinstance(request, Preflight):
            from bench.measuring.preflight import preflight  # noqa: PLC0415 - imports torch, which takes seconds

            return preflight(request)
        if isinstance(request, CheckSelf):
            from bench.measuring import selfcheck  # noqa: PLC0415 - as above

            return selfcheck.run(request, send)
        assert isinstance(request, Job)
        imports_s = _import(VARIANTS[request.cell.variant].imports if request.role != "eager" else ())
        from bench.measuring.trial import run  # noqa: PLC0415 - imports Transformers, which imports Dynamo

        return run(request, send, imports_s)
    except AtlasError as error:
        return Refusal(what=error.what, where=error.where, remedy=error.remedy)


def _import(modules: Iterable[str]) -> float:
    """Return the seconds that the imports of a variant take, before Transformers imports some of them."""
    importlib.import_module("torch")
    start = time.perf_counter()
    for name in modules:
        importlib.import_module(name)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
