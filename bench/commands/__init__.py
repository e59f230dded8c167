"""The commands of `python -m bench`: each module adds some to the parser, and says what they do.

They are read for every `--help`, so each command imports what it needs when it is called. Here is what they share.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from bench.errors import AtlasError
from bench.records.record import RESULTS

MEASURED, PUBLISHED = RESULTS / "measured", RESULTS / "published"

OK, NOTHING_MEASURED, FOUND_FAULTS, REGRESSED, BAD_INPUT, INTERRUPTED = 0, 1, 1, 1, 2, 130
"""Exit statuses."""

LARGEST_COUNT = 100  # of processes

Tell = Callable[[str], None]
Commands: TypeAlias = "argparse._SubParsersAction[Any]"  # noqa: SLF001 - it has no other name
"""What a module adds its own to."""


def count(option: str, text: str, largest: int) -> int:
    """The number from 1 on that an option gives. Raises `AtlasError`."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= largest:
        raise AtlasError(f"{text!r} is not a number from 1 to {largest}", where=option, remedy="give a whole number")
    return int(text)


def contributor_of(name: str | None) -> str | None:
    """Who brings it, checked; None where nobody is to be named. Raises `AtlasError`."""
    if name is None:
        return None
    from bench.exchange.check import name_fault

    if fault := name_fault(name):
        raise AtlasError(fault, where="--by", remedy="write a name of one line, or leave it out")
    return name


def again(options: argparse.Namespace) -> str:
    """The same command, to go on with."""
    return shlex.join(["python", "-m", "bench", *(each for each in options.arguments if each != "--fresh")])


def shown(path: Path) -> str:
    """The path as a person would type it here."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)
