"""Watch files for the development server: see changes at once, and cope with folders that vanish and come back.

Takes MkDocs' development server, which polls files and gives up on a folder that it does not find.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from watchdog import events
from watchdog.observers import Observer

from bench.errors import AtlasError
from generator.site.mkdocs_internals import is_shut_down, request_rebuild, watch_again

INTERVAL_S = 0.5
"""Time between two looks at the watched paths; a dozen paths cost microseconds."""

_CHANGES = [events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent]


class ChangeObserver(Observer):  # type: ignore[misc,valid-type]  # which class that is depends on the system
    """Reports changes of files, as the system sees them, and nothing else: reading a source would be an event, too."""

    def start(self) -> None:
        """Start, or raise `PluginError` with a remedy."""
        try:
            super().start()
        except OSError as error:
            unwatchable = AtlasError(
                f"files cannot be watched: {error.strerror or error}",
                remedy="close programs that watch files, or raise fs.inotify.max_user_instances and max_user_watches",
            )
            raise PluginError(str(unwatchable)) from None

    def schedule(self, *arguments: Any, **named: Any) -> Any:
        """Watch a path for changes."""
        return super().schedule(*arguments, **named, event_filter=_CHANGES)


def start(server: LiveReloadServer, paths: Iterable[str]) -> None:
    """Rebuild when a path vanishes, comes back or becomes another folder, and watch what is there, until the end."""
    absolute = [str(Path(path).absolute()) for path in paths]
    threading.Thread(target=_watch, args=(server, absolute), daemon=True).start()


def _watch(server: LiveReloadServer, paths: Sequence[str]) -> None:
    seen = {path: _identity(path) for path in paths}
    pause = threading.Event()
    while not is_shut_down(server):
        for path in paths:
            now = _identity(path)
            if seen[path] == now:
                continue
            with suppress(OSError):  # gone again: the next round watches it
                if now:
                    watch_again(server, path)
                seen[path] = now
            request_rebuild(server)
        pause.wait(INTERVAL_S)


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells one folder from another at the same path; the same for any file, None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116  # MkDocs has strings
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if Path(path).is_dir() else (0, 0)
