"""Comparison of outputs: relative to their size, in order, and with a reference if the outputs differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch
from test_executors import job as plain_job
from torch.utils._python_dispatch import TorchDispatchMode

from bench.measuring import accuracy, diagnostics
from bench.measuring.accuracy import (
    are_identical,
    compare,
    describe,
    full_precision,
    is_finite,
    is_within_tolerance,
    relative_error,
    relative_rmse,
    rounding_type,
    tensors,
)
from bench.measuring.build import Loaded
from bench.plans.messages import Job
from bench.plans.profiles import PRECISIONS
from bench.records.record import Accuracy

ONES = [torch.ones(4, 4)]


def test_outputs_are_flattened_in_order_and_integers_left_out() -> None:
    output = {
        "logits": torch.zeros(2),
        "ids": torch.zeros(2, dtype=torch.long),
        "more": (torch.ones(3), [torch.ones(4)]),
    }
    assert [tuple(each.shape) for each in tensors(output)] == [(2,), (3,), (4,)]


@pytest.mark.parametrize("scale", [1.0, 1e-22, 1e9])
def test_errors_do_not_depend_on_the_size_of_the_output(scale: float) -> None:
    reference = [torch.tensor([1.0, -2.0, 4.0], dtype=torch.float64) * scale]
    result = [reference[0] + torch.tensor([0.0, 0.0, 0.04], dtype=torch.float64) * scale]
    assert relative_error(result, reference) == pytest.approx(0.01)
    assert relative_rmse(result, reference) == pytest.approx(0.04 / math.sqrt(21))


def test_the_worst_tensor_counts() -> None:
    assert relative_error([ONES[0], ONES[0] * 1.5], [ONES[0], ONES[0]]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "result",
    [[], [torch.ones(4, 5)], [torch.full((4, 4), math.nan)], [torch.full((4, 4), math.inf)]],
    ids=["missing", "shape", "nan", "inf"],
)
def test_what_cannot_be_compared_is_infinitely_wrong(result: list[torch.Tensor]) -> None:
    found = compare(ONES, result)
    assert found.max_relative_error == math.inf
    assert not is_finite(found)
    assert not is_within_tolerance(found, torch.float32)
    assert "shapes" in describe(found)


def test_nans_at_the_same_places_agree() -> None:
    values = torch.tensor([1.0, math.nan, math.inf])
    assert relative_error([values], [values.clone()]) == 0.0
    assert are_identical([values], [values.clone()])
    assert not are_identical([values], [torch.tensor([1.0, math.nan, 2.0])])


def test_zero_everywhere_agrees_with_zero_and_nothing_else() -> None:
    zeros = [torch.zeros(3)]
    assert relative_error(zeros, zeros) == 0.0
    assert relative_error([torch.ones(3)], zeros) == math.inf


def test_rounding_passes_and_more_than_rounding_does_not() -> None:
    assert is_within_tolerance(Accuracy(max_relative_error=9e-5), torch.float32)
    assert not is_within_tolerance(Accuracy(max_relative_error=2e-4), torch.float32)
    assert is_within_tolerance(Accuracy(max_relative_error=5e-3), torch.float16)


def test_far_from_eager_but_as_near_to_the_reference_passes() -> None:
    near = Accuracy(max_relative_error=1e-3, rmse_eager=4e-4, rmse_compiled=5e-4)
    far = Accuracy(max_relative_error=1e-3, rmse_eager=1e-6, rmse_compiled=5e-4)
    assert is_within_tolerance(near, torch.float32)
    assert not is_within_tolerance(far, torch.float32)


def test_another_memory_layout_of_the_same_model_passes() -> None:
    """Measured with DETR ResNet-101: eager in channels-last format has the same errors as compiled."""
    channels_last = Accuracy(max_relative_error=3.8e-4, rmse_eager=8.8e-7, rmse_compiled=2.1e-5)
    wrong = Accuracy(max_relative_error=3.8e-3, rmse_eager=8.8e-7, rmse_compiled=2.1e-4)
    assert is_within_tolerance(channels_last, torch.float32)
    assert not is_within_tolerance(wrong, torch.float32)


# ── The reference ───────────────────────────────────────────────────────────────────────────────────────────────────


PRODUCTS = {torch.ops.aten.mm.default: 0, torch.ops.aten.bmm.default: 0, torch.ops.aten.addmm.default: 1}
"""Matrix products, and the position of their first operand; the second follows."""


class Gpu(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Multiply as CUDA does: where torch allows TF32, operands in float32 lose all but 10 bits of mantissa."""

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, at = list(args), None
        if func is torch.ops.aten.convolution.default and torch.backends.cudnn.allow_tf32:
            at = 0
        elif torch.backends.cuda.matmul.allow_tf32:
            at = PRODUCTS.get(func)
        if at is not None:
            args[at : at + 2] = map(_in_tf32, args[at : at + 2])
        return func(*args, **(kwargs or {}))


