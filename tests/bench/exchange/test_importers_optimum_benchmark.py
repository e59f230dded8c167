"""Reports of optimum-benchmark: pairs of eager and compiled, their calls, and reports that are refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bench.errors import AtlasError
from bench.exchange.check import check
from bench.exchange.importers.optimum_benchmark import read
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import import_
from bench.records.record import UNEQUAL_BATCHES, Record, Status
from generator.data.load import load

TOLD: dict[str, Any] = {"date": "2026-11-02", "url": "https://example.org/reports", "licence": "Apache-2.0"}

REPORT: dict[str, Any] = {
    "config": {
        "name": "vit",
        "backend": {
            "name": "pytorch",
            "version": "2.9.1",
            "task": "image-classification",
            "model": "google/vit-base-patch16-224",
            "device": "cuda",
            "no_weights": True,
            "torch_dtype": "float16",
            "autocast_enabled": False,
            "torch_compile": False,
            "torch_compile_config": {},
        },
        "scenario": {"name": "inference", "input_shapes": {"batch_size": 4, "height": 224, "width": 224}},
        "environment": {
            "cpu": " Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
            "cpu_count": 8,
            "cpu_ram_mb": 33164.890112,
            "system": "Linux",
            "machine": "x86_64",
            "python_version": "3.11.2",
            "gpu": ["Tesla T4"],
            "transformers_version": "4.57.1",
        },
    },
    "report": {
        "load": {"latency": {"unit": "s", "values": [15.6], "mean": 15.6, "p50": 15.6}},
        "forward": {
            "memory": {"unit": "MB", "max_allocated": 400.0, "max_reserved": 500.0},
            "latency": {"unit": "s", "values": [0.011, 0.012, 0.010], "mean": 0.011, "p50": 0.011},
            "throughput": {"unit": "samples/s", "value": 363.6},
        },
    },
}


def report(folder: Path, name: str, **backend: Any) -> Path:
    return write(folder, name, changed("config.backend", **backend))


def changed(place: str, **values: Any) -> dict[str, Any]:
    document = copy.deepcopy(REPORT)
    part = document
    for step in place.split("."):
        part = part[step]
    part.update(values)
    return document


def write(folder: Path, name: str, document: Any) -> Path:
    path = folder / name / "benchmark.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document, indent=4), encoding="utf-8")
    return path


def records(*files: Path) -> list[Record]:
    return list(read(ImportOptions(files=files, **TOLD)))


def test_a_pair_is_one_record_with_the_calls_of_both(tmp_path: Path) -> None:
    document = changed("config.backend", torch_compile=True, torch_compile_config={"mode": "reduce-overhead"})
    document["report"]["forward"]["latency"] = {
        "unit": "s",
        "values": [0.006, 0.005, 0.007],
        "mean": 0.006,
        "p50": 0.006,
    }
    document["report"]["forward"]["throughput"] = None
    files = (write(tmp_path, "compiled", document), report(tmp_path, "eager"))
    (path,) = import_("optimum-benchmark", ImportOptions(files=files, **TOLD), tmp_path / "out")
    assert list(check([path])) == []
    (record,) = records(*files)
    cell, measurement = record.cell, record.measurement
    assert (cell.model, cell.compile_mode, cell.dtype, cell.batch_size, cell.input_size, cell.weights) == (
        "vit-base-patch16-224",
        "reduce-overhead",
        "float16",
        4,
        (224, 224),
        "random",
    )
    assert (record.environment.device_name, record.environment.torch) == ("Tesla T4", "2.9.1")
    assert measurement
    assert measurement.compiled
    assert measurement.eager.rounds_ms == ((11.0, 12.0, 10.0),)
    assert measurement.eager.published_images_s == 363.6
    assert (measurement.eager.peak_memory_gb, measurement.eager.peak_reserved_gb) == (0.4, 0.5)
    assert "arms-measured-apart" in record.flags
    (row,) = load(tmp_path / "out").by_label
    assert row["workload"] == "latency", "its user chose the batch size"
    assert row["speedup"] == pytest.approx(11 / 6)
    assert row["speedup_low"] is None  # nothing pairs the calls, and one process shows no scatter


def test_a_report_without_a_twin_has_one_variant_and_other_batches_are_flagged(tmp_path: Path) -> None:
    eager, compiled = report(tmp_path, "eager"), report(tmp_path, "compiled", torch_compile=True)
    for files, missing in (([eager], "compiled"), ([compiled], "eager")):
        (record,) = records(*files)
        assert (record.status, record.reason) == (Status.SKIPPED, f"the source has no {missing} figures of this model")
    document = changed("config.scenario", input_shapes={"batch_size": 8, "height": 224, "width": 224})
    document["config"]["backend"]["torch_compile"] = True
    (record,) = records(eager, write(tmp_path, "larger", document))
    assert UNEQUAL_BATCHES in record.flags
    assert record.measurement
    assert record.measurement.compiled
    assert (record.cell.batch_size, record.measurement.compiled.batch_size) == (4, 8)
    with pytest.raises(AtlasError, match="measures the same as"):
        records(eager, report(tmp_path, "again"), compiled)


@pytest.mark.parametrize(
    ("document", "where", "says"),
    [
        ([], "config", "not a report"),
        (changed("config.backend", name="onnxruntime"), "config.backend.name", "is not PyTorch"),
        (changed("config.backend", task="text-generation"), "config.backend.task", "is not an image task"),
        (
            changed("config.backend", torch_dtype="int8"),
            "config.backend.torch_dtype",
            "'int8' is not a known data type",
        ),
        (
            changed("config.backend", torch_compile_config={"backend": "onnxrt"}),
            "torch_compile_config",
            "not a known mode",
        ),
        (
            changed("config.scenario", input_shapes={"batch_size": "4"}),
            "input_shapes.batch_size",
            "not a valid batch size",
        ),
        (
            changed("report.forward", latency={"unit": "s", "values": [-1]}),
            "report.forward.latency",
            "are not latencies",
        ),
        (changed("report.forward", latency=None), "report.forward.latency", "no latency"),
    ],
)
def test_what_is_no_report_of_images_is_refused_by_its_field(
    tmp_path: Path, document: Any, where: str, says: str
) -> None:
    path = write(tmp_path, "r", document)
    with pytest.raises(AtlasError, match=says) as error:
        records(path)
    assert error.value.where.startswith(str(path))
    assert error.value.where.endswith(where)
    assert error.value.remedy


def test_a_median_outside_the_quartiles_of_its_calls_is_refused(tmp_path: Path) -> None:
    document = changed(
        "report.forward", latency={"unit": "s", "values": [0.01, 0.011, 0.012], "p50": 0.02}, throughput=None
    )
    (path,) = import_(
        "optimum-benchmark", ImportOptions(files=(write(tmp_path, "r", document),), **TOLD), tmp_path / "out"
    )
    (finding,) = check([path])
    assert finding.field == "measurement.eager.published_median_ms"
    assert "outside the quartiles" in finding.what


def test_broken_json_is_told_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "r", REPORT)
    path.write_text(path.read_text(encoding="utf-8").replace('"task": "image', '"task" "image'), encoding="utf-8")
    with pytest.raises(AtlasError, match="not JSON") as error:
        records(path)
    assert error.value.where == f"{path}:7"
