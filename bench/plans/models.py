"""The model table: the twelve vision checkpoints of the 2023 guide, by their labels there, and twelve of today. Imports
no torch.

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
            label=f"{self.label} (shrunken)",  # its records are no results of the model
            config={**self.config, **self.shrunken},
            processor={**self.processor, **self.shrunken_processor},
            input_size=(64, 64),
        )


def _resnet(*depths: int) -> dict[str, Any]:
    return {"model_type": "resnet", "depths": depths, "out_features": ["stage4"]}


def _swin(**config: Any) -> dict[str, Any]:
    stages = ["stage1", "stage2", "stage3", "stage4"]
    return {"model_type": "swin", "drop_path_rate": 0.3, "out_features": stages, **config}


_SWIN_TINY = _swin(embed_dim=96, depths=(2, 2, 6, 2), num_heads=(3, 6, 12, 24), window_size=7)

_DECODER = {"model_type": "detr", "use_timm_backbone": False, "backbone_config": {"model_type": "resnet"}}
"""The decoder of Maskformer. Its backbone is never built, but without a name Transformers asks the hub for one."""

_SMALL_TRANSFORMER = {"num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
_SMALL_RESNET = {**_resnet(1, 1, 1, 1), "embedding_size": 16, "hidden_sizes": (16, 32, 64, 128)}
_SMALL_SWIN = _swin(image_size=64, embed_dim=16, depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 2), window_size=2)
_SMALL_LAYERS = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
_SMALL_DETR = {**_SMALL_LAYERS, "d_model": 32, "num_queries": 10, "backbone_config": _SMALL_RESNET}
_SMALL_REALTIME = {
    "encoder_in_channels": [32, 64, 128],
    "encoder_hidden_dim": 32,
    "encoder_ffn_dim": 64,
    "d_model": 32,
    "decoder_in_channels": [32, 32, 32],
    "decoder_ffn_dim": 64,
    "decoder_layers": 2,
    "num_queries": 10,
}
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


IMAGENET = {"image_mean": (0.485, 0.456, 0.406), "image_std": (0.229, 0.224, 0.225)}
"""Mean and standard deviation by which the processors of most checkpoints normalize. Their classes have others."""


def _dinov2(width: int, heads: int, **config: Any) -> dict[str, Any]:
    return {"hidden_size": width, "num_attention_heads": heads, "image_size": 518, **config}


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
            "backbone_config": _SWIN_TINY,
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
    ModelSpec(
        label="DINOv2",
        checkpoint="facebook/dinov2-base",
        task="image-feature-extraction",
        architecture="Dinov2Model",
        processor_class="BitImageProcessorPil",
        parameters=86_580_480,
        input_size=(224, 224),
        config=_dinov2(768, 12),
        processor={"size": {"shortest_edge": 256}, **IMAGENET},
        shrunken={"num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 2, "image_size": 64},
        shrunken_processor={"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}},
    ),
    ModelSpec(
        label="DINOv3",
        checkpoint="facebook/dinov3-vitb16-pretrain-lvd1689m",
        task="image-feature-extraction",
        architecture="DINOv3ViTModel",
        processor_class="ViTImageProcessorPil",  # the checkpoint's own needs torchvision
        parameters=85_660_416,
        input_size=(224, 224),
        config={"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_register_tokens": 4},
        processor=IMAGENET,
        shrunken={**_SMALL_TRANSFORMER, "image_size": 64},
    ),
    ModelSpec(
        label="SigLIP 2",
        checkpoint="google/siglip2-base-patch16-224",
        task="image-feature-extraction",
        architecture="SiglipVisionModel",
        processor_class="SiglipImageProcessorPil",
        parameters=92_884_224,
        input_size=(224, 224),
        shrunken={**_SMALL_TRANSFORMER, "image_size": 64},
    ),
    ModelSpec(
        label="CLIP",
        checkpoint="openai/clip-vit-base-patch32",
        task="image-feature-extraction",
        architecture="CLIPVisionModel",
        processor_class="CLIPImageProcessorPil",
        parameters=87_456_000,
        input_size=(224, 224),
        shrunken={**_SMALL_TRANSFORMER, "image_size": 64},
        shrunken_processor={"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}},
    ),
    ModelSpec(
        label="Depth Anything V2",
        checkpoint="depth-anything/Depth-Anything-V2-Small-hf",
        task="depth-estimation",
        architecture="DepthAnythingForDepthEstimation",
        processor_class="DPTImageProcessorPil",
        parameters=24_785_089,
        input_size=(518, 686),
        config={
            "backbone_config": _dinov2(
                384, 6, model_type="dinov2", out_indices=[3, 6, 9, 12], reshape_hidden_states=False
            )
        },
        processor={
            "size": {"height": 518, "width": 518},
            "keep_aspect_ratio": True,
            "ensure_multiple_of": 14,
            **IMAGENET,
        },
        shrunken={
            "backbone_config": {
                **_dinov2(32, 2, model_type="dinov2", out_indices=[1, 2, 3, 4], reshape_hidden_states=False),
                "num_hidden_layers": 4,
                "image_size": 64,
                "patch_size": 16,
            },
            "patch_size": 16,
            "reassemble_hidden_size": 32,
            "neck_hidden_sizes": (8, 8, 16, 16),
            "fusion_hidden_size": 8,
            "head_hidden_size": 8,
        },
        shrunken_processor={"size": {"height": 64, "width": 64}, "ensure_multiple_of": 16, "keep_aspect_ratio": False},
    ),
    ModelSpec(
        label="RT-DETR v2",
        checkpoint="PekingU/rtdetr_v2_r50vd",
        task="object-detection",
        architecture="RTDetrV2ForObjectDetection",
        processor_class="RTDetrImageProcessorPil",
        parameters=42_891_372,
        input_size=(640, 640),
        config={"backbone_config": {"model_type": "rt_detr_resnet", "out_indices": [2, 3, 4]}, "num_labels": 80},
        shrunken={
            "backbone_config": {
                "model_type": "rt_detr_resnet",
                "out_indices": [2, 3, 4],
                "embedding_size": 16,
                "depths": [1, 1, 1, 1],
                "hidden_sizes": [16, 32, 64, 128],
            },
            **_SMALL_REALTIME,
        },
    ),
    ModelSpec(
        label="D-FINE",
        checkpoint="ustc-community/dfine-large-coco",
        task="object-detection",
        architecture="DFineForObjectDetection",
        processor_class="RTDetrImageProcessorPil",
        parameters=31_244_152,
        input_size=(640, 640),
        config={"decoder_n_points": [3, 6, 3], "num_labels": 80},
        shrunken={
            "backbone_config": {
                "model_type": "hgnet_v2",
                "out_indices": [2, 3, 4],
                "stem_channels": [3, 8, 16],
                "stage_in_channels": [16, 16, 32, 64],
                "stage_mid_channels": [8, 8, 16, 16],
                "stage_out_channels": [16, 32, 64, 128],
                "hidden_sizes": [16, 32, 64, 128],
                "stage_num_blocks": [1, 1, 1, 1],
                "stage_numb_of_layers": [1, 1, 1, 1],
            },
            **_SMALL_REALTIME,
        },
    ),
    ModelSpec(
        label="SAM 2.1",
        checkpoint="facebook/sam2.1-hiera-tiny",
        task="image-feature-extraction",
        architecture="Sam2VisionModel",
        processor_class="SamImageProcessorPil",  # the checkpoint's own needs torchvision
        parameters=27_219_136,
        input_size=(1024, 1024),
        shrunken={
            "backbone_config": {
                "model_type": "sam2_hiera_det_model",
                "image_size": [64, 64],
                "hidden_size": 16,
                "blocks_per_stage": [1, 1, 2, 1],
                "embed_dim_per_stage": [16, 32, 64, 128],
                "num_attention_heads_per_stage": [1, 1, 2, 2],
                "global_attention_blocks": [3],
            },
            "backbone_channel_list": [128, 64, 32, 16],
            "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
            "fpn_hidden_size": 32,
        },
        shrunken_processor={"size": {"longest_edge": 64}, "pad_size": {"height": 64, "width": 64}},
    ),
    ModelSpec(
        label="Swin v2",
        checkpoint="microsoft/swinv2-tiny-patch4-window8-256",
        task="image-classification",
        architecture="Swinv2ForImageClassification",
        processor_class="ViTImageProcessorPil",
        parameters=28_347_154,
        input_size=(256, 256),
        config={"image_size": 256, "window_size": 8, "num_labels": 1000},
        processor={"size": {"height": 256, "width": 256}, **IMAGENET},
        shrunken={"image_size": 64, "embed_dim": 16, "depths": (1, 1), "num_heads": (1, 2), "window_size": 2},
    ),
    ModelSpec(
        label="ConvNeXt V2",
        checkpoint="facebook/convnextv2-tiny-1k-224",
        task="image-classification",
        architecture="ConvNextV2ForImageClassification",
        processor_class="ConvNextImageProcessorPil",
        parameters=28_635_496,
        input_size=(224, 224),
        config={"num_labels": 1000},
        processor={"size": {"shortest_edge": 224}, "crop_pct": 0.875, **IMAGENET},
        shrunken={"depths": (1, 1, 1, 1), "hidden_sizes": (16, 32, 64, 128)},
        shrunken_processor={"size": {"shortest_edge": 64}},
    ),
    ModelSpec(
        label="EfficientNet-B0",
        checkpoint="google/efficientnet-b0",
        task="image-classification",
        architecture="EfficientNetForImageClassification",
        processor_class="EfficientNetImageProcessorPil",
        parameters=5_288_548,
        input_size=(224, 224),
        config={
            "image_size": 224,
            "width_coefficient": 1.0,
            "depth_coefficient": 1.0,
            "hidden_dim": 1280,
            "num_labels": 1000,
        },
        processor={"size": {"height": 224, "width": 224}},
        shrunken={"image_size": 64, "depth_coefficient": 0.1, "num_labels": 10},
    ),
    ModelSpec(
        label="OneFormer",
        checkpoint="shi-labs/oneformer_ade20k_swin_tiny",
        task="image-segmentation",
        architecture="OneFormerForUniversalSegmentation",
        processor_class="OneFormerImageProcessorPil",
        parameters=50_737_938,
        input_size=(512, 682),
        config={
            "backbone_config": _SWIN_TINY,
            "num_labels": 150,
        },
        processor={"size": {"shortest_edge": 512, "longest_edge": 2048}, "class_info_file": None},
        shrunken={
            "backbone_config": _SMALL_SWIN,
            "conv_dim": 32,
            "mask_dim": 32,
            "hidden_dim": 32,
            "num_queries": 10,
            "query_dec_layers": 1,
            "encoder_layers": 1,
            "decoder_layers": 2,
            "encoder_feedforward_dim": 64,
            "dim_feedforward": 64,
        },
    ),
)

BY_LABEL: Mapping[str, ModelSpec] = {spec.label: spec for spec in MODELS}
BY_CHECKPOINT: Mapping[str, ModelSpec] = {spec.checkpoint: spec for spec in MODELS}


def find(name: str) -> ModelSpec:
    """Return the model with this label or checkpoint. Raises `AtlasError` with the closest labels."""
    if spec := BY_CHECKPOINT.get(name):
        return spec
    remedy = " (`python -m bench list` shows them all; for any other model, use --checkpoint)"
    return BY_LABEL[pick("model", name, BY_LABEL, remedy=remedy)]
