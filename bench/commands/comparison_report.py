"""Say in words how two runs compare. Takes a `Comparison` and the threshold of a regression; returns lines of text.

python -m bench compare A B
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import pandas as pd

from bench.errors import counted
from bench.running.progress import aligned
from bench.statistics.compare import SIDES, VERSIONS, Comparison
from bench.statistics.digits import rounded
from bench.statistics.intervals import Estimate
from bench.statistics.verdicts import NOISE, Verdict

FIGURES = ("A ms", "B ms", "change", "95% interval", "processes")


def report(comparison: Comparison, threshold: float) -> Iterator[str]:
    """Yield the lines of the report: what is not like for like, one row for each case, and the summary."""
    for name, (before, after) in comparison.differences.items():
        if name not in (*VERSIONS, "profile"):
            yield f"Not like for like: {name} is {before} in A and {after} in B."
    rows = [_row(row) for _, row in comparison.cells.iterrows()]
    yield from (aligned(["case"], FIGURES, "verdict", rows), "", *summary(comparison, threshold))


def summary(comparison: Comparison, threshold: float) -> Iterator[str]:
    """Yield the lines below the table."""
    cells, control = comparison.cells, comparison.control
    verdicts = Counter(cells["verdict"])
    counts = ", ".join(f"{verdicts[name]} {name}" for name in get_args(Verdict) if verdicts[name])
    other = "eager" if comparison.variant == "compiled" else "compiled"
    rule = "judged by whether the 95% interval lies entirely beyond 1% or entirely within it"
    rule += f"; published figures, which have none, by {NOISE:.0%}"
    yield f"{comparison.variant.capitalize()} latency, A → B: {counts} ({rule})."
    yield f"Geometric mean of the changes: {_with_interval(comparison.overall)}; {other}: {_with_interval(control)}."
    if other == "eager" and (control.low > 0 or control.high < 0):
        yield "Eager changed too, so something besides the compiler differs: the machine, its load or other software."
    unjudged = cells[cells["verdict"] == "unknown"]
    if lone := int((unjudged["before_processes"] + unjudged["after_processes"] == 2).sum()):
        yield f"One process alone on each side: {counted(lone, 'case')}. Measure with --processes 3 or more."
    for _, row in cells[cells["before_status"] != cells["after_status"]].iterrows():
        reason = f" ({row['after_reason']})" if row["after_reason"] else ""
        yield f"Status changed: {row['cell'].title}: {row['before_status']} → {row['after_status']}{reason}."
    for name, side in (("A", comparison.before), ("B", comparison.after)):
        if only := len(side.cells) - len(cells):
            yield f"Only in {name}: {counted(only, 'case')}."
    changes = [f"{name} {' → '.join(pair)}" for name, pair in comparison.differences.items() if name in VERSIONS]
    if changes:
        yield f"Other changes: {'; '.join(changes)}."
    yield _conclusion(comparison, threshold)


def _conclusion(comparison: Comparison, threshold: float) -> str:
    regressions, beyond = comparison.regressions(threshold), f"slower by more than {100 * threshold:.3g}%"
    if regressions.empty:
        judged = counted(comparison.judged, "case")
        if not comparison.judged:
            return "Nothing can be judged: no case has a verdict."
        return f"No regression: of {judged} with a verdict, none is {beyond}, and none has begun to fail."
    ends = [row["after_status"] if row["fails_now"] else _percent(row["change"]) for _, row in regressions.iterrows()]
    named = ", ".join(f"{cell.title} ({end})" for cell, end in zip(regressions["cell"], ends, strict=True))
    return f"Regressions, {beyond} or now failing: {named}."


def _row(row: pd.Series[Any]) -> tuple[str, ...]:
    """Return the figures of a case, and its verdict, or the statuses where there can be none."""
    before, after = row["before_status"], row["after_status"]
    statuses = str(after) if before == after else f"{before} → {after}"
    is_judged = row["verdict"] != "unknown" or statuses == "pass"
    latencies = (Estimate(row[f"{side}_ms"], math.nan, math.nan) for side in SIDES)
    return (
        f"{row['cell'].title} on {row['device_name']}",
        *("–" if math.isnan(each.value) else rounded(each) for each in latencies),
        _percent(row["change"]),
        _range(row["change_low"], row["change_high"]),
        f"{row['before_processes']} + {row['after_processes']}",
        row["verdict"] if is_judged else statuses,
    )


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:+.1f}%".replace("-", "−")


def _range(low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"{_percent(low)} to {_percent(high)}"


def _with_interval(estimate: Estimate) -> str:
    return f"{_percent(estimate.value)} ({_range(estimate.low, estimate.high)})"
