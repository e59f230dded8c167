"""End this process when the one that started it ends, however that happens: the pipe to standard input closes then."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable


def at_end_of_parent(act: Callable[[], object]) -> None:
    """Call `act` in a thread as soon as standard input closes. Nobody else may read from it."""

    def wait() -> None:
        while os.read(0, 4096):
            pass
        act()

    threading.Thread(target=wait, daemon=True).start()
