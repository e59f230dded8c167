"""A checkpoint in a folder: it is told by its content, and what is missing is named with a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.errors import AtlasError
from bench.plans.checkpoints import LocalCheckpoint, identify


def saved(folder: Path, weights: bytes | None = b"weights", config: object = None) -> Path:
    """Save a checkpoint as Transformers does."""
    folder.mkdir(parents=True)
    config = {"model_type": "vit", "hidden_size": 8} if config is None else config
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "preprocessor_config.json").write_text('{"size": 224}', encoding="utf-8")
    if weights is not None:
        (folder / "model.safetensors").write_bytes(weights)
    return folder


def identified(folder: Path, *, needs_weights: bool = True, name: str | None = None) -> LocalCheckpoint:
    return identify(folder, needs_weights=needs_weights, name=name)


@pytest.mark.parametrize("difference", ["weights", "config", "processor", "no weights", "none"])
def test_a_checkpoint_is_told_by_its_content_wherever_it_lies(tmp_path: Path, difference: str) -> None:
    first = identified(saved(tmp_path / "a" / "model"))
    weights = {"weights": b"others", "no weights": None}.get(difference, b"weights")
    config = {"model_type": "vit", "hidden_size": 9} if difference == "config" else None
    other = saved(tmp_path / "b" / "model", weights, config)
    if difference == "processor":
        (other / "preprocessor_config.json").write_text('{"size": 384}', encoding="utf-8")
    second = identified(other, needs_weights=False)
    assert (first.name, first.model_type) == (second.name, second.model_type) == ("model", "vit")
    assert (first.digest == second.digest) == (difference == "none")


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("config.json", "contains no config.json"),
        ("preprocessor_config.json", "contains no preprocessor_config.json"),
        ("model.safetensors", "has no weights"),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, missing: str, says: str) -> None:
    folder = saved(tmp_path / "m")
    (folder / missing).unlink()
    with pytest.raises(AtlasError, match=says) as error:
        identified(folder)
    assert error.value.remedy


def test_pickles_are_refused_with_a_way_to_convert_them(tmp_path: Path) -> None:
    folder = saved(tmp_path / "m", None)
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(AtlasError, match="no weights in safetensors") as error:
        identified(folder)
    assert "save_pretrained" in error.value.remedy
    assert identified(folder, needs_weights=False).name == "m"


@pytest.mark.parametrize("content", ["[]", "{}", '{"model_type": 3}', '{"model_type": "../vit"}', "{", "\0"])
def test_a_configuration_without_a_type_is_refused(tmp_path: Path, content: str) -> None:
    folder = saved(tmp_path / "m")
    (folder / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(AtlasError, match="not JSON with a model_type"):
        identified(folder)


@pytest.mark.parametrize("name", ["", " ", "a/b", "<b>", "a\nb", "$(reboot)", "x" * 81, "me@example.org", "\u202eabc"])
def test_a_name_that_pages_could_not_show_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(AtlasError) as error:
        identified(saved(tmp_path / "m"), name=name)
    assert error.value.where == "--name"
