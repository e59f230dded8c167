"""Show the progress and the results of a sweep.

Takes steps and records; prints lines, or returns tables as text.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.table import Table

from bench.errors import Complaint, counted
from bench.plans.duration import DurationEstimates
from bench.plans.messages import Phase
from bench.plans.plan import Step, duration_s, fitting
from bench.records.record import Record
from bench.statistics.cells import Cells
from bench.statistics.digits import LATENCY, rounded, rounded_ends
from bench.statistics.intervals import Estimate


class Reporter:
    """Prints a line when a process begins and when it ends. On a terminal, a line below them shows the phase."""

    def __init__(self, console: Console) -> None:
        self.console = console
        # Drawing more often would take time from the measurement.
        self._status = console.status("", refresh_per_second=1)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        """Tell that a process starts; `left` and `left_s` include it."""
        text = f"[{done + 1}/{done + left}] {step.planned.cell.title}, process {step.process + 1} … "
        self.console.print(text + f"about {duration(left_s)} left")

    def phase(self, phase: Phase) -> None:
        """Show what the process is doing."""
        self._status.update(phase.name)

    def warn(self, complaint: Complaint) -> None:
        """Tell what would spoil the next measurement."""
        self.console.print(f"warning: {complaint}")

    def end(self, record: Record, seconds: float) -> None:
        """Tell that a process has ended, and that its record is on disk."""
        self.console.print(f"    {outcome(record)} ({seconds:.0f} s)")


def outcome(record: Record) -> str:
    """Return the latencies and the speedup of one record, or why it has none."""
    measurement = record.measurement
    reason = f"{record.status}: {record.reason}" if record.reason else ""
    if record.calls:
        calls, compilations = counted(len(record.calls), "call"), sum(each.compilations for each in record.calls)
        eager_s, first_s, repeated_s = (
            sum(getattr(each, f"{name}_ms") for each in record.calls) / 1e3 for name in ("eager", "first", "repeated")
        )
        took = f"{first_s:.1f} s with {counted(compilations, 'compilation')}, then {repeated_s:.1f} s"
        return f"{calls} in {took}; eager {eager_s:.1f} s" + (f"; {reason}" if reason else "")
    if not measurement:
        return reason
    [(eager_ms, compiled_ms, ratio, *_)] = _figures([[record]])
    text = f"eager {eager_ms} ms" + (f", compiled {compiled_ms} ms, {ratio}" if measurement.compiled else "")
    return f"{text}; {reason}" if reason else text


def estimate(steps: Sequence[Step], pace: DurationEstimates, left_s: float | None) -> str:
    """Return a line with the time that the steps take, its basis, and how many of them fit into `left_s` seconds."""
    basis = "a guess: nothing was measured here yet" if pace.is_guess else "based on earlier ones here"
    text = f"{processes_of(steps)}, about {duration(duration_s(steps, pace))} ({basis})"
    if left_s is None:
        return text
    in_time = fitting(steps, pace, left_s)
    if len(in_time) == len(steps):
        return f"{text}, within the time budget"
    return f"{text}; {len(in_time) or 'none'} of them fit into the time budget"


def estimates_table(steps: Sequence[Step], pace: DurationEstimates) -> str:
    """Return a table with the time that each cell takes and the command that measures it alone."""
    rows = []
    for cell in dict.fromkeys(step.planned.cell for step in steps):
        own = [step for step in steps if step.planned.cell == cell]
        rows.append((cell.title, str(len(own)), duration(duration_s(own, pace)), own[0].planned.command))
    return aligned(["case"], ["processes", "about"], "command", rows)


def processes_of(steps: Sequence[Step]) -> str:
    """Return how many processes of how many cases the steps are."""
    cells, processes = len({step.planned.cell for step in steps}), counted(len(steps), "process", "processes")
    return processes if cells == len(steps) else f"{processes} of {counted(cells, 'case')}"


def results_table(records: Sequence[Record]) -> str:
    """Return a table with one row per cell of a run. Its processes are pooled as on the pages."""
    cells = dict.fromkeys(record.cell for record in records)
    groups = [[record for record in records if record.cell == cell] for cell in cells]
    ends = [", ".join(dict.fromkeys(str(record.status) for record in group)) for group in groups]
    rows = [(cell.title, *figures, end) for cell, figures, end in zip(cells, _figures(groups), ends, strict=True)]
    return aligned(["case"], _FIGURES, "outcome", rows)


_FIGURES = ("eager ms", "compiled ms", "speedup", "95% interval", "ready s", "break-even", "processes")


def _figures(groups: Sequence[Sequence[Record]]) -> list[list[str]]:
    measured = [[record.measurement for record in group if record.measurement] for group in groups]
    cells = Cells(measured)
    found = (cells.latency("eager"), cells.latency("compiled"), cells.speedup, cells.break_even("cold"))
    rows = []
    for at, several in enumerate(measured):
        eager, compiled, ratio, calls = (Estimate(*(float(end[at]) for end in interval)) for interval in found)
        ready_s = float(cells.middle("cold_s")[at])
        rows.append(
            [
                _known(eager.value, rounded(eager, least=LATENCY)),
                _known(compiled.value, rounded(compiled, least=LATENCY)),
                _known(ratio.value, f"{rounded(ratio)}×"),
                _known(ratio.low, "–".join(rounded_ends(ratio))),
                _known(ready_s, f"{ready_s:.1f}"),
                "never" if math.isinf(calls.value) else _known(calls.value, rounded(calls)),
                str(len(several)) if any(each.compiled for each in several) else "–",
            ]
        )
    return rows


def _known(value: float, text: str) -> str:
    return "–" if math.isnan(value) else text


def aligned(left: Sequence[str], right: Sequence[str], last: str, rows: Sequence[Sequence[str]]) -> str:
    """Return lines of aligned columns, however wide: `left` ones flush left, `right` ones flush right, and the last."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in (*left, *right, last):
        table.add_column(name, justify="right" if name in right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(file=io.StringIO(), width=10_000, markup=False, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def duration(seconds: float) -> str:
    """Return a duration such as 40 s, 12 min or 1 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
