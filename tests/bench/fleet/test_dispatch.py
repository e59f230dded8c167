"""Fleets: no cell is lost or duplicated, whatever dies. The engine is simulated; test_ray_engine.py uses Ray."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, strategies as st
from stub_worker import ENVIRONMENT
from test_sweep import plan, record

from bench.exchange.check import check
from bench.fleet.cluster import CPU, CellTask, Node, Reply
from bench.fleet.dispatch import Dispatcher, Site, measure_on
from bench.fleet.simulation import PASSED, SilentReporter, SimulatedEngine
from bench.plans.duration import DurationEstimates
from bench.plans.messages import CellOutcome, Machine, Preflight
from bench.plans.plan import Plan, pending
from bench.records.record import Record, Status
from bench.records.run_file import append, read
from bench.running import sweep
from bench.running.executors import WorkerExit
from bench.running.resume import RunFile, find_run

MACHINE = Machine(device="cpu", environment=ENVIRONMENT)
A, B, C = (Node(name, 2) for name in ("node-a", "node-b", "node-c"))
CRASHED = WorkerExit(seconds=1.0, returncode=-11)


class Told(SilentReporter):
    """Keeps the lines of the log."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def log(self, text: str) -> None:
        self.words.append(text)


def site_of(made: Plan, *nodes: Node, run_file: RunFile | None = None) -> Site:
    machines = dict.fromkeys(nodes, MACHINE)
    return Site(CPU, made, run_file or RunFile(Path("run.jsonl")), DurationEstimates(made.profile), MACHINE, machines)


def measured(
    made: Plan,
    *nodes: Node,
    ends: Callable[[CellTask, float], WorkerExit] = lambda _, seconds: WorkerExit(seconds=seconds, answer=PASSED),
    losses: tuple[tuple[float, Node], ...] = (),
    deadline: float = float("inf"),
    seconds: float = 5.0,
) -> tuple[list[Record], list[str]]:
    """Return all records and the lines of the log."""
    engine = SimulatedEngine(dict.fromkeys(nodes, MACHINE), lambda _: seconds, ends, losses)
    records: list[Record] = []
    told = Told()
    fleet = Dispatcher(
        [site_of(made, *nodes)], engine, told, lambda _, record: records.append(record), deadline=deadline
    )
    fleet.run()
    return records, told.words


def counts(records: list[Record]) -> Counter[tuple[str, int]]:
    return Counter((each.cell.model, each.process) for each in records)


ALL_OF_TWO = {(model, process): 1 for model in ("ViT", "BeiT") for process in range(2)}


def test_a_fleet_measures_what_one_machine_would_and_names_the_node_of_each() -> None:
    made = plan("ViT", "BeiT", processes=2)
    records, told = measured(made, A, B)
    assert counts(records) == ALL_OF_TWO
    assert pending(made, records) == []
    nodes = {model: {each.node for each in records if each.cell.model == model} for model in ("ViT", "BeiT")}
    assert nodes == {"ViT": {"node-a"}, "BeiT": {"node-b"}}, "a cell stays where its compile cache is"
    assert told == []


def test_what_a_lost_node_was_at_is_measured_elsewhere() -> None:
    made = plan("ViT", "BeiT", processes=2)
    records, told = measured(made, A, B, losses=((7.0, A),))  # during the second process of ViT
    assert counts(records) == ALL_OF_TWO
    assert [each.node for each in records if each.cell.model == "ViT"] == ["node-a", "node-b"]
    assert {each.status for each in records} == {Status.PASS}
    assert "node-a is gone; remaining nodes of CPU: 1" in told


