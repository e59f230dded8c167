"""Import the 2023 Hugging Face guide: 136 pairs of mean latencies, eager and compiled.

Takes `huggingface_2023.csv` beside this module, a copy of the tables in the guide "Optimize inference using
torch.compile()" (Transformers documentation, Apache-2.0); returns 136 records. All figures are kept as printed, even
the wrong ones: the data lint (`generator.data.lint`) marks the doubtful ones.

    python -m bench import huggingface-2023
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from bench.errors import AtlasError
from bench.exchange.source_files import ImportOptions
from bench.records.record import (
    SCHEMA,
    Cell,
    Environment,
    Measurement,
    Record,
    Samples,
    Source,
    Status,
    Task,
    variant_of,
)

RUN = "huggingface-2023"
TABLE = Path(__file__).with_suffix(".csv")

SOURCE = Source(
    title="Optimize inference using torch.compile()",
    url="https://huggingface.co/docs/transformers/v4.34.0/en/perf_torch_compile",
    date="2023",
    licence="Apache-2.0",
    note="mean of 300 inferences on one image, after a warm-up",
)
OUT_OF_MEMORY = "OOM"

# The guide's snippets load the weights without a dtype, which gives float32; the text never says so.
FLAGS = ("dtype-not-stated",)
# The nightly and reduce-overhead tables write "unbatched" for batch size 1.
UNBATCHED = "batch-size-worded-unbatched"


def read(options: ImportOptions | None = None, table: Path = TABLE) -> Iterator[Record]:
    """Yield one record per row, in the order of the table. Raises `AtlasError` for a row that cannot be read."""
    if options and options.files:
        raise AtlasError(
            "huggingface-2023 takes no files: its table is included", where="FILE", remedy="omit the files"
        )
    with table.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            try:
                yield _record(row)
            except (KeyError, TypeError, ValueError) as error:
                raise AtlasError(
                    f"not a row of the 2023 guide: {error}",
                    where=f"{table}:{number}",
                    remedy="restore the table from the repository's history",
                ) from None


def _record(row: dict[str, str]) -> Record:
    eager, compiled = row["eager_latency_ms"], row["compiled_latency_ms"]
    out_of_memory = OUT_OF_MEMORY in (eager, compiled)
    return Record(
        schema=SCHEMA,
        run=RUN,
        origin="published",
        profile="paper-2023",
        process=0,
        status=Status.PASS if not out_of_memory else Status.EAGER_OOM if eager == OUT_OF_MEMORY else Status.OOM,
        reason="the source prints OOM in place of a latency" if out_of_memory else None,
        cell=Cell(
            model=row["label"],
            checkpoint=row["checkpoint"],
            task=cast(Task, row["task"]),
            device="cuda",
            dtype="float32",
            batch_size=int(row["batch_size"]),
            variant=variant_of(row["compile_mode"]),
            grad_mode="no_grad",
            weights="pretrained",
        ),
        environment=Environment(device_name=f"NVIDIA {row['gpu']}", torch=row["torch_version"]),
        measurement=None
        if out_of_memory
        else Measurement(eager=_variant(eager), compiled=_variant(compiled), stop_reason="published"),
        source=SOURCE,
        flags=FLAGS + ((UNBATCHED,) if row["unbatched"] == "true" else ()),
    )


def _variant(latency_ms: str) -> Samples:
    return Samples(published_mean_ms=float(latency_ms))
