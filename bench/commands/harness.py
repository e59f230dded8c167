"""`dynamo-walkthrough`: record what TorchDynamo does.

python -m bench dynamo-walkthrough
"""

from __future__ import annotations

import argparse

from bench.choices import named
from bench.commands import FOUND_FAULTS, OK, Commands, display_path
from bench.records.record import RESULTS


def add(commands: Commands) -> None:
    """Add the commands and their options."""
    walkthrough = commands.add_parser(
        "dynamo-walkthrough",
        help="record what TorchDynamo does with a function and a training step",
        allow_abbrev=False,
    )
    walkthrough.add_argument(
        "--out",
        type=named,
        default=RESULTS / "walkthroughs",
        metavar="DIR",
        help="folder of the file (default: the atlas)",
    )
    walkthrough.set_defaults(command=_dynamo_walkthrough)


def _dynamo_walkthrough(options: argparse.Namespace) -> int:
    from bench.records import document, walkthrough as documents
    from bench.running import walkthrough
    from bench.running.executors import LocalProcesses

    document.check_writable(options.out)
    taken = walkthrough.take(LocalProcesses(), log=lambda phase: print(f"{phase} …", flush=True))
    path, example = documents.write(taken, options.out), taken.example
    verdict = "within" if example.agrees else "beyond"
    print(f"{taken.seconds:.0f} s; eager and compiled losses differ by {example.difference:.1e} at most,", end=" ")
    print(f"{verdict} the tolerance of {example.tolerance:.0e}\nRecord: {display_path(path)}")
    return OK if example.agrees else FOUND_FAULTS