def test_a_process_that_dies_twice_is_an_outcome_once() -> None:
    def ends(work: CellTask, seconds: float) -> WorkerExit:
        return CRASHED if work.step.planned.cell.model == "ViT" else WorkerExit(seconds=seconds, answer=PASSED)

    records, told = measured(plan("ViT", "BeiT", processes=2), A, B, ends=ends)
    assert counts(records) == {("ViT", 0): 1, ("BeiT", 0): 1, ("BeiT", 1): 1}
    (vit,) = (each for each in records if each.cell.model == "ViT")
    assert (vit.status, vit.reason) == (Status.CRASH, "the process was ended by SIGSEGV (the second time)")
    assert told == ["node-a: the process was ended by SIGSEGV; ViT is measured again"]


def test_a_process_that_dies_once_leaves_no_trace_in_the_records() -> None:
    deaths = iter([CRASHED])
    records, _ = measured(
        plan("ViT", "BeiT"), A, B, ends=lambda _, seconds: next(deaths, WorkerExit(seconds=seconds, answer=PASSED))
    )
    assert {(each.cell.model, each.status, each.reason) for each in records} == {
        ("ViT", Status.PASS, None),
        ("BeiT", Status.PASS, None),
    }


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        (WorkerExit(seconds=20.0, timed_out=True), Status.TIMEOUT),
        (WorkerExit(seconds=1.0, returncode=-9, out_of_memory=True), Status.OOM),
        (WorkerExit(seconds=1.0, answer=CellOutcome(status=Status.FAIL_TO_RUN, reason="no")), Status.FAIL_TO_RUN),
    ],
)
def test_what_is_an_outcome_on_one_machine_is_one_at_once(ended: WorkerExit, status: Status) -> None:
    records, _ = measured(plan("ViT"), A, B, ends=lambda *_: ended)
    assert [each.status for each in records] == [status]


def test_when_all_nodes_are_lost_the_fleet_waits_for_a_while_and_ends() -> None:
    records, told = measured(plan("ViT", "BeiT", "DETR"), A, losses=((7.0, A),))
    assert counts(records) == {("ViT", 0): 1}
    assert "node-a is gone; remaining nodes of CPU: 0" in told


class Grows(SimulatedEngine):
    """A cluster whose other nodes join later."""

    def nodes(self) -> list[Node]:
        return [node for node in super().nodes() if node == A or self.clock() >= 30]


def test_a_node_that_comes_later_joins_if_it_is_of_the_same_kind() -> None:
    other = Machine(device="cpu", environment=msgspec.structs.replace(ENVIRONMENT, torch="2.12.0"))
    engine = Grows({A: MACHINE, B: MACHINE, C: other}, lambda _: 18.0)
    records: list[Record] = []
    told = Told()
    Dispatcher(
        [site_of(plan("ViT", "BeiT", "DETR", "ResNet"), A)], engine, told, lambda _, each: records.append(each)
    ).run()
    assert {each.node for each in records} == {"node-a", "node-b"}
    assert sorted(told.words) == ["node-b () joins", "node-c () is left out: it is a different kind of machine"]


class Deaf(SimulatedEngine):
    """An engine whose first task never answers."""

    def wait(self, timeout_s: float) -> list[tuple[object, Reply]]:
        return [(handle, reply) for handle, reply in super().wait(timeout_s) if handle != 0]


def test_no_task_is_waited_for_without_end() -> None:
    engine = Deaf(dict.fromkeys([A, B], MACHINE), lambda _: 5.0)
    records: list[Record] = []
    told = Told()
    Dispatcher([site_of(plan("ViT", "BeiT"), A, B)], engine, told, lambda _, each: records.append(each)).run()
    assert counts(records) == {("ViT", 0): 1, ("BeiT", 0): 1}
    assert told.words == ["node-a: its machine was lost; ViT is measured again"]


def test_no_process_begins_that_the_time_cannot_hold() -> None:
    records, _ = measured(plan("ViT", "BeiT", processes=2), A, seconds=20.0, deadline=65.0)
    assert len(records) == 3
    assert measured(plan("ViT"), A, deadline=1.0)[0] == []


