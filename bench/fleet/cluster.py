"""The nodes of a cluster, the tasks that run on them, and which nodes may measure into one run.

Takes the nodes that an engine reports; returns those of each requested kind, with the machine behind each. The engine
is Ray (`bench.fleet.ray_engine`) or a simulated clock (`bench.fleet.simulation`).
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
from bench.running.executors import WorkerExit
from bench.running.preflight import machine_of
from bench.running.resume import kind

T = TypeVar("T")

CPU, GPU = "CPU", "GPU"
"""Sites without the name of an accelerator: all cores of a node, or a GPU of unknown type."""


@dataclass(frozen=True, order=True)
class Node:
    """A machine of a cluster, as the engine reports it."""

    name: str  # appears in records, so it reveals nothing else about the machine
    cpus: int = 1
    gpus: int = 0
    accelerator: str | None = None  # its type, as the engine names it, such as T4
    place: str = ""  # its address; shown on the terminal, never recorded

    @property
    def kind_of_gpu(self) -> str | None:
        """The type of accelerator, or None."""
        return (self.accelerator or GPU) if self.gpus else None

    def serves(self, site: str) -> bool:
        """Return whether the node can measure for this site."""
        return self.cpus >= 1 if site == CPU else self.kind_of_gpu == site

    def slots(self, site: str) -> int:
        """Return how many cells the node measures at a time: one per GPU, or one on all cores."""
        return 1 if site == CPU else self.gpus


@dataclass(frozen=True)
class CellTask:
    """Run one process of a cell on a node."""

    node: Node
    step: Step
    profile: Profile
    run: str
    timeout_s: float
    cpus: int  # reserved for it
    gpus: int


@dataclass(frozen=True)
class SurveyTask:
    """Describe the machine of a node, with the reservation of a cell: otherwise the device is not visible."""

    node: Node
    request: Preflight
    cpus: int
    gpus: int


@dataclass(frozen=True)
class Reply:
    """How a task ended, and the doctor's complaints before it began."""

    ended: WorkerExit
    complaints: tuple[Complaint, ...] = ()


class Engine(Protocol):
    """Runs tasks on the nodes of a cluster."""

    def nodes(self) -> list[Node]:
        """Return the nodes that are alive now."""

    def start(self, task: CellTask | SurveyTask) -> Hashable:
        """Queue the task for its node and return its handle."""

    def wait(self, timeout_s: float) -> list[tuple[Hashable, Reply]]:
        """Return the tasks that have ended, after at most `timeout_s` seconds."""

    def stop(self, handle: Hashable) -> None:
        """End the task. It is never returned by `wait`."""

    def clock(self) -> float:
        """Return the seconds since some fixed moment."""


def choose(nodes: Iterable[Node], accelerators: Sequence[str], device: str | None) -> dict[str, list[Node]]:
    """Return the nodes of each site: the requested types of accelerator, else the only type present, else all CPUs.

    Raises `AtlasError` for a type that the cluster lacks, and if it has several and none was requested.
    """
    nodes = sorted(nodes)
    if accelerators and device == "cpu":
        remedy = "omit either --accelerator or --device"
        raise AtlasError("a CPU is not an accelerator", where="--device cpu --accelerator", remedy=remedy)
    present = sorted({each.kind_of_gpu for each in nodes if each.kind_of_gpu})
    if accelerators:
        if not present:
            remedy = "to measure CPUs, add --device cpu; otherwise start nodes with accelerators"
            raise AtlasError(f"no node has an accelerator: {_listed(nodes)}", where="--accelerator", remedy=remedy)
        hint = f" (only types that Ray recognises count: {_listed(nodes)})"
        chosen = dict.fromkeys(pick("accelerator", name, present, remedy=hint) for name in accelerators)
    elif device == "cpu" or (not present and device is None):
        return {CPU: _with_room([node for node in nodes if node.cpus >= 1], "a CPU core", nodes)}
    else:
        if len(present) > 1:
            remedy = f"--accelerator {','.join(present)} measures the plan once on each; or give only some of them"
            raise AtlasError(f"the cluster has several: {', '.join(present)}", where="--accelerator", remedy=remedy)
        chosen = dict.fromkeys(present)
    _with_room(present, f"a {device} device", nodes)
    return {name: [node for node in nodes if node.kind_of_gpu == name] for name in chosen}


