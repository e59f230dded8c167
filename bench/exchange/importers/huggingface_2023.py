"""Import the 2023 Hugging Face guide: 136 pairs of mean latencies, eager and compiled.

Takes `huggingface_2023.csv` beside this module, a copy of the tables in the guide "Optimize inference using
torch.compile()" (Transformers documentation, Apache-2.0); returns 136 records. All figures are kept as printed, even
the wrong ones: the data lint (`generator.data.lint`) marks the doubtful ones.

    python -m bench import huggingface-2023
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from bench.errors import AtlasError
from bench.exchange.transfer import ImportOptions, rows
from bench.records.record import (
    SCHEMA,
    Cell,
    Environment,
    Measurement,
    Milliseconds,
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

# The guide's snippets load the weights without a dtype, which gives float32; the text never says so.
FLAGS = ("dtype-not-stated",)
# The nightly and reduce-overhead tables write "unbatched" for batch size 1.
UNBATCHED = "batch-size-worded-unbatched"

Printed = Milliseconds | Literal["OOM"]


class Row(msgspec.Struct):
    """A row of the table. Its other columns are for readers."""

    gpu: str
    torch_version: str
    compile_mode: str
    task: Task
    label: str
    checkpoint: str
    batch_size: int
    eager_latency_ms: Printed
    compiled_latency_ms: Printed
    unbatched: Literal["true", "false"]


def read(options: ImportOptions | None = None) -> Iterator[Record]:
    """Yield one record per row, in the order of the table. Raises `AtlasError` for a row that cannot be read."""
    if options and options.files:
        raise AtlasError(
            "huggingface-2023 takes no files: its table is included", where="FILE", remedy="omit the files"
        )
    for _, row in rows(TABLE, Row, ("label", "gpu", "torch_version", "compile_mode", "batch_size")):
        eager, compiled = row.eager_latency_ms, row.compiled_latency_ms
        measurement = None
        if eager != "OOM" and compiled != "OOM":
            samples = [Samples(published_mean_ms=printed) for printed in (eager, compiled)]
            measurement = Measurement(eager=samples[0], compiled=samples[1], stop_reason="published")
        yield Record(
            schema=SCHEMA,
            run=RUN,
            origin="published",
            profile="paper-2023",
            process=0,
            status=Status.PASS if measurement else Status.EAGER_OOM if eager == "OOM" else Status.OOM,
            reason=None if measurement else "the source prints OOM in place of a latency",
            cell=Cell(
                model=row.label,
                checkpoint=row.checkpoint,
                task=row.task,
                device="cuda",
                dtype="float32",
                batch_size=row.batch_size,
                variant=variant_of(row.compile_mode),
                grad_mode="no_grad",  # as the guide's snippets
                weights="pretrained",
            ),
            environment=Environment(device_name=f"NVIDIA {row.gpu}", torch=row.torch_version),
            measurement=measurement,
            source=SOURCE,
            flags=FLAGS + ((UNBATCHED,) if row.unbatched == "true" else ()),
        )
