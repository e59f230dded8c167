"""PyTorch's benchmark database: files of the Dynamo benchmarks. `test_export` covers exports of the atlas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.errors import AtlasError
from bench.exchange.check import check
from bench.exchange.importers.pytorch_oss_v3 import read
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import import_
from bench.records.record import Record, Status

TOLD: dict[str, Any] = {"url": "https://example.org", "licence": "BSD-3-Clause"}


def entry(metric: str, value: Any, **changes: Any) -> dict[str, Any]:
    """Return an entry as the Dynamo benchmarks and their uploader write it."""
    words = {"extra_info": {"benchmark_values": [value]}} if isinstance(value, str) else {"benchmark_values": [value]}
    return {
        "timestamp": 1_760_000_000,
        "schema_version": "v3",
        "runners": [{"name": "cuda", "type": "NVIDIA H100", "extra_info": {"hostname": "ip-10-0-1-7"}}],
        "dependencies": {"pytorch": {"version": "2.9.0"}},
        "benchmark": {
            "name": "TorchInductor",
            "mode": "inference",
            "dtype": "bfloat16",
            "extra_info": {"device": "cuda", "quantization": "", "batch_size": 128},
        },
        "model": {"name": "vit_base", "type": "OSS model", "backend": "inductor", "origins": ["timm_models"]},
        "metric": {"name": metric, **words},
        **changes,
    }


def written(folder: Path, *entries: Any, lines: bool = True) -> Path:
    path = folder / "dynamo.json"
    text = "\n".join(map(json.dumps, entries)) if lines else json.dumps(entries)
    path.write_text(text, encoding="utf-8")
    return path


def records(path: Path, **told: Any) -> list[Record]:
    return list(read(ImportOptions(files=(path,), **TOLD | told)))


@pytest.mark.parametrize("lines", [True, False])
def test_metrics_of_one_model_are_one_record(tmp_path: Path, *, lines: bool) -> None:
    other = {"name": "resmlp", "type": "OSS model", "backend": "inductor", "origins": ["timm_models"]}
    path = written(
        tmp_path,
        entry("speedup", 1.5),
        entry("abs_latency", 20.0),
        entry("compilation_latency", 30.0),
        entry("speedup", 0.0, model=other),
        entry("abs_latency", 0.0, model=other),
        entry("accuracy", "timeout", model=other),
        lines=lines,
    )
    (run,) = import_("pytorch-oss-v3", ImportOptions(files=(path,), **TOLD), tmp_path / "out")
    assert list(check([run])) == []
    assert "ip-10-0-1-7" not in run.read_text()
    vit, resmlp = records(path)
    assert vit.measurement
    assert vit.measurement.compiled
    assert (vit.measurement.eager.published_median_ms, vit.measurement.compiled.published_median_ms) == (30.0, 20.0)
    assert (vit.cell.batch_size, vit.cell.dtype, vit.environment.device_name) == (128, "bfloat16", "NVIDIA H100")
    assert "compile-mode-not-stated" in vit.flags
    assert vit.source
    assert vit.source.date == "2025-10-09"
    assert (resmlp.status, resmlp.reason) == (Status.TIMEOUT, "the source says timeout")
    assert records(path, compile_mode="max-autotune")[0].cell.compile_mode == "max-autotune"


@pytest.mark.parametrize(
    ("entries", "where", "says"),
    [
        ([["pr_time_benchmarks", "", "", {}]], "", "not format v3"),
        ([{}], ": benchmark", "not format v3: not an object"),
        ([entry("tokens_per_second", 9.0)], "", "compares nothing: vit_base has tokens_per_second"),
        ([entry("speedup", 1.0)], "", "no speedup and abs_latency"),
        ([entry("speedup", 1.0, benchmark={"name": "x", "mode": "training"})], ": benchmark.mode", "not inference"),
        ([entry("speedup", 1.5), entry("abs_latency", -1.0)], ": abs_latency", "not a positive number"),
        ([entry("speedup", 1.5, runners=[]), entry("abs_latency", 1.0)], "", "on which device"),
    ],
)
def test_what_compares_nothing_is_refused(tmp_path: Path, entries: list[Any], where: str, says: str) -> None:
    path = written(tmp_path, *entries)
    with pytest.raises(AtlasError, match=says) as error:
        records(path)
    assert error.value.where.startswith(str(path))
    assert error.value.where.endswith(where)
    assert error.value.remedy
