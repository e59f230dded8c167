"""What a user of the atlas sees of mistakes and faults: what is wrong, where, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass


class AtlasError(Exception):
    """A mistake in input that a person can mend.

    `what` says what is wrong, `where` names the place (``file``, ``file:line``, or a field below it),
    `remedy` says what to do next. Command lines print all three and exit with status 2; nothing
    else about it is shown, and never a traceback.
    """

    def __init__(self, what: str, where: str = "", remedy: str = "") -> None:
        super().__init__(what, where, remedy)  # what it is made of again in another process
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"\n  remedy: {self.remedy}" if self.remedy else ""
        return f"{place}{self.what}{remedy}"


def unusable(error: OSError, where: str = "") -> AtlasError:
    """What the system refuses to read or to write; `where` unless it says that itself."""
    return AtlasError(
        f"cannot be read or written: {error.strerror or error}",
        where=where or str(error.filename or ""),
        remedy="make room, give the right to it, or name another place",
    )


def unwritable(
    path: object, error: OSError, remedy: str = "make room or choose another place with --out"
) -> AtlasError:
    """What the system refuses to write there."""
    return AtlasError(f"cannot be written: {error.strerror}", where=str(path), remedy=remedy)


@dataclass(frozen=True)
class Complaint:
    """One thing that would spoil a measurement, and does not prevent it: its name, what was found, and what to do."""

    check: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.check}: {self.what}\n  remedy: {self.remedy}"
