"""Build a model and its inputs, from the model table (offline, with random weights) or from any checkpoint.

`load` takes a `Recipe` and returns a `Loaded`: the module in inference mode, and batches made from the bundled image.
It never runs code of a checkpoint (`trust_remote_code` is off) and reads weights only from safetensors. Imports torch.

    python -m bench run --model ViT --weights pretrained
    python -m bench run --checkpoint microsoft/resnet-18 --task image-classification
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import constants
from huggingface_hub.errors import OfflineModeIsEnabled
from PIL import Image

from bench.errors import AtlasError
from bench.machine import version
from bench.plans.messages import Recipe
from bench.records.record import Task
from bench.records.scrub import one_line

IMAGE = Path(__file__).resolve().parent.parent / "assets" / "scene.png"

SCENES = 4
"""The bundled image and its reflections, which batches have in turn."""

QUERIES = ("a photo of a house", "a photo of a tree")
QUERY_IDS = ((49406, 320, 1125, 539, 320, 1212, 49407), (49406, 320, 1125, 539, 320, 2677, 49407))
"""The queries as token ids of CLIP's vocabulary, so that models of the table need no tokenizer files."""
QUERY_LENGTH = 16
VOCABULARY, TASK_LENGTH = 49408, 77
"""Of CLIP, for the sentence that tells OneFormer its task."""

SEED = 20
"""Seed of the random weights, which are equal in all processes of a cell."""

AUTO_CLASSES: dict[Task, tuple[str, ...]] = {
    "image-classification": ("AutoModelForImageClassification",),
    "image-feature-extraction": ("AutoModel",),
    "depth-estimation": ("AutoModelForDepthEstimation",),
    "object-detection": ("AutoModelForObjectDetection", "AutoModelForZeroShotObjectDetection"),
    "image-segmentation": (
        "AutoModelForUniversalSegmentation",
        "AutoModelForInstanceSegmentation",
        "AutoModelForSemanticSegmentation",
        "AutoModelForImageSegmentation",
    ),
}

Inputs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Loaded:
    """A module in inference mode, and batches of equal shape to call it with in turn."""

    module: torch.nn.Module
    batches: tuple[Inputs, ...]
    has_random_head: bool = False  # of a checkpoint, because that lacks one for the task

    @property
    def input_size(self) -> tuple[int, int]:
        """Height and width in pixels, after the processor."""
        height, width = self.batches[0]["pixel_values"].shape[-2:]
        return int(height), int(width)


def load(recipe: Recipe, *, batch_size: int, batches: int, dtype: torch.dtype, device: torch.device) -> Loaded:
    """Build the module and its batches on `device`. Raises whatever transformers raises, such as `OSError`."""
    with _without_hub(recipe):
        torch.manual_seed(SEED)
        built, has_random_head = _module(recipe)
        module = built.eval().requires_grad_(requires_grad=False)
        pixels, accepted = _processed(recipe, module.config), inspect.signature(module.forward).parameters
        pixels = {name: value for name, value in pixels.items() if name in accepted}
        if recipe.weights == "random":
            _calibrate(module, {name: value[:2] for name, value in pixels.items()} | _text(recipe, accepted, 2))
        module.to(dtype=dtype)
        text = _text(recipe, accepted, batch_size)
    scenes = ([(first + index) % SCENES for index in range(batch_size)] for first in range(batches))
    inputs = ({name: value[own] for name, value in pixels.items()} | text for own in scenes)
    module.to(device)
    placed = [
        {
            name: value.to(device, dtype if value.is_floating_point() else None).contiguous()  # token ids stay integers
            for name, value in batch.items()
        }
        for batch in inputs
    ]
    return Loaded(module, tuple(placed), has_random_head)


def architecture(recipe: Recipe) -> str:
    """Return the name of a checkpoint's model class for the task. Reads no weights.

    Raises `AtlasError` if there is no such checkpoint, its architecture does not support the task, or images alone are
    not enough for it.
    """
    where = f"--weights pretrained: {recipe.source}" if recipe.model else f"--checkpoint {recipe.source}"
    try:
        with _without_hub(recipe):
            config = _config(recipe)
    except AtlasError:
        raise
    except Exception as error:  # noqa: BLE001 - transformers may raise anything for a malformed configuration
        if isinstance(error, OfflineModeIsEnabled) and not recipe.needs_hub:
            what, remedy = "its configuration names a model that lies elsewhere", "put the whole configuration into it"
            raise AtlasError(what, where=where, remedy=remedy) from None
        raise AtlasError(
            f"its configuration cannot be read: {one_line(error)}",
            where=where,
            remedy="give a hub id, within reach or in the cache, or a directory with config.json and safetensors",
        ) from None
    auto = _auto_class(recipe.task, config)
    if auto is None:
        others = [task for task in AUTO_CLASSES if _auto_class(task, _seeing(config, task))]
        raise AtlasError(
            f"{config.model_type} has no model for {recipe.task}",
            where=where,
            remedy=f"choose another --task: {', '.join(others)}" if others else "choose a model that takes images",
        )
    model_class = auto._model_mapping[type(config)]  # noqa: SLF001 - there is no public way
    if not recipe.model:
        _check_inputs(recipe, config, model_class, where)
    return str(model_class.__name__)


