"""Calls of several sizes: each strategy answers all of them, and the record says what was compiled when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import torch

from bench.measuring import sequence
from bench.measuring.pair import Pair
from bench.plans.messages import Job, Recipe
from bench.plans.plan import make_plan
from bench.plans.profiles import PROFILES, SIZES, Sampling
from bench.records.record import Status

COMPILE = torch.compile


@pytest.fixture(autouse=True)
def _traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trace what is compiled, without machine code."""

    def traced(module: Any, *, dynamic: bool | None = None, **_: Any) -> Any:
        return COMPILE(module, backend="eager", dynamic=dynamic)

    monkeypatch.setattr(torch, "compile", traced)
    yield
    torch._dynamo.reset()


def job(model: str, variant: str) -> Job:
    profile = msgspec.structs.replace(PROFILES["sizes"], variants=(variant,))
    recipe = Recipe(model=model, task="image-classification", shrunken=True)
    [planned] = make_plan(profile, [recipe], "cpu").planned
    return Job(cell=planned.cell, recipe=recipe, sampling=Sampling(inputs=1, warmup_s=0.0, warmup_calls=2))


@pytest.mark.parametrize(
    ("variant", "compilations"), [(":static", 8), ("", 3), (":marked", 2), (":dynamic", 2), (":padded", 1)]
)
def test_each_strategy_compiles_as_often_as_its_name_says(variant: str, compilations: int) -> None:
    with torch.inference_mode():
        found = sequence.run(Pair(job("ViT", f"compile:default{variant}")), lambda _: None)
    assert found.status is Status.PASS, found.reason
    assert len(found.calls) == 48
    assert sum(each.compilations for each in found.calls) == compilations
    assert {each.shape for each in found.calls} == {(images, 64, 64) for images in range(1, SIZES + 1)}
    assert found.calls[0].shape[0] not in (1, SIZES)


def test_a_model_that_takes_any_size_has_images_of_eight_sizes_and_padding_changes_its_answer() -> None:
    padded = job("ResNet", "compile:default:padded")
    assert (padded.cell.sizes, padded.cell.batch_size) == ("images", 1)
    with torch.inference_mode():
        found = sequence.run(Pair(padded), lambda _: None)
    assert {each.shape for each in found.calls} == {(1, 64 + 32 * n, 64 + 32 * n) for n in range(SIZES)}
    assert found.status is Status.FAIL_ACCURACY
