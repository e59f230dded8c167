"""One plan on many machines at once: who measures what, and what becomes of it when one of them is lost.

Enter a `Site` for each kind of machine, with its plan and its nodes; records leave as they come, each for the run file
of its site. Whoever is free gets the next cell, which keeps it until all its processes are measured.

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
from bench.fleet.cluster import Engine, Look, Node, Reply, Work, committed, fingerprint, reservation
from bench.plans.duration import Pace
from bench.plans.messages import Machine, Preflight
from bench.plans.plan import Agenda, Plan, Step, tallies
from bench.records.record import Record, read
from bench.running.executors import Ended
from bench.running.sweep import RunFile, flags, interruptible, owned, record_of, surveyed, write

PATIENCE_S = 300.0
"""Beyond the time that a task may take: to be started, and for others on the cluster to make room."""

LOOK_EVERY_S = 10.0
"""Between looks at which nodes there are, and for which a node that lost a process gets none."""

RETURN_S = 300.0
"""For which a site without any node waits for one."""

TRIES = 2
"""Of a process that ends without an answer: a machine that is lost or out of order is none of the cell's doing."""


@dataclass
class Site:
    """A kind of machine, and what it has to do."""

    name: str  # a type of accelerator, or CPU
    plan: Plan
    run_file: RunFile
    pace: Pace
    machine: Machine  # that all its nodes are like
    nodes: dict[Node, Machine]
    in_haste: bool = False  # time is limited: the most useful comes first
    agenda: Agenda = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        self.digest = self.plan.digest
        self.recall(self.run_file.records)

    def recall(self, records: Iterable[Record], forgotten: Sequence[Record] = ()) -> None:
        """This is measured; what is forgotten does not count."""
        self.agenda = Agenda(self.plan, tallies(records, forgotten), self.pace if self.in_haste else None)
        self.agenda.keep_to(node.name for node in self.nodes)

    @property
    def slots(self) -> int:
        """How many cells are measured at a time."""
        return sum(node.slots(self.name) for node in self.nodes)


class FleetReporter(Protocol):
    """Who is told how it gets on."""

    def begin(self, site: Site, node: Node, step: Step) -> None:
        """A process was given to a node."""

    def end(self, site: Site, node: Node, record: Record, seconds: float) -> None:
        """It has ended, and its record is on disk."""

    def drop(self, site: Site, node: Node, step: Step) -> None:
        """It has ended without an outcome."""

    def say(self, text: str) -> None:
        """Something that a person may want to know."""


def measure_on(
    sites: Sequence[Site],
    engine: Engine,
    reporter: FleetReporter,
    *,
    request: Preflight,
    deadline: float = math.inf,
    contributor: str | None = None,
    retry_failed: bool = False,
) -> None:
    """Measure what the run files of the sites do not say yet, and add it to them as it comes. Raises
    `KeyboardInterrupt` on SIGINT and SIGTERM, with all that was measured on disk.

    `request` is what a node is asked that joins later; `deadline` is a time of the engine's clock.
    """
    with ExitStack() as stack:
        for site in sites:
            stack.enter_context(owned(site.run_file.path))
            records = tuple(read(site.run_file.path))  # another run may have added to it since it was found
            site.recall(records, RunFile(site.run_file.path, records).failed if retry_failed else ())
        held = stack.enter_context(interruptible())

        def keep(site: Site, record: Record) -> None:
            with held():
                write(site.run_file.path, msgspec.structs.replace(record, contributor=contributor))

        Fleet(sites, engine, reporter, keep, request=request, deadline=deadline).run()


@dataclass(frozen=True)
class _Begun:
    """A task at work."""

    site: Site
    task: Work | Look
    machine: Machine
    until: float


