"""Format a comparison of two runs: for a terminal, as Markdown for a pull request, or as JSON.

Takes a `Comparison` and the threshold of a regression.

python -m bench compare A B --format markdown
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.errors import counted
from bench.records.record import Cell, Status
from bench.running.progress import describe
from bench.statistics.compare import Change, Comparison, Outcome, Totals
from bench.statistics.digits import LATENCY, rounded
from bench.statistics.intervals import Estimate
from bench.statistics.verdicts import Verdict

STYLES = {"faster": "green", "slower": "bold red", "same": "", "ambiguous": "yellow", "unknown": "dim"}

_COORDINATES = ("batch_size", "variant", "precision", "channels_last", "grad_mode", "weights", "device")
_FIGURES = ("A ms", "B ms", "change", "95% interval", "processes", "verdict")
_LEFT = ("model", *_COORDINATES, "device_name", "verdict")
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
    for row, each in zip(rows, comparison.cells, strict=True):
        style = STYLES["slower" if each.fails_now else each.verdict]
        table.add_row(*row[:-1], Text(row[-1], style=style))
    console.print(table)
    console.print()
    for line in summary(comparison, threshold):
        console.print(line)


def markdown(comparison: Comparison, threshold: float) -> str:
    """Return a table and a list in GitHub's Markdown."""
    header, *rows = _rows(comparison)
    rule = ["---" if name in _LEFT else "---:" for name in header]
    table = [f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in (header, rule, *rows)]
    alerts = [f"**Not like for like:** {_escaped(warning)}" for warning in warnings(comparison)]
    notes = [f"- {_escaped(line)}" for line in summary(comparison, threshold)]
    return "\n\n".join([*alerts, "\n".join(table), "\n".join(notes)]) + "\n"


def as_json(comparison: Comparison, threshold: float) -> str:
    """Return everything as JSON: changes are shares (−0.05 is 5% less), unknown values are null."""
    document: dict[str, Any] = msgspec.to_builtins(comparison)
    document |= {"threshold": threshold, "regressions": msgspec.to_builtins(comparison.regressions(threshold))}
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"


# ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def warnings(comparison: Comparison) -> list[str]:
    """Return the differences in conditions that change latencies by themselves."""
    return [
        f"{each.name} is {each.before} in A and {each.after} in B ({counted(each.cells, 'case')})"
        for each in comparison.differences
        if each.is_condition
    ]


def summary(comparison: Comparison, threshold: float) -> list[str]:
    """Return the lines below the table: counts, means, failures, cells of one run only, A/A, and the conclusion."""
    before, after, cells = comparison.before, comparison.after, comparison.cells
    other = "eager" if comparison.variant == "compiled" else "compiled"
    verdicts = Counter(each.verdict for each in cells)
    counts = ", ".join(f"{verdicts[name]} {name}" for name in get_args(Verdict) if verdicts[name])
    versions = [f"{each.name} {each.before} → {each.after}" for each in comparison.differences if not each.is_condition]
    return [
        (
            f"{comparison.variant.capitalize()} latency, A → B: {counts} "
            "(judged by whether the 95% interval lies entirely beyond 1% or entirely within it)."
        ),
        f"Geometric mean of the changes: {_interval(comparison.overall)}; {other}: {_interval(comparison.control)}.",
        *_control(comparison),
        *_lone_processes(cells),
        f"Pass: {_passed(before)} in A, {_passed(after)} in B.",
        *(f"Status changed: {describe(each.cell)}: {_status(each)}." for each in cells if each.has_new_status),
        *_only("A", comparison.only_before),
        *_only("B", comparison.only_after),
        *([f"Other changes: {'; '.join(versions)}."] if versions else []),
        f"A/A: {before.replication} in A; {after.replication} in B.",
        f"A: {_side(before)}",
        f"B: {_side(after)}",
        _conclusion(comparison, threshold),
    ]


