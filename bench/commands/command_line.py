"""The command line of `python -m bench`: parses the arguments, runs the command, prints errors.

Takes the arguments; exits with the command's status. Only worker processes import torch.

    python -m bench --help
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from bench.commands import (
    BAD_INPUT,
    INTERRUPTED,
    OK,
    compare,
    doctor,
    examples,
    exchange,
    install,
    listing,
    run,
    selfcheck,
)
from bench.errors import AtlasError

COMMANDS = (install, run, compare, listing, exchange, selfcheck, examples, doctor)
"""The modules with commands, in the order of `--help`."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its status. A mistake in the input prints one message and exits with status 2."""
    options = parser().parse_args(arguments)
    options.arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.exit(options.command(options))
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of the output has closed it, as `head` does
        sys.stderr.close()
        sys.exit(OK)


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._negative_number_matcher = re.compile(r"-\d")  # of -5m too, the value of an option says what is wrong

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what is not known here, where the names of the command's options are."""
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = difflib.get_close_matches(unknown[0], self._option_string_actions, n=1, cutoff=0.7)
            hint = f"did you mean {near[0]}? " if near else ""
            self.exit(
                BAD_INPUT, f"error: unrecognized arguments: {' '.join(unknown)}\n  remedy: {hint}{self.prog} --help\n"
            )
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"error: {message}\n  remedy: {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = _Parser(
        prog="python -m bench",
        description="Measure vision models, eager against torch.compile, and keep the records.",
        allow_abbrev=False,
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)
    for module in COMMANDS:
        module.add(commands)
    return top
