"""ImageNet accuracies of timm's pretrained weights, from a file that is committed as timm published it.

Takes its path; returns the best accuracy of each architecture at each image size. An architecture is the name of a
model before its first dot; the tag of the weights follows: ``convnext_tiny.in12k_ft_in1k``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from bench.exchange.transfer import Whole, rows
from bench.records.record import Name, Source

PLACE = "published/timm-imagenet.csv"
"""Where the file is, below the folder of records."""

SOURCE = Source(
    title="pytorch-image-models: results-imagenet.csv",
    url="https://github.com/huggingface/pytorch-image-models/blob/main/results/results-imagenet.csv",
    date="2026-08",
    licence="Apache-2.0",
)
"""The publication of the file. Whoever replaces the file changes the date."""


class Accuracy(NamedTuple):
    """The share of ImageNet's validation images whose most likely class is right, and the weights that reach it."""

    weights: str
    top1: float


Accuracies = Mapping[tuple[str, str], Accuracy]
"""By architecture and image size, such as ``224×224``."""


class _Row(msgspec.Struct):
    model: Name
    img_size: Whole
    top1: Annotated[float, msgspec.Meta(ge=0, le=100)]  # percent


def read_accuracies(results: Path) -> Accuracies:
    """Return the accuracies below a folder of records, none without the file. Raises `AtlasError` for a broken one."""
    best: dict[tuple[str, str], Accuracy] = {}
    if (path := results / PLACE).exists():
        for _, row in rows(path, _Row, ("model", "img_size")):
            case = row.model.partition(".")[0], f"{row.img_size}×{row.img_size}"
            if case not in best or row.top1 / 100 > best[case].top1:
                best[case] = Accuracy(row.model, row.top1 / 100)
    return best
