"""Measure one cell in one process, from building the model to the verdict. Imports torch.

`run` takes a `Job` and returns a `CellOutcome`; it is the protocol. A failure keeps what was sampled before it.
"""

from __future__ import annotations

import gc
import math
import random
import threading
import time
from collections.abc import Callable, Iterable
from copy import deepcopy

import msgspec
import numpy as np
import torch

from bench.errors import attempt
from bench.measuring import accuracy, graphs, roofline
from bench.measuring.build import Inputs, Loaded
from bench.measuring.doctor import NO_COMPILER
from bench.measuring.environment import minor_faults
from bench.measuring.interference import SLOWDOWNS, RoundWatch
from bench.measuring.pair import Pair, autocast, load_job
from bench.measuring.rounds import Round, Subject, expected_rounds, sample, warm_up
from bench.measuring.sensors import DeviceWatch
from bench.plans.messages import BUILDING, PEAKS, CellOutcome, Job, Phase, Send, is_out_of_memory
from bench.records import plausibility
from bench.records.record import Accuracy, Compilation, Measurement, Peaks, Samples, Status, Work
from bench.records.scrub import one_line
from bench.statistics.cells import Cells, best_peaks
from bench.statistics.intervals import median_interval
from bench.statistics.processes import VARIANTS

UNSTABLE = 0.15
"""Half-width of the 95% interval of a latency within the process, as a share, above which the cell is unstable."""

BUSY = "another process was computing on the device"

NO_COMPILER_WORDS = (
    "InvalidCxxCompiler",  # Inductor, for a CPU
    "Failed to find C compiler",  # Triton, for a GPU
    "xcrun: error: invalid active developer path",  # macOS has a command that only tells how to install one
)
"""What an error says where there is no compiler."""

RETRACE_CAP_S = 240.0
"""Time limit to trace other batch sizes, which takes seconds for most models, and minutes for a Swin with windows that
depend on the batch."""

PEAK_TRIES = 3
"""Measurements of the peaks, at most: one takes about a second, and what disturbs it seldom lasts longer."""

REPORT_EVERY_S = 1.0
"""Time between reports of progress while sampling. Each wakes the parent."""


@torch.no_grad()
def run(job: Job, send: Send) -> CellOutcome:
    """Measure the cell of the job, and return how it ended.

    Eager runs before anything is compiled, because buffers that a model creates on its first call would cause graph
    breaks. After the timed compilation, both variants are warmed up and sampled in turn. Diagnostics come last, because
    they disturb the measurement.
    """
    send(Phase(name=BUILDING))
    size = None
    try:
        variants = Pair(job)
        size = variants.loaded.input_size
        if variants.find_other_processes() and not job.allow_busy:
            return CellOutcome(status=Status.SKIPPED, reason=BUSY, input_size=size)
        send(Phase(name="warming up eager"))
        outputs = [variants.output(variants.eager) for _ in range(2)]
        variants.note_reserved_memory()
        warm_up(variants.eager, job.sampling)
    except Exception as error:  # noqa: BLE001 - any exception of the model is the outcome of its cell
        return _failure(job, error, Status.EAGER_OOM, size)

    failed = None
    try:
        send(Phase(name="compiling"))
        first_calls_ms = variants.compile()
        outputs.append(variants.output(variants.compiled))
        if reason := graphs.left_eager():
            failed = CellOutcome(status=Status.FAIL_TO_RUN, reason=reason, input_size=size)
        else:
            send(Phase(name="warming up"))
            variants.warm_up_compiled()
            measurement = sampled(variants, (variants.eager, variants.compiled), send)
    except Exception as error:  # noqa: BLE001 - as above
        failed = _failure(job, error, Status.OOM, size)
    if failed:  # outside of `except`, where the traceback keeps the memory of the failed call alive
        return _with_what_runs(variants, failed, send)
    measurement = msgspec.structs.replace(measurement, compilation=_compilation(variants, first_calls_ms))
    measurement, errors = _examined(variants, measurement, outputs[1:], send)
    repeats = accuracy.are_identical(*outputs[:2])
    status, reason = _verdict(variants, measurement, errors, repeats=repeats)
    return CellOutcome(status=status, reason=reason, measurement=measurement, input_size=size)


