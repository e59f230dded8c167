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

PACKAGE = "model.pt2"
"""The file that AOTInductor makes, in the folder of a cell."""

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
    imports: tuple[str, ...] = ()  # modules of torch that `start` needs, which take seconds


def _compiled(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, **options: Any) -> Call:
    import torch  # noqa: PLC0415 - as above

    return torch.compile(module, **options)


def _marked(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str) -> Call:
    """Compile with a dynamic batch size, and with dynamic image sizes for calls of another size than `inputs`."""
    import torch  # noqa: PLC0415

    compiled = torch.compile(module, mode=mode)

    def call(**given: torch.Tensor) -> Any:
        for name, value in given.items():
            for dimension, size in enumerate(value.shape):
                # torch compiles a size of 1 for itself
                if size > 1 and (dimension == 0 or size != inputs[name].shape[dimension]):
                    torch._dynamo.maybe_mark_dynamic(value, dimension)  # noqa: SLF001 - as its documentation does
        return compiled(**given)

    return call


def _padded(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str) -> Call:
    """Compile for the sizes of `inputs` alone: pad what is smaller with zeros, and drop what is beyond the batch."""
    import torch  # noqa: PLC0415
    from torch.utils import _pytree as pytree  # noqa: PLC0415

    compiled = torch.compile(module, mode=mode, dynamic=False)

    def pad(value: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        sizes = zip(reversed(value.shape), reversed(whole.shape), strict=True)
        return torch.nn.functional.pad(value, [end for own, needed in sizes for end in (0, needed - own)])

    def call(**given: torch.Tensor) -> Any:
        output = compiled(**{name: pad(value, inputs[name]) for name, value in given.items()})
        images, padded = len(given["pixel_values"]), len(inputs["pixel_values"])
        return pytree.tree_map_only(torch.Tensor, lambda each: each[: len(each) * images // padded], output)

    return call


def _regions(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str) -> Call:
    """Compile each block of the kind that repeats the most parameters, so that all blocks share their code."""
    from torch import nn  # noqa: PLC0415

    weights = {id(each): each for each in (*module.parameters(), *module.buffers())}
    twin = deepcopy(module, weights)  # with the same weights; compiling its blocks leaves eager as it is
    kinds: dict[type, list[torch.nn.Module]] = {}
    for each in twin.modules():
        if any(each.children()) and type(each) not in (nn.Sequential, nn.ModuleList, nn.ModuleDict):
            kinds.setdefault(type(each), []).append(each)

    def repeated(blocks: list[torch.nn.Module]) -> float:
        parameters = sum(each.numel() for block in blocks for each in block.parameters())
        return parameters * (1 - 1 / len(blocks))

    blocks = max(kinds.values(), key=repeated, default=[])
    if len(blocks) < 2:
        raise RuntimeError("the model has no repeated blocks to compile one by one")
    for block in blocks:
        block.compile(mode=mode)
    return twin


def _with_option(
    module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str, **option: bool
) -> Call:
    """Compile with the options of the mode and one more of Inductor."""
    import torch  # noqa: PLC0415
    from torch._inductor import list_mode_options  # noqa: PLC0415

    return torch.compile(module, options=list_mode_options(mode) | option)


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


def _export(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], folder: Path) -> None:
    """Compile ahead of time, into a package that holds code and weights."""
    import torch  # noqa: PLC0415
    from torch._inductor import aoti_compile_and_package  # noqa: PLC0415

    with torch.no_grad():
        program = torch.export.export(module, (), dict(inputs))
        aoti_compile_and_package(program, package_path=str(folder / PACKAGE))


def _loaded(_module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], folder: Path) -> Call:
    from torch._inductor import aoti_load_package  # noqa: PLC0415

    return aoti_load_package(str(folder / PACKAGE))  # type: ignore[no-any-return]


def _of_mode(mode: str) -> tuple[Variant, ...]:
    starts: Mapping[str, Callable[..., Call]] = {
        "": _compiled,
        ":dynamic": partial(_compiled, dynamic=True),
        ":static": partial(_compiled, dynamic=False),
        ":marked": _marked,
        ":padded": _padded,
        ":regions": _regions,
        ":freezing": partial(_with_option, freezing=True),
        ":given-layout": partial(_with_option, layout_optimization=False),  # Inductor turns to channels last by itself
    }
    imports = ("torch._dynamo", "torch._inductor.compile_fx")
    return tuple(
        Variant(f"compile:{mode}{name}", partial(start, mode=mode), imports=imports) for name, start in starts.items()
    )


VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        *(variant for mode in COMPILE_MODES for variant in _of_mode(mode)),
        Variant("eager:channels_last", _channels_last),
        Variant("aoti", _loaded, build=_export, imports=("torch._inductor.package",)),
    )
}
