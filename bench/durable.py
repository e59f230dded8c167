"""Write files that survive an interruption: a kill, a full disk, a power cut.

After `write`, the path holds either the whole new content or the old file. Data is synced before the file is renamed,
and the folder is synced before the call returns: until then, a power cut may undo the rename.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write(path: Path, content: bytes) -> Path:
    """Write one file, replacing an existing one. Raises `OSError`, and then leaves everything unchanged."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        make_folder(path.parent)
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()
    sync_folder(path.parent)
    return path


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
