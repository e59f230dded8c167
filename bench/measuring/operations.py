"""Count what the forward pass of a model does: floating-point operations and memory traffic. Imports torch.

`OperationCounter` adds up the operations that run within its context.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten

NO_TRAFFIC = {aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten.new_empty_strided}
"""Operations that reserve memory without touching it."""

VIEWS = {aten._unsafe_view, aten._reshape_alias}  # noqa: SLF001 - their names
"""Views whose schema does not say so."""

CONVOLUTIONS = {aten.convolution, aten._convolution, aten.cudnn_convolution}  # noqa: SLF001 - as above

GATHERS = {aten.embedding, aten.index, aten.index_select, aten.gather}
"""Operations that read no more of their first tensor than they write."""


class OperationCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the operations that run within its context. A multiply-accumulate counts as two."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flop = 0
        self.convolution_flop = 0
        self.traffic_bytes = 0  # read and written, assuming no cache
        self.streamed_bytes = 0  # by operations that only move data: neither a product nor a convolution

    def __torch_dispatch__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        packet = func.overloadpacket
        if formula := _formula(packet):
            flop = formula(*args, **kwargs, out_val=output)
            self.flop += flop
            self.convolution_flop += flop if packet in CONVOLUTIONS else 0
            self.traffic_bytes += _traffic(packet, (args, kwargs), output)
        elif not (func.is_view or packet in VIEWS | NO_TRAFFIC):
            moved = _traffic(packet, (args, kwargs), output)
            self.traffic_bytes += moved
            self.streamed_bytes += moved
        return output


def _formula(packet: Any) -> Callable[..., int] | None:
    """Return the FLOP formula of torch's counter. It lacks fused attention on a CPU, whose work equals that on CUDA."""
    if packet not in flop_registry and "scaled_dot_product" in packet.__name__:
        packet = aten._scaled_dot_product_flash_attention  # noqa: SLF001 - as above
    formula: Callable[..., int] | None = flop_registry.get(packet)
    return formula


def _traffic(packet: Any, inputs: Any, output: Any) -> int:
    read, written = (
        [_bytes(leaf) for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)] for values in (inputs, output)
    )
    if packet in GATHERS:
        read[0] = min(read[0], sum(written))
    return sum(read) + sum(written)


def _bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of distinct elements, counting an expanded dimension once."""
    return tensor.element_size() * math.prod(
        size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride
    )
