"""Records in other people's formats: one function per format, `write(records, path)`, named in `FORMATS`.

Enter records, leave one file, written whole or not at all. What a format can't hold is said, never changed.

    python -m bench export csv --out records.csv
"""

from __future__ import annotations

from collections.abc import Mapping

FORMATS: Mapping[str, tuple[str, str, str]] = {
    "csv": ("bench.exchange.exporters.tables", "write_csv", "one row a record, every field a column"),
    "parquet": ("bench.exchange.exporters.tables", "write_parquet", "the same table, typed and compressed"),
    "pytorch-oss-v3": (
        "bench.exchange.exporters.pytorch_oss_v3",
        "write",
        "PyTorch's benchmark database, one object a metric",
    ),
    "github-action-benchmark": (
        "bench.exchange.exporters.github_action",
        "write",
        "what benchmark-action/github-action-benchmark tracks: the newest latency of each cell",
    ),
}
"""Module, function and summary of each format, by its name on the command line."""
