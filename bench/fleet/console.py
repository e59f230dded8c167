"""Show the progress of a fleet and the result of a forecast.

Prints a line when a process ends, and on a terminal also what each node measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from bench.errors import counted
from bench.fleet.cluster import CPU, Node
from bench.fleet.dispatch import Site
from bench.fleet.simulation import Forecast
from bench.plans.plan import Step
from bench.records.record import Record
from bench.running.progress import BarContext, describe, duration, outcome

MOST_ROWS = 12
"""The largest number of nodes shown at once."""


@dataclass
class ConsoleReporter(BarContext):
    """A `FleetReporter` for the console. It draws only when something happens."""

    console: Console
    sites: Sequence[Site]
    _rows: dict[str, TaskID] = field(default_factory=dict)
    _ended: Counter[str] = field(default_factory=Counter)  # processes by node
    _seconds: Counter[str] = field(default_factory=Counter)
    _at_work: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._bar = Progress(
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=self.console,
            auto_refresh=False,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._all = self._bar.add_task("starting", total=self._left)

    @property
    def _left(self) -> int:
        return sum(site.agenda.left for site in self.sites)

    def begin(self, site: Site, node: Node, step: Step) -> None:
        """See `FleetReporter.begin`."""
        self._at_work[node.name] += 1
        if node.name not in self._rows and len(self._rows) < MOST_ROWS:
            self._rows[node.name] = self._bar.add_task("", total=None)
        if node.name in self._rows:
            text = f"{node.name} ({site.name}): {describe(step.planned.cell)}, process {step.process + 1}"
            self._bar.update(self._rows[node.name], description=text)
        self._draw()

    def end(self, site: Site, node: Node, record: Record, seconds: float) -> None:
        """See `FleetReporter.end`."""
        self.drop(site, node, None)
        self._ended[node.name] += 1
        self._seconds[node.name] += round(seconds)
        done = self._ended.total()
        text = f"{describe(record.cell)}, process {record.process + 1}: {outcome(record)} ({seconds:.0f} s)"
        self.console.print(f"[{done}/{done + self._left}] {node.name} ({site.name}): {text}")
        self._draw()

    def drop(self, _site: Site, node: Node, _step: Step | None) -> None:
        """See `FleetReporter.drop`."""
        self._at_work[node.name] -= 1
        if self._at_work[node.name] <= 0 and (row := self._rows.pop(node.name, None)) is not None:
            self._bar.remove_task(row)

    def log(self, text: str) -> None:
        """See `FleetReporter.log`."""
        self.console.print(text)

    def _draw(self) -> None:
        done, nodes, slots = self._ended.total(), len(+self._at_work), sum(site.slots for site in self.sites)
        text = f"{nodes} node{'s measure' if nodes != 1 else ' measures'}"
        if done and slots:
            text += f" · about {duration(self._seconds.total() / done * self._left / slots)} left"
        self._bar.update(self._all, completed=done, total=done + self._left, description=text)
        self._bar.refresh()

    def by_node(self) -> list[str]:
        """Return a line for each node: how many processes it measured, and for how long."""
        return [
            f"{node}: {counted(count, 'process', 'processes')}, {duration(self._seconds[node])}"
            for node, count in sorted(self._ended.items())
        ]


def forecast_lines(forecast: Forecast) -> list[str]:
    """Return a line for each site, and one with the makespan and the hours of all."""
    lines = []
    for site, hours in zip(forecast.sites, forecast.hours, strict=True):
        left, cells = site.agenda.left, len(site.plan.planned)
        basis = "based on earlier records" if not site.pace.is_guess else "a guess: no earlier records"
        unit = "node-hours" if site.name == CPU else "GPU-hours"
        lines.append(
            f"{site.name}: {counted(left, 'process', 'processes')} of {counted(cells, 'case')} on "
            f"{counted(site.slots, 'node' if site.name == CPU else 'GPU')} of {counted(len(site.nodes), 'machine')}, "
            f"{hours:.1f} {unit} ({basis})"
        )
    total = f"total time: about {duration(forecast.makespan_s)}"
    if forecast.left:
        total = f"the time budget runs out with {counted(forecast.left, 'process', 'processes')} to go"
    return [*lines, f"{total}, {sum(forecast.hours):.1f} device-hours, devices in use {forecast.use:.0%} of the time"]
