"""The columns of the table of results: the name and the type of each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

COORDINATES = {
    "device": str,  # slug, safe as file name and in addresses
    "model": str,  # slug
    "torch": str,
    "compile_mode": str,
    "dtype": str,
    "batch_size": int,
    "dynamic": str,  # auto, true, false
    "weights": str,  # random, pretrained
    "input_size": str,  # height×width in pixels, empty where not recorded
    "layout": str,  # channels_last; empty for torch's own
    "threads": int,  # of torch, on a CPU only: elsewhere they hardly matter
    "origin": str,  # measured, published
}
"""What tells one cell from another, whatever its run."""

FIGURES = (
    *("eager_ms", "eager_low_ms", "eager_high_ms", "compiled_ms", "compiled_low_ms", "compiled_high_ms"),
    *("eager_p90_ms", "eager_p99_ms", "compiled_p90_ms", "compiled_p99_ms"),
    *("speedup", "speedup_low", "speedup_high", "change", "change_low", "change_high"),
    *("compile_cold_s", "break_even_calls", "break_even_calls_low", "break_even_calls_high"),
    *("compile_warm_s", "break_even_warm_calls", "break_even_warm_calls_low", "break_even_warm_calls_high"),
    *("dynamo_s", "aot_autograd_s", "inductor_s"),
    *("eager_device_ms", "compiled_device_ms", "eager_host_bound", "compiled_host_bound"),
    *("flop", "traffic_bytes", "matmul_flop_s", "copy_bytes_s"),
    *("eager_flop_s", "eager_matmul_share", "eager_copy_share", "eager_image_j"),
    *("compiled_flop_s", "compiled_matmul_share", "compiled_copy_share", "compiled_image_j"),
    *("clock_mhz", "temperature_c", "power_w"),
    *("eager_images_s", "compiled_images_s"),
    *("eager_peak_memory_gb", "compiled_peak_memory_gb", "memory_change"),
    *("eager_peak_reserved_gb", "compiled_peak_reserved_gb"),
    *("eager_minor_faults_per_call", "compiled_minor_faults_per_call", "max_relative_error"),
)
"""Numbers. ``_low`` and ``_high`` bound the 95% interval over processes; a percentile, such as
``_p90_ms``, is that of single calls. `change` is compiled ÷ eager − 1 (−0.45: the latency falls by 45%), the inverse of
the speedup, so that both tell the same; `memory_change` is the same of the peak memory. `dynamo_s` and its like are the
phases of compiling with an empty cache. FLOP and bytes are those of one call of the whole batch, joules those of one
image. Shares are of the latency (``_host_bound``: while the device waits for the host) or of the device's own peaks
(``_matmul_share``, ``_copy_share``).
"""

COUNTS = (
    *("processes", "attempts", "eager_samples", "compiled_samples"),
    *("graphs", "graph_breaks", "recompiles", "batch_size_recompiles", "cudagraph_skips"),
    *("repeated_rounds", "throttled_rounds"),
)
"""Whole numbers. `attempts` are records, `processes` those of them that have figures."""

TEXTS = (
    *("run", "profile", "status", "reason", "verdict", "causes", "stop_reason", "flags", "command", "contributor"),
    *("device_name", "device_type", "model_label", "checkpoint", "task"),
    *("transformers", "python", "platform", "accelerator", "driver", "triton", "commit", "settings", "malloc"),
    *("graph_break_reasons", "cudagraph_skip_reasons", "throttle_reasons"),
    *("source_title", "source_url", "source_date", "source_licence", "source_note", "source_files"),
)
"""Text. `flags` are separated by spaces; `settings`, `causes`, and ``_reasons`` are JSON; `malloc` is what becomes of
memory that a call frees: keep, or glibc's default."""

COLUMNS: Mapping[str, type] = {
    **COORDINATES,
    **dict.fromkeys(TEXTS, str),
    **dict.fromkeys(FIGURES, float),
    **dict.fromkeys(COUNTS, int),
    "cores": int,
    "memory_gb": float,
    "measured_at": datetime,  # of published rows unknown: they have source_date
    "newest": bool,  # no later run holds this cell: what pages show
}
"""What a row has, and the type of what is known of it. A text that is unknown is empty, anything else None."""
