"""Untrusted checkpoints: nothing outside of the directory is read, and no file that never ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import Survived
from hostile_values import broken
from hypothesis import given
from readers import INDEX, checkpoint as read_checkpoint

from bench.errors import AtlasError
from bench.plans.checkpoints import MAX_JSON_BYTES, refuse_unsafe

CONFIG = json.dumps({"model_type": "vit", "hidden_size": 8}).encode()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_bytes(CONFIG)
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_plain_checkpoint_is_fine_and_so_are_links_within_it(checkpoint: Path) -> None:
    (checkpoint / "blobs").mkdir()
    (checkpoint / "blobs" / "1").write_bytes(b"weights")
    (checkpoint / "other.safetensors").symlink_to("blobs/1")
    index = {"metadata": {}, "weight_map": {"a": "model.safetensors", "b": "other.safetensors"}}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index))
    refuse_unsafe(checkpoint)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "preprocessor_config.json", "folder"])
def test_a_link_out_of_the_directory_is_not_followed(checkpoint: Path, name: str) -> None:
    outside = checkpoint.parent / "outside"
    outside.mkdir() if name == "folder" else outside.write_bytes(CONFIG)
    (checkpoint / name).unlink(missing_ok=True)
    (checkpoint / name).symlink_to(outside)
    with pytest.raises(AtlasError, match="link to a file outside"):
        refuse_unsafe(checkpoint)


@pytest.mark.parametrize("target", ["gone", "model.safetensors"])
def test_a_dangling_link_is_refused(checkpoint: Path, target: str) -> None:
    (checkpoint / "model.safetensors").unlink()
    (checkpoint / "model.safetensors").symlink_to(target)
    with pytest.raises(AtlasError, match="cannot be read"):
        refuse_unsafe(checkpoint)


@pytest.mark.parametrize(
    "shard", ["../outside.safetensors", "/etc/passwd", "a/b.safetensors", "pytorch_model.bin", 3, None]
)
def test_parts_of_the_weights_lie_beside_their_index(checkpoint: Path, shard: object) -> None:
    index = {"metadata": {}, "weight_map": {"a": "model.safetensors", "b": shard}}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(AtlasError, match=r"names .* as a part of the weights"):
        refuse_unsafe(checkpoint)


def test_an_adapter_leads_to_another_checkpoint(checkpoint: Path) -> None:
    (checkpoint / "adapter_config.json").write_text('{"base_model_name_or_path": "../other"}')
    with pytest.raises(AtlasError, match="adapter"):
        refuse_unsafe(checkpoint)


def test_what_never_ends_is_not_opened(checkpoint: Path) -> None:
    os.mkfifo(checkpoint / "tokenizer.json")
    with pytest.raises(AtlasError, match="not a regular file"):
        refuse_unsafe(checkpoint)


@pytest.mark.parametrize("content", [b"[" * 100_000, b"1" * 5000, b"\xff", b"", b"{"])
def test_a_configuration_is_json_of_a_sensible_depth(checkpoint: Path, content: bytes) -> None:
    (checkpoint / "config.json").write_bytes(content)
    with pytest.raises(AtlasError, match="not valid JSON"):
        refuse_unsafe(checkpoint)


def test_a_configuration_of_gigabytes_is_not_read(checkpoint: Path) -> None:
    with (checkpoint / "config.json").open("wb") as file:
        file.truncate(MAX_JSON_BYTES + 1)
    with pytest.raises(AtlasError, match="more than"):
        refuse_unsafe(checkpoint)


@pytest.fixture(autouse=True)
def report(survived: Survived) -> Iterator[None]:
    """Each case is an injected fault."""
    yield
    survived("hostile_input", "checkpoints", "read_or_refused")


@given(broken(INDEX))
def test_whatever_an_index_says_it_is_read_or_refused(content: bytes) -> None:
    read_checkpoint(content)
