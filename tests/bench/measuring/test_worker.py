"""The real worker with torch: one cell from building to verdict, and its failures."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from atlas_data import measured
from simulated_stream import SimulatedStream, model
from test_executors import NO_VECTORS, job as plain_job

from bench.measuring import environment, graphs, interference, roofline, trial, worker
from bench.measuring.build import Loaded, load
from bench.measuring.interference import PROGRAMS, CpuReading
from bench.measuring.pair import Pair
from bench.plans.messages import CellOutcome, Job, Machine, Phase, Preflight, Refusal, Request
from bench.plans.profiles import KEEP_MEMORY, PROFILES, Sampling
from bench.records.record import Accuracy, Measurement, Peaks, Samples, Status, Telemetry, Work, gave_nothing
from bench.running import preflight
from bench.running.executors import LocalProcesses, WorkerExit
from bench.statistics.cells import speedup

SHORT = Sampling(max_s=0.1, min_rounds=3, min_samples=6, min_s=0.02, warmup_s=0.02, warmup_cap_s=0.1, retraces=False)
RETRACED = msgspec.structs.replace(SHORT, retraces=True)


def job(model: str = "ResNet", sampling: Sampling = SHORT) -> Job:
    return plain_job(model, sampling=sampling, shrunken=True)


def run(request: Request, cache: Path, on_phase: Callable[[Phase], None] = lambda _: None) -> WorkerExit:
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "HF_HUB_OFFLINE": "1", **NO_VECTORS}
    return LocalProcesses().run(request, variables=variables, timeout_s=200.0, on_phase=on_phase)


def test_one_cell_is_measured_in_a_process_of_its_own(request: pytest.FixtureRequest) -> None:
    # Kept between test runs, since a cold compilation is slow and tests nothing more.
    cache = request.config.cache.mkdir("inductor") if request.config.cache else None
    assert cache
    phases: list[Phase] = []
    ended = run(job("ViT", RETRACED), cache, phases.append)
    outcome = ended.answer
    assert isinstance(outcome, CellOutcome), ended
    assert outcome.status in (Status.PASS, Status.UNSTABLE), outcome.reason
    found = outcome.measurement
    assert found is not None
    assert found.compiled is not None
    assert len(found.eager.rounds_ms) == len(found.compiled.rounds_ms) >= 3
    assert 0.1 < speedup([found]).value < 10
    assert found.compilation is not None
    assert list(found.compilation.ready_s) == ["cold"]
    assert found.compilation.ready_s["cold"] > 0.1
    assert found.graphs is not None
    assert (found.graphs.graphs, found.graphs.breaks) == (1, ())
    assert found.accuracy is not None
    assert found.accuracy.max_relative_error < 1e-4
    assert found.eager.peak_memory_gb is not None
    assert 0.05 < found.eager.peak_memory_gb < 4
    assert found.eager.minor_faults_per_call is not None
    assert found.graphs.batch_size_recompiles == 1
    assert found.work is not None
    assert found.work.flop == 1_165_952
    assert found.peaks is not None
    assert found.peaks.matmul_flop_s > 1e9
    assert found.telemetry is not None
    assert found.telemetry.clock_mhz == (), "a CPU says nothing of itself"
    assert outcome.input_size == (64, 64)
    names = list(dict.fromkeys(phase.name for phase in phases))
    assert names[:5] == ["building", "warming up eager", "compiling", "warming up", "measuring"]
    figures = [f"{figure} of {variant}" for variant in ("eager", "compiled") for figure in ("resources", "device time")]
    assert names[5:] == [*figures, "graphs", "accuracy", "causes", "peaks", "other batch sizes"]
    assert list(ended.costs_s) == ["starting", *names]
    assert sum(ended.costs_s.values()) == pytest.approx(ended.seconds, abs=0.1)


SLOWDOWN = "hardware thermal slowdown"


@pytest.mark.parametrize(
    ("disturbed", "reasons", "status", "told"),
    [
        (1, {PROGRAMS: 1}, Status.PASS, None),
        (2, {PROGRAMS: 3}, Status.UNSTABLE, "other programs disturbed 2 of 4 rounds"),
        (1, {SLOWDOWN: 1}, Status.THROTTLED, "the device slowed itself down in 1 of the rounds"),
        (0, {SLOWDOWN: 9}, Status.PASS, None),  # every such round was repeated
    ],
)
def test_rounds_that_stay_disturbed_decide_the_status(
    disturbed: int, reasons: dict[str, int], status: Status, told: str | None
) -> None:
    variant = SimpleNamespace(rounds_ms=[(1.0,)] * 4, medians_ms=lambda: np.ones(4))
    variants: Any = SimpleNamespace(had_other_processes=False, eager=variant, compiled=variant, job=job())
    telemetry = Telemetry(throttle_reasons=reasons, throttled_rounds=disturbed)
    measured = Measurement(eager=Samples(), telemetry=telemetry)
    assert trial._verdict(variants, measured, Accuracy(max_relative_error=0.0), repeats=True) == (status, told)


def test_programs_that_keep_an_accelerator_waiting_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    idle, cores = CpuReading(0.0, 0.0, 0.0), 4
    others = [(1.0, 1.0 + 2.0, 1.0), (2.0, 2.0 + 5.5, 2.0)]  # two spare cores at first, then more than are spare
    readings = iter([idle, *(CpuReading(*each) for each in others)])
    monkeypatch.setattr(interference, "look", lambda: next(readings))
    monkeypatch.setattr(interference, "cores", lambda: cores)
    sensors = SimpleNamespace(read=lambda _: None, unreadable=set(), hidden=set())
    variants: Any = SimpleNamespace(sensors=sensors)
    watch = trial._watch(variants)
    assert [watch.is_disturbed(), watch.is_disturbed()] == [False, True]
    assert watch.telemetry(kept=0).throttle_reasons == {PROGRAMS: 1}


def test_peaks_that_the_latencies_beat_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = Measurement(eager=Samples(rounds_ms=((1.0,),)), work=Work(flop=1e9))  # 1e12 FLOP/s

    def with_peaks(*rates: float) -> Peaks | None:
        found = iter(rates)
        monkeypatch.setattr(
            roofline, "peaks", lambda *_: Peaks(matmul_flop_s=next(found), copy_bytes_s=1e10, page_fault_s=1e-6)
        )
        variants: Any = SimpleNamespace(job=job(), device=torch.device("cpu"))
        return trial._with_peaks(variants, fast, lambda _: None).peaks

    best = with_peaks(1e11, 5e12)
    assert best is not None
    assert best.matmul_flop_s == 5e12, "the first was disturbed"
    beaten = with_peaks(8e11, 9e11, 7e11)
    assert beaten is not None
    assert beaten.matmul_flop_s == 9e11, "an algorithm may need fewer operations than are counted"
    assert with_peaks(1e10, 1e11, 1e10) is None, "no algorithm saves so many"


def test_a_preflight_names_the_machine_and_nothing_private(tmp_path: Path) -> None:
    answer = run(Preflight(device="cpu"), tmp_path).answer
    assert isinstance(answer, Machine)
    environment = answer.environment
    assert environment.torch == torch.__version__
    assert environment.cores
    assert environment.memory_gb
    text = msgspec.json.encode(environment).decode()
    assert os.uname().nodename not in text.split('"')
    assert str(tmp_path) not in text


def test_memory_is_kept_unless_the_profile_or_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings(profile: str) -> dict[str, str]:
        found = preflight.preflight(LocalProcesses(), "cpu", (), PROFILES[profile]).environment.settings
        return {name: value for name, value in found.items() if name in KEEP_MEMORY}

    for name in KEEP_MEMORY:
        monkeypatch.delenv(name, raising=False)
    assert settings("standard") == KEEP_MEMORY
    assert settings("paper-2023") == {}
    trim = "MALLOC_TRIM_THRESHOLD_"
    monkeypatch.setenv(trim, "131072")
    assert settings("standard") == {**KEEP_MEMORY, trim: "131072"}


def test_a_missing_device_is_refused_with_what_is_there() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    answer = worker._answer(Preflight(device="cuda"), lambda _: None)
    assert isinstance(answer, Refusal)
    assert "no cuda device" in answer.what
    assert "cpu" in answer.remedy


# ── Failures inside a trial, in this process: graphs are captured, and no code is generated ─────────────────────────


_compile = torch.compile


def captured(module: torch.nn.Module, backend: Any = "eager", **_: Any) -> Any:
    """Compile without a compiler: Dynamo captures graphs, and runs them as they are."""
    return _compile(module, backend=backend)


@pytest.fixture(autouse=True)
def _known_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the peaks, which take as long to measure as everything else."""
    monkeypatch.setattr(roofline, "peaks", lambda *_: Peaks(matmul_flop_s=1e11, copy_bytes_s=1e10))


