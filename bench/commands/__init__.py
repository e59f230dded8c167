"""The commands of `python -m bench`, and what they share.

`bench.commands.command_line.main` imports all modules here, so a command imports what is slow to load when it runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from bench.choices import pick
from bench.errors import AtlasError, unusable
from bench.records.record import RESULTS

MEASURED, PUBLISHED = RESULTS / "measured", RESULTS / "published"

OK, NOTHING_MEASURED, FOUND_FAULTS, REGRESSED, BAD_INPUT, INTERRUPTED = 0, 1, 1, 1, 2, 130
"""Exit statuses."""


class Commands(click.Group):
    """A command group that reports errors with their place and remedy, without a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has closed it; Click handles that
            raise
        except (AtlasError, OSError) as error:
            shown = unusable(error) if isinstance(error, OSError) else error
            click.echo(f"error: {shown}", err=True)
            sys.exit(BAD_INPUT)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)


class OneOf(click.Choice[str]):
    """The type of an option that takes one of a few names, in any spelling, and suggests the nearest for others."""

    def convert(self, value: Any, param: click.Parameter | None, _context: click.Context | None) -> str:
        return pick(param.opts[0].removeprefix("--") if param else "value", value, self.choices)


def display_path(path: Path) -> str:
    """Return the path relative to the current folder if it is below it."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)
