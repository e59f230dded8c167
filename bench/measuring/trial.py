"""One cell, measured in this process from building to verdict. Imports torch: workers only.

Enter a `Job`; leave a `Finding`. Read `run` for the protocol; what fails keeps what was found before it.

    python -m bench run --model ViT
"""

from __future__ import annotations

import gc
import math
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any, TypeVar

import msgspec
import numpy as np
import torch

from bench.measuring import accuracy, graphs, roofline
from bench.measuring.build import Inputs, Loaded, load
from bench.measuring.environment import PeakMemory, load_average, minor_faults
from bench.measuring.interference import Neighbours
from bench.measuring.rounds import Round, Subject, expected_rounds, sample, timed, warm_up
from bench.measuring.sensors import Sensors, Watch, energy_j
from bench.plans.messages import Finding, Job, Phase, Tell, tells_of_memory
from bench.records.record import Accuracy, Compilation, Measurement, Status, Variant
from bench.records.scrub import one_line
from bench.statistics.intervals import median_interval

T = TypeVar("T")

FIRST_CALLS = 3
"""Calls that make a compiled model ready: one compiles; with CUDA graphs the second warms up and the third records."""

WARM_UPS = 3
"""Times that a compiled model is warmed up at most, should it still compile meanwhile."""

UNSTABLE = 0.15
"""Half-width of the 95% interval of a latency within the process, as a share, from which it is called unstable."""

PEAK_CALLS = 1
"""Calls in the pass for peak memory: both variants have run often enough to have allocated what they keep."""

EVENT_CALLS = 10
"""Calls between two CUDA events, for the time that the device itself is busy."""

HEAD_START, CYCLES_PER_MS = 1.5, 3_000_000
"""The device sleeps for so many latencies while the host queues the call: then no gap between its kernels is the
host's. No clock of an SM is faster, so it sleeps long enough."""

REPLAYING = ("reduce-overhead", "max-autotune")
"""Modes with CUDA graphs, whose replays the allocator does not see."""

RETRACE_CAP_S = 240.0
"""For tracing with other batch sizes: seconds for most models, minutes where the windows of a Swin depend on them."""

ENERGY_BLOCK_MS = 20.0
"""Calls between two looks at the energy counter, which ticks no faster."""

BUSY = "another process was computing on the device"

TELL_EVERY_S = 1.0
"""Between reports of progress while sampling: each wakes the parent."""


@torch.no_grad()
def run(job: Job, tell: Tell) -> Finding:
    """Measure the cell of the job.

    Eager runs before anything is compiled, since buffers made on a first call would show as graph breaks. Compiling is
    timed until the model is ready; then both variants are warm and take turns. Whatever explains the result comes last:
    looking at it disturbs.
    """
    tell(Phase(name="building"))
    size = None
    try:
        variants = Variants(job)
        size = variants.loaded.input_size
        if variants.note_strangers() and not job.allow_busy:
            return Finding(status=Status.SKIPPED, reason=BUSY, input_size=size)
        outputs = [variants.output(variants.eager) for _ in range(2)]
        warm_up(variants.eager, job.sampling)
    except Exception as error:  # noqa: BLE001 - whatever a model raises is how its cell ended
        return _failure(error, Status.EAGER_OOM, size)

    failed = None
    try:
        tell(Phase(name="compiling"))
        begun = time.perf_counter()
        with roofline.inductor_traffic() as compiled_traffic:
            imported_ms = (time.perf_counter() - begun) * 1e3  # Inductor, which else the first call would import
            first, *others = variants.compile()
        first_calls_ms = (imported_ms + first, *others)
        outputs.append(variants.output(variants.compiled))
        tell(Phase(name="warming up"))
        variants.warm_up_compiled()
        measurement, disturbed = _sample(variants, (variants.eager, variants.compiled), tell)
        tell(Phase(name="memory and graphs"))
        measurement = msgspec.structs.replace(
            measurement,
            eager=variants.weigh(variants.eager, measurement.eager),
            compiled=variants.weigh(variants.compiled, measurement.compiled),
            compilation=_compilation(job, first_calls_ms, variants.compiled),
            graphs=graphs.inspect(variants.loaded.module, variants.loaded.batches[0]),
        )
        found = _accuracy(variants, *outputs[1:])
        measurement = _explained(variants, measurement, compiled_traffic)
    except Exception as error:  # noqa: BLE001 - as above
        failed = _failure(error, Status.OOM, size)
    if failed:  # only now: the traceback held what the failed call had allocated
        variants.forget_compiled()
        return msgspec.structs.replace(failed, measurement=_eager_alone(variants, tell))
    if accuracy.is_finite(found):
        measurement = msgspec.structs.replace(measurement, accuracy=found)
    repeats = accuracy.are_identical(*outputs[:2])
    status, reason = _verdict(variants, found, repeats=repeats, disturbed=disturbed)
    return Finding(status=status, reason=reason, measurement=measurement, input_size=size)


