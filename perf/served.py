"""Time from an edit to the reloaded page, as a browser sees it.

Takes an `Edit` and a running server; returns a `Cost`. The clock starts before the file is written, and stops when the
tab has received the signal to reload and its page with the new text. The other pages that show the text must have it
too, but are not timed.
"""

from __future__ import annotations

import base64
import contextlib
import math
import os
import random
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from bench.errors import AtlasError
from perf.cost import Command, Cost, cpu_s, failure, kill, peak_gb

PAUSE_S = 0.01
"""The pause between two requests for a page that is not ready."""

REST_S = (1.0, 1.5)
"""The range of pauses before an edit: random, so that edits fall anywhere into the server's polling interval."""

IDLE_S, IDLE_SHARE = 0.3, 0.3
"""A server is idle if it used less than this share of a core for this long."""


@dataclass(frozen=True)
class Edit:
    """A change of one file.

    `made` takes the content of the file (None if it does not exist) and a word, a number such as 347.58213, and returns
    a content that shows the word. `pages` are the paths of the pages that show it; the first is open in the tab.
    """

    path: Path
    made: Callable[[str | None, str], str]
    pages: tuple[str, ...]


def new_word() -> str:
    """Return a number such as 347.58213, which no page shows yet."""
    return f"{random.uniform(100, 1000):.5f}"


class Tab(Protocol):
    """A page that is open in a browser."""

    def wait(self, limit_s: float) -> None:
        """Wait for the signal to reload. Raises `OSError` after the limit."""


class LongPoll:
    """A page of MkDocs: its script keeps a request open until there is a newer build."""

    def __init__(self, address: str) -> None:
        match = re.search(rb"livereload\((\d+), (\d+)\)", get(address))
        if match is None:
            raise AtlasError("the page does not reload itself", where=address, remedy="serve it with live reload")
        self._epoch = int(match[1])
        self._address = urljoin(address, f"/livereload/{match[1].decode()}/{match[2].decode()}")

    def wait(self, limit_s: float) -> None:
        """See `Tab.wait`. The server answers with the old build after a minute, and the request is repeated."""
        end = time.monotonic() + limit_s
        while int(get(self._address, max(PAUSE_S, end - time.monotonic()))) <= self._epoch:
            pass


class WebSocket:
    """A page of Zensical: its script listens on a web socket, which names every changed file of the site."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._path = place.path.encode()
        self._socket = socket.create_connection((str(place.hostname), int(place.port or 80)))
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self._socket.sendall(request.encode())
        self._answer = self._socket.makefile("rb")
        if b" 101 " not in self._answer.readline():
            raise AtlasError("the page does not reload itself", where=address, remedy="serve it with live reload")
        while self._answer.readline().strip():
            pass

    def wait(self, limit_s: float) -> None:
        """See `Tab.wait`. Only a message that names this page or a script makes the page reload."""
        self._socket.settimeout(limit_s)
        while (path := self._message()) != self._path and not path.endswith(b".js"):
            pass

    def _message(self) -> bytes:
        """Return the next text message. Servers do not mask messages, and these fit into one frame."""
        head = self._answer.read(2)
        if len(head) < 2:
            raise ConnectionError("the server has closed the connection")
        length = head[1] & 0x7F
        if length > 125:
            length = int.from_bytes(self._answer.read(2 if length == 126 else 8), "big")
        content = self._answer.read(length)
        return content if head[0] & 0x0F == 1 else b""  # a ping names no file


def get(address: str, limit_s: float = 600) -> bytes:
    """Return a server's response. Raises `OSError` without one, or for an error status."""
    with urllib.request.urlopen(address, timeout=limit_s) as answer:  # noqa: S310  # our own address
        return bytes(answer.read())