def _in_tf32(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    return ((value.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def test_tf32_has_ten_bits() -> None:
    ulp = 2.0**-10
    values = torch.tensor([1.0, 1 + ulp, 1 + 0.4 * ulp, 1 + 0.6 * ulp, -3.0])
    assert _in_tf32(values).tolist() == [1.0, 1 + ulp, 1.0, 1 + ulp, -3.0]


def job(precision: str) -> Job:
    plain = plain_job()
    return msgspec.structs.replace(plain, cell=msgspec.structs.replace(plain.cell, **PRECISIONS[precision]))


def judged(
    precision: str, module: torch.nn.Module, inputs: torch.Tensor, eager: list[torch.Tensor], result: list[torch.Tensor]
) -> Accuracy:
    """Return the errors as the worker computes them for a cell on such a GPU."""
    variants: Any = SimpleNamespace(
        job=job(precision),
        loaded=Loaded(module, ({"input": inputs},)),
        device=torch.device("cpu"),
    )
    with Gpu():  # type: ignore[no-untyped-call]
        return diagnostics.compared(variants, eager, result)


@torch.no_grad()
def test_a_reference_in_tf32_would_condemn_a_right_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half precision is compared with float32. In TF32, float32 makes the rounding errors of eager, and no others."""
    offset, difference = torch.nn.Conv2d(1, 1, 1), torch.nn.Conv2d(1, 1, (1, 2), bias=False)
    offset.weight.fill_(1.0)
    torch.nn.init.constant_(offset.bias, 100.0)  # type: ignore[arg-type]
    difference.weight.copy_(torch.tensor([1.0, -1.0]).view(1, 1, 1, 2))
    images = torch.randn(1, 1, 32, 32, generator=torch.Generator().manual_seed(0)).half()
    module = torch.nn.Sequential(offset, difference)
    compiled = tensors(module(images.float()).half())  # as if fused: only the result is rounded
    eager = tensors(module.half()(images))

    def errors() -> Accuracy:
        return judged("float16", module, images, eager, compiled)

    assert torch.backends.cudnn.allow_tf32, "the default of torch"
    right = errors()
    assert right.reference_dtype == "float32"
    assert right.rmse_eager is not None
    assert right.rmse_compiled is not None
    assert 10 * right.rmse_compiled < right.rmse_eager
    assert is_within_tolerance(right, torch.float16)
    monkeypatch.setattr(accuracy, "full_precision", nullcontext)
    assert not is_within_tolerance(errors(), torch.float16)


OFFSET = 7.0
"""Makes eager in TF32 wrong by 2% of the result: more than the tolerance, less than an error."""


class Network(torch.nn.Module):
    """A convolution and two products without bias, so that the order of the products does not matter. `offset` is added
    in between, and all but cancels: what is left is mostly rounding error."""

    def __init__(self, offset: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.convolution = torch.nn.Conv2d(3, 8, 3)
        self.first, self.second = torch.nn.Linear(8, 64, bias=False), torch.nn.Linear(64, 16, bias=False)
        self.second.weight -= self.second.weight.mean(dim=1, keepdim=True)
        self.offset = offset

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002
        features = self.convolution(input).mean(dim=(2, 3))
        result: torch.Tensor = self.second(self.first(features) + self.offset)
        return result


@pytest.fixture
def _tf32() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


IMAGES = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def in_tf32(module: torch.nn.Module) -> list[torch.Tensor]:
    with Gpu():  # type: ignore[no-untyped-call]
        return tensors(module(IMAGES))


def in_another_order(module: Network) -> list[torch.Tensor]:
    """As if compiled: both products as one, whose operands are rounded elsewhere."""
    fused = torch.nn.Linear(8, 16)
    fused.weight.copy_(module.second.weight @ module.first.weight)
    fused.bias.copy_(module.offset * module.second.weight.sum(dim=1))
    with Gpu():  # type: ignore[no-untyped-call]
        return tensors(fused(module.convolution(IMAGES).mean(dim=(2, 3))))


@torch.no_grad()
@pytest.mark.usefixtures("_tf32")
def test_what_tf32_rounds_passes_in_a_cell_of_tf32_and_in_no_other() -> None:
    module = Network()
    eager, exact = in_tf32(module), tensors(module(IMAGES))
    compiled = in_another_order(module)
    for result in (compiled, exact):
        found = judged("TF32", module, IMAGES, eager, result)
        assert 1e-4 < found.max_relative_error < 5e-3
        assert is_within_tolerance(found, torch.float16)
    assert rounding_type(job("TF32").cell) is torch.float16
    hidden = judged("float32", module, IMAGES, exact, compiled)  # only compiled uses TF32
    assert not is_within_tolerance(hidden, rounding_type(job("float32").cell))


@torch.no_grad()
@pytest.mark.usefixtures("_tf32")
@pytest.mark.parametrize("offset", [0.0, OFFSET])
@pytest.mark.parametrize("wrong", [lambda x: 1.2 * x, lambda x: -x, lambda x: x.roll(1, -1), torch.zeros_like])
def test_an_error_is_found_in_a_cell_of_tf32(offset: float, wrong: Callable[[torch.Tensor], torch.Tensor]) -> None:
    module = Network(offset)
    found = judged("TF32", module, IMAGES, in_tf32(module), [wrong(each) for each in in_tf32(module)])
    assert not is_within_tolerance(found, torch.float16)


@torch.no_grad()
@pytest.mark.usefixtures("_tf32")
def test_a_better_result_than_eager_passes_in_tf32_because_the_reference_has_full_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = Network(OFFSET)
    eager, exact = in_tf32(module), tensors(module(IMAGES))
    found = judged("TF32", module, IMAGES, eager, exact)
    assert found.max_relative_error > 1e-2, "rounding alone would condemn it"
    assert (found.reference_dtype, found.rmse_compiled) == ("float32", 0.0)
    assert is_within_tolerance(found, torch.float16)
    monkeypatch.setattr(accuracy, "full_precision", nullcontext)
    assert not is_within_tolerance(judged("TF32", module, IMAGES, eager, exact), torch.float16)


def test_full_precision_ends_with_the_reference() -> None:
    def allowed() -> list[bool]:
        return [torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32]

    before = allowed()
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        with suppress(NotImplementedError), full_precision():
            assert allowed() == [False, False]
            raise NotImplementedError
        assert allowed() == [True, before[1]]
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before[0]
