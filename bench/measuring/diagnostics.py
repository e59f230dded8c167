"""Find out why a cell came out as it did, after its rounds: memory, device time, graphs, accuracy, work, layout.

`examined` takes the sampled pair; returns its measurement with all of these. They disturb the measurement, so they come
last, and what fails is missing. Imports torch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial

import msgspec
import torch

from bench.errors import attempt
from bench.measuring import accuracy, roofline
from bench.measuring.build import Loaded
from bench.measuring.pair import Pair, autocast, load_job
from bench.measuring.rounds import Subject, sample, warm_up
from bench.plans.messages import PEAKS, Job, Phase, Send
from bench.records.record import COMPILE_MODES, Accuracy, Measurement, Samples
from bench.records.scrub import one_line

Step = Callable[[Measurement], Measurement]
"""Adds one result to a measurement."""


def examined(
    pair: Pair, measurement: Measurement, outputs: list[accuracy.Tensors], send: Send
) -> tuple[Measurement, Accuracy | None]:
    """Return the measurement with all results, and the errors of compiled if they are known.

    `outputs`: of eager and of compiled. `Measurement.failures` says why what fails is missing.
    """
    failures, errors = dict[str, str](), list[Accuracy]()
    for name, step in _steps(pair, outputs, errors):
        send(Phase(name=name))
        try:
            measurement = step(measurement)
        except Exception as error:  # noqa: BLE001 - the latencies are sampled, and worth more than what explains them
            failures[name] = told(pair.job, error)
    return msgspec.structs.replace(measurement, failures=failures), next(iter(errors), None)


def _steps(pair: Pair, outputs: list[accuracy.Tensors], errors: list[Accuracy]) -> Iterator[tuple[str, Step]]:
    """Yield the steps. Only the first process records what is equal in all."""
    job = pair.job
    for name, subject in (("eager", pair.eager), ("compiled", pair.compiled)):
        yield f"resources of {name}", partial(_with_samples, name, partial(pair.with_resources, subject))
        yield f"device time of {name}", partial(_with_samples, name, partial(pair.with_device_time, subject))
    if job.cell.variant.startswith("compile:"):
        yield "graphs", lambda given: msgspec.structs.replace(given, graphs=pair.inspect_graphs())
    yield "accuracy", partial(_with_accuracy, pair, outputs, errors)
    if not job.warm:
        yield "work", partial(_with_work, pair)
    if job.peaks:
        yield "peaks of the run", lambda given: msgspec.structs.replace(given, peaks=job.peaks)
    else:
        yield PEAKS, partial(_with_peaks, pair)
    if not job.warm and job.sampling.compares_layouts and job.cell.variant.removeprefix("compile:") in COMPILE_MODES:
        yield "memory layout", lambda given: msgspec.structs.replace(given, others=_layouts(pair))


def told(job: Job, error: Exception) -> str:
    """Return an error in one line, without what is private."""
    return one_line(f"{type(error).__name__}: {job.recipe.without_folder(str(error))}")


def _with_samples(name: str, ask: Callable[[Samples | None], Samples], measurement: Measurement) -> Measurement:
    return msgspec.structs.replace(measurement, **{name: ask(getattr(measurement, name))})


def _with_work(pair: Pair, measurement: Measurement) -> Measurement:
    with autocast(pair.job.cell):
        work = roofline.work(pair.loaded.module, pair.loaded.batches[0])
    is_known = pair.traffic_bytes and measurement.graphs and not measurement.graphs.recompiles
    traffic = sum(pair.traffic_bytes) if is_known else None
    return msgspec.structs.replace(measurement, work=msgspec.structs.replace(work, compiled_traffic_bytes=traffic))


def _with_peaks(pair: Pair, measurement: Measurement) -> Measurement:
    peaks = roofline.peaks(pair.device, getattr(torch, pair.job.cell.dtype))
    return msgspec.structs.replace(measurement, peaks=peaks)


def _with_accuracy(
    pair: Pair, outputs: list[accuracy.Tensors], errors: list[Accuracy], measurement: Measurement
) -> Measurement:
    errors.append(compared(pair, *outputs))
    return msgspec.structs.replace(measurement, accuracy=errors[0]) if accuracy.is_finite(errors[0]) else measurement


def _layouts(pair: Pair) -> dict[str, Samples]:
    """Sample what tells how much of the saving is that of the memory layout: eager, eager with channels last, and
    compiled with and without turning convolutions to channels last."""
    variant, channels_last = pair.job.cell.variant, "eager:channels_last"
    given_layout = f"{variant}:given-layout"
    sampling = msgspec.structs.replace(pair.job.sampling, max_s=pair.job.sampling.max_s / 2, min_s=0.0)
    subjects = {
        "eager": pair.eager,
        variant: pair.compiled,
        given_layout: pair.subject(pair.start(given_layout)),
        channels_last: pair.subject(pair.start(channels_last)),
    }
    for subject in subjects.values():
        subject.clear_rounds()
        subject.call(0)  # compiles, if it is a new one
        warm_up(subject, sampling)
    list(sample(tuple(subjects.values()), sampling, rng=random.Random()))
    return {name: samples_of(subject) for name, subject in subjects.items()}


def compared(pair: Pair, eager: accuracy.Tensors, compiled: accuracy.Tensors) -> Accuracy:
    """Compare compiled with eager, and if they differ, both with eager in a higher precision."""
    dtype = accuracy.rounding_type(pair.job.cell)
    errors = accuracy.compare(eager, compiled)
    if accuracy.is_within_tolerance(errors, dtype):
        return errors
    higher = torch.float32 if dtype.itemsize < 4 else torch.float64
    reference = attempt(lambda: _reference(pair.loaded, higher))
    if reference is None and pair.device.type != "cpu":  # the device lacks the type or the memory
        reference = attempt(lambda: _reference(load_job(_on_cpu(pair.job)), higher))
    if reference is None:  # the model supports no other dtype
        return errors
    return accuracy.compare(eager, compiled, reference, str(higher).removeprefix("torch."))


def _on_cpu(job: Job) -> Job:
    """Return the job for the CPU. Its model and first batch are the same, since both follow from seeds."""
    sampling = msgspec.structs.replace(job.sampling, inputs=1)
    return msgspec.structs.replace(job, cell=msgspec.structs.replace(job.cell, device="cpu"), sampling=sampling)


def _reference(loaded: Loaded, dtype: torch.dtype) -> accuracy.Tensors:
    with torch.inference_mode(mode=False), torch.no_grad(), accuracy.full_precision():
        module = deepcopy(loaded.module).to(dtype)
        batch = loaded.batches[0]
        inputs = {name: each.to(dtype) if each.is_floating_point() else each for name, each in batch.items()}
        return accuracy.tensors(module(**inputs))


def samples_of(subject: Subject) -> Samples:
    """Return the rounds of a subject as a record keeps them."""
    return Samples(rounds_ms=tuple(tuple(round(call, 6) for call in calls) for calls in subject.rounds_ms))
