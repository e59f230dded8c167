"""Profiles: the same protocol with different constants. Imports neither torch nor numpy, since `--help` needs this.

python -m bench list
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bench.plans.models import MODELS
from bench.records.record import GradMode

ALL_MODELS = tuple(spec.label for spec in MODELS)
OF_2023 = ALL_MODELS[:12]
"""The models of the 2023 guide."""

KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "17179869184", "MALLOC_TRIM_THRESHOLD_": "17179869184"}
"""Makes glibc keep up to 16 GiB of freed memory. By default, it may return megabytes to the kernel and request them
again in each call, depending on the end of its heap. The same eager model then differs by a third between processes,
and the speedup includes effects of the C library. The page “When not to compile” shows both."""

PRECISIONS: Mapping[str, Mapping[str, Any]] = {
    "float32": {"dtype": "float32"},
    "TF32": {"dtype": "float32", "tf32": True},
    "autocast-float16": {"dtype": "float16", "autocast": True},
    "autocast-bfloat16": {"dtype": "bfloat16", "autocast": True},
    "float16": {"dtype": "float16"},
    "bfloat16": {"dtype": "bfloat16"},
}
"""What a model can be computed in, as `--dtype` names it, and the fields of its cell."""


SIZES = 8
"""Sizes in a sequence: as many as Dynamo compiles one frame for, `recompile_limit`. Beyond it, a model stays eager."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The constants of sampling within one process."""

    inputs: int = 4  # batches used in turn, since a single one may stay in a cache
    warmup_calls: int = 10  # enough for lazy initialisation and the allocator
    warmup_s: float = 1.0  # enough for the clocks of a GPU and of a CPU's turbo
    warmup_cap_s: float = 6.0  # per variant; a model of one second per call settles after a few
    warmup_window: int = 5  # calls in each of two adjacent windows …
    warmup_tolerance: float = 0.05  # … that must agree to this share, small beside their scatter
    block_ms: float = 20.0  # far above the clock's resolution, and shorter than changes of clock frequency
    block_calls: int | None = None  # fixed block length, if the protocol has one
    lead_calls: int = 1  # before each block, not sampled: the first call finds the caches of the other variant
    min_s: float = 2.0  # per variant
    max_rounds: int = 30  # after these and `min_s`, more rounds of one process add little
    max_s: float = 20.0  # for both variants; processes differ by more than longer sampling would resolve
    floor_rounds: int = 3  # regardless of `max_s`
    max_repeats: int = 20  # of rounds in which the device was throttled or used by other programs
    compares_layouts: bool = True  # compile once more, to tell what the memory layout saves


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a run covers, the number of processes per cell, and how each process samples."""

    name: str
    summary: str
    models: tuple[str, ...] = ALL_MODELS
    batch_sizes: tuple[int, ...] = (1,)
    variants: tuple[str, ...] = ("compile:default",)
    dtypes: tuple[str, ...] = ("float32",)  # of `PRECISIONS`
    grad_mode: GradMode = "inference_mode"  # of both sides, as programs run
    allow_busy: bool = False  # measure even if other processes use the device
    keep_memory: bool = True  # on a CPU, reuse freed memory as PyTorch does on a GPU: `KEEP_MEMORY`
    processes: int = 3  # per cell; adding some only where an interval is wide would spoil its coverage
    artifact_processes: int = 0  # more, which start from artifacts that the first has saved, with an empty cache
    model_by_model: bool = False  # else the first processes of all models come before any second
    varies_sizes: bool = False  # calls of several sizes instead of rounds of one
    timeout_s: float = 900.0  # a slower process hangs: the slowest model compiles for 5 minutes on two cores
    sampling: Sampling = Sampling()


QUICK = Profile(
    name="quick",
    summary="three models in four minutes on two cores; one process per case, so the intervals cover that process only",
    models=("ViT", "Segformer", "DETR"),
    processes=1,
    timeout_s=300.0,
    sampling=Sampling(min_s=1.0, max_rounds=20, max_s=10.0, warmup_cap_s=2.0, compares_layouts=False),
)
STANDARD = Profile(
    name="standard",
    summary="all models at batch size 1, eager against default compilation",
    # After ten rounds on two CPU cores, the standard error of a speedup is 1.4 to 2%, while processes differ by up to
    # 4%: another process is worth more than more rounds.
    sampling=Sampling(min_s=1.0, max_rounds=10, max_s=10.0, warmup_cap_s=4.0),
)
DEPLOY = Profile(
    name="deploy",
    summary="what most people deploy on a GPU: float16 autocast, with and without CUDA graphs",
    batch_sizes=(1, 4, 16),
    variants=("compile:default", "compile:reduce-overhead"),
    dtypes=("autocast-float16",),
    # Of 20 s or more for a process, calls take two: the speed of the host, for which small batches wait, changes
    # within seconds. After half a second, a MobileNet on an H200 was known to ±37%.
    sampling=Sampling(min_s=2.0, max_rounds=10, max_s=10.0, warmup_cap_s=4.0, compares_layouts=False),
)
FULL = Profile(
    name="full",
    summary="float32 and autocast, batch sizes 1, 4, 16 and three compile modes, for a GPU with hours to spare",
    batch_sizes=(1, 4, 16),
    variants=("compile:default", "compile:reduce-overhead", "compile:max-autotune"),
    dtypes=("float32", "autocast-float16", "autocast-bfloat16"),
    timeout_s=3600.0,  # max-autotune times hundreds of kernels
    sampling=Sampling(max_s=30.0),
)
PAPER_2023 = Profile(
    name="paper-2023",
    summary="the protocol of the 2023 guide: the mean of 300 inferences on one image, after a warm-up",
    models=OF_2023,
    processes=1,
    keep_memory=False,  # as in 2023
    grad_mode="no_grad",  # likewise
    timeout_s=14_400.0,  # 300 calls of the slowest model, eager and compiled, on a CPU
    sampling=Sampling(inputs=1, block_calls=300, lead_calls=0, min_s=0.0, max_rounds=1, floor_rounds=1, warmup_s=0.0),
)

STARTUP = Profile(
    name="startup",
    summary="seconds until the first answer: compiled at once, from a cache, from artifacts, by regions, ahead of time",
    models=OF_2023,
    variants=("compile:default", "compile:default:regions", "aoti"),
    processes=4,
    artifact_processes=3,
    model_by_model=True,
    timeout_s=1800.0,
    sampling=Sampling(min_s=0.5, max_rounds=10, max_s=6.0, warmup_cap_s=2.0, compares_layouts=False),
)
SIZES_PROFILE = Profile(
    name="sizes",
    summary="48 calls of 8 sizes, under five ways to compile for sizes that change",
    models=("ResNet", "ViT", "Segformer"),
    variants=tuple(f"compile:default{sizes}" for sizes in (":static", "", ":marked", ":dynamic", ":padded")),
    processes=1,
    model_by_model=True,
    varies_sizes=True,
    timeout_s=3600.0,
    sampling=Sampling(inputs=1, warmup_cap_s=4.0),
)
MODES = Profile(
    name="modes",
    summary="modes that take minutes to compile: max-autotune, and freezing",
    models=OF_2023,
    variants=("compile:max-autotune", "compile:default:freezing"),
    processes=1,
    model_by_model=True,
    timeout_s=3600.0,
    sampling=Sampling(min_s=1.0, max_rounds=10, max_s=10.0, warmup_cap_s=4.0, compares_layouts=False),
)

WAYS = Profile(
    name="ways",
    summary="other ways to run six models on a CPU: ONNX Runtime, OpenVINO, channels_last, bfloat16, int8",
    models=("ViT", "ResNet", "Segformer", "DETR", "EfficientNet-B0", "ConvNeXT"),
    variants=(
        *("compile:default", "onnxruntime", "openvino", "eager:channels_last"),
        *(f"compile:default:{way}" for way in ("channels_last", "bfloat16", "autocast", "int8-weights", "int8")),
    ),
    processes=2,
    model_by_model=True,
    timeout_s=1800.0,
    sampling=Sampling(min_s=1.0, max_rounds=10, max_s=10.0, warmup_cap_s=4.0, compares_layouts=False),
)

PROFILES: Mapping[str, Profile] = {
    each.name: each for each in (QUICK, STANDARD, DEPLOY, FULL, STARTUP, SIZES_PROFILE, MODES, WAYS, PAPER_2023)
}