def _control(comparison: Comparison) -> list[str]:
    """Warn if eager changed too: the compiler does not affect eager, so something else did."""
    control = comparison.control
    if comparison.variant == "eager" or not (control.low > 0 or control.high < 0):
        return []
    return ["Eager changed too, so something besides the compiler differs: the machine, its load or other software."]


def _lone_processes(cells: Sequence[Change]) -> list[str]:
    lone = sum(each.before.processes == each.after.processes == 1 for each in cells)
    if not lone:
        return []
    return [
        (
            f"No interval for {counted(lone, 'case')} with only one process on each side. "
            "Measure with --processes 3 or more."
        )
    ]


def _conclusion(comparison: Comparison, threshold: float) -> str:
    regressions, beyond = comparison.regressions(threshold), f"slower by more than {100 * threshold:.3g}%"
    if not regressions:
        judged = sum(each.verdict != "unknown" for each in comparison.cells)
        return (
            f"No regression: of {counted(judged, 'case')} with a verdict, none is {beyond}, and none has begun to fail."
        )
    slower = [f"{describe(each.cell)} ({_percent(each.change.value)})" for each in regressions if not each.fails_now]
    failing = [f"{describe(each.cell)} ({each.after.status})" for each in regressions if each.fails_now]
    named = {beyond: slower, "now failing": failing}
    parts = [f"{what}: {', '.join(names)}" for what, names in named.items() if names]
    return f"Regressions: {'; '.join(parts)}."


def _side(side: Totals) -> str:
    older = f"; {counted(side.superseded, 'case')} taken from the newest of several runs" if side.superseded else ""
    return f"{side.name}, {', '.join(side.devices)}, {counted(side.cells, 'case')}{older}"


def _only(side: str, cells: Sequence[Cell]) -> list[str]:
    names = [describe(cell) for cell in cells[:_MOST_NAMED]]
    more = f" and {len(cells) - _MOST_NAMED} more" if len(cells) > _MOST_NAMED else ""
    return [f"Only in {side}: {'; '.join(names)}{more}."] if cells else []


def _status(change: Change) -> str:
    reason = f" ({change.after.reason})" if change.after.reason else ""
    return f"{change.before.status} → {change.after.status}{reason}"


def _passed(side: Totals) -> str:
    return f"{side.passed} of {counted(side.cells, 'case')}"


# ── Columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the header and one row per cell, with the coordinates that vary between cells."""
    cells = comparison.cells
    varying = [name for name in _COORDINATES if len({getattr(each.cell, name) for each in cells}) > 1]
    device = ["device_name"] if len({each.device_name for each in cells}) > 1 else []
    return [
        ("model", *varying, *device, *_FIGURES),
        *(
            (
                each.cell.model,
                *(str(getattr(each.cell, name)) for name in varying),
                *(getattr(each, name) for name in device),
                *_figures(each),
            )
            for each in cells
        ),
    ]


def _figures(change: Change) -> tuple[str, ...]:
    before, after = change.before, change.after
    return (
        _ms(before),
        _ms(after),
        _percent(change.change.value),
        _range(change.change),
        f"{before.processes} + {after.processes}",
        _outcome(change),
    )


def _outcome(change: Change) -> str:
    """Return the verdict, or the statuses where there can be none."""
    before, after = change.before.status, change.after.status
    if change.verdict != "unknown" or before is after is Status.PASS:
        return change.verdict
    return str(after) if before is after else f"{before} → {after}"


def _ms(outcome: Outcome) -> str:
    latency = Estimate(outcome.latency_ms, outcome.low_ms, outcome.high_ms)
    return "–" if math.isnan(latency.value) else rounded(latency, least=LATENCY)


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:+.1f}%".replace("-", "−")


def _range(estimate: Estimate) -> str:
    return "–" if math.isnan(estimate.low) else f"{_percent(estimate.low)} to {_percent(estimate.high)}"


def _interval(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "unknown"
    known = "no interval" if math.isnan(estimate.low) else _range(estimate)
    return f"{_percent(estimate.value)} ({known})"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
