"""Measure one cell in one process, from building the model to the verdict. Imports torch.

`run` takes a `Job` and returns a `CellOutcome`; it is the protocol. A failure keeps what was sampled before it.
"""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
import torch

from bench.measuring import accuracy, graphs, sequence
from bench.measuring.diagnostics import examined, failure, samples_of
from bench.measuring.interference import DEVICE, RoundWatch
from bench.measuring.pair import OUTPUTS, Pair, gradient_mode
from bench.measuring.rounds import Subject, sample, timed, warm_up
from bench.measuring.variants import VARIANTS
from bench.plans.messages import BUILDING, CellOutcome, Job, Phase, Send
from bench.records.record import Accuracy, Compilation, Measurement, Samples, Status
from bench.statistics.intervals import median_interval

UNSTABLE = 0.15
"""Half-width of the 95% interval of a latency within the process, as a share, above which the cell is unstable."""

BUSY = "another process was computing on the device"


def run(job: Job, send: Send, imports_s: float = 0.0) -> CellOutcome:
    """Measure the cell of the job, and return how it ended. `imports_s`: what importing the compiler took.

    Eager runs before anything is compiled, because buffers that a model creates on its first call would cause graph
    breaks. After the timed compilation, both are warmed up and sampled in turn. Diagnostics come last, because they
    disturb the measurement.
    """
    send(Phase(name=BUILDING))
    try:
        pair = Pair(job)
    except Exception as error:  # noqa: BLE001 - any exception of the model is the outcome of its cell
        return failure(job, error, Status.EAGER_OOM)
    steps = {"both": _run_both, "eager": _run_eager, "variant": _run_variant, "build": _build}
    with gradient_mode(job.cell):
        if pair.find_other_processes() and not job.allow_busy:
            return CellOutcome(status=Status.SKIPPED, reason=BUSY)
        outcome = sequence.run(pair, send) if job.cell.sizes else steps[job.role](pair, imports_s, send)
    loaded = pair.loaded
    return msgspec.structs.replace(outcome, input_size=loaded.input_size, has_random_head=loaded.has_random_head)


def _run_both(pair: Pair, imports_s: float, send: Send) -> CellOutcome:
    """Measure eager and the variant in turn."""
    try:
        outputs = _eager_outputs(pair, send)
    except Exception as error:  # noqa: BLE001 - as above
        return failure(pair.job, error, Status.EAGER_OOM)
    measured = _started(pair, imports_s, (pair.eager, pair.compiled), send)
    if isinstance(measured, CellOutcome):
        return _with_eager_alone(pair, measured, send)
    measurement, disturbed, compiled = measured
    measurement, errors = examined(pair, measurement, [outputs[0], compiled], send)
    status, reason = _verdict(pair, measurement, errors, disturbed, repeats=accuracy.are_identical(*outputs))
    return CellOutcome(status=status, reason=reason, measurement=measurement)


def _run_eager(pair: Pair, _imports_s: float, send: Send) -> CellOutcome:
    """Measure eager alone, and leave its outputs in the folder of the job."""
    try:
        first, second = _eager_outputs(pair, send)
        measurement, disturbed = sampled(pair, (pair.eager,), send)
    except Exception as error:  # noqa: BLE001 - as above
        return failure(pair.job, error, Status.EAGER_OOM)
    torch.save(first, Path(pair.job.folder, OUTPUTS))
    measurement = msgspec.structs.replace(measurement, eager=pair.with_resources(pair.eager, measurement.eager))
    errors, repeats = Accuracy(max_relative_error=0.0), accuracy.are_identical(first, second)
    status, reason = _verdict(pair, measurement, errors, disturbed, repeats=repeats)
    return CellOutcome(status=status, reason=reason, measurement=measurement)


def _run_variant(pair: Pair, imports_s: float, send: Send) -> CellOutcome:
    """Measure the variant alone, and compare it with the outputs that eager has left."""
    measured = _started(pair, imports_s, (pair.compiled,), send)
    if isinstance(measured, CellOutcome):
        return measured
    measurement, disturbed, compiled = measured
    measurement = msgspec.structs.replace(measurement, eager=Samples(), compiled=measurement.eager)
    measurement, errors = examined(pair, measurement, [torch.load(Path(pair.job.folder, OUTPUTS)), compiled], send)
    status, reason = _verdict(pair, measurement, errors, disturbed, repeats=True)
    return CellOutcome(status=status, reason=reason, measurement=measurement)


def _build(pair: Pair, _imports_s: float, send: Send) -> CellOutcome:
    """Let the variant build what its later processes start from."""
    build = VARIANTS[pair.job.cell.variant].build
    assert build
    send(Phase(name="compiling"))
    try:
        build(pair.loaded.module, pair.loaded.batches[0], Path(pair.job.folder))
    except Exception as error:  # noqa: BLE001 - as above
        return failure(pair.job, error, Status.OOM)
    return CellOutcome(status=Status.PASS)


def _eager_outputs(pair: Pair, send: Send) -> list[accuracy.Tensors]:
    """Return the outputs of two eager calls for the first batch, and warm eager up."""
    send(Phase(name="warming up eager"))
    pair.eager.first_s = timed(pair.eager, 1)[0] / 1e3
    outputs = [pair.output(pair.eager) for _ in range(2)]
    pair.note_reserved_memory()
    warm_up(pair.eager, pair.job.sampling)
    return outputs


