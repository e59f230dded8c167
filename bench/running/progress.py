"""Show the progress and the results of a sweep: a progress bar on a terminal, plain lines elsewhere.

Takes steps and records; prints lines, or returns tables as text.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bench.errors import Complaint
from bench.plans.duration import DurationEstimates
from bench.plans.messages import STARTING, Phase
from bench.plans.plan import Step, duration_s, fitting, quickest_s
from bench.records.record import Cell, Record
from bench.statistics.cells import break_even_calls, latency, speedup
from bench.statistics.digits import LATENCY, rounded, rounded_ends


class PlainReporter:
    """Prints a line when a process begins and when it ends."""

    on_second: Callable[[], None] | None = None  # without a bar to redraw, the parent sleeps until the next message

    def __init__(self, console: Console) -> None:
        self.console = console

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        """See `Reporter.begin`."""
        text = f"[{done + 1}/{done + left}] {describe(step.planned.cell)}, process {step.process + 1} … "
        self.console.print(text + f"about {duration(left_s)} left")

    def warn(self, complaint: Complaint) -> None:
        """See `Reporter.warn`."""
        self.console.print(f"warning: {complaint}")

    def phase(self, phase: Phase) -> None:
        """Print nothing: a log is long enough without phases."""

    def end(self, record: Record, seconds: float) -> None:
        """See `Reporter.end`."""
        self.console.print(f"    {outcome(record)} ({seconds:.0f} s)")


class BarReporter:
    """Draws a bar with the model, the phase and the time left, at every event and once a second."""

    def __init__(self, console: Console) -> None:
        self.console = console
        # No refresh thread: drawing ten times a second would take time from the measurement.
        self._bar = Progress(
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TextColumn("{task.fields[left]}", style="dim"),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None, left="")
        self._name = ""
        self._phase = ""
        self._ends_at = 0.0
        self.on_second: Callable[[], None] | None = self._draw

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        """See `Reporter.begin`."""
        self._name = f"{describe(step.planned.cell)}, process {step.process + 1}"
        self._phase = STARTING
        self._ends_at = time.monotonic() + left_s
        self._bar.update(self._task, completed=done, total=done + left)
        self._draw()

    def warn(self, complaint: Complaint) -> None:
        """See `Reporter.warn`."""
        self.console.print(f"warning: {complaint}")

    def phase(self, phase: Phase) -> None:
        """See `Reporter.phase`."""
        self._phase = f"{phase.name} {phase.done}/{phase.of}" if phase.of else phase.name
        self._draw()

    def end(self, record: Record, seconds: float) -> None:
        """See `Reporter.end`."""
        self._bar.advance(self._task)
        text = f"{describe(record.cell)}, process {record.process + 1}: {outcome(record)} ({seconds:.0f} s)"
        self.console.print(text)

    def _draw(self) -> None:
        left = f"about {duration(max(1.0, self._ends_at - time.monotonic()))} left"
        self._bar.update(self._task, description=f"{self._name} · {self._phase}", left=left)
        self._bar.refresh()


def describe(cell: Cell) -> str:
    """Return a cell in a few words: its model and the coordinates that differ from their defaults."""
    usual = {"batch_size": 1, "variant": "compile:default", "precision": "float32"}
    words = {"batch_size": f"batch {cell.batch_size}", "variant": cell.variant, "precision": cell.precision}
    return ", ".join([cell.model, *(words[name] for name, value in usual.items() if getattr(cell, name) != value)])


def outcome(record: Record) -> str:
    """Return the latencies and the speedup of one record, or why it has none."""
    measurement = record.measurement
    reason = f"{record.status}: {record.reason}" if record.reason else ""
    if not measurement:
        return reason
    if not measurement.compiled:
        return f"eager {rounded(latency([measurement.eager]), least=LATENCY)} ms; {reason}"
    variants = measurement.eager, measurement.compiled
    eager_ms, compiled_ms = (rounded(latency([each]), least=LATENCY) for each in variants)
    calls = " + ".join(str(sum(map(len, each.rounds_ms))) for each in variants)
    text = f"eager {eager_ms} ms, compiled {compiled_ms} ms, {rounded(speedup([measurement]))}×, {calls} calls"
    return f"{text}; {reason}" if reason else text


def estimate(steps: Sequence[Step], pace: DurationEstimates, left_s: float | None) -> str:
    """Return a line with the time that the steps take, its basis, and how many of them fit into `left_s` seconds."""
    basis = "a guess: nothing was measured here yet" if pace.is_guess else "based on earlier ones here"
    text = f"{_processes(steps)}, about {duration(duration_s(steps, pace))} ({basis})"
    if left_s is None:
        return text
    in_time = fitting(steps, pace, left_s)
    if len(in_time) == len(steps):
        return f"{text}, within the time budget"
    return f"{text}; {len(in_time) or 'none'} of them fit into the time budget"


def estimates_table(steps: Sequence[Step], pace: DurationEstimates, left_s: float | None) -> str:
    """Return a table with the time that each cell takes and the command that measures it alone."""
    in_time = fitting(steps, pace, math.inf if left_s is None else left_s)
    cells = list(dict.fromkeys(step.planned.cell for step in steps))
    rows = [("case", "processes", "about", *(["in time"] if left_s is not None else []), "command")]
    for cell in cells:
        own = [step for step in steps if step.planned.cell == cell]
        count = [str(sum(step.planned.cell == cell for step in in_time))] if left_s is not None else []
        about = duration(duration_s(own, pace))
        rows.append((describe(cell), str(len(own)), about, *count, own[0].planned.command))
    return _aligned(rows, left=1)


def time_is_up(left: Sequence[Step], pace: DurationEstimates, done: int) -> str:
    """Return what is left when the time budget ends, and how long the quickest step takes."""
    quickest = f"the quickest takes about {duration(quickest_s(left, pace))}"
    if done:
        return f"The time budget is used up, with {_processes(left)} to go; {quickest}."
    return f"The time budget is too short: of {_processes(left)} to go, {quickest}."


def _processes(steps: Sequence[Step]) -> str:
    cells = len({step.planned.cell for step in steps})
    counted = f"{len(steps)} process{'es' if len(steps) > 1 else ''}"
    return counted if cells == len(steps) else f"{counted} of {cells} case{'s' if cells > 1 else ''}"


def results_table(records: Sequence[Record]) -> str:
    """Return a table with one row per cell, its processes pooled."""
    cells = list(dict.fromkeys(record.cell for record in records))
    coordinates = ("model", *(name for name in _COORDINATES if len({getattr(cell, name) for cell in cells}) > 1))
    rows = [(*coordinates, *_FIGURES, "outcome")]
    for cell in cells:
        own = [record for record in records if record.cell == cell]
        rows.append((*(str(getattr(cell, name)) for name in coordinates), *_figures(own), _outcomes(own)))
    return _aligned(rows, left=len(coordinates))


_COORDINATES = ("batch_size", "variant", "precision")
_FIGURES = ("eager ms", "compiled ms", "speedup", "95% interval", "ready s", "break-even", "processes")


def _aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Return lines of aligned columns: the first `left` columns and the last one flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.ljust(width) if index < left or index == len(row) - 1 else text.rjust(width)
            for index, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join(map(line, rows))


def _figures(records: Sequence[Record]) -> list[str]:
    measured = [each.measurement for each in records if each.measurement]
    pairs = [each for each in measured if each.compiled]
    if not pairs:
        eager_ms = rounded(latency([each.eager for each in measured]), least=LATENCY) if measured else "–"
        return [eager_ms, *["–"] * (len(_FIGURES) - 1)]
    eager = latency([pair.eager for pair in pairs])
    compiled = latency([pair.compiled for pair in pairs if pair.compiled])
    ratio, calls = speedup(pairs), break_even_calls(pairs)
    ready = [
        pair.compilation.ready_s["cold"] for pair in pairs if pair.compilation and "cold" in pair.compilation.ready_s
    ]
    return [
        rounded(eager, least=LATENCY),
        rounded(compiled, least=LATENCY),
        f"{rounded(ratio)}×",
        "–" if math.isnan(ratio.low) else "–".join(rounded_ends(ratio)),
        f"{ready[0]:.1f}" if ready else "–",
        "–" if math.isnan(calls.value) else "never" if math.isinf(calls.value) else rounded(calls),
        str(len(pairs)),
    ]


def _outcomes(records: Sequence[Record]) -> str:
    return ", ".join(dict.fromkeys(str(record.status) for record in records))


def duration(seconds: float) -> str:
    """Return a duration such as 40 s, 12 min or 1 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
