"""A cluster: its nodes, what runs on them, and which of them may measure into one run.

Enter nodes as an engine describes them, leave those of each kind that was asked for, with the machine behind each. The
engine is Ray (`bench.fleet.ray_engine`), or a clock that plays a cluster (`bench.fleet.simulation`). It knows what is
there, keeps
what it lends for one task, and tells what was lost.

    python -m bench run --executor ray --address auto --accelerator T4,A100 --dry-run
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from bench.choices import pick
from bench.errors import AtlasError, Complaint
from bench.plans.messages import Machine, Preflight
from bench.plans.plan import Step
from bench.plans.profiles import Profile
from bench.running.executors import Ended
from bench.running.sweep import kind, surveyed

T = TypeVar("T")

CPU, GPU = "CPU", "GPU"
"""What is asked for without the name of an accelerator: all cores of a node, or a GPU of a type that nobody names."""


@dataclass(frozen=True, order=True)
class Node:
    """A machine of a cluster, as the engine describes it."""

    name: str  # stands in records, and tells nothing else of the machine
    cpus: int = 1
    gpus: int = 0
    accelerator: str | None = None  # its type in the engine's words, such as T4
    place: str = ""  # its address, for people and never for records

    @property
    def kind_of_gpu(self) -> str | None:
        """Its type of accelerator; None where it has none."""
        return (self.accelerator or GPU) if self.gpus else None

    def serves(self, site: str) -> bool:
        """Whether it can measure what such a site does."""
        return self.cpus >= 1 if site == CPU else self.kind_of_gpu == site

    def slots(self, site: str) -> int:
        """How many cells it measures at a time: one on each GPU, or one on all cores."""
        return 1 if site == CPU else self.gpus


@dataclass(frozen=True)
class Work:
    """One process of a cell, and where it is to run."""

    node: Node
    step: Step
    profile: Profile
    run: str
    timeout_s: float
    cpus: int  # that are reserved for it
    gpus: int


@dataclass(frozen=True)
class Look:
    """A survey of a node, with the reservation of one who measures there: only so is the device visible."""

    node: Node
    request: Preflight
    cpus: int
    gpus: int


@dataclass(frozen=True)
class Reply:
    """What became of a task, and what would have spoiled it."""

    ended: Ended
    complaints: tuple[Complaint, ...] = ()


class Engine(Protocol):
    """What runs workers on nodes."""

    def nodes(self) -> list[Node]:
        """Those that are there now."""

    def start(self, task: Work | Look) -> Hashable:
        """Begin it as soon as its node has room for it; what is returned tells it from others."""

    def wait(self, timeout_s: float) -> list[tuple[Hashable, Reply]]:
        """What has ended, after so many seconds at most."""

    def stop(self, handle: Hashable) -> None:
        """End the task; nothing more will be heard of it."""

    def clock(self) -> float:
        """Seconds since some moment."""


def choose(nodes: Iterable[Node], accelerators: Sequence[str], device: str | None) -> dict[str, list[Node]]:
    """Nodes by site: each type of accelerator that was asked for, or else the only type there is, or else all CPUs.

    Raises `AtlasError` for a type that the cluster lacks, and where it has several and none was named.
    """
    nodes = sorted(nodes)
    if accelerators and device == "cpu":
        remedy = "leave out --accelerator, or --device"
        raise AtlasError("a CPU is no accelerator", where="--device cpu --accelerator", remedy=remedy)
    present = sorted({each.kind_of_gpu for each in nodes if each.kind_of_gpu})
    if accelerators:
        if not present:
            remedy = "ask for CPUs with --device cpu, or start nodes with accelerators"
            raise AtlasError(f"no node has an accelerator: {_listed(nodes)}", where="--accelerator", remedy=remedy)
        hint = f" (a type counts only where Ray knows it: {_listed(nodes)})"
        chosen = dict.fromkeys(pick("accelerator", name, present, remedy=hint) for name in accelerators)
    elif device == "cpu" or (not present and device is None):
        return {CPU: _with_room([node for node in nodes if node.cpus >= 1], "a CPU core", nodes)}
    else:
        if len(present) > 1:
            remedy = f"--accelerator {','.join(present)} measures the plan once on each; or name some of them"
            raise AtlasError(f"the cluster has several: {', '.join(present)}", where="--accelerator", remedy=remedy)
        chosen = dict.fromkeys(present)
    _with_room(present, f"a {device} device", nodes)
    return {name: [node for node in nodes if node.kind_of_gpu == name] for name in chosen}


def _with_room(found: list[T], what: str, nodes: Sequence[Node]) -> list[T]:
    if not found:
        raise AtlasError(f"no node has {what}: {_listed(nodes)}", remedy="start some, or choose another --device")
    return found


def _listed(nodes: Sequence[Node]) -> str:
    counted = Counter(each.kind_of_gpu or CPU for each in nodes)
    return ", ".join(f"{count} × {name}" for name, count in sorted(counted.items())) or "there are no nodes"


def reservation(node: Node, site: str) -> tuple[int, int]:
    """CPU cores and GPUs for one cell: a whole GPU with its share of the cores, or all cores."""
    return (node.cpus, 0) if site == CPU else (node.cpus // node.gpus, 1)


def look_around(
    engine: Engine,
    sites: Mapping[str, Sequence[Node]],
    request: Preflight,
    timeout_s: float,
    tell: Callable[[str], None],
) -> dict[str, dict[Node, Machine]]:
    """The machine behind each node that answers, by site; `tell` hears of the others.

    Raises `AtlasError` where a site has none.
    """
    asked = {
        engine.start(Look(node, request, *reservation(node, site))): (site, node)
        for site, nodes in sites.items()
        for node in nodes
    }
    found: dict[str, dict[Node, Machine]] = {site: {} for site in sites}
    faults: dict[str, AtlasError] = {}
    end = engine.clock() + timeout_s
    while asked and (left_s := end - engine.clock()) > 0:
        for handle, reply in engine.wait(left_s):
            site, node = asked.pop(handle)
            try:
                found[site][node] = surveyed(reply.ended)
            except AtlasError as error:
                faults[site] = error
                tell(f"{node.name} ({node.place}) is left out: {error.what}")
    for handle, (_, node) in asked.items():
        engine.stop(handle)
        tell(f"{node.name} ({node.place}) is left out: it gave no answer, and may be busy with other work")
    for site, machines in found.items():
        if not machines:
            busy = AtlasError("no node answered", remedy="see `ray status`: who else uses the cluster?")
            raise faults.get(site, busy)
    return found


def alike(machines: Mapping[Node, Machine], site: str, tell: Callable[[str], None]) -> dict[Node, Machine]:
    """The nodes of one kind, of which there are most: only what they measure may be pooled. `tell` hears of others."""
    kinds: dict[bytes, dict[Node, Machine]] = {}
    for node in sorted(machines):
        kinds.setdefault(fingerprint(machines[node]), {})[node] = machines[node]
    most = max(kinds.values(), key=lambda group: sum(node.slots(site) for node in group))
    ours = next(iter(most.values()))
    for node, machine in machines.items():
        if node not in most:
            tell(f"{node.name} ({node.place}) is left out: {_difference(machine, ours)}")
    return most


def committed(machine: Machine, code: str | None) -> Machine:
    """The machine with a commit: that of whoever sends it work, where it has no checkout of its own."""
    environment = msgspec.structs.replace(machine.environment, commit=machine.environment.commit or code)
    return msgspec.structs.replace(machine, environment=environment)


def fingerprint(machine: Machine) -> bytes:
    """The same for machines of one kind."""
    return msgspec.json.encode((machine.device, kind(machine.environment)))


def _difference(machine: Machine, ours: Machine) -> str:
    own, other = (msgspec.to_builtins(kind(each.environment)) for each in (machine, ours))
    names = [name for name in own if own[name] != other.get(name)]
    return f"it differs from the others in {', '.join(names) or 'its device'}"
