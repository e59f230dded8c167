"""Dynamo's report: one graph, a break with its reason and location, a recompilation."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

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


def test_another_shape_is_a_recompilation_not_another_graph(compiled: Compile) -> None:
    seen = compiled(Model(), (2, 4), (3, 4))
    assert (seen.graphs, seen.recompiles) == (1, 1)


def test_compiling_stands_still_when_nothing_is_new(compiled: Compile) -> None:
    compiled(Model(), (2, 4))
    frames = graphs.compiled_frames()
    assert frames >= 1
    compiled(Model(), (2, 4), (2, 4))
    assert graphs.compiled_frames() == frames


def test_compiling_goes_on_beyond_the_frames_whose_metrics_torch_keeps() -> None:
    def add(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    graphs.reset()
    counts = []
    for number in range(70):
        function = FunctionType(add.__code__.replace(co_name=f"add_{number}"), globals())
        torch.compile(function, backend="eager")(torch.ones(1))
        counts.append(graphs.compiled_frames())
    assert counts == [*range(1, 71)]


# ── CUDA graphs ───────────────────────────────────────────────────────────────────────────────────────────────────────


class CudaGraph:
    """Takes the place of `torch.cuda.CUDAGraph`; graph trees call `replay` through an attribute, as here."""

    def __init__(self) -> None:
        self.replays = 0

    def replay(self) -> None:
        self.replays += 1


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[CudaGraph]:
    monkeypatch.setattr(torch.cuda, "CUDAGraph", CudaGraph)
    return [CudaGraph() for _ in range(3)]


def test_replays_are_those_of_one_call(recorded: list[CudaGraph]) -> None:
    def call() -> None:
        for graph in recorded:  # of one graph in three partitions
            graph.replay()

    original = CudaGraph.replay
    call()
    assert graphs.replayed(call) == 3
    assert graphs.replayed(lambda: None) == 0
    call()
    assert [graph.replays for graph in recorded] == [3, 3, 3], "a counted replay is one, too"
    assert CudaGraph.replay is original


def test_a_call_that_fails_is_no_longer_counted(recorded: list[CudaGraph]) -> None:
    original = CudaGraph.replay

    def call() -> None:
        recorded[0].replay()
        raise torch.OutOfMemoryError

    with pytest.raises(torch.OutOfMemoryError):
        graphs.replayed(call)
    assert CudaGraph.replay is original


@pytest.mark.parametrize(
    ("replays", "cuts", "skips", "kept"),
    [
        (None, (), (), ()),  # the mode promises none
        (1, (), (), ()),
        (2, ("cpu ops",), (), ("cpu ops",)),
        (0, ("cpu ops",), ("cpu ops",), ()),
        (0, (), ("no CUDA graph is replayed, for a reason that torch does not tell",), ()),  # no counter, no reason
    ],
)
def test_where_no_cuda_graph_is_replayed_they_were_skipped(
    replays: int | None, cuts: tuple[str, ...], skips: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    graphs.reset()
    seen = graphs.inspect(Model(), {"x": torch.ones(1)}, replays, cuts)
    assert (seen.replays, seen.cudagraph_skips, seen.cuts) == (replays, skips, kept)


@pytest.mark.parametrize(("cut", "reasons"), [(True, ["cpu ops"]), (False, [])])
def test_what_inductor_cuts_out_of_a_cuda_graph_is_told_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, *, cut: bool, reasons: list[str]
) -> None:
    """The real scheduler: only the devices of its nodes are made up, and no code is compiled."""
    from torch._inductor.graph import GraphLowering
    from torch._inductor.scheduler import BaseSchedulerNode, SchedulerNode

    def is_gpu(node: BaseSchedulerNode) -> bool:
        return not (cut and isinstance(node, SchedulerNode))  # the products are external kernels

    def only_generate(graph: GraphLowering) -> None:
        graph.codegen()
        raise RuntimeError("Stop")

    def call(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ w) @ w

    monkeypatch.setattr(BaseSchedulerNode, "is_gpu", is_gpu)
    monkeypatch.setattr(GraphLowering, "compile_to_module", only_generate)
    graphs.reset()
    options = torch._inductor.config.patch(
        {"force_disable_caches": True, "cpp.vec_isa_ok": False, "triton.cudagraphs": True}
    )
    with torch.no_grad(), graphs.cut_reasons() as found, options, pytest.raises(Exception, match="Stop"):
        torch.compile(call)(torch.ones(8, 8), torch.ones(8, 8))
    assert list(found) == reasons
    seen = graphs.inspect(Model(), {"x": torch.ones(1)}, 2, found)
    assert (list(seen.cuts), seen.cudagraph_skips) == (reasons, ())


def test_the_phases_of_compiling_add_up_to_something(compiled: Compile) -> None:
    compiled(Model(), (2, 4))
    phases = graphs.phases_s()
    assert set(phases) == {"dynamo", "aot_autograd", "inductor"}
    assert sum(phases.values()) > 0


@pytest.mark.parametrize(("dynamic", "recompiles"), [(None, 1), (True, 0), (False, 2)])
def test_other_batch_sizes_are_traced_again_as_dynamic_says(dynamic: bool | None, recompiles: int) -> None:
    assert graphs.batch_size_recompiles(Model(), {"x": torch.ones(2, 4)}, dynamic) == recompiles


def test_a_batch_of_one_is_a_case_of_its_own() -> None:
    assert graphs.batch_size_recompiles(Model(), {"x": torch.ones(1, 4)}, dynamic=True) == 1


def test_a_model_whose_shapes_depend_on_values_is_traced_with_values() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x[torch.where(x > 0)] = 0.0
            return x

    with pytest.raises(Exception, match="meta"):
        Model()(torch.ones(2, 4, device="meta"))
    assert graphs.batch_size_recompiles(Model(), {"x": torch.ones(2, 4)}, dynamic=None) >= 1
