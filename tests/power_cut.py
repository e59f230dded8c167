"""What a program leaves on the disk when the power goes, at every moment of its writing.

A folder and a program that writes below it enter; every state that the folder can be in afterwards leaves, as a folder
of its own, with what the program had been told by then. Sure are only synced data under synced names. The rest may be
there, may not be, or in part: names before their data, half a write, or zeros where data never came.

    python -m pytest tests/bench/test_durable.py
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
"""What becomes of a file: its synced and its written content enter."""


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
"""Nothing unsynced has survived; all; the first half of it; its length alone; its second half and its length."""


@dataclass
class _Inode:
    synced: bytes = b""
    written: bytes = b""


@dataclass
class _State:
    """Folders by their path and files by their inode, as they are named and as they are sure to be named."""

    named: dict[str, _Inode | None] = field(default_factory=dict)
    sure: dict[str, _Inode | None] = field(default_factory=dict)

    def survivors(self) -> Iterator[dict[str, bytes | None]]:
        for names, data in itertools.product((self.sure, self.named), DATA):
            there = {path for path in names if all(str(up) in names for up in Path(path).parents if str(up) != ".")}
            inodes = {path: names[path] for path in sorted(there)}
            yield {path: None if each is None else data(each.synced, each.written) for path, each in inodes.items()}


class Disk:
    """Watches what happens to files below a folder, and remembers each state that a power cut could have left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: dict[tuple[tuple[str, bytes | None], ...], Any] = {}
        self.told: Any = None
        self._state = _State()
        self._inodes: dict[int, _Inode] = {}
        for path in sorted(folder.rglob("*")):
            inode = None
            if path.is_file():
                inode = self._inodes[path.stat().st_ino] = _Inode(path.read_bytes(), path.read_bytes())
            self._state.named[self._name(path)] = inode
        self._state.sure = dict(self._state.named)

    def tell(self, what: Any) -> None:
        """The program has been told so: from here on, it has to be true."""
        self.told = what
        self._happened()

    def watch(self, program: Callable[[Disk], object]) -> None:
        """Run the program."""
        with pytest.MonkeyPatch.context() as patch:
            for module, name in ((io, "open"), (os, "open"), (os, "fsync"), (os, "mkdir")):
                patch.setattr(module, name, getattr(self, f"_{name}")(module, getattr(module, name)))
            for name in ("replace", "rename", "unlink", "remove"):
                patch.setattr(os, name, self._moved(getattr(os, name)))
            program(self)

    def after_power_cuts(self, into: Path) -> Iterator[tuple[Path, Any]]:
        """Each state in a folder of its own, with what had been told."""
        for number, (content, told) in enumerate(self.states.items()):
            folder = into / str(number)
            folder.mkdir(parents=True)
            for name, data in content:
                (folder / name).mkdir() if data is None else (folder / name).write_bytes(data)
            yield folder, told

    def _name(self, path: Any) -> str:
        return Path(path).absolute().relative_to(self.folder).as_posix()

    def _is_below(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and Path(path).absolute().is_relative_to(self.folder)

    def _happened(self) -> None:
        for content in map(tuple, map(dict.items, self._state.survivors())):
            self.states[content] = self.told

    def _made(self, path: Any) -> None:
        inode = self._state.named[self._name(path)] = self._inodes[Path(path).stat().st_ino] = _Inode()
        assert inode is not None
        self._happened()

    # What the program calls in place of the real ones

    def _open(self, module: Any, real: Callable[..., Any]) -> Callable[..., Any]:
        def os_open(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            is_new = self._is_below(path) and not Path(path).exists()
            descriptor: int = real(path, flags, *rest, **options)
            if is_new:
                self._made(path)
            return descriptor

        def io_open(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
            is_ours = self._is_below(file) or (isinstance(file, int) and os.fstat(file).st_ino in self._inodes)
            if not is_ours or not set(mode) & set("wa+x"):
                return real(file, mode, *rest, **options)
            assert "b" in mode, "text is encoded before it is written"
            is_new = not isinstance(file, int) and not Path(file).exists()
            raw = _File(self, file, mode.replace("b", ""))
            if is_new:
                self._made(file)
            raw.note()  # "w" has cut it off
            return io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)

        return os_open if module is os else io_open

    def _fsync(self, _: Any, real: Callable[[int], None]) -> Callable[[int], None]:
        def fsync(descriptor: int) -> None:
            real(descriptor)
            if inode := self._inodes.get(os.fstat(descriptor).st_ino):
                inode.synced = inode.written
            else:
                folders = [self.folder, *(each for each in self.folder.rglob("*") if each.is_dir())]
                synced = next((each for each in folders if _is(each, descriptor)), None)
                named, sure = self._state.named, self._state.sure
                for name in [each for each in {**named, **sure} if (self.folder / each).parent == synced]:
                    sure.pop(name, None)
                    if name in named:
                        sure[name] = named[name]
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
    """A file that tells the disk of what is written to it."""

    def __init__(self, disk: Disk, file: Any, mode: str) -> None:
        super().__init__(file, mode)
        self._disk = disk

    def note(self) -> None:
        """As its content is now."""
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
