"""Proofs: every check on a simulated GPU, passing and failing; a real one on this CPU; the document and its command."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch
from simulated_gpu import SimulatedGpu, job
from test_executors import NO_VECTORS
from test_nvml import HERE, library

from bench.commands import command_line
from bench.errors import AtlasError
from bench.exchange.check import check
from bench.harness import checks, proof as harness
from bench.harness.checks import Workbench
from bench.measuring import graphs
from bench.plans.messages import CellOutcome, Job, Prove, Proved
from bench.plans.profiles import QUICK
from bench.records import proof as documents
from bench.records.proof import SCHEMA, Check, Finding, Proof
from bench.records.record import Environment, Status
from bench.running.executors import WorkerExit
from bench.statistics.intervals import Estimate

__all__ = ["library"]


@pytest.fixture
def gpu() -> SimulatedGpu:
    return SimulatedGpu()


def findings(found: Check | Iterator[Check]) -> dict[str | None, Finding]:
    each = [found] if isinstance(found, Check) else list(found)
    return {one.variant: one.finding for one in each}


# ── Checks on a simulated GPU ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("second_ms", "finding"),
    [((10.0, 10.01), "passed"), ((9.0, 11.0), "unknown"), ((10.3, 10.31), "failed"), ((10.05, 10.15), "failed")],
)
def test_a_module_against_itself_differs_by_no_more_than_what_pages_call_the_same(
    gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch, second_ms: tuple[float, float], finding: Finding
) -> None:
    bench = gpu.install(monkeypatch)
    assert checks.eager_against_eager(bench).finding == "passed", "as it is measured"

    def biased(subjects: Any, *_: Any, **__: Any) -> Iterator[None]:
        subjects[0].rounds_ms[:] = [(10.0,), (10.01,)] * 20
        subjects[1].rounds_ms[:] = [(each,) for each in second_ms] * 20
        yield

    monkeypatch.setattr(checks, "sample", biased)
    assert checks.eager_against_eager(bench).finding == finding
    monkeypatch.setattr(checks, "speedup", lambda _: Estimate(1.03, math.nan, math.nan))
    assert checks.eager_against_eager(bench).finding == "unknown", "so few rounds have no interval"


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({}, "passed"),
        ({"event_scale": 1.03}, "failed"),
        ({"wait_ms": 2.0}, "failed"),
        ({"launch_ms": 30.0}, "unknown"),
    ],
)
def test_clocks_agree_unless_events_waits_or_the_host_say_otherwise(
    gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch, changes: dict[str, float], finding: Finding
) -> None:
    for name, value in changes.items():
        setattr(gpu, name, value)
    found = checks.clocks(gpu.install(monkeypatch))
    assert found.finding == finding
    assert set(found.figures) == {"blocked_ms", "queued_ms", "events_ms", "host_ms", "events_apart_share"}


def test_a_variant_that_is_slower_alone_is_found_with_the_share_of_capped_readings(
    gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert findings(checks.alone(gpu.install(monkeypatch))) == {"eager": "passed", "compiled": "passed"}
    gpu.capped_when_alone, gpu.reasons = 1.2, frozenset({"power cap"})
    gpu.before = ""
    bench = gpu.install(monkeypatch)
    bench.sampling = msgspec.structs.replace(bench.sampling, lead_calls=0, block_calls=1)
    eager, compiled = checks.alone(bench)
    assert (eager.finding, compiled.finding) == ("failed", "passed")
    assert eager.ratio is not None
    assert 1.1 < eager.ratio < 1.2
    assert eager.figures["capped_share"] == 1


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "passed"),
        ({"profiler_scale": 0.9}, "failed"),
        ({"device_ms": {"eager": (10.8,), "compiled": (5.8,)}, "profiler_scale": 1.08}, "failed"),
        ({"device_ms": {"eager": (), "compiled": ()}}, "unknown"),
        ({"profiler_scale": 0.0}, "unknown"),
    ],
)
def test_device_time_is_the_time_of_kernels_and_no_more_than_the_latency(
    gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], expected: Finding
) -> None:
    for name, value in changes.items():
        setattr(gpu, name, value)
    found = list(checks.device_time(gpu.install(monkeypatch)))
    assert {each.finding for each in found} == {expected}
    if not changes:
        assert found[0].figures["kernels_ms"] == pytest.approx(10.0), "kernels that overlap count once"


@pytest.mark.parametrize(("counts", "finding"), [((0, 3), "passed"), ((0, 0), "failed"), ((1, 3), "failed")])
def test_replays_are_those_that_the_mode_promises(
    gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int], finding: Finding
) -> None:
    bench = gpu.install(monkeypatch)
    replayed: list[Any] = []
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", replayed.append)
    original = torch.cuda.CUDAGraph.replay

    class Variants:
        def __init__(self, job: Job) -> None:
            graphs = counts[job.cell.compile_mode == "reduce-overhead"]
            self.compiled = SimpleNamespace(call=lambda _: self.replay(graphs))

        def replay(self, graphs: int) -> None:
            for _ in range(graphs):
                torch.cuda.CUDAGraph.replay(self)  # type: ignore[arg-type]

        def warm_up_compiled(self) -> None: ...

        compile = release_compiled = warm_up_compiled

    monkeypatch.setattr(checks, "Variants", Variants)
    found = checks.replays(bench)
    assert found.finding == finding
    assert found.figures == {"default_replays": counts[0], "reduce_overhead_replays": counts[1]}
    assert torch.cuda.CUDAGraph.replay is original
    assert len(replayed) == sum(counts), "they are counted and still done"


@pytest.mark.parametrize(("slower", "finding"), [(1.0, "passed"), (1.2, "failed")])
def test_what_was_compiled_before_its_turn_is_compared_with_what_was_compiled_in_it(
    gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch, slower: float, finding: Finding
) -> None:
    bench = gpu.install(monkeypatch)
    monkeypatch.setattr(bench, "in_mode", lambda _: gpu.variants)
    done: list[str] = []
    caches: set[str] = set()
    monkeypatch.setattr(graphs, "use_caches", lambda variables: caches.add(str(variables)))

    def compiled(how: str, factor: float) -> None:
        done.append(how)
        gpu.kernel_ms = {"eager": 10.0, "compiled": 5.0 * factor}

    gpu.variants.compile = lambda: None if done[-1:] == ["ahead"] else compiled("in turn", 1.0)
    gpu.variants.compile_ahead = lambda _: compiled("ahead", slower)
    gpu.variants.release_compiled = lambda: done.append("released")
    gpu.variants.warm_up_compiled = lambda: None
    found = checks.compiled_ahead(bench)
    assert done[::2] == ["released"] * len(done[::2])
    assert all({*done[turn : turn + 4]} == {"released", "in turn", "ahead"} for turn in range(0, len(done), 4))
    assert len(done) == 4 * checks.FEWEST_TURNS
    assert len(caches) == len(done) / 2, "kernels are chosen each time"
    assert found.finding == finding
    assert found.ratio == pytest.approx(1 / slower, rel=0.03)


@pytest.mark.parametrize(("scale", "finding"), [(1.0, "passed"), (1.1, "passed"), (1.5, "failed"), (0.0, "unknown")])
def test_energy_is_power_times_time(
    gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch, scale: float, finding: Finding
) -> None:
    gpu.power_scale = scale
    assert checks.energy(gpu.install(monkeypatch)).finding == finding


def test_energy_is_unknown_where_a_container_hides_the_counter(
    gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.unreadable.add("energy")
    found = checks.energy(gpu.install(monkeypatch))
    assert (found.finding, found.reason) == ("unknown", "no_counter")


# ── The power limit ─────────────────────────────────────────────────────────────────────────────────────────────────


FAST = "22222222-aaaa-bbbb-cccc-000000000000"
LOWERED, RESTORED = "1 100000", "1 250000"


@pytest.fixture
def limits(library: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[str]]:
    """A driver that lets limits be set; returns those that were."""
    log = tmp_path / "limits"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    monkeypatch.setenv("NVML_TRANSCRIPT", str(HERE / "bare_metal.txt"))
    monkeypatch.setenv("NVML_LIMITS", str(log))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(uuid=FAST))
    return lambda: log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize(
    ("reasons", "watts", "finding"), [({"power cap"}, 100.0, "passed"), ((), 100.0, "failed"), ((), 60.0, "unknown")]
)
def test_a_round_at_a_lowered_limit_is_seen_and_the_limit_restored(
    gpu: SimulatedGpu,
    limits: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    reasons: Any,
    watts: float,
    finding: Finding,
) -> None:
    gpu.reasons, gpu.watts = frozenset(reasons), watts
    bench = gpu.install(monkeypatch)
    assert checks.throttling(bench).finding == "not_applicable"
    assert limits() == [], "nobody asked for it"
    bench.may_lower_power = True
    found = checks.throttling(bench)
    assert (found.finding, found.figures["limit_w"]) == (finding, 100.0)
    assert limits() == [LOWERED, RESTORED]


def test_a_limit_that_may_not_be_set_is_no_fault(
    gpu: SimulatedGpu, limits: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NVML_LIMITS")
    bench = gpu.install(monkeypatch)
    bench.may_lower_power = True
    found = checks.throttling(bench)
    assert found.finding == "not_applicable"
    assert "Insufficient Permissions" in (found.told or "")
    assert not limits()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_limit_is_restored_however_the_process_ends(limits: Callable[[], list[str]], number: int) -> None:
    code = f"""