def _with_room(candidates: list[T], what: str, nodes: Sequence[Node]) -> list[T]:
    if not candidates:
        raise AtlasError(f"no node has {what}: {_listed(nodes)}", remedy="start some, or choose a different --device")
    return candidates


def _listed(nodes: Sequence[Node]) -> str:
    counted = Counter(each.kind_of_gpu or CPU for each in nodes)
    return ", ".join(f"{count} × {name}" for name, count in sorted(counted.items())) or "there are no nodes"


def reservation(node: Node, site: str) -> tuple[int, int]:
    """Return the CPU cores and GPUs to reserve for one cell: a GPU with its share of the cores, or all cores."""
    return (node.cpus, 0) if site == CPU else (node.cpus // node.gpus, 1)


def survey(
    engine: Engine,
    sites: Mapping[str, Sequence[Node]],
    request: Preflight,
    timeout_s: float,
    log: Callable[[str], None],
) -> dict[str, dict[Node, Machine]]:
    """Return the machine behind each node that answers, by site; log the others.

    Raises `AtlasError` if a site has no node that answers.
    """
    running = {
        engine.start(SurveyTask(node, request, *reservation(node, site))): (site, node)
        for site, nodes in sites.items()
        for node in nodes
    }
    machines: dict[str, dict[Node, Machine]] = {site: {} for site in sites}
    faults: dict[str, AtlasError] = {}
    end = engine.clock() + timeout_s
    while running and (left_s := end - engine.clock()) > 0:
        for handle, reply in engine.wait(left_s):
            site, node = running.pop(handle)
            try:
                machines[site][node] = machine_of(reply.ended)
            except AtlasError as error:
                faults[site] = error
                log(f"{node.name} ({node.place}) is left out: {error.what}")
    for handle, (_, node) in running.items():
        engine.stop(handle)
        log(f"{node.name} ({node.place}) is left out: it did not answer, and may be busy with other work")
    for site, answered in machines.items():
        if not answered:
            busy = AtlasError("no node answered", remedy="run `ray status` to see who else is using the cluster")
            raise faults.get(site, busy)
    return machines


def alike(machines: Mapping[Node, Machine], site: str, log: Callable[[str], None]) -> dict[Node, Machine]:
    """Return the largest group of identical nodes, because only their records may be pooled; log the others."""
    kinds: dict[bytes, dict[Node, Machine]] = {}
    for node in sorted(machines):
        kinds.setdefault(fingerprint(machines[node]), {})[node] = machines[node]
    most = max(kinds.values(), key=lambda group: sum(node.slots(site) for node in group))
    ours = next(iter(most.values()))
    for node, machine in machines.items():
        if node not in most:
            log(f"{node.name} ({node.place}) is left out: {_difference(machine, ours)}")
    return most


def with_commit(machine: Machine, code: str | None) -> Machine:
    """Return the machine with a commit: its own, or that of the sender where it has no checkout."""
    environment = msgspec.structs.replace(machine.environment, commit=machine.environment.commit or code)
    return msgspec.structs.replace(machine, environment=environment)


def fingerprint(machine: Machine) -> bytes:
    """Return bytes that are equal for machines of the same kind."""
    return msgspec.json.encode((machine.device, kind(machine.environment)))


def _difference(machine: Machine, ours: Machine) -> str:
    own, other = (msgspec.to_builtins(kind(each.environment)) for each in (machine, ours))
    names = [name for name in own if own[name] != other.get(name)]
    return f"it differs from the others in {', '.join(names) or 'its device'}"
