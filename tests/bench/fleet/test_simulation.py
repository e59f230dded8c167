"""Simulated clusters: how long a plan takes there, and how much memory a large one needs."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import msgspec
import pytest
from conftest import ROOT, THOROUGH
from test_dispatch import MACHINE, Told, site_of
from test_sweep import plan

from bench.errors import AtlasError
from bench.fleet.cluster import Node
from bench.fleet.dispatch import Dispatcher, Site
from bench.fleet.simulation import PASSED, SimulatedEngine, forecast, read_cluster
from bench.plans.duration import DurationEstimates
from bench.plans.messages import Recipe
from bench.plans.plan import Plan, make_plan
from bench.plans.profiles import PROFILES
from bench.records.record import Record
from bench.running.executors import WorkerExit
from bench.running.resume import RunFile


def test_makespan_and_hours_follow_from_what_processes_take() -> None:
    made = plan("ViT", "BeiT", processes=3)
    sites = [site_of(made, Node("a"), Node("b"))]
    for planned in made.planned:
        sites[0].pace.note(planned.cell, is_first=True, seconds=10.0)
        sites[0].pace.note(planned.cell, is_first=False, seconds=4.0)
    found = forecast(sites)
    assert found.makespan_s == pytest.approx(18.0)
    assert found.hours == pytest.approx((36.0 / 3600,))
    assert found.use == pytest.approx(1.0)
    assert (found.left, sites[0].agenda.left) == (0, 6), "nothing has been measured"
    assert forecast(sites, 11.0).left == 4


def test_a_described_cluster_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text('[[nodes]]\ncount = 2\ngpus = 8\ncpus = 96\naccelerator = "A100"\n[[nodes]]\ncount = 1\ncpus = 4\n')
    nodes = list(read_cluster(path))
    assert [(node.gpus, node.cpus, node.accelerator) for node in nodes] == [(8, 96, "A100")] * 2 + [(0, 4, None)]
    assert len({node.name for node in nodes}) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[nodes]]\ncount = 'many'\n", "not a description"),
        ("[[nodes]]\ncount = 1\ngpu = 1\n", "gpu"),
        ("[[nodes]]\ncount = -1\n", "must be from 1"),
        ("nodes = []\n", "must be from 1"),
        ("nodes", "not a description"),
    ],
)
def test_what_is_no_description_is_said_so(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    with pytest.raises(AtlasError, match=words):
        read_cluster(path)
    with pytest.raises(AtlasError, match="cannot be read"):
        read_cluster(tmp_path / "none.toml")


CELLS, NODES = (100_000, 1000) if THOROUGH else (2_000, 50)
LIMIT_BYTES = 6_000
"""The memory for each cell. A record with its samples takes tens of thousands of bytes."""


def large_plan(cells: int) -> Plan:
    sizes, modes = tuple(range(1, 26)), ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
    models = cells // (len(sizes) * len(modes))
    recipes = [Recipe(task="image-classification", checkpoint=f"someone/model-{n}") for n in range(models)]
    profile = msgspec.structs.replace(
        PROFILES["standard"], models=(), batch_sizes=sizes, compile_modes=modes, processes=2
    )
    return make_plan(profile, recipes, "cuda")


def test_a_large_fleet_with_failures_needs_little_of_its_driver() -> None:
    """Everything is real except the measuring: one process in fifty crashes, one node in twenty is lost."""
    nodes = [Node(f"node-{number}", 8, 1, "T4") for number in range(NODES)]
    tracemalloc.start()
    made = large_plan(CELLS)
    machines = dict.fromkeys(nodes, MACHINE)
    site = Site("T4", made, RunFile(Path("run.jsonl")), DurationEstimates(made.profile), MACHINE, machines)
    ended, crashes = 0, 0

    def ends(_: object, seconds: float) -> WorkerExit:
        nonlocal crashes
        crashes += 1
        return (
            WorkerExit(seconds=seconds, returncode=-6)
            if crashes % 50 == 0
            else WorkerExit(seconds=seconds, answer=PASSED)
        )

    def keep(_: Site, record: Record) -> None:
        nonlocal ended
        ended += 1

    losses = [(100.0 * number, node) for number, node in enumerate(nodes[::20])]
    engine = SimulatedEngine(machines, lambda work: 20.0 + work.step.process, ends, losses)
    Dispatcher([site], engine, Told(), keep).run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert site.agenda.left == 0
    assert ended >= 2 * CELLS * 0.99
    assert peak / CELLS < LIMIT_BYTES


def test_the_recipe_of_a_cluster_is_one() -> None:
    assert {node.accelerator for node in read_cluster(ROOT / "recipes" / "cluster.toml")} == {"T4", "A100", "H100"}
