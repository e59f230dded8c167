"""End this process when the one that started it ends, however that happens: the pipe to standard input closes then."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable


def at_end_of_parent(act: Callable[[], object]) -> None:
    """Call `act` in a thread as soon as the other end of standard input, a pipe, closes. Nothing is read from it."""

    def wait() -> None:
        poll = select.poll()
        poll.register(0, 0)  # no event but the hangup, which is always told
        poll.poll()
        act()

    threading.Thread(target=wait, daemon=True).start()
