"""Profiles: the same protocol with other constants. No torch, no numpy: `--help` and `list` read this.

python -m bench list
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bench.plans.models import MODELS

ALL_MODELS = tuple(spec.label for spec in MODELS)

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "17179869184",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
}
"""With these glibc keeps up to 16 GiB of freed memory. By itself it gives megabytes back and takes them again in each
call, or doesn't: that depends on what lies at the end of its heap. One and the same eager model then differs by a third
between processes, and compiling is credited or charged with what the C library does. The page “When not to compile”
shows the figures of both."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The constants of sampling within one process."""

    inputs: int = 4  # batches used in turn: a fixed address or content may be cached
    warmup_calls: int = 10  # lazy initialisation and the allocator settle within a few calls
    warmup_s: float = 1.0  # clocks of a GPU and of a CPU's turbo settle within a second
    warmup_cap_s: float = 6.0  # per variant: a model that needs a second a call has settled after a few
    warmup_window: int = 5  # two windows of so many calls …
    warmup_tolerance: float = 0.05  # … agree: what is left of a trend is small beside the scatter of a window
    block_ms: float = 20.0  # long beside the clock's resolution, short beside a change of clock frequency
    block_calls: int | None = None  # a fixed block length, where a protocol asks for it
    lead_calls: int = 1  # before a block, no samples: the first finds the caches as the other variant has left them
    min_rounds: int = 30
    min_samples: int = 100  # per variant
    min_s: float = 2.0  # per variant
    max_rounds: int = 2000  # from which on, with `min_s`, more of this process would tell little
    max_s: float = 20.0  # both variants: processes differ by more than longer sampling of one would resolve
    floor_rounds: int = 3  # done whatever `max_s` says: fewer are no sample
    check_every: int = 5  # rounds between looks at the precision: looking costs time, and each look is a chance to stop
    max_repeats: int = 20  # rounds repeated because the device was throttled or used by others
    speedup_precision: float = 0.005  # half-width of the 95% interval, as a share
    latency_precision: float = 0.01


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a run covers, how many processes it gives each cell, and how each samples."""

    name: str
    summary: str
    models: tuple[str, ...] = ALL_MODELS
    batch_sizes: tuple[int, ...] = (1,)
    compile_modes: tuple[str, ...] = ("default",)
    dtypes: tuple[str, ...] = ("float32",)
    dynamic: bool | None = None  # of torch.compile: shapes are variables, constants, or whichever Dynamo finds out
    allow_busy: bool = False  # measure although other processes compute on the device
    keep_memory: bool = True  # what a call frees serves the next one, on a CPU as PyTorch does on a GPU: `KEEP_MEMORY`
    processes: int = 3  # of each cell. Adding some where chance made an interval wide would spoil its coverage
    timeout_s: float = 900.0  # past this a process hangs: the slowest known compiles for 5 minutes on two cores
    sampling: Sampling = Sampling()


QUICK = Profile(
    name="quick",
    summary="three models in four minutes on two cores: one process each, so its intervals are of that process only",
    models=("ViT", "Segformer", "DETR"),
    processes=1,
    timeout_s=300.0,
    sampling=Sampling(min_rounds=20, min_samples=40, min_s=1.0, max_s=12.0, warmup_cap_s=4.0),
)
STANDARD = Profile(
    name="standard",
    summary="all twelve models at batch size 1, eager against default compilation",
    processes=6,
    # After ten rounds the standard error of a speedup is 1.4 to 2% on two CPU cores, and processes differ by up to 4%:
    # time goes into another process instead.
    sampling=Sampling(min_rounds=10, min_samples=10, min_s=1.0, max_rounds=10, max_s=10.0, warmup_cap_s=4.0),
)
FULL = Profile(
    name="full",
    summary="batch sizes 1, 4, 16 and three compile modes, for a GPU",
    batch_sizes=(1, 4, 16),
    compile_modes=("default", "reduce-overhead", "max-autotune"),
    timeout_s=3600.0,  # max-autotune times hundreds of kernels
    sampling=Sampling(max_s=30.0),
)
PAPER_2023 = Profile(
    name="paper-2023",
    summary="the protocol of the 2023 guide: the mean of 300 inferences on one image, after a warm-up",
    processes=1,
    keep_memory=False,  # as it was measured then
    timeout_s=14_400.0,  # 300 calls of the slowest model, eager and compiled, on a CPU
    sampling=Sampling(inputs=1, block_calls=300, lead_calls=0, min_s=0.0, max_rounds=1, floor_rounds=1, warmup_s=0.0),
)

PROFILES: Mapping[str, Profile] = {each.name: each for each in (QUICK, STANDARD, FULL, PAPER_2023)}
