"""Half an hour on a GPU: how far two profiles come on a simulated clock, if an H100 takes what is assumed here.

No GPU has measured these costs yet. What runs on the host alone is taken from records of a CPU; the rest is assumed.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import ROOT
from stub_worker import measurement
from test_sweep import MACHINE, Silent

from bench.errors import Complaint
from bench.plans.duration import DurationEstimates
from bench.plans.messages import CellOutcome, Job, Recipe, Request
from bench.plans.models import find
from bench.plans.plan import Plan, duration_s, make_plan, pending
from bench.plans.profiles import ALL_MODELS, PROFILES, Profile
from bench.records.record import Compilation, Measurement, Peaks, Record, Status
from bench.records.run_file import read
from bench.running import sweep
from bench.running.executors import WorkerExit
from bench.running.preparation import AT_ONCE, COMPILE_THREADS, MOST, Expected, next_ones
from bench.running.resume import find_run
from bench.running.sweep import run

RECORDED = ROOT / "bench" / "results" / "measured" / "2026-11-22_intel-xeon-2-cores_torch-2.13.0_standard_2.jsonl"
"""Phases of compiling each model on two cores. Dynamo and AOTAutograd run on the host alone, with any device."""

CORES, RECORDED_CORES = 16, 2
PYTHON_SHARE = 0.3
"""Share of Inductor's time in Python, on one core. The rest is spent in compilers of kernels, one process a core. By
processor time, it is 0.25 to 0.47 for five models."""

INDUCTOR_S = 1.5
"""To import Inductor at the first compilation of a process: as recorded on two cores."""
BESIDE = 1.2
"""How much longer workers take that get ready together: 1.02 to 1.22 times as long for two on two cores."""
CUDA_S, FIRST_CALL_S = 3.0, 0.5
"""The libraries and the context of CUDA; and a first call, for which workers take turns with the device."""
LOOK_S, END_S = 1.0, 0.3
"""To look at the load of the machine; and to end a process and write its record."""
TRACES = 3.0
"""Time to trace other batch sizes ÷ time of Dynamo, as recorded: 3.2 for ViT, 3.1 for Segformer."""
RESOURCES_S, ENERGY_S = 0.3, 1.2
"""Of each variant: a call for the memory and ten for the time of the device; and from tick to tick of the energy."""
ACCURACY_S, WORK_S, PEAKS_S = 0.3, 0.5, 1.5
"""About as recorded for ViT on two cores: 0.0 s, 0.3 s and 1.6 s."""


@dataclass(frozen=True)
class Recorded:
    """What a model took on two cores."""

    phases_s: Mapping[str, float]  # of compiling with an empty cache
    warm_s: float  # until it is ready, with a filled one
    start_s: float  # to start Python and build the model: all that is neither compiling nor a call

    @classmethod
    def of(cls, records: Sequence[Record]) -> Recorded:
        cold, *warm = [each.measurement for each in records if each.measurement]
        assert cold.compilation
        ready = [each.compilation.warm_s for each in warm if each.compilation and each.compilation.warm_s]
        rest = [
            (record.seconds or 0.0) - _in_calls_s(found) - found.compilation.warm_s
            for record in records
            if (found := record.measurement) and found.compilation and found.compilation.warm_s
        ]
        return cls(cold.compilation.phases_s, statistics.median(ready), statistics.median(rest))


def _in_calls_s(found: Measurement) -> float:
    """Return the seconds in calls: those that were sampled, and about those that were not."""
    assert found.compiled
    variants = found.eager, found.compiled
    sampled = sum(sum(calls) for each in variants for calls in each.rounds_ms)
    medians = [statistics.median(call for calls in each.rounds_ms for call in calls) for each in variants]
    lead_and_first = (len(found.eager.rounds_ms) + 3) * sum(medians)
    return (sampled + lead_and_first + (found.warmup_calls or 0) * statistics.fmean(medians)) / 1e3


def recorded() -> dict[str, Recorded]:
    """Return what each model took."""
    records = list(read(RECORDED))
    return {name: Recorded.of([each for each in records if each.cell.model == name]) for name in ALL_MODELS}


RECORDS = recorded()


def in_python_s(job: Job) -> float:
    """Return the seconds in which Python compiles, on one core."""
    own = RECORDS[job.cell.model]
    if job.warm:
        return own.warm_s
    of_inductor = PYTHON_SHARE * own.phases_s["inductor"]
    return INDUCTOR_S + own.phases_s["dynamo"] + own.phases_s["aot_autograd"] + of_inductor


def in_compilers_s(job: Job) -> float:
    """Return the seconds of one core in which kernels are compiled."""
    in_inductor_s = RECORDS[job.cell.model].phases_s["inductor"]
    return 0.0 if job.warm else (1 - PYTHON_SHARE) * in_inductor_s * RECORDED_CORES


def _stages(job: Job, host: float) -> list[list[float]]:
    """Return the stages of getting ready: seconds of one core, and how many are used; none for a turn of the device."""
    stages = [[CUDA_S + RECORDS[job.cell.model].start_s / host, 1.0]]
    if job.ahead:
        stages += [[FIRST_CALL_S, 0.0], [in_python_s(job) / host, 1.0]]
    if job.ahead and not job.warm:
        stages.append([in_compilers_s(job) / host, float(COMPILE_THREADS["TORCHINDUCTOR_COMPILE_THREADS"])])
    return stages


def ready_s(jobs: Sequence[Job], host: float, at_once: int) -> float:
    """Return the seconds until all these workers are ready, which share the cores and take turns with the device."""
    left = [_stages(job, host) for job in jobs]
    now, active = 0.0, list[list[list[float]]]()
    while left or active:
        while left and len(active) < at_once:
            active.append(left.pop(0))
        on_host = [stages[0] for stages in active if stages[0][1]]
        on_device = [stages[0] for stages in active if not stages[0][1]][:1]
        share = min(1.0, CORES / max(1, sum(cores for _, cores in on_host))) / (BESIDE if len(active) > 1 else 1.0)
        rates = [(stage, share * stage[1]) for stage in on_host] + [(stage, 1.0) for stage in on_device]
        step = min(stage[0] / rate for stage, rate in rates)
        now += step
        for stage, rate in rates:
            stage[0] -= step * rate
        for stages in list(active):
            if stages[0][0] < 1e-9:
                del stages[0]
            if not stages:
                active.remove(stages)
    return now


def costs_s(job: Job, host: float) -> dict[str, float]:
    """Return the assumed seconds of each phase of a process that has its model, in order."""
    found = {
        "warming up eager": job.sampling.warmup_s,
        "compiling": 0.0 if job.ahead else (in_python_s(job) + in_compilers_s(job) / CORES) / host,
        "warming up": job.sampling.warmup_s,
        "measuring": 2 * job.sampling.min_s,
        "resources of eager": RESOURCES_S + ENERGY_S * (not job.warm),
        "resources of compiled": RESOURCES_S + ENERGY_S * (not job.warm),
        "accuracy": ACCURACY_S,
        "causes": WORK_S * (not job.warm) + END_S,
    }
    if job.peaks is None:
        found["peaks"] = PEAKS_S
    if job.sampling.retraces and not job.warm:
        found["other batch sizes"] = TRACES * RECORDS[job.cell.model].phases_s["dynamo"] / host
    return found


SPARE = 1.03
"""How far a time budget may be overrun. No process begins that is expected to end later, but in a small round, each
takes a larger share of the start than expected."""

PEAKS = Peaks(matmul_flop_s=5e14, copy_bytes_s=3e12)


class Gpu:
    """An executor with a clock of its own, on which each process takes what is assumed."""

    def __init__(self, host: float = 1.0, most: int = MOST, at_once: int = AT_ONCE) -> None:
        self.now, self.host, self.most, self.at_once = 0.0, host, most, at_once
        self.expected: list[Expected] = []
        self.ready: list[tuple[Job, float]] = []  # with its share of the time until its round was ready

    def expect(self, expected: Sequence[Expected]) -> None:
        """As `SideBySide.expect`."""
        left = {each.job.cell: each for each in expected}
        self.ready = [(job, share_s) for job, share_s in self.ready if left.pop(job.cell, None)]
        self.expected = list(left.values())

    def look(self) -> list[Complaint]:
        """Take the time of a look at the machine."""
        self.now += LOOK_S
        return []

    def start_s(self, job: Job) -> float:
        """Wait until the job has a worker that is ready, and return its share of that time."""
        if not any(job == each for each, _ in self.ready):
            room = self.most - len(self.ready) if self.at_once > 1 else 1
            coming = [each.job for each in next_ones(self.expected, room)]
            seconds = ready_s(coming, self.host, self.at_once)
            self.now += seconds
            self.ready += [(each, seconds / len(coming)) for each in coming]
        (own,) = (each for each in self.ready if each[0] == job)
        self.ready.remove(own)
        return own[1]

    def run(self, request: Request, *, timeout_s: float, **_: Any) -> WorkerExit:
        assert isinstance(request, Job)
        job = msgspec.structs.replace(request, peaks=None)
        start_s, costs = self.start_s(job), costs_s(request, self.host)
        seconds = sum(costs.values())
        self.now += min(seconds, timeout_s)
        if seconds > timeout_s:
            return WorkerExit(timeout_s, timed_out=True)
        found = msgspec.structs.replace(measurement(warm=job.warm), peaks=PEAKS)
        if job.ahead:
            found = msgspec.structs.replace(found, compilation=Compilation())
        outcome = CellOutcome(status=Status.PASS, measurement=found)
        return WorkerExit(start_s + seconds, outcome, {"starting": start_s, **costs})


def plan_of(profile: Profile) -> Plan:
    return make_plan(profile, [Recipe(model=name, task=find(name).task) for name in ALL_MODELS], "cuda")


STANDARD, DEPLOY = PROFILES["standard"], PROFILES["deploy"]


def measured(made: Plan, gpu: Gpu, out: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Record]:
    monkeypatch.setattr(sweep, "CACHE", out / "cache")
    found = find_run(made, MACHINE, out, is_ordinary=True)
    return run(made, MACHINE, found, gpu, Silent(), clock=lambda: gpu.now, examine=gpu.look, **options)


@pytest.mark.parametrize(
    ("profile", "host", "at_once", "limit_min"),
    [
        pytest.param(STANDARD, 1.0, AT_ONCE, 15, id="standard"),
        pytest.param(STANDARD, 1.0, 1, 18, id="standard, one worker after the other"),
        pytest.param(DEPLOY, 1.0, AT_ONCE, 30, id="deploy"),
        pytest.param(DEPLOY, 0.5, AT_ONCE, 45, id="deploy on a host half as fast"),
    ],
)
def test_how_long_a_gpu_is_needed(
    profile: Profile, host: float, at_once: int, limit_min: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, gpu = plan_of(profile), Gpu(host, at_once=at_once)
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


@pytest.mark.parametrize(("minutes", "at_batch_1", "in_all"), [(5, 9, 9), (15, 24, 36), (30, 24, 72)])
def test_whenever_a_lease_ends_the_most_useful_cells_have_been_measured(
    minutes: float, at_batch_1: int, in_all: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All models at batch size 1 come first, then their other batch sizes, and a second process last."""
    made, gpu = plan_of(DEPLOY), Gpu()
    records = measured(made, gpu, tmp_path, monkeypatch, deadline=60.0 * minutes)
    assert gpu.now <= 60 * minutes * SPARE
    assert len({record.cell for record in records}) >= in_all
    assert sum(record.cell.batch_size == 1 and not record.process for record in records) >= at_batch_1


def test_a_lease_that_ends_early_goes_on_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, gpu, records = plan_of(DEPLOY), Gpu(), list[Record]()
    while pending(made, records):
        before = len(records)
        gpu.now = 0.0
        records = measured(made, gpu, tmp_path, monkeypatch, deadline=600.0)
        assert len(records) > before
        assert gpu.now <= 600.0 * SPARE
    assert len(records) == len({record.key for record in records}) == 3 * len(made.planned)
