"""Format a comparison of two runs: for a terminal, as Markdown for a pull request, or as JSON.

Takes a `Comparison` and the threshold of a regression.

python -m bench compare A B --format markdown
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, get_args

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.errors import counted
from bench.records.record import Status
from bench.running.progress import describe
from bench.statistics.compare import Change, Comparison, Outcome
from bench.statistics.digits import LATENCY, rounded
from bench.statistics.intervals import Estimate
from bench.statistics.verdicts import Verdict

STYLES = {"faster": "green", "slower": "bold red", "same": "", "inconclusive": "yellow", "unknown": "dim"}

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
    """Return the lines below the table: counts, means, failures, cells of one run only, and the conclusion."""
    cells, control, sides = comparison.cells, comparison.control, {"A": comparison.before, "B": comparison.after}
    verdicts = Counter(each.verdict for each in cells)
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
    if lone := sum(each.before.processes == each.after.processes == 1 for each in cells):
        lines.append(f"One process alone on each side: {counted(lone, 'case')}. Measure with --processes 3 or more.")
    for name, side in sides.items():
        older = f"; {counted(side.superseded, 'case')} taken from the newest of several runs" if side.superseded else ""
        passed = f"{side.passed} of {counted(side.cells, 'case')} passed"
        lines.append(f"{name}: {side.name}, {', '.join(side.devices)}, {passed}{older}.")
    for each in cells:
        if each.before.status is not each.after.status:
            reason = f" ({each.after.reason})" if each.after.reason else ""
            lines.append(f"Status changed: {describe(each.cell)}: {each.before.status} → {each.after.status}{reason}.")
    for name, only in (("A", comparison.only_before), ("B", comparison.only_after)):
        more = f" and {len(only) - _MOST_NAMED} more" if len(only) > _MOST_NAMED else ""
        lines += [f"Only in {name}: {'; '.join(map(describe, only[:_MOST_NAMED]))}{more}."] if only else []
    versions = [f"{each.name} {each.before} → {each.after}" for each in comparison.differences if not each.is_condition]
    lines += [f"Other changes: {'; '.join(versions)}."] if versions else []
    return [*lines, _conclusion(comparison, threshold)]


def _conclusion(comparison: Comparison, threshold: float) -> str:
    regressions, beyond = comparison.regressions(threshold), f"slower by more than {100 * threshold:.3g}%"
    if not regressions:
        judged = sum(each.verdict != "unknown" for each in comparison.cells)
        return (
            f"No regression: of {counted(judged, 'case')} with a verdict, none is {beyond}, and none has begun to fail."
        )
    slower = [f"{describe(each.cell)} ({_percent(each.change.value)})" for each in regressions if not each.fails_now]
    failing = [f"{describe(each.cell)} ({each.after.status})" for each in regressions if each.fails_now]
    named = {beyond: ", ".join(slower), "now failing": ", ".join(failing)}
    return f"Regressions: {'; '.join(f'{what}: {names}' for what, names in named.items() if names)}."


# ── Columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the header and one row per cell, with the coordinates that vary between cells."""
    cells = comparison.cells
    columns = {name: [str(getattr(each.cell, name)) for each in cells] for name in _COORDINATES}
    columns["device_name"] = [each.device_name for each in cells]
    varying = {name: values for name, values in columns.items() if len({*values}) > 1}
    rows = zip([each.cell.model for each in cells], *varying.values(), map(_figures, cells), strict=True)
    return [("model", *varying, *_FIGURES), *((*names, *figures) for *names, figures in rows)]


def _figures(change: Change) -> tuple[str, ...]:
    """Return the latencies, the change, and the verdict, or the statuses where there can be none."""
    before, after = change.before.status, change.after.status
    ended = str(after) if before is after else f"{before} → {after}"
    is_judged = change.verdict != "unknown" or before is after is Status.PASS
    return (
        *(_ms(side) for side in (change.before, change.after)),
        _percent(change.change.value),
        _range(change.change),
        f"{change.before.processes} + {change.after.processes}",
        change.verdict if is_judged else ended,
    )


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
