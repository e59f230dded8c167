"""Half an hour on a GPU: how far two profiles come on a simulated clock, if an H100 takes what is assumed here.

No GPU has measured these costs yet. What runs on the host alone is taken from records of a CPU; the rest is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import ROOT
from stub_worker import measurement
from test_sweep import MACHINE, Silent

from bench.plans.duration import DurationEstimates
from bench.plans.messages import CellOutcome, Job, Recipe, Request
from bench.plans.models import find
from bench.plans.plan import Plan, duration_s, make_plan, pending
from bench.plans.profiles import ALL_MODELS, PROFILES, Profile
from bench.records.record import Cell, Peaks, Record, Status
from bench.records.run_file import read
from bench.running import sweep
from bench.running.executors import OnAnswer, WorkerExit
from bench.running.preparation import MOST, Expected
from bench.running.resume import find_run
from bench.running.sweep import run

RECORDED = ROOT / "bench" / "results" / "measured" / "2026-11-22_intel-xeon-2-cores_torch-2.13.0_standard_2.jsonl"
"""Phases of compiling each model on two cores. Dynamo and AOTAutograd run on the host alone, with any device."""

CORES, RECORDED_CORES = 16, 2
PYTHON_SHARE = 0.3
"""Share of Inductor's time in Python, on one core. The rest is spent in compilers of kernels, one process a core. On
two cores, ViT took 12 s of CPU time in Python, a third of it in Inductor, and ten times as long in all."""

IMPORT_S, INDUCTOR_S = 4.0, 1.5
"""Python with torch, and Inductor at the first compilation of a process: as recorded on two cores."""
BESIDE = 1.5
"""How much longer workers take that are prepared side by side on different cores: they share disk and memory."""
CUDA_S = 3.0
"""The libraries and the context of CUDA."""
BUILD_S, BUILD_S_PER_PARAMETER = 0.5, 3.0 / 87e6
"""Images, and random weights, which the host draws: as recorded, 3 s for ViT."""
TRACES = 3.0
"""Time to trace other batch sizes ÷ time of Dynamo, as recorded: 3.2 for ViT, 3.1 for Segformer."""
RESOURCES_S, ENERGY_S = 0.3, 1.2
"""Of each variant: a call for the memory and ten for the time of the device; and from tick to tick of the energy."""
ACCURACY_S, WORK_S, PEAKS_S = 0.3, 0.5, 1.5
"""About as recorded for ViT on two cores: 0.0 s, 0.3 s and 1.6 s."""


def models() -> Iterator[tuple[str, dict[str, float], float]]:
    """Yield each model, its phases of compiling with an empty cache, and its time to ready with a filled one."""
    records = [record for record in read(RECORDED) if record.measurement]
    for model in ALL_MODELS:
        found = [each.measurement.compilation for each in records if each.cell.model == model and each.measurement]
        cold, *warm = [each for each in found if each]
        yield model, dict(cold.phases_s), sorted(each.warm_s or 0.0 for each in warm)[len(warm) // 2]


PHASES = {model: (phases_s, warm_s) for model, phases_s, warm_s in models()}


def building_s(recipe: Recipe) -> float:
    return BUILD_S + BUILD_S_PER_PARAMETER * find(str(recipe.model)).parameters


def costs_s(job: Job, *, joins: bool, host: float) -> dict[str, float]:
    """Return the assumed seconds of each phase of a cell, in order, if Python is `host` times as fast as recorded."""
    phases_s, warm_s = PHASES[job.cell.model]
    in_python = phases_s["dynamo"] + phases_s["aot_autograd"] + PYTHON_SHARE * phases_s["inductor"]
    in_compilers = (1 - PYTHON_SHARE) * phases_s["inductor"] * RECORDED_CORES / CORES
    is_new_size = job.cell.compile_mode == "default"
    found = {} if joins else {"starting": IMPORT_S / host, "building": CUDA_S + building_s(job.recipe) / host}
    found |= {
        "warming up eager": job.sampling.warmup_s * is_new_size,
        "compiling": (warm_s - INDUCTOR_S if job.warm else in_python + in_compilers) / host,
        "warming up": job.sampling.warmup_s,
        "measuring": 2 * job.sampling.min_s,
        "resources of eager": RESOURCES_S + ENERGY_S * (not job.warm and is_new_size),
        "resources of compiled": RESOURCES_S + ENERGY_S * (not job.warm),
        "accuracy": ACCURACY_S,
    }
    found["compiling"] += 0.0 if joins else INDUCTOR_S / host
    if not job.warm and is_new_size:
        found["causes"] = WORK_S
    if job.peaks is None:
        found["peaks"] = PEAKS_S
    if job.sampling.retraces and not job.warm and is_new_size:
        found["other batch sizes"] = TRACES * phases_s["dynamo"] / host
    return found


PEAKS = Peaks(matmul_flop_s=5e14, copy_bytes_s=3e12)


class Gpu:
    """An executor with a clock of its own, on which each cell takes what is assumed."""

    def __init__(self, host: float = 1.0, at_once: int = MOST) -> None:
        self.now, self.host, self.at_once = 0.0, host, at_once
        self.processes: list[list[Cell]] = []
        self.expected: list[Recipe] = []
        self.ready: list[Recipe] = []

    def expect(self, expected: Sequence[Expected]) -> None:
        """As `SideBySide.expect`."""
        left, kept = [recipe for recipe, _ in expected], list[Recipe]()
        for recipe in self.ready:
            if recipe in left:
                left.remove(recipe)
                kept.append(recipe)
        self.expected, self.ready = left, kept

    def prepared_s(self, job: Job) -> dict[str, float]:
        """Return what a process takes until it has a model, as far as it is told from that of the job alone."""
        if self.at_once < 2:
            return {}
        seconds = 0.0
        if job.recipe not in self.ready:
            self.ready, self.expected = self.expected[: self.at_once], self.expected[self.at_once :]
            seconds = BESIDE / self.host * max(IMPORT_S + building_s(each) for each in self.ready)
        self.ready.remove(job.recipe)
        return {"starting": seconds, "building": CUDA_S}

    def run(self, request: Request, *, timeout_s: float, on_answer: OnAnswer | None = None, **_: Any) -> WorkerExit:
        assert isinstance(request, Job)
        assert on_answer
        self.processes.append([])
        for job in (request, *request.then):
            joins = bool(self.processes[-1])
            costs = costs_s(job, joins=joins, host=self.host) | ({} if joins else self.prepared_s(job))
            seconds = sum(costs.values())
            self.now += min(seconds, timeout_s)
            if seconds > timeout_s:
                return WorkerExit(timeout_s, timed_out=True)
            self.processes[-1].append(job.cell)
            found = msgspec.structs.replace(measurement(warm=job.warm), peaks=PEAKS)
            ended = WorkerExit(seconds, CellOutcome(status=Status.PASS, measurement=found), costs)
            if len(self.processes[-1]) <= len(request.then) and not (timeout_s := on_answer(ended)):
                return WorkerExit(0.0, returncode=-9)
        return ended


def plan_of(profile: Profile) -> Plan:
    return make_plan(profile, [Recipe(model=name, task=find(name).task) for name in ALL_MODELS], "cuda")


STANDARD, DEPLOY = PROFILES["standard"], PROFILES["deploy"]


def measured(made: Plan, gpu: Gpu, out: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Record]:
    monkeypatch.setattr(sweep, "CACHE", out / "cache")
    found = find_run(made, MACHINE, out, is_ordinary=True)
    return run(made, MACHINE, found, gpu, Silent(), clock=lambda: gpu.now, **options)


@pytest.mark.parametrize(
    ("profile", "host", "at_once", "limit_min"),
    [
        pytest.param(STANDARD, 1.0, MOST, 15, id="standard"),
        pytest.param(STANDARD, 1.0, 1, 18, id="standard, one worker after the other"),
        pytest.param(DEPLOY, 1.0, MOST, 50, id="deploy"),
        pytest.param(DEPLOY, 2.5, MOST, 30, id="deploy on a much faster host"),
    ],
)
def test_how_long_a_gpu_is_needed(
    profile: Profile, host: float, at_once: int, limit_min: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, gpu = plan_of(profile), Gpu(host, at_once)
    records = measured(made, gpu, tmp_path, monkeypatch)
    assert len(records) == len({record.key for record in records}) == 3 * len(made.planned)
    assert limit_min * 0.85 < gpu.now / 60 <= limit_min


@pytest.mark.parametrize("profile", [STANDARD, DEPLOY], ids=lambda profile: profile.name)
def test_a_dry_run_expects_what_the_phases_of_earlier_records_took(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, gpu = plan_of(profile), Gpu()
    records = measured(made, gpu, tmp_path, monkeypatch)
    steps, pace = pending(made, []), DurationEstimates.from_records(profile, records)
    assert duration_s(steps, pace) == pytest.approx(gpu.now, rel=0.1)


@pytest.mark.parametrize(("minutes", "at_batch_1", "in_all"), [(5, 10, 10), (15, 24, 30), (30, 24, 66)])
def test_whenever_a_lease_ends_the_most_useful_cells_have_been_measured(
    minutes: float, at_batch_1: int, in_all: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All models at batch size 1 come first, then their other batch sizes, and a second process last."""
    made, gpu = plan_of(DEPLOY), Gpu()
    records = measured(made, gpu, tmp_path, monkeypatch, deadline=60.0 * minutes)
    assert gpu.now <= 60 * minutes
    assert len({record.cell for record in records}) >= in_all
    assert sum(record.cell.batch_size == 1 and not record.process for record in records) >= at_batch_1


def test_a_lease_that_ends_early_goes_on_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, gpu, records = plan_of(DEPLOY), Gpu(), list[Record]()
    while pending(made, records):
        before = len(records)
        gpu.now = 0.0
        records = measured(made, gpu, tmp_path, monkeypatch, deadline=600.0)
        assert len(records) > before
        assert gpu.now <= 600.0
    assert len(records) == len({record.key for record in records}) == 3 * len(made.planned)
