"""What Dynamo saw: graphs, breaks with reasons, recompilations, CUDA-graph skips, and where compiling took its time.

Reads torch's own counters after the fact. `reset` starts them anew; only a model that broke is traced a second time,
for the places of its breaks. Imports torch: workers only.

    python -m bench run --model ViT --dynamic true
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

import torch
import torch._dynamo as dynamo
from torch._dynamo.utils import CompilationMetrics, clear_compilation_metrics, counters, get_compilation_metrics

from bench.records.record import PHASES, GraphBreak, Graphs
from bench.records.scrub import one_line


def reset() -> None:
    """Drop what earlier compilations left behind, so that counts belong to the model compiled next."""
    dynamo.reset()
    clear_compilation_metrics()
    counters.clear()


def compiled_frames() -> int:
    """How many frames have been compiled so far: when it stands still, compiling is over."""
    return len(get_compilation_metrics())


def inspect(module: torch.nn.Module, inputs: Mapping[str, Any]) -> Graphs:
    """What was compiled since `reset`. A recompilation is not counted as one more graph."""
    metrics = get_compilation_metrics()
    recompiles = sum(bool(each.recompile_reason) for each in metrics)
    breaks = counters["graph_break"]
    skips = {each.cudagraph_skip_reason: None for each in metrics if each.cudagraph_skip_reason}
    if not skips and counters["inductor"]["cudagraph_skips"] and _is_on_cuda(inputs):
        skips = {"for a reason that torch counts but does not keep": None}
    return Graphs(
        graphs=max(0, counters["stats"]["unique_graphs"] - recompiles),
        breaks=_places(module, inputs) or tuple(GraphBreak(reason=one_line(reason)) for reason in breaks)
        if breaks
        else (),
        recompiles=recompiles,
        cudagraph_skips=tuple(one_line(reason) for reason in skips),
    )


def _places(module: torch.nn.Module, inputs: Mapping[str, Any]) -> tuple[GraphBreak, ...]:
    dynamo.reset()
    try:
        explanation = dynamo.explain(module)(**inputs)
    except Exception:  # noqa: BLE001 - a model that compiles may still not be explained; the reasons are counted anyway
        return ()
    return tuple(
        GraphBreak(reason=one_line(each.reason), location=_place(each.user_stack)) for each in explanation.break_reasons
    )


def _place(stack: Any) -> str | None:
    return one_line(f"{stack[-1].filename}:{stack[-1].lineno}") if stack else None


def _is_on_cuda(inputs: Mapping[str, Any]) -> bool:
    return any(value.is_cuda for value in inputs.values())


BATCHES = (1, 2, 3)
"""Batches so many times as large as the cell's follow each other: by the third, Dynamo knows that the size changes."""


@torch.no_grad()
def batch_size_recompiles(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], dynamic: bool | None) -> int:
    """How many frames Dynamo traces again when other batch sizes follow. Forgets what was compiled before.

    Nothing is computed: a copy of the module without data runs on the meta device. Only a model whose shapes depend on
    values, which there are none of, runs as it is. Raises what a model raises then.
    """
    with suppress(Exception):
        return _recompiles(
            deepcopy(module).to("meta"), {name: each.to("meta") for name, each in inputs.items()}, dynamic
        )
    return _recompiles(module, inputs, dynamic)


def _recompiles(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], dynamic: bool | None) -> int:
    reset()
    traced = torch.compile(module, backend="eager", dynamic=dynamic)
    for times in BATCHES:
        traced(**{name: torch.cat([value] * times) for name, value in inputs.items()})
    return sum(bool(each.recompile_reason) for each in get_compilation_metrics())


def phases_s() -> dict[str, float]:
    """Seconds spent compiling since `reset`, by the `PHASES` of a record."""
    metrics = get_compilation_metrics()
    frames, backend, inductor = (
        _total(metrics, name)
        for name in ("entire_frame_compile_time_s", "backend_compile_time_s", "inductor_compile_time_s")
    )
    seconds = frames - backend, backend - inductor, inductor
    return {phase: round(each, 3) for phase, each in zip(PHASES, seconds, strict=True)}


def _total(metrics: list[CompilationMetrics], name: str) -> float:
    return sum(getattr(each, name) or 0.0 for each in metrics)
