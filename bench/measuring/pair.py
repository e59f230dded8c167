"""Eager and a variant as two `Subject`s of one module: call, compile, warm up, and measure memory.

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
import torch

from bench.measuring import accuracy, graphs, roofline
from bench.measuring.build import Loaded, load
from bench.measuring.device_time import busy_ms
from bench.measuring.environment import PeakMemory
from bench.measuring.rounds import Subject, timed, warm_up
from bench.measuring.sensors import Sensors
from bench.measuring.variants import VARIANTS, Call
from bench.plans.messages import Job
from bench.records.record import Cell, Graphs, Samples, Start

FIRST_CALLS = 3
"""Calls until a compiled model is ready: the first compiles; with CUDA graphs, the second warms up and the third
records."""

WARM_UPS = 3
"""Maximum number of warm-ups of a compiled model that still compiles."""

ARTIFACTS = "artifacts.bin"
"""The file in the folder of a cell that holds what torch.compile saved of it."""

OUTPUTS = "outputs.pt"
"""The file there in which eager leaves its outputs for a variant that runs in another process."""

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
    override = os.environ.get("NVIDIA_TF32_OVERRIDE")
    if override and cell.dtype == "float32":
        raise RuntimeError(f"NVIDIA_TF32_OVERRIDE={override} overrules the precision of {cell.precision}: unset it")
    torch.backends.cuda.matmul.allow_tf32 = cell.tf32


def autocast(cell: Cell) -> AbstractContextManager[object]:
    """Return a context for one call of the model, eager or compiled: autocast if the cell has it.

    A service enters autocast in each request, so each call here does. What that takes, some microseconds, is part of
    both latencies, and so is casting the weights: torch keeps cast weights no longer than the outermost autocast.
    """
    return torch.autocast(cell.device, getattr(torch, cell.dtype)) if cell.autocast else nullcontext()


def gradient_mode(cell: Cell) -> AbstractContextManager[object]:
    """Return a context for all calls of a cell. Build the model outside of it, as programs do."""
    return torch.no_grad() if cell.grad_mode == "no_grad" else torch.inference_mode()


class Pair:
    """Eager and the job's variant, each a `Subject`, with the same module and batches."""

    def __init__(self, job: Job) -> None:
        self.job = job
        set_precision(job.cell)
        self.loaded = load_job(job)
        self.device = torch.device(job.cell.device)
        self.sensors = None if self.device.type == "cpu" else Sensors(self.device)
        self.had_other_processes = False
        kind, _, mode = job.cell.variant.partition(":")
        self.is_compiled = kind == "compile"
        self.replays = self.is_compiled and self.device.type == "cuda" and mode.partition(":")[0] in REPLAYING
        self._eager_reserved_gb: float | None = None  # before compiling, where compiled will reserve memory for graphs
        self._started: Call | None = None
        self.traffic_bytes: list[int] = []  # of each compiled graph, unless it came from a cache
        self.eager = self.subject(self.loaded.module)
        self.compiled = Subject(lambda number: self._call(self._started, number))

    def subject(self, call: Call) -> Subject:
        """Return a subject that calls the model in some way, with the batches in turn."""
        return Subject(lambda number: self._call(call, number))

    def _call(self, call: Any, number: int) -> Any:
        """Call as a service does, and wait for the device. A CPU is always done."""
        with autocast(self.job.cell):
            output = call(**self.loaded.batches[number % len(self.loaded.batches)])
        if self.device.type != "cpu":
            torch.accelerator.synchronize(self.device)
        return output

    def find_other_processes(self) -> bool:
        """Return whether another process uses the device, or did so at an earlier call."""
        self.had_other_processes = self.had_other_processes or bool(self.sensors and self.sensors.other_processes())
        return self.had_other_processes

    def output(self, subject: Subject) -> accuracy.Tensors:
        """Return a copy of the output for the first batch. CUDA graphs reuse the memory of their outputs."""
        return accuracy.tensors(subject.call(0))

    def note_reserved_memory(self) -> None:
        """Measure what eager reserves alone: once CUDA graphs are recorded, their memory cannot be told apart."""
        if self.replays:
            with PeakMemory(self.device) as memory:
                timed(self.eager, 1)
            self._eager_reserved_gb = memory.reserved_gb

    def start(self, variant: str) -> Call:
        """Return the model as a variant calls it. Copies of the module that this makes are made as programs do."""
        with torch.inference_mode(mode=False):
            return VARIANTS[variant].start(self.loaded.module, self.loaded.batches[0], Path(self.job.folder))

    def compile(self) -> tuple[float, ...]:
        """Start the variant, and return the latencies in ms of the calls until it is ready."""
        self.traffic_bytes = []
        counting: AbstractContextManager[list[int]] = nullcontext([])
        if self.is_compiled:
            graphs.reset()
            counting = roofline.inductor_traffic()
        with counting as traffic_bytes:
            start = time.perf_counter()
            if self.job.start == "artifacts":
                torch.compiler.load_cache_artifacts(Path(self.job.folder, ARTIFACTS).read_bytes())
            self._started = self.start(self.job.cell.variant)
            started_ms = (time.perf_counter() - start) * 1e3
            try:
                first, *others = timed(self.compiled, FIRST_CALLS)
            finally:
                self.traffic_bytes = traffic_bytes
        return started_ms + first, *others

    def needs_gb(self) -> dict[Start, float]:
        """Return the size of what later processes need to start. One that starts cold saves artifacts if it shall."""
        folder = Path(self.job.folder)
        if self.job.start == "loaded":
            built = (each for each in folder.iterdir() if each.name != OUTPUTS)
            return {"loaded": sum(each.stat().st_size for each in built) / 1e9}
        if self.job.start != "cold" or not self.is_compiled:
            return {}
        kept = sum(each.stat().st_size for each in (folder.parent / "compiled").rglob("*") if each.is_file())
        sizes: dict[Start, float] = {"warm": kept / 1e9}
        if self.job.saves_artifacts and (saved := torch.compiler.save_cache_artifacts()):
            (folder / ARTIFACTS).write_bytes(saved[0])
            sizes["artifacts"] = len(saved[0]) / 1e9
        return sizes

    def inspect_graphs(self) -> Graphs:
        """Return what Dynamo did, and how many CUDA graphs a warm call replays. Compiled code may be lost after it."""
        replays = graphs.replayed(lambda: timed(self.compiled, 1)) if self.replays else None
        with autocast(self.job.cell):
            return graphs.inspect(self.loaded.module, self.loaded.batches[0], replays)

    def release_compiled(self) -> None:
        """Release the memory of the compiled model, as far as the device still responds."""
        self._started = None
        with suppress(Exception):
            if self.is_compiled:
                graphs.reset()
            gc.unfreeze()  # sampling freezes what exists, compiled code too
            gc.collect()
            if self.device.type != "cpu":
                torch.accelerator.empty_cache()

    def warm_up_compiled(self) -> None:
        """Warm up until no more frames are compiled."""
        for _ in range(WARM_UPS):
            frames = graphs.compiled_frames() if self.is_compiled else 0
            self.compiled.warmup_ms.clear()
            warm_up(self.compiled, self.job.sampling)
            if not self.is_compiled or graphs.compiled_frames() == frames:
                return

    def with_resources(self, subject: Subject, samples: Samples | None) -> Samples:
        """Return the samples with the peak memory of one call, as if its batch were the only one on the device.

        With CUDA graphs, compiled allocates nothing, and reserves the graphs' own pool beside all else. What eager
        reserves is then that of `note_reserved_memory`.
        """
        with PeakMemory(self.device) as memory:  # both have already allocated what they keep
            timed(subject, 1)
        is_eager = subject is self.eager
        others = (value for batch in self.loaded.batches[1:] for value in batch.values())
        others_gb = sum(value.nbytes for value in others) / 1e9
        reserved_gb = self._eager_reserved_gb if self.replays and is_eager else memory.reserved_gb
        allocated, reserved = (
            None if peak_gb is None else round(max(0.0, peak_gb - others_gb), 6)
            for peak_gb in (memory.allocated_gb, reserved_gb)
        )
        return msgspec.structs.replace(
            samples or Samples(),
            peak_memory_gb=None if self.replays and not is_eager else allocated,
            peak_reserved_gb=reserved,
        )

    def with_device_time(self, subject: Subject, samples: Samples | None) -> Samples:
        """Return the samples with the busy time of an accelerator; a CPU waits for nothing."""
        taken = () if self.device.type == "cpu" else busy_ms(self.device, subject.call)
        return msgspec.structs.replace(samples or Samples(), device_ms=taken)
