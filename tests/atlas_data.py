"""Records for tests of the generator: short to write, true to the types."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.plans.profiles import KEEP_MEMORY
from bench.records.record import (
    SCHEMA,
    Cell,
    Compilation,
    Environment,
    GraphBreak,
    Graphs,
    Measurement,
    Peaks,
    Record,
    Samples,
    Status,
    Telemetry,
    Work,
    variant_of,
)
from bench.records.run_file import append

PUBLISHED = Path("bench/results/published/huggingface-2023.jsonl")
XEON = "Intel(R) Xeon(R) Processor @ 2.50GHz"
ON_CPU: dict[str, Any] = {"device": "cpu", "device_name": XEON, "environment": {"cores": 2, "threads": 2}}
"""Arguments of `measured` for a CPU."""
KEEPING: dict[str, Any] = ON_CPU | {"environment": ON_CPU["environment"] | {"settings": KEEP_MEMORY}}
"""As above, with freed memory kept."""


def cell(**changes: Any) -> Cell:
    """A ViT on a CUDA device, with `changes`."""
    vit = Cell(
        model="ViT",
        checkpoint="google/vit-base-patch16-224",
        task="image-classification",
        device="cuda",
        dtype="float32",
        batch_size=1,
        variant="compile:default",
        input_size=(224, 224),
    )
    if mode := changes.pop("compile_mode", None):
        changes["variant"] = variant_of(mode)
    return msgspec.structs.replace(vit, **changes)


def rounds(mean_ms: float, seed: int = 0, n: int = 40, spread: float = 0.02) -> tuple[tuple[float, ...], ...]:
    """`n` rounds of two calls each around `mean_ms`."""
    noise = np.random.default_rng(seed).normal(1, spread, (n, 2))
    return tuple(tuple(map(float, row)) for row in mean_ms * noise)


def measurement(eager_ms: float = 10.0, compiled_ms: float = 8.0, seed: int = 0, **changes: Any) -> Measurement:
    """Both variants, with the cost of compiling and one graph."""
    return Measurement(
        eager=Samples(rounds_ms=rounds(eager_ms, seed), peak_memory_gb=0.5),
        compiled=Samples(rounds_ms=rounds(compiled_ms, seed + 1), peak_memory_gb=0.4),
        **{"compilation": Compilation(ready_s={"cold": 20.0, "warm": 5.0}), "graphs": Graphs(graphs=1), **changes},
    )


def telling(eager_ms: float = 10.0, compiled_ms: float = 8.0, seed: int = 0, **changes: Any) -> Measurement:
    """All that a GPU can tell: a call of which the device waits for the host half of the time, and two graph breaks."""
    plain = measurement(eager_ms, compiled_ms, seed)
    assert plain.compiled is not None
    more: dict[str, Any] = {
        "eager": msgspec.structs.replace(plain.eager, device_ms=(eager_ms / 2,) * 5),
        "compiled": msgspec.structs.replace(plain.compiled, device_ms=(compiled_ms * 0.9,) * 5),
        "graphs": Graphs(
            graphs=3,
            breaks=(GraphBreak(reason="call <print>", location="transformers/vit.py:7"), GraphBreak(reason="loop")),
            cudagraph_skips=("mutated inputs",),
            batch_size_recompiles=2,
        ),
        "work": Work(flop=35.1e9, traffic_bytes=4e8, streamed_bytes=2e8, compiled_traffic_bytes=1e8),
        "peaks": Peaks(matmul_flop_s=60e12, copy_bytes_s=3e12),
        "telemetry": Telemetry(clock_mhz=(1900, 1980), temperature_c=(50, 55), repeated_rounds=1),
    }
    return msgspec.structs.replace(plain, **more | changes)


def measured(
    *,
    run: str = "run-1",
    process: int = 0,
    status: Status = Status.PASS,
    device_name: str = "NVIDIA H200",
    torch: str = "2.13.0",
    day: int = 1,
    environment: dict[str, Any] | None = None,
    figures: Measurement | None = None,
    reason: str | None = None,
    **changes: Any,
) -> Record:
    """A measured record of `cell(**changes)`."""
    return Record(
        schema=SCHEMA,
        run=run,
        origin="measured",
        profile="standard",
        process=process,
        status=status,
        reason=reason,
        cell=cell(**changes),
        environment=Environment(
            device_name=device_name, torch=torch, transformers="5.23.0", commit="abc1234", **environment or {}
        ),
        measured_at=datetime(2026, 7, day, 12, 0, process, tzinfo=UTC),
        measurement=figures or (measurement(seed=process * 10) if status is Status.PASS else None),
        command="python -m bench run --model ViT",
    )


TELLING = (
    measured(figures=telling()),
    measured(figures=telling(10.0, 12.0), compile_mode="reduce-overhead"),
    measured(figures=telling(12.0, 10.0), torch="2.9.1", run="old"),
)
"""Two modes of a model, and an older version of one of them."""


def write(folder: Path, records: Sequence[Record]) -> Path:
    """One file per run below `folder`, and `folder`."""
    for record in records:
        append(folder / f"{record.run}.jsonl", [record])
    return folder


def mixed(folder: Path, failed: Record) -> Path:
    """The published rows in `folder`, and measured ones of a CPU: compiling pays, it does not, and `failed`."""
    (folder / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    faster = (measured(process=process, **ON_CPU) for process in range(3))
    return write(folder, [*faster, measured(batch_size=4, figures=measurement(10.0, 13.0), **ON_CPU), failed])
