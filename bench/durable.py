"""Write files that survive an interruption: a kill, a full disk, a power cut.

After `write`, the path holds either the whole new content or the old file. Data is synced before the file is renamed,
and the folder is synced before the call returns: until then, a power cut may undo the rename.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self


def write(path: Path, content: bytes) -> Path:
    """Write one file, replacing an existing one. Raises `OSError`, and then leaves everything unchanged."""
    write_all({path: content})
    return path


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write several files, and rename them only once all are on the disk, so that a full disk changes nothing.

    A power cut between two renames leaves some files new and some old, each of them whole. Raises `OSError`.
    """
    with ExitStack() as stack:
        staged = {path: stack.enter_context(_Staged(path, content)) for path, content in contents.items()}
        for path, file in staged.items():
            file.name.replace(path)
    for folder in dict.fromkeys(path.parent for path in contents):
        sync_folder(folder)


class _Staged:
    """A synced temporary file beside its target, deleted at the end of the context unless it was renamed."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.content = path, content

    def __enter__(self) -> Self:
        make_folder(self.path.parent)
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".part")
        self.name = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.content)
                file.flush()
                os.fsync(file.fileno())
            self.name.chmod(0o644)
        except BaseException:
            self.name.unlink(missing_ok=True)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.name.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Create the folder and its missing parents, and sync their names. Raises `OSError`."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in the folder durable, as far as its file system supports that."""
    with suppress(OSError):  # some file systems cannot sync a folder, and Windows cannot open one
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
