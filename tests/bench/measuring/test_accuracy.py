"""Comparison of outputs: relative to their size, in order, and with a reference if the outputs differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch
from atlas_data import cell
from test_worker_process import job as plain_job

from bench.measuring import diagnostics
from bench.measuring.accuracy import (
    are_identical,
    compare,
    describe,
    is_finite,
    is_within_tolerance,
    relative_error,
    relative_rmse,
    rounding_type,
    tensors,
)
from bench.measuring.build import Loaded
from bench.plans.profiles import PRECISIONS
from bench.records.record import Accuracy, Cell

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


@pytest.mark.parametrize(
    "result",
    [[], [torch.ones(4, 5)], [torch.full((4, 4), math.nan)], [torch.full((4, 4), math.inf)]],
    ids=["missing", "shape", "nan", "inf"],
)
def test_what_cannot_be_compared_is_infinitely_wrong(result: list[torch.Tensor]) -> None:
    found = compare(ONES, result)
    assert found.max_relative_error == math.inf
    assert not is_finite(found)
    assert not is_within_tolerance(found, cell())
    assert "shapes" in describe(found)


def test_nans_at_the_same_places_agree() -> None:
    values = torch.tensor([1.0, math.nan, math.inf])
    assert relative_error([values], [values.clone()]) == 0.0
    assert are_identical([values], [values.clone()])
    assert not are_identical([values], [torch.tensor([1.0, math.nan, 2.0])])


def errors(largest: float, rmse_eager: float | None = None, rmse_compiled: float | None = None) -> Accuracy:
    return Accuracy(max_relative_error=largest, rmse_eager=rmse_eager, rmse_compiled=rmse_compiled)


@pytest.mark.parametrize(
    ("found", "of", "passes"),
    [
        (errors(9e-5), cell(), True),
        (errors(2e-4), cell(), False),  # more than rounding, and no reference
        (errors(5e-3), cell(dtype="float16"), True),
        (errors(1e-3, 4e-4, 5e-4), cell(), True),  # far from eager, and as near to the reference
        (errors(1e-3, 1e-6, 5e-4), cell(), False),
        (errors(3.8e-4, 8.8e-7, 2.1e-5), cell(), True),  # DETR ResNet-101 in channels last, eager as compiled
        (errors(3.8e-3, 8.8e-7, 2.1e-4), cell(), False),
        (errors(0.03), cell(variant="compile:default:int8"), True),  # meant to deviate, but not to be another model
        (errors(0.3), cell(variant="compile:default:int8"), False),
    ],
)
def test_rounding_and_another_order_of_sums_pass(found: Accuracy, of: Cell, passes: bool) -> None:
    assert is_within_tolerance(found, of) is passes


@pytest.fixture
def _restored_tf32() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.parametrize(
    ("precision", "rounding", "reference"),
    [
        ("float32", torch.float32, "float64"),
        ("TF32", torch.float16, "float32"),  # both have ten bits of mantissa
        ("autocast-bfloat16", torch.bfloat16, "float32"),
    ],
)
@pytest.mark.usefixtures("_restored_tf32")
def test_the_reference_is_more_precise_than_the_cell_and_computed_without_tf32(
    precision: str, rounding: torch.dtype, reference: str
) -> None:
    """In TF32, a reference in float32 would make the rounding errors of eager, and condemn a better result."""
    seen = []

    class Network(torch.nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002
            seen.append((input.dtype, torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32))
            return super().forward(input)

    torch.backends.cuda.matmul.allow_tf32 = precision == "TF32"
    plain = plain_job()
    job = msgspec.structs.replace(plain, cell=msgspec.structs.replace(plain.cell, **PRECISIONS[precision]))
    module, batch = Network(4, 4), torch.ones(2, 4)
    pair: Any = SimpleNamespace(job=job, loaded=Loaded(module, ({"input": batch},)), device=torch.device("cpu"))
    exact = module(batch).detach()
    found = diagnostics.compared(pair, [exact * 1.1], [exact])
    assert seen[1:] == [(getattr(torch, reference), False, False)]
    assert rounding_type(job.cell) is rounding
    assert (found.reference_dtype, is_within_tolerance(found, job.cell)) == (reference, True)
