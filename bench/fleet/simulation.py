"""Simulate a cluster on a clock that jumps, to forecast how long a plan takes and how many GPU-hours.

Takes a description in TOML and the durations of processes; returns an engine for the real dispatcher
(`bench.fleet.dispatch`). Only the measuring is simulated.

    python -m bench run --executor ray --cluster recipes/cluster.toml --accelerator T4,A100 --dry-run

    [[nodes]]
    count = 4
    accelerator = "A100"                        # optional
    gpus = 8
    cpus = 96
    device_name = "NVIDIA A100-SXM4-80GB"       # the device whose records give the durations
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import msgspec

from bench.errors import AtlasError
from bench.fleet.cluster import CellTask, Node, Reply, SurveyTask
from bench.fleet.dispatch import Dispatcher, Site
from bench.plans.messages import CellOutcome, Machine
from bench.plans.plan import Step
from bench.records.record import Environment, Measurement, Record, Status, Variant
from bench.running.executors import WorkerExit

MAX_NODES = 100_000
"""The largest number of nodes in a description: a larger one is a typing error."""

_VARIANT = Variant(rounds_ms=((100.0,),))
PASSED = CellOutcome(status=Status.PASS, measurement=Measurement(eager=_VARIANT, compiled=_VARIANT))
"""The finding of every process that does not fail. It is never written."""


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number of equal nodes."""

    count: int
    cpus: int = 1
    gpus: int = 0
    accelerator: str | None = None
    device_name: str | None = None


class ClusterDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a file that describes a cluster."""

    nodes: tuple[NodeGroup, ...]


def read_cluster(path: Path) -> dict[Node, Machine]:
    """Return the nodes that a file describes, and what it says about the machine behind each. Raises `AtlasError`."""
    try:
        description = msgspec.toml.decode(path.read_bytes(), type=ClusterDescription)
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    except msgspec.DecodeError as error:
        remedy = "follow recipes/cluster.toml: [[nodes]] with count, cpus, gpus, accelerator, device_name"
        raise AtlasError(f"is not a description of a cluster: {error}", where=str(path), remedy=remedy) from None
    if not 0 < sum(group.count for group in description.nodes) <= MAX_NODES or any(
        min(group.count, group.cpus, group.gpus) < 0 for group in description.nodes
    ):
        remedy = "correct the counts; none may be negative"
        raise AtlasError(f"the number of nodes must be from 1 to {MAX_NODES:,}", where=str(path), remedy=remedy)
    numbers = count(1)
    return {
        Node(f"node-{next(numbers)}", group.cpus, group.gpus, group.accelerator): Machine(
            device="cuda" if group.gpus else "cpu",
            environment=Environment(
                device_name=group.device_name or group.accelerator or "CPU", torch="", cores=group.cpus
            ),
        )
        for group in description.nodes
        for _ in range(group.count)
    }


@dataclass
class SimulatedEngine:
    """Nodes on a simulated clock: `seconds` gives the duration of a task, `ends` how it ends.

    A node in `losses` is lost at that time, together with its tasks.
    """

    machines: Mapping[Node, Machine]
    seconds: Callable[[CellTask], float]
    ends: Callable[[CellTask, float], WorkerExit] = lambda _, seconds: WorkerExit(seconds=seconds, answer=PASSED)
    losses: Sequence[tuple[float, Node]] = ()
    busy_s: dict[Node, float] = field(default_factory=dict)  # time spent on cells, by node
    _now: float = 0.0
    _lost: set[Node] = field(default_factory=set)
    _events: list[tuple[float, int]] = field(default_factory=list)
    _tasks: dict[int, tuple[CellTask | SurveyTask, float]] = field(default_factory=dict)  # with their start times
    _numbers: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self._losses = sorted(self.losses, key=lambda loss: loss[0])

    def clock(self) -> float:
        """See `Engine.clock`."""
        return self._now

    def nodes(self) -> list[Node]:
        """See `Engine.nodes`."""
        return [node for node in self.machines if node not in self._lost]

    def start(self, task: CellTask | SurveyTask) -> Hashable:
        """See `Engine.start`."""
        number = next(self._numbers)
        seconds = min(self.seconds(task), task.timeout_s) if isinstance(task, CellTask) else 0.0
        if task.node in self._lost:
            seconds = 0.0
        self._tasks[number] = (task, self._now)
        heapq.heappush(self._events, (self._now + seconds, number))
        return number

    def stop(self, handle: Hashable) -> None:
        """See `Engine.stop`."""
        assert isinstance(handle, int)
        self._tasks.pop(handle, None)

    def wait(self, timeout_s: float) -> list[tuple[Hashable, Reply]]:
        """See `Engine.wait`: the clock jumps to the next end of a task."""
        until = self._now + timeout_s
        while self._events and self._events[0][1] not in self._tasks:
            heapq.heappop(self._events)  # stopped or lost with its node
        at = self._events[0][0] if self._events else until
        if self._losses and self._losses[0][0] <= min(at, until):
            self._now, node = max(self._now, self._losses[0][0]), self._losses.pop(0)[1]
            self._lost.add(node)
            gone = [number for number, (task, _) in self._tasks.items() if task.node == node]
            return [(number, self._ended(number)) for number in gone]
        self._now = min(at, until)
        ready = []
        while self._events and self._events[0][0] <= self._now:
            _, number = heapq.heappop(self._events)
            if number in self._tasks:
                ready.append((number, self._ended(number)))
        return [*ready]

    def _ended(self, number: int) -> Reply:
        task, began = self._tasks.pop(number)
        seconds = self._now - began
        if isinstance(task, CellTask):
            self.busy_s[task.node] = self.busy_s.get(task.node, 0.0) + seconds
        if task.node in self._lost:
            return Reply(WorkerExit(seconds=seconds, is_lost=True))
        if isinstance(task, SurveyTask):
            return Reply(WorkerExit(seconds=seconds, answer=self.machines[task.node]))
        return Reply(self.ends(task, seconds))


# ── Forecasts ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Forecast:
    """How long measuring would take."""

    sites: Sequence[Site]  # unchanged
    makespan_s: float
    hours: tuple[float, ...]  # device-hours of each site
    use: float  # share of the makespan in which the devices are busy
    left: int  # processes that do not fit into the time


class SilentReporter:
    """A `FleetReporter` that shows nothing."""

    def begin(self, site: Site, node: Node, step: Step) -> None:
        """See `FleetReporter.begin`."""

    def end(self, site: Site, node: Node, record: Record, seconds: float) -> None:
        """See `FleetReporter.end`."""

    def drop(self, site: Site, node: Node, step: Step) -> None:
        """See `FleetReporter.drop`."""

    def log(self, text: str) -> None:
        """See `FleetReporter.log`."""


def forecast(sites: Sequence[Site], budget_s: float = math.inf) -> Forecast:
    """Return how long the sites would take if each process took as long as its pace says."""
    copies = [replace(site, pace=deepcopy(site.pace), nodes=dict(site.nodes)) for site in sites]
    owners = {node: site for site in copies for node in site.nodes}

    def seconds(task: CellTask) -> float:
        return owners[task.node].pace.of(task.step.planned.cell, task.step.is_first)

    engine = SimulatedEngine({node: machine for site in copies for node, machine in site.nodes.items()}, seconds)
    Dispatcher(copies, engine, SilentReporter(), lambda *_: None, deadline=budget_s).run()
    makespan_s = max(engine.clock(), 1e-9)
    hours = tuple(sum(engine.busy_s.get(node, 0.0) for node in site.nodes) / 3600 for site in sites)
    return Forecast(
        sites=sites,
        makespan_s=engine.clock(),
        hours=hours,
        use=3600 * sum(hours) / (makespan_s * sum(site.slots for site in sites)),
        left=sum(site.agenda.left for site in copies),
    )
