"""Simulate a power cut at every moment of a program's writing.

`Disk.watch` runs a program that writes below a folder. `Disk.after_power_cuts` then creates every state that a power
cut could have left, each in its own folder, with what the program had acknowledged by then. Only synced data under
synced names survives for sure. Anything else may be missing or partial: names without data, half a write, or zeros.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

Data = Callable[[bytes, bytes], bytes]
"""Takes the synced and the written content of a file, and returns what survives."""


def _torn(synced: bytes, written: bytes) -> bytes:
    return written[: _same(synced, written) + (len(written) - _same(synced, written)) // 2]


def _zeros(synced: bytes, written: bytes) -> bytes:
    same = _same(synced, written)
    return written[:same] + bytes(len(written) - same)


def _holes(synced: bytes, written: bytes) -> bytes:
    half = len(_torn(synced, written))
    return _zeros(synced, written)[:half] + written[half:]


def _same(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (first, second) in pairs if first != second), min(len(one), len(other)))


DATA: tuple[Data, ...] = (lambda synced, _: synced, lambda _, written: written, _torn, _zeros, _holes)
"""What survives of unsynced data: nothing; all; the first half; only its length; its second half and its length."""


@dataclass
class _Inode:
    synced: bytes = b""
    written: bytes = b""


@dataclass
class _State:
    """The current names and the synced names of folders (None) and files."""

    named: dict[str, _Inode | None] = field(default_factory=dict)
    synced: dict[str, _Inode | None] = field(default_factory=dict)

    def survivors(self) -> Iterator[dict[str, bytes | None]]:
        for names, data in itertools.product((self.synced, self.named), DATA):
            there = {path for path in names if all(str(up) in names for up in Path(path).parents if str(up) != ".")}
            inodes = {path: names[path] for path in sorted(there)}
            yield {path: None if each is None else data(each.synced, each.written) for path, each in inodes.items()}


class Disk:
    """Records each state of a folder that a power cut could leave while a program writes to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: dict[tuple[tuple[str, bytes | None], ...], Any] = {}
        self.acknowledged: Any = None
        self._state = _State()
        self._inodes: dict[int, _Inode] = {}
        for path in sorted(folder.rglob("*")):
            inode = None
            if path.is_file():
                inode = self._inodes[path.stat().st_ino] = _Inode(path.read_bytes(), path.read_bytes())
            self._state.named[self._name(path)] = inode
        self._state.synced = dict(self._state.named)

    def acknowledge(self, what: Any) -> None:
        """Note that the program has reported this, which must be true from here on."""
        self.acknowledged = what
        self._happened()

    def watch(self, program: Callable[[Disk], object]) -> None:
        """Run the program and record all states."""
        with pytest.MonkeyPatch.context() as patch:
            for module, name in ((io, "open"), (os, "open"), (os, "fsync"), (os, "mkdir")):
                patch.setattr(module, name, getattr(self, f"_{name}")(module, getattr(module, name)))
            for name in ("replace", "rename", "unlink", "remove"):
                patch.setattr(os, name, self._moved(getattr(os, name)))
            program(self)

    def after_power_cuts(self, into: Path) -> Iterator[tuple[Path, Any]]:
        """Yield the folder of each state, with what had been acknowledged."""
        for number, (content, acknowledged) in enumerate(self.states.items()):
            folder = into / str(number)
            folder.mkdir(parents=True)
            for name, data in content:
                (folder / name).mkdir() if data is None else (folder / name).write_bytes(data)
            yield folder, acknowledged

    def _name(self, path: Any) -> str:
        return Path(path).absolute().relative_to(self.folder).as_posix()

    def _is_below(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and Path(path).absolute().is_relative_to(self.folder)

    def _happened(self) -> None:
        for content in map(tuple, map(dict.items, self._state.survivors())):
            self.states[content] = self.acknowledged

    def _made(self, path: Any) -> None:
        inode = self._state.named[self._name(path)] = self._inodes[Path(path).stat().st_ino] = _Inode()
        assert inode is not None
        self._happened()

    # Replacements of the functions that the program calls

    def _open(self, module: Any, real: Callable[..., Any]) -> Callable[..., Any]:
        def os_open(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            is_new = self._is_below(path) and not Path(path).exists()
            descriptor: int = real(path, flags, *rest, **options)
            if is_new:
                self._made(path)
            return descriptor

        def io_open(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
            is_ours = self._is_below(file) or (isinstance(file, int) and os.fstat(file).st_ino in self._inodes)
            is_unnamed = not isinstance(file, int) and Path(file).is_dir()  # of `tempfile`: no power cut leaves it
            if is_unnamed or not is_ours or not set(mode) & set("wa+x"):
                return real(file, mode, *rest, **options)
            assert "b" in mode, "text is encoded before it is written"
            is_new = not isinstance(file, int) and not Path(file).exists()
            raw = _File(self, file, mode.replace("b", ""))
            if is_new:
                self._made(file)
            raw.note()  # mode "w" truncates
            return io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)

        return os_open if module is os else io_open

    def _fsync(self, _: Any, real: Callable[[int], None]) -> Callable[[int], None]:
        def fsync(descriptor: int) -> None:
            real(descriptor)
            if inode := self._inodes.get(os.fstat(descriptor).st_ino):
                inode.synced = inode.written
            else:
                folders = [self.folder, *(each for each in self.folder.rglob("*") if each.is_dir())]
                target = next((each for each in folders if _is(each, descriptor)), None)
                named, synced = self._state.named, self._state.synced
                for name in [each for each in {**named, **synced} if (self.folder / each).parent == target]:
                    synced.pop(name, None)
                    if name in named:
                        synced[name] = named[name]
            self._happened()

        return fsync

    def _mkdir(self, _: Any, real: Callable[..., None]) -> Callable[..., None]:
        def mkdir(path: Any, *rest: Any, **options: Any) -> None:
            real(path, *rest, **options)
            if self._is_below(path):
                self._state.named[self._name(path)] = None
                self._happened()

        return mkdir

    def _moved(self, real: Callable[..., None]) -> Callable[..., None]:
        def moved(path: Any, *to: Any, **options: Any) -> None:
            real(path, *to, **options)
            if self._is_below(path):
                inode = gone = self._state.named.pop(self._name(path))
                if to:
                    gone, self._state.named[self._name(to[0])] = self._state.named.get(self._name(to[0])), inode
                self._inodes = {number: each for number, each in self._inodes.items() if each is not gone}
                self._happened()

        return moved


def _is(folder: Path, descriptor: int) -> bool:
    return os.path.samestat(folder.stat(), os.fstat(descriptor))


class _File(io.FileIO):
    """A file that reports each write to the disk."""

    def __init__(self, disk: Disk, file: Any, mode: str) -> None:
        super().__init__(file, mode)
        self._disk = disk

    def note(self) -> None:
        """Record the current content."""
        self._disk._inodes[os.fstat(self.fileno()).st_ino].written = Path(f"/dev/fd/{self.fileno()}").read_bytes()
        self._disk._happened()

    def write(self, data: Any, /) -> int:
        written = super().write(data)
        self.note()
        return written or 0

    def truncate(self, size: int | None = None, /) -> int:
        size = super().truncate(size)
        self.note()
        return size
