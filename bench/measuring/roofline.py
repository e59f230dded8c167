"""What a model has to do, and what the device could do: the two sides of a roofline. Imports torch: workers only.

Enter a module and one batch, leave its `Work`: floating-point operations, and bytes that eager moves between memory and
its operations, as if no cache held anything between two. Enter a device and a data type, leave its `Peaks`, measured
with nothing but a matrix product and a copy.

    python -m bench run --model ResNet
"""

from __future__ import annotations

import ctypes
import math
import mmap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from bench.records.record import Peaks, Work

aten = torch.ops.aten

NO_TRAFFIC = {aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten.new_empty_strided}
"""Reserve memory, and touch none of it."""

VIEWS = {aten._unsafe_view, aten._reshape_alias}  # noqa: SLF001 - that is what they are called
"""Views whose schema doesn't say so."""

CONVOLUTIONS = {aten.convolution, aten._convolution, aten.cudnn_convolution}  # noqa: SLF001 - as above
"""What has a setting of its own for TF32."""

GATHERS = {aten.embedding, aten.index, aten.index_select, aten.gather}
"""Read of their first tensor no more than they write."""

PEAK_S = 0.3
"""For each of the two peaks: enough for the clock to settle and for the best of several repetitions."""

LONG_S = 0.02
"""A product that takes so long is large enough: what starting it costs is lost in it."""

SMALLEST_PRODUCT, LARGEST_PRODUCT = 256, 8192
"""Rows of the square matrices. Doubled until a product is long: a CPU may be slow in a 16-bit type."""

COPY_BYTES = {"cpu": 128 * 2**20}
"""More than any cache holds, and quickly allocated …"""

COPY_BYTES_ELSEWHERE = 1024 * 2**20
"""… which on an accelerator it always is."""

FAULT_BYTES, FAULT_REPETITIONS = 32 * 2**20, 3
"""Fresh memory to touch: thousands of pages."""


