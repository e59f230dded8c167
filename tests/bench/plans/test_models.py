"""The model table: every row builds its model offline, and its shrunken model agrees eager and compiled."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
import transformers
from conftest import ROOT, THOROUGH, weekly

from bench.errors import AtlasError
from bench.measuring import graphs
from bench.measuring.accuracy import relative_error, tensors
from bench.measuring.build import SCENES, Loaded, _module, _processed, architecture, load
from bench.plans.messages import Recipe
from bench.plans.models import MODELS, ModelSpec, find
from bench.records.record import Task

LABELS = [spec.label for spec in MODELS]
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def build(recipe: Recipe, batch_size: int = 1, batches: int = 1, dtype: torch.dtype = torch.float32) -> Loaded:
    return load(recipe, batch_size=batch_size, batches=batches, dtype=dtype, device=CPU)


def small(label: str) -> Recipe:
    return Recipe(model=label, task=find(label).task, shrunken=True)


def verify(spec: ModelSpec) -> None:
    """Check the class, the parameters and the input size of a model of the table. Some versions run only this."""
    recipe = Recipe(model=spec.label, task=spec.task)
    with torch.device("meta"):
        module, _ = _module(recipe)
    pixels = _processed(recipe, module.config)["pixel_values"]
    assert type(module).__name__ == spec.architecture
    assert sum(parameter.numel() for parameter in module.parameters()) == spec.parameters
    assert pixels.shape == (SCENES, 3, *spec.input_size)


@pytest.mark.parametrize("spec", MODELS, ids=LABELS)
def test_a_model_has_exactly_the_parameters_of_its_checkpoint_and_the_promised_input(spec: ModelSpec) -> None:
    verify(spec)


@pytest.mark.parametrize("label", ["EfficientNet-B0", "MobileNet"])
def test_a_deep_model_with_random_weights_computes_with_normal_numbers(label: str) -> None:
    """A CPU takes several times as long for subnormal ones: eager mode and compiled code differ in how much longer."""
    loaded, outputs = build(Recipe(model=label, task=find(label).task)), list[torch.Tensor]()
    for layer in loaded.module.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(lambda _, __, output: outputs.append(output.abs()))
    loaded.module(**loaded.batches[0])
    smallest = torch.finfo(torch.float32).tiny
    shares = [((values > 0) & (values < smallest)).float().mean().item() for values in outputs]
    assert max(shares) < 0.01


@weekly
@pytest.mark.parametrize("choose", ["=={lowest}", "{bounds}"], ids=["lowest", "newest"])
def test_all_models_build_with_the_lowest_and_the_newest_transformers_that_we_allow(
    choose: str, tmp_path: Path
) -> None:
    (bounds,) = re.findall(r'"transformers(>=[^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    version = choose.format(bounds=bounds, lowest=bounds.removeprefix(">=").partition(",")[0])
    install = ["pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(tmp_path)]
    subprocess.run([sys.executable, "-m", *install, f"transformers{version}"], check=True)
    here = Path(__file__).resolve()
    paths = map(str, (tmp_path, ROOT, here.parent, here.parents[2]))
    code = "import transformers, test_models as t; [t.verify(spec) for spec in t.MODELS]; print(transformers.__file__)"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path)), "not the version of this environment"


def test_a_configuration_class_that_takes_what_it_is_given_leaves_the_table_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Transformers 5.17 pops the type of the decoder, and the second model of a process could not be built."""

    class Model:
        def __init__(self, _: object) -> None:
            pass

        @staticmethod
        def config_class(**options: Any) -> None:
            assert options["decoder_config"].pop("model_type") == "detr"
            assert options["decoder_config"]["backbone_config"], "else it asks the hub for one"

    monkeypatch.setattr(transformers, "MaskFormerForInstanceSegmentation", Model)
    for _ in range(2):
        _module(Recipe(model="Maskformer", task=find("Maskformer").task))


VARIANTS = {
    repr(replace(spec.shrink(), label="", checkpoint="", parameters=0)): spec.label for spec in reversed(MODELS)
}
"""One label for each shrunken model. Two models that differ only in depth share one."""

LOWERED = ("ResNet",)
"""Dynamo alone finds graph breaks. Without the thorough option, only this model continues to AOTAutograd, which takes
as long again. The test of the worker compiles ViT with Inductor."""

