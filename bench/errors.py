"""Errors and complaints shown to users: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class AtlasError(Exception):
    """A mistake in the input that a user can fix.

    `what` says what is wrong, `where` names the place (``file``, ``file:line``, or a field in it), and `remedy` says
    what to do next. Command lines print all three without a traceback and exit with status 2.
    """

    def __init__(self, what: str, where: str = "", remedy: str = "") -> None:
        super().__init__(what, where, remedy)  # the arguments that unpickling passes
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"\n  remedy: {self.remedy}" if self.remedy else ""
        return f"{place}{self.what}{remedy}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun in English: 1 row, 1,200 rows, 2 processes with `plural` "processes"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def unusable(error: OSError, where: str = "") -> AtlasError:
    """Return an error for a failed read or write. `where` overrides the file name in `error`."""
    if in_the_way := _in_the_way(error):
        return AtlasError(
            in_the_way, where=where or str(error.filename or ""), remedy="choose a different path, or move it"
        )
    return AtlasError(
        f"cannot be read or written: {error.strerror or error}",
        where=where or str(error.filename or ""),
        remedy="free up disk space, grant access, or choose a different path",
    )


def unwritable(
    path: object, error: OSError, remedy: str = "free up disk space, or choose a different path with --out"
) -> AtlasError:
    """Return an error for a failed write to `path`."""
    if in_the_way := _in_the_way(error):
        return AtlasError(in_the_way, where=str(path), remedy="choose a different path with --out, or move it")
    return AtlasError(f"cannot be written: {error.strerror}", where=str(path), remedy=remedy)


FILE_IN_THE_WAY = "is a file, but a folder is needed here"


def _in_the_way(error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return FILE_IN_THE_WAY
    return "is a folder, but a file is needed here" if isinstance(error, IsADirectoryError) else ""


def attempt(question: Callable[[], T]) -> T | None:
    """Return the answer, or None if asking raises any exception. For optional details of a platform or library."""
    with suppress(Exception):
        return question()
    return None


@dataclass(frozen=True)
class Complaint:
    """Something that would distort a measurement: the check, what it found, and the remedy.

    What keeps models from being compiled, and distorts nothing, has `distorts` False.
    """

    check: str
    what: str
    remedy: str
    distorts: bool = True

    def __str__(self) -> str:
        return f"{self.check}: {self.what}\n  remedy: {self.remedy}"
