"""Check that an untrusted checkpoint directory is safe to load, and identify the checkpoint. Imports no torch.

`refuse_unsafe` takes a directory and raises `AtlasError` for links and shards outside of it, adapters, and malformed
JSON: Transformers would follow these to any file or other checkpoint. `bench.measuring.build` itself loads neither
pickles nor code. `identify` refuses what could not be measured, and returns a `LocalCheckpoint`.

    python -m bench run --checkpoint ./my-model --task image-classification
"""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import msgspec

from bench.errors import AtlasError
from bench.records.record import LONGEST_NAME, Name, Slug, as_name
from bench.records.scrub import private

CONFIG, WEIGHTS, INDEX, ADAPTER = "config.json", "model.safetensors", ".safetensors.index.json", "adapter_config.json"
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
"""Files that say how an image becomes the input of the model. A checkpoint has one of them, or both."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")

PLACEHOLDER = "path/to/"
"""Stands for the folder of a local checkpoint wherever others read it."""

_ABOUT_SAVING = {"_name_or_path", "transformers_version"}
"""Fields of a configuration that say how it was saved, not what it is."""


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
    if fault := name_fault(name):
        raise AtlasError(fault, where="--name", remedy="choose a short name without markup: --name my-vit")
    if not (directory / CONFIG).is_file():
        inner = sorted(path.parent for path in directory.glob(f"*/{CONFIG}"))[:3]
        remedy = f"give {' or '.join(map(str, inner))}" if inner else "give a folder written by save_pretrained"
        raise AtlasError(f"contains no {CONFIG}", where=where, remedy=remedy)
    try:
        refuse_unsafe(directory)
        config, weights = _json(directory / CONFIG), _weights(directory)
        if needs_weights and not weights:
            raise _without_weights(directory)
        described = {each: _json(directory / each) for each in PROCESSORS if (directory / each).is_file()}
        digests = [_digest(path) for path in weights]
    except OSError as error:
        remedy = "check its files and your permission to read them"
        raise AtlasError(f"cannot be read: {error.strerror or error}", where=where, remedy=remedy) from None
    if not described:
        remedy = "save the image processor in the same folder: processor.save_pretrained(folder)"
        raise AtlasError(f"contains no {PROCESSORS[0]}", where=where, remedy=remedy)
    try:
        model_type = msgspec.convert(config["model_type"], Slug)
        content = json.dumps({CONFIG: config, **described, "weights": digests}, sort_keys=True, separators=(",", ":"))
    except (KeyError, TypeError, msgspec.ValidationError):
        remedy = "save the checkpoint again with Transformers: model.save_pretrained(folder)"
        raise AtlasError(f"its {CONFIG} has no model_type", where=where, remedy=remedy) from None
    except RecursionError:
        raise AtlasError("its configuration is nested too deeply", where=where, remedy="save it again") from None
    return LocalCheckpoint(
        directory=str(directory.resolve()),
        name=name,
        digest=hashlib.sha256(content.encode()).hexdigest(),
        model_type=model_type,
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
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    detail = private(name)
    return f"{name!r} contains {detail!r}, but records are public" if detail else None


def _weights(directory: Path) -> list[Path]:
    """Return the files that Transformers reads, in a fixed order. Raises `AtlasError` for one that is not whole."""
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415 - the site does without

    index = directory / f"{WEIGHTS}.index.json"
    if (directory / WEIGHTS).is_file():
        names = [WEIGHTS]
    else:
        names = sorted(set(_json(index)["weight_map"].values())) if index.is_file() else []
    for name in names:
        try:
            with safe_open(directory / name, "np"):  # reads the header, and compares it with the length of the file
                pass
        except (SafetensorError, OSError) as error:
            what = "is missing" if isinstance(error, FileNotFoundError) else "is not a complete safetensors file"
            raise _unsafe(directory / name, what, "copy or download it again; in a git clone: git lfs pull") from None
    return [directory / name for name in names]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _without_weights(directory: Path) -> AtlasError:
    where = f"--checkpoint {directory}"
    if pickle := next((path.name for path in sorted(directory.iterdir()) if path.suffix in PICKLES), None):
        what = f"its weights are only in pickle format ({pickle}), and loading a pickle may run code"
        remedy = "if you trust them, load the model and call save_pretrained(folder), which writes safetensors"
        return AtlasError(what, where=where, remedy=remedy)
    remedy = f"put {WEIGHTS} beside {CONFIG}, or measure the configuration alone: --weights random"
    return AtlasError("has no weights", where=where, remedy=remedy)


def refuse_unsafe(directory: Path) -> None:
    """Raise `AtlasError` for the first file that leads out of the directory or is not what its name says."""
    root = directory.resolve()
    for path in sorted(directory.rglob("*")):
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
        if path.name == ADAPTER:
            remedy = "merge the adapter into its model"
            raise _unsafe(path, "belongs to an adapter, which refers to another checkpoint", remedy)
        content = _json(path) if path.suffix == ".json" and path.is_file() else None
        if path.name.endswith(INDEX):
            shards = content.get("weight_map") if isinstance(content, dict) else None
            if not isinstance(shards, dict) or not all(map(_is_beside, shards.values())):
                raise _unsafe(path, "lists weights that are no safetensors files next to it")


def _is_beside(name: object) -> bool:
    return isinstance(name, str) and name == Path(name).name and name.endswith(".safetensors")


def _json(path: Path) -> Any:
    """Return the content of a JSON file without the fields about its saving."""
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=_without_saving)
    except (ValueError, RecursionError) as error:
        raise _unsafe(path, f"is not valid JSON: {error}") from None


def _without_saving(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if name not in _ABOUT_SAVING}


def _unsafe(path: Path, what: str, remedy: str = "save the checkpoint again") -> AtlasError:
    return AtlasError(what, where=f"--checkpoint: {path}", remedy=remedy)