def _load(job: Job) -> Loaded:
    return load(
        job.recipe,
        batch_size=job.cell.batch_size,
        batches=job.sampling.inputs,
        dtype=getattr(torch, job.cell.dtype),
        device=torch.device(job.cell.device),
    )


class Variants:
    """Eager and compiled, each a `Subject`: the same module and batches, called the one way and the other."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.loaded = loaded = _load(job)
        self.device = torch.device(job.cell.device)
        self.sensors = None if self.device.type == "cpu" else Sensors(self.device)
        self.had_strangers = False
        self._compiled_module: Any = None
        self.eager = Subject(lambda number: self._call(loaded.module, number))
        self.compiled = Subject(lambda number: self._call(self._compiled_module, number))

    def _call(self, module: Any, number: int) -> Any:
        """Forward, and wait for the device."""
        output = module(**self.loaded.batches[number % len(self.loaded.batches)])
        self.synchronize()
        return output

    def synchronize(self) -> None:
        """Wait until the device has done all it was given; a CPU has."""
        if self.device.type != "cpu":
            torch.accelerator.synchronize(self.device)

    def note_strangers(self) -> bool:
        """Whether anybody else computes on the device, or has been found to."""
        self.had_strangers = self.had_strangers or bool(self.sensors and self.sensors.strangers())
        return self.had_strangers

    def output(self, subject: Subject) -> accuracy.Tensors:
        """What the variant computes of the first batch, copied: CUDA graphs reuse the memory of their outputs."""
        return accuracy.tensors(subject.call(0))

    def compile(self) -> tuple[float, ...]:
        """Compile; the latencies in ms of the calls that make the model ready."""
        graphs.forget()
        cell = self.job.cell
        self._compiled_module = torch.compile(self.loaded.module, mode=cell.compile_mode, dynamic=cell.dynamic)
        return timed(self.compiled, FIRST_CALLS)

    def forget_compiled(self) -> None:
        """Give back what compiling has taken, as far as the device still answers."""
        self._compiled_module = None
        with suppress(Exception):
            graphs.forget()
            gc.collect()
            if self.device.type != "cpu":
                torch.accelerator.empty_cache()

    def warm_up_compiled(self) -> None:
        """Warm up until nothing more is compiled."""
        for _ in range(WARM_UPS):
            frames = graphs.compiled_frames()
            self.compiled.warmup_ms.clear()
            warm_up(self.compiled, self.job.sampling)
            if graphs.compiled_frames() == frames:
                return

    def weigh(self, subject: Subject, variant: Variant | None) -> Variant:
        """The variant with its peak memory, in a pass of its own; on an accelerator also with the time that the device
        is
        busy, and its energy.

        Where CUDA graphs replay, only the two figures are told that mean something: what eager allocates, and what
        is reserved with the graphs' own pool.
        """
        with PeakMemory(self.device) as memory:
            timed(subject, PEAK_CALLS)
        replays = self.device.type == "cuda" and self.job.cell.compile_mode in REPLAYING
        return msgspec.structs.replace(
            variant or Variant(),
            peak_memory_gb=None if replays and subject is self.compiled else memory.allocated_gb,
            peak_reserved_gb=None if replays and subject is self.eager else memory.reserved_gb,
            device_ms=_unless_it_fails(lambda: self._device_ms(subject)) or (),
            energy_j=self._energy_j(subject),
        )

    def _device_ms(self, subject: Subject) -> tuple[float, ...]:
        """Milliseconds between two events around a call that is queued as a whole before the device begins it.

        Too much where a call waits for the device itself, or has more kernels than the queue holds (about a thousand).
        None but CUDA can be held back.
        """
        if self.device.type != "cuda" or torch.version.hip:
            return ()
        module = self.loaded.module if subject is self.eager else self._compiled_module
        head_start = int(HEAD_START * float(np.median(subject.medians_ms())) * CYCLES_PER_MS)
        latencies = []
        for number in range(EVENT_CALLS):
            start, end = (torch.Event(self.device, enable_timing=True) for _ in range(2))
            torch.cuda._sleep(head_start)  # type: ignore[no-untyped-call]  # noqa: SLF001 - there is no other
            start.record()
            module(**self.loaded.batches[number % len(self.loaded.batches)])
            end.record()
            end.synchronize()
            latencies.append(round(start.elapsed_time(end), 6))
        return tuple(latencies)

    def _energy_j(self, subject: Subject) -> float | None:
        """Joules of a call, one after the other as they are timed; None where another process uses energy, too."""
        if self.sensors is None or self.had_strangers:
            return None
        calls = max(1, round(ENERGY_BLOCK_MS / float(np.median(subject.medians_ms()))))
        return energy_j(self.sensors, lambda: len(timed(subject, calls)))


# ── Sampling ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sample(variants: Variants, subjects: tuple[Subject, ...], tell: Tell) -> tuple[Measurement, int]:
    """Rounds of the subjects (eager first) until they are precise enough or time is up; and how many were disturbed."""
    on_cpu = variants.device.type == "cpu"
    expected = expected_rounds(subjects, variants.job.sampling)
    gc.collect()
    gc.freeze()  # what exists by now stays: a collection within a call need not look through it
    before, last, told = load_average(), Round(0), -math.inf
    watch = Watch(variants.sensors) if variants.sensors else Neighbours(torch.get_num_threads())
    for last in sample(
        subjects,
        variants.job.sampling,
        rng=random.Random(),
        faults=minor_faults if on_cpu else lambda: 0,
        is_disturbed=watch.is_disturbed,
    ):
        if time.monotonic() - told >= TELL_EVERY_S:
            told = time.monotonic()
            tell(Phase(name="measuring", done=last.number, of=max(expected, last.number)))
    after = load_average()
    variants.note_strangers()
    samples = [
        Variant(
            rounds_ms=tuple(tuple(round(call, 6) for call in calls) for calls in subject.rounds_ms),
            minor_faults_per_call=round(subject.faults / subject.samples, 1) if on_cpu else None,
        )
        for subject in subjects
    ]
    measurement = Measurement(
        eager=samples[0],
        compiled=samples[1] if len(samples) > 1 else None,
        warmup_calls=sum(len(subject.warmup_ms) for subject in subjects),
        stop_reason=last.stop_reason,
        load_average=(before, after) if on_cpu and before is not None and after is not None else None,
        telemetry=watch.telemetry(last.disturbed),
    )
    return measurement, last.disturbed


def _eager_alone(variants: Variants, tell: Tell) -> Measurement | None:
    """Rounds of eager where the compiled variant failed; None when eager, too, can't go on."""
    variants.eager.forget_rounds()
    try:
        return _sample(variants, (variants.eager,), tell)[0]
    except Exception:  # noqa: BLE001 - the failure that brought us here is the one to report
        return None


