"""`compare`: show what became faster or slower between two runs.

python -m bench compare bench/results/measured/A.jsonl bench/results/measured/B.jsonl
"""

from __future__ import annotations

import argparse
import re
from typing import cast

from bench.choices import pick
from bench.commands import OK, REGRESSED, Commands
from bench.errors import AtlasError

VARIANTS, FORMATS = ("compiled", "eager"), ("table", "markdown", "json")


def add(commands: Commands) -> None:
    """Add the command and its options."""
    comparing = commands.add_parser(
        "compare",
        help="show what became faster or slower between two runs",
        description="Compare the latencies of the benchmark cases that are in both runs. Status 0: no regression; 1: "
        "at least one case is slower by more than the threshold or has begun to fail; 2: the runs cannot be compared.",
        epilog="A and B are run files, folders of run files, or names of runs. Paths may be relative to bench/results.",
        allow_abbrev=False,
    )
    comparing.add_argument("before", metavar="A", help="the earlier run")
    comparing.add_argument("after", metavar="B", help="the later run")
    comparing.add_argument(
        "--variant", default="compiled", metavar="VARIANT", help=f"{' or '.join(VARIANTS)} (default: compiled)"
    )
    comparing.add_argument(
        "--threshold", default="5%", metavar="PERCENT", help="the slowdown that counts as a regression (default: 5%%)"
    )
    comparing.add_argument("--format", default="table", metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: table)")
    comparing.set_defaults(command=_compare)


def _compare(options: argparse.Namespace) -> int:
    from rich.console import Console

    from bench.commands.comparison_report import as_json, markdown, print_report
    from bench.statistics.compare import compare, read_side
    from bench.statistics.processes import VariantName

    variant, form = (
        cast(VariantName, pick("variant", options.variant, VARIANTS)),
        pick("format", options.format, FORMATS),
    )
    threshold = _share(options.threshold)
    comparison = compare(read_side(options.before), read_side(options.after), variant)
    if form == "table":
        print_report(comparison, threshold, Console(highlight=False, markup=False))
    else:
        print((markdown if form == "markdown" else as_json)(comparison, threshold), end="")
    return REGRESSED if comparison.regressions(threshold) else OK


def _share(text: str) -> float:
    """Return a percentage, with or without its sign, as a share: 0.05 for 5%."""
    match = re.fullmatch(r"(\d{1,4}(?:\.\d+)?)\s*%?", text.strip())
    if not match:
        raise AtlasError(f"{text!r} is not a percentage", where="--threshold", remedy="write 5% or 2.5%")
    return float(match[1]) / 100
