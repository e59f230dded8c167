"""The result of a check: a mistake with its place and remedy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """A rule that a translation breaks."""

    rule: str
    what: str
    remedy: str


@dataclass(frozen=True, order=True)
class Finding:
    """One mistake in a file."""

    file: str  # relative to the project, or to the built site
    line: int
    message: str  # the message concerned, shortened; "" for the whole file
    what: str
    remedy: str
    rule: str

    def __str__(self) -> str:
        text = f" “{self.message}”" if self.message else ""
        return f"{self.file}:{self.line}:{text} {self.what} [{self.rule}]\n    remedy: {self.remedy}"


def short(text: str) -> str:
    """Return the beginning of a message, enough to search for it."""
    line = " ".join(text.split())
    return line if len(line) <= 50 else f"{line[:49]}…"
