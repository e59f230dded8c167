"""`run`: measure the cells of a profile, on this machine or on a Ray cluster.

python -m bench run --profile quick
"""

from __future__ import annotations

import sys
import time
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args

import click

from bench.choices import folder
from bench.commands import INTERRUPTED, MEASURED, NOTHING_MEASURED, OK, OneOf, display_path, doctor
from bench.commands.selection import model_named, prepared, profile_of, recipes_of, seconds_of, variant_named
from bench.errors import AtlasError, counted
from bench.plans.messages import Weights
from bench.plans.profiles import PRECISIONS, PROFILES
from bench.records.record import DEVICES, Task

if TYPE_CHECKING:
    from bench.running.ray_executor import RayCluster


class _Several(click.Command):
    """A command whose repeatable options take several values each: --batch-size 1 4 16."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        several = {each.opts[0] for each in self.params if isinstance(each, click.Option) and each.multiple}
        words: list[str] = []
        option = ""
        for word in args:
            if word.startswith("-"):
                option = word
            elif option in several and words[-1] != option:
                words.append(option)
            words.append(word)
        return super().parse_args(ctx, words)


@click.command("run", cls=_Several)
@click.option("--profile", type=OneOf(PROFILES), default="quick", help="See `python -m bench list`.")
@click.option("--model", "models", type=model_named, multiple=True, metavar="NAME...")
@click.option("--checkpoint", metavar="ID_OR_DIR", help="Any other checkpoint, of the Hugging Face Hub or in a folder.")
@click.option("--name", metavar="NAME", help="Name of a local checkpoint. Default: the name of its folder.")
@click.option("--task", type=OneOf(get_args(Task)), help="Task of the checkpoint.")
@click.option("--weights", type=OneOf(get_args(Weights)), help="Default: pretrained for a checkpoint, else random.")
@click.option("--shrunken", is_flag=True, help="One-layer models at 64×64, to try out the harness.")
@click.option("--batch-size", "batch_sizes", type=click.IntRange(1, 4096), multiple=True, metavar="N...")
@click.option("--variant", "variants", type=variant_named, multiple=True, metavar="NAME...")
@click.option("--dtype", "dtypes", type=OneOf(PRECISIONS), multiple=True)
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads of a CPU. Default: one a core.")
@click.option("--malloc", type=OneOf(("keep", "default")), help="What malloc does with freed memory.")
@click.option("--device", type=OneOf(DEVICES), help="Default: the best one available.")
@click.option("--allow-busy", is_flag=True, help="Measure even if other processes use the device.")
@click.option("--processes", type=click.IntRange(1, 100), metavar="N", help="Fresh processes for each case.")
@click.option("--time-budget", type=seconds_of, metavar="TIME", help="When to start no more: 90s, 9m or 1h30m.")
@click.option("--executor", type=OneOf(("local", "ray")), default="local", help="ray: on the nodes of a Ray cluster.")
@click.option("--accelerator-type", metavar="TYPE", help="With ray: only on nodes with this accelerator, such as H100.")
@click.option("--out", type=folder, default=MEASURED, metavar="DIR", help="Folder of run files.")
@click.option("--fresh", is_flag=True, help="Start a new run even if one can be resumed.")
@click.option("--retry-failed", is_flag=True, help="Measure the run's failed cases again.")
@click.option("--dry-run", is_flag=True, help="Show what would be measured, and how long it would take.")
def run_command(**given: Any) -> None:
    """Measure the benchmark cases of a profile.

    Each is one model with one data type, batch size and variant. To resume an interrupted run, run the same command
    again. Options that you omit take their values from the profile; `python -m bench list` shows all names. Some take
    several values: --batch-size 1 4 16. No process starts that is expected to end after the time budget; one that has
    started may overrun it by up to half.
    """
    from rich.console import Console

    from bench.plans.duration import OVERRUN, time_budget
    from bench.plans.plan import duration_s, first_of_each_cell
    from bench.running.progress import Reporter, estimate, estimates_table, processes_of, results_table
    from bench.running.sweep import remaining, run
    from bench.running.worker_process import preflight, run_worker

    start, options = time.monotonic(), SimpleNamespace(**given)
    profile, recipes, cluster = profile_of(options), recipes_of(options), _cluster(options)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for local in filter(None, (recipe.local for recipe in recipes)):
        console.print(f"{local.name}: sha256 {local.digest}")
    console.print("Checking the machine …")
    ask = cluster.preflight if cluster else partial(preflight, run_worker, options.device)
    machine = ask(recipes, profile)
    plan, run_file, pace = prepared(options, recipes, machine)
    steps = remaining(plan, run_file, run_file.records, run_file.forgotten(retry_failed=options.retry_failed))
    path, environment = display_path(run_file.path), machine.environment
    console.print(f"{environment.device_name}, {environment.cores} CPU cores, torch {environment.torch}")
    if not steps:
        console.print(f"Nothing to do: {path} is complete. To measure again, add --fresh.")
        console.print(results_table(run_file.records))
        return
    budget_s, preparation_s = options.time_budget, time.monotonic() - start
    left_s = None if budget_s is None else budget_s - preparation_s
    verb = f"resuming after {counted(len(run_file.records), 'record')} in" if run_file.records else "measuring into"
    console.print(f"{estimate(steps, pace, left_s)}; {verb} {path}")
    if options.dry_run:
        for complaint in doctor.complaints(machine.device):
            console.print(f"warning: {complaint}")
        console.print(estimates_table(steps, pace))
        return

    grace_s = OVERRUN * (budget_s or 0.0)
    examine = partial(doctor.complaints, machine.device)
    here = partial(run, executor=run_worker, pace=pace, grace_s=grace_s, examine=examine)
    try:
        with Reporter(console) as reporter:
            records = (cluster.run if cluster else here)(
                plan,
                machine,
                run_file,
                reporter=reporter,
                deadline=None if budget_s is None else start + budget_s,
                retry_failed=options.retry_failed,
            )
    except KeyboardInterrupt:
        console.print(f"Stopped. Finished records are in {path}. To continue, run the same command again.")
        sys.exit(INTERRUPTED)
    if records:
        console.print(results_table(records))
        console.print(f"Records: {path}")
    if budget_s is not None and (left := remaining(plan, run_file, records)):
        quickest_s = min(duration_s([step], pace) for step in first_of_each_cell(left))
        remedy = f"run the same command with --time-budget {time_budget(quickest_s, preparation_s)} or more"
        console.print(f"No time is left for {processes_of(left)}: {remedy}.")
    sys.exit(OK if any(record.measurement for record in records) else NOTHING_MEASURED)


def _cluster(options: SimpleNamespace) -> RayCluster | None:
    if options.executor == "ray":
        from bench.running.ray_executor import RayCluster

        return RayCluster(options.device, options.accelerator_type)
    if options.accelerator_type:
        remedy = "add --executor ray, or omit this option"
        raise AtlasError("only applies to a Ray cluster", where="--accelerator-type", remedy=remedy)
    return None
