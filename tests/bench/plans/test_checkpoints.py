"""Untrusted checkpoints: nothing outside of the directory is read, and no file that never ends.

Each local one is told by its content.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hostile_values import broken
from hypothesis import given

from bench.errors import AtlasError
from bench.plans.checkpoints import LocalCheckpoint, identify, refuse_unsafe

CONFIG = json.dumps({"model_type": "vit", "hidden_size": 8}).encode()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_bytes(CONFIG)
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


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
    with pytest.raises(AtlasError, match="lists weights"):
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


# ── Identity ────────────────────────────────────────────────────────────────────────────────────────────────────────


def safetensors(*values: int) -> bytes:
    """One tensor of bytes, in the format of safetensors."""
    header = json.dumps({"a": {"dtype": "U8", "shape": [len(values)], "data_offsets": [0, len(values)]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(values)


def saved(folder: Path, weights: bytes | None = safetensors(1, 2), config: object = None) -> Path:
    """Save a checkpoint as Transformers does."""
    folder.mkdir(parents=True)
    config = {"model_type": "vit", "hidden_size": 8} if config is None else config
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "preprocessor_config.json").write_text('{"size": 224}', encoding="utf-8")
    if weights is not None:
        (folder / "model.safetensors").write_bytes(weights)
    return folder


def identified(folder: Path, **options: object) -> LocalCheckpoint:
    return identify(folder, needs_weights=bool(options.pop("needs_weights", True)), **options)  # type: ignore[arg-type]


def test_equal_content_is_one_checkpoint_wherever_it_lies_and_however_it_was_saved(tmp_path: Path) -> None:
    one = identified(saved(tmp_path / "a" / "model"))
    config = {"transformers_version": "9", "hidden_size": 8, "_name_or_path": "/home/me", "model_type": "vit"}
    other = identified(saved(tmp_path / "b" / "other", config=config))
    assert one.digest == other.digest
    assert (one.name, other.name, one.model_type, one.has_weights) == ("model", "other", "vit", True)


@pytest.mark.parametrize("difference", ["weights", "config", "processor", "no weights"])
def test_other_content_is_another_checkpoint(tmp_path: Path, difference: str) -> None:
    first = identified(saved(tmp_path / "a" / "model"))
    weights = {"weights": safetensors(1, 3), "no weights": None}.get(difference, safetensors(1, 2))
    config = {"model_type": "vit", "hidden_size": 9} if difference == "config" else None
    other = saved(tmp_path / "b" / "model", weights, config)
    if difference == "processor":
        (other / "preprocessor_config.json").write_text('{"size": 384}', encoding="utf-8")
    second = identified(other, needs_weights=False)
    assert first.name == second.name
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("config.json", "contains no config.json"),
        ("preprocessor_config.json", "contains no preprocessor_config.json"),
        ("model.safetensors", "has no weights"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, missing: str, says: str) -> None:
    folder = saved(tmp_path / "m")
    (folder / missing).unlink()
    with pytest.raises(AtlasError, match=says) as error:
        identified(folder)
    assert error.value.remedy


@pytest.mark.parametrize(
    "content",
    [b"version https://git-lfs.github.com/spec/v1\n", safetensors(1, 2)[:-1], b"", safetensors(1) + b"more", b"\0" * 8],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(AtlasError, match="not a complete safetensors"):
        identified(saved(tmp_path / "m", content))


@pytest.mark.parametrize("config", [[], {}, {"model_type": 3}, {"model_type": "../vit"}, "vit"])
def test_a_configuration_without_a_type_is_refused(tmp_path: Path, config: object) -> None:
    with pytest.raises(AtlasError, match="no model_type"):
        identified(saved(tmp_path / "m", config=config))


@pytest.mark.parametrize("name", ["", " ", "a/b", "<b>", "a\nb", "$(reboot)", "x" * 81, "me@example.org", "\u202eabc"])
def test_a_name_that_pages_could_not_show_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(AtlasError) as error:
        identified(saved(tmp_path / "m"), name=name)
    assert error.value.where == "--name"


INDEX = json.dumps({"metadata": {"total_size": 8}, "weight_map": {"a": "model.safetensors"}}).encode()


@given(broken(INDEX))
def test_whatever_an_index_says_it_is_read_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name, suppress(AtlasError):
        for file in ("config.json", "model.safetensors.index.json"):
            Path(name, file).write_bytes(content)
        refuse_unsafe(Path(name))


def test_pickles_are_refused_with_a_way_to_convert_them(tmp_path: Path) -> None:
    folder = saved(tmp_path / "m", None)
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(AtlasError, match="only in pickle format") as error:
        identified(folder)
    assert "save_pretrained" in error.value.remedy
    assert not identified(folder, needs_weights=False).has_weights
