"""Busy time of a device: the union of what it does, also where a call waits in between."""

from __future__ import annotations

import time

import pytest
import torch
from conftest import THOROUGH

from bench.measuring.build import load
from bench.measuring.device_time import CALLS, busy_ms, covered
from bench.plans.messages import Recipe
from bench.plans.models import BY_LABEL

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0.0),
        ([(0, 2), (3, 5)], 4.0),
        ([(3, 5), (0, 4)], 5.0),  # of two streams
        ([(0, 10), (2, 3), (4, 12)], 12.0),
    ],
)
def test_kernels_that_overlap_are_counted_once(intervals: list[tuple[float, float]], length: float) -> None:
    assert covered(intervals) == length


@pytest.mark.parametrize("label", BY_LABEL if THOROUGH else ("ResNet", "Mask2former", "OwlViT"))
def test_every_model_has_a_busy_time_of_at_most_its_latency(label: str) -> None:
    """Mask2former and Maskformer launch over a thousand kernels a call; DETRs and OwlViT wait within it."""
    recipe = Recipe(model=label, task=BY_LABEL[label].task, shrunken=True)
    loaded = load(recipe, batch_size=1, batches=1, dtype=torch.float32, device=CPU)
    latencies_ms = []

    def call(_number: int) -> None:
        start = time.perf_counter()
        with torch.inference_mode():
            loaded.module(**loaded.batches[0])
            time.sleep(0.02)  # as a host that keeps the device waiting
        latencies_ms.append((time.perf_counter() - start) * 1e3)

    found = busy_ms(CPU, call)
    assert len(found) == CALLS
    assert all(0 < busy < latency - 19 for busy, latency in zip(found, latencies_ms[-CALLS:], strict=True))


def test_a_device_that_the_profiler_does_not_know_has_no_busy_time() -> None:
    assert busy_ms(torch.device("meta"), lambda _: None) == ()
