"""Measure both sides of a roofline: the work of a model and the peak rates of the device. Imports torch.

`work` takes a module and one batch, and returns its `Work`: floating-point operations, and the bytes that eager
operations read and write, assuming no cache. `peaks` takes a device and a data type, and returns its `Peaks`, measured
with a matrix product and a copy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, flop_registry, sdpa_flop_count

from bench.records.record import Peaks, Work

aten = torch.ops.aten


def _attention_flop(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    """Count fused attention on a CPU, which torch's counter lacks, from the shapes. Its work equals that on CUDA."""
    return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]


FORMULAS = {aten._scaled_dot_product_flash_attention_for_cpu: _attention_flop}  # noqa: SLF001 - as above

RESERVING = {aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten.new_empty_strided}
VIEWS = {aten._unsafe_view, aten._reshape_alias}  # noqa: SLF001 - whose schema does not say so
GATHERS = {aten.embedding, aten.index, aten.index_select, aten.gather}
"""Operations that read no more of their first tensor than they write."""

PEAK_S = 0.3
"""Seconds per peak, enough for the clock to settle and for several repetitions."""

LONG_S = 0.02
"""Seconds of a product that is large enough to make launch overhead negligible."""

SMALLEST_PRODUCT, LARGEST_PRODUCT = 256, 8192
"""Rows of the square matrices, doubled until a product takes `LONG_S`. A CPU may be slow in 16-bit types."""

COPY_BYTES = 256 * 2**20
"""More than most caches hold, and still quick to allocate."""


# ── Work ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def work(module: torch.nn.Module, inputs: Mapping[str, Any]) -> Work:
    """Count the work of one eager call by running it. A multiply-accumulate counts as two operations."""
    flops, traffic = FlopCounterMode(display=False, custom_mapping=FORMULAS), _TrafficCounter()
    # In inference mode, operations arrive whole that otherwise arrive as their parts.
    with torch.inference_mode(mode=False), torch.no_grad(), flops, traffic:
        module(**inputs)
    return Work(
        flop=float(flops.get_total_flops()),
        traffic_bytes=float(traffic.bytes),
        streamed_bytes=float(traffic.streamed_bytes),
    )


class _TrafficCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes that operations read and write, assuming no cache; and those of operations that only move data:
    neither a product nor a convolution."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = self.streamed_bytes = 0

    def __torch_dispatch__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        packet = func.overloadpacket
        if not (func.is_view or packet in RESERVING | VIEWS):
            read, written = (
                [_bytes(leaf) for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
                for values in ((args, kwargs), output)
            )
            if packet in GATHERS:
                read[0] = min(read[0], sum(written))
            moved = sum(read) + sum(written)
            self.bytes += moved
            self.streamed_bytes += 0 if packet in flop_registry or packet in FORMULAS else moved
        return output


def _bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of distinct elements, counting an expanded dimension once."""
    return tensor.element_size() * math.prod(
        size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride
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

    with patch.object(GraphLowering, "compile_to_module", counted):
        yield graphs


# ── Peaks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def peaks(device: torch.device, dtype: torch.dtype) -> Peaks:
    """Return the best rates of several matrix products and copies, with this process's threads and settings.

    This takes about a second. Operands are random: with equal numbers, few transistors switch, so that a GPU that is
    limited by its power computes faster than it ever does with the numbers of a model.
    """
    rows, product = _large_product(device, dtype)
    source = torch.randint(256, (COPY_BYTES,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return Peaks(
        matmul_flop_s=2 * rows**3 / _fastest_s(product, device),
        copy_bytes_s=2 * COPY_BYTES / _fastest_s(lambda: target.copy_(source), device),
    )


def _large_product(device: torch.device, dtype: torch.dtype) -> tuple[int, Callable[[], object]]:
    """Return the rows of two square matrices, and their product, which takes at least `LONG_S` if they are not full."""
    rows = SMALLEST_PRODUCT
    while True:
        a, b = (torch.randn(rows, rows, dtype=dtype, device=device) for _ in range(2))
        product = partial(torch.mm, a, b, out=torch.empty_like(a))
        product()
        if rows == LARGEST_PRODUCT or _timed_s(product, device) >= LONG_S:
            return rows, product
        rows *= 2


def _fastest_s(operation: Callable[[], object], device: torch.device) -> float:
    """Return the seconds of the fastest repetition after one to warm up: of at least two, in `PEAK_S`."""
    start = time.perf_counter()
    _timed_s(operation, device)
    times = [_timed_s(operation, device) for _ in range(2)]
    while time.perf_counter() - start < PEAK_S:
        times.append(_timed_s(operation, device))
    return min(times)


def _timed_s(operation: Callable[[], object], device: torch.device) -> float:
    start = time.perf_counter()
    operation()
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
    return time.perf_counter() - start
