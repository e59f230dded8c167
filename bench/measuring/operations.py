"""Count what the forward pass of a model does, by kind of operation. Imports torch.

`OperationCounter` adds up the operations that run within its context. `count` builds a model on the meta device, which
holds shapes and no numbers: it needs no weights, no GPU and a tenth of a second.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from bench.errors import AtlasError
from bench.measuring import build
from bench.plans.messages import CountOperations, OperationsCounted, Phase, Recipe, Send
from bench.records.operations import ARITHMETIC, Kind, Operations, Source, Tally
from bench.records.record import TIMM
from bench.records.scrub import one_line

aten = torch.ops.aten

NO_TRAFFIC = {aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten.new_empty_strided}
"""Operations that reserve memory without touching it."""

VIEWS = {aten._unsafe_view, aten._reshape_alias}  # noqa: SLF001 - their names
"""Views whose schema does not say so."""

CONVOLVING = {aten.convolution, aten._convolution, aten.cudnn_convolution}  # noqa: SLF001 - as above

GATHERS = {aten.embedding, aten.index, aten.index_select, aten.gather}
"""Operations that read no more of their first tensor than they write."""

GROUPS = 8
"""The position of the number of groups among the arguments of a convolution."""

IMAGE_CHANNELS = 4
"""A convolution with no more input channels reads an image."""

_BY_NAME: Mapping[Kind, Collection[str]] = {
    "batch_norm": ("native_batch_norm", "batch_norm", "_native_batch_norm_legit_no_training", "cudnn_batch_norm"),
    "softmax": ("_softmax", "_safe_softmax"),
    "clamp": ("relu", "relu6", "leaky_relu", "hardtanh"),
    "activation": ("elu", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "sigmoid", "softplus", "tanh"),
    "reduction": (
        *("mean", "sum", "amax", "max", "var", "avg_pool2d", "max_pool2d_with_indices"),
        *("_adaptive_avg_pool2d", "adaptive_avg_pool2d"),
    ),
    "move": (
        *("cat", "stack", "copy", "clone", "contiguous", "_to_copy", "index", "_unsafe_index", "gather", "roll"),
        *("constant_pad_nd", "reflection_pad2d", "pixel_shuffle", "im2col", "col2im"),
    ),
}
"""Names of operations, without the final underscore of those that work in place."""


class OperationCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the operations that run within its context, by kind."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.activations = 0
        self._sums: defaultdict[Kind, list[int]] = defaultdict(lambda: [0, 0, 0])

    def __torch_dispatch__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        packet = func.overloadpacket
        formula = _formula(packet)
        kind = _arithmetic(packet, args) if formula else _fusible(packet.__name__)
        flop = formula(*args, **kwargs, out_val=output) if formula else 0
        if kind in ARITHMETIC:
            self.activations += sum(math.prod(each.shape) for each in _tensors(output)[:1])
        if formula or not (func.is_view or packet in VIEWS | NO_TRAFFIC):
            sums = self._sums[kind]
            for at, amount in enumerate((1, _traffic(packet, (args, kwargs), output), flop)):
                sums[at] += amount
        return output

    def operations(self, parameters: int = 0) -> Operations:
        """Return the sums, with the parameters of the model."""
        tallies = {kind: Tally(*sums) for kind, sums in self._sums.items()}
        return Operations(parameters=parameters, activations=self.activations, tallies=tallies)


def _formula(packet: Any) -> Callable[..., int] | None:
    """Return the FLOP formula of torch's counter. It lacks fused attention on a CPU, whose work equals that on CUDA."""
    if packet not in flop_registry and "scaled_dot_product" in packet.__name__:
        packet = aten._scaled_dot_product_flash_attention  # noqa: SLF001 - as above
    formula: Callable[..., int] | None = flop_registry.get(packet)
    return formula


def _arithmetic(packet: Any, args: tuple[Any, ...]) -> Kind:
    if packet not in CONVOLVING:
        return "attention" if "attention" in packet.__name__ else "product"
    channels, kernel = args[1].shape[1], args[1].shape[2:]
    if len(args) > GROUPS and args[GROUPS] > 1:
        return "depthwise" if channels == 1 else "grouped"
    if set(kernel) == {1}:
        return "pointwise"
    return "stem" if channels <= IMAGE_CHANNELS else "convolution"


