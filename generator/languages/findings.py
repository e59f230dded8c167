"""The result of a check: a mistake with its place and remedy."""

from __future__ import annotations

from typing import NamedTuple


class Violation(NamedTuple):
    """A mistake in a text."""

    what: str
    remedy: str


class Finding(NamedTuple):
    """A mistake in a file of the project."""

    file: str
    line: int
    message: str  # the text concerned, shortened; "" for the whole file
    what: str
    remedy: str

    def __str__(self) -> str:
        text = f" “{self.message}”" if self.message else ""
        return f"{self.file}:{self.line}:{text} {self.what}\n    remedy: {self.remedy}"


def short(text: str) -> str:
    """Return the beginning of a message, enough to search for it."""
    line = " ".join(text.split())
    return line if len(line) <= 50 else f"{line[:49]}…"
