"""`operations`, `describe`, `estimate`: estimate the speedup of models that nobody has measured.

python -m bench estimate --validate
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.choices import named
from bench.commands import OK, Commands, display_path
from bench.errors import AtlasError, counted
from bench.records.record import RESULTS, TIMM

if TYPE_CHECKING:
    from bench.plans.messages import Phase


def add(commands: Commands) -> None:
    """Add the commands and their options."""
    describe = commands.add_parser(
        "describe", help="count the operations of a model, to estimate its speedup", allow_abbrev=False
    )
    describe.add_argument(
        "--checkpoint", required=True, metavar="ID_OR_DIR", help="a Hugging Face Hub ID or a local folder"
    )
    describe.add_argument("--task", default="image-classification", metavar="TASK", help="default: %(default)s")
    describe.add_argument(
        "--digest", action="store_true", help="print only the digest that identifies this folder in records"
    )
    describe.set_defaults(command=_describe)

    operations = commands.add_parser(
        "operations", help="count the operations of timm's published models (needs timm)", allow_abbrev=False
    )
    operations.add_argument("--out", type=named, metavar="DIR", help="folder of the file (default: the atlas)")
    operations.set_defaults(command=_operations)

    estimate = commands.add_parser(
        "estimate",
        help="fit the estimates to the records, and report how accurate they are",
        allow_abbrev=False,
    )
    estimate.add_argument("--validate", action="store_true", help="only report how accurate they are; write nothing")
    estimate.add_argument("--out", type=named, metavar="DIR", help="folder of the file (default: the atlas)")
    estimate.set_defaults(command=_estimate)


def _describe(options: argparse.Namespace) -> int:
    from bench.commands.selection import checkpoint_recipe
    from bench.estimates.features import described
    from bench.plans.messages import CountOperations
    from bench.running import operations
    from bench.running.executors import LocalProcesses

    if options.digest:
        print(_digest(Path(options.checkpoint)))
        return OK
    recipe = checkpoint_recipe(options.checkpoint, options.task, "random")
    answer = operations.count(LocalProcesses(), CountOperations(recipe=recipe), log=lambda _: None)
    ((_, (height, width)), found) = answer.counted[0]
    print(f"{found.flop / 1e9:.3g} GFLOP, {found.activations / 1e6:.3g} M activations per image of {height}×{width};")
    print(f"{found.parameters / 1e6:.3g} M parameters. Paste this line into the guide, under “My model is not here”:\n")
    print(described(found))
    return OK


def _digest(directory: Path) -> str:
    from bench.plans.checkpoints import identify

    if not directory.is_dir():
        remedy = "give the folder of a local checkpoint; records identify a hub checkpoint by its ID"
        raise AtlasError(f"{str(directory)!r} is not a folder", where="--checkpoint", remedy=remedy)
    local = identify(directory, needs_weights=False)
    return f"{local.name}: {local.identity}"


def _operations(options: argparse.Namespace) -> int:
    from bench.estimates import comparisons
    from bench.plans.messages import CountOperations
    from bench.records import document
    from bench.records.operations import OPERATIONS, write
    from bench.running import operations
    from bench.running.executors import LocalProcesses

    folder = options.out or OPERATIONS
    document.check_writable(folder)
    rows = comparisons.read()
    rows = rows[rows["checkpoint"].str.startswith(TIMM)]
    sources = sorted({(name, (size, size)) for name, size in zip(rows["checkpoint"], rows["height"], strict=True)})
    answer = operations.count(LocalProcesses(), CountOperations(sources=tuple(sources)), _progress)
    if not answer.counted:
        raise AtlasError("the operations of no model could be counted", remedy=next(iter(answer.failures.values()), ""))
    for name, reason in answer.failures.items():
        print(f"left out: {name}: {reason}")
    versions = "_".join(f"{name}-{answer.versions[name].partition('+')[0]}" for name in ("timm", "torch"))
    path = write(dict(answer.counted), folder / f"{versions}.csv")
    print(f"{counted(len(answer.counted), 'model at its image size', 'models and image sizes')}: {display_path(path)}")
    return OK


def _progress(phase: Phase) -> None:
    if phase.done % 100 == 0:
        print(f"{phase.done} of {phase.of} …", flush=True)


def _estimate(options: argparse.Namespace) -> int:
    from rich.console import Console

    from bench.estimates import fitting, report
    from bench.records import document, estimates

    folder = options.out or RESULTS / estimates.FOLDER
    document.check_writable(folder)
    console = Console()
    fitted = fitting.fit(command=shlex.join(["python", "-m", "bench", *sys.argv[1:]]), tell=console.print)
    console.print(report.tables(fitted))
    if not options.validate:
        console.print(f"Record: {display_path(estimates.write(fitted, folder))}")
    return OK