def _compilation(job: Job, first_calls_ms: tuple[float, ...], compiled: Subject) -> Compilation:
    """Time to ready: the first calls minus what they cost in steady state."""
    steady_ms = float(np.median(compiled.medians_ms()))
    ready_s = round(max(0.0, sum(first_calls_ms) - len(first_calls_ms) * steady_ms) / 1e3, 3)
    return Compilation(
        cold_s=None if job.warm else ready_s,
        warm_s=ready_s if job.warm else None,
        phases_s=graphs.phases_s(),
    )


# ── Explaining ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _explained(variants: Variants, measurement: Measurement, compiled_traffic: list[int]) -> Measurement:
    """With what the causes of the result are computed from. What is the same in all processes is told by the first."""
    cell, module, inputs = variants.job.cell, variants.loaded.module, variants.loaded.batches[0]
    dtype = getattr(torch, cell.dtype)
    explained = msgspec.structs.replace(
        measurement, peaks=_unless_it_fails(lambda: roofline.peaks(variants.device, dtype))
    )
    if variants.job.warm:
        return explained
    assert measurement.graphs is not None
    traffic = sum(compiled_traffic) if compiled_traffic and not measurement.graphs.recompiles else None
    work = _unless_it_fails(lambda: roofline.work(module, inputs, traffic))
    recompiles = _within(RETRACE_CAP_S, lambda: graphs.batch_size_recompiles(module, inputs, cell.dynamic))
    return msgspec.structs.replace(
        explained, work=work, graphs=msgspec.structs.replace(measurement.graphs, batch_size_recompiles=recompiles)
    )