@pytest.fixture
def failing_compile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    def install(error: Exception) -> None:
        def compile_(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(torch, "compile", compile_)

    return install


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), Status.OOM),
        (torch.OutOfMemoryError("CUDA out of memory."), Status.OOM),
        (MemoryError(), Status.OOM),
        (RuntimeError("no kernel for /home/ann/x.py"), Status.FAIL_TO_RUN),
        (RuntimeError("InvalidCxxCompiler: No working C++ compiler found in /home/ann/x.py"), Status.SKIPPED),
        (RuntimeError("Failed to find C compiler. Please specify via CC environment variable"), Status.SKIPPED),
    ],
)
def test_a_compilation_that_fails_leaves_the_latency_of_eager(
    failing_compile: Callable[[Exception], None], error: Exception, status: Status
) -> None:
    failing_compile(error)
    outcome = trial.run(job(), lambda _: None)
    assert outcome.status is status
    assert outcome.reason is not None
    assert "/home" not in outcome.reason
    assert outcome.measurement is not None
    assert outcome.measurement.compiled is None
    assert len(outcome.measurement.eager.rounds_ms) >= 3
    assert (status is Status.SKIPPED) == ("apt install g++" in outcome.reason)


def test_a_compiled_model_that_fits_only_alone_has_its_latency_and_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ["what eager leaves in the allocator"]
    release = Pair.release_compiled

    def released(variants: Pair) -> None:
        release(variants)
        kept.clear()

    def compile_(module: torch.nn.Module, **_: Any) -> Any:
        compiled = captured(module)
        return lambda **inputs: out_of_memory() if kept else compiled(**inputs)

    monkeypatch.setattr(Pair, "release_compiled", released)
    monkeypatch.setattr(torch, "compile", compile_)
    outcome = trial.run(job(), lambda _: None)
    assert outcome.status is Status.OOM
    assert str(outcome.reason).startswith(
        "compiled ran out of memory beside eager, and ran alone: OutOfMemoryError: CUDA out of memory"
    )
    found = outcome.measurement
    assert found is not None
    assert found.compiled is not None
    assert min(len(found.eager.rounds_ms), len(found.compiled.rounds_ms)) >= 3
    assert gave_nothing(measured(status=Status.OOM, reason=outcome.reason, figures=found))


