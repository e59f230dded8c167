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

PACKAGE, ONNX, OPENVINO = "model.pt2", "model.onnx", "model.xml"
"""The files that AOTInductor, ONNX and OpenVINO make, in the folder of a cell. Some have their weights beside them."""

Call = Callable[..., Any]
"""Takes a batch as keyword arguments, and returns the output of the model."""


@dataclass(frozen=True)
class Variant:
    """One way to run a model, which is compared with eager."""

    name: str
    start: Callable[[torch.nn.Module, Mapping[str, torch.Tensor], Path], Call]
    build: Callable[[torch.nn.Module, Mapping[str, torch.Tensor], Path], None] | None = None  # in an earlier process
    same_process: bool = True  # else eager runs in a process of its own, before this one
    needs: tuple[str, ...] = ()  # packages besides torch
    imports: tuple[str, ...] = ()  # modules that `start` needs, which take seconds
    on_cpu_alone: bool = False


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


def _capturing(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str) -> Call:
    """Compile with `Tensor.item()` in the graph, which it ends otherwise."""
    import torch  # noqa: PLC0415

    compiled = torch.compile(module, mode=mode)

    def call(**inputs: torch.Tensor) -> Any:
        with torch._dynamo.config.patch(capture_scalar_outputs=True):  # noqa: SLF001 - as its documentation does
            return compiled(**inputs)

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


def _converted(
    module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str | None = None, **form: str
) -> Call:
    """Run a copy of the model in another data type or memory layout, compiled if there is a mode. Images are converted
    in each call."""
    import torch  # noqa: PLC0415

    wanted: dict[str, Any] = {name: getattr(torch, value) for name, value in form.items()}
    twin = deepcopy(module).to(**wanted)
    ready = torch.compile(twin, mode=mode) if mode else twin

    def call(**inputs: torch.Tensor) -> Any:
        return ready(**{name: value.to(**wanted) if value.dim() == 4 else value for name, value in inputs.items()})

    return call


def _autocast(module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str) -> Call:
    """Compile, and let each operation choose between bfloat16 and float32."""
    import torch  # noqa: PLC0415

    compiled = torch.compile(module, mode=mode)

    def call(**inputs: torch.Tensor) -> Any:
        with torch.autocast(inputs["pixel_values"].device.type, torch.bfloat16):
            return compiled(**inputs)

    return call


def _quantized(
    module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], _folder: Path, mode: str, config: str
) -> Call:
    """Compile with the weights of linear layers in int8. `config`: the class of torchao that says how."""
    import torch  # noqa: PLC0415
    from torchao import quantization  # noqa: PLC0415

    twin = deepcopy(module)
    quantization.quantize_(twin, getattr(quantization, config)())
    return torch.compile(twin, mode=mode)


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


def _export_onnx(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], folder: Path) -> None:
    import torch  # noqa: PLC0415

    with torch.no_grad():
        torch.onnx.export(module, (), folder / ONNX, kwargs=dict(inputs), dynamo=True)


def _onnxruntime(_module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], folder: Path) -> Call:
    import onnxruntime  # noqa: PLC0415
    import torch  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(folder / ONNX, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]

    def call(**inputs: torch.Tensor) -> Any:
        return [torch.from_numpy(each) for each in session.run(None, {name: inputs[name].numpy() for name in names})]

    return call


def _export_openvino(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], folder: Path) -> None:
    import openvino  # noqa: PLC0415
    import torch  # noqa: PLC0415

    with torch.no_grad():
        program = torch.export.export(module, (), dict(inputs))
    openvino.save_model(openvino.convert_model(program), folder / OPENVINO, compress_to_fp16=False)


def _openvino(
    _module: torch.nn.Module, _inputs: Mapping[str, torch.Tensor], folder: Path, precision: str = "f32"
) -> Call:
    """Run in this precision. OpenVINO would choose bfloat16 by itself on a CPU with AMX."""
    import openvino  # noqa: PLC0415
    import torch  # noqa: PLC0415

    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    model = openvino.compile_model(
        folder / OPENVINO, "CPU", {**settings, "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    )
    names = [each.any_name for each in model.inputs]

    def call(**inputs: torch.Tensor) -> Any:
        found = model({name: inputs[name].numpy() for name in names})
        return [torch.from_numpy(each) for each in found.values()]

    return call


def _of_mode(mode: str) -> tuple[Variant, ...]:
    starts: Mapping[str, Callable[..., Call]] = {
        "": _compiled,
        ":dynamic": partial(_compiled, dynamic=True),
        ":static": partial(_compiled, dynamic=False),
        ":marked": _marked,
        ":padded": _padded,
        ":scalars": _capturing,
        ":regions": _regions,
        ":freezing": partial(_with_option, freezing=True),
        ":given-layout": partial(_with_option, layout_optimization=False),  # Inductor turns to channels last by itself
        ":channels_last": partial(_converted, memory_format="channels_last"),
        ":bfloat16": partial(_converted, dtype="bfloat16"),
        ":autocast": _autocast,
        ":int8-weights": partial(_quantized, config="Int8WeightOnlyConfig"),
        ":int8": partial(_quantized, config="Int8DynamicActivationInt8WeightConfig"),
    }
    return tuple(
        Variant(
            f"compile:{mode}{name}",
            partial(start, mode=mode),
            needs=("torchao",) if "int8" in name else (),
            imports=("torch._dynamo", "torch._inductor.compile_fx"),
        )
        for name, start in starts.items()
    )


_apart = partial(Variant, same_process=False, on_cpu_alone=True)
"""A runtime whose threads spin after a call, which would slow eager down in the same process."""

_openvino_apart = partial(_apart, build=_export_openvino, needs=("openvino",), imports=("openvino",))

VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        *(variant for mode in COMPILE_MODES for variant in _of_mode(mode)),
        Variant("eager:channels_last", partial(_converted, memory_format="channels_last")),
        Variant("aoti", _loaded, build=_export, imports=("torch._inductor.package",)),
        _apart(
            "onnxruntime",
            _onnxruntime,
            build=_export_onnx,
            needs=("onnx", "onnxruntime", "onnxscript"),
            imports=("onnxruntime",),
        ),
        _openvino_apart("openvino", _openvino),
        _openvino_apart("openvino:bfloat16", partial(_openvino, precision="bf16")),
    )
}
