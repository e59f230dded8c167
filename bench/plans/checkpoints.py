"""Identify a checkpoint in a folder of the user's. Imports no torch.

`identify` takes the folder and returns a `LocalCheckpoint`, or raises `AtlasError` for one that could not be measured.

    python -m bench run --checkpoint ./my-model --task image-classification
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import msgspec

from bench.errors import AtlasError
from bench.records.record import LONGEST_NAME, Name, Slug, as_name
from bench.records.scrub import private

CONFIG, WEIGHTS = "config.json", "model.safetensors"
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
"""Files that say how an image becomes the input of the model. A checkpoint has one of them, or both."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")

PLACEHOLDER = "path/to/"
"""Stands for the folder of a local checkpoint wherever others read it."""


class LocalCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint in a folder. Records hold its name, its digest and its type; the folder is private."""

    directory: str
    name: str
    digest: str
    model_type: str


def identify(directory: Path, *, needs_weights: bool, name: str | None = None) -> LocalCheckpoint:
    """Identify the checkpoint in a directory. Without a `name`, it has the name of the directory.

    The digest is the SHA-256 of its configuration, its image processor and its weights in safetensors, file by file.
    Raises `AtlasError` for a directory from which no model can be built, or none with weights if it `needs_weights`.
    """
    where = f"--checkpoint {directory}"
    name = as_name(directory.resolve().name)[:LONGEST_NAME].strip() if name is None else name
    if fault := _name_fault(name):
        raise AtlasError(fault, where="--name", remedy="choose a short name without markup: --name my-vit")
    if not (directory / CONFIG).is_file():
        inner = sorted(path.parent for path in directory.glob(f"*/{CONFIG}"))[:3]
        remedy = f"give {' or '.join(map(str, inner))}" if inner else "give a folder written by save_pretrained"
        raise AtlasError(f"contains no {CONFIG}", where=where, remedy=remedy)
    try:
        model_type = msgspec.convert(json.loads((directory / CONFIG).read_bytes())["model_type"], Slug)
    except (ValueError, RecursionError, KeyError, TypeError):
        remedy = "save the checkpoint again with Transformers: model.save_pretrained(folder)"
        raise AtlasError(f"its {CONFIG} is not JSON with a model_type", where=where, remedy=remedy) from None
    processors = [directory / each for each in PROCESSORS if (directory / each).is_file()]
    if not processors:
        remedy = "save the image processor in the same folder: processor.save_pretrained(folder)"
        raise AtlasError(f"contains no {PROCESSORS[0]}", where=where, remedy=remedy)
    weights = sorted(directory.glob("*.safetensors"))
    if needs_weights and not weights:
        remedy = f"put {WEIGHTS} beside {CONFIG}, or measure the configuration alone: --weights random"
        if any(path.suffix in PICKLES for path in directory.iterdir()):
            remedy = "loading a pickle may run code: if you trust it, load the model and call save_pretrained(folder)"
        raise AtlasError("has no weights in safetensors", where=where, remedy=remedy)
    digest = hashlib.sha256()
    for path in (directory / CONFIG, *processors, *weights):
        with path.open("rb") as file:
            digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return LocalCheckpoint(
        directory=str(directory.resolve()), name=name, digest=digest.hexdigest(), model_type=model_type
    )


def _name_fault(name: str) -> str | None:
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError:
        return f"{name!r:.100} is not a valid name: it is empty, or contains markup or control characters"
    if "/" in name:
        return f"{name!r:.100} looks like a hub ID or a folder: a name must not contain a slash"
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    detail = private(name)
    return f"{name!r} contains {detail!r}, but records are public" if detail else None
