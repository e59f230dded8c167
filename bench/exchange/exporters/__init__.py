"""Exporters: one function per format, `write(records, path)`, listed in `FORMATS`.

An exporter takes records and writes one file. It changes no value, and returns how many cells its format cannot hold.
"""

from __future__ import annotations

from collections.abc import Mapping

FORMATS: Mapping[str, tuple[str, str, str]] = {
    "csv": ("bench.exchange.exporters.tables", "write_csv", "one row per record, one column per field"),
    "parquet": ("bench.exchange.exporters.tables", "write_parquet", "the same table, typed and compressed"),
    "pytorch-oss-v3": (
        "bench.exchange.exporters.pytorch_oss_v3",
        "write",
        "PyTorch's benchmark database, one object per metric",
    ),
    "github-action-benchmark": (
        "bench.exchange.exporters.github_action",
        "write",
        "the newest latency of each cell, for benchmark-action/github-action-benchmark",
    ),
}
"""Module, function and summary of each format, by its name on the command line."""
