"""`selfcheck`: check that the benchmark measures correctly on this device.

python -m bench selfcheck
"""

from __future__ import annotations

import argparse

from bench.choices import named
from bench.commands import FOUND_FAULTS, OK, Commands, display_path
from bench.plans.models import find
from bench.records.record import DEVICES

MODEL = "ViT"
"""The default model: it compiles quickly, in one graph."""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    selfcheck = commands.add_parser(
        "selfcheck", help="check in five minutes that the benchmark measures correctly here", allow_abbrev=False
    )
    selfcheck.add_argument("--device", choices=DEVICES, help="default: the best one available")
    selfcheck.add_argument("--model", default=MODEL, metavar="NAME", help=f"default: {MODEL}")
    selfcheck.add_argument(
        "--out", type=named, metavar="DIR", help="write the result there too; the guide shows bench/results/selfcheck"
    )
    selfcheck.set_defaults(command=_selfcheck)


def _selfcheck(options: argparse.Namespace) -> int:
    from bench.plans.messages import Recipe
    from bench.records import document, selfcheck as documents
    from bench.running import selfcheck
    from bench.running.executors import LocalProcesses

    spec = find(options.model)
    if options.out:
        document.check_writable(options.out)
    recipe = Recipe(model=spec.label, task=spec.task)
    found = selfcheck.check(LocalProcesses(), options.device, recipe, lambda line: print(line, flush=True))
    results = {True: "passed", False: "FAILED", None: "not applicable"}
    for check in found.checks:
        name = f"{check.name} ({check.variant})" if check.variant else check.name
        figure = "" if check.figure is None else f"{check.figure:.3f}"
        interval = "" if check.low is None else f" ({check.low:.3f} to {check.high:.3f})"
        print(f"{results[check.has_passed]:<16}{name.replace('_', ' '):<24}{figure}{interval}".rstrip())
    if options.out:
        print(f"Record: {display_path(documents.write(found, options.out))}")
    return FOUND_FAULTS if any(check.has_passed is False for check in found.checks) else OK