import time
from bench.harness.power_limit import lowered
with lowered("GPU-{FAST}"):
    print("lowered", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"lowered\n"
        assert limits() == [LOWERED]
        os.killpg(process.pid, number)
    for _ in range(500):
        if len(limits()) == 2:
            break
        time.sleep(0.02)
    assert limits() == [LOWERED, RESTORED]


# ── A worker, and memory ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_check_that_fails_leaves_the_others(gpu: SimulatedGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Workbench) -> Check:
        raise RuntimeError("no kernel in /home/ann/x.py")

    monkeypatch.setattr(checks, "IN_ORDER", {"clocks": broken, "energy": checks.energy})
    sent: list[Any] = []
    done = checks.answer(Prove(job=job("cpu"), checks=("clocks",)), sent.append)
    assert isinstance(done, Proved)
    [found] = done.checks
    assert (found.finding, found.told) == ("failed", "RuntimeError: no kernel in x.py")
    assert sent[-1] == done


class Dying:
    """A worker that dies in the check `clocks`."""

    def run(self, request: Any, **_: Any) -> WorkerExit:
        made: list[Check] = []
        for name in request.checks:
            if name == "clocks":
                return WorkerExit(3.0, answer=Proved(checks=tuple(made)) if made else None, returncode=-11)
            made.append(Check(name=name, finding="passed"))
        return WorkerExit(3.0, answer=Proved(checks=tuple(made)), returncode=0)


def test_a_check_that_ends_its_process_has_failed_and_the_rest_is_made() -> None:
    request = Prove(job=job("cpu"), checks=harness.MADE_BY_CHECKER)
    made = list(harness._made(Dying(), request, {}, lambda _: None))
    assert [each.name for each in made] == list(harness.MADE_BY_CHECKER)
    [failed] = [each for each in made if each.finding == "failed"]
    assert (failed.name, failed.told) == ("clocks", "the process was ended by SIGSEGV after 3 s")
    assert set(harness.MADE_BY_CHECKER) == set(checks.IN_ORDER)
    assert set(harness.REMEDIES) == {*checks.IN_ORDER, "out_of_memory"}


MEASURED = [Check(name="clocks", finding="passed", ratio=1.0)]


@pytest.mark.parametrize(
    ("ended", "others", "finding"),
    [
        (CellOutcome(status=Status.EAGER_OOM, reason="x"), MEASURED, "passed"),
        (CellOutcome(status=Status.EAGER_OOM, reason="x"), [], "failed"),
        (CellOutcome(status=Status.CRASH, reason="x"), MEASURED, "failed"),
        (CellOutcome(status=Status.SKIPPED, reason="x"), MEASURED, "not_applicable"),
        ("the process was ended by SIGKILL", MEASURED, "failed"),
    ],
)
def test_a_lack_of_memory_must_be_told_and_survived(ended: object, others: list[Check], finding: Finding) -> None:
    assert harness._memory(ended, others).finding == finding


def test_a_gpu_keeps_too_little_memory_for_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    free = 5 * checks.MARGIN_BYTES + 1
    held: list[Any] = []
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free - len(held) * checks.MARGIN_BYTES, free))
    monkeypatch.setattr(torch, "empty", lambda size, **_: held.append(size))
    outcome = CellOutcome(status=Status.EAGER_OOM, reason="x")
    monkeypatch.setattr("bench.measuring.trial.run", lambda *_: outcome)
    assert checks.answer(job("cuda"), lambda _: None) is outcome
    assert len(held) == 4
    assert free - sum(held) < 2 * checks.MARGIN_BYTES
    assert harness.SCARCE_BYTES >= 2 * checks.MARGIN_BYTES, "a batch of the job alone has no room"


