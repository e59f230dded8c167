"""Build a model and its inputs, from the model table (offline, with random weights) or from any checkpoint.

`load` takes a `Recipe` and returns a `Loaded`: the module in inference mode, and batches made from the bundled image.
It never runs code of a checkpoint (`trust_remote_code` is off) and reads weights only from safetensors. Imports torch.

    python -m bench run --model ViT --weights pretrained
    python -m bench run --checkpoint microsoft/resnet-18 --task image-classification
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
import transformers
from huggingface_hub import constants
from huggingface_hub.errors import OfflineModeIsEnabled
from PIL import Image

from bench.errors import AtlasError
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

SEED = 20
"""Seed of the random weights, which are equal in all processes of a cell."""

AUTO_CLASSES: dict[Task, tuple[str, ...]] = {
    "image-classification": ("AutoModelForImageClassification",),
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

    @property
    def input_size(self) -> tuple[int, int]:
        """Height and width in pixels, after the processor."""
        height, width = self.batches[0]["pixel_values"].shape[-2:]
        return int(height), int(width)


def load(recipe: Recipe, *, batch_size: int, batches: int, dtype: torch.dtype, device: torch.device) -> Loaded:
    """Build the module and its batches on `device`. Raises whatever transformers raises, such as `OSError`."""
    with _without_hub(recipe):
        torch.manual_seed(SEED)
        module = _module(recipe).to(dtype=dtype).eval().requires_grad_(requires_grad=False)
        pixels, accepted = _processed(recipe), inspect.signature(module.forward).parameters
        text = _text(recipe, batch_size) if "input_ids" in accepted else {}
    scenes = ([(first + index) % SCENES for index in range(batch_size)] for first in range(batches))
    inputs = ({name: value[own] for name, value in pixels.items() if name in accepted} | text for own in scenes)
    module.to(device)
    placed = [
        {
            name: value.to(device, dtype if value.is_floating_point() else None).contiguous()  # token ids stay integers
            for name, value in batch.items()
        }
        for batch in inputs
    ]
    return Loaded(module, tuple(placed))


def architecture(recipe: Recipe) -> str:
    """Return the name of a checkpoint's model class for the task. Reads only the configuration.

    Raises `AtlasError` if there is no such checkpoint or its architecture does not support the task.
    """
    where = f"--weights pretrained: {recipe.source}" if recipe.model else f"--checkpoint {recipe.source}"
    try:
        with _without_hub(recipe):
            config = _config(recipe.source)
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
        raise AtlasError(
            f"{config.model_type} has no model for {recipe.task}",
            where=where,
            remedy=f"choose another --task: {', '.join(AUTO_CLASSES)}",
        )
    return str(auto._model_mapping[type(config)].__name__)  # noqa: SLF001 - there is no public way


@contextmanager
def _without_hub(recipe: Recipe) -> Iterator[None]:
    """Keep libraries from the hub, unless the recipe is there: configurations may name what else they would fetch."""
    online = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = online or not recipe.needs_hub
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = online


def _config(source: str) -> Any:
    config = transformers.AutoConfig.from_pretrained(source, trust_remote_code=False)
    if "/" in str(config._attn_implementation):  # noqa: SLF001 - a kernel from the hub is code
        config._attn_implementation = None  # noqa: SLF001
    return config


def _auto_class(task: Task, config: Any) -> Any | None:
    classes = (getattr(transformers, name) for name in AUTO_CLASSES[task])
    return next((each for each in classes if type(config) in each._model_mapping), None)  # noqa: SLF001 - as above


# ── Modules ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _module(recipe: Recipe) -> torch.nn.Module:
    spec = recipe.spec
    model_class: Any = getattr(transformers, spec.architecture) if spec else None
    if spec and recipe.weights == "random":
        config = model_class.config_class(**deepcopy(dict(spec.config)))  # some change their argument
        return cast(torch.nn.Module, model_class(config))
    config = _config(recipe.source)
    model_class = model_class or _auto_class(recipe.task, config)
    if recipe.weights == "random":
        return cast(torch.nn.Module, model_class.from_config(config))
    return cast(torch.nn.Module, model_class.from_pretrained(recipe.source, config=config, use_safetensors=True))


# ── Inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _processed(recipe: Recipe) -> Inputs:
    """Return the bundled image and its reflections as the processor of the model prepares them: `SCENES` rows each."""
    spec = recipe.spec
    scene = Image.open(IMAGE).convert("RGB")
    flips = (Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_TOP_BOTTOM, Image.Transpose.ROTATE_180)
    images = [scene, *(scene.transpose(flip) for flip in flips)]
    if spec:
        processor = getattr(transformers, spec.processor_class)(**spec.processor)
    else:
        processor = transformers.AutoImageProcessor.from_pretrained(
            recipe.source, backend="pil", trust_remote_code=False
        )
    prepared = dict(processor(images=images, return_tensors="pt"))
    return {name: value for name, value in prepared.items() if isinstance(value, torch.Tensor)}


def _text(recipe: Recipe, images: int) -> Inputs:
    """Return token ids and mask, both of shape (images × queries, 16), with all queries for every image."""
    if recipe.spec is None:
        tokenizer = transformers.AutoTokenizer.from_pretrained(recipe.source, trust_remote_code=False)
        text = tokenizer([*QUERIES] * images, padding="max_length", max_length=QUERY_LENGTH, return_tensors="pt")
        return {"input_ids": text["input_ids"], "attention_mask": text["attention_mask"]}
    rows = [(*ids, *[0] * (QUERY_LENGTH - len(ids))) for ids in QUERY_IDS]
    ids = torch.tensor(rows).repeat(images, 1)
    return {"input_ids": ids, "attention_mask": (torch.arange(QUERY_LENGTH) < len(QUERY_IDS[0])).long().expand_as(ids)}