def _check_inputs(recipe: Recipe, config: Any, model_class: Any, where: str) -> None:
    """Raise `AtlasError` for a checkpoint whose image processor is of no use, or does not give what its model needs."""
    try:
        with _without_hub(recipe):
            given = _processed(recipe, config)
    except Exception as error:  # noqa: BLE001 - transformers may raise anything, even for a processor that it lacks
        what, remedy = f"its image processor cannot be used: {one_line(error)}", "check preprocessor_config.json"
        if version("torchvision") is None:
            remedy += "; or install torchvision, which some processors need"
        raise AtlasError(what, where=where, remedy=remedy) from None
    expected = inspect.signature(model_class.forward).parameters.values()
    needed = {each.name for each in expected if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD}
    if missing := sorted(needed - {"self", "input_ids", "task_inputs", *given}):
        remedy = "measure its image encoder: --task image-feature-extraction"
        raise AtlasError(f"its model also needs {' and '.join(missing)}", where=where, remedy=remedy)
    if given["pixel_values"].dim() != 4:
        what = "its processor gives patches of images, in numbers that vary"
        raise AtlasError(what, where=where, remedy="choose a checkpoint with a fixed image size")


@contextmanager
def _without_hub(recipe: Recipe) -> Iterator[None]:
    """Keep libraries from the hub, unless the recipe is there: configurations may name what else they would fetch."""
    online = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = online or not recipe.needs_hub
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = online


def _config(recipe: Recipe) -> Any:
    config = _seeing(transformers.AutoConfig.from_pretrained(recipe.source, trust_remote_code=False), recipe.task)
    if "/" in str(config._attn_implementation):  # noqa: SLF001 - a kernel from the hub is code
        config._attn_implementation = None  # noqa: SLF001
    return config


def _seeing(config: Any, task: Task) -> Any:
    """Return the configuration of what computes features of images: models of images and text have it apart."""
    return getattr(config, "vision_config", config) if task == "image-feature-extraction" else config


def _auto_class(task: Task, config: Any) -> Any | None:
    classes = (getattr(transformers, name) for name in AUTO_CLASSES[task])
    return next((each for each in classes if type(config) in each._model_mapping), None)  # noqa: SLF001 - as above


# ── Modules ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _module(recipe: Recipe) -> tuple[torch.nn.Module, bool]:
    """Return the module, and whether its head has random weights although the others come from a checkpoint."""
    spec = recipe.spec
    model_class: Any = getattr(transformers, spec.architecture) if spec else None
    if spec and recipe.weights == "random":
        config = model_class.config_class(**deepcopy(dict(spec.config)))  # some change their argument
        return model_class(config), False
    config = _config(recipe)
    model_class = model_class or _auto_class(recipe.task, config)
    if recipe.weights == "random":
        return model_class.from_config(config), False
    module, report = model_class.from_pretrained(
        recipe.source, config=config, use_safetensors=True, output_loading_info=True
    )
    return module, bool(report["missing_keys"])


def _calibrate(module: torch.nn.Module, inputs: Inputs) -> None:
    """Give batch norms the statistics of some images, as training does: of two, since some see one pixel of each.

    With those that they begin with, the activations of a deep network with random weights shrink from layer to layer,
    down to subnormal numbers. A CPU takes several times as long for these: 125 instead of 24 ms for EfficientNet-B0.
    """
    norms = [each for each in module.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    if not norms:
        return
    usual = [each.momentum for each in norms]
    for each in norms:
        each.train().momentum = 1.0
    with torch.no_grad():
        module(**inputs)
    for each, momentum in zip(norms, usual, strict=True):
        each.eval().momentum = momentum


# ── Inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _processed(recipe: Recipe, config: Any) -> Inputs:
    """Return the bundled image and its reflections as the processor of the model prepares them: `SCENES` rows each."""
    spec = recipe.spec
    scene = Image.open(IMAGE).convert("L" if getattr(config, "num_channels", 3) == 1 else "RGB")
    flips = (Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_TOP_BOTTOM, Image.Transpose.ROTATE_180)
    images = [scene, *(scene.transpose(flip) for flip in flips)]
    if spec:
        processor = getattr(transformers, spec.processor_class)(**spec.processor)
    else:
        backend = {} if version("torchvision") else {"backend": "pil"}
        processor = transformers.AutoImageProcessor.from_pretrained(recipe.source, trust_remote_code=False, **backend)
    prepared = dict(processor(images=images, return_tensors="pt"))
    return {name: value for name, value in prepared.items() if isinstance(value, torch.Tensor)}


def _text(recipe: Recipe, accepted: Container[str], images: int) -> Inputs:
    """Return the texts that a model takes beside this many images, as token ids: all queries for every image, and their
    mask, both of shape (images × queries, 16); or, of shape (images, 77), a sentence that names the task."""
    if "task_inputs" in accepted:  # random tokens take as long
        return {"task_inputs": torch.randint(VOCABULARY, (1, TASK_LENGTH)).expand(images, -1)}
    if "input_ids" not in accepted:
        return {}
    if recipe.spec is None:
        tokenizer = transformers.AutoTokenizer.from_pretrained(recipe.source, trust_remote_code=False)
        text = tokenizer([*QUERIES] * images, padding="max_length", max_length=QUERY_LENGTH, return_tensors="pt")
        return {"input_ids": text["input_ids"], "attention_mask": text["attention_mask"]}
    rows = [(*ids, *[0] * (QUERY_LENGTH - len(ids))) for ids in QUERY_IDS]
    ids = torch.tensor(rows).repeat(images, 1)
    return {"input_ids": ids, "attention_mask": (torch.arange(QUERY_LENGTH) < len(QUERY_IDS[0])).long().expand_as(ids)}