def test_a_proof_on_this_cpu_makes_every_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in NO_VECTORS.items():  # compiling takes half the time
        monkeypatch.setenv(variable, value)
    profile = msgspec.structs.replace(QUICK, sampling=msgspec.structs.replace(job("cpu").sampling, max_s=0.5))
    told: list[str] = []
    found = harness.prove("cpu", command="c", tell=told.append, shrunken=True, profile=profile)
    made = {each.name: each for each in found.checks}
    assert set(made) == {*checks.IN_ORDER, "out_of_memory"}
    assert made["out_of_memory"].finding == ("passed" if sys.platform == "linux" else "not_applicable")
    for name in ("device_time", "energy", "replays", "throttling"):
        assert made[name].finding == "not_applicable", made[name]
    for each in (
        each for each in found.checks if each.name in ("eager_against_eager", "clocks", "alone", "compiled_ahead")
    ):
        assert each.ratio, each  # what it is depends on what else runs here
    assert [each.variant for each in found.checks if each.name == "alone"] == ["eager", "compiled"]
    documents.write(found, tmp_path / "proofs")
    assert not list(check([tmp_path]))


# ── The document and the command ────────────────────────────────────────────────────────────────────────────────────


def proof(*made: Check, device: str = "cpu", day: int = 2, **changes: Any) -> Proof:
    plain = Proof(
        schema=SCHEMA,
        taken_at=datetime(2026, 1, day, tzinfo=UTC),
        environment=Environment(device_name=f"Some {device}", torch="2.13.0+cpu", commit="abc"),
        command="python -m bench prove",
        device=device,
        model="ResNet",
        checks=made or (*MEASURED, Check(name="energy", finding="not_applicable", reason="no_counter", told="a CPU")),
    )
    return msgspec.structs.replace(plain, **changes)


