"""Tables of PyTorch's Dynamo benchmarks: statuses, missing values, and models that take no images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.errors import AtlasError
from bench.exchange.check import check
from bench.exchange.importers.pytorch_dynamo import ACCURACY, MODES, read
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import import_
from bench.records.record import Record, Status
from generator.data.load import load

NAME = "inductor_no_cudagraphs_timm_models_amp_inference_cuda_performance.csv"
HEADER = (
    "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,dynamo_peak_mem,"
    "calls_captured,unique_graphs,graph_breaks,unique_graph_breaks"
)
GOOD = "cuda,beit_base_patch16_224,64,1.412003,21.345678,31.250000,1.050000,1.200000,1.142857,300,1,0,0"
FAILED = "cuda,convit_base,0,0.000000,0.000000,0,0,0,0,0,0,0,0"

TOLD: dict[str, Any] = {
    "device_name": "NVIDIA A100-SXM4-40GB",
    "torch": "2.9.0",
    "url": "https://example.org/results",
    "licence": "BSD-3-Clause",
}


def table(folder: Path, *rows: str, name: str = NAME, header: str = HEADER) -> Path:
    path = folder / name
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return path


def records(*files: Path, **told: Any) -> list[Record]:
    return list(read(ImportOptions(files=files, **TOLD | told)))


def test_a_row_keeps_speedup_latency_memory_and_cost(tmp_path: Path) -> None:
    (path,) = import_("pytorch-dynamo", ImportOptions(files=(table(tmp_path, GOOD),), **TOLD), tmp_path / "out")
    assert list(check([path])) == []
    (record,) = records(table(tmp_path, GOOD))
    measurement, cell = record.measurement, record.cell
    assert measurement
    assert measurement.compiled
    assert measurement.compilation
    assert measurement.compiled.published_median_ms == 21.345678
    assert measurement.eager.published_median_ms == 1.412003 * 21.345678
    assert (measurement.eager.peak_memory_gb, measurement.compiled.peak_memory_gb) == (1.2, 1.142857)
    assert measurement.compilation.ready_s["cold"] == 31.25
    assert (cell.compile_mode, cell.dtype, cell.autocast, cell.batch_size) == ("default", "float16", True, 64)
    assert (cell.task, cell.checkpoint) == ("image-classification", "timm/beit_base_patch16_224")
    assert {"eager-latency-is-speedup-times-compiled", "input-size-not-stated", "autocast-type-not-stated"} <= set(
        record.flags
    )
    assert record.source
    assert (record.source.date, record.source.licence, record.source.files) == ("2025-10", "BSD-3-Clause", (NAME,))


def test_a_failed_row_is_a_failure_and_the_accuracy_table_says_why(tmp_path: Path) -> None:
    performance = table(tmp_path, GOOD, FAILED)
    good, failed = records(performance)
    assert (good.status, failed.status) == (Status.PASS, Status.FAIL_TO_RUN)
    assert failed.reason
    assert failed.measurement is None
    assert "batch-size-not-stated" in failed.flags
    accuracy = table(
        tmp_path,
        "cuda,beit_base_patch16_224,8,fail_accuracy",
        "cuda,convit_base,8,eager_1st_run_OOM",
        name=NAME.replace("performance", "accuracy"),
        header="dev,name,batch_size,accuracy",
    )
    good, failed = records(accuracy, performance)
    assert (good.status, failed.status) == (Status.FAIL_ACCURACY, Status.EAGER_OOM)
    assert good.measurement
    assert failed.reason == "the source says eager_1st_run_OOM"
    out = tmp_path / "out"
    (path,) = import_("pytorch-dynamo", ImportOptions(files=(performance, accuracy), **TOLD), out)
    assert list(check([path])) == []
    assert {row["workload"] for row in load(out).by_label} == {"throughput"}, "the batch is the largest that fits"


def test_every_status_of_theirs_is_one_of_ours() -> None:
    assert {"OOM": Status.OOM, "timeout": Status.TIMEOUT, "fail_accuracy": Status.FAIL_ACCURACY}.items() <= (
        ACCURACY.items()
    )


def test_models_that_take_no_images_are_left_out_and_named(tmp_path: Path) -> None:
    told: list[str] = []
    name = NAME.replace("timm_models", "torchbench")
    rows = (GOOD.replace("beit_base_patch16_224", model) for model in ("resnet50", "yolov3", "BERT_pytorch"))
    found = records(table(tmp_path, *rows, name=name), log=told.append)
    assert [(record.cell.model, record.cell.task) for record in found] == [
        ("resnet50", "image-classification"),
        ("yolov3", "object-detection"),
    ]
    assert told == [f"{name}: left out 1 model that does not take images: BERT_pytorch"]


@pytest.mark.parametrize(("backend", "mode"), MODES.items())
def test_a_backend_is_a_mode_and_on_a_cpu_there_are_no_cuda_graphs(
    tmp_path: Path, backend: str, mode: tuple[str, str]
) -> None:
    name = NAME.replace("inductor_no_cudagraphs", backend)
    (record,) = records(table(tmp_path, GOOD, name=name))
    assert (record.cell.compile_mode, record.cell.dynamic) == mode
    (record,) = records(table(tmp_path, GOOD.replace("cuda", "cpu"), name=name))
    assert record.cell.compile_mode == mode[0].replace("reduce-overhead", "default")
    assert record.cell.dtype == "bfloat16"


@pytest.mark.parametrize(
    ("rows", "told", "where", "says"),
    [
        ([GOOD], {"torch": None}, "", "which version of torch"),
        ([GOOD], {"device_name": None}, "", "on which device"),
        ([GOOD], {"licence": None}, "", "under which licence"),
        ([GOOD], {"torch": "9.0.0"}, "--date", "no date"),
        ([GOOD], {"date": "yesterday"}, "--date", "'yesterday' is not a date"),
        ([GOOD.replace("1.412003", "fast")], {}, ":2: speedup", "'fast' is not a positive number"),
        ([GOOD.replace("21.345678", "0")], {}, ":2: abs_latency", "'0' is not a positive number"),
        ([GOOD, GOOD], {}, ":3: name", "is already in line 2"),
        ([GOOD.replace("cuda,", "tpu,")], {}, ":2: dev", "'tpu' is not a known torch device"),
    ],
)
def test_what_is_missing_or_broken_is_told_with_place_and_remedy(
    tmp_path: Path, rows: list[str], told: dict[str, str | None], where: str, says: str
) -> None:
    path = table(tmp_path, *rows)
    with pytest.raises(AtlasError, match=says) as error:
        import_("pytorch-dynamo", ImportOptions(files=(path,), **TOLD | told), tmp_path / "out")
    assert error.value.where == (where if where.startswith("--") else f"{path}{where}")
    assert error.value.remedy
    assert not (tmp_path / "out").exists()


def test_a_name_that_says_nothing_needs_type_and_mode(tmp_path: Path) -> None:
    path = table(tmp_path, GOOD.replace("beit_base_patch16_224", "resnet50"), name="mine.csv")
    with pytest.raises(AtlasError, match="does not follow the file names"):
        records(path)
    (record,) = records(path, dtype="float16", compile_mode="max-autotune")
    assert (record.cell.dtype, record.cell.compile_mode) == ("float16", "max-autotune")
    for name, says in (
        (NAME.replace("inference", "training"), "contains training results"),
        ("aot_eager" + NAME[22:], "is not a mode"),
    ):
        with pytest.raises(AtlasError, match=says):
            records(table(tmp_path, GOOD, name=name))