def _fusible(name: str) -> Kind:
    """Return the kind of an operation whose FLOP do not count."""
    plain = name if name.startswith("_") else name.rstrip("_")
    otherwise: Kind = "layer_norm" if "norm" in name else "elementwise"
    return next((kind for kind, names in _BY_NAME.items() if plain in names), otherwise)


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _traffic(packet: Any, inputs: Any, output: Any) -> int:
    read, written = ([_bytes(tensor) for tensor in _tensors(values)] for values in (inputs, output))
    if packet in GATHERS:
        read[0] = min(read[0], sum(written))
    return sum(read) + sum(written)


def _bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of distinct elements, counting an expanded dimension once."""
    return tensor.element_size() * math.prod(
        size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride
    )


# ── Without weights ─────────────────────────────────────────────────────────────────────────────────────────────────


def count(request: CountOperations, send: Send) -> OperationsCounted:
    """Count the operations of models of timm, or of one checkpoint. A model that cannot be built is left out, with the
    reason. Raises `AtlasError` where there is no timm to build them."""
    if request.sources:
        try:
            import timm  # noqa: F401, PLC0415 - optional, and slow
        except ImportError as error:
            raise AtlasError(f"timm cannot be imported: {error}", remedy="pip install timm") from None
    counted: list[tuple[Source, Operations]] = []
    failures: dict[str, str] = {}
    for at, (checkpoint, size) in enumerate(request.sources):
        send(Phase(name=checkpoint, done=at, of=len(request.sources)))
        try:
            counted.append(((checkpoint, size), _of_timm(checkpoint, size)))
        except Exception as error:  # noqa: BLE001 - a model may raise anything
            failures[f"{checkpoint} at {size[0]}×{size[1]}"] = one_line(error)
    if request.recipe:
        counted.append(_of_checkpoint(request.recipe))
    return OperationsCounted(counted=tuple(counted), failures=failures, versions=_versions(bool(request.sources)))


def _of_timm(checkpoint: str, size: tuple[int, int]) -> Operations:
    """Some models take any size; the others are told at their creation."""
    import timm  # noqa: PLC0415 - optional, and slow

    def counted(**options: Any) -> Operations:
        with torch.device("meta"):
            module = timm.create_model(checkpoint.removeprefix(TIMM), **options).eval()
            return _counted(module, {"x": torch.empty(1, 3, *size)})

    try:
        return counted()
    except (AssertionError, RuntimeError, ValueError):
        return counted(img_size=size)


def _of_checkpoint(recipe: Recipe) -> tuple[Source, Operations]:
    """Build a checkpoint from its configuration alone. A model that reads numbers, which the meta device does not have,
    gets random ones on the CPU. Raises `AtlasError` for one that cannot be built."""
    build.architecture(recipe)
    for device in ("meta", "cpu"):
        try:
            loaded = build.load(recipe, batch_size=1, batches=1, dtype=torch.float32, device=torch.device(device))
            operations = _counted(loaded.module, loaded.batches[0])
        except Exception as error:  # noqa: BLE001 - a model may raise anything
            failure = one_line(error)
        else:
            return (recipe.source, loaded.input_size), operations
    raise AtlasError(
        f"its operations cannot be counted: {failure}",
        where=f"--checkpoint {recipe.source}",
        remedy="give a checkpoint that includes its image processor, as written by save_pretrained",
    )


def _counted(module: torch.nn.Module, inputs: Mapping[str, Any]) -> Operations:
    with torch.no_grad(), OperationCounter() as counter:
        module(**inputs)
    operations: Operations = counter.operations(sum(each.numel() for each in module.parameters()))
    return operations


def _versions(with_timm: bool) -> dict[str, str]:
    import transformers  # noqa: PLC0415 - slow

    versions = {"torch": str(torch.__version__), "transformers": str(transformers.__version__)}
    if with_timm:
        import timm  # noqa: PLC0415 - as above

        versions["timm"] = str(timm.__version__)
    return versions
