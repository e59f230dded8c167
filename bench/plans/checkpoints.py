"""Check that an untrusted checkpoint directory is safe to load, and identify the checkpoint. Imports no torch.

`refuse_unsafe` takes a directory and raises `AtlasError` for links and shards outside of it, adapters, and malformed
JSON: Transformers would follow these to any file or other checkpoint. `bench.measuring.build` itself loads neither
pickles nor code. `identify` refuses what could not be measured, and returns a `LocalCheckpoint`.

    python -m bench run --checkpoint ./my-model --task image-classification
"""

from __future__ import annotations

import hashlib
import json
import shlex
import stat
from pathlib import Path
from typing import Any

import msgspec

from bench.errors import AtlasError
from bench.records.record import LONGEST_NAME, Name, Slug, as_name
from bench.records.scrub import private

MAX_JSON_BYTES = 64 * 1024 * 1024
"""Limit for a configuration or tokenizer file, three times the size of the largest known one."""

INDEX = ".safetensors.index.json"
ADAPTER = "adapter_config.json"

CONFIG, WEIGHTS = "config.json", "model.safetensors"
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
"""Files that say how an image becomes the input of the model. A checkpoint has one of them, or both."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")

PLACEHOLDER = "path/to/"
"""Stands for the folder of a local checkpoint wherever others read it."""

_ABOUT_SAVING = {"_name_or_path", "transformers_version"}
"""Fields of a configuration that say how it was saved, not what it is."""


_OF_OTHERS = {"backbone", "timm_backbone", "backbone_checkpoint", "architecture"}
"""Fields of a configuration that may hold a name at the hub besides one of a kind of model."""


class LocalCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint in a folder. Records hold its name, its digest and its type; the folder is private."""

    directory: str
    name: str
    digest: str
    model_type: str
    has_weights: bool  # besides its configuration

    @property
    def identity(self) -> str:
        """Its digest, and what the digest is of."""
        covered = "configuration and weights" if self.has_weights else "the configuration alone: it has no weights"
        return f"sha256 {self.digest} of {covered}"

    @property
    def placeholder(self) -> str:
        """What stands for its folder in a command that others read."""
        return PLACEHOLDER + self.name


def identify(directory: Path, *, needs_weights: bool, name: str | None = None) -> LocalCheckpoint:
    """Return the checkpoint in the directory, under the given name or that of the directory. Reads its weights once.

    The digest is the SHA-256 of what decides about a measurement: the configuration and that of the image processor,
    without how they are laid out and by which version they were saved, and the SHA-256 of each safetensors file.

    Raises `AtlasError` for a directory from which no model can be built, or none with weights if it `needs_weights`.
    """
    where = f"--checkpoint {directory}"
    name = as_name(directory.resolve().name)[:LONGEST_NAME].strip() if name is None else name
    detail = private(name)
    if fault := name_fault(name) or (detail and f"{name!r} contains {detail!r}, but records are public"):
        raise AtlasError(fault, where="--name", remedy="choose a short name without markup: --name my-vit")
    if not (directory / CONFIG).is_file():
        inner = sorted(path.parent for path in directory.glob(f"*/{CONFIG}"))[:3]
        remedy = f"give {' or '.join(map(str, inner))}" if inner else "give a folder written by save_pretrained"
        raise AtlasError(f"contains no {CONFIG}", where=where, remedy=remedy)
    try:
        refuse_unsafe(directory)
        config = _json(directory / CONFIG)
        weights = _weights(directory)
        if needs_weights and not weights:
            raise _without_weights(directory, config)
        described = {each: _json(directory / each) for each in PROCESSORS if (directory / each).is_file()}
        if not described:
            remedy = "save the image processor in the same folder: processor.save_pretrained(folder)"
            raise AtlasError(f"contains no {PROCESSORS[0]}", where=where, remedy=remedy)
        content = {CONFIG: config, **described, "weights": [_digest(path) for path in weights]}
    except OSError as error:
        remedy = "check its files and your permission to read them"
        raise AtlasError(f"cannot be read: {error.strerror or error}", where=where, remedy=remedy) from None
    return LocalCheckpoint(
        directory=str(directory.resolve()),
        name=name,
        digest=hashlib.sha256(_canonical(content, where)).hexdigest(),
        model_type=_model_type(config, where),
        has_weights=bool(weights),
    )


def name_fault(name: str) -> str | None:
    """Return what is wrong with the name of a local checkpoint, or None."""
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError:
        return f"{name!r:.100} is not a valid name: it is empty, or contains markup or control characters"
    if "/" in name:
        return f"{name!r:.100} looks like a hub ID or a folder: a name must not contain a slash"
    return f"is longer than {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else None


def _model_type(config: Any, where: str) -> str:
    try:
        return msgspec.convert(config["model_type"], Slug)
    except (KeyError, TypeError, msgspec.ValidationError):
        remedy = "save the checkpoint again with Transformers: model.save_pretrained(folder)"
        raise AtlasError(f"its {CONFIG} has no model_type", where=where, remedy=remedy) from None


