"""`dynamo-walkthrough`, `repeatability`, `prove`: record what TorchDynamo does, and how well the harness measures.

python -m bench prove
"""

from __future__ import annotations

import argparse
import shlex
import sys

from bench.choices import named
from bench.commands import FOUND_FAULTS, LARGEST_COUNT, OK, Commands, count, display_path
from bench.errors import AtlasError
from bench.plans.models import find
from bench.records.record import DEVICES, RESULTS


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

    repeatability = commands.add_parser(
        "repeatability",
        help="repeat the standard profile, and compare it with other ways of timing",
        allow_abbrev=False,
    )
    repeatability.add_argument("--repeats", default="5", metavar="N", help="default: 5, about two hours on two cores")
    repeatability.add_argument("--model", action="append", metavar="NAME", help="default: ResNet, ViT, Segformer")
    repeatability.add_argument("--without-baselines", action="store_true", help="only the standard profile")
    repeatability.add_argument(
        "--out",
        type=named,
        default=RESULTS / "repeatability",
        metavar="DIR",
        help="folder of the file (default: the atlas)",
    )
    repeatability.set_defaults(command=_repeatability)

    prove = commands.add_parser(
        "prove", help="check in five minutes that the harness measures correctly on this device", allow_abbrev=False
    )
    prove.add_argument("--device", choices=DEVICES, help="default: the best one available")
    prove.add_argument(
        "--lower-power-limit",
        action="store_true",
        help="as root: also check that rounds at a lowered power limit are detected; the limit is restored afterwards",
    )
    prove.add_argument(
        "--out", type=named, default=RESULTS / "proofs", metavar="DIR", help="folder of the file (default: the atlas)"
    )
    prove.set_defaults(command=_prove)


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


def _repeatability(options: argparse.Namespace) -> int:
    from rich.console import Console

    from bench.harness import repeats
    from bench.records import document, repeatability

    document.check_writable(options.out)
    number = count("--repeats", options.repeats, LARGEST_COUNT)
    if number < 2:
        raise AtlasError("a single repeat has no spread", where="--repeats", remedy="give 2 or more")
    models = [find(name).label for name in options.model or repeats.MODELS]
    given = shlex.join(["python", "-m", "bench", *sys.argv[1:]])
    console = Console()
    repeated = repeats.repeat(
        models, number, command=given, tell=console.print, with_baselines=not options.without_baselines
    )
    path = repeatability.write(repeated, options.out)
    console.print(repeats.table(repeated))
    console.print("\n".join([*repeats.remarks(repeated), f"Record: {display_path(path)}"]))
    return OK


def _prove(options: argparse.Namespace) -> int:
    from bench.harness import proof
    from bench.records import document, proof as documents

    document.check_writable(options.out)
    device = ["--device", options.device] if options.device else []
    power = ["--lower-power-limit"] if options.lower_power_limit else []
    given = shlex.join(["python", "-m", "bench", "prove", *device, *power])  # without the folder, which is private
    proved = proof.prove(
        options.device,
        command=given,
        tell=lambda line: print(line, flush=True),
        may_lower_power=options.lower_power_limit,
    )
    path = documents.write(proved, options.out)
    print(*map(proof.line, proved.checks), *proof.complaints(proved), f"Record: {display_path(path)}", sep="\n")
    return FOUND_FAULTS if proved.failed else OK
