"""Report what Dynamo did: graphs, breaks with reasons, recompilations, CUDA-graph skips, and compile time by phase.

Call `reset` before compiling and `inspect` afterwards: it reads torch's own counters, and traces a model again only to
locate its graph breaks. Imports torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import torch
import torch._dynamo as dynamo
from torch._dynamo.utils import (
    CompilationMetrics,
    clear_compilation_metrics,
    counters,
    get_compilation_metrics,
    set_compilation_metrics_limit,
)

from bench.errors import counted
from bench.records.record import PHASES, GraphBreak, Graphs
from bench.records.scrub import one_line

MOST_FRAMES = 100_000
"""Compiled frames whose metrics torch keeps for us. Its own limit of 64 is below what a model with many graph breaks
has, and hides that it still compiles."""


def reset() -> None:
    """Clear earlier compilations and counters, so that counts belong to the model compiled next."""
    dynamo.reset()
    set_compilation_metrics_limit(MOST_FRAMES)
    clear_compilation_metrics()
    counters.clear()


def compiled_frames() -> int:
    """Return the number of frames compiled so far. Compiling is over when it no longer grows."""
    return len(get_compilation_metrics())


def left_eager() -> str | None:
    """Return why the model compiled since `reset` runs in eager mode, wholly or in part, or None if it was compiled.

    Neither raises anything: a backend may skip frames, as Inductor does with a data type that the device lacks, and an
    environment variable disables all compiling. Graph breaks and what Dynamo itself skips are no such case.
    """
    metrics = get_compilation_metrics()
    skipped = sum(each.backend_compile_time_s is not None and each.graph_op_count is None for each in metrics)
    if skipped:
        share = f"{skipped} of {counted(len(metrics), 'frame')}"
        return f"the backend skipped {share}, which stay eager: the device may lack the data type"
    if counters["stats"]["unique_graphs"]:
        return None
    is_disabled = dynamo.config.disable or os.environ.get("TORCHDYNAMO_DISABLE") == "1"
    told = "TORCH_COMPILE_DISABLE or TORCHDYNAMO_DISABLE is set" if is_disabled else "Dynamo captured no graph"
    return f"nothing was compiled, and the model stays eager: {told}"


def inspect(
    module: torch.nn.Module, inputs: Mapping[str, Any], replays: int | None = None, cuts: Iterable[str] = ()
) -> Graphs:
    """Return what was compiled since `reset`. A recompilation does not count as a graph.

    `replays`: of one call, by `replayed`, if the mode promises CUDA graphs. `cuts`: reasons from `cut_reasons`.
    """
    metrics = get_compilation_metrics()
    recompiles = sum(bool(compilation.recompile_reason) for compilation in metrics)
    breaks = tuple(GraphBreak(reason=one_line(reason)) for reason in counters["graph_break"])
    skips = tuple(dict.fromkeys(reason for compilation in metrics if (reason := compilation.cudagraph_skip_reason)))
    if not skips and counters["inductor"]["cudagraph_skips"] and _is_on_cuda(inputs):
        skips = ("for a reason that torch counts but does not keep",)
    if not skips and replays == 0:
        skips = tuple(cuts) or ("no CUDA graph is replayed, for a reason that torch does not tell",)
    return Graphs(
        graphs=max(0, counters["stats"]["unique_graphs"] - recompiles),
        breaks=(_located_breaks(module, inputs) or breaks) if breaks else (),
        recompiles=recompiles,
        cudagraph_skips=tuple(map(one_line, skips)),
        replays=replays,
        cuts=tuple(map(one_line, cuts)) if replays else (),
    )


def replayed(call: Callable[[], object]) -> int:
    """Return the number of CUDA graphs that a call replays. A graph that was cut has several."""
    replay, count = torch.cuda.CUDAGraph.replay, 0

    def counting(graph: torch.cuda.CUDAGraph) -> None:
        nonlocal count
        count += 1
        replay(graph)

    with patch.object(torch.cuda.CUDAGraph, "replay", counting):
        call()
    return count


@contextmanager
def cut_reasons() -> Iterator[dict[str, None]]:
    """Collect why Inductor cuts operations out of the CUDA graphs of what it compiles within the context.

    torch only logs these reasons. Code from a cache was cut before, so its reasons are unknown.
    """
    from torch._inductor.scheduler import Scheduler  # noqa: PLC0415 - takes seconds

    reasons: dict[str, None] = {}
    graph_partition = Scheduler.graph_partition

    def noted(scheduler: Scheduler) -> Any:
        partitions, signatures = graph_partition(scheduler)
        with suppress(Exception):  # not a public interface
            for nodes, signature in zip(partitions, signatures, strict=True):
                told = map(scheduler.should_partition, nodes if signature.skip_cudagraph else ())
                reasons.update(dict.fromkeys(each for each in told if isinstance(each, str)))  # once, a bool
        return partitions, signatures

    with patch.object(Scheduler, "graph_partition", noted):
        yield reasons


def _located_breaks(module: torch.nn.Module, inputs: Mapping[str, Any]) -> tuple[GraphBreak, ...]:
    dynamo.reset()
    try:
        reasons = dynamo.explain(module)(**inputs).break_reasons
    except Exception:  # noqa: BLE001 - `explain` fails for some models that compile; the counters have the reasons
        return ()
    return tuple(GraphBreak(reason=one_line(each.reason), location=_location(each.user_stack)) for each in reasons)


def _location(stack: Any) -> str | None:
    return one_line(f"{stack[-1].filename}:{stack[-1].lineno}") if stack else None


def _is_on_cuda(inputs: Mapping[str, Any]) -> bool:
    return any(value.is_cuda for value in inputs.values())


BATCHES = (1, 2, 3)
"""Multiples of the cell's batch size, tried in order. By the third, Dynamo treats the size as dynamic."""


@torch.no_grad()
def batch_size_recompiles(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], dynamic: bool | None) -> int:
    """Return how many frames Dynamo traces again for other batch sizes. Clears earlier compilations.

    A copy of the module runs on the meta device, which computes nothing. A model whose shapes depend on values cannot
    do that and runs as it is; its exceptions are raised.
    """
    with suppress(Exception):
        meta_inputs = {name: value.to("meta") for name, value in inputs.items()}
        return _recompiles(deepcopy(module).to("meta"), meta_inputs, dynamic)
    return _recompiles(module, inputs, dynamic)


def _recompiles(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], dynamic: bool | None) -> int:
    reset()
    traced = torch.compile(module, backend="eager", dynamic=dynamic)
    for multiple in BATCHES:
        traced(**{name: torch.cat([value] * multiple) for name, value in inputs.items()})
    return sum(bool(compilation.recompile_reason) for compilation in get_compilation_metrics())


def phases_s() -> dict[str, float]:
    """Return the seconds spent compiling since `reset`, by the `PHASES` of a record."""
    metrics = get_compilation_metrics()
    frames, backend, inductor = (
        _total(metrics, name)
        for name in ("entire_frame_compile_time_s", "backend_compile_time_s", "inductor_compile_time_s")
    )
    seconds = frames - backend, backend - inductor, inductor
    return {phase: round(each, 3) for phase, each in zip(PHASES, seconds, strict=True)}


def _total(metrics: list[CompilationMetrics], name: str) -> float:
    return sum(getattr(compilation, name) or 0.0 for compilation in metrics)
