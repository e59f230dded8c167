"""Export records for PyTorch's benchmark database, format v3: one JSON object per metric of each record.

The format: https://github.com/pytorch/pytorch/wiki/PyTorch-OSS-benchmark-infra. The numbers of a measurement are
metrics, and `model.backend` tells the two variants apart. Values without a field in the format go to
`benchmark.extra_info`, under their names in a record. A failure is the metric `FAILURE_REPORT`. The importer of the
same name reads everything back without loss.

    python -m bench export pytorch-oss-v3 --out benchmark-results/atlas.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.records.record import Record
from bench.records.tabular import flatten, to_text

NAME = "Compile Atlas"
"""The name of the benchmark, by which the importer recognises exports of the atlas."""

BACKENDS = {"measurement.eager.": "eager", "measurement.compiled.": "inductor"}
"""The database's name of each variant, by the prefix of its columns."""

LATENCY, ROUNDS = "latency_ms", "rounds"
"""The metric with all calls in one list, and the field beside it with the number of calls in each round."""

FAILURE = "FAILURE_REPORT"


def write(records: Iterable[Record], path: Path) -> None:
    """Write a JSON list of all metrics."""
    lines = (json.dumps(entry, ensure_ascii=False, allow_nan=False) for record in records for entry in entries(record))
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def entries(record: Record) -> Iterator[dict[str, Any]]:
    """Yield one object per metric; a record without metrics yields its failure."""
    columns = flatten(record)
    metrics = {name: value for name, value in columns.items() if _is_metric(name, value)}
    extra = {name: to_text(value) for name, value in columns.items() if name not in metrics}
    extra |= {"device": record.cell.device, "batch_size": str(record.cell.batch_size)}  # as the Dynamo benchmarks do
    common = _common(record)
    for name, value in metrics.items():
        prefix = next((each for each in BACKENDS if name.startswith(each)), None)
        backend = BACKENDS[prefix] if prefix else "inductor"
        metric: dict[str, Any] = {
            "name": name.removeprefix(prefix or "measurement."),
            "benchmark_values": _values(value),
        }
        if name.endswith(".rounds_ms"):
            rounds = [len(calls) for calls in value]
            metric = {
                "name": LATENCY,
                "benchmark_values": [call for calls in value for call in calls],
                "extra_info": {ROUNDS: json.dumps(rounds)},
            }
        yield _entry(record, common, extra, backend, metric)
    if not metrics:
        failure = {"name": FAILURE, "benchmark_values": [0.0], "extra_info": {"failure_type": record.status.value}}
        yield _entry(record, common, extra, "inductor", failure)


def _is_metric(name: str, value: Any) -> bool:
    """Return whether a column of a measurement holds numbers."""
    if not name.startswith("measurement.") or isinstance(value, bool | str):
        return False
    return isinstance(value, int | float) or all(not isinstance(each, str) for each in value)


def _values(value: Any) -> list[float]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _entry(
    record: Record, common: dict[str, Any], extra: dict[str, str], backend: str, metric: dict[str, Any]
) -> dict[str, Any]:
    cell = record.cell
    return {
        **common,
        "benchmark": {"name": NAME, "mode": "inference", "dtype": cell.dtype, "extra_info": extra},
        "model": {"name": cell.model, "type": cell.task, "backend": backend, "origins": [cell.checkpoint]},
        "metric": metric,
    }


def _common(record: Record) -> dict[str, Any]:
    """Return the fields that all metrics of a record share: time, device and software."""
    cell, environment = record.cell, record.environment
    about = {"name": cell.device, "type": environment.device_name, "cpu_count": environment.cores}
    if environment.memory_gb:
        about["avail_mem_in_gb" if cell.device == "cpu" else "avail_gpu_mem_in_gb"] = int(environment.memory_gb)
    if cell.device != "cpu":
        about |= {"gpu_info": environment.device_name, "gpu_count": 1}
    versions = {"pytorch": environment.torch, "transformers": environment.transformers}
    measured_at = {"timestamp": int(record.measured_at.timestamp())} if record.measured_at else {}
    inputs = {}
    if cell.input_size:
        height, width = map(str, cell.input_size)
        inputs = {"inputs": {"pixel_values": {"dtype": cell.dtype, "extra_info": {"height": height, "width": width}}}}
    return {
        "schema_version": "v3",
        **measured_at,
        "runners": [{name: value for name, value in about.items() if value is not None}],
        **inputs,
        "dependencies": {name: {"version": version} for name, version in versions.items() if version},
    }
