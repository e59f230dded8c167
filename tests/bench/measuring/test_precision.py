"""Autocast and TF32: both arms compute in the precision of their cell, or the cell fails and says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import torch
from test_worker_process import job as plain_job
from torch.utils._python_dispatch import TorchDispatchMode

from bench.measuring import trial
from bench.measuring.pair import Pair, set_precision
from bench.measuring.rounds import Subject
from bench.plans.messages import Job
from bench.plans.profiles import PRECISIONS, Sampling
from bench.records.record import Cell, Status

AUTOCAST = "autocast-bfloat16"


def job(precision: str, **changes: Any) -> Job:
    plain = plain_job("ResNet", sampling=Sampling(inputs=2), shrunken=True)
    return msgspec.structs.replace(plain, cell=msgspec.structs.replace(plain.cell, **PRECISIONS[precision], **changes))


class Watched(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the data type of each convolution, and how often weights are cast."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._weights = {each.data_ptr() for each in module.parameters()}
        self.convolutions: Counter[torch.dtype] = Counter()
        self.casts = 0

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.convolution.default:
            self.convolutions[args[0].dtype] += 1
        self.casts += func is torch.ops.aten._to_copy.default and args[0].data_ptr() in self._weights
        return func(*args, **(kwargs or {}))


def watched(variants: Pair, subject: Subject) -> Watched:
    seen = Watched(variants.loaded.module)
    with torch.no_grad(), seen:
        subject.call(0)
    return seen


def test_under_autocast_weights_and_inputs_stay_in_float32_and_are_cast_in_each_call() -> None:
    variants = Pair(job(AUTOCAST))
    module, (batch, _) = variants.loaded.module, variants.loaded.batches
    assert {each.dtype for each in (*module.parameters(), batch["pixel_values"])} == {torch.float32}
    first, second = (watched(variants, variants.eager) for _ in range(2))
    assert {*first.convolutions} == {*second.convolutions} == {torch.bfloat16}
    assert first.casts == second.casts >= sum(first.convolutions.values())
    assert not torch.is_autocast_enabled("cpu"), "it ends with the call"


def test_an_autocast_that_torch_would_ignore_fails_with_a_reason() -> None:
    """torch warns, and computes in float32: the row of another precision would hold figures of float32."""
    unsupported = job("float32", autocast=True)
    with pytest.warns(UserWarning, match="not supported"):
        outcome = trial.run(unsupported, lambda _: None)
    assert (outcome.status, outcome.measurement) == (Status.FAIL_TO_RUN, None)
    assert outcome.reason == "RuntimeError: there is no autocast to float32 on this cpu device"


@pytest.fixture
def _restored() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def of(precision: str, device: str = "cuda") -> Cell:
    return job(precision, device=device).cell


@pytest.mark.usefixtures("_restored")
def test_products_use_tf32_where_the_cell_says_so_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_tf32_supported", lambda: True)
    for precision in ("TF32", "float32", "TF32", "float16"):
        set_precision(of(precision))
        assert torch.backends.cuda.matmul.allow_tf32 is (precision == "TF32")
    torch.backends.cuda.matmul.allow_tf32 = True  # as TORCH_ALLOW_TF32_CUBLAS_OVERRIDE does at the start
    set_precision(of("float32"))
    assert not torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cudnn.allow_tf32, "convolutions keep torch's default"


@pytest.mark.parametrize(
    ("supported", "override", "told"),
    [
        (False, None, "this GPU has no TF32"),
        (True, "0", "NVIDIA_TF32_OVERRIDE=0 overrules the precision of TF32: unset it"),
    ],
)
@pytest.mark.usefixtures("_restored")
def test_a_cell_in_tf32_is_not_measured_without_it(
    supported: bool, override: str | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_tf32_supported", lambda: supported)
    if override:
        monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", override)
    with pytest.raises(RuntimeError, match=told):
        set_precision(of("TF32"))
    if override:  # convolutions would lose TF32, which the record says they may use
        with pytest.raises(RuntimeError, match="overrules the precision of float32"):
            set_precision(of("float32"))
    set_precision(of("float16"))
