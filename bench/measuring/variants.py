"""How a model may run: one table, from which commands take the names and a worker what to call.

`start` takes the module, the first batch and the folder that `build` left, and returns what to call with each batch.
It may change neither the module, which eager runs beside it, nor the batch. To add a variant, add it here.
Imports torch only to start one.

    python -m bench run --variant compile:reduce-overhead
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.records.record import COMPILE_MODES

if TYPE_CHECKING:
    import torch

Call = Callable[..., Any]
"""Takes a batch as keyword arguments, and returns the output of the model."""


@dataclass(frozen=True)
class Variant:
    """One way to run a model, which is compared with eager."""

    name: str
    start: Callable[[torch.nn.Module, Mapping[str, torch.Tensor], Path], Call]
    build: Callable[[torch.nn.Module, Mapping[str, torch.Tensor], Path], None] | None = None  # in an earlier process
    same_process: bool = True  # else eager runs in a process of its own, before or after this one
    needs: str | None = None  # a package besides torch


def _compiled(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, **options: Any) -> Call:
    import torch  # noqa: PLC0415 - as above

    return torch.compile(module, **options)


def _marked(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str) -> Call:
    """Compile for any batch size, and for the image size of the first batch alone."""
    import torch  # noqa: PLC0415

    compiled = torch.compile(module, mode=mode)

    def call(**inputs: torch.Tensor) -> Any:
        for value in inputs.values():
            if len(value) > 1:  # torch compiles a size of 1 for itself
                torch._dynamo.maybe_mark_dynamic(value, 0)  # noqa: SLF001 - as its documentation does
        return compiled(**inputs)

    return call


def _regions(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str) -> Call:
    """Compile each block of the kind that repeats the most parameters, so that all blocks share their code."""
    weights = {id(each): each for each in (*module.parameters(), *module.buffers())}
    twin = deepcopy(module, weights)  # with the same weights; compiling its blocks leaves eager as it is
    kinds: dict[type, list[torch.nn.Module]] = {}
    for each in twin.modules():
        kinds.setdefault(type(each), []).append(each)

    def repeated(blocks: list[torch.nn.Module]) -> float:
        parameters = sum(each.numel() for block in blocks for each in block.parameters() if any(block.children()))
        return parameters * (1 - 1 / len(blocks))

    blocks = max(kinds.values(), key=repeated)
    if not repeated(blocks):
        raise RuntimeError("the model has no repeated blocks to compile one by one")
    for block in blocks:
        block.compile(mode=mode)
    return twin


def _given_layout(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str) -> Call:
    """Compile without turning convolutions to channels last, which Inductor does by itself."""
    import torch  # noqa: PLC0415
    from torch._inductor import list_mode_options  # noqa: PLC0415

    return torch.compile(module, options=list_mode_options(mode) | {"layout_optimization": False})


def _channels_last(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path) -> Call:
    """Run eager with weights and images in channels-last format."""
    import torch  # noqa: PLC0415

    twin = deepcopy(module).to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def call(**inputs: torch.Tensor) -> Any:
        images = {
            name: value.contiguous(memory_format=torch.channels_last) if value.dim() == 4 else value
            for name, value in inputs.items()
        }
        return twin(**images)

    return call


def _of_mode(mode: str) -> tuple[Variant, ...]:
    name = f"compile:{mode}"
    return (
        Variant(name, partial(_compiled, mode=mode)),
        Variant(f"{name}:dynamic", partial(_compiled, mode=mode, dynamic=True)),
        Variant(f"{name}:static", partial(_compiled, mode=mode, dynamic=False)),
        Variant(f"{name}:marked", partial(_marked, mode=mode)),
        Variant(f"{name}:regions", partial(_regions, mode=mode)),
        Variant(f"{name}:given-layout", partial(_given_layout, mode=mode)),
    )


VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        *(variant for mode in COMPILE_MODES for variant in _of_mode(mode)),
        Variant("eager:channels_last", _channels_last),
    )
}
