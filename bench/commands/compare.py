"""`compare`: show what became faster or slower between two runs.

python -m bench compare bench/results/measured/A.jsonl bench/results/measured/B.jsonl
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bench.commands import BAD_INPUT, OK, REGRESSED, OneOf

if TYPE_CHECKING:
    from bench.statistics.processes import VariantName


@click.command("compare")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--variant", type=OneOf(("compiled", "eager")), help="The latencies to compare; eager if one has no others."
)
@click.option("--threshold", type=float, default=5.0, help="Slowdown in percent that is a regression.")
def compare_command(before: str, after: str, variant: VariantName | None, threshold: float) -> None:
    """Show what became faster or slower between two runs.

    A and B are run files, folders of run files, or names of runs. Paths may be relative to bench/results. The status is
    1 if a benchmark case that is in both is slower by more than the threshold or has begun to fail, 2 if no case can be
    judged, else 0.
    """
    from bench.commands.comparison_report import report
    from bench.statistics.compare import compare, read_side

    comparison, limit = compare(read_side(before), read_side(after), variant), threshold / 100
    click.echo("\n".join(report(comparison, limit)))
    outcome = OK if comparison.judged else BAD_INPUT
    sys.exit(REGRESSED if len(comparison.regressions(limit)) else outcome)
