"""Eager and compiled as two `Subject`s of one module: call, compile, warm up, and measure memory.

Imports torch.
"""

from __future__ import annotations

import gc
import os
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from bench.measuring import accuracy, graphs, roofline
from bench.measuring.build import Loaded, load
from bench.measuring.device_time import device_ms
from bench.measuring.environment import PeakMemory
from bench.measuring.rounds import Subject, timed, warm_up
from bench.measuring.sensors import Sensors
from bench.measuring.variants import VARIANTS
from bench.plans.messages import Job
from bench.records.record import Cell, Graphs, Samples

FIRST_CALLS = 3
"""Calls until a compiled model is ready: the first compiles; with CUDA graphs, the second warms up and the third
records."""

WARM_UPS = 3
"""Maximum number of warm-ups of a compiled model that still compiles."""

PEAK_CALLS = 1
"""Calls to measure peak memory. Both variants have already allocated what they keep."""

REPLAYING = ("reduce-overhead", "max-autotune")
"""Modes that replay CUDA graphs, invisible to the allocator."""


def load_job(job: Job) -> Loaded:
    """Build the model of the job's cell and its batches: see `load`. Autocast leaves both in float32."""
    return load(
        job.recipe,
        batch_size=job.cell.batch_size,
        batches=job.sampling.inputs,
        dtype=torch.float32 if job.cell.autocast else getattr(torch, job.cell.dtype),
        device=torch.device(job.cell.device),
    )


def set_precision(cell: Cell) -> None:
    """Let CUDA's float32 products use TF32 if the cell asks for it, and else not, for the rest of this process.

    cuDNN's convolutions may use TF32 in any case, as is torch's default. Raises `RuntimeError` where the device, or a
    variable of the environment, would leave the cell in another precision than its own.
    """
    if cell.autocast:
        with autocast(cell):
            if not torch.is_autocast_enabled(cell.device):  # torch only warns, and stays in float32
                raise RuntimeError(f"there is no autocast to {cell.dtype} on this {cell.device} device")
    if cell.device != "cuda":
        return
    if cell.tf32 and not torch.cuda.is_tf32_supported():
        raise RuntimeError("this GPU has no TF32")
    if cell.tf32 and os.environ.get("NVIDIA_TF32_OVERRIDE") == "0":
        raise RuntimeError("NVIDIA_TF32_OVERRIDE=0 forbids TF32: unset it")
    torch.backends.cuda.matmul.allow_tf32 = cell.tf32


def autocast(cell: Cell) -> AbstractContextManager[object]:
    """Return a context for one call of the model, eager or compiled: autocast if the cell has it.

    A service enters autocast in each request, so each call here does. What that takes, some microseconds, is part of
    both latencies, and so is casting the weights: torch keeps cast weights no longer than the outermost autocast.
    """
    return torch.autocast(cell.device, getattr(torch, cell.dtype)) if cell.autocast else nullcontext()


def _release(device: torch.device) -> None:
    """Give back the memory of all that nothing refers to any more."""
    gc.unfreeze()  # sampling freezes what exists, compiled code too
    gc.collect()
    if device.type != "cpu":
        torch.accelerator.empty_cache()