def test_the_time_to_ready_includes_importing_inductor_also_where_a_reset_does_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch, "compile", captured)
    variants = Pair(job())
    monkeypatch.setattr(graphs, "reset", lambda: time.sleep(0.2))
    took = variants.compile()
    assert took is not None
    assert took[0] >= 200


def test_without_a_compiler_eager_is_measured_and_compiling_is_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    ended = run(job(), tmp_path)
    assert isinstance(ended.answer, CellOutcome)
    assert ended.answer.status is Status.SKIPPED
    assert ended.answer.measurement is not None
    assert ended.answer.measurement.compiled is None


def test_a_model_that_does_not_fit_in_eager_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("bench.measuring.variants.load", too_large)
    outcome = trial.run(job(), lambda _: None)
    assert (outcome.status, outcome.measurement) == (Status.EAGER_OOM, None)


def test_a_compiled_model_that_computes_something_else_fails_with_its_latencies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compile_(module: torch.nn.Module, **_: Any) -> Callable[..., Any]:
        compiled = captured(module)

        def wrong(**inputs: Any) -> Any:
            output = compiled(**inputs)
            output.logits = output.logits * 1.1
            return output

        return wrong

    monkeypatch.setattr(torch, "compile", compile_)
    outcome = trial.run(job(), lambda _: None)
    assert outcome.status is Status.FAIL_ACCURACY
    assert outcome.measurement is not None
    assert outcome.measurement.compiled is not None
    accuracy = outcome.measurement.accuracy
    assert accuracy is not None
    assert accuracy.max_relative_error == pytest.approx(0.1, rel=0.01)
    assert accuracy.reference_dtype == "float64"
    assert accuracy.rmse_compiled == pytest.approx(0.1, rel=0.01)
    assert accuracy.rmse_eager is not None
    assert accuracy.rmse_eager < 1e-5


