"""Check that the compiled model computes the same as eager.

`compare` takes the outputs of eager, of compiled, and of eager in a higher precision, and returns an `Accuracy`;
`is_within_tolerance` judges it. All errors are relative to the size of the reference tensor: a DeepLab with random
weights outputs about 1e-22, where absolute differences mean nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from bench.records.record import Accuracy, Cell, lowers

Tensors = list[torch.Tensor]

ROUNDING = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
"""Largest error that passes without a reference, because rounding explains it: a share of the tensor's largest
magnitude."""

TOLERANCE = {torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 1e-2}
"""A tenth of this is added to the permitted root-mean-square error. The value for float32 is that of PyTorch's own
benchmark for inference with Hugging Face and timm models. A smaller one would judge the memory layout instead of the
compiler: eager in channels-last format deviates from float64 as much as the compiled DETR with ResNet-101 does (2.1e-5,
while plain eager has 8.8e-7), because oneDNN then sums in a different order."""

LOWERED = 0.1
"""The largest error that passes, likewise, for a variant in a lower precision than eager. It is meant to deviate, and
readers see how much; beyond this, it computes something else."""

RMSE_MULTIPLIER = 3.0
"""Permitted ratio between the errors of compiled and eager, due to different orders of summation. The dynamo benchmarks
of PyTorch use 2 to 10."""


def tensors(output: Any) -> Tensors:
    """Return the floating-point tensors of a model's output, in order, detached and on the CPU."""
    found = [each for each in tree_leaves(output) if isinstance(each, torch.Tensor)]
    return [tensor.detach().cpu() for tensor in found if tensor.is_floating_point()]


def are_identical(first: Tensors, second: Tensors) -> bool:
    """Return whether two runs gave identical results, where nan equals nan."""
    return len(first) == len(second) and all(
        a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
        for a, b in zip(first, second, strict=True)
    )


def relative_error(result: Tensors, reference: Tensors) -> float:
    """Return the largest deviation of any tensor, as a share of its largest magnitude.

    The result is inf if shapes, infinities or nans differ.
    """
    return _worst(result, reference, lambda values: values.abs().max())


def relative_rmse(result: Tensors, reference: Tensors) -> float:
    """Return the largest root-mean-square error of any tensor, as a share of the tensor's root mean square."""
    return _worst(result, reference, lambda values: values.square().mean().sqrt())


def _worst(result: Tensors, reference: Tensors, size: Callable[[torch.Tensor], torch.Tensor]) -> float:
    if len(result) != len(reference):
        return math.inf
    return max((_deviation(a, b, size) for a, b in zip(result, reference, strict=True)), default=0.0)


def _deviation(result: torch.Tensor, reference: torch.Tensor, size: Callable[[torch.Tensor], torch.Tensor]) -> float:
    if result.shape != reference.shape:
        return math.inf
    result, reference = result.double(), reference.double()
    known = torch.isfinite(reference)
    if not torch.allclose(result[~known], reference[~known], rtol=0, atol=0, equal_nan=True):
        return math.inf
    if not known.any():
        return 0.0
    error, scale = float(size(result[known] - reference[known])), float(size(reference[known]))
    if not math.isfinite(error):
        return math.inf
    return error / scale if scale else math.inf if error else 0.0


def is_within_tolerance(accuracy: Accuracy, cell: Cell) -> bool:
    """Return whether compiled is as accurate as eager: nearly equal to it, or about as close to the reference."""
    dtype = rounding_type(cell)
    if accuracy.max_relative_error <= (LOWERED if lowers(cell.variant) else ROUNDING[dtype]):
        return True
    if accuracy.rmse_compiled is None or accuracy.rmse_eager is None or not is_finite(accuracy):
        return False  # such as from an eager output of NaNs, beside which any error is small
    return accuracy.rmse_compiled <= RMSE_MULTIPLIER * accuracy.rmse_eager + TOLERANCE[dtype] / 10


def rounding_type(cell: Cell) -> torch.dtype:
    """Return the data type whose rounding explains errors of the cell. TF32 has the mantissa of float16, ten bits."""
    dtype: torch.dtype = getattr(torch, "float16" if cell.tf32 else cell.dtype)
    return dtype


def is_finite(accuracy: Accuracy) -> bool:
    """Return whether all errors are finite. Others cannot be recorded, since JSON has no inf."""
    errors = (accuracy.max_relative_error, accuracy.rmse_eager or 0.0, accuracy.rmse_compiled or 0.0)
    return all(map(math.isfinite, errors))


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute float32 in full precision within the context.

    By default, CUDA's convolutions round their operands to TF32, which is no more precise than float16.
    """
    # Not torch.set_float32_matmul_precision: it sets the CPU as well, and refuses to be read once the two differ.
    matmul, cudnn = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = matmul, cudnn


def describe(accuracy: Accuracy) -> str:
    """Return the reason of a failed comparison, in one line."""
    if not math.isfinite(accuracy.max_relative_error):
        return "compiled gives other shapes, or numbers where eager gives none"
    deviates = f"compiled deviates from eager by {accuracy.max_relative_error:.2g} of the largest magnitude"
    if accuracy.rmse_compiled is None:
        return f"{deviates}; no reference in higher precision could be computed"
    dtype, compiled, eager = accuracy.reference_dtype, accuracy.rmse_compiled, accuracy.rmse_eager
    return f"{deviates}; rms from {dtype}: {compiled:.2g}, eager {eager:.2g}"


def compare(eager: Tensors, compiled: Tensors, reference: Tensors | None = None, reference_dtype: str = "") -> Accuracy:
    """Return the errors of compiled against eager, and of both against the reference if there is one."""
    return Accuracy(
        max_relative_error=relative_error(compiled, eager),
        rmse_eager=relative_rmse(eager, reference) if reference else None,
        rmse_compiled=relative_rmse(compiled, reference) if reference else None,
        reference_dtype=reference_dtype if reference else None,
    )