class Pair:
    """Eager and compiled, each a `Subject`, with the same module and batches."""

    def __init__(self, job: Job) -> None:
        self.job = job
        set_precision(job.cell)
        self.loaded = load_job(job)
        self.device = torch.device(job.cell.device)
        self.sensors = None if self.device.type == "cpu" else Sensors(self.device)
        self.had_other_processes = False
        self._replays = self.device.type == "cuda" and job.cell.compile_mode.partition(":")[0] in REPLAYING
        self._eager_reserved_gb: float | None = None  # before compiling, where compiled will reserve memory for graphs
        self._compiled_module: Any = None
        self._cuts: dict[str, None] = {}
        self.traffic_bytes: list[int] = []  # of each compiled graph, unless it came from a cache
        self.eager = Subject(lambda number: self._call(self.loaded.module, number))
        self.compiled = Subject(lambda number: self._call(self._compiled_module, number))

    def _call(self, module: Any, number: int) -> Any:
        """Run forward and wait for the device."""
        output = self.forward(module, number)
        self.synchronize()
        return output

    def forward(self, module: Any, number: int) -> Any:
        """Start a call as a service does."""
        with autocast(self.job.cell):
            return module(**self.loaded.batches[number % len(self.loaded.batches)])

    def synchronize(self) -> None:
        """Wait for the device. A CPU is always done."""
        if self.device.type != "cpu":
            torch.accelerator.synchronize(self.device)

    def find_other_processes(self) -> bool:
        """Return whether another process uses the device, or did so at an earlier call."""
        self.had_other_processes = self.had_other_processes or bool(self.sensors and self.sensors.other_processes())
        return self.had_other_processes

    def output(self, subject: Subject) -> accuracy.Tensors:
        """Return a copy of the output for the first batch. CUDA graphs reuse the memory of their outputs."""
        return accuracy.tensors(subject.call(0))

    def note_reserved_memory(self) -> None:
        """Measure what eager reserves alone: once CUDA graphs are recorded, their memory cannot be told apart."""
        if self._replays:
            with PeakMemory(self.device) as memory:
                timed(self.eager, PEAK_CALLS)
            self._eager_reserved_gb = memory.reserved_gb

    def compile(self) -> tuple[float, ...]:
        """Compile, and return the latencies in ms of the calls until the model is ready. The first one includes the
        import of Inductor."""
        cell, start, self.traffic_bytes, self._cuts = self.job.cell, time.perf_counter(), [], {}
        graphs.reset()  # with CUDA, it imports Inductor
        noting: AbstractContextManager[dict[str, None]] = graphs.cut_reasons() if self._replays else nullcontext({})
        with roofline.inductor_traffic() as traffic_bytes, noting as cuts:
            imported_ms = (time.perf_counter() - start) * 1e3
            self._compiled_module = VARIANTS[cell.variant].start(self.loaded.module, self.loaded.batches[0], Path())
            try:
                first, *others = timed(self.compiled, FIRST_CALLS)
            finally:
                self.traffic_bytes, self._cuts = traffic_bytes, cuts
        return imported_ms + first, *others

    def inspect_graphs(self) -> Graphs:
        """Return what Dynamo did, and how many CUDA graphs a warm call replays. Compiled code may be lost after it."""
        replays = graphs.replayed(lambda: timed(self.compiled, 1)) if self._replays else None
        with autocast(self.job.cell):
            return graphs.inspect(self.loaded.module, self.loaded.batches[0], replays, self._cuts)

    def release_compiled(self) -> None:
        """Release the memory of the compiled model, as far as the device still responds."""
        self._compiled_module = None
        with suppress(Exception):
            graphs.reset()
            _release(self.device)

    def warm_up_compiled(self) -> None:
        """Warm up until no more frames are compiled."""
        for _ in range(WARM_UPS):
            frames = graphs.compiled_frames()
            self.compiled.warmup_ms.clear()
            warm_up(self.compiled, self.job.sampling)
            if graphs.compiled_frames() == frames:
                return

    def with_resources(self, subject: Subject, variant: Samples | None) -> Samples:
        """Return the variant with its peak memory.

        With CUDA graphs, compiled allocates nothing, and reserves the graphs' own pool beside all else. What eager
        reserves is then that of `note_reserved_memory`.
        """
        with PeakMemory(self.device) as memory:
            timed(subject, PEAK_CALLS)
        is_eager = subject is self.eager
        return msgspec.structs.replace(
            variant or Samples(),
            peak_memory_gb=None if self._replays and not is_eager else memory.allocated_gb,
            peak_reserved_gb=self._eager_reserved_gb if self._replays and is_eager else memory.reserved_gb,
        )

    def with_device_time(self, subject: Subject, variant: Samples | None) -> Samples:
        """Return the variant with its device time on a CUDA device: no other can be held while a call is queued.

        Raises `NotHeldError` if this one could not be held either.
        """
        variant = variant or Samples()
        if self.device.type != "cuda" or torch.version.hip:
            return variant
        module = self.loaded.module if subject is self.eager else self._compiled_module
        latency_ms = float(np.median(subject.medians_ms()))
        taken = device_ms(self.device, lambda number: self.forward(module, number), latency_ms)
        return msgspec.structs.replace(variant, device_ms=taken)
