"""`run --executor ray`: measure a plan on the nodes of a cluster, or estimate how long that takes.

python -m bench run --executor ray --address auto --accelerator T4 A100
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from bench.choices import folder, pick
from bench.commands import INTERRUPTED, NOTHING_MEASURED, OK, Log, contributor_of, display_path, resume_command
from bench.commands.selection import prepared, profile_of, recipes_of, seconds_of
from bench.errors import AtlasError, counted
from bench.records.record import DEVICES

if TYPE_CHECKING:
    from rich.console import Console

    from bench.fleet.cluster import Engine, Node
    from bench.fleet.dispatch import Site
    from bench.fleet.ray_engine import RayEngine
    from bench.plans.messages import Machine, Preflight, Recipe

LARGEST_TABLE = 200
"""The largest number of cells that are printed as a table."""


def run(options: argparse.Namespace) -> int:
    """Measure the plan, or with --dry-run estimate it. Returns the exit status."""
    from rich.console import Console

    from bench.fleet.ray_engine import RayEngine
    from bench.running.preflight import preflight_request

    if options.cluster and not options.dry_run:
        remedy = "add --dry-run, or give the --address of a real cluster"
        raise AtlasError("a cluster that is only described cannot measure", where="--cluster", remedy=remedy)
    folder(options.out)
    budget_s = math.inf if options.time_budget is None else seconds_of(options.time_budget)
    contributor_of(options.by)  # raises before the cluster is contacted
    recipes = recipes_of(options)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if options.cluster:
        return _forecast(_described_sites(options, recipes, console.print), budget_s, console.print)

    request = preflight_request(_device(options), recipes, profile_of(options))
    start, engine = time.monotonic(), RayEngine(options.address)
    try:
        sites = _live_sites(options, recipes, engine, request, console.print)
        if options.dry_run:
            return _forecast(sites, budget_s, console.print)
        start += engine.clock() - time.monotonic()  # by the engine's clock
        return _measure(options, engine, sites, request, start, budget_s, console)
    except KeyboardInterrupt:
        console.print(f"Stopped. Finished records are on disk. To continue: {resume_command(options)}")
        return INTERRUPTED
    finally:
        engine.close()


# ── Sites ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _described_sites(options: argparse.Namespace, recipes: Sequence[Recipe], log: Log) -> list[Site]:
    """Return the sites of the cluster that a file describes."""
    from bench.fleet.simulation import read_cluster

    machines = read_cluster(options.cluster)
    chosen = _chosen(options, machines)
    described = {name: {node: machines[node] for node in nodes} for name, nodes in chosen.items()}
    return _sites(options, recipes, described, log)


def _live_sites(
    options: argparse.Namespace, recipes: Sequence[Recipe], engine: Engine, request: Preflight, log: Log
) -> list[Site]:
    """Return the sites of a cluster whose nodes answer."""
    from bench.fleet.cluster import survey
    from bench.fleet.dispatch import GRACE_S
    from bench.running.preflight import PREFLIGHT_TIMEOUT_S

    chosen = _chosen(options, engine.nodes())
    log(f"Checking {counted(sum(map(len, chosen.values())), 'node')} …")
    return _sites(options, recipes, survey(engine, chosen, request, PREFLIGHT_TIMEOUT_S + GRACE_S, log), log)


def _device(options: argparse.Namespace) -> str | None:
    return None if options.device is None else pick("device", options.device, DEVICES)


def _chosen(options: argparse.Namespace, nodes: Iterable[Node]) -> dict[str, list[Node]]:
    from bench.fleet.cluster import choose

    named = [name for text in options.accelerator or () for name in text.split(",") if name]
    return choose(nodes, named, _device(options))


def _sites(
    options: argparse.Namespace,
    recipes: Sequence[Recipe],
    machines: Mapping[str, Mapping[Node, Machine]],
    log: Log,
) -> list[Site]:
    sites = [_site(name, nodes, options, recipes, log) for name, nodes in machines.items()]
    if len({site.run_file.path for site in sites}) < len(sites):
        raise AtlasError(
            "these names stand for the same kind of machine", where="--accelerator", remedy="give only one of them"
        )
    return sites


def _site(
    name: str, machines: Mapping[Node, Machine], options: argparse.Namespace, recipes: Sequence[Recipe], log: Log
) -> Site:
    """Return the site of one kind of machine, with its plan and its run file."""
    from bench.fleet.cluster import CPU, alike, with_commit
    from bench.fleet.dispatch import Site
    from bench.machine import commit

    code = commit()

    def known(machine: Machine) -> Machine:
        device = "cpu" if name == CPU else machine.device
        return msgspec.structs.replace(with_commit(machine, code), device=device)

    nodes = {node: known(machine) for node, machine in alike(machines, name, log).items()}
    machine = next(iter(nodes.values()))
    plan, run_file, pace = prepared(options, recipes, machine)
    return Site(name, plan, run_file, pace, machine, nodes, time_limited=options.time_budget is not None)


# ── Measuring ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _forecast(sites: Sequence[Site], budget_s: float, log: Log) -> int:
    from bench.fleet.console import forecast_lines
    from bench.fleet.simulation import forecast

    log("\n".join(forecast_lines(forecast(sites, budget_s))))
    return OK


def _measure(
    options: argparse.Namespace,
    engine: RayEngine,
    sites: Sequence[Site],
    request: Preflight,
    start: float,
    budget_s: float,
    console: Console,
) -> int:
    from bench.fleet.console import ConsoleReporter
    from bench.fleet.dispatch import measure_on
    from bench.plans.duration import OVERRUN

    for site in sites:
        verb = f"resuming after {counted(len(site.run_file.records), 'record')} in" if site.run_file.records else "into"
        console.print(
            f"{site.name} ({site.machine.environment.device_name}, {counted(len(site.nodes), 'node')}): "
            f"{counted(site.agenda.left, 'process', 'processes')}, {verb} {display_path(site.run_file.path)}"
        )
    with ConsoleReporter(console, sites) as reporter:
        measure_on(
            sites,
            engine,
            reporter,
            request=request,
            deadline=start + budget_s,
            grace_s=OVERRUN * budget_s,
            contributor=contributor_of(options.by),
            retry_failed=options.retry_failed,
        )
    for site in sites:
        if not site.agenda.left:
            engine.clean(list(site.nodes), site.run_file.name)
    console.print("\n".join(reporter.by_node()))
    return _conclude(sites, options, console.print)


def _conclude(sites: Sequence[Site], options: argparse.Namespace, log: Log) -> int:
    """Print what was measured: a table for small runs, and the counts of statuses."""
    from bench.records.run_file import read
    from bench.running.progress import results_table

    measured = False
    for site in sites:
        records = list(read(site.run_file.path)) if site.run_file.path.exists() else []
        measured = measured or any(record.measurement for record in records)
        if records and len(site.plan.planned) <= LARGEST_TABLE:
            log(f"{site.name}\n{results_table(records)}")
        statuses = Counter(record.status.value for record in records).most_common()
        log(f"{', '.join(f'{count} {status}' for status, count in statuses)}: {display_path(site.run_file.path)}")
    if left := sum(site.agenda.left for site in sites):
        log(f"{counted(left, 'process is', 'processes are')} left. To continue: {resume_command(options)}")
    return OK if measured else NOTHING_MEASURED
