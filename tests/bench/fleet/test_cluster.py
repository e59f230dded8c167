"""Clusters: missing accelerators are errors, and only machines of one kind measure into one run."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from stub_worker import ENVIRONMENT

from bench.errors import AtlasError
from bench.fleet.cluster import CPU, Node, alike, choose, reservation, survey
from bench.fleet.simulation import SimulatedEngine
from bench.plans.messages import Machine, Preflight

T4, A100 = Node("node-1", 8, 1, "T4"), Node("node-2", 96, 8, "A100")
HEAD, PLAIN = Node("node-3", 0), Node("node-4", 16)
ALL = [T4, A100, HEAD, PLAIN]


def test_each_accelerator_that_was_named_is_a_site_whatever_its_case() -> None:
    assert choose(ALL, ["a100", "T4"], None) == {"A100": [A100], "T4": [T4]}


def test_a_type_that_the_cluster_lacks_is_said_at_once() -> None:
    with pytest.raises(AtlasError, match="'H100' is not known") as error:
        choose(ALL, ["H100"], None)
    assert "1 × T4" in error.value.remedy
    with pytest.raises(AtlasError, match="no node has an accelerator: 1 × CPU"):
        choose([PLAIN], ["T4"], None)


def test_of_several_types_none_is_chosen_silently() -> None:
    with pytest.raises(AtlasError, match="several: A100, T4"):
        choose(ALL, [], None)
    assert choose([T4, PLAIN], [], None) == {"T4": [T4]}


def test_cpu_cells_have_all_cores_of_a_node_and_gpu_cells_a_whole_gpu_with_its_share() -> None:
    assert choose(ALL, [], "cpu") == {CPU: [T4, A100, PLAIN]}
    assert choose([HEAD, PLAIN], [], None) == {CPU: [PLAIN]}, "a head without cores is left to its own work"
    assert reservation(A100, CPU) == (96, 0)
    assert reservation(A100, "A100") == (12, 1)
    assert (A100.slots(CPU), A100.slots("A100")) == (1, 8)


@pytest.mark.parametrize("device", ["cuda", "xpu"])
def test_a_device_that_no_node_has_is_said_at_once(device: str) -> None:
    with pytest.raises(AtlasError, match="no node has"):
        choose([PLAIN], [], device)


def test_an_empty_cluster_is_said_to_be_empty() -> None:
    with pytest.raises(AtlasError, match="there are no nodes"):
        choose([], [], None)


# ── Surveys ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def machine(**changes: object) -> Machine:
    return Machine(device="cuda", environment=msgspec.structs.replace(ENVIRONMENT, **changes))


def looked(machines: Mapping[Node, Machine], lost: tuple[Node, ...] = ()) -> tuple[dict[Node, Machine], list[str]]:
    told: list[str] = []
    engine = SimulatedEngine(machines, lambda _: 1.0, losses=[(0.0, node) for node in lost])
    return survey(engine, {"T4": list(machines)}, Preflight(), 60.0, told.append)["T4"], told


def test_a_node_that_cannot_measure_is_left_out_and_said_so() -> None:
    nodes = {node: machine() for node in (Node("a", 1, 1, "T4"), Node("b", 1, 1, "T4", place="rack 7"))}
    lost = [node for node in nodes if node.name == "b"]
    found, told = looked(nodes, tuple(lost))
    assert [node.name for node in found] == ["a"]
    assert told == ["b (rack 7) is left out: torch cannot be used here: its machine was lost"]
    with pytest.raises(AtlasError, match="its machine was lost"):
        looked(nodes, tuple(nodes))


def test_machines_of_another_kind_are_left_out_and_the_difference_is_named() -> None:
    told: list[str] = []
    first, second, third = (Node(name, 1, 1, "T4") for name in "abc")
    machines = {first: machine(driver="535"), second: machine(), third: machine(memory_gb=15.8, commit="abc")}
    assert list(alike(machines, "T4", told.append)) == [second, third], "the last bytes of memory do not matter"
    assert told == ["a () is left out: it differs from the others in driver"]
