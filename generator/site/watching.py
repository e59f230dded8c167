"""A folder that vanishes and comes back is watched again: MkDocs gives up on one that it does not find.

In: MkDocs' development server. Out: the same server, which builds again when a watched path has gone, has come back,
or has become another file or folder, and goes on watching what is there.

    mkdocs serve
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.livereload import LiveReloadServer

EVERY_S = 0.5
"""Between two looks; a dozen paths cost microseconds."""


def on_serve(server: LiveReloadServer, *, config: MkDocsConfig, **_: Any) -> LiveReloadServer:
    """Look after what the server watches, or will when the hooks have ended, until it ends itself."""
    paths = [str(Path(path).absolute()) for path in (config.docs_dir, config.config_file_path, *config.watch)]
    threading.Thread(target=_look_after, args=(server, paths), daemon=True).start()
    return server


def _look_after(server: LiveReloadServer, paths: Sequence[str]) -> None:
    seen = {path: _identity(path) for path in paths}
    pause = threading.Event()
    while not server._shutdown:  # noqa: SLF001  # MkDocs offers no other way to ask, nor to build again
        for path in paths:
            now = _identity(path)
            if seen[path] == now:
                continue
            with suppress(OSError):  # gone again: looked for again
                if now:
                    _watch_again(server, path)
                seen[path] = now
            with server._rebuild_cond:  # noqa: SLF001
                server._want_rebuild = True  # noqa: SLF001
                server._rebuild_cond.notify_all()  # noqa: SLF001
        pause.wait(EVERY_S)


def _identity(path: str) -> tuple[int, int] | None:
    """Of the file or folder that is there now; None where there is none. A file that was replaced stays itself."""
    try:
        status = os.stat(path)  # noqa: PTH116  # MkDocs has strings
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if Path(path).is_dir() else (0, 0)


def _watch_again(server: LiveReloadServer, path: str) -> None:
    server._watched_paths.pop(path, None)  # noqa: SLF001
    if watch := server._watch_refs.pop(path, None):  # noqa: SLF001
        server.observer.unschedule(watch)
    server.watch(path)