def test_the_newest_proof_of_each_device_is_read_back(tmp_path: Path) -> None:
    old, new, other = proof(day=1), proof(day=2), proof(device="cuda", day=1)
    paths = [documents.write(each, tmp_path / "proofs") for each in (new, old, other)]
    assert paths[0].name == "2026-01-02_some-cpu_abc.json"
    assert documents.newest_of_each_device(tmp_path) == (other, new)
    assert documents.newest_of_each_device(tmp_path / "nowhere") == ()
    assert not list(check([tmp_path]))


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('"told": "a CPU"', '"told": "in /home/ann/x.py"', "folder"),
        ('"told": "a CPU"', f'"told": "{"x" * 5000}"', "length"),
        (', "reason": "no_counter"', "", "no reason"),
        ('"reason": "no_counter"', '"reason": "because"', "because"),
        ('"reason": "no_counter"', '"reason": "other_replays"', "default_replays"),
        ('"reason": "no_counter"', '"reason": "figures_apart"', "without a bound"),
        ('"ratio": 1.0', '"ratio": -1.0', ">"),
        ('"ratio": 1.0', '"ratio": 1.0, "low": 2.0', "does not hold"),
        ('"name": "energy"', '"name": "clocks"', "twice"),
        ('"finding": "passed"', '"finding": "great"', "great"),
        ('"device": "cpu"', '"device": "cpu", "host": "x"', "host"),
        ('"schema": 1', '"schema": 7', "schema version 7"),
    ],
)
def test_a_document_is_checked(tmp_path: Path, before: str, after: str, problem: str) -> None:
    path = documents.write(proof(), tmp_path / "proofs")
    text = json.dumps(json.loads(path.read_bytes()))
    assert before in text
    path.write_text(text.replace(before, after))
    [found] = check([path])
    assert problem in found.what
    assert found.remedy


def test_the_command_writes_the_document_and_tells_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [*MEASURED, Check(name="energy", finding="failed", reason="exception", told="no <counter>")]
    monkeypatch.setattr(harness, "prove", lambda *_, command, **__: proof(*made, command=command))
    with pytest.raises(SystemExit) as ended:
        command_line.main(["prove", "--device", "cpu", "--out", str(tmp_path / "proofs")])
    assert ended.value.code == 1
    [path] = (tmp_path / "proofs").iterdir()
    assert documents.read(path).command == "python -m bench prove --device cpu", "without a folder"
    out = capsys.readouterr().out
    assert "energy: exception (no <counter>)\n  remedy: do not quote energy figures" in out
    monkeypatch.setattr(harness, "prove", lambda *_, command, **__: proof(command=command))
    with pytest.raises(SystemExit) as ended:
        command_line.main(["prove", "--out", str(tmp_path / "proofs")])
    assert ended.value.code == 0


def test_a_device_that_is_not_there_is_refused() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(AtlasError, match="no cuda device"):
        harness.prove("cuda", command="c", tell=print)