def _with_what_runs(variants: Pair, failed: CellOutcome, send: Send) -> CellOutcome:
    """Return the outcome of a cell in which compiled failed, with the latencies of whatever runs alone."""
    variants.release_compiled()
    compiled = _compiled_alone(variants, send) if failed.status is Status.OOM else None
    alone = _alone(variants, variants.eager, send)
    if compiled and alone:
        reason = f"compiled ran out of memory beside eager, and ran alone: {failed.reason}"
        failed = msgspec.structs.replace(failed, reason=reason)
        alone = msgspec.structs.replace(alone, compiled=compiled)
    status = Status.FAIL_TO_RUN if failed.status is Status.SKIPPED and alone is None else failed.status
    return msgspec.structs.replace(failed, status=status, measurement=alone)


# ── Sampling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def sampled(variants: Pair, subjects: tuple[Subject, ...], send: Send) -> Measurement:
    """Sample the subjects (eager first)."""
    on_cpu = variants.device.type == "cpu"
    expected = expected_rounds(subjects, variants.job.sampling)
    gc.collect()
    gc.freeze()  # collections within a call need not traverse the objects that exist by now
    last, reported = Round(0), -math.inf
    watch = _watch(variants)
    for last in sample(
        subjects,
        variants.job.sampling,
        rng=random.Random(),
        faults=minor_faults if on_cpu else lambda: 0,
        is_disturbed=watch.is_disturbed,
    ):
        if time.monotonic() - reported >= REPORT_EVERY_S:
            reported = time.monotonic()
            send(Phase(name="measuring", done=last.number, of=max(expected, last.number)))
    variants.find_other_processes()
    samples = [
        Samples(
            rounds_ms=tuple(tuple(round(call, 6) for call in calls) for calls in subject.rounds_ms),
            minor_faults_per_call=round(subject.faults / subject.samples, 1) if on_cpu else None,
        )
        for subject in subjects
    ]
    return Measurement(
        eager=samples[0],
        compiled=samples[1] if len(samples) > 1 else None,
        warmup_calls=sum(len(subject.warmup_ms) for subject in subjects),
        stop_reason=last.stop_reason,
        telemetry=watch.telemetry(last.disturbed),
    )


def _watch(variants: Pair) -> RoundWatch:
    """Return a watch of all that may disturb a round. An accelerator waits for the thread that launches its kernels, so
    the CPU is watched as well."""
    if variants.sensors:
        return RoundWatch(1, DeviceWatch(variants.sensors))
    return RoundWatch(torch.get_num_threads())


def _alone(variants: Pair, subject: Subject, send: Send) -> Measurement | None:
    """Sample one variant alone after compiled failed, in the place of eager. Return None if it fails too."""
    subject.clear_rounds()
    try:
        return sampled(variants, (subject,), send)
    except Exception:  # noqa: BLE001 - the first failure is the one to report
        return None


def _compiled_alone(variants: Pair, send: Send) -> Samples | None:
    """Compile again with no memory kept for eager, and sample compiled alone. Return None if it fails again.

    While a CUDA graph is recorded, torch does not release what its allocator keeps for eager. A program that only calls
    the compiled model keeps nothing.
    """
    send(Phase(name="compiling"))
    try:
        variants.compile()
        variants.warm_up_compiled()
    except Exception:  # noqa: BLE001 - as above
        found = None
    else:
        found = _alone(variants, variants.compiled, send)
    variants.release_compiled()  # outside of `except`, where the traceback keeps memory alive
    return found.eager if found else None


def _compilation(variants: Pair, first_calls_ms: tuple[float, ...]) -> Compilation:
    """Return the time to ready: the first calls minus their time in steady state."""
    steady_ms = float(np.median(variants.compiled.medians_ms()))
    ready_s = round(max(0.0, sum(first_calls_ms) - len(first_calls_ms) * steady_ms) / 1e3, 3)
    is_warm = variants.job.warm
    return Compilation(ready_s={"warm" if is_warm else "cold": ready_s}, phases_s=graphs.phases_s())