def _within(seconds: float, question: Callable[[], T]) -> T | None:
    """The answer if it comes in time. What takes longer goes on until the process ends: nothing may be timed after."""
    answers: list[T | None] = []
    thread = threading.Thread(target=lambda: answers.append(_unless_it_fails(question)), daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else None


def _unless_it_fails(question: Callable[[], T]) -> T | None:
    """The answer, or None: what only explains a result must not cost it."""
    with suppress(Exception):
        return question()
    return None


# ── Judging ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _failure(error: Exception, oom: Status, size: tuple[int, int] | None, found: Measurement | None = None) -> Finding:
    text = one_line(f"{type(error).__name__}: {error}")
    is_memory = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or tells_of_memory(str(error))
    return Finding(status=oom if is_memory else Status.FAIL_TO_RUN, reason=text, measurement=found, input_size=size)


def _accuracy(variants: Variants, eager: accuracy.Tensors, compiled: accuracy.Tensors) -> Accuracy:
    """Compiled against eager; where that alone settles nothing, both against eager in a higher precision."""
    dtype = getattr(torch, variants.job.cell.dtype)
    found = accuracy.compare(eager, compiled)
    if accuracy.is_within_tolerance(found, dtype):
        return found
    higher = torch.float32 if dtype.itemsize < 4 else torch.float64
    reference = _unless_it_fails(lambda: _reference(variants.loaded, higher))
    if reference is None and variants.device.type != "cpu":  # no such type there, or no room: a CPU has both
        reference = _unless_it_fails(lambda: _reference(_load(_on_cpu(variants.job)), higher))
    if reference is None:  # the model insists on its own dtype: eager has to do
        return found
    return accuracy.compare(eager, compiled, reference, str(higher).removeprefix("torch."))


def _on_cpu(job: Job) -> Job:
    """The same model and first batch: both follow from seeds."""
    sampling = msgspec.structs.replace(job.sampling, inputs=1)
    return msgspec.structs.replace(job, cell=msgspec.structs.replace(job.cell, device="cpu"), sampling=sampling)


def _reference(loaded: Loaded, dtype: torch.dtype) -> accuracy.Tensors:
    module = deepcopy(loaded.module).to(dtype)
    inputs: Inputs = {
        name: value.to(dtype) if value.is_floating_point() else value for name, value in loaded.batches[0].items()
    }
    return accuracy.tensors(module(**inputs))


def _verdict(variants: Variants, found: Accuracy, *, repeats: bool, disturbed: int) -> tuple[Status, str | None]:
    """How the cell ended, the gravest first."""
    if not accuracy.is_within_tolerance(found, getattr(torch, variants.job.cell.dtype)):
        return Status.FAIL_ACCURACY, accuracy.describe(found)
    if not repeats:
        return Status.EAGER_TWO_RUNS_DIFFER, "two runs of eager on the same input differ"
    if variants.sensors and disturbed and not variants.had_strangers:
        return Status.THROTTLED, f"the device slowed itself down in {disturbed} of the rounds"
    unrest = _unrest(variants, disturbed)
    return (Status.UNSTABLE, unrest) if unrest else (Status.PASS, None)


def _unrest(variants: Variants, disturbed: int) -> str | None:
    """Why the latencies are not to be relied upon, if they are not."""
    if variants.had_strangers:
        return BUSY
    if 2 * disturbed >= (rounds := len(variants.eager.rounds_ms)):
        return f"other programs used the processor in {disturbed} of {rounds} rounds"
    for name, subject in (("eager", variants.eager), ("compiled", variants.compiled)):
        medians = subject.medians_ms()
        low, high = median_interval(medians)
        reach = (high - low) / 2 / float(np.median(medians))
        if reach > UNSTABLE:  # nan, for fewer rounds than have an interval, isn't
            return f"{name} latency is known only to ±{reach:.0%} after {medians.size} rounds"
    return None
