"""Variants: each computes what eager does, and leaves eager as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves
from transformers import ViTConfig, ViTForImageClassification

from bench.measuring.build import Inputs
from bench.measuring.variants import VARIANTS
from bench.records.record import lowers

_compile = torch.compile


BATCH = {"pixel_values": torch.randn(5, 3, 32, 32)}


class Model(torch.nn.Sequential):
    def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
        return super().forward(pixel_values)  # type: ignore[no-any-return, no-untyped-call]


class Block(torch.nn.Sequential):
    """Repeats, unlike its container."""


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    """Two blocks with what a variant may not change: weights, buffers and their layout."""
    blocks = (Block(torch.nn.Conv2d(3, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU()) for _ in "ab")
    return Model(*blocks, torch.nn.Linear(28, 8)).eval()


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[Any]]]:
    """Capture graphs, and run them as they are. Yields the shapes of the inputs of each."""
    captured: list[list[Any]] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        captured.append([each.shape for each in inputs if isinstance(each, torch.Tensor)])
        return graph.forward

    def compile_(module: Any, *, dynamic: bool | None = None, **_: Any) -> Any:
        return _compile(module, backend=backend, dynamic=dynamic)

    monkeypatch.setattr(torch, "compile", compile_)
    monkeypatch.setattr(
        torch.nn.Module, "compile", lambda self, **_: setattr(self, "forward", _compile(self.forward, backend=backend))
    )
    torch._dynamo.reset()
    yield captured
    torch._dynamo.reset()


def test_values_of_tensors_end_the_graph_unless_they_are_captured(graphs: list[list[Any]], tmp_path: Path) -> None:
    class Reading(torch.nn.Module):
        def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
            return (pixel_values + 1) * pixel_values.sum().item()

    counts = []
    for name in ("compile:default", "compile:default:scalars"):
        torch._dynamo.reset()
        graphs.clear()
        VARIANTS[name].start(Reading(), BATCH, tmp_path)(**BATCH)
        counts.append(len(graphs))
    assert counts == [2, 1]


def of_size(batch: Inputs, size: int) -> Inputs:
    return {name: torch.cat([value[:1]] * size) for name, value in batch.items()}


@pytest.mark.parametrize("name", [name for name in VARIANTS if "max-" not in name and "reduce-" not in name])
def test_a_variant_computes_what_eager_does_and_leaves_it_alone(
    model: torch.nn.Module, graphs: list[list[Any]], name: str, tmp_path: Path
) -> None:
    """The modes differ in what Inductor does, which takes no part here."""
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with torch.inference_mode():
        eager = model(**BATCH)
        if build := VARIANTS[name].build:
            with torch.inference_mode(mode=False):
                build(model, BATCH, tmp_path)
        call = VARIANTS[name].start(model, BATCH, tmp_path)
        found = call(**BATCH)
        [found] = tree_leaves(found)
        tolerance = {"atol": 0.05, "rtol": 0.05} if lowers(name) else {"atol": 1e-5, "rtol": 1e-4}
        torch.testing.assert_close(found, eager, check_dtype=False, **tolerance)
        compiled = len(graphs)
        torch.testing.assert_close(model(**BATCH), eager, atol=0, rtol=0)
    assert bool(compiled) is name.startswith("compile:")
    assert len(graphs) == compiled, "eager is not compiled"
    for key, value in model.state_dict().items():
        assert (torch.equal(value, before[key]), value.stride()) == (True, before[key].stride())


@pytest.mark.parametrize(
    ("suffix", "graphs_of_three_sizes"), [("", 2), (":dynamic", 1), (":static", 3), (":marked", 1)]
)
def test_a_variant_treats_sizes_as_its_name_says(
    model: torch.nn.Module, graphs: list[list[Any]], suffix: str, graphs_of_three_sizes: int
) -> None:
    with torch.no_grad():
        call = VARIANTS[f"compile:default{suffix}"].start(model, BATCH, Path())
        for size in (5, 6, 7):
            call(**of_size(BATCH, size))
    assert len(graphs) == graphs_of_three_sizes


def test_regions_are_compiled_once_for_all_blocks(graphs: list[list[Any]]) -> None:
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "image_size": 32}
    module = ViTForImageClassification(ViTConfig(num_hidden_layers=5, **sizes)).eval()
    batch = {"pixel_values": torch.randn(2, 3, 32, 32)}
    with torch.no_grad():
        call = VARIANTS["compile:default:regions"].start(module, batch, Path())
        torch.testing.assert_close(call(**batch).logits, module(**batch).logits)
    assert len(graphs) == 1


def test_a_model_without_repeated_blocks_has_no_regions() -> None:
    with pytest.raises(RuntimeError, match="no repeated blocks"):
        VARIANTS["compile:default:regions"].start(torch.nn.Linear(2, 2), {}, Path())
