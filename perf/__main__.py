"""Time the guide's builder beside others, and keep the result as a record.

python -m perf --help
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import click
from rich.console import Console

from bench.errors import AtlasError
from bench.records import build_times, document
from bench.records.build_times import BUILD_TIMES, BUILDS, EDITS, LOADS, OURS, START, BuildTimes
from bench.records.scrub import anonymous
from perf.builders import PEERS
from perf.report import tables
from perf.run import ROOT, Run, TimingPlan, environment

PROGRESS = "progress.json"
"""In the work folder: all timings of a run that is not finished."""


def _numbers(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    try:
        return [int(part.replace("_", "")) for part in text.split(",") if part.strip()]
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of whole numbers") from None


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--pages", callback=_numbers, default="80,800,4000", show_default=True, help="Sizes, all languages.")
@click.option("--alone", callback=_numbers, default="", help="Further sizes, for this guide without the others.")
@click.option("--records", callback=_numbers, default="10000,100000,1000000", show_default=True, help="To load.")
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True, help="Of everything.")
@click.option("--builder", "names", multiple=True, type=click.Choice([OURS, *PEERS]), help="Only this; repeatable.")
@click.option(
    "--action", "actions", multiple=True, type=click.Choice([*BUILDS, START, *EDITS, *LOADS]), help="Only this."
)
@click.option("--limit", type=float, default=1800, show_default=True, help="Seconds for one action, then it failed.")
@click.option("--programs", type=click.Path(path_type=Path), default=ROOT / ".venv" / "peers" / "bin", help="Peers'.")
@click.option("--work", type=click.Path(path_type=Path), default=ROOT / ".cache" / "perf", help="Folder to work in.")
@click.option("--out", type=click.Path(path_type=Path), default=BUILD_TIMES, help="Folder of the record.")
@click.option("--fresh", is_flag=True, help="Begin again instead of going on with an interrupted run.")
def main(
    pages: list[int],
    alone: list[int],
    records: list[int],
    repeats: int,
    names: tuple[str, ...],
    actions: tuple[str, ...],
    limit: float,
    programs: Path,
    work: Path,
    out: Path,
    fresh: bool,
) -> None:
    """Time builds, edits and loads of the guide, beside Material with static-i18n and Zensical.

    Every timing is saved at once: after an interruption, the same command goes on where it stopped.
    """
    plan = TimingPlan(
        pages=pages,
        alone=alone,
        records=records,
        repeats=repeats,
        work=work.resolve(),
        programs=programs.resolve(),
        limit_s=limit,
        names=names or (OURS, *PEERS),
        actions=actions or (*BUILDS, START, *EDITS, *LOADS),
    )
    console, start = Console(highlight=False), time.monotonic()

    def tell(what: str) -> None:
        console.print(f"[dim]{(time.monotonic() - start) / 60:6.1f} min[/]  {what}")

    progress = plan.work / PROGRESS
    try:
        for name in set(plan.names) - set(plan.present):
            tell(f"{name} is not installed in {plan.programs}, and left out")
        begun = _begun(progress, plan, fresh=fresh)
        found = Run(plan, begun, lambda found: document.write(found, progress), tell).all()
        path = build_times.write(found, out)
    except AtlasError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    progress.unlink(missing_ok=True)
    for table in tables(found):
        console.print(table)
    console.print(f"Record: {path}")


def _begun(progress: Path, plan: TimingPlan, *, fresh: bool) -> BuildTimes:
    """The interrupted run, where it was one of this commit on this machine; else an empty one. A tree with changes is
    no commit: what was timed before may have been other code."""
    command = anonymous(shlex.join(["python", "-m", "perf", *sys.argv[1:]]))
    begun = build_times.nothing_yet(environment(plan), command)
    if fresh or not progress.is_file() or str(begun.environment.commit).endswith("-dirty"):
        return begun
    known = build_times.read(progress)
    return known if known.environment == begun.environment else begun


if __name__ == "__main__":
    main()