COMPILED = ("ViT", "ResNet", "Segformer")
"""Without the thorough option, other models run only eager, since each looks like one of these to Dynamo."""


@pytest.mark.parametrize("label", VARIANTS.values())
def test_the_small_variant_runs_eager_and_compiled_as_one_graph(label: str) -> None:
    loaded = build(small(label), batch_size=2)
    batch = loaded.batches[0]
    assert loaded.input_size == (64, 64)
    with torch.no_grad():
        eager = tensors(loaded.module(**batch))  # before compiling: buffers of a first call would break the graph
    assert eager
    if label not in COMPILED and not THOROUGH:
        return
    backend = "aot_eager" if THOROUGH or label in LOWERED else "eager"
    graphs.reset()
    with torch.no_grad():
        compiled = tensors(torch.compile(loaded.module, backend=backend)(**batch))
    seen = graphs.inspect(loaded.module, batch)
    assert (seen.graphs, seen.breaks, seen.recompiles) == (1, (), 0)
    assert relative_error(compiled, eager) < 1e-4


def test_a_batch_has_four_images_in_turn() -> None:
    loaded = build(small("OwlViT"), batch_size=5, batches=2)
    batch = loaded.batches[1]
    assert (len(batch["pixel_values"]), len(batch["input_ids"])) == (5, 10), "two queries for every image"
    assert torch.equal(batch["pixel_values"][0], batch["pixel_values"][4]), "four images, in turn"
    assert torch.equal(batch["pixel_values"][3], loaded.batches[0]["pixel_values"][0])


def test_every_process_of_a_cell_builds_the_same_weights() -> None:
    first, second = (build(small("ResNet")).module.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, torch.nn.Module]:
    """A small Segformer with its processor, saved in the layout of the hub."""
    folder = tmp_path_factory.mktemp("hub") / "small-segformer"
    spec = find("Segformer").shrink()
    torch.manual_seed(1)
    module = transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig(**spec.config))
    module.save_pretrained(folder)
    transformers.SegformerImageProcessorPil(size={"height": 96, "width": 128}).save_pretrained(folder)
    return folder, module


def test_a_checkpoint_is_loaded_with_its_weights_and_processor(checkpoint: tuple[Path, torch.nn.Module]) -> None:
    folder, module = checkpoint
    loaded = build(Recipe(task="image-segmentation", checkpoint=str(folder), weights="pretrained"))
    assert loaded.input_size == (96, 128)
    weights = loaded.module.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in module.state_dict().items())


def saved(folder: Path, module: Any, processor: Any) -> str:
    module.save_pretrained(folder)
    processor.save_pretrained(folder)
    return str(folder)


def small_vision(**config: Any) -> dict[str, Any]:
    layer = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    return {**layer, "image_size": 64, "patch_size": 32, **config}


