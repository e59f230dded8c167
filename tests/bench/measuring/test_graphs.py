"""Dynamo's report: one graph, a break with its reason and location, a recompilation."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from bench.measuring import graphs
from bench.records.record import Graphs

Compile = Callable[..., Graphs]


class Model(torch.nn.Module):
    def __init__(self, *, breaks: bool = False) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.breaks = breaks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x)
        if self.breaks:
            torch._dynamo.graph_break("as the test wants")
        output: torch.Tensor = self.layer(x)
        return output


@pytest.fixture
def compiled() -> Compile:
    def run(model: torch.nn.Module, *shapes: tuple[int, ...]) -> Graphs:
        graphs.reset()
        function = torch.compile(model, backend="aot_eager")
        with torch.no_grad():
            for shape in shapes:
                function(torch.ones(shape))
        return graphs.inspect(model, {"x": torch.ones(shapes[0])})

    return run


def test_a_plain_model_is_one_graph(compiled: Compile) -> None:
    seen = compiled(Model(), (2, 4), (2, 4))
    assert (seen.graphs, seen.breaks, seen.recompiles, seen.cudagraph_skips) == (1, (), 0, ())


def test_a_break_is_told_with_reason_and_place(compiled: Compile) -> None:
    seen = compiled(Model(breaks=True), (2, 4))
    assert seen.graphs == 2
    (found,) = seen.breaks
    assert "as the test wants" in found.reason
    assert found.location is not None
    assert found.location.startswith("test_graphs.py:")


def test_a_break_without_a_place_keeps_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(break_reasons=[SimpleNamespace(reason="in the compiler itself", user_stack=[])])
    monkeypatch.setattr("torch._dynamo.explain", lambda _: lambda **_inputs: found)
    (told,) = graphs._located_breaks(Model(), {})
    assert (told.reason, told.location) == ("in the compiler itself", None)


def test_another_shape_is_a_recompilation_not_another_graph(compiled: Compile) -> None:
    seen = compiled(Model(), (2, 4), (3, 4))
    assert (seen.graphs, seen.recompiles) == (1, 1)


def test_compiling_stands_still_when_nothing_is_new(compiled: Compile) -> None:
    compiled(Model(), (2, 4))
    frames = graphs.compiled_frames()
    assert frames >= 1
    compiled(Model(), (2, 4), (2, 4))
    assert graphs.compiled_frames() == frames


def test_what_torch_notes_while_compiled_code_runs_is_no_frame(compiled: Compile) -> None:
    from torch._dynamo.utils import get_runtime_metrics_context

    compiled(Model(), (2, 4))
    frames = graphs.compiled_frames()
    context = get_runtime_metrics_context()
    context.increment("runtime_triton_autotune_time_us", 5, extra={"is_runtime": True})  # as autotuning does
    context.finish()
    assert graphs.compiled_frames() == frames
    assert graphs.left_eager() is None