@dataclass(frozen=True)
class Served:
    """Running servers. The pages of the first one are edited."""

    address: str
    groups: tuple[int, ...]
    started: Cost

    def reloaded(self, edit: Edit, open_tab: Callable[[str], Tab], limit_s: float) -> Cost:
        """Make the edit, return its cost, and undo it, so that every edit starts from the same pages.

        Raises `AtlasError` if the pages do not show it within `limit_s` seconds.
        """
        word = new_word()
        before = edit.path.read_text(encoding="utf-8") if edit.path.exists() else None
        after = edit.made(before, word)
        try:
            return self._timed(edit, after, word, open_tab, limit_s, shown=True)
        finally:
            self._timed(edit, before, word, open_tab, limit_s, shown=False)

    def _timed(
        self, edit: Edit, content: str | None, word: str, open_tab: Callable[[str], Tab], limit_s: float, *, shown: bool
    ) -> Cost:
        addresses = [urljoin(self.address, page) for page in edit.pages]
        self._wait_until_idle()
        tab = open_tab(addresses[0])
        with ThreadPoolExecutor(1) as executor:
            signal_received = executor.submit(tab.wait, limit_s + REST_S[1])
            time.sleep(random.uniform(*REST_S))
            used_s = self._cpu_s()
            start = time.perf_counter()
            _write(edit.path, content)
            with contextlib.suppress(OSError):  # the signal or a page came too late
                signal_received.result()
                for address in addresses:
                    _until(partial(_shows, address, word, shown), start + limit_s)
                    if address == addresses[0]:
                        cost = Cost(time.perf_counter() - start, self._cpu_s() - used_s, self._peak_gb())
                return cost
        raise AtlasError(
            f"no reload that shows the edit within {limit_s:.0f} s", where=edit.path.name, remedy="raise --limit"
        )

    def _wait_until_idle(self) -> None:
        """Wait until the server has built all pages. Polling for changes counts as idle."""
        used_s = math.inf
        while used_s > IDLE_SHARE * IDLE_S:
            before_s = self._cpu_s()
            time.sleep(IDLE_S)
            used_s = self._cpu_s() - before_s

    def _cpu_s(self) -> float:
        return sum(cpu_s(group) or 0.0 for group in self.groups)

    def _peak_gb(self) -> float:
        return sum(peak_gb(group) or 0.0 for group in self.groups)


def _shows(address: str, word: str, shown: bool) -> bool:
    try:
        return (word.encode() in get(address)) == shown
    except OSError:  # the page is missing while it is rebuilt
        return False


def _write(path: Path, content: str | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(content, encoding="utf-8")


def _until(condition: Callable[[], bool], end: float) -> None:
    while not condition():
        if time.perf_counter() > end:
            raise TimeoutError
        time.sleep(PAUSE_S)


@contextlib.contextmanager
def served(
    commands: Sequence[Command], ports: Sequence[int], folder: Path, env: Mapping[str, str], log: Path, limit_s: float
) -> Iterator[Served]:
    """Start the servers one after the other, each after the previous one has answered, because they may share caches.

    `Served.started` is the cost of starting the first one. All servers are stopped at the end of the context. Raises
    `AtlasError` if a server exits or does not answer in time.
    """
    children: list[subprocess.Popen[bytes]] = []
    started = None
    with log.open("wb") as file:
        start = time.perf_counter()
        try:
            for command, port in zip(commands, ports, strict=True):
                child = subprocess.Popen(command, cwd=folder, env=env, stdout=file, stderr=file, start_new_session=True)
                children.append(child)
                _until_answered(command, child, port, log, time.perf_counter() + limit_s)
                wall_s = time.perf_counter() - start
                started = started or Cost(wall_s, cpu_s(child.pid) or 0.0, peak_gb(child.pid) or 0.0)
            assert started is not None, "no server"
            yield Served(f"http://127.0.0.1:{ports[0]}/", tuple(child.pid for child in children), started)
        finally:
            for child in children:
                _end(child)


def _until_answered(command: Command, child: subprocess.Popen[bytes], port: int, log: Path, end: float) -> None:
    def answered() -> bool:
        if child.poll() is not None:
            raise failure(command, log, f"the server ended with exit status {child.returncode}")
        try:
            return bool(get(f"http://127.0.0.1:{port}/"))
        except urllib.error.HTTPError:  # it answers, but serves another path
            return True
        except OSError:
            return False

    try:
        _until(answered, end)
    except TimeoutError:
        raise failure(command, log, "the server did not answer in time") from None


def _end(child: subprocess.Popen[bytes]) -> None:
    kill(child.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(10)
    kill(child.pid)
    child.wait()


def free_ports(number: int) -> list[int]:
    """Return free ports."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