def test_the_image_encoder_of_a_model_of_images_and_text_computes_features(tmp_path: Path) -> None:
    config = transformers.CLIPConfig(vision_config=small_vision(), text_config=small_vision(), projection_dim=32)
    size = {"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}}
    folder = saved(tmp_path, transformers.CLIPModel(config), transformers.CLIPImageProcessorPil(**size))
    recipe = Recipe(task="image-feature-extraction", checkpoint=folder, weights="pretrained")
    assert architecture(recipe) == "CLIPVisionModel"
    loaded = build(recipe)
    assert (type(loaded.module).__name__, loaded.has_random_head) == ("CLIPVisionModel", False)
    assert loaded.module(**loaded.batches[0]).pooler_output.shape == (1, 32)


def test_a_checkpoint_without_a_head_for_the_task_has_a_random_one(tmp_path: Path) -> None:
    config = transformers.ViTConfig(**small_vision())
    size = {"height": 64, "width": 64}
    folder = saved(tmp_path, transformers.ViTModel(config), transformers.ViTImageProcessorPil(size=size))
    assert build(Recipe(task="image-classification", checkpoint=folder, weights="pretrained")).has_random_head
    assert not build(Recipe(task="image-classification", checkpoint=folder)).has_random_head, "all weights are random"


def test_the_input_has_as_many_channels_as_the_model(tmp_path: Path) -> None:
    config = transformers.ViTConfig(**small_vision(num_channels=1))
    processor = transformers.ViTImageProcessorPil(size={"height": 64, "width": 64}, image_mean=[0.5], image_std=[0.5])
    folder = saved(tmp_path, transformers.ViTForImageClassification(config), processor)
    loaded = build(Recipe(task="image-classification", checkpoint=folder))
    assert loaded.batches[0]["pixel_values"].shape == (1, 1, 64, 64)


def test_a_processor_that_cannot_be_used_is_said_so_before_anything_is_measured(tmp_path: Path) -> None:
    folder = saved(tmp_path, transformers.ViTModel(transformers.ViTConfig(**small_vision())), transformers.ViTConfig())
    with pytest.raises(AtlasError, match="its image processor cannot be used"):
        architecture(Recipe(task="image-feature-extraction", checkpoint=folder))


def test_a_model_that_needs_more_than_images_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = transformers.ViTImageProcessorPil(size={"height": 64, "width": 64})
    folder = saved(tmp_path, transformers.ViTModel(transformers.ViTConfig(**small_vision())), processor)
    monkeypatch.setattr(transformers.ViTModel, "forward", lambda self, pixel_values, points: None)
    with pytest.raises(AtlasError, match="its model also needs points"):
        architecture(Recipe(task="image-feature-extraction", checkpoint=folder))


def test_a_checkpoint_must_serve_its_task(checkpoint: tuple[Path, torch.nn.Module]) -> None:
    folder, _ = checkpoint
    recipe = Recipe(task="image-segmentation", checkpoint=str(folder))
    assert architecture(recipe) == "SegformerForSemanticSegmentation"
    with pytest.raises(AtlasError, match="no model for object-detection") as error:
        architecture(Recipe(task="object-detection", checkpoint=str(folder)))
    assert error.value.remedy == (
        "choose another --task: image-classification, image-feature-extraction, image-segmentation"
    )


ELSEWHERE = [
    {"model_type": "detr", "use_timm_backbone": False, "backbone": "someone/else", "use_pretrained_backbone": True},
    {"model_type": "detr", "backbone_config": {"model_type": "timm_backbone", "backbone": "hf-hub:someone/else"}},
    {"model_type": "vit", "attn_implementation": "someone/else", "_name_or_path": "someone/else"},
    {"model_type": "unknown", "auto_map": {"AutoConfig": "someone/else--config.Config"}},
]


@pytest.mark.parametrize("config", ELSEWHERE, ids=json.dumps)
@pytest.mark.parametrize("weights", ["random", "pretrained"])
def test_a_folder_never_leads_to_the_hub(
    config: dict[str, object], weights: Literal["random", "pretrained"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def refuse(*address: object, **_: object) -> None:
        asked.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    for name in ("socket.create_connection", "socket.getaddrinfo", "socket.socket.connect"):
        monkeypatch.setattr(name, refuse)
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "preprocessor_config.json").write_text('{"auto_map": {"AutoImageProcessor": "someone/else--a.B"}}')
    task: Task = "image-classification" if config["model_type"] == "vit" else "object-detection"
    recipe = Recipe(task=task, checkpoint=str(tmp_path), weights=weights)
    with suppress(AtlasError, OSError, ValueError, ImportError, KeyError):  # for want of weights and processors
        architecture(recipe)
        build(recipe)
    assert not asked


def test_weights_out_of_reach_are_said_so_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # else it retries for half a minute
    with pytest.raises(AtlasError, match="configuration cannot be read") as error:
        architecture(Recipe(model="ViT", task="image-classification", weights="pretrained"))
    assert error.value.where == "--weights pretrained: google/vit-base-patch16-224"


def test_pickled_weights_are_never_read(checkpoint: tuple[Path, torch.nn.Module], tmp_path: Path) -> None:
    folder, _ = checkpoint
    for file in folder.iterdir():
        if file.suffix == ".json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    marker = tmp_path / "was-run"

    class Payload:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (marker.write_text, ("pickled code ran",))

    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Payload()))
    with pytest.raises(OSError, match="safetensors"):
        build(Recipe(task="image-segmentation", checkpoint=str(tmp_path), weights="pretrained"))
    assert not marker.exists()


@pytest.mark.parametrize("name", ["Conditional-DETR", "conditional detr", "microsoft/conditional-detr-resnet-50"])
def test_models_are_found_by_label_or_checkpoint(name: str) -> None:
    assert find(name).label == "Conditional-DETR"


def test_an_unknown_model_is_answered_with_the_nearest() -> None:
    with pytest.raises(AtlasError) as error:
        find("Segfromer")
    assert "Segformer" in error.value.remedy