# ── Diagnostics ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _examined(
    variants: Pair,
    measurement: Measurement,
    outputs: list[accuracy.Tensors],
    send: Send,
) -> tuple[Measurement, Accuracy | None]:
    """Return the measurement with memory, graphs, causes and accuracy; and the errors of compiled, if they are known.

    `outputs`: of eager and of compiled. What fails is missing, and `Measurement.failures` says why.
    """
    replace = msgspec.structs.replace
    eager, compiled = variants.eager, variants.compiled
    failures: dict[str, str] = {}
    errors: Accuracy | None = None

    def with_(name: str, change: Callable[[Measurement], Measurement]) -> None:
        nonlocal measurement
        send(Phase(name=name))
        try:
            measurement = change(measurement)
        except Exception as error:  # noqa: BLE001 - the latencies are sampled, and worth more than what explains them
            failures[name] = _told(variants.job, error)

    def with_accuracy(given: Measurement) -> Measurement:
        nonlocal errors
        errors = _accuracy(variants, *outputs)
        return replace(given, accuracy=errors) if accuracy.is_finite(errors) else given

    with_("resources of eager", lambda given: replace(given, eager=variants.with_resources(eager, given.eager)))
    with_("device time of eager", lambda given: replace(given, eager=variants.with_device_time(eager, given.eager)))
    with_(
        "resources of compiled",
        lambda given: replace(given, compiled=variants.with_resources(compiled, given.compiled)),
    )
    with_(
        "device time of compiled",
        lambda given: replace(given, compiled=variants.with_device_time(compiled, given.compiled)),
    )
    with_("graphs", lambda given: replace(given, graphs=variants.inspect_graphs()))
    with_("accuracy", with_accuracy)
    with_("causes", lambda given: _with_causes(variants, given, send))
    return replace(measurement, failures=failures), errors


def _with_causes(variants: Pair, measurement: Measurement, send: Send) -> Measurement:
    """Return the measurement with the inputs of its causes. Only the first process records what is equal in all."""
    if variants.job.warm:
        return _with_peaks(variants, measurement, send)
    found = measurement.graphs
    traffic = sum(variants.traffic_bytes) if variants.traffic_bytes and found and not found.recompiles else None
    work = attempt(lambda: _work(variants))
    work = work and msgspec.structs.replace(work, compiled_traffic_bytes=traffic)
    diagnosed = _with_peaks(variants, msgspec.structs.replace(measurement, work=work), send)
    if found is None or not variants.job.sampling.retraces:
        return diagnosed
    recompiles = _retraced(variants, send)
    return msgspec.structs.replace(diagnosed, graphs=msgspec.structs.replace(found, batch_size_recompiles=recompiles))


def _work(variants: Pair) -> Work:
    with autocast(variants.job.cell):
        return roofline.work(variants.loaded.module, variants.loaded.batches[0])


def _with_peaks(variants: Pair, measurement: Measurement, send: Send) -> Measurement:
    """Return the measurement with the best rates of the device. Where its work is known, as in the first process of a
    cell, rates that its own latencies beat are measured again: something disturbed them. What they still beat by more
    than any algorithm saves is left out. Earlier processes may have measured them."""
    known, dtype = variants.job.peaks, getattr(torch, variants.job.cell.dtype)
    tries = [msgspec.structs.replace(measurement, peaks=known)] if known else []
    while not tries or (len(tries) < PEAK_TRIES and _share_of(best_peaks(tries), measurement) > 1):
        send(Phase(name=PEAKS))
        peaks = attempt(lambda: roofline.peaks(variants.device, dtype))
        tries.append(msgspec.structs.replace(measurement, peaks=peaks))
    best = best_peaks(tries)
    is_spoiled = _share_of(best, measurement) > plausibility.FLOP_SLACK
    return msgspec.structs.replace(measurement, peaks=None if is_spoiled else best)


def _share_of(peaks: Peaks | None, measurement: Measurement) -> float:
    """Return the largest share of the peaks that a variant reaches, or nan if its work is unknown."""
    cells = Cells.of([msgspec.structs.replace(measurement, peaks=peaks)])
    return max(float(cells.peak_share(name)[0]) for name in VARIANTS)


def _retraced(variants: Pair, send: Send) -> int | None:
    """Return how many frames are traced again for other batch sizes, or None if that fails or takes too long.

    What is too slow keeps running until the process ends, so nothing may be timed afterwards.
    """
    send(Phase(name="other batch sizes"))
    module, inputs, answers = variants.loaded.module, variants.loaded.batches[0], list[int | None]()

    def ask() -> None:
        with autocast(variants.job.cell):  # which each thread has of its own
            answers.append(
                attempt(
                    lambda: graphs.batch_size_recompiles(
                        module, inputs, {"true": True, "false": False}.get(variants.job.cell.dynamic)
                    )
                )
            )

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(RETRACE_CAP_S)
    return answers[0] if answers else None


