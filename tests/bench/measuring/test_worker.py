"""The real worker with torch: one cell from building to verdict, and its failures."""

# mypy: disable-error-code="union-attr, operator, list-item"

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import msgspec
import pytest
import torch
from test_worker_process import NO_VECTORS, job as plain_job

from bench.measuring import roofline, trial
from bench.measuring.build import Loaded, load
from bench.measuring.interference import DEVICE, PROGRAMS
from bench.measuring.pair import OUTPUTS, Pair
from bench.plans.messages import CellOutcome, Job, Phase, Request
from bench.plans.profiles import KEEP_MEMORY, PROFILES, Sampling
from bench.records.record import Accuracy, Measurement, Peaks, Samples, Status, Telemetry
from bench.running.worker_process import WorkerExit, preflight, run_worker
from bench.statistics.cells import speedup

SHORT = Sampling(max_s=0.1, min_s=0.02, warmup_s=0.02, warmup_cap_s=0.1, compares_layouts=False)
WITH_LAYOUTS = msgspec.structs.replace(SHORT, compares_layouts=True)


def job(model: str = "ResNet", sampling: Sampling = SHORT) -> Job:
    return plain_job(model, sampling=sampling, shrunken=True)


def run(request: Request, cache: Path, on_phase: Callable[[Phase], None] = lambda _: None) -> WorkerExit:
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "HF_HUB_OFFLINE": "1", **NO_VECTORS}
    return run_worker(request, variables=variables, timeout_s=200.0, on_phase=on_phase)


def test_one_cell_is_measured_in_a_process_of_its_own(request: pytest.FixtureRequest) -> None:
    # Kept between test runs, since a cold compilation is slow and tests nothing more.
    cache = request.config.cache.mkdir("inductor") if request.config.cache else None
    assert cache
    phases: list[Phase] = []
    ended = run(job("ViT", WITH_LAYOUTS), cache, phases.append)
    outcome = ended.answer
    assert isinstance(outcome, CellOutcome), ended
    assert outcome.status in (Status.PASS, Status.UNSTABLE), outcome.reason
    found = outcome.measurement
    assert len(found.eager.rounds_ms) == len(found.compiled.rounds_ms) >= 3
    assert 0.1 < speedup([found]).value < 10
    assert list(found.compilation.ready_s) == ["cold"]
    assert 0.1 < found.compilation.imports_s < found.compilation.ready_s["cold"]
    assert found.others.keys() == {"eager", "compile:default", "compile:default:given-layout", "eager:channels_last"}
    assert {len(each.rounds_ms) for each in found.others.values()} == {len(found.others["eager"].rounds_ms)}
    assert (found.graphs.graphs, found.graphs.breaks) == (1, ())
    assert found.accuracy.max_relative_error < 1e-4
    assert 0.05 < found.eager.peak_memory_gb < 4
    assert found.work.flop == 1_165_952
    assert found.peaks.matmul_flop_s > 1e9
    assert found.telemetry.clock_mhz == (), "a CPU says nothing of itself"
    assert outcome.input_size == (64, 64)
    names = list(dict.fromkeys(phase.name for phase in phases))
    assert names[:5] == ["building", "warming up eager", "compiling", "warming up", "measuring"]
    figures = [f"{figure} of {variant}" for variant in ("eager", "compiled") for figure in ("resources", "device time")]
    assert names[5:] == [*figures, "graphs", "accuracy", "work", "peaks", "memory layout"]
    assert list(ended.costs_s) == ["starting", *names]
    assert sum(ended.costs_s.values()) == pytest.approx(ended.seconds, abs=0.1)