@pytest.mark.parametrize("allow_busy", [False, True])
def test_a_device_that_others_use_is_left_alone_or_called_unstable(
    monkeypatch: pytest.MonkeyPatch, *, allow_busy: bool
) -> None:
    def find_other_processes(variants: Pair) -> bool:
        variants.had_other_processes = True
        return True

    monkeypatch.setattr(Pair, "find_other_processes", find_other_processes)
    monkeypatch.setattr(torch, "compile", captured)
    outcome = trial.run(msgspec.structs.replace(job(), allow_busy=allow_busy), lambda _: None)
    assert outcome.status is (Status.UNSTABLE if allow_busy else Status.SKIPPED)
    assert outcome.reason == "another process was computing on the device"
    assert (outcome.measurement is not None) is allow_busy


def test_peaks_of_the_run_are_not_measured_again_unless_latencies_beat_them(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Peaks(matmul_flop_s=2e13, copy_bytes_s=1e10)
    monkeypatch.setattr(roofline, "peaks", lambda *_: measured)
    fast = Measurement(eager=Samples(rounds_ms=((1.0,),)), work=Work(flop=1e9))  # 1e12 FLOP/s

    def with_peaks(known: Peaks) -> tuple[Peaks | None, int]:
        sent: list[Any] = []
        known_job = msgspec.structs.replace(job(), peaks=known)
        variants: Any = SimpleNamespace(job=known_job, device=torch.device("cpu"))
        return trial._with_peaks(variants, fast, sent.append).peaks, len(sent)

    known = Peaks(matmul_flop_s=1e13, copy_bytes_s=2e10)
    assert with_peaks(known) == (known, 0)
    slow = Peaks(matmul_flop_s=1e11, copy_bytes_s=2e10)
    assert with_peaks(slow) == (Peaks(matmul_flop_s=2e13, copy_bytes_s=2e10), 1)


def test_what_only_explains_a_result_does_not_cost_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(torch, "compile", captured)
    monkeypatch.setattr(roofline, "peaks", fails)
    monkeypatch.setattr(roofline, "work", fails)
    monkeypatch.setattr(graphs, "batch_size_recompiles", lambda *_: time.sleep(60))
    monkeypatch.setattr(trial, "RETRACE_CAP_S", 0.1)
    outcome = trial.run(job(sampling=RETRACED), lambda _: None)
    assert outcome.status in (Status.PASS, Status.UNSTABLE)
    found = outcome.measurement
    assert found is not None
    assert found.graphs is not None
    assert (found.work, found.peaks, found.graphs.batch_size_recompiles) == (None, None, None)


def skip_all(_graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> Any:
    """Skip each frame, as Inductor does for bfloat16 on a T4."""
    raise torch._dynamo.exc.SkipFrame("BF16 is not supported")


def skip_images(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
    """Skip the frames that compute with images, and compile what else they call."""
    return skip_all(graph, inputs) if any(each.ndim == 4 for each in inputs) else graph.forward


@pytest.mark.parametrize("backend", [skip_all, skip_images])
def test_a_model_that_a_backend_leaves_in_eager_mode_did_not_compile(
    monkeypatch: pytest.MonkeyPatch, backend: Any
) -> None:
    monkeypatch.setattr(torch, "compile", lambda module, **_: captured(module, backend))
    outcome = trial.run(job(), lambda _: None)
    assert outcome.status is Status.FAIL_TO_RUN
    assert outcome.reason is not None
    assert "the backend skipped" in outcome.reason
    assert outcome.measurement is not None
    assert outcome.measurement.compiled is None
    assert len(outcome.measurement.eager.rounds_ms) >= 3


def test_nothing_is_compiled_where_the_environment_forbids_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_COMPILE_DISABLE", "1")
    ended = run(job(), tmp_path)
    assert isinstance(ended.answer, CellOutcome), ended
    assert ended.answer.status is Status.FAIL_TO_RUN
    assert ended.answer.reason is not None
    assert "TORCH_COMPILE_DISABLE" in ended.answer.reason
    assert ended.answer.measurement is not None
    assert ended.answer.measurement.compiled is None


def out_of_memory(*_: Any, **__: Any) -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory. See /home/ann/x.py")


@pytest.mark.parametrize(
    ("where", "name", "told"),
    [
        ("bench.measuring.variants.PeakMemory.__enter__", "resources of eager", {"resources of compiled"}),
        ("bench.measuring.variants.Pair.with_device_time", "device time of eager", {"device time of compiled"}),
        ("bench.measuring.graphs.inspect", "graphs", set()),
        ("bench.measuring.accuracy.compare", "accuracy", set()),
        ("bench.measuring.trial._with_causes", "causes", set()),
    ],
)
def test_an_error_after_sampling_costs_no_samples(
    monkeypatch: pytest.MonkeyPatch, where: str, name: str, told: set[str]
) -> None:
    monkeypatch.setattr(torch, "compile", captured)
    monkeypatch.setattr(graphs, "batch_size_recompiles", lambda *_: 0)
    monkeypatch.setattr(where, out_of_memory)
    outcome = trial.run(job(), lambda _: None)
    found = outcome.measurement
    assert found is not None
    assert found.compiled is not None
    assert len(found.eager.rounds_ms) == len(found.compiled.rounds_ms) >= 3
    assert found.failures.keys() == {name} | told
    assert found.failures[name].startswith("OutOfMemoryError: CUDA out of memory")
    assert "/home" not in found.failures[name]
    if name == "accuracy":
        assert outcome.status is Status.FAIL_ACCURACY
        assert "could not be compared" in str(outcome.reason)
    else:
        assert outcome.status in (Status.PASS, Status.UNSTABLE)


def test_an_eager_model_that_does_not_repeat_itself_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(*args: Any, **options: Any) -> Loaded:
        loaded = load(*args, **options)
        loaded.module.register_forward_hook(
            lambda _m, _i, output: output.__class__(logits=output.logits + 1e-9 * torch.rand(1))
        )
        return loaded

    monkeypatch.setattr(torch, "compile", captured)
    monkeypatch.setattr("bench.measuring.variants.load", noisy)
    outcome = trial.run(job(), lambda _: None)
    assert outcome.status is Status.EAGER_TWO_RUNS_DIFFER
    assert outcome.measurement is not None


# ── What only a GPU does, with one that is made up ──────────────────────────────────────────────────────────────────


def test_the_time_of_a_cuda_device_is_that_of_the_kernels_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    variants, stream = Pair(job()), SimulatedStream()
    call = model(stream, [0.5, 1.5], host_ms=2.0)
    monkeypatch.setattr(variants.loaded.module, "forward", lambda **_: call(0))
    variants.eager.rounds_ms.append((stream.latency_ms(call),))
    assert variants.with_device_time(variants.eager, None).device_ms == (), "a CPU is no device"
    monkeypatch.setattr(variants, "device", torch.device("cuda"))
    monkeypatch.setattr(torch.version, "hip", None)
    stream.install(monkeypatch)
    found = variants.with_device_time(variants.eager, None)
    assert found.device_ms == pytest.approx([2.0] * 10, abs=0.001)
    monkeypatch.setattr(variants, "device", torch.device("xpu"))
    assert variants.with_device_time(variants.eager, None).device_ms == (), "nothing holds it back"


@pytest.mark.parametrize(("parts", "skips"), [(3, 0), (1, 0), (0, 1)])
def test_a_mode_that_promises_cuda_graphs_is_held_to_it(
    monkeypatch: pytest.MonkeyPatch, parts: int, skips: int
) -> None:
    class CudaGraph:
        def replay(self) -> None:
            pass

    def replaying(module: torch.nn.Module, **_: Any) -> Any:
        compiled, recorded = captured(module), [CudaGraph() for _ in range(parts)]

        def call(**inputs: Any) -> Any:
            for graph in recorded:
                graph.replay()
            return compiled(**inputs)

        return call

    monkeypatch.setattr(torch, "compile", replaying)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", CudaGraph)
    variants = Pair(job())
    variants.compile()
    found = variants.inspect_graphs()
    assert (found.replays, found.cudagraph_skips) == (None, ()), "on a CPU, no mode promises any"
    monkeypatch.setattr(variants, "_replays", True)
    variants.compile()
    found = variants.inspect_graphs()
    assert (found.replays, len(found.cudagraph_skips)) == (parts, skips)


class Allocator:
    """CUDA's caching allocator: memory stays reserved until the cache is emptied, and the pool of a graph for good."""

    def __init__(self) -> None:
        self.allocated = self.cached = self.pool = self.peak_allocated = self.peak_reserved = 0

    def call(self, transient: int) -> None:
        self.cached = max(self.cached, transient)
        self._note(self.allocated + transient)

    def record_graph(self, size: int) -> None:
        self.pool += size
        self._note(self.allocated)

    def _note(self, allocated: int) -> None:
        self.peak_allocated = max(self.peak_allocated, allocated)
        self.peak_reserved = max(self.peak_reserved, self.allocated + self.cached + self.pool)

    def empty_cache(self) -> None:
        self.cached = 0

    def reset_peak_memory_stats(self, _device: torch.device) -> None:
        self.peak_allocated = self.peak_reserved = 0
        self._note(self.allocated)

    def max_memory_allocated(self, _device: torch.device) -> int:
        return self.peak_allocated

    def max_memory_reserved(self, _device: torch.device) -> int:
        return self.peak_reserved


def test_a_released_model_leaves_nothing_in_the_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    variants, allocator = Pair(job()), Allocator()
    monkeypatch.setattr(variants, "device", torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "empty_cache", allocator.empty_cache)
    allocator.call(10**9)
    gc.freeze()
    variants.release_compiled()
    assert (allocator.cached, gc.get_freeze_count()) == (0, 0)


@pytest.mark.parametrize(
    ("mode", "eager", "compiled"),
    [("default", (3.0, 8.0), (2.0, 7.0)), ("reduce-overhead", (3.0, 3.0), (None, 6.0))],
)
def test_the_memory_of_cuda_graphs_is_compared_with_what_eager_reserves_without_them(
    monkeypatch: pytest.MonkeyPatch, mode: str, eager: tuple[float, float], compiled: tuple[float | None, float]
) -> None:
    gb, allocator = 10**9, Allocator()
    allocator.allocated = gb  # weights
    variants = Pair(job())
    for name in ("empty_cache", "reset_peak_memory_stats", "max_memory_allocated", "max_memory_reserved"):
        monkeypatch.setattr(torch.accelerator, name, getattr(allocator, name))
    monkeypatch.setattr(variants, "device", torch.device("cuda"))
    monkeypatch.setattr(variants, "_replays", mode == "reduce-overhead")
    variants.eager.call = lambda _: allocator.call(2 * gb)
    variants.compiled.call = lambda _: allocator.call(0 if mode == "reduce-overhead" else gb)
    variants.note_reserved_memory()
    allocator.record_graph(5 * gb)
    found = [variants.with_resources(each, None) for each in (variants.eager, variants.compiled)]
    assert [(each.peak_memory_gb, each.peak_reserved_gb) for each in found] == [eager, compiled]


class Xpu:
    """The functions of `torch.xpu` as they behave on an Arc A770, whose driver does not tell free memory."""

    @staticmethod
    def get_device_properties(_device: torch.device) -> Any:
        return SimpleNamespace(total_memory=16_225_243_136, gpu_subslice_count=32)  # and no multi_processor_count

    @staticmethod
    def mem_get_info(_device: torch.device) -> tuple[int, int]:
        raise RuntimeError("The device doesn't support querying the available free memory.")

    @staticmethod
    def get_device_name(_device: torch.device) -> str:
        return "Intel(R) Arc(TM) A770 Graphics"


def test_a_gpu_that_does_not_tell_its_free_memory_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "xpu", Xpu)
    found = environment.describe(torch.device("xpu"))
    assert (found.device_name, found.memory_gb, found.multiprocessors) == ("Intel(R) Arc(TM) A770 Graphics", 16.2, 32)


def test_the_multiprocessors_of_a_gpu_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(total_memory=15_828_320_256, multi_processor_count=40)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Tesla T4")
    found = environment.describe(torch.device("cuda"))
    assert (found.device_name, found.memory_gb, found.multiprocessors) == ("Tesla T4", 15.8, 40)
    assert environment.describe(torch.device("cpu")).multiprocessors is None


def test_settings_of_the_environment_are_recorded_without_what_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = {
        "TORCHDYNAMO_SUPPRESS_ERRORS": "1",
        "TORCH_COMPILE_DISABLE": "1",
        "TORCHINDUCTOR_MAX_AUTOTUNE": "1",
        "TRITON_INTERPRET": "1",
        "MIOPEN_FIND_MODE": "FAST",
        "CUDA_LAUNCH_BLOCKING": "1",
    }
    private = {
        "TORCHINDUCTOR_CACHE_DIR": "/home/ann/cache",
        "TRITON_CACHE_DIR": "/home/ann",
        "TORCH_HOME": "/home/ann",
        "TORCH_TRACE": "/home/ann",
        "MIOPEN_USER_DB_PATH": "/home/ann",
        "CUDA_VISIBLE_DEVICES": "GPU-5e3d0b0c-1d5c-4f0e-9a3e-8f4c2f0a1b2c",
        "TORCHELASTIC_RUN_ID": "ann-7",
    }
    for name, value in {**recorded, **private}.items():
        monkeypatch.setenv(name, value)
    settings = environment._settings(torch.device("cpu"))
    assert settings.items() >= recorded.items()
    assert settings.keys().isdisjoint(private)


def test_what_moves_the_latency_of_a_gpu_is_recorded() -> None:
    settings = environment._settings(torch.device("cuda"))
    assert settings.keys() >= {"cuda_matmul_allow_tf32", "cudnn_allow_tf32", "cudnn_benchmark", "cudnn"}
    assert settings["float32_matmul_precision"] == "highest"
