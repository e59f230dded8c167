"""Export the newest latency of each cell for github-action-benchmark: names, values, units and ranges.

Smaller is better (`tool: customSmallerIsBetter`). A cell has the same name in every run, so names contain no versions.
Failed cells have no latency and therefore no entry; `write` returns how many there are.

    python -m bench export github-action-benchmark bench/results/measured --out benchmark.json
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.records.record import COMPARABLE, Record, Variant, worst
from bench.statistics.cells import latency
from bench.statistics.compare import make_side


def write(records: Iterable[Record], path: Path) -> int:
    """Write a JSON list of entries, and return how many cells failed and are left out."""
    cells = list(make_side("records", records).cells.values())
    working = [cell for cell in cells if worst(cell).status in COMPARABLE]
    listed = [entry for cell in working for entry in entries(cell)]
    path.write_text(json.dumps(listed, ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return len(cells) - len(working)


def entries(cell: Sequence[Record]) -> Iterator[dict[str, Any]]:
    """Yield one entry for each variant of a cell, given the records of its processes."""
    one = cell[0]
    measurements = [record.measurement for record in cell if record.measurement]
    variants: dict[str, list[Variant]] = {
        "eager": [each.eager for each in measurements],
        one.cell.compile_mode: [each.compiled for each in measurements if each.compiled],
    }
    for variant, processes in variants.items():
        pooled = latency(processes)
        if not math.isfinite(pooled.value):
            continue
        entry = {"name": _name(one, variant, processes[0]), "unit": "ms", "value": pooled.value}
        if math.isfinite(pooled.low) and math.isfinite(pooled.high):
            entry["range"] = f"{pooled.low:.6g} – {pooled.high:.6g}"
        yield entry | {"extra": f"torch {one.environment.torch}\nrun {one.run}\nprocesses {len(processes)}"}


def _name(record: Record, variant: str, processes: Variant) -> str:
    cell = record.cell
    parts = [
        cell.model,
        f"batch {processes.batch_size or cell.batch_size}",
        cell.precision,
        *([f"{cell.input_size[0]}×{cell.input_size[1]}"] if cell.input_size else []),
        *(["channels last"] if cell.channels_last else []),
        *([f"dynamic {cell.dynamic}".lower()] if cell.dynamic is not None else []),
        *(["pretrained"] if cell.weights == "pretrained" else []),
        record.environment.device_name,
        variant if variant != "eager" else f"eager beside {cell.compile_mode}",
    ]
    return " · ".join(parts)
