"""Does the compiled model compute the same thing? Pure comparisons of output tensors.

Enter the outputs of eager, of compiled, and of eager in a higher precision; leave an `Accuracy` and whether it passes.
All errors are shares of the size of the reference tensor: an absolute difference says nothing about a model whose
outputs are near 1e-22, as those of a DeepLab with random weights are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from bench.records.record import Accuracy

Tensors = list[torch.Tensor]

ROUNDING = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
"""Largest error, as a share of the largest magnitude of the tensor, that rounding alone explains, without a
reference."""

TOLERANCE = {torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 1e-2}
"""A tenth of it is granted to the root-mean-square error beyond a multiple of eager's. In float32 it is what PyTorch's
own benchmark of compiled models allows for inference with models of Hugging Face and timm. A smaller one would judge
the memory layout, not the compiler: eager with channels last strays as far from float64 as the compiled DETR with a
ResNet-101 does (2.1e-5 against 8.8e-7 for eager as it is), since oneDNN then sums in another order."""

RMSE_MULTIPLIER = 3.0
"""How much further than eager compiled may be from the reference: other orders of summation, same precision (the
dynamo benchmarks of PyTorch use 2 to 10)."""


def tensors(output: Any) -> Tensors:
    """The floating-point tensors of a model's output, in order, detached and on the CPU."""
    return [each.detach().cpu() for each in _walk(output) if each.is_floating_point()]


def _walk(output: Any) -> Iterator[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, dict):
        for value in output.values():
            yield from _walk(value)
    elif isinstance(output, (tuple, list)):
        for value in output:
            yield from _walk(value)


def are_identical(first: Tensors, second: Tensors) -> bool:
    """Whether two runs gave the same bits (nan equals nan)."""
    return len(first) == len(second) and all(
        a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
        for a, b in zip(first, second, strict=True)
    )


def relative_error(result: Tensors, reference: Tensors) -> float:
    """The largest deviation of any tensor as a share of its largest magnitude; inf where shapes or nans differ."""
    if len(result) != len(reference):
        return math.inf
    return max((_deviation(a, b, _largest) for a, b in zip(result, reference, strict=True)), default=0.0)


def relative_rmse(result: Tensors, reference: Tensors) -> float:
    """The largest root-mean-square error of any tensor as a share of that tensor's root mean square."""
    if len(result) != len(reference):
        return math.inf
    return max((_deviation(a, b, _rms) for a, b in zip(result, reference, strict=True)), default=0.0)


def _largest(values: torch.Tensor) -> float:
    return float(values.abs().max()) if values.numel() else 0.0


def _rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt()) if values.numel() else 0.0


def _deviation(result: torch.Tensor, reference: torch.Tensor, size: Callable[[torch.Tensor], float]) -> float:
    if result.shape != reference.shape:
        return math.inf
    result, reference = result.double(), reference.double()
    known = torch.isfinite(reference)
    if not torch.allclose(result[~known], reference[~known], rtol=0, atol=0, equal_nan=True):
        return math.inf
    error, scale = size(result[known] - reference[known]), size(reference[known])
    if not math.isfinite(error):
        return math.inf
    return error / scale if scale else math.inf if error else 0.0


def is_within_tolerance(accuracy: Accuracy, dtype: torch.dtype) -> bool:
    """Whether compiled is as good as eager: within the tolerance of it, or about as near to the reference."""
    if accuracy.max_relative_error <= ROUNDING[dtype]:
        return True
    if accuracy.rmse_compiled is None or accuracy.rmse_eager is None:
        return False
    return accuracy.rmse_compiled <= RMSE_MULTIPLIER * accuracy.rmse_eager + TOLERANCE[dtype] / 10


def is_finite(accuracy: Accuracy) -> bool:
    """Whether all its errors are numbers: other shapes and nans have none, and JSON has no word for inf."""
    errors = (accuracy.max_relative_error, accuracy.rmse_eager or 0.0, accuracy.rmse_compiled or 0.0)
    return all(map(math.isfinite, errors))


def describe(accuracy: Accuracy) -> str:
    """One line for the reason of a failed comparison."""
    if not math.isfinite(accuracy.max_relative_error):
        return "compiled gives other shapes, or numbers where eager gives none"
    text = f"compiled deviates from eager by {accuracy.max_relative_error:.2g} of the largest magnitude"
    if accuracy.rmse_compiled is None:
        return f"{text}; no reference in higher precision could be computed"
    return f"{text}; rms from {accuracy.reference_dtype}: {accuracy.rmse_compiled:.2g}, eager {accuracy.rmse_eager:.2g}"


def compare(eager: Tensors, compiled: Tensors, reference: Tensors | None = None, reference_dtype: str = "") -> Accuracy:
    """The errors of compiled against eager, and of both against the reference where there is one."""
    return Accuracy(
        max_relative_error=relative_error(compiled, eager),
        rmse_eager=relative_rmse(eager, reference) if reference else None,
        rmse_compiled=relative_rmse(compiled, reference) if reference else None,
        reference_dtype=reference_dtype if reference else None,
    )
