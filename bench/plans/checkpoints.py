"""Check that an untrusted checkpoint directory is safe to load. Imports no torch.

`refuse_unsafe` takes a directory and raises `AtlasError` for links and shards outside of it, adapters, and malformed
JSON: Transformers would follow these to any file or other checkpoint. `bench.measuring.build` itself loads neither
pickles nor code.

    python -m bench run --checkpoint ./my-model --task image-classification
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from bench.errors import AtlasError

MAX_JSON_BYTES = 64 * 1024 * 1024
"""Limit for a configuration or tokenizer file, three times the size of the largest known one."""

INDEX = ".safetensors.index.json"
ADAPTER = "adapter_config.json"


def refuse_unsafe(directory: Path) -> None:
    """Raise `AtlasError` for the first file that leads out of the directory or is not what its name says."""
    root = directory.resolve()
    for path in sorted(directory.rglob("*")):
        _refuse_outside(path, root)
        if path.suffix == ".json" and path.is_file():
            content = _json(path)
            if path.name.endswith(INDEX):
                _refuse_foreign_shards(path, content)
        if path.name == ADAPTER:
            raise _unsafe(path, "belongs to an adapter, which refers to another checkpoint", "merge it into its model")


def _refuse_outside(path: Path, root: Path) -> None:
    try:
        target = path.resolve(strict=True)
        mode = target.stat().st_mode
    except (OSError, RuntimeError) as error:  # a dangling or circular link
        raise _unsafe(path, f"cannot be read: {error}", "remove it, or put the file in its place") from None
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
            what = f"names {name!r:.100} as a part of the weights, which is not a safetensors file beside it"
            raise _unsafe(index, what, "save the checkpoint again")


def _json(path: Path) -> Any:
    if path.stat().st_size > MAX_JSON_BYTES:
        raise _unsafe(path, f"has more than {MAX_JSON_BYTES:,} bytes", "save the checkpoint again")
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _unsafe(path, f"is not valid JSON: {error}", "save the checkpoint again") from None


def _unsafe(path: Path, what: str, remedy: str) -> AtlasError:
    return AtlasError(what, where=f"--checkpoint: {path}", remedy=remedy)