def _canonical(content: Any, where: str) -> bytes:
    """Return the same JSON for the same content, however it was laid out and saved."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: kept(each) for name, each in value.items() if name not in _ABOUT_SAVING}
        return [kept(each) for each in value] if isinstance(value, list) else value

    try:
        return json.dumps(kept(content), sort_keys=True, separators=(",", ":")).encode()
    except RecursionError:
        raise AtlasError("its configuration is nested too deeply", where=where, remedy="save it again") from None


def _weights(directory: Path) -> list[Path]:
    """Return the files that Transformers reads, in a fixed order. Raises `AtlasError` for one that is not whole."""
    if (directory / WEIGHTS).is_file():
        paths = [directory / WEIGHTS]
    elif (index := directory / f"{WEIGHTS}.index.json").is_file():
        paths = [directory / name for name in sorted(set(_json(index)["weight_map"].values()))]
    else:
        paths = []
    for path in paths:
        _refuse_incomplete(path)
    return paths


def _refuse_incomplete(path: Path) -> None:
    """Raise `AtlasError` unless the file is as long as its header says: 8 bytes with the size of the header, the header
    with the place of each tensor, and the tensors."""
    remedy = "copy or download it again; in a git clone, run: git lfs pull"
    if not path.is_file():
        raise _unsafe(path, "is missing, although the index lists it", remedy)
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size)) if size <= MAX_JSON_BYTES else {}
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        is_whole = path.stat().st_size == 8 + size + max(ends)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise _unsafe(path, "is not a complete safetensors file", remedy)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _without_weights(directory: Path, config: Any) -> AtlasError:
    where = f"--checkpoint {directory}"
    pickles = [path.name for path in sorted(directory.iterdir()) if path.suffix in PICKLES]
    if not pickles:
        remedy = f"put {WEIGHTS} beside {CONFIG}, or measure the configuration alone: --weights random"
        return AtlasError("has no weights", where=where, remedy=remedy)
    named = config.get("architectures") if isinstance(config, dict) else None
    model_class = next((each for each in named or () if isinstance(each, str) and each.isidentifier()), "AutoModel")
    code = f"import sys, transformers as t; t.{model_class}.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[1])"
    what = f"its weights are only in pickle format ({pickles[0]}), and loading a pickle may run code"
    command = shlex.join(["python", "-c", code, str(directory)])
    return AtlasError(what, where=where, remedy=f"if you trust them, convert them to safetensors: {command}")


def refuse_unsafe(directory: Path) -> None:
    """Raise `AtlasError` for the first file that leads out of the directory or is not what its name says."""
    root = directory.resolve()
    for path in sorted(directory.rglob("*")):
        _refuse_outside(path, root)
        if path.suffix == ".json" and path.is_file():
            content = _json(path)
            if path.name.endswith(INDEX):
                _refuse_foreign_shards(path, content)
            elif path.name in (CONFIG, *PROCESSORS):
                _refuse_foreign_names(path, content)
        if path.name == ADAPTER:
            raise _unsafe(
                path, "belongs to an adapter, which refers to another checkpoint", "merge the adapter into its model"
            )


def _refuse_outside(path: Path, root: Path) -> None:
    try:
        target = path.resolve(strict=True)
        mode = target.stat().st_mode
    except (OSError, RuntimeError) as error:  # a dangling or circular link
        raise _unsafe(path, f"cannot be read: {error}", "remove it, or replace it with the file") from None
    if not target.is_relative_to(root):
        remedy = "copy the checkpoint with the files that it links to (cp -rL), or give its hub id"
        raise _unsafe(path, "is a link to a file outside of the directory", remedy)
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise _unsafe(path, "is not a regular file", "remove it")


def _refuse_foreign_shards(index: Path, content: Any) -> None:
    shards = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(shards, dict):
        raise _unsafe(index, "has no `weight_map`", "save the checkpoint again")
    for name in shards.values():
        if not isinstance(name, str) or name != Path(name).name or not name.endswith(".safetensors"):
            what = f"lists {name!r:.100} as part of the weights, but that is not a safetensors file next to it"
            raise _unsafe(index, what, "save the checkpoint again")


def _refuse_foreign_names(path: Path, content: Any) -> None:
    """Refuse what Transformers and timm would fetch besides the checkpoint, however deep it stands."""
    if isinstance(content, list):
        for each in content:
            _refuse_foreign_names(path, each)
    if not isinstance(content, dict):
        return
    for name, value in content.items():
        if name in _OF_OTHERS and isinstance(value, str) and set(value) & set("/:@"):
            what = f"names {value!r:.100} as its `{name}`, which is stored elsewhere"
            raise _unsafe(path, what, "put the configuration of the backbone into `backbone_config`, and save it again")
        _refuse_foreign_names(path, value)


def _json(path: Path) -> Any:
    if path.stat().st_size > MAX_JSON_BYTES:
        raise _unsafe(path, f"is larger than {MAX_JSON_BYTES:,} bytes", "save the checkpoint again")
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _unsafe(path, f"is not valid JSON: {error}", "save the checkpoint again") from None


def _unsafe(path: Path, what: str, remedy: str) -> AtlasError:
    return AtlasError(what, where=f"--checkpoint: {path}", remedy=remedy)
