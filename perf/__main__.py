"""The command line: time the guide's builder and other builders, and write the record.

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
from perf.run import ROOT, TimingPlan, TimingRun, environment

PROGRESS = "progress.json"
"""The file in the work folder with the timings of an unfinished run."""


def _numbers(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    try:
        return [int(part.replace("_", "")) for part in text.split(",") if part.strip()]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of whole numbers") from None


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--pages",
    callback=_numbers,
    default="100,800,4000",
    show_default=True,
    help="Numbers of pages, counting all languages.",
)
@click.option("--alone", callback=_numbers, default="", help="Further numbers of pages, for this guide only.")
@click.option(
    "--records",
    callback=_numbers,
    default="10000,100000,1000000",
    show_default=True,
    help="Numbers of records to load.",
)
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True, help="How many times everything is timed."
)
@click.option(
    "--builder",
    "names",
    multiple=True,
    type=click.Choice([OURS, *PEERS]),
    help="Time only this builder. May be repeated.",
)
@click.option(
    "--action",
    "actions",
    multiple=True,
    type=click.Choice([*BUILDS, START, *EDITS, *LOADS]),
    help="Time only this action. May be repeated.",
)
@click.option("--limit", type=float, default=1800, show_default=True, help="Time limit for one action, in seconds.")
@click.option(
    "--programs",
    type=click.Path(path_type=Path),
    default=ROOT / ".venv" / "peers" / "bin",
    help="Folder with the programs of the other builders.",
)
@click.option("--work", type=click.Path(path_type=Path), default=ROOT / ".cache" / "perf", help="Work folder.")
@click.option("--out", type=click.Path(path_type=Path), default=BUILD_TIMES, help="Folder for the record.")
@click.option("--fresh", is_flag=True, help="Start again instead of resuming.")
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
    """Time builds, edits and loads of the guide, and compare with Material with static-i18n and Zensical.

    Every timing is saved at once: after an interruption, the same command resumes.
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

    def log(what: str) -> None:
        console.print(f"[dim]{(time.monotonic() - start) / 60:6.1f} min[/]  {what}")

    progress = plan.work / PROGRESS
    try:
        for name in set(plan.names) - set(plan.present):
            log(f"{name} is not installed in {plan.programs}; it is left out")
        known = _known(progress, plan, fresh=fresh)
        timed = TimingRun(plan, known, lambda state: document.write(state, progress), log).all()
        path = build_times.write(timed, out)
    except AtlasError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    progress.unlink(missing_ok=True)
    for table in tables(timed):
        console.print(table)
    console.print(f"Record: {path}")


def _known(progress: Path, plan: TimingPlan, *, fresh: bool) -> BuildTimes:
    """Return the timings of the interrupted run if they are of this commit and machine, else none.

    With uncommitted changes it returns none, because the earlier timings may be of other code.
    """
    command = anonymous(shlex.join(["python", "-m", "perf", *sys.argv[1:]]))
    empty = build_times.nothing_yet(environment(plan), command)
    if fresh or not progress.is_file() or str(empty.environment.commit).endswith("-dirty"):
        return empty
    known = build_times.read(progress)
    return known if known.environment == empty.environment else empty


if __name__ == "__main__":
    main()
