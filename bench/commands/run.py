"""`run`: measure the cells of a profile, on this machine or on a Ray cluster.

python -m bench run --profile quick
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, get_args

from bench.choices import folder, named, pick
from bench.commands import (
    INTERRUPTED,
    MEASURED,
    NOTHING_MEASURED,
    OK,
    Commands,
    display_path,
    doctor,
    resume_command,
)
from bench.commands.selection import prepared, profile_of, recipes_of, seconds_of
from bench.errors import AtlasError, counted
from bench.plans.profiles import PRECISIONS, PROFILES
from bench.records.record import COMPILE_MODES, DEVICES, Task

if TYPE_CHECKING:
    from rich.console import Console

    from bench.plans.duration import DurationEstimates
    from bench.plans.plan import Step
    from bench.records.record import Record
    from bench.running.ray_executor import RayCluster

EXECUTORS = ("local", "ray")


def add(commands: Commands) -> None:
    """Add the command and its options."""
    run = commands.add_parser(
        "run",
        help="measure the benchmark cases of a profile",
        description="Measure the benchmark cases of a profile: each is one model on one device with one data type, "
        "batch size and variant. To resume an interrupted run, run the same command again.",
        epilog="Options that you omit take their values from the profile: see `python -m bench list`. Some options "
        "take several values: --batch-size 1 4 16.",
        allow_abbrev=False,
    )
    what = run.add_argument_group("what to measure")
    what.add_argument("--profile", metavar="NAME", help=f"{', '.join(PROFILES)} (default: quick)")
    what.add_argument("--model", nargs="+", action="extend", metavar="NAME", help="labels from `python -m bench list`")
    what.add_argument(
        "--checkpoint", metavar="ID_OR_DIR", help="any other checkpoint: a Hugging Face Hub ID or a local folder"
    )
    what.add_argument(
        "--name", metavar="NAME", help="the name for a local checkpoint (default: the name of its folder)"
    )
    what.add_argument("--task", metavar="TASK", help=f"task of the checkpoint: {', '.join(get_args(Task))}")
    what.add_argument(
        "--weights",
        metavar="KIND",
        help="random (default for models of the list) or pretrained (default for a checkpoint)",
    )
    what.add_argument("--shrunken", action="store_true", help="one-layer models at 64×64, to try out the harness")
    how = run.add_argument_group("how")
    how.add_argument("--batch-size", nargs="+", action="extend", metavar="N", help="images per call")
    how.add_argument(
        "--variant",
        nargs="+",
        action="extend",
        metavar="NAME",
        help=f"how to run the model: {', '.join(COMPILE_MODES)}, or any other that `python -m bench list` names",
    )
    how.add_argument("--dtype", nargs="+", action="extend", metavar="TYPE", help=", ".join(PRECISIONS))
    how.add_argument(
        "--malloc", metavar="CHOICE", help="what to do with freed memory: keep, or default (glibc's settings)"
    )
    how.add_argument("--device", metavar="TYPE", help=f"{', '.join(DEVICES)} (default: the best one available)")
    how.add_argument("--allow-busy", action="store_true", help="measure even if other processes use the device")
    how.add_argument("--processes", metavar="N", help="number of fresh processes for each case")
    how.add_argument(
        "--time-budget",
        metavar="TIME",
        help="90s, 9m, 1h30m: no process starts that is expected to end later; one that has started may overrun by up "
        "to half the budget",
    )
    many = run.add_argument_group("on many machines")
    many.add_argument(
        "--executor", default="local", metavar="NAME", help="local (default), or ray: on the nodes of a Ray cluster"
    )
    many.add_argument(
        "--accelerator-type", metavar="TYPE", help="with ray: only on nodes with this accelerator, such as H100"
    )
    many.add_argument(
        "--shard", metavar="K/N", help="every Nth case, from the Kth on, such as 2/8; each shard has its own run file"
    )
    where = run.add_argument_group("output")
    where.add_argument(
        "--out", type=named, default=MEASURED, metavar="DIR", help="folder of run files (default: the atlas)"
    )
    where.add_argument("--fresh", action="store_true", help="start a new run even if one can be resumed")
    where.add_argument("--retry-failed", action="store_true", help="measure the run's failed cases again")
    where.add_argument("--dry-run", action="store_true", help="show what would be measured, and how long it would take")
    run.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from rich.console import Console

    from bench.plans.duration import OVERRUN
    from bench.plans.plan import fitting
    from bench.running.executors import LocalProcesses
    from bench.running.preflight import preflight
    from bench.running.progress import BarReporter, PlainReporter, estimate, estimates_table, results_table
    from bench.running.sweep import remaining, run

    folder(options.out)
    start = time.monotonic()
    budget_s = None if options.time_budget is None else seconds_of(options.time_budget)
    deadline = None if budget_s is None else start + budget_s
    profile, recipes = profile_of(options), recipes_of(options)
    device = None if options.device is None else pick("device", options.device, DEVICES)
    cluster = _cluster(options, device)
    console = Console(soft_wrap=True, highlight=False, markup=False)

    for local in filter(None, (recipe.local for recipe in recipes)):
        console.print(f"{local.name}: {local.identity}")
    console.print("Checking the machine …")
    machine = cluster.preflight(recipes, profile) if cluster else preflight(LocalProcesses(), device, recipes, profile)
    environment = machine.environment
    plan, run_file, pace = prepared(options, recipes, machine)
    forgotten = run_file.forgotten(retry_failed=options.retry_failed)
    steps = remaining(plan, run_file, run_file.records, forgotten)
    path = display_path(run_file.path)
    console.print(f"{environment.device_name}, {environment.cores} CPU cores, torch {environment.torch}")
    if not steps:
        console.print(f"Nothing to do: {path} is complete. To measure again: {resume_command(options)} --fresh")
        console.print(results_table(run_file.records))
        return OK
    verb = f"resuming after {counted(len(run_file.records), 'record')} in" if run_file.records else "measuring into"
    preparation_s = time.monotonic() - start
    left_s = None if budget_s is None else budget_s - preparation_s
    console.print(f"{estimate(steps, pace, left_s)}; {verb} {path}")
    if options.dry_run:
        for complaint in doctor.complaints():
            console.print(f"warning: {complaint}")
        console.print(estimates_table(steps, pace, left_s))
        if left_s is not None and not fitting(steps, pace, left_s):
            console.print(_time_is_up(steps, pace, preparation_s, 0, options))
        return OK

    try:
        with BarReporter(console) if console.is_terminal else PlainReporter(console) as reporter:
            here = partial(
                run,
                executor=LocalProcesses(),
                pace=pace,
                grace_s=OVERRUN * (budget_s or 0.0),
                examine=doctor.complaints,
            )
            records = (cluster.run if cluster else here)(
                plan,
                machine,
                run_file,
                reporter=reporter,
                deadline=deadline,
                retry_failed=options.retry_failed,
            )
    except KeyboardInterrupt:
        console.print(f"Stopped. Finished records are in {path}. To continue: {resume_command(options)}")
        return INTERRUPTED
    _report(records, path, console)
    if unmeasured := remaining(plan, run_file, records):
        done = len(records) - len(run_file.records)
        console.print(_time_is_up(unmeasured, pace, preparation_s, done, options))
    return OK if any(record.measurement for record in records) else NOTHING_MEASURED


def _cluster(options: argparse.Namespace, device: str | None) -> RayCluster | None:
    """Return the cluster to measure on, or None for this machine."""
    if pick("executor", options.executor, EXECUTORS) == "ray":
        from bench.running.ray_executor import RayCluster

        return RayCluster(device, options.accelerator_type)
    if options.accelerator_type:
        remedy = "add --executor ray, or omit this option"
        raise AtlasError("only applies to a Ray cluster", where="--accelerator-type", remedy=remedy)
    return None


def _report(records: Sequence[Record], path: str, console: Console) -> None:
    """Print the results of a run."""
    from bench.running.progress import results_table

    if records:
        console.print(results_table(records))
        console.print(f"Records: {path}")


def _time_is_up(
    left: Sequence[Step], pace: DurationEstimates, preparation_s: float, done: int, options: argparse.Namespace
) -> str:
    """Return what is left to do after `done` processes, and a command with time for one more."""
    from bench.plans.duration import time_budget
    from bench.plans.plan import quickest_s
    from bench.running.progress import time_is_up

    enough = time_budget(quickest_s(left, pace), preparation_s)
    is_short = options.time_budget is not None and seconds_of(options.time_budget) < seconds_of(enough)
    return f"{time_is_up(left, pace, done)} To continue: {resume_command(options, enough if is_short else None)}"
