"""Files that outlive whatever interrupts their writing: a kill, a full disk, a power cut.

A path and bytes enter; a file leaves, whole, or what was there before is still there. Data reaches the disk before its
name does, and the name before anybody is told: until its folder is synced, a power cut may take the name away.

    python -m pytest tests/bench/test_durable.py
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self


def write(path: Path, content: bytes) -> Path:
    """Put the file into its place, over one that is there. Raises `OSError`, and then nothing has changed."""
    write_all({path: content})
    return path


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Put every file into its place once all are on the disk. Raises `OSError`; nothing has changed where it ran full.

    Only a power cut between two names leaves some of them new and some old, each of them whole.
    """
    with ExitStack() as stack:
        staged = {path: stack.enter_context(_Staged(path, content)) for path, content in contents.items()}
        for path, each in staged.items():
            each.name.replace(path)
    for folder in dict.fromkeys(path.parent for path in contents):
        sync_folder(folder)


class _Staged:
    """Content on the disk, beside the place that it will have; gone when the context ends and nobody has moved it."""

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
    """Make it and those above it where they are missing, so that they stay. Raises `OSError`."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """From here on the names in it stay what they are, as far as the file system can promise that."""
    with suppress(OSError):  # some cannot sync a folder, nor can Windows open one: what they promise has to do
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
