"""Report what Dynamo did: graphs, breaks with reasons, recompilations, CUDA-graph skips, and compile time by phase.

Call `reset` before compiling and `inspect` afterwards: it reads torch's own counters, and traces a model again only to
locate its graph breaks. Imports torch, and Dynamo when it is first asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

from bench.errors import attempt, counted
from bench.records.record import PHASES, GraphBreak, Graphs
from bench.records.scrub import one_line

if TYPE_CHECKING:
    from torch._dynamo.utils import CompilationMetrics

MOST_FRAMES = 100_000
"""Compiled frames whose metrics torch keeps for us. Its own limit of 64 is below what a model with many graph breaks
has, and hides that it still compiles."""


def reset() -> None:
    """Clear earlier compilations and counters, so that counts belong to the model compiled next."""
    from torch._dynamo import reset, utils  # noqa: PLC0415 - takes seconds

    reset()
    utils.set_compilation_metrics_limit(MOST_FRAMES)
    utils.clear_compilation_metrics()
    utils.counters.clear()


def compiled_frames() -> int:
    """Return the number of frames compiled so far. Compiling is over when it no longer grows."""
    return len(_metrics())


def _metrics() -> list[CompilationMetrics]:
    """Return what torch notes of each compiled frame, without what it notes of autotuning and recording at run time."""
    from torch._dynamo.utils import get_compilation_metrics  # noqa: PLC0415 - as above

    return [each for each in get_compilation_metrics() if not each.is_runtime]


def left_eager() -> str | None:
    """Return why the model compiled since `reset` runs in eager mode, wholly or in part, or None if it was compiled.

    Neither raises anything: a backend may skip frames, as Inductor does with a data type that the device lacks, and an
    environment variable disables all compiling. Graph breaks and what Dynamo itself skips are no such case.
    """
    from torch._dynamo.utils import counters  # noqa: PLC0415 - as above

    metrics = _metrics()
    skipped = sum(each.backend_compile_time_s is not None and each.graph_op_count is None for each in metrics)
    if skipped:
        share = f"{skipped} of {counted(len(metrics), 'frame')}"
        return f"the backend skipped {share}, which stay eager: the device may lack the data type"
    if counters["stats"]["unique_graphs"]:
        return None
    is_disabled = torch._dynamo.config.disable or os.environ.get("TORCHDYNAMO_DISABLE") == "1"  # noqa: SLF001
    told = "TORCH_COMPILE_DISABLE or TORCHDYNAMO_DISABLE is set" if is_disabled else "Dynamo captured no graph"
    return f"nothing was compiled, and the model stays eager: {told}"


def inspect(module: torch.nn.Module, inputs: Mapping[str, Any], replays: int | None = None) -> Graphs:
    """Return what was compiled since `reset`. A recompilation does not count as a graph.

    `replays`: of one call, by `replayed`, if the mode promises CUDA graphs.
    """
    from torch._dynamo.utils import counters  # noqa: PLC0415 - as above

    metrics = _metrics()
    recompiles = sum(bool(compilation.recompile_reason) for compilation in metrics)
    breaks = tuple(GraphBreak(reason=one_line(reason)) for reason in counters["graph_break"])
    skips = tuple(dict.fromkeys(reason for compilation in metrics if (reason := compilation.cudagraph_skip_reason)))
    if not skips and counters["inductor"]["cudagraph_skips"] and any(value.is_cuda for value in inputs.values()):
        skips = ("for a reason that torch counts but does not keep",)
    if not skips and replays == 0:
        skips = ("no CUDA graph is replayed, for a reason that torch does not tell",)
    return Graphs(
        graphs=max(0, counters["stats"]["unique_graphs"] - recompiles),
        breaks=(_located_breaks(module, inputs) or breaks) if breaks else (),
        recompiles=recompiles,
        cudagraph_skips=tuple(map(one_line, skips)),
        replays=replays,
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


def _located_breaks(module: torch.nn.Module, inputs: Mapping[str, Any]) -> tuple[GraphBreak, ...]:
    torch._dynamo.reset()  # noqa: SLF001 - public functions of a private module
    reasons = attempt(lambda: torch._dynamo.explain(module)(**inputs).break_reasons) or ()  # noqa: SLF001
    found = []
    for each in reasons:
        at = each.user_stack[-1] if each.user_stack else None
        location = one_line(f"{at.filename}:{at.lineno}") if at else None
        found.append(GraphBreak(reason=one_line(each.reason), location=location))
    return tuple(found)


def phases_s() -> dict[str, float]:
    """Return the seconds spent compiling since `reset`, by the `PHASES` of a record."""
    metrics = _metrics()
    frames, backend, inductor = (
        sum(getattr(compilation, f"{name}_compile_time_s", None) or 0.0 for compilation in metrics)
        for name in ("entire_frame", "backend", "inductor")
    )
    seconds = frames - backend, backend - inductor, inductor
    return {phase: round(each, 3) for phase, each in zip(PHASES, seconds, strict=True)}
