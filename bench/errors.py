"""Errors and complaints shown to users: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class AtlasError(Exception):
    """A mistake in the input that a user can fix: what is wrong, where (``file:line`` or an option), and the remedy.

    Command lines print all three without a traceback and exit with status 2.
    """

    def __init__(self, what: str, where: str = "", remedy: str = "") -> None:
        super().__init__(what, where, remedy)  # the arguments that unpickling passes
        self.what, self.where, self.remedy = what, where, remedy

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"\n  remedy: {self.remedy}" if self.remedy else ""
        return f"{place}{self.what}{remedy}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun in English: 1 row, 1,200 rows, 2 processes with `plural` "processes"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


FILE_IN_THE_WAY = "is a file, but a folder is needed here"


def unusable(
    error: OSError,
    where: str = "",
    what: str = "cannot be read or written",
    remedy: str = "free up disk space, grant access, or choose a different path",
) -> AtlasError:
    """Return an error for a failed read or write. `where` overrides the file name in `error`."""
    where = where or str(error.filename or "")
    if isinstance(error, FileExistsError | NotADirectoryError):
        return AtlasError(FILE_IN_THE_WAY, where, "choose a different path, or move the file")
    if isinstance(error, IsADirectoryError):
        return AtlasError("is a folder, but a file is needed here", where, "choose a different path")
    return AtlasError(f"{what}: {error.strerror or error}", where, remedy)


def unwritable(
    path: object, error: OSError, remedy: str = "free up disk space, or choose a different path with --out"
) -> AtlasError:
    """Return an error for a failed write to `path`."""
    return unusable(error, str(path), "cannot be written", remedy)


def attempt(question: Callable[[], T]) -> T | None:
    """Return the answer, or None if asking raises any exception. For optional details of a platform or library."""
    with suppress(Exception):
        return question()
    return None


@dataclass(frozen=True)
class Complaint:
    """Something that would distort a measurement: the check, what it found, and the remedy."""

    check: str
    what: str
    remedy: str
    distorts: bool = True  # False if it only keeps models from being compiled

    def __str__(self) -> str:
        return f"{self.check}: {self.what}\n  remedy: {self.remedy}"
