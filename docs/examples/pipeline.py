"""Parts of a call of a Transformers pipeline, from the file of a photo to labels, boxes or masks: eager and compiled.

    python pipeline.py

The weights are random. It prints the medians, and on the last line all results as JSON.
"""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from transformers import (
    DetrConfig,
    DetrForObjectDetection,
    DetrImageProcessorPil,
    SegformerConfig,
    SegformerForSemanticSegmentation,
    SegformerImageProcessorPil,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessorPil,
    pipeline,
)
from transformers.image_utils import load_image

SIZE, CALLS = (1024, 768), 15
PARTS = ("decode", "prepare", "model", "postprocess")


def models():
    resnet = {"model_type": "resnet", "out_features": ["stage4"]}
    detr = DetrConfig(use_timm_backbone=False, backbone_config=resnet, num_labels=91)
    yield "ViT", "image-classification", ViTForImageClassification(ViTConfig(num_labels=1000)), ViTImageProcessorPil()
    segformer = SegformerForSemanticSegmentation(SegformerConfig(num_labels=150))
    yield "Segformer", "image-segmentation", segformer, SegformerImageProcessorPil()
    yield "DETR", "object-detection", DetrForObjectDetection(detr), DetrImageProcessorPil()


def call(pipe, photo):
    """Do what `pipe(photo)` does, and return the milliseconds of each part."""
    times = [time.perf_counter()]
    image = load_image(photo)
    times.append(time.perf_counter())
    inputs = pipe.preprocess(image)
    times.append(time.perf_counter())
    outputs = pipe.forward(inputs)
    times.append(time.perf_counter())
    pipe.postprocess(outputs)
    times.append(time.perf_counter())
    return np.diff(times) * 1e3


def medians(pipe, photo):
    call(pipe, photo)  # compiles
    call(pipe, photo)
    parts = np.median([call(pipe, photo) for _ in range(CALLS)], axis=0)
    return {f"{part}_ms": round(float(ms), 3) for part, ms in zip(PARTS, parts)}


measured = []
with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
    photo = str(Path(folder, "photo.jpg"))
    Image.effect_mandelbrot(SIZE, (-2.0, -1.5, 1.0, 1.5), 100).convert("RGB").save(photo, quality=90)
    for name, task, model, processor in models():
        pipe = pipeline(task, model=model.eval(), image_processor=processor, device="cpu")
        eager = medians(pipe, photo)
        model.compile()
        compiled = medians(pipe, photo)
        call_ms, compiled_call_ms = sum(eager.values()), sum(compiled.values())
        ratios = {
            "model_share": eager["model_ms"] / call_ms,
            "model_speedup": eager["model_ms"] / compiled["model_ms"],
            "call_speedup": call_ms / compiled_call_ms,
        }
        measured.append({"model": name, "eager": eager, "compiled": compiled, **ratios})
        print(measured[-1])

print(json.dumps({"size": SIZE, "models": measured}))