# ── Verdict ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _failure(job: Job, error: Exception, oom: Status, size: tuple[int, int] | None) -> CellOutcome:
    """Return the outcome of a cell with this error. Without a compiler, compiling is skipped, not broken."""
    if any(words in str(error) for words in NO_COMPILER_WORDS):
        what = "there is no C++ compiler, and torch.compile needs one"
        reason = f"{what}: {NO_COMPILER.remedy}; the same command then goes on"
        return CellOutcome(status=Status.SKIPPED, reason=reason, input_size=size)
    is_memory = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or is_out_of_memory(str(error))
    status = oom if is_memory else Status.FAIL_TO_RUN
    return CellOutcome(status=status, reason=_told(job, error), input_size=size)


def _told(job: Job, error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {job.recipe.without_folder(str(error))}")


def _accuracy(variants: Pair, eager: accuracy.Tensors, compiled: accuracy.Tensors) -> Accuracy:
    """Compare compiled with eager, and if they differ, both with eager in a higher precision."""
    dtype = accuracy.rounding_type(variants.job.cell)
    errors = accuracy.compare(eager, compiled)
    if accuracy.is_within_tolerance(errors, dtype):
        return errors
    higher = torch.float32 if dtype.itemsize < 4 else torch.float64
    reference = attempt(lambda: _reference(variants.loaded, higher))
    if reference is None and variants.device.type != "cpu":  # the device lacks the type or the memory
        reference = attempt(lambda: _reference(load_job(_on_cpu(variants.job)), higher))
    if reference is None:  # the model supports no other dtype
        return errors
    return accuracy.compare(eager, compiled, reference, str(higher).removeprefix("torch."))


def _on_cpu(job: Job) -> Job:
    """Return the job for the CPU. Its model and first batch are the same, since both follow from seeds."""
    sampling = msgspec.structs.replace(job.sampling, inputs=1)
    return msgspec.structs.replace(job, cell=msgspec.structs.replace(job.cell, device="cpu"), sampling=sampling)


def _reference(loaded: Loaded, dtype: torch.dtype) -> accuracy.Tensors:
    module = deepcopy(loaded.module).to(dtype)
    inputs: Inputs = {
        name: value.to(dtype) if value.is_floating_point() else value for name, value in loaded.batches[0].items()
    }
    with accuracy.full_precision():
        return accuracy.tensors(module(**inputs))


def _verdict(
    variants: Pair, measurement: Measurement, errors: Accuracy | None, *, repeats: bool
) -> tuple[Status, str | None]:
    """Return the status and its reason, the most serious one first."""
    telemetry = measurement.telemetry
    if errors is None:
        return Status.FAIL_ACCURACY, f"compiled could not be compared with eager: {measurement.failures['accuracy']}"
    if not accuracy.is_within_tolerance(errors, accuracy.rounding_type(variants.job.cell)):
        return Status.FAIL_ACCURACY, accuracy.describe(errors)
    if not repeats:
        return Status.EAGER_TWO_RUNS_DIFFER, "two runs of eager on the same input differ"
    disturbed, reasons = (telemetry.throttled_rounds, telemetry.throttle_reasons) if telemetry else (0, {})
    if disturbed and not SLOWDOWNS.keys().isdisjoint(reasons) and not variants.had_other_processes:
        return Status.THROTTLED, f"the device slowed itself down in {disturbed} of the rounds"
    instability = _instability(variants, disturbed, reasons)
    return (Status.UNSTABLE, instability) if instability else (Status.PASS, None)


def _instability(variants: Pair, disturbed: int, reasons: Iterable[str]) -> str | None:
    """Return why the latencies are unreliable, or None."""
    if variants.had_other_processes:
        return BUSY
    if 2 * disturbed >= (rounds := len(variants.eager.rounds_ms)):
        return f"{' and '.join(sorted(reasons))} disturbed {disturbed} of {rounds} rounds"
    for name, subject in (("eager", variants.eager), ("compiled", variants.compiled)):
        medians = subject.medians_ms()
        low, high = median_interval(medians)
        half_width = (high - low) / 2 / float(np.median(medians))
        if half_width > UNSTABLE:  # false for nan, with too few rounds for an interval
            return f"{name} latency is known only to ±{half_width:.0%} after {medians.size} rounds"
    return None