@given(
    fates=st.lists(st.sampled_from(["pass", "pass", "crash", "oom"]), min_size=40, max_size=40),
    losses=st.lists(st.tuples(st.floats(0, 100), st.sampled_from([A, B])), max_size=2, unique_by=lambda each: each[1]),
)
@example(
    fates=["pass"] * 40, losses=[(1.9, B)]
)  # (1.9 + 10) - 1.9 is less than 10: the next refresh would never be due
def test_whatever_is_lost_no_cell_is_lost_and_none_doubled(fates: list[str], losses: list[tuple[float, Node]]) -> None:
    made, fate = FOUR, iter(fates)
    endings = {
        "pass": WorkerExit(seconds=5.0, answer=PASSED),
        "crash": CRASHED,
        "oom": WorkerExit(seconds=2.0, answer=CellOutcome(status=Status.OOM, reason="no room")),
    }
    records, _ = measured(made, A, B, C, ends=lambda *_: endings[next(fate)], losses=tuple(losses))
    assert pending(made, records) == []
    assert set(counts(records).values()) == {1}


FOUR = plan("ViT", "BeiT", "DETR", "ResNet", processes=3)


# ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sweep, "CACHE", tmp_path / "cache")


class Dies(SimulatedEngine):
    """Interrupts the driver after this many answers."""

    answers = 3

    def wait(self, timeout_s: float) -> list[tuple[object, Reply]]:
        found = super().wait(timeout_s)
        self.answers -= len(found)
        if self.answers < 0:
            raise KeyboardInterrupt
        return [*found]


def test_records_are_on_disk_as_they_come_and_the_next_run_goes_on(tmp_path: Path) -> None:
    made, found = plan("ViT", "BeiT", processes=2), RunFile(tmp_path / "run.jsonl")
    with pytest.raises(KeyboardInterrupt):
        measure_on(
            [site_of(made, A, B, run_file=found)],
            Dies(dict.fromkeys([A, B], MACHINE), lambda work: 5.0 + work.step.process),
            Told(),
            request=Preflight(),
        )
    before = list(read(found.path))
    assert 0 < len(before) < 4
    engine = SimulatedEngine(dict.fromkeys([A, B], MACHINE), lambda _: 5.0)
    measure_on([site_of(made, A, B, run_file=found)], engine, Told(), request=Preflight(), contributor="A lab")
    records = list(read(found.path))
    assert records[: len(before)] == before
    assert counts(records) == ALL_OF_TWO
    assert {each.contributor for each in records[len(before) :]} == {"A lab"}
    assert {each.run for each in records} == {"run"}
    assert list(check([found.path], atlas=tmp_path / "none")) == []


def test_failed_cells_are_measured_again_when_asked(tmp_path: Path) -> None:
    made, found = plan("ViT"), RunFile(tmp_path / "run.jsonl")
    failure = WorkerExit(seconds=1.0, answer=CellOutcome(status=Status.OOM, reason="no room"))
    for retry, ends in ((False, failure), (False, failure), (True, WorkerExit(seconds=1.0, answer=PASSED))):
        engine = SimulatedEngine({A: MACHINE}, lambda _: 5.0, lambda *_, ended=ends: ended)
        measure_on([site_of(made, A, run_file=found)], engine, Told(), request=Preflight(), retry_failed=retry)
    assert [(each.process, each.status) for each in read(found.path)] == [(0, Status.OOM), (1, Status.PASS)]


def test_a_fleet_goes_on_with_what_one_machine_began(tmp_path: Path) -> None:
    made = plan("ViT", "BeiT")
    found = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    append(found.path, [msgspec.structs.replace(record(made.planned[0], of_plan=made), run=found.name)])
    again = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    engine = SimulatedEngine({A: MACHINE}, lambda _: 5.0)
    measure_on([site_of(made, A, run_file=again)], engine, Told(), request=Preflight())
    assert [(each.cell.model, each.node) for each in read(found.path)] == [("ViT", None), ("BeiT", "node-a")]