@pytest.mark.parametrize(
    ("disturbed", "status", "told"),
    [
        ({PROGRAMS: 1}, Status.PASS, None),
        ({PROGRAMS: 2}, Status.UNSTABLE, "other programs disturbed 2 of 4 rounds"),
        ({DEVICE: 1}, Status.THROTTLED, "the device slowed itself down in 1 of the rounds"),
        ({}, Status.PASS, None),  # every such round was repeated
    ],
)
def test_rounds_that_stay_disturbed_decide_the_status(
    disturbed: dict[str, int], status: Status, told: str | None
) -> None:
    pair: Any = SimpleNamespace(had_other_processes=False, job=job())
    samples = Samples(rounds_ms=((1.0,),) * 4)
    telemetry = Telemetry(throttle_reasons={"hardware thermal slowdown": 9}, repeated_rounds=9)  # and no kept round
    measured = Measurement(eager=samples, compiled=samples, telemetry=telemetry)
    errors = Accuracy(max_relative_error=0.0)
    assert trial._verdict(pair, measured, errors, disturbed, repeats=True) == (status, told)


@pytest.mark.parametrize("grad_mode", ["inference_mode", "no_grad"])
def test_both_sides_run_in_the_gradient_mode_of_the_cell(monkeypatch: pytest.MonkeyPatch, grad_mode: Any) -> None:
    seen = set()

    def watched(*args: Any, **options: Any) -> Loaded:
        loaded = load(*args, **options)
        assert not any(each.is_inference() for each in loaded.module.parameters()), "built as programs build it"
        loaded.module.register_forward_hook(
            lambda *_: seen.add((torch.compiler.is_compiling(), torch.is_inference_mode_enabled()))
        )
        return loaded

    monkeypatch.setattr(torch, "compile", captured)
    monkeypatch.setattr("bench.measuring.pair.load", watched)
    plain = job()
    in_mode = msgspec.structs.replace(plain, cell=msgspec.structs.replace(plain.cell, grad_mode=grad_mode))
    assert trial.run(in_mode, lambda _: None).status in (Status.PASS, Status.UNSTABLE)
    assert {inference for _, inference in seen} >= {grad_mode == "inference_mode"}


def test_sides_in_processes_of_their_own_are_compared_by_what_eager_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch, "compile", captured)
    eager, variant = (
        trial.run(msgspec.structs.replace(job(), role=role, folder=str(tmp_path)), lambda _: None)
        for role in ("eager", "variant")
    )
    assert eager.measurement.eager.rounds_ms
    assert eager.measurement.compiled is None
    assert variant.measurement.eager.rounds_ms == ()
    assert variant.measurement.compiled.rounds_ms
    assert variant.measurement.accuracy.max_relative_error < 1e-6


def test_outputs_that_cannot_be_compared_cost_no_latencies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch, "compile", captured)
    trial.run(msgspec.structs.replace(job(), role="eager", folder=str(tmp_path)), lambda _: None)
    left = tmp_path / OUTPUTS
    right = torch.load(left)
    for wrong in ([each * math.nan for each in right], [each[..., :1] for each in right]):
        torch.save(wrong, left)
        found = trial.run(msgspec.structs.replace(job(), role="variant", folder=str(tmp_path)), lambda _: None)
        assert found.status == Status.FAIL_ACCURACY
        assert msgspec.json.decode(msgspec.json.encode(found), type=CellOutcome).measurement.compiled.rounds_ms


def test_memory_is_kept_unless_the_profile_or_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings(profile: str) -> dict[str, str]:
        found = preflight(run_worker, "cpu", (), PROFILES[profile]).environment.settings
        return {name: value for name, value in found.items() if name in KEEP_MEMORY}

    for name in KEEP_MEMORY:
        monkeypatch.delenv(name, raising=False)
    assert settings("paper-2023") == {}
    trim = "MALLOC_TRIM_THRESHOLD_"
    monkeypatch.setenv(trim, "131072")
    assert settings("standard") == {**KEEP_MEMORY, trim: "131072"}


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
        (MemoryError(), Status.OOM),
        (RuntimeError("no kernel for /home/ann/x.py"), Status.FAIL_TO_RUN),
        (RuntimeError("InvalidCxxCompiler: No working C++ compiler found in /home/ann/x.py"), Status.SKIPPED),
    ],
)
def test_a_compilation_that_fails_leaves_the_latency_of_eager(
    failing_compile: Callable[[Exception], None], error: Exception, status: Status
) -> None:
    failing_compile(error)
    outcome = trial.run(job(), lambda _: None)
    assert outcome.status is status
    assert "/home" not in outcome.reason
    assert outcome.measurement.compiled is None
    assert len(outcome.measurement.eager.rounds_ms) >= 3
    assert (status is Status.SKIPPED) == ("apt install g++" in outcome.reason)


