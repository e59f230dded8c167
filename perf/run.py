"""Time every builder at every size, in random order, and save each timing at once.

Takes a `TimingPlan` and the timings so far; returns `BuildTimes` with all of them. Pages and records are generated in a
work folder: nothing is written into the project.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench import machine
from bench.errors import AtlasError
from bench.machine import commit
from bench.records.build_times import BUILDS, EDITS, LOADS, OURS, START, BuildEnvironment, BuildTimes, Timing, rounded
from bench.records.scrub import one_line
from perf import builders, content
from perf.builders import PEERS, STATIC_I18N, ZENSICAL, Builder, FinishedPages
from perf.cost import Cost, cost_of
from perf.served import free_ports, served

ROOT = Path(__file__).resolve().parent.parent

CONTINUED = ("unchanged", "publish")
"""The builds that go on with the site and the caches of the build before."""

T = TypeVar("T")


@dataclass(frozen=True)
class TimingPlan:
    """What to time, and the folders it takes."""

    pages: Sequence[int]
    records: Sequence[int]
    repeats: int
    work: Path
    programs: Path  # folder of the other builders' programs
    limit_s: float  # of one action
    alone: Sequence[int] = ()  # more numbers of pages, for this builder alone
    names: Sequence[str] = (OURS, *PEERS)
    actions: Sequence[str] = (*BUILDS, START, *EDITS, *LOADS)
    project: Path = ROOT

    @property
    def present(self) -> list[str]:
        """The builders that are installed."""
        return [name for name in self.names if name == OURS or (self.programs / PEERS[name]).exists()]


@dataclass
class TimingRun:
    """The timings so far. `save` gets each new state, `log` a line for each step."""

    plan: TimingPlan
    build_times: BuildTimes
    save: Callable[[BuildTimes], object]
    log: Callable[[str], None]
    _builders: dict[tuple[Any, ...], Sequence[Builder]] = field(default_factory=dict)
    _archives: dict[int, tuple[Path, Path]] = field(default_factory=dict)

    def all(self) -> BuildTimes:
        """Time whatever is in the plan and not timed yet.

        Everything is timed once, and then again: a shared machine is slow for minutes at a time, which must not be all
        repeats of one figure.
        """
        for repeat in range(self.plan.repeats):
            for size in self.plan.records:
                self._loads(size, repeat)
            for size in self.plan.pages:
                self._pages(size, repeat, self.plan)
            for size in self.plan.alone:
                self._pages(size, repeat, replace(self.plan, names=[OURS]))
        for each in ("records-*/archive", f"pages-*/{builders.FORGOTTEN}*"):
            for folder in self.plan.work.glob(each):
                shutil.rmtree(folder)
        return self.build_times

    def _pages(self, size: int, repeat: int, plan: TimingPlan) -> None:
        actions = [*BUILDS, START, *EDITS]
        if not any(self._is_pending(name, action, size, repeat) for name in plan.present for action in actions):
            return
        laid_out = self._pages_laid_out(size, plan)
        sessions = [self._builds, self._serves]
        for session in sessions if size in plan.alone else _shuffled(sessions):  # alone, the server uses the build
            session(laid_out, size, repeat)

    def _pages_laid_out(self, size: int, plan: TimingPlan) -> Sequence[Builder]:
        key = (size, *plan.names)
        if key not in self._builders:
            self.log(f"{size} pages: laying out")
            self._builders[key] = list(lay_out(plan, size))
        return self._builders[key]

    # ── Builds ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _builds(self, laid_out: Sequence[Builder], size: int, repeat: int) -> None:
        """Time the builds, each after the previous one, with the builders next to each other.

        A record that was added stays: records, caches and site still agree, and all later timings have it.
        """
        settled: dict[str, bool] = {}
        for action in BUILDS:
            for builder in _shuffled(laid_out):
                if not self._is_pending(builder.name, action, size, repeat):
                    continue
                is_settled = settled.pop(builder.name, False)
                if action == "warm":
                    self._warm_up(builder)
                elif action in CONTINUED and not is_settled:
                    self._settle(builder)
                build = partial(self._build, builder, action)
                settled[builder.name] = self._timed(builder.name, action, size, repeat, build)

    def _build(self, builder: Builder, action: str) -> Cost:
        if action not in CONTINUED:
            builder.forget(caches=action == "cold")
        if action == "publish":
            builder.add_record()
        return cost_of(builder.builds, builder.folder, builder.env, self._log_file(builder), self.plan.limit_s)

    def _warm_up(self, builder: Builder) -> None:
        if builder.is_cold:
            self._settle(builder)

    def _settle(self, builder: Builder) -> None:
        """Build once, untimed, because another session may have left any state."""
        try:
            self._build(builder, "unchanged")
        except AtlasError as error:
            self.log(f"  {builder.name}: {error}")

    # ── Servers ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _serves(self, laid_out: Sequence[Builder], size: int, repeat: int) -> None:
        for builder in _shuffled(laid_out):
            self._serve(builder, size, repeat)

    def _serve(self, builder: Builder, size: int, repeat: int) -> None:
        """Time the start of the server, and every edit once."""
        pending = [action for action in (START, *builder.edits) if self._is_pending(builder.name, action, size, repeat)]
        if not pending:
            return
        self._warm_up(builder)
        ports = free_ports(builder.ports)
        commands, limit_s = builder.serve(ports), self.plan.limit_s
        try:
            with served(commands, ports, builder.folder, builder.env, self._log_file(builder), limit_s) as site:
                self._timed(builder.name, START, size, repeat, lambda: site.started)
                for name in _shuffled(action for action in pending if action != START):
                    edited = partial(site.reloaded, builder.edits[name], builder.open_tab, limit_s)
                    self._timed(builder.name, name, size, repeat, edited)
        except AtlasError as error:
            for action in pending:
                if self._is_pending(
                    builder.name, action, size, repeat
                ):  # actions that could not be tried have failed too
                    failed = Timing(builder=builder.name, action=action, size=size, repeat=repeat)
                    self._add(msgspec.structs.replace(failed, failure=one_line(error)))

    # ── Loads ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _loads(self, size: int, repeat: int) -> None:
        if OURS not in self.plan.names or not any(self._is_pending(OURS, each, size, repeat) for each in LOADS):
            return
        project, archive = self._records_laid_out(size)
        env, log = builders.environment_of(project), project.with_suffix(".log")

        def load() -> Cost:
            cost = cost_of([(sys.executable, "-c", LOAD, str(archive))], project, env, log, self.plan.limit_s)
            return Cost(float(log.read_text(encoding="utf-8")), cost.cpu_s, cost.memory_gb)

        shutil.rmtree(project / ".cache", ignore_errors=True)
        for action in LOADS:
            self._timed(OURS, action, size, repeat, load)

    def _records_laid_out(self, size: int) -> tuple[Path, Path]:
        """Return a copy of the project, and the folder of generated records."""
        if size not in self._archives:
            self.log(f"{size} records: laying out")
            folder = self.plan.work / f"records-{size}"
            project, archive = content.copy(self.plan.project, folder / "project"), folder / "archive"
            shutil.rmtree(archive, ignore_errors=True)
            make = (sys.executable, "-m", "tests.archive", str(archive), str(size))
            cost_of([make], ROOT, builders.environment_of(project), project.with_suffix(".log"), self.plan.limit_s)
            os.sync()  # otherwise the disk would still be writing them during the first load
            self._archives[size] = project, archive
        return self._archives[size]

    # ── Timings ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _is_pending(self, builder: str, action: str, size: int, repeat: int) -> bool:
        known = {each.key for each in self.build_times.timings}
        return action in self.plan.actions and (builder, action, size, repeat) not in known

    def _timed(self, builder: str, action: str, size: int, repeat: int, act: Callable[[], Cost]) -> bool:
        """Run an action and save its cost or its failure. Returns whether it succeeded."""
        timing = Timing(builder=builder, action=action, size=size, repeat=repeat)
        try:
            cost = act()
        except AtlasError as error:
            self._add(msgspec.structs.replace(timing, failure=one_line(f"{error.what} ({error.where})")))
            return False
        figures = {name: rounded(value) for name, value in asdict(cost).items() if value is not None}
        self._add(msgspec.structs.replace(timing, **figures))
        return True

    def _add(self, timing: Timing) -> None:
        if timing.action not in self.plan.actions:
            return
        self.build_times = self.build_times.with_timing(timing)
        self.save(self.build_times)
        memory = f"{timing.memory_gb:.2f}" if timing.memory_gb else "?"
        result = timing.failure or f"{timing.wall_s:.3g} s, CPU {timing.cpu_s:.3g} s, {memory} GB"
        self.log(f"  {timing.size} {timing.builder} {timing.action} #{timing.repeat + 1}: {result}")

    def _log_file(self, builder: Builder) -> Path:
        return builder.folder.with_suffix(".log")


LOAD = """
import sys, time
from pathlib import Path
from generator.data.load import load
start = time.perf_counter()
load(Path(sys.argv[1])).newest
print(time.perf_counter() - start)
"""
"""A program that loads the records that pages show, and prints how long that takes without startup and imports."""


def lay_out(plan: TimingPlan, size: int) -> Iterator[Builder]:
    """Yield every builder of the plan with the same pages. Raises `AtlasError` if their number differs from `size`."""
    folder = plan.work / f"pages-{size}"
    finished = FinishedPages(folder / "source", folder / "staged", plan.limit_s)
    if set(plan.present) - {OURS}:
        content.grow(plan.project, finished.project, size)
        finished.make()
        if (number := content.count(finished.staged)) != size:
            raise AtlasError(f"there are {number} pages, not {size}", where="--pages", remedy="give a larger number")
    peers = {STATIC_I18N: builders.static_i18n, ZENSICAL: builders.zensical}
    for name in plan.present:
        if name == OURS:
            yield builders.ours(content.grow(plan.project, folder / OURS, size))
        else:
            yield peers[name](finished, folder / name, plan.programs)


def environment(plan: TimingPlan) -> BuildEnvironment:
    """Return this machine and the versions of the builders."""
    versions = {name: machine.version(name) for name in ("mkdocs", "mkdocs-material")}
    for name in plan.present:
        if name != OURS:
            program = str(plan.programs / "python")
            package = {STATIC_I18N: "mkdocs-static-i18n"}.get(name, name)
            versions[package] = machine.output(program, "-c", VERSION.format(package))
    return BuildEnvironment(
        device_name=machine.cpu_name(),
        python=sys.version.split()[0],
        platform=machine.system(),
        memory_gb=machine.memory_gb(),
        cores=machine.cores(),
        commit=commit(),
        versions={name: version for name, version in versions.items() if version},
    )


VERSION = "import importlib.metadata as m; print(m.version({!r}))"


def _shuffled(items: Iterable[T]) -> list[T]:
    items = list(items)
    return random.sample(items, len(items))
