"""A cluster that exists on paper, played by a clock that jumps: how long would a plan take, and how many GPU-hours?

Enter a description in TOML and what processes take; leave an engine on which the real fleet (`bench.fleet.fleet`)
measures in
no time. Nothing but the measuring is made up.

    python -m bench run --executor ray --cluster recipes/cluster.toml --accelerator T4,A100 --dry-run

    [[nodes]]
    count = 4
    accelerator = "A100"                        # left out where there is none
    gpus = 8
    cpus = 96
    device_name = "NVIDIA A100-SXM4-80GB"       # whose records tell what processes take
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
from bench.fleet.cluster import Look, Node, Reply, Work
from bench.fleet.fleet import Fleet, Site
from bench.plans.messages import CellOutcome, Machine
from bench.plans.plan import Step
from bench.records.record import Environment, Measurement, Record, Status, Variant
from bench.running.executors import Ended

LARGEST = 100_000
"""Nodes of a description: beyond that somebody has mistyped."""

_VARIANT = Variant(rounds_ms=((1.0,),))
PASSED = CellOutcome(status=Status.PASS, measurement=Measurement(eager=_VARIANT, compiled=_VARIANT))
"""What every process finds that does not fail. It is never written anywhere."""


class Described(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many nodes of a kind."""

    count: int
    cpus: int = 1
    gpus: int = 0
    accelerator: str | None = None
    device_name: str | None = None


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says of a cluster."""

    nodes: tuple[Described, ...]


def described(path: Path) -> dict[Node, Machine]:
    """The nodes that a file describes, and the machine behind each as far as it is told. Raises `AtlasError`."""
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=Description)
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    except msgspec.DecodeError as error:
        remedy = "see recipes/cluster.toml: [[nodes]] with count, cpus, gpus, accelerator, device_name"
        raise AtlasError(f"is no description of a cluster: {error}", where=str(path), remedy=remedy) from None
    if not 0 < sum(each.count for each in found.nodes) <= LARGEST or any(
        min(each.count, each.cpus, each.gpus) < 0 for each in found.nodes
    ):
        remedy = "count what there is"
        raise AtlasError(f"nodes are counted from 1 to {LARGEST:,}", where=str(path), remedy=remedy)
    numbers = count(1)
    return {
        Node(f"node-{next(numbers)}", each.cpus, each.gpus, each.accelerator): Machine(
            device="cuda" if each.gpus else "cpu",
            environment=Environment(
                device_name=each.device_name or each.accelerator or "CPU", torch="", cores=each.cpus
            ),
        )
        for each in found.nodes
        for _ in range(each.count)
    }


@dataclass
class SimulatedEngine:
    """Nodes that measure by the clock: `seconds` tells what a process takes there, `ends` how it does.

    A node in `losses` is lost at that time, with what is at work on it.
    """

    machines: Mapping[Node, Machine]
    seconds: Callable[[Work], float]
    ends: Callable[[Work, float], Ended] = lambda _, seconds: Ended(seconds=seconds, answer=PASSED)
    losses: Sequence[tuple[float, Node]] = ()
    busy_s: dict[Node, float] = field(default_factory=dict)  # lent to a process, by node
    _now: float = 0.0
    _lost: set[Node] = field(default_factory=set)
    _events: list[tuple[float, int]] = field(default_factory=list)
    _tasks: dict[int, tuple[Work | Look, float]] = field(default_factory=dict)  # and when it began
    _numbers: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self._losses = sorted(self.losses, key=lambda loss: loss[0])

    def clock(self) -> float:
        """See `Engine.clock`."""
        return self._now

    def nodes(self) -> list[Node]:
        """See `Engine.nodes`."""
        return [node for node in self.machines if node not in self._lost]

    def start(self, task: Work | Look) -> Hashable:
        """See `Engine.start`."""
        number = next(self._numbers)
        seconds = min(self.seconds(task), task.timeout_s) if isinstance(task, Work) else 0.0
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
        """See `Engine.wait`: the clock jumps to the next that ends."""
        until = self._now + timeout_s
        while self._events and self._events[0][1] not in self._tasks:
            heapq.heappop(self._events)  # stopped, or lost with its node
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
        if isinstance(task, Work):
            self.busy_s[task.node] = self.busy_s.get(task.node, 0.0) + seconds
        if task.node in self._lost:
            return Reply(Ended(seconds=seconds, is_lost=True))
        if isinstance(task, Look):
            return Reply(Ended(seconds=seconds, answer=self.machines[task.node]))
        return Reply(self.ends(task, seconds))


# ── Forecasts ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Forecast:
    """What measuring would take."""

    sites: Sequence[Site]  # as they were given
    makespan_s: float
    hours: tuple[float, ...]  # that devices of each site are at work
    use: float  # share of the time in which the devices of the fleet are at work
    left: int  # processes for which the time does not suffice


class Silent:
    """A `FleetReporter` that tells nobody."""

    def begin(self, site: Site, node: Node, step: Step) -> None:
        """See `FleetReporter.begin`."""

    def end(self, site: Site, node: Node, record: Record, seconds: float) -> None:
        """See `FleetReporter.end`."""

    def drop(self, site: Site, node: Node, step: Step) -> None:
        """See `FleetReporter.drop`."""

    def say(self, text: str) -> None:
        """See `FleetReporter.say`."""


def forecast(sites: Sequence[Site], budget_s: float = math.inf) -> Forecast:
    """Let the sites measure on paper, each process for as long as its pace says. They themselves stay as they are."""
    played = [replace(site, pace=deepcopy(site.pace), nodes=dict(site.nodes)) for site in sites]
    owners = {node: site for site in played for node in site.nodes}

    def seconds(work: Work) -> float:
        return owners[work.node].pace.of(work.step.planned.cell, work.step.is_first)

    engine = SimulatedEngine({node: machine for site in played for node, machine in site.nodes.items()}, seconds)
    Fleet(played, engine, Silent(), lambda *_: None, deadline=budget_s).run()
    makespan_s = max(engine.clock(), 1e-9)
    hours = tuple(sum(engine.busy_s.get(node, 0.0) for node in site.nodes) / 3600 for site in sites)
    return Forecast(
        sites=sites,
        makespan_s=engine.clock(),
        hours=hours,
        use=3600 * sum(hours) / (makespan_s * sum(site.slots for site in sites)),
        left=sum(site.agenda.left for site in played),
    )
