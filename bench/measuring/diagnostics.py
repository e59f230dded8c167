"""Find out why a cell came out as it did, after its rounds: memory, device time, graphs, accuracy, work, layout.

`examined` takes the sampled pair; returns its measurement with all of these. They disturb the measurement, so they come
last, and what fails is missing. Imports torch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import torch

from bench.errors import attempt
from bench.measuring import accuracy, roofline
from bench.measuring.build import Loaded
from bench.measuring.doctor import NO_COMPILER
from bench.measuring.pair import Pair, autocast, load_job
from bench.measuring.rounds import Subject, sample, warm_up
from bench.plans.messages import CellOutcome, Job, Phase, Send, is_out_of_memory
from bench.plans.profiles import Sampling
from bench.records.record import COMPILE_MODES, Accuracy, Graphs, Measurement, Samples, Status, Work
from bench.records.scrub import one_line

NO_COMPILER_WORDS = (
    "InvalidCxxCompiler",  # Inductor, for a CPU
    "Failed to find C compiler",  # Triton, for a GPU
    "xcrun: error: invalid active developer path",  # macOS has a command that only tells how to install one
)
"""What an error says where there is no compiler."""


def examined(
    pair: Pair, measurement: Measurement, outputs: list[accuracy.Tensors], send: Send
) -> tuple[Measurement, Accuracy | None]:
    """Return the measurement with all results, and the errors of compiled if they are known.

    `outputs`: of eager and of compiled. `Measurement.failures` says why what fails is missing. Only the first process
    records what is equal in all.
    """
    job, failures, errors = pair.job, dict[str, str](), None

    def add(name: str, results: Callable[[], dict[str, Any]]) -> None:
        nonlocal measurement
        send(Phase(name=name))
        try:
            measurement = msgspec.structs.replace(measurement, **results())
        except Exception as error:  # noqa: BLE001 - the latencies are sampled, and worth more than what explains them
            failures[name] = told(job, error)

    def compare_outputs() -> dict[str, Any]:
        nonlocal errors
        errors = compared(pair, *outputs)
        return {"accuracy": errors} if accuracy.is_finite(errors) else {}

    if measurement.eager.rounds_ms:  # else eager has a process of its own
        add("resources of eager", lambda: {"eager": pair.with_resources(pair.eager, measurement.eager)})
        add("device time of eager", lambda: {"eager": pair.with_device_time(pair.eager, measurement.eager)})
    add("resources of compiled", lambda: {"compiled": pair.with_resources(pair.compiled, measurement.compiled)})
    add("device time of compiled", lambda: {"compiled": pair.with_device_time(pair.compiled, measurement.compiled)})
    if pair.is_compiled:
        add("graphs", lambda: {"graphs": pair.inspect_graphs()})
    add("accuracy", compare_outputs)
    if job.start == "cold":
        add("work", lambda: {"work": _work(pair, measurement.graphs)})
    dtype = getattr(torch, job.cell.dtype)
    add("peaks", lambda: {"peaks": job.peaks or roofline.peaks(pair.device, dtype)})
    is_plain = job.cell.variant.removeprefix("compile:") in COMPILE_MODES
    if job.start == "cold" and job.sampling.compares_layouts and is_plain:
        add("memory layout", lambda: {"others": _layouts(pair)})
    return msgspec.structs.replace(measurement, failures=failures), errors


def failure(job: Job, error: Exception, oom: Status) -> CellOutcome:
    """Return the outcome of a cell with this error. Without a compiler, compiling is skipped, not broken."""
    if any(words in str(error) for words in NO_COMPILER_WORDS):
        what = "there is no C++ compiler, and torch.compile needs one"
        return CellOutcome(status=Status.SKIPPED, reason=f"{what}: {NO_COMPILER.remedy}; the same command then goes on")
    is_memory = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or is_out_of_memory(str(error))
    return CellOutcome(status=oom if is_memory else Status.FAIL_TO_RUN, reason=told(job, error))


def told(job: Job, error: Exception) -> str:
    """Return an error in one line, without what is private."""
    return one_line(f"{type(error).__name__}: {job.recipe.without_folder(str(error))}")


def _work(pair: Pair, graphs: Graphs | None) -> Work:
    with autocast(pair.job.cell):
        work = roofline.work(pair.loaded.module, pair.loaded.batches[0])
    is_known = pair.traffic_bytes and graphs and not graphs.recompiles
    return msgspec.structs.replace(work, compiled_traffic_bytes=sum(pair.traffic_bytes) if is_known else None)


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
    sample(tuple(subjects.values()), sampling, rng=random.Random())
    return {name: samples_of(subject) for name, subject in subjects.items()}


def compared(pair: Pair, eager: accuracy.Tensors, compiled: accuracy.Tensors) -> Accuracy:
    """Compare compiled with eager, and if they differ, both with eager in a higher precision."""
    dtype = accuracy.rounding_type(pair.job.cell)
    errors = accuracy.compare(eager, compiled)
    if accuracy.is_within_tolerance(errors, pair.job.cell):
        return errors
    higher = torch.float32 if dtype.itemsize < 4 else torch.float64
    reference = attempt(lambda: _reference(pair.loaded, higher))
    if reference is None and pair.device.type != "cpu":  # the device lacks the type or the memory
        # The model and its first batch are the same there, since both follow from seeds.
        cell = msgspec.structs.replace(pair.job.cell, device="cpu")
        on_cpu = msgspec.structs.replace(pair.job, cell=cell, sampling=Sampling(inputs=1))
        reference = attempt(lambda: _reference(load_job(on_cpu), higher))
    if reference is None:  # the model supports no other dtype
        return errors
    return accuracy.compare(eager, compiled, reference, str(higher).removeprefix("torch."))


def _reference(loaded: Loaded, dtype: torch.dtype) -> accuracy.Tensors:
    with torch.inference_mode(mode=False), torch.no_grad(), accuracy.full_precision():
        module = deepcopy(loaded.module).to(dtype)
        batch = loaded.batches[0]
        inputs = {name: each.to(dtype) if each.is_floating_point() else each for name, each in batch.items()}
        return accuracy.tensors(module(**inputs))


def samples_of(subject: Subject) -> Samples:
    """Return the rounds of a subject as a record keeps them."""
    rounds_ms = tuple(tuple(round(call, 6) for call in calls) for calls in subject.rounds_ms)
    return Samples(rounds_ms=rounds_ms, first_s=subject.first_s and round(subject.first_s, 6))
