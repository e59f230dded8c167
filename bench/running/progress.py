"""Tell a person how a sweep gets on: a progress bar on a terminal, plain lines elsewhere.

python -m bench run --profile quick
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bench.errors import Complaint
from bench.plans.duration import Pace
from bench.plans.messages import Phase
from bench.plans.plan import Step, duration_s, fitting
from bench.records.record import Cell, Record
from bench.statistics.cells import break_even_calls, latency, speedup


class PlainReporter:
    """A line as each process ends."""

    on_second: Callable[[], None] | None = None  # nothing moves: the parent sleeps until the worker speaks

    def __init__(self, console: Console) -> None:
        self.console = console
        self._left = 0
        self._left_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        """See `Reporter.begin`."""
        self._left, self._left_s = left, left_s
        text = f"[{done + 1}/{done + left}] {describe(step.planned.cell)}, process {step.process + 1} … "
        self.console.print(text + f"about {duration(left_s)} left")

    def warn(self, complaint: Complaint) -> None:
        """See `Reporter.warn`."""
        self.console.print(f"careful: {complaint}")

    def phase(self, phase: Phase) -> None:
        """Phases are left out: a log grows long enough."""

    def end(self, record: Record, seconds: float) -> None:
        """See `Reporter.end`."""
        self.console.print(f"    {outcome(record)} ({seconds:.0f} s)")


class Drawn:
    """A reporter while its `_bar` is on the terminal."""

    _bar: Progress

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class BarReporter(Drawn):
    """A bar with the model, the phase and the time left, drawn when something happens and once a second."""

    def __init__(self, console: Console) -> None:
        self.console = console
        # No refresh thread: one that draws ten times a second takes time from what is being measured.
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

    def begin(self, step: Step, done: int, left: int, left_s: float) -> None:
        """See `Reporter.begin`."""
        self._name = f"{describe(step.planned.cell)}, process {step.process + 1}"
        self._phase = "starting"
        self._ends_at = time.monotonic() + left_s
        self._bar.update(self._task, completed=done, total=done + left)
        self._draw()

    def warn(self, complaint: Complaint) -> None:
        """See `Reporter.warn`."""
        self.console.print(f"careful: {complaint}")

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
    """A cell in a few words: its model, and of the rest what is not the usual."""
    usual = {"batch_size": 1, "compile_mode": "default", "dtype": "float32"}
    words = {"batch_size": f"batch {cell.batch_size}", "compile_mode": cell.compile_mode, "dtype": cell.dtype}
    return ", ".join([cell.model, *(words[name] for name, value in usual.items() if getattr(cell, name) != value)])


def outcome(record: Record) -> str:
    """What one process of a cell found."""
    measurement = record.measurement
    reason = f"{record.status}: {record.reason}" if record.reason else ""
    if not measurement or not measurement.compiled:
        return reason
    variants = measurement.eager, measurement.compiled
    eager_ms, compiled_ms = (latency([each]).value for each in variants)
    calls = " + ".join(str(sum(map(len, each.rounds_ms))) for each in variants)
    text = f"eager {eager_ms:.3f} ms, compiled {compiled_ms:.3f} ms, {speedup([measurement]).value:.3f}×, {calls} calls"
    return f"{text}; {reason}" if reason else text


def estimate(steps: Sequence[Step], pace: Pace, left_s: float | None) -> str:
    """How long it will take, by what that is known, and how much of it a limited time holds: in a line."""
    basis = "by what earlier ones took here" if pace.seconds else "a guess: none was measured here yet"
    text = f"{_processes(steps)}, about {duration(duration_s(steps, pace))} ({basis})"
    if left_s is None:
        return text
    held = fitting(steps, pace, left_s)
    if len(held) == len(steps):
        return f"{text}, within the time budget"
    return f"{text}; the time budget holds {len(held) or 'none'} of them"


def estimates_table(steps: Sequence[Step], pace: Pace, left_s: float | None) -> str:
    """How long each cell will take, and the command that measures it alone: lines of aligned columns."""
    held = fitting(steps, pace, math.inf if left_s is None else left_s)
    cells = list(dict.fromkeys(step.planned.cell for step in steps))
    rows = [("cell", "processes", "about", *(["in time"] if left_s is not None else []), "command")]
    for cell in cells:
        own = [step for step in steps if step.planned.cell == cell]
        in_time = [str(sum(step.planned.cell == cell for step in held))] if left_s is not None else []
        about = duration(duration_s(own, pace))
        rows.append((describe(cell), str(len(own)), about, *in_time, own[0].planned.command))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths, left=1) for row in rows)


def time_is_up(left: Sequence[Step], pace: Pace, done: int) -> str:
    """What is left when the time budget ends; where it held nothing at all, how long it has to be."""
    if done:
        return f"The time is up with {_processes(left)} to go."
    quickest = duration(min(duration_s([step], pace) for step in left))
    return f"The time budget is too short: of {_processes(left)} to go the quickest takes about {quickest}."


def _processes(steps: Sequence[Step]) -> str:
    cells = len({step.planned.cell for step in steps})
    counted = f"{len(steps)} process{'es' if len(steps) > 1 else ''}"
    return counted if cells == len(steps) else f"{counted} of {cells} cell{'s' if cells > 1 else ''}"


def results_table(records: Sequence[Record]) -> str:
    """What the run says about each cell, its processes pooled: lines of aligned columns."""
    cells = list(dict.fromkeys(record.cell for record in records))
    coordinates = ("model", *(name for name in _COORDINATES if len({getattr(cell, name) for cell in cells}) > 1))
    rows = [(*coordinates, *_FIGURES, "outcome")]
    for cell in cells:
        own = [record for record in records if record.cell == cell]
        rows.append((*(str(getattr(cell, name)) for name in coordinates), *_figures(own), _outcomes(own)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths, left=len(coordinates)) for row in rows)


_COORDINATES = ("batch_size", "compile_mode", "dtype")
_FIGURES = ("eager ms", "compiled ms", "speedup", "95% interval", "ready s", "break-even", "processes")


def _line(row: Sequence[str], widths: Sequence[int], left: int) -> str:
    cells = [
        text.ljust(width) if index < left or index == len(row) - 1 else text.rjust(width)
        for index, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _figures(records: Sequence[Record]) -> list[str]:
    pairs = [each.measurement for each in records if each.measurement and each.measurement.compiled]
    if not pairs:
        return ["–"] * len(_FIGURES)
    eager = latency([pair.eager for pair in pairs])
    compiled = latency([pair.compiled for pair in pairs if pair.compiled])
    ratio, calls = speedup(pairs), break_even_calls(pairs)
    ready = [pair.compilation.cold_s for pair in pairs if pair.compilation and pair.compilation.cold_s is not None]
    return [
        f"{eager.value:.3f}",
        f"{compiled.value:.3f}",
        f"{ratio.value:.3f}×",
        "–" if math.isnan(ratio.low) else f"{ratio.low:.3f}–{ratio.high:.3f}",
        f"{ready[0]:.1f}" if ready else "–",
        "–" if math.isnan(calls.value) else "never" if math.isinf(calls.value) else f"{calls.value:,.0f}",
        str(len(pairs)),
    ]


def _outcomes(records: Sequence[Record]) -> str:
    return ", ".join(dict.fromkeys(str(record.status) for record in records))


def duration(seconds: float) -> str:
    """40 s, 12 min, 1 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
