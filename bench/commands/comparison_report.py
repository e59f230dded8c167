"""Print a comparison of two runs.

Takes a `Comparison` and the threshold of a regression.

python -m bench compare A B
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, get_args

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.errors import counted
from bench.records.record import Status
from bench.running.progress import describe
from bench.statistics.compare import SIDES, Comparison
from bench.statistics.digits import LATENCY, rounded
from bench.statistics.intervals import Estimate
from bench.statistics.verdicts import Verdict

STYLES = {"faster": "green", "slower": "bold red", "same": "", "inconclusive": "yellow", "unknown": "dim"}

_COORDINATES = ("batch_size", "variant", "precision", "channels_last", "grad_mode", "weights", "device")
_FIGURES = ("A ms", "B ms", "change", "95% interval", "processes", "verdict")
_LEFT = ("model", *_COORDINATES, "device_name", "verdict")
_JOINED = ", ".join
_MOST_NAMED = 8  # cells in one line


def print_report(comparison: Comparison, threshold: float, console: Console) -> None:
    """Print a table and the summary: in colour on a terminal, else plain and without wrapping."""
    if not console.is_terminal:
        console = Console(file=console.file, width=1000, soft_wrap=True, highlight=False, markup=False)
    for warning in warnings(comparison):
        console.print(f"Not like for like: {warning}", style="bold yellow")
    header, *rows = _rows(comparison)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        table.add_column(name, justify="left" if name in _LEFT else "right", no_wrap=name != "model")
    verdicts = comparison.cells["verdict"].mask(comparison.cells["fails_now"], "slower")
    for row, verdict in zip(rows, verdicts, strict=True):
        table.add_row(*row[:-1], Text(row[-1], style=STYLES[verdict]))
    console.print(table)
    console.print()
    for line in summary(comparison, threshold):
        console.print(line)


# ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def warnings(comparison: Comparison) -> list[str]:
    """Return the differences in conditions that change latencies by themselves."""
    return [
        f"{each.name} is {each.before} in A and {each.after} in B ({counted(each.cells, 'case')})"
        for each in comparison.differences
        if each.is_condition
    ]


def summary(comparison: Comparison, threshold: float) -> list[str]:
    """Return the lines below the table: counts, means, failures, cells of one run only, and the conclusion."""
    cells, control, sides = comparison.cells, comparison.control, {"A": comparison.before, "B": comparison.after}
    verdicts = Counter(cells["verdict"])
    counts = ", ".join(f"{verdicts[name]} {name}" for name in get_args(Verdict) if verdicts[name])
    other = "eager" if comparison.variant == "compiled" else "compiled"
    rule = "judged by whether the 95% interval lies entirely beyond 1% or entirely within it"
    lines = [
        f"{comparison.variant.capitalize()} latency, A → B: {counts} ({rule}).",
        f"Geometric mean of the changes: {_interval(comparison.overall)}; {other}: {_interval(control)}.",
    ]
    if other == "eager" and (control.low > 0 or control.high < 0):
        lines.append(
            "Eager changed too, so something besides the compiler differs: the machine, its load or other software."
        )
    if lone := int((cells["before_processes"] + cells["after_processes"] == 2).sum()):
        lines.append(f"One process alone on each side: {counted(lone, 'case')}. Measure with --processes 3 or more.")
    for name, side in sides.items():
        older = f"; {counted(side.superseded, 'case')} taken from the newest of several runs" if side.superseded else ""
        passed = f"{side.passed} of {counted(len(side.cells), 'case')} passed"
        lines.append(f"{name}: {side.name}, {', '.join(side.devices)}, {passed}{older}.")
    for _, row in cells[cells["before_status"] != cells["after_status"]].iterrows():
        reason = f" ({row['after_reason']})" if row["after_reason"] else ""
        lines.append(
            f"Status changed: {describe(row['cell'])}: {row['before_status']} → {row['after_status']}{reason}."
        )
    for name, one, two in (("A", comparison.before, comparison.after), ("B", comparison.after, comparison.before)):
        only = [cell for cell, device in one.cells if (cell, device) not in two.cells]
        more = f" and {len(only) - _MOST_NAMED} more" if len(only) > _MOST_NAMED else ""
        lines += [f"Only in {name}: {'; '.join(map(describe, only[:_MOST_NAMED]))}{more}."] if only else []
    versions = [f"{each.name} {each.before} → {each.after}" for each in comparison.differences if not each.is_condition]
    lines += [f"Other changes: {'; '.join(versions)}."] if versions else []
    return [*lines, _conclusion(comparison, threshold)]


def _conclusion(comparison: Comparison, threshold: float) -> str:
    regressions, beyond = comparison.regressions(threshold), f"slower by more than {100 * threshold:.3g}%"
    if regressions.empty:
        judged = counted(int((comparison.cells["verdict"] != "unknown").sum()), "case")
        return f"No regression: of {judged} with a verdict, none is {beyond}, and none has begun to fail."
    named: dict[str, list[str]] = {beyond: [], "now failing": []}
    for _, row in regressions.iterrows():
        end = row["after_status"] if row["fails_now"] else _percent(row["change"])
        named["now failing" if row["fails_now"] else beyond].append(f"{describe(row['cell'])} ({end})")
    return f"Regressions: {'; '.join(f'{what}: {_JOINED(names)}' for what, names in named.items() if names)}."


# ── Columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the header and one row per cell, with the coordinates that vary between cells."""
    cells = comparison.cells
    columns = {name: [str(getattr(cell, name)) for cell in cells["cell"]] for name in _COORDINATES}
    columns["device_name"] = cells["device_name"].tolist()
    varying = {name: values for name, values in columns.items() if len({*values}) > 1}
    figures = [_figures(row) for _, row in cells.iterrows()]
    rows = zip([cell.model for cell in cells["cell"]], *varying.values(), figures, strict=True)
    return [("model", *varying, *_FIGURES), *((*names, *figures) for *names, figures in rows)]


def _figures(row: pd.Series[Any]) -> tuple[str, ...]:
    """Return the latencies, the change, and the verdict, or the statuses where there can be none."""
    before, after = row["before_status"], row["after_status"]
    latencies = (Estimate(row[f"{side}_ms"], row[f"{side}_low_ms"], row[f"{side}_high_ms"]) for side in SIDES)
    is_judged = row["verdict"] != "unknown" or before is after is Status.PASS
    return (
        *("–" if math.isnan(each.value) else rounded(each, least=LATENCY) for each in latencies),
        _percent(row["change"]),
        _range(row["change_low"], row["change_high"]),
        f"{row['before_processes']} + {row['after_processes']}",
        row["verdict"] if is_judged else str(after) if before is after else f"{before} → {after}",
    )


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:+.1f}%".replace("-", "−")


def _range(low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"{_percent(low)} to {_percent(high)}"


def _interval(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "unknown"
    known = "no interval" if math.isnan(estimate.low) else _range(estimate.low, estimate.high)
    return f"{_percent(estimate.value)} ({known})"