class Fleet:
    """The nodes of all sites at work. `keep` takes each record; nothing ends after the `deadline`."""

    def __init__(
        self,
        sites: Sequence[Site],
        engine: Engine,
        reporter: FleetReporter,
        keep: Callable[[Site, Record], None],
        *,
        request: Preflight | None = None,
        deadline: float = math.inf,
    ) -> None:
        self.sites = sites
        self._engine, self._reporter, self._keep = engine, reporter, keep
        self._request, self._deadline = request or Preflight(), deadline
        self._begun: dict[Hashable, _Begun] = {}
        self._free = {node: node.slots(site.name) for site in sites for node in site.nodes}
        self._known = set(engine.nodes()) | set(self._free)
        self._doubted: dict[Node, float] = {}  # until when nothing is given to it
        self._failures: Counter[tuple[str, str, int]] = Counter()
        self._told: set[str] = set()
        self._looked = engine.clock()
        self._manned = {site.name: self._looked for site in sites}  # when it last had a node

    def run(self) -> None:
        """Until all is measured, the time is up, or nobody is left to measure it. What is at work when this is
        interrupted is stopped."""
        try:
            for site in self.sites:
                self._offer(site)
            while self._begun or any(map(self._is_hopeful, self.sites)):
                due = self._looked + LOOK_EVERY_S  # compared as it is waited for: of a difference, a bit may be lost
                for handle, reply in self._engine.wait(max(0.0, due - self._engine.clock())):
                    self._end(self._begun.pop(handle), reply)
                if self._engine.clock() >= self._looked + LOOK_EVERY_S:
                    self._look()
                    self._stop_late()
        finally:
            for handle in self._begun:
                self._engine.stop(handle)

    def _is_hopeful(self, site: Site) -> bool:
        """Whether a node may yet come back for what is left."""
        now = self._engine.clock()
        if not site.agenda.left or now >= self._deadline:
            return False
        return any(node in self._doubted for node in site.nodes) or (
            not site.nodes and now - self._manned[site.name] < RETURN_S
        )

    # ── Work is given ───────────────────────────────────────────────────────────────────────────────────────────────

    def _offer(self, site: Site, nodes: Iterable[Node] | None = None) -> None:
        """Fill what is free of these nodes, or of all."""
        for node in list(site.nodes if nodes is None else nodes):
            while node in site.nodes and node not in self._doubted and self._free[node] > 0:
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
        timeout_s = min(profile.timeout_s, self._deadline - now)
        work = Work(node, step, profile, site.run_file.name, timeout_s, *reservation(node, site.name))
        self._free[node] -= 1
        self._reporter.begin(site, node, step)
        self._begun[self._engine.start(work)] = _Begun(site, work, site.nodes[node], now + timeout_s + PATIENCE_S)

    # ── It has ended ────────────────────────────────────────────────────────────────────────────────────────────────

    def _end(self, begun: _Begun, reply: Reply) -> None:
        site, task, ended = begun.site, begun.task, reply.ended
        if isinstance(task, Look):
            self._join(site, task.node, ended)
            return
        node, step = task.node, task.step
        self._free[node] += 1
        self._warn(node, reply)
        if ended.timed_out and ended.seconds < site.plan.profile.timeout_s:
            self._reporter.drop(site, node, step)  # the budget ended, not the cell
        elif self._is_tried_again(site, step, ended):
            self._reporter.drop(site, node, step)
            self._reporter.say(f"{node.name}: {ended.cause}; {step.planned.cell.model} is measured again")
            site.agenda.give_back(step, node.name)
            if ended.is_lost:
                self._doubted[node] = self._engine.clock() + LOOK_EVERY_S
                self._look()
            self._offer(site)
        else:
            self._record(begun, step, reply)
            self._offer(site, [node])

    def _warn(self, node: Node, reply: Reply) -> None:
        for complaint in reply.complaints:
            if complaint.check not in self._told:
                self._reporter.say(f"careful, {node.name}: {complaint}")
            self._told.add(complaint.check)

    def _is_tried_again(self, site: Site, step: Step, ended: Ended) -> bool:
        """Whether it says nothing of the cell yet. Memory that ran out does."""
        if ended.answer is not None or ended.timed_out or ended.out_of_memory:
            return False
        process = (site.name, step.planned.command, step.process)
        self._failures[process] += 1
        return self._failures[process] < TRIES

    def _record(self, begun: _Begun, step: Step, reply: Reply) -> None:
        site, node = begun.site, begun.task.node
        record = msgspec.structs.replace(
            record_of(
                step,
                site.digest,
                site.plan.profile.name,
                begun.machine.environment,
                site.run_file.name,
                reply.ended,
            ),
            node=node.name,
            flags=flags(reply.complaints),
        )
        if reply.ended.answer is None and not reply.ended.timed_out and not reply.ended.out_of_memory:
            record = msgspec.structs.replace(record, reason=f"{record.reason} (the second time)")
        self._keep(site, record)
        site.agenda.end(step, record)
        site.pace.note(step.planned.cell, step.is_first, reply.ended.seconds)
        self._reporter.end(site, node, record, reply.ended.seconds)

    # ── Who is there ────────────────────────────────────────────────────────────────────────────────────────────────

    def _look(self) -> None:
        """See who has gone, who has come, and who is trusted again."""
        now = self._looked = self._engine.clock()
        there = set(self._engine.nodes())
        self._doubted = {node: until for node, until in self._doubted.items() if until > now and node in there}
        for site in self.sites:
            for node in set(site.nodes) - there:
                del site.nodes[node]
                self._reporter.say(f"{node.name} is gone; nodes of {site.name} that are left: {len(site.nodes)}")
            if site.nodes:
                self._manned[site.name] = now
            site.agenda.keep_to(node.name for node in site.nodes)
            self._offer(site)
        for node in sorted(there - self._known):
            self._known.add(node)
            for site in self.sites:
                if node.serves(site.name):
                    look = Look(node, self._request, *reservation(node, site.name))
                    self._begun[self._engine.start(look)] = _Begun(site, look, site.machine, now + PATIENCE_S)

    def _join(self, site: Site, node: Node, ended: Ended) -> None:
        """A node that came later measures with the others if it is like them."""
        try:
            machine = surveyed(ended)
        except AtlasError as error:
            self._reporter.say(f"{node.name} ({node.place}) is left out: {error.what}")
            return
        if fingerprint(machine) != fingerprint(site.machine):
            self._reporter.say(f"{node.name} ({node.place}) is left out: it is another kind of machine")
            return
        site.nodes[node] = committed(machine, site.machine.environment.commit)
        self._free[node] = node.slots(site.name)
        site.agenda.keep_to(each.name for each in site.nodes)
        self._reporter.say(f"{node.name} ({node.place}) joins")
        self._offer(site)

    def _stop_late(self) -> None:
        """No task is waited for without end: what others keep from starting, or nobody hears of, is taken for lost."""
        now = self._engine.clock()
        for handle in [handle for handle, begun in self._begun.items() if begun.until < now]:
            self._engine.stop(handle)
            begun = self._begun.pop(handle)
            self._end(begun, Reply(Ended(seconds=now - begun.until + PATIENCE_S, is_lost=True)))
