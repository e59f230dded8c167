"""`doctor`, `selfcheck`: find what would distort a measurement here, and check that the benchmark measures correctly.

python -m bench doctor
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bench.choices import folder
from bench.commands import FOUND_FAULTS, OK, OneOf, display_path
from bench.errors import AtlasError, Complaint
from bench.plans.models import find
from bench.records.record import DEVICES, RESULTS


@click.command("doctor")
def doctor_command() -> None:
    """List what would distort a measurement here, with remedies."""
    present = complaints()
    click.echo("\n".join(map(str, present)) or "nothing that would distort a measurement")
    sys.exit(FOUND_FAULTS if present else OK)


def complaints(device: str | None = None) -> list[Complaint]:
    """Return what would distort a measurement on this device now. Raises `AtlasError` where a package is missing."""
    try:
        from bench.measuring.doctor import examine, look
    except ModuleNotFoundError as error:
        remedy = "install the measuring dependencies: python -m bench install"
        raise AtlasError(f"{error.name} is not installed", remedy=remedy) from None
    return examine(look(device))


@click.command("selfcheck")
@click.option("--device", type=OneOf(DEVICES), help="Default: the best one available.")
@click.option("--model", default="ViT", help="The default compiles quickly, in one graph.")
@click.option("--out", type=folder, default=RESULTS / "selfcheck", metavar="DIR", help="The guide shows the default.")
def selfcheck_command(device: str | None, model: str, out: Path) -> None:
    """Check in five minutes that measuring is right here."""
    from bench.plans.messages import Recipe
    from bench.records import documents
    from bench.running import selfcheck
    from bench.running.worker_process import run_worker

    spec = find(model)
    found = selfcheck.check(run_worker, device, Recipe(model=spec.label, task=spec.task), click.echo)
    results = {True: "passed", False: "FAILED", None: "not applicable"}
    for check in found.checks:
        name = f"{check.name} ({check.variant})" if check.variant else check.name
        figure = "" if check.figure is None else f"{check.figure:.3f}"
        interval = "" if check.low is None else f" ({check.low:.3f} to {check.high:.3f})"
        click.echo(f"{results[check.has_passed]:<16}{name.replace('_', ' '):<24}{figure}{interval}".rstrip())
    click.echo(f"Record: {display_path(documents.write_selfcheck(found, out))}")
    sys.exit(FOUND_FAULTS if any(check.has_passed is False for check in found.checks) else OK)
