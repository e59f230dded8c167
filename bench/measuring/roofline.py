"""Measure both sides of a roofline: the work of a model and the peak rates of the device. Imports torch.

`work` takes a module and one batch, and returns its `Work`: floating-point operations, and the bytes that eager
operations read and write, assuming no cache. `peaks` takes a device and a data type, and returns its `Peaks`, measured
with a matrix product and a copy.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import torch

from bench.measuring.operations import OperationCounter
from bench.records.record import Peaks, Work

PEAK_S = 0.3
"""Seconds per peak, enough for the clock to settle and for several repetitions."""

LONG_S = 0.02
"""Seconds of a product that is large enough to make launch overhead negligible."""

SMALLEST_PRODUCT, LARGEST_PRODUCT = 256, 8192
"""Rows of the square matrices, doubled until a product takes `LONG_S`. A CPU may be slow in 16-bit types."""

COPY_BYTES = {"cpu": 128 * 2**20}
"""More than any cache holds, and still quick to allocate."""

COPY_BYTES_ELSEWHERE = 1024 * 2**20
"""On an accelerator, where allocation is always quick."""

FAULT_BYTES, FAULT_REPETITIONS = 32 * 2**20, 3
"""Fresh memory to touch: thousands of pages."""


def work(module: torch.nn.Module, inputs: Mapping[str, Any]) -> Work:
    """Count the work of one eager call by running it."""
    with torch.no_grad(), OperationCounter() as counter:
        module(**inputs)
    return Work(
        flop=float(counter.flop),
        traffic_bytes=float(counter.traffic_bytes),
        streamed_bytes=float(counter.streamed_bytes),
        convolution_flop=float(counter.convolution_flop),
    )


@contextmanager
def inductor_traffic() -> Iterator[list[int]]:
    """Collect the memory traffic of each graph that Inductor compiles within the context, in bytes, as it counts it.

    Like `work`, it counts the operands of each kernel and nothing within a fused kernel.
    """
    from torch._inductor.graph import GraphLowering  # noqa: PLC0415 - takes seconds

    graphs: list[int] = []
    compile_to_module = GraphLowering.compile_to_module

    def counted(graph: GraphLowering) -> Any:
        try:
            return compile_to_module(graph)
        finally:
            with suppress(Exception):  # not a public interface; without it, only one cause stays unknown
                graphs.append(sum(node.get_read_write_buffers_sizes() for node in graph.scheduler.nodes))

    GraphLowering.compile_to_module = counted
    try:
        yield graphs
    finally:
        GraphLowering.compile_to_module = compile_to_module


# ── Peaks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def peaks(device: torch.device, dtype: torch.dtype, clock: Callable[[], float] = time.perf_counter) -> Peaks:
    """Return the best rates of several matrix products and copies, with this process's threads and settings.

    This takes about a second. Operands are random: with equal numbers, few transistors switch, so that a GPU that is
    limited by its power computes faster than it ever does with the numbers of a model.
    """

    def best(operation: Callable[[], object]) -> float:
        """Return the seconds of the fastest repetition after the first, which warms up."""
        return min(list(_repeated(operation, device, clock))[1:])

    def product_flop_s() -> float:
        rows, operation = _large_product(device, dtype, clock)
        return 2 * rows**3 / best(operation)

    with torch.no_grad():
        matmul_flop_s, convolution_flop_s = product_flop_s(), None
        if _is_tf32_for_convolutions_alone(device, dtype):
            with _tf32():
                convolution_flop_s = product_flop_s()
        size = COPY_BYTES.get(device.type, COPY_BYTES_ELSEWHERE)
        source = torch.randint(256, (size,), dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        copy_bytes_s = 2 * size / best(lambda: target.copy_(source))
    return Peaks(
        matmul_flop_s=matmul_flop_s,
        copy_bytes_s=copy_bytes_s,
        page_fault_s=min(_page_fault_s(clock) for _ in range(FAULT_REPETITIONS)) if device.type == "cpu" else None,
        convolution_flop_s=convolution_flop_s,
    )


def _is_tf32_for_convolutions_alone(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether only convolutions may use TF32, torch's default on CUDA."""
    if (device.type, dtype) != ("cuda", torch.float32):
        return False
    return torch.backends.cudnn.allow_tf32 and not torch.backends.cuda.matmul.allow_tf32


@contextmanager
def _tf32() -> Iterator[None]:
    """Let matrix products use TF32 within the context."""
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def _large_product(
    device: torch.device, dtype: torch.dtype, clock: Callable[[], float]
) -> tuple[int, Callable[[], object]]:
    rows = SMALLEST_PRODUCT
    while True:
        a, b = (torch.randn(rows, rows, dtype=dtype, device=device) for _ in range(2))
        out = torch.empty_like(a)

        def operation(a: torch.Tensor = a, b: torch.Tensor = b, out: torch.Tensor = out) -> object:
            return torch.mm(a, b, out=out)

        operation()
        if rows == LARGEST_PRODUCT or _timed(operation, device, clock) >= LONG_S:
            return rows, operation
        rows *= 2


def _repeated(operation: Callable[[], object], device: torch.device, clock: Callable[[], float]) -> Iterator[float]:
    """Yield the seconds of each repetition: at least three, and as many as fit into `PEAK_S`."""
    start, count = clock(), 0
    while count < 3 or clock() - start < PEAK_S:
        yield _timed(operation, device, clock)
        count += 1


def _page_fault_s(clock: Callable[[], float]) -> float:
    """Return the extra seconds of the first write to a page over the second."""
    with mmap.mmap(-1, FAULT_BYTES) as memory:
        buffer = (ctypes.c_char * FAULT_BYTES).from_buffer(memory)
        times = [clock()]
        for _ in range(2):
            ctypes.memset(buffer, 1, FAULT_BYTES)
            times.append(clock())
        del buffer  # `memory` cannot be closed while it is referenced
    first, second = times[1] - times[0], times[2] - times[1]
    return max(0.0, first - second) / (FAULT_BYTES / mmap.PAGESIZE)


def _timed(operation: Callable[[], object], device: torch.device, clock: Callable[[], float]) -> float:
    start = clock()
    operation()
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
    return clock() - start
