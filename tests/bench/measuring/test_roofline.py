"""FLOP and bytes of modules with results known by hand, and plausible peaks."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from bench.measuring import roofline
from bench.measuring.build import load
from bench.measuring.roofline import inductor_traffic, peaks, work
from bench.plans.messages import Recipe
from bench.plans.models import find

CPU = torch.device("cpu")


class Chain(torch.nn.Module):
    """A product, a view of it, and two operations that a compiler fuses."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.relu((x @ w).t() + 1)


def test_a_product_has_two_operations_for_each_multiply_and_views_move_nothing() -> None:
    found = work(Chain(), {"x": torch.ones(8, 16), "w": torch.ones(16, 32)})
    assert found.flop == 2 * 8 * 16 * 32
    product, result = 4 * (8 * 16 + 16 * 32), 4 * 8 * 32
    assert found.traffic_bytes == (product + result) + 2 * result + 2 * result
    assert found.streamed_bytes == 4 * result


def test_an_expanded_tensor_is_read_where_it_lies_and_a_table_where_it_is_looked_up() -> None:
    class Lookup(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(1000, 8)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            row: torch.Tensor = self.table(ids)
            return row.expand(5, 4, 8).exp()

    found = work(Lookup(), {"ids": torch.arange(4)})
    rows = 4 * 4 * 8
    assert found.traffic_bytes == (rows + 4 * 8 + rows) + (rows + 5 * rows)


@pytest.mark.parametrize("label", ["ViT", "OwlViT", "Mask2former"])
def test_fused_attention_counts_as_the_plain_one_does(label: str) -> None:
    spec = find(label)
    recipe = Recipe(model=label, task=spec.task, shrunken=True)
    loaded = load(recipe, batch_size=2, batches=1, dtype=torch.float32, device=CPU)
    found = work(loaded.module, loaded.batches[0])
    loaded.module.set_attn_implementation("eager")  # type: ignore[operator]
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        loaded.module(**loaded.batches[0])
    assert found.flop == counter.get_total_flops()
    assert found.traffic_bytes is not None
    assert found.flop / 100 < found.traffic_bytes < found.flop


def test_a_fused_kernel_moves_less_than_eager_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.graph import GraphLowering  # takes seconds, which collecting tests should not

    class Stop(Exception):  # noqa: N818 - no error: the C++ compiler would take long, and tell nothing
        pass

    def only_generate(graph: GraphLowering) -> None:
        graph.codegen()
        raise Stop

    monkeypatch.setattr(GraphLowering, "compile_to_module", only_generate)
    torch._dynamo.reset()
    x, w = torch.ones(8, 16), torch.ones(16, 32)
    # Skip the slow check for vector instructions, which do not affect traffic.
    plain = torch._inductor.config.patch({"force_disable_caches": True, "cpp.vec_isa_ok": False})
    with torch.no_grad(), inductor_traffic() as graphs, plain, pytest.raises(Exception, match="Stop"):
        torch.compile(Chain())(x, w)
    (compiled,) = graphs
    eager = work(Chain(), {"x": x, "w": w}).traffic_bytes
    assert compiled == 4 * (8 * 16 + 16 * 32 + 8 * 32) + 4 * 2 * 8 * 32, "one product and one fused kernel"
    assert eager is not None
    assert compiled < eager


def test_convolutions_and_products_are_counted() -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.Flatten(), torch.nn.Linear(4 * 8 * 8, 5))
    found = work(module, {"input": torch.ones(1, 3, 8, 8)})
    assert found.flop == 2 * 3 * 4 * 8 * 8 + 2 * 4 * 8 * 8 * 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_peaks_are_measured_with_numbers_as_irregular_as_those_of_a_model(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    operands: list[torch.Tensor] = []

    class Operands(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in (torch.ops.aten.mm.out, torch.ops.aten.copy_.default):
                operands.extend(args[-2:] if func is torch.ops.aten.mm.out else args[-1:])
            return func(*args, **(kwargs or {}))

    monkeypatch.setattr(roofline, "PEAK_S", 0.0)
    monkeypatch.setattr(roofline, "LONG_S", 0.0)
    monkeypatch.setattr(roofline, "COPY_BYTES", 2**20)
    with Operands():  # type: ignore[no-untyped-call]
        peaks(CPU, dtype)
    assert {each.dtype for each in operands} == {dtype, torch.uint8}
    for each in operands:
        bits = each.view(torch.uint8).numpy().tobytes()
        assert len(zlib.compress(bits)) > 0.6 * len(bits), "what is regular can be compressed"
