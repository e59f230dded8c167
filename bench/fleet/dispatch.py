"""Dispatch the cells of a plan to many machines, and redo what is lost with a machine.

Takes a `Site` for each kind of machine, with its plan and its nodes; each record goes to its site's run file as it
comes. A free node gets the next cell and keeps it for all its processes.

    python -m bench run --executor ray --address auto --accelerator T4,A100
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from bench.errors import AtlasError
from bench.fleet.cluster import (
    CellTask,
    Engine,
    Node,
    Reply,
    SurveyTask,
    fingerprint,
    reservation,
    with_commit,
)
from bench.plans.duration import DurationEstimates
from bench.plans.messages import Machine, Preflight
from bench.plans.plan import Agenda, Plan, Step, progress_by_cell
from bench.records import wording
from bench.records.record import Record
from bench.records.run_file import read
from bench.running.executors import WorkerExit
from bench.running.preflight import machine_of
from bench.running.resume import RunFile, owned, write
from bench.running.sweep import flags, interruptible, record_of

GRACE_S = 300.0
"""How long a task may wait to start while others use the cluster, in addition to its own time limit."""

REFRESH_S = 10.0
"""The interval between lists of the nodes; a node that lost a process gets no task for as long."""

WAIT_FOR_NODE_S = 300.0
"""How long a site without nodes waits for one."""

ATTEMPTS = 2
"""How often a process without an answer is tried: the fault may be the machine's and not the cell's."""


@dataclass
class Site:
    """A kind of machine and its share of the work."""

    name: str  # a type of accelerator, or CPU
    plan: Plan
    run_file: RunFile
    pace: DurationEstimates
    machine: Machine  # one of its nodes, which are all alike
    nodes: dict[Node, Machine]
    time_limited: bool = False  # the most useful cells come first
    agenda: Agenda = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        self.digest = self.plan.digest
        self.recall(self.run_file.records)

    def recall(self, records: Iterable[Record], forgotten: Sequence[Record] = ()) -> None:
        """Set the agenda to what these records leave to do. Forgotten records do not count."""
        self.agenda = Agenda(self.plan, progress_by_cell(records, forgotten), self.pace if self.time_limited else None)
        self.agenda.keep_to(node.name for node in self.nodes)

    @property
    def slots(self) -> int:
        """How many cells the nodes measure at a time."""
        return sum(node.slots(self.name) for node in self.nodes)


class FleetReporter(Protocol):
    """Shows the progress of a fleet."""

    def begin(self, site: Site, node: Node, step: Step) -> None:
        """A process was sent to a node."""

    def end(self, site: Site, node: Node, record: Record, seconds: float) -> None:
        """The process has ended, and its record is on disk."""

    def drop(self, site: Site, node: Node, step: Step) -> None:
        """The process has ended without an outcome."""

    def log(self, text: str) -> None:
        """Show a line of text."""


def measure_on(
    sites: Sequence[Site],
    engine: Engine,
    reporter: FleetReporter,
    *,
    request: Preflight,
    deadline: float = math.inf,
    grace_s: float = 0.0,
    contributor: str | None = None,
    retry_failed: bool = False,
) -> None:
    """Measure what is pending and append each record to its site's run file.

    `request` is for nodes that join later; `deadline` is a time of the engine's clock, and a task that lasts longer
    than expected is stopped `grace_s` after it. Raises `KeyboardInterrupt` on SIGINT and SIGTERM, with all finished
    records on disk.
    """
    with ExitStack() as stack:
        for site in sites:
            stack.enter_context(owned(site.run_file.path))
            records = tuple(read(site.run_file.path))  # another run may have added to the file since it was chosen
            site.recall(records, RunFile(site.run_file.path, records).failed if retry_failed else ())
        held = stack.enter_context(interruptible())

        def keep(site: Site, record: Record) -> None:
            with held():
                write(site.run_file.path, msgspec.structs.replace(record, contributor=contributor))

        Dispatcher(sites, engine, reporter, keep, request=request, deadline=deadline, grace_s=grace_s).run()


@dataclass(frozen=True)
class _RunningTask:
    """A task that has been started."""

    site: Site
    task: CellTask | SurveyTask
    machine: Machine
    until: float


class Dispatcher:
    """Gives tasks to the nodes of all sites and calls `keep` with each record. No task begins that is expected to end
    after the `deadline`, and none ends more than `grace_s` after it."""

    def __init__(
        self,
        sites: Sequence[Site],
        engine: Engine,
        reporter: FleetReporter,
        keep: Callable[[Site, Record], None],
        *,
        request: Preflight | None = None,
        deadline: float = math.inf,
        grace_s: float = 0.0,
    ) -> None:
        self.sites = sites
        self._engine, self._reporter, self._keep = engine, reporter, keep
        self._request, self._deadline = request or Preflight(), deadline
        self._grace_s = grace_s
        self._running: dict[Hashable, _RunningTask] = {}
        self._free = {node: node.slots(site.name) for site in sites for node in site.nodes}
        self._known = set(engine.nodes()) | set(self._free)
        self._suspended: dict[Node, float] = {}  # nodes that get no task, and until when
        self._failures: Counter[tuple[str, str, int]] = Counter()
        self._warned: set[str] = set()
        self._refreshed = engine.clock()
        self._staffed = {site.name: self._refreshed for site in sites}  # when the site last had a node

    def run(self) -> None:
        """Run until everything is measured, the time is up, or no node is left. Stops running tasks on an interrupt."""
        try:
            for site in self.sites:
                self._offer(site)
            while self._running or any(map(self._may_resume, self.sites)):
                due = self._refreshed + REFRESH_S  # the same sum as below: a difference may lose its last bit
                for handle, reply in self._engine.wait(max(0.0, due - self._engine.clock())):
                    self._end(self._running.pop(handle), reply)
                if self._engine.clock() >= self._refreshed + REFRESH_S:
                    self._refresh()
                    self._stop_late()
        finally:
            for handle in self._running:
                self._engine.stop(handle)

    def _may_resume(self, site: Site) -> bool:
        """Return whether a node may still come back for what is left."""
        now = self._engine.clock()
        if not site.agenda.left or now >= self._deadline:
            return False
        return any(node in self._suspended for node in site.nodes) or (
            not site.nodes and now - self._staffed[site.name] < WAIT_FOR_NODE_S
        )

    # ── Start ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _offer(self, site: Site, nodes: Iterable[Node] | None = None) -> None:
        """Give steps to the free slots of these nodes, or of all nodes."""
        for node in list(site.nodes if nodes is None else nodes):
            while node in site.nodes and node not in self._suspended and self._free[node] > 0:
                step = site.agenda.take(node.name, lambda step: self._fits(site, step))
                if step is None:
                    break
                self._begin(site, node, step)

    def _fits(self, site: Site, step: Step) -> bool:
        if math.isinf(self._deadline):
            return True
        return self._engine.clock() + site.pace.of(step.planned.cell, step.is_first) <= self._deadline

    def _begin(self, site: Site, node: Node, step: Step) -> None:
        now, profile = self._engine.clock(), site.plan.profile
        timeout_s = min(profile.timeout_s, self._deadline - now + self._grace_s)
        task = CellTask(node, step, profile, site.run_file.name, timeout_s, *reservation(node, site.name))
        self._free[node] -= 1
        self._reporter.begin(site, node, step)
        self._running[self._engine.start(task)] = _RunningTask(site, task, site.nodes[node], now + timeout_s + GRACE_S)

    # ── Finish ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _end(self, running: _RunningTask, reply: Reply) -> None:
        site, task, ended = running.site, running.task, reply.ended
        if isinstance(task, SurveyTask):
            self._join(site, task.node, ended)
            return
        node, step = task.node, task.step
        self._free[node] += 1
        self._warn(node, reply)
        if ended.timed_out and task.timeout_s < site.plan.profile.timeout_s:
            self._reporter.drop(site, node, step)  # the time budget ended, not the cell
        elif self._retries(site, step, ended):
            self._reporter.drop(site, node, step)
            self._reporter.log(f"{node.name}: {ended.cause}; {step.planned.cell.model} is measured again")
            site.agenda.give_back(step, node.name)
            if ended.is_lost:
                self._suspended[node] = self._engine.clock() + REFRESH_S
                self._refresh()
            self._offer(site)
        else:
            self._record(running, step, reply)
            self._offer(site, [node])

    def _warn(self, node: Node, reply: Reply) -> None:
        for complaint in reply.complaints:
            if complaint.check not in self._warned:
                self._reporter.log(f"warning, {node.name}: {complaint}")
            self._warned.add(complaint.check)

    def _retries(self, site: Site, step: Step, ended: WorkerExit) -> bool:
        """Return whether to try the process again. Running out of memory is an outcome of the cell."""
        if ended.answer is not None or ended.timed_out or ended.out_of_memory:
            return False
        process = (site.name, step.planned.command, step.process)
        self._failures[process] += 1
        return self._failures[process] < ATTEMPTS

    def _record(self, running: _RunningTask, step: Step, reply: Reply) -> None:
        site, node = running.site, running.task.node
        record = msgspec.structs.replace(
            record_of(
                step,
                site.digest,
                site.plan.profile.name,
                running.machine.environment,
                site.run_file.name,
                reply.ended,
            ),
            node=node.name,
            flags=flags(reply.complaints),
        )
        if reply.ended.answer is None and not reply.ended.timed_out and not reply.ended.out_of_memory:
            record = msgspec.structs.replace(record, reason=f"{record.reason}{wording.AGAIN()}")
        self._keep(site, record)
        site.agenda.end(step, record)
        site.pace.learn(record, step.is_first)
        self._reporter.end(site, node, record, reply.ended.seconds)

    # ── Nodes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _refresh(self) -> None:
        """Drop nodes that have gone, survey new ones, and use suspended ones again when their time is over."""
        now = self._refreshed = self._engine.clock()
        alive = set(self._engine.nodes())
        self._suspended = {node: until for node, until in self._suspended.items() if until > now and node in alive}
        for site in self.sites:
            for node in set(site.nodes) - alive:
                del site.nodes[node]
                self._reporter.log(f"{node.name} is gone; remaining nodes of {site.name}: {len(site.nodes)}")
            if site.nodes:
                self._staffed[site.name] = now
            site.agenda.keep_to(node.name for node in site.nodes)
            self._offer(site)
        for node in sorted(alive - self._known):
            self._known.add(node)
            for site in self.sites:
                if node.serves(site.name):
                    task = SurveyTask(node, self._request, *reservation(node, site.name))
                    self._running[self._engine.start(task)] = _RunningTask(site, task, site.machine, now + GRACE_S)

    def _join(self, site: Site, node: Node, ended: WorkerExit) -> None:
        """Add a node that came later to its site if it is like the others."""
        try:
            machine = machine_of(ended)
        except AtlasError as error:
            self._reporter.log(f"{node.name} ({node.place}) is left out: {error.what}")
            return
        if fingerprint(machine) != fingerprint(site.machine):
            self._reporter.log(f"{node.name} ({node.place}) is left out: it is a different kind of machine")
            return
        site.nodes[node] = with_commit(machine, site.machine.environment.commit)
        self._free[node] = node.slots(site.name)
        site.agenda.keep_to(each.name for each in site.nodes)
        self._reporter.log(f"{node.name} ({node.place}) joins")
        self._offer(site)

    def _stop_late(self) -> None:
        """Treat tasks that are long overdue as lost, whether they never started or never answered."""
        now = self._engine.clock()
        for handle in [handle for handle, running in self._running.items() if running.until < now]:
            self._engine.stop(handle)
            running = self._running.pop(handle)
            self._end(running, Reply(WorkerExit(seconds=now - running.until + GRACE_S, is_lost=True)))
