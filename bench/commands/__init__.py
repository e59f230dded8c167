"""The commands of `python -m bench`, and what they share.

Each module adds its commands to the parser and runs them; `bench.commands.command_line.main` is the entry point. All
modules are imported for every `--help`, so a command imports what it needs only when it runs.
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

LARGEST_COUNT = 100
"""The largest number of processes."""

Log = Callable[[str], None]
"""Prints one line."""

Commands: TypeAlias = "argparse._SubParsersAction[Any]"  # noqa: SLF001 - it has no other name
"""The parser's collection of commands."""


def count(option: str, text: str, largest: int) -> int:
    """Return the value of `option` as a number from 1 to `largest`. Raises `AtlasError`."""
    is_short_enough = text.isascii() and text.isdigit() and len(text) < 10
    if not is_short_enough or not 1 <= int(text) <= largest:
        raise AtlasError(f"{text!r} is not a number from 1 to {largest}", where=option, remedy="give a whole number")
    return int(text)


def resume_command(options: argparse.Namespace, time_budget: str | None = None) -> str:
    """Return the command that goes on with this run. With `time_budget`, it has this one instead of its own."""
    words = [word for word in options.arguments if word not in {"--fresh", "--dry-run"}]
    if time_budget:
        at = next(index for index, word in enumerate(words) if word.startswith("--time-budget"))
        words[at : at + 1 + ("=" not in words[at])] = ["--time-budget", time_budget]
    return shlex.join(["python", "-m", "bench", *words])


def display_path(path: Path) -> str:
    """Return the path relative to the current folder if it is below it."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)