def _started(
    pair: Pair, imports_s: float, subjects: tuple[Subject, ...], send: Send
) -> CellOutcome | tuple[Measurement, Mapping[str, int], accuracy.Tensors]:
    """Start the variant and sample the subjects. Returns the measurement with the cost of compiling, the rounds that
    stayed disturbed, and the output of the variant; or how it failed."""
    failed = None
    try:
        send(Phase(name="compiling"))
        first_calls_ms = pair.compile()
        output = pair.output(pair.compiled)
        pair.compiled.first_s = first_calls_ms[0] / 1e3
        if pair.is_compiled and (reason := graphs.left_eager()):
            failed = CellOutcome(status=Status.FAIL_TO_RUN, reason=reason)
        else:
            send(Phase(name="warming up"))
            pair.warm_up_compiled()
            needs_gb = pair.needs_gb()
            measurement, disturbed = sampled(pair, subjects, send)
    except Exception as error:  # noqa: BLE001 - as above
        failed = failure(pair.job, error, Status.OOM)
    if failed:  # outside of `except`, where the traceback keeps the memory of the failed call alive
        return failed
    steady_ms = float(np.median(pair.compiled.medians_ms()))
    calls_s = max(0.0, sum(first_calls_ms) - len(first_calls_ms) * steady_ms) / 1e3
    compilation = Compilation(
        ready_s={pair.job.start: round(imports_s + calls_s, 3)},
        needs_gb={start: round(size_gb, 6) for start, size_gb in needs_gb.items()},
        imports_s=round(imports_s, 3),
        phases_s=graphs.phases_s() if pair.is_compiled else {},
    )
    return msgspec.structs.replace(measurement, compilation=compilation), disturbed, output


def _with_eager_alone(pair: Pair, failed: CellOutcome, send: Send) -> CellOutcome:
    """Return the outcome of a cell in which the variant failed, with the latencies of eager if it still runs."""
    pair.release_compiled()
    pair.eager.clear_rounds()
    with suppress(Exception):  # the first failure is the one to report
        return msgspec.structs.replace(failed, measurement=sampled(pair, (pair.eager,), send)[0])
    status = Status.FAIL_TO_RUN if failed.status is Status.SKIPPED else failed.status
    return msgspec.structs.replace(failed, status=status)


# ── Sampling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def sampled(pair: Pair, subjects: tuple[Subject, ...], send: Send) -> tuple[Measurement, Mapping[str, int]]:
    """Sample the subjects: eager and a variant, or one alone. Returns the measurement, with the first of them as eager,
    and the number of rounds that stayed disturbed, by what disturbed them.

    An accelerator waits for the thread that launches its kernels, so the CPU is watched as well.
    """
    send(Phase(name="measuring"))
    gc.collect()
    gc.freeze()  # collections within a call need not traverse the objects that exist by now
    watch = RoundWatch(1 if pair.sensors else torch.get_num_threads(), pair.sensors)
    end = sample(subjects, pair.job.sampling, rng=random.Random(), disturbance=watch.disturbance)
    pair.find_other_processes()
    samples = [samples_of(subject) for subject in subjects]
    measurement = Measurement(
        eager=samples[0],
        compiled=samples[1] if len(samples) > 1 else None,
        warmup_calls=sum(len(subject.warmup_ms) for subject in subjects),
        stop_reason=end.stop_reason,
        telemetry=watch.telemetry(sum(end.disturbed.values())),
    )
    return measurement, end.disturbed


# ── Verdict ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _verdict(
    pair: Pair, measurement: Measurement, errors: Accuracy | None, disturbed: Mapping[str, int], *, repeats: bool
) -> tuple[Status, str | None]:
    """Return the status and its reason, the most serious one first."""
    if errors is None:
        return Status.FAIL_ACCURACY, f"compiled could not be compared with eager: {measurement.failures['accuracy']}"
    if not accuracy.is_within_tolerance(errors, pair.job.cell):
        return Status.FAIL_ACCURACY, accuracy.describe(errors)
    if not repeats:
        return Status.EAGER_TWO_RUNS_DIFFER, "two runs of eager on the same input differ"
    if (slowed := disturbed.get(DEVICE)) and not pair.had_other_processes:
        return Status.THROTTLED, f"{DEVICE} in {slowed} of the rounds"
    reason = BUSY if pair.had_other_processes else _instability(measurement, disturbed)
    return (Status.UNSTABLE, reason) if reason else (Status.PASS, None)


def _instability(measurement: Measurement, disturbed: Mapping[str, int]) -> str | None:
    for name, samples in (("eager", measurement.eager), ("compiled", measurement.compiled)):
        medians = np.array([np.median(calls) for calls in samples.rounds_ms]) if samples else np.empty(0)
        if 2 * sum(disturbed.values()) >= len(medians) > 0:
            return f"{' and '.join(sorted(disturbed))} disturbed {sum(disturbed.values())} of {len(medians)} rounds"
        low, high = median_interval(medians)
        half_width = (high - low) / 2 / float(np.median(medians)) if len(medians) else math.nan
        if half_width > UNSTABLE:  # false for nan, with too few rounds for an interval
            return f"{name} latency is known only to ±{half_width:.0%} after {len(medians)} rounds"
    return None
