"""`run --executor ray`: measure a plan on the nodes of a cluster, or say what it would take.

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

from bench.choices import pick
from bench.commands import INTERRUPTED, NOTHING_MEASURED, OK, Tell, again, contributor_of, shown
from bench.commands.selection import prepared, profile_of, recipes_of, seconds_of
from bench.errors import AtlasError
from bench.records.record import DEVICES

if TYPE_CHECKING:
    from rich.console import Console

    from bench.fleet.cluster import Engine, Node
    from bench.fleet.fleet import Site
    from bench.fleet.ray_engine import RayEngine
    from bench.plans.messages import Machine, Preflight

LARGEST_TABLE = 200  # cells


def run(options: argparse.Namespace) -> int:
    """Measure, or only say what it would take; leave an exit status."""
    from rich.console import Console

    if options.cluster and not options.dry_run:
        remedy = "add --dry-run, or give the --address of one that exists"
        raise AtlasError("a described cluster cannot measure", where="--cluster", remedy=remedy)
    budget_s = math.inf if options.time_budget is None else seconds_of(options.time_budget)
    contributor_of(options.by)  # a mistake is said before a cluster is asked
    request = _request(options)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if options.cluster:
        return _forecast(_on_paper(options, console.print), budget_s, console.print)
    from bench.fleet.ray_engine import RayEngine

    start, engine = time.monotonic(), RayEngine(options.address)
    try:
        sites = _found(options, engine, request, console.print)
        if options.dry_run:
            return _forecast(sites, budget_s, console.print)
        return _measure(options, engine, sites, engine.clock() + budget_s - (time.monotonic() - start), console)
    except KeyboardInterrupt:
        console.print(f"Stopped; what was measured is on disk. To go on: {again(options)}")
        return INTERRUPTED
    finally:
        engine.close()


# ── What there is ───────────────────────────────────────────────────────────────────────────────────────────────────


def _on_paper(options: argparse.Namespace, tell: Tell) -> list[Site]:
    """The sites of a cluster that is only described."""
    from bench.fleet.simulation import described

    machines = described(options.cluster)
    chosen = _chosen(options, machines)
    return _sites(options, {name: {node: machines[node] for node in nodes} for name, nodes in chosen.items()}, tell)


def _found(options: argparse.Namespace, engine: Engine, request: Preflight, tell: Tell) -> list[Site]:
    """The sites of a cluster that answers."""
    from bench.fleet.cluster import look_around
    from bench.fleet.fleet import PATIENCE_S
    from bench.running.sweep import SURVEY_TIMEOUT_S

    chosen = _chosen(options, engine.nodes())
    tell(f"Looking at {_nodes(sum(map(len, chosen.values())))} …")
    return _sites(options, look_around(engine, chosen, request, SURVEY_TIMEOUT_S + PATIENCE_S, tell), tell)


def _nodes(count: int) -> str:
    return f"{count} node{'s' if count != 1 else ''}"


def _request(options: argparse.Namespace) -> Preflight:
    from bench.running.sweep import survey_of

    return survey_of(_device(options), recipes_of(options), profile_of(options))


def _device(options: argparse.Namespace) -> str | None:
    return None if options.device is None else pick("device", options.device, DEVICES)


def _chosen(options: argparse.Namespace, nodes: Iterable[Node]) -> dict[str, list[Node]]:
    from bench.fleet.cluster import choose

    named = [name for text in options.accelerator or () for name in text.split(",") if name]
    return choose(nodes, named, _device(options))


def _sites(options: argparse.Namespace, found: Mapping[str, Mapping[Node, Machine]], tell: Tell) -> list[Site]:
    sites = [_site(name, machines, options, tell) for name, machines in found.items()]
    if len({site.run_file.path for site in sites}) < len(sites):
        raise AtlasError("these are the same kind of machine", where="--accelerator", remedy="name one of them")
    return sites


def _site(name: str, machines: Mapping[Node, Machine], options: argparse.Namespace, tell: Tell) -> Site:
    """What one kind of machine has to do."""
    from bench.fleet.cluster import CPU, alike, committed
    from bench.fleet.fleet import Site
    from bench.machine import commit

    code = commit()

    def known(machine: Machine) -> Machine:
        device = "cpu" if name == CPU else machine.device
        return msgspec.structs.replace(committed(machine, code), device=device)

    nodes = {node: known(machine) for node, machine in alike(machines, name, tell).items()}
    machine = next(iter(nodes.values()))
    plan, run_file, pace = prepared(options, machine)
    return Site(name, plan, run_file, pace, machine, nodes, in_haste=options.time_budget is not None)


# ── What becomes of it ──────────────────────────────────────────────────────────────────────────────────────────────


def _forecast(sites: Sequence[Site], budget_s: float, tell: Tell) -> int:
    from bench.fleet.progress import forecast_lines
    from bench.fleet.simulation import forecast

    tell("\n".join(forecast_lines(forecast(sites, budget_s))))
    return OK


def _measure(
    options: argparse.Namespace, engine: RayEngine, sites: Sequence[Site], deadline: float, console: Console
) -> int:
    from bench.fleet.fleet import measure_on
    from bench.fleet.progress import FleetLines

    for site in sites:
        verb = f"going on with {len(site.run_file.records)} records in" if site.run_file.records else "into"
        console.print(
            f"{site.name} ({site.machine.environment.device_name}, {_nodes(len(site.nodes))}): "
            f"{site.agenda.left} processes, {verb} {shown(site.run_file.path)}"
        )
    with FleetLines(console, sites) as reporter:
        measure_on(
            sites,
            engine,
            reporter,
            request=_request(options),
            deadline=deadline,
            contributor=contributor_of(options.by),
            retry_failed=options.retry_failed,
        )
    for site in sites:
        if not site.agenda.left:
            engine.clean(list(site.nodes), site.run_file.name)
    console.print("\n".join(reporter.by_node()))
    return _conclude(sites, options, console.print)


def _conclude(sites: Sequence[Site], options: argparse.Namespace, tell: Tell) -> int:
    """Show what was measured; of long runs only how it ended."""
    from bench.records.run_file import read
    from bench.running.progress import results_table

    measured = False
    for site in sites:
        records = list(read(site.run_file.path)) if site.run_file.path.exists() else []
        measured = measured or any(record.measurement for record in records)
        if records and len(site.plan.planned) <= LARGEST_TABLE:
            tell(f"{site.name}\n{results_table(records)}")
        statuses = Counter(record.status.value for record in records).most_common()
        tell(f"{', '.join(f'{count} {status}' for status, count in statuses)}: {shown(site.run_file.path)}")
    if left := sum(site.agenda.left for site in sites):
        tell(f"{left} processes are left. To go on: {again(options)}")
    return OK if measured else NOTHING_MEASURED