def test_a_model_that_does_not_fit_in_eager_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("bench.measuring.pair.load", too_large)
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
    accuracy = outcome.measurement.accuracy
    assert accuracy.max_relative_error == pytest.approx(0.1, rel=0.01)
    assert accuracy.reference_dtype == "float64"
    assert accuracy.rmse_compiled == pytest.approx(0.1, rel=0.01)
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
    assert "the backend skipped" in outcome.reason
    assert outcome.measurement.compiled is None
    assert len(outcome.measurement.eager.rounds_ms) >= 3


def test_nothing_is_compiled_where_the_environment_forbids_it() -> None:
    with torch._dynamo.config.patch(disable=True):  # as TORCH_COMPILE_DISABLE=1 does
        outcome = trial.run(job(), lambda _: None)
    assert outcome.status is Status.FAIL_TO_RUN
    assert "TORCH_COMPILE_DISABLE" in outcome.reason
    assert outcome.measurement.compiled is None


def out_of_memory(*_: Any, **__: Any) -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory. See /home/ann/x.py")


@pytest.mark.parametrize(
    ("where", "name", "told"),
    [
        ("bench.measuring.pair.PeakMemory.__enter__", "resources of eager", {"resources of compiled"}),
        ("bench.measuring.pair.Pair.with_device_time", "device time of eager", {"device time of compiled"}),
        ("bench.measuring.graphs.inspect", "graphs", set()),
        ("bench.measuring.accuracy.compare", "accuracy", set()),
        ("bench.measuring.roofline.work", "work", set()),
    ],
)
def test_an_error_after_sampling_costs_no_samples(
    monkeypatch: pytest.MonkeyPatch, where: str, name: str, told: set[str]
) -> None:
    monkeypatch.setattr(torch, "compile", captured)
    monkeypatch.setattr(where, out_of_memory)
    outcome = trial.run(job(), lambda _: None)
    found = outcome.measurement
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
    monkeypatch.setattr("bench.measuring.pair.load", noisy)
    outcome = trial.run(job(), lambda _: None)
    assert outcome.status is Status.EAGER_TWO_RUNS_DIFFER


@pytest.mark.parametrize(("parts", "skips"), [(3, 0), (0, 1)])
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
    monkeypatch.setattr(variants, "replays", True)
    variants.compile()
    found = variants.inspect_graphs()
    assert (found.replays, len(found.cudagraph_skips)) == (parts, skips)


@pytest.mark.parametrize(
    ("mode", "eager", "compiled"), [("default", (2.0, 7.0), (1.0, 6.0)), ("reduce-overhead", (2.0, 2.0), (None, 5.0))]
)
def test_peak_memory_has_one_batch_and_that_of_cuda_graphs_is_compared_with_what_eager_reserves_alone(
    monkeypatch: pytest.MonkeyPatch, mode: str, eager: tuple[float, float], compiled: tuple[float | None, float]
) -> None:
    """Three batches of 0.5 GB lie on a device, of which a program would hold one."""
    replays = mode == "reduce-overhead"
    peaks = iter([*([(3.0, 3.0)] if replays else []), (3.0, 8.0), (2.0, 6.0 if replays else 7.0)])

    class Peak:
        def __init__(self, _: torch.device) -> None:
            self.allocated_gb, self.reserved_gb = next(peaks)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr("bench.measuring.pair.PeakMemory", Peak)
    pair = Pair(job())
    monkeypatch.setattr(pair, "replays", replays)
    pair.compiled.call = lambda _: None
    pair.note_reserved_memory()
    batch = {"pixel_values": torch.empty(125_000_000, device="meta")}  # 0.5 GB
    pair.eager.call = lambda _: None
    pair.loaded = dataclasses.replace(pair.loaded, batches=(batch, batch, batch))
    found = [pair.with_resources(each, None) for each in (pair.eager, pair.compiled)]
    assert [(each.peak_memory_gb, each.peak_reserved_gb) for each in found] == [eager, compiled]