class _Ledger(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up, operation by operation, what runs below it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flop = 0
        self.convolution_flop = 0
        self.traffic_bytes = 0
        self.streamed_bytes = 0

    def __torch_dispatch__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        packet = func.overloadpacket
        formula = _formula(packet)
        if formula:
            flop = formula(*args, **(kwargs or {}), out_val=output)
            self.flop += flop
            self.convolution_flop += flop if packet in CONVOLUTIONS else 0
        if not func.is_view and packet not in VIEWS | NO_TRAFFIC:
            traffic = _traffic(packet, (args, kwargs), output)
            self.traffic_bytes += traffic
            self.streamed_bytes += 0 if formula else traffic
        return output


def _formula(packet: Any) -> Callable[..., int] | None:
    """Of torch's own counter, which knows the fused attention of CUDA but not that of a CPU: it's the same work."""
    if packet not in flop_registry and "scaled_dot_product" in packet.__name__:
        packet = aten._scaled_dot_product_flash_attention  # noqa: SLF001 - as above
    formula: Callable[..., int] | None = flop_registry.get(packet)
    return formula


def _traffic(packet: Any, inputs: Any, output: Any) -> int:
    read = [_bytes(each) for each in tree_leaves(inputs) if isinstance(each, torch.Tensor)]
    written = [_bytes(each) for each in tree_leaves(output) if isinstance(each, torch.Tensor)]
    if packet in GATHERS:
        read[0] = min(read[0], sum(written))
    return sum(read) + sum(written)


def _bytes(tensor: torch.Tensor) -> int:
    """Of distinct elements: an expanded dimension is read from the same place again."""
    return tensor.element_size() * math.prod(
        size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride
    )


def work(module: torch.nn.Module, inputs: Mapping[str, Any], compiled_traffic_bytes: float | None = None) -> Work:
    """What one eager call does, found by doing it; `compiled_traffic_bytes` is known from `inductor_traffic`."""
    with torch.no_grad(), _Ledger() as ledger:
        module(**inputs)
    return Work(
        flop=float(ledger.flop),
        traffic_bytes=float(ledger.traffic_bytes),
        streamed_bytes=float(ledger.streamed_bytes),
        compiled_traffic_bytes=compiled_traffic_bytes,
        convolution_flop=float(ledger.convolution_flop),
    )


@contextmanager
def inductor_traffic() -> Iterator[list[int]]:
    """Bytes that the kernels of each graph read and write which Inductor compiles meanwhile, by its own account.

    It counts as `work` does: what an operation needs, and nothing for what stays within a fused kernel.
    """
    from torch._inductor.graph import GraphLowering  # noqa: PLC0415 - all of Inductor, which takes seconds

    graphs: list[int] = []
    compile_to_module = GraphLowering.compile_to_module

    def counted(graph: GraphLowering) -> Any:
        try:
            return compile_to_module(graph)
        finally:
            with suppress(Exception):  # that account is not public: without it one cause is unknown, and nothing else
                graphs.append(sum(node.get_read_write_buffers_sizes() for node in graph.scheduler.nodes))

    GraphLowering.compile_to_module = counted  # type: ignore[assignment, method-assign]
    try:
        yield graphs
    finally:
        GraphLowering.compile_to_module = compile_to_module  # type: ignore[method-assign]


# ── Peaks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def peaks(device: torch.device, dtype: torch.dtype, clock: Callable[[], float] = time.perf_counter) -> Peaks:
    """The best of several matrix products and copies, with this process's threads and settings, in about a second."""

    def best(operation: Callable[[], object]) -> float:
        """Seconds of the fastest repetition; the first only warms up."""
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
        source = torch.ones(size, dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        copy_bytes_s = 2 * size / best(lambda: target.copy_(source))
    return Peaks(
        matmul_flop_s=matmul_flop_s,
        copy_bytes_s=copy_bytes_s,
        page_fault_s=min(_page_fault_s(clock) for _ in range(FAULT_REPETITIONS)) if device.type == "cpu" else None,
        convolution_flop_s=convolution_flop_s,
    )


def _is_tf32_for_convolutions_alone(device: torch.device, dtype: torch.dtype) -> bool:
    """As torch has it on CUDA unless told otherwise."""
    if (device.type, dtype) != ("cuda", torch.float32):
        return False
    return torch.backends.cudnn.allow_tf32 and not torch.backends.cuda.matmul.allow_tf32


@contextmanager
def _tf32() -> Iterator[None]:
    """Products use it meanwhile."""
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
        a, b = (torch.ones(rows, rows, dtype=dtype, device=device) for _ in range(2))
        out = torch.empty_like(a)

        def operation(a: torch.Tensor = a, b: torch.Tensor = b, out: torch.Tensor = out) -> object:
            return torch.mm(a, b, out=out)

        operation()
        if rows == LARGEST_PRODUCT or _timed(operation, device, clock) >= LONG_S:
            return rows, operation
        rows *= 2


def _repeated(operation: Callable[[], object], device: torch.device, clock: Callable[[], float]) -> Iterator[float]:
    """Seconds of each repetition: at least three, and as many as `PEAK_S` holds."""
    start, count = clock(), 0
    while count < 3 or clock() - start < PEAK_S:
        yield _timed(operation, device, clock)
        count += 1


def _page_fault_s(clock: Callable[[], float]) -> float:
    """Seconds by which the first write to a page takes longer than the second."""
    with mmap.mmap(-1, FAULT_BYTES) as memory:
        buffer = (ctypes.c_char * FAULT_BYTES).from_buffer(memory)
        times = [clock()]
        for _ in range(2):
            ctypes.memset(buffer, 1, FAULT_BYTES)
            times.append(clock())
        del buffer  # memory that is still referred to can't be given back
    first, second = times[1] - times[0], times[2] - times[1]
    return max(0.0, first - second) / (FAULT_BYTES / mmap.PAGESIZE)


def _timed(operation: Callable[[], object], device: torch.device, clock: Callable[[], float]) -> float:
    start = clock()
    operation()
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
    return clock() - start
