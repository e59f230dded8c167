"""Files that another process makes while this one goes on.

Takes files and an empty folder. Whoever needs a file later gets its content from there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

from generator.parallel import ForkedCall


class File(Protocol):
    """A file whose content is made on each access."""

    @property
    def uri(self) -> str: ...
    @property
    def content(self) -> str | bytes: ...


class MadeAhead:
    """Contents of files, by their URI. Where one is missing, or its process failed, the file makes it itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._call: ForkedCall[None] | None = None

    def begin(self, files: Iterable[File]) -> None:
        """Make these files in another process."""
        self._call = ForkedCall(partial(_write, files, self._folder))

    def content_of(self, file: File) -> str | bytes:
        """Return the content of a file, once it is made. Processes that were forked later may ask for it."""
        if self._call:
            self._call.wait()
        path = self._folder / file.uri
        return path.read_bytes() if path.is_file() else file.content

    def end(self) -> None:
        """End the process, and remove what it has made."""
        if self._call:
            self._call.stop()
            self._call = None
        shutil.rmtree(self._folder, ignore_errors=True)


def _write(files: Iterable[File], folder: Path) -> None:
    unfinished = folder / ".unfinished"
    for file in files:
        path, content = folder / file.uri, file.content
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content if isinstance(content, bytes) else content.encode())
        unfinished.replace(path)  # so that a file which is there is whole
