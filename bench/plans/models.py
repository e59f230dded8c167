"""The model table: twelve vision checkpoints, by their labels in the published tables. Imports no torch.

Each row says how to build the architecture offline, with random weights and the exact parameters of its checkpoint, and
how its image processor prepares the input. To add a model, add a row: `bench.measuring.build` builds it,
`tests/bench/plans/test_models.py` checks it, and all tables and pages include it.

    python -m bench list
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bench.choices import pick
from bench.records.record import Task

SHRUNKEN_LABEL = "{} (shrunken)"
"""Label of a shrunken model, so that its records are not mistaken for those of the real one."""


@dataclass(frozen=True)
class ModelSpec:
    """How to build one model and its input.

    `config` and `processor` hold the differences from the defaults of the configuration class and image processor.
    `shrunken` and `shrunken_processor` override them for tests, with one layer and 64×64 pixels.
    """

    label: str
    checkpoint: str
    task: Task
    architecture: str  # class name in transformers
    processor_class: str
    parameters: int
    input_size: tuple[int, int]  # height and width in pixels
    config: Mapping[str, Any] = field(default_factory=dict)
    processor: Mapping[str, Any] = field(default_factory=dict)
    takes_any_size: bool = False  # of images, without other inputs that depend on it
    shrunken: Mapping[str, Any] = field(default_factory=dict)
    shrunken_processor: Mapping[str, Any] = field(default_factory=lambda: {"size": {"height": 64, "width": 64}})

    def shrink(self) -> ModelSpec:
        """Return the same architecture with one layer, at 64×64 pixels."""
        return replace(
            self,
            label=SHRUNKEN_LABEL.format(self.label),
            config={**self.config, **self.shrunken},
            processor={**self.processor, **self.shrunken_processor},
            input_size=(64, 64),
        )


def _resnet(*depths: int) -> dict[str, Any]:
    return {"model_type": "resnet", "depths": depths, "out_features": ["stage4"]}


def _swin(**config: Any) -> dict[str, Any]:
    stages = ["stage1", "stage2", "stage3", "stage4"]
    return {"model_type": "swin", "drop_path_rate": 0.3, "out_features": stages, **config}


_DECODER = {"model_type": "detr", "use_timm_backbone": False, "backbone_config": {"model_type": "resnet"}}
"""The decoder of Maskformer. Its backbone is never built, but without a name Transformers asks the hub for one."""

_SMALL_TRANSFORMER = {"num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
_SMALL_RESNET = {**_resnet(1, 1, 1, 1), "embedding_size": 16, "hidden_sizes": (16, 32, 64, 128)}
_SMALL_SWIN = _swin(image_size=64, embed_dim=16, depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 2), window_size=2)
_SMALL_LAYERS = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
_SMALL_DETR = {**_SMALL_LAYERS, "d_model": 32, "num_queries": 10, "backbone_config": _SMALL_RESNET}
_SMALL_MASK = {"backbone_config": _SMALL_SWIN, "mask_feature_size": 32}


def _detr_model(label: str, checkpoint: str, kind: str, parameters: int, depth: int = 6) -> ModelSpec:
    return ModelSpec(
        label=label,
        checkpoint=checkpoint,
        task="object-detection",
        architecture=f"{kind}ForObjectDetection",
        processor_class=f"{kind}ImageProcessorPil",
        parameters=parameters,
        input_size=(800, 1066),
        config={"use_timm_backbone": False, "backbone_config": _resnet(3, 4, depth, 3), "num_labels": 91},
        shrunken=_SMALL_DETR,
    )


MODELS: tuple[ModelSpec, ...] = (
    ModelSpec(
        label="ViT",
        checkpoint="google/vit-base-patch16-224",
        task="image-classification",
        architecture="ViTForImageClassification",
        processor_class="ViTImageProcessorPil",
        parameters=86_567_656,
        input_size=(224, 224),
        config={"num_labels": 1000},
        shrunken={**_SMALL_TRANSFORMER, "image_size": 64},
    ),
    ModelSpec(
        label="BeiT",
        checkpoint="microsoft/beit-base-patch16-224-pt22k-ft22k",
        task="image-classification",
        architecture="BeitForImageClassification",
        processor_class="BeitImageProcessorPil",
        parameters=102_557_713,
        input_size=(224, 224),
        config={"use_relative_position_bias": True, "num_labels": 21_841},
        shrunken={**_SMALL_TRANSFORMER, "image_size": 64, "num_labels": 10},
        shrunken_processor={"size": {"height": 64, "width": 64}, "crop_size": {"height": 64, "width": 64}},
    ),
    ModelSpec(
        label="ConvNeXT",
        checkpoint="facebook/convnext-large-224",
        task="image-classification",
        architecture="ConvNextForImageClassification",
        processor_class="ConvNextImageProcessorPil",
        parameters=197_767_336,
        input_size=(224, 224),
        config={"depths": (3, 3, 27, 3), "hidden_sizes": (192, 384, 768, 1536), "num_labels": 1000},
        processor={"size": {"shortest_edge": 224}, "crop_pct": 0.875},
        takes_any_size=True,
        shrunken={"depths": (1, 1, 1, 1), "hidden_sizes": (16, 32, 64, 128)},
        shrunken_processor={"size": {"shortest_edge": 64}},
    ),
    ModelSpec(
        label="ResNet",
        checkpoint="microsoft/resnet-50",
        task="image-classification",
        architecture="ResNetForImageClassification",
        processor_class="ConvNextImageProcessorPil",
        parameters=25_557_032,
        input_size=(224, 224),
        config={"num_labels": 1000},
        processor={"size": {"shortest_edge": 224}, "crop_pct": 0.875},
        takes_any_size=True,
        shrunken={"depths": (1, 1, 1, 1), "embedding_size": 16, "hidden_sizes": (16, 32, 64, 128)},
        shrunken_processor={"size": {"shortest_edge": 64}},
    ),
    ModelSpec(
        label="Segformer",
        checkpoint="nvidia/segformer-b0-finetuned-ade-512-512",
        task="image-segmentation",
        architecture="SegformerForSemanticSegmentation",
        processor_class="SegformerImageProcessorPil",
        parameters=3_752_694,
        input_size=(512, 512),
        config={"num_labels": 150},
        takes_any_size=True,
        shrunken={"depths": (1, 1, 1, 1), "hidden_sizes": (16, 32, 40, 64), "decoder_hidden_size": 32},
    ),
    ModelSpec(
        label="Mask2former",
        checkpoint="facebook/mask2former-swin-tiny-coco-panoptic",
        task="image-segmentation",
        architecture="Mask2FormerForUniversalSegmentation",
        processor_class="Mask2FormerImageProcessorPil",
        parameters=47_436_800,
        input_size=(384, 384),
        config={
            "backbone_config": _swin(embed_dim=96, depths=(2, 2, 6, 2), num_heads=(3, 6, 12, 24), window_size=7),
            "num_labels": 133,
        },
        processor={"size": {"height": 384, "width": 384}, "size_divisor": 32},
        shrunken={
            **_SMALL_MASK,
            "encoder_layers": 1,
            "decoder_layers": 2,  # transformers builds one layer less
            "hidden_dim": 32,
            "feature_size": 32,
            "encoder_feedforward_dim": 64,
            "dim_feedforward": 64,
            "num_queries": 10,
        },
    ),
    ModelSpec(
        label="Maskformer",
        checkpoint="facebook/maskformer-swin-base-ade",
        task="image-segmentation",
        architecture="MaskFormerForInstanceSegmentation",
        processor_class="MaskFormerImageProcessorPil",
        parameters=101_831_439,
        input_size=(640, 864),
        config={
            "backbone_config": _swin(
                image_size=384, embed_dim=128, depths=(2, 2, 18, 2), num_heads=(4, 8, 16, 32), window_size=12
            ),
            "decoder_config": _DECODER,
            "num_labels": 150,
        },
        processor={"size": {"shortest_edge": 640, "longest_edge": 2560}, "size_divisor": 32},
        shrunken={
            **_SMALL_MASK,
            "fpn_feature_size": 32,
            "decoder_config": {**_DECODER, **_SMALL_LAYERS, "d_model": 32, "num_queries": 10},
        },
    ),
    ModelSpec(
        label="MobileNet",
        checkpoint="google/deeplabv3_mobilenet_v2_1.0_513",
        task="image-segmentation",
        architecture="MobileNetV2ForSemanticSegmentation",
        processor_class="MobileNetV2ImageProcessorPil",
        parameters=2_525_717,
        input_size=(513, 513),
        config={"image_size": 513, "output_stride": 8, "num_labels": 21},
        processor={"size": {"shortest_edge": 545}, "crop_size": {"height": 513, "width": 513}},
        shrunken={"image_size": 64, "depth_multiplier": 0.25},
        shrunken_processor={"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}},
    ),
    ModelSpec(
        label="OwlViT",
        checkpoint="google/owlvit-base-patch32",
        task="object-detection",
        architecture="OwlViTForObjectDetection",
        processor_class="OwlViTImageProcessorPil",
        parameters=153_231_879,
        input_size=(768, 768),
        shrunken={
            "text_config": _SMALL_TRANSFORMER,
            "vision_config": {**_SMALL_TRANSFORMER, "image_size": 64},
            "projection_dim": 32,
        },
    ),
    _detr_model("DETR", "facebook/detr-resnet-50", "Detr", 41_524_768),
    _detr_model("Resnet-101", "facebook/detr-resnet-101", "Detr", 60_464_672, depth=23),
    _detr_model("Conditional-DETR", "microsoft/conditional-detr-resnet-50", "ConditionalDetr", 43_418_401),
)

BY_LABEL: Mapping[str, ModelSpec] = {spec.label: spec for spec in MODELS}
BY_CHECKPOINT: Mapping[str, ModelSpec] = {spec.checkpoint: spec for spec in MODELS}


def find(name: str) -> ModelSpec:
    """Return the model with this label or checkpoint. Raises `AtlasError` with the closest labels."""
    if spec := BY_CHECKPOINT.get(name):
        return spec
    remedy = " (`python -m bench list` shows them all; for any other model, use --checkpoint)"
    return BY_LABEL[pick("model", name, BY_LABEL, remedy=remedy)]
