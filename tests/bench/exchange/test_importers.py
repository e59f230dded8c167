"""Sources of figures: file names, sides in two files, failures, missing values, and models that take no images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.errors import AtlasError
from bench.exchange import transfer
from bench.exchange.check import check
from bench.exchange.importers.pytorch_dynamo import MODES
from bench.exchange.importers.timm import Setup, parse
from bench.exchange.transfer import ImportOptions, import_
from bench.records.record import UNEQUAL_BATCHES, Record, Status
from bench.records.run_file import read, run_files
from generator.data.load import load

EAGER, DYNAMO = (f"benchmark-infer-amp-nchw-pt240-cu124-rtx4090{side}.csv" for side in ("", "-dynamo"))
TIMM = "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts"
RESNET = "resnet50,224,3200.0,80.0,256,25.56,4.11,11.11"

TABLE = "inductor_no_cudagraphs_timm_models_amp_inference_cuda_performance.csv"
INDUCTOR = (
    "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,dynamo_peak_mem"
)
BEIT = "cuda,beit_base_patch16_224,64,1.412003,21.345678,31.250000,1.050000,1.200000,1.142857"
FAILED = "cuda,convit_base,0,0.000000,0.000000,0,0,0,0"

TOLD: dict[str, Any] = {
    "device_name": "NVIDIA A100-SXM4-40GB",
    "torch": "2.9.0",
    "date": "2025-10",
    "url": "https://example.org/results",
    "licence": "BSD-3-Clause",
}


def file(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def imported(source: str, out: Path, *files: Path, **told: Any) -> dict[str, Record]:
    """Import the files; `bench check` accepts the result."""
    written = import_(source, ImportOptions(files=files, **told), out)
    assert list(check(written)) == []
    return {record.cell.model: record for path in written for record in read(path)}


@pytest.mark.parametrize(
    ("name", "setup", "device"),
    [
        ("amp-nchw-pt240-cu124-rtx4090", "amp nchw 2.4.0 cu124 rtx4090", "NVIDIA GeForce RTX 4090"),
        ("amp-nhwc-pt110-cu113-rtx3090", "amp nhwc 1.10 cu113 rtx3090", "NVIDIA GeForce RTX 3090"),
        ("amp_bf16-nchw-pt2100-cu130-5090", "amp_bf16 nchw 2.10.0 cu130 5090", "NVIDIA GeForce RTX 5090"),
        ("fp32-nchw-pt221-cpu-i9_10940x", "fp32 nchw 2.2.1 cpu i9_10940x", "Intel Core i9-10940X"),
        ("bf16-nchw-pt240-cu124-mi300x", "bf16 nchw 2.4.0 cu124 mi300x", "mi300x"),
    ],
)
def test_a_file_name_of_timm_tells_device_torch_type_and_layout(name: str, setup: str, device: str) -> None:
    for suffix, side in (("", "eager"), ("-dynamo", "compiled")):
        assert parse(Path(f"benchmark-infer-{name}{suffix}.csv")) == (Setup(*setup.split()), side)
    assert Setup(*setup.split()).device_name == device


def test_two_tables_make_one_record_a_model_and_unequal_batches_have_no_speedup(tmp_path: Path) -> None:
    eager = file(
        tmp_path, EAGER, TIMM, RESNET, "vit,224,2000.0,512.0,1024,86.57,16.87,16.49", "alone,160,1000,1,1,0.5,,"
    )
    dynamo = file(
        tmp_path,
        DYNAMO,
        TIMM,
        "vit,224,2560.0,100.0,256.0,86.57,16.87,16.49",
        RESNET.replace("3200.0,80.0", "6400.0,40.0"),
        "other,160,1000.0,1.0,1,0.5,0.0,",
    )
    found = imported("timm", tmp_path / "out", eager, dynamo, date="2024-08")
    statuses = {name: record.status.value for name, record in found.items()}
    assert statuses == {"resnet50": "pass", "vit": "pass", "alone": "skipped", "other": "skipped"}
    cell = found["resnet50"].cell
    assert (cell.dtype, cell.autocast, cell.input_size, cell.grad_mode) == ("float16", True, (224, 224), "no_grad")
    rows = {row["model_label"]: row for row in load(tmp_path / "out").by_label}
    assert {row["workload"] for row in rows.values()} == {"throughput"}
    assert rows["resnet50"]["speedup"] == 2.0
    vit = rows["vit"]
    assert UNEQUAL_BATCHES in vit["flags"]
    assert (vit["batch_size"], vit["eager_ms"], vit["compiled_ms"], vit["speedup"]) == (1024, 512.0, None, None)
    assert (vit["eager_images_s"], vit["compiled_images_s"], vit["verdict"]) == (2000.0, 2560.0, "doubtful")
    assert (rows["other"]["eager_ms"], rows["other"]["compiled_ms"]) == (None, 1.0)


def test_layouts_and_types_of_one_model_stay_apart(tmp_path: Path) -> None:
    names = [f"benchmark-infer-{kind}-pt240-cu124-rtx3090.csv" for kind in ("amp-nchw", "amp-nhwc", "fp16-nchw")]
    files = [file(tmp_path, name, TIMM, RESNET) for name in names]
    cells = [each.cell for path in files for each in imported("timm", tmp_path, path, date="2024").values()]
    assert {(cell.precision, cell.channels_last) for cell in cells} == {
        ("autocast float16", False),
        ("autocast float16", True),
        ("float16", False),
    }


def test_a_row_keeps_speedup_latency_memory_and_cost(tmp_path: Path) -> None:
    path = file(tmp_path, TABLE, INDUCTOR, BEIT)
    record = imported("pytorch-dynamo", tmp_path / "out", path, **TOLD)["beit_base_patch16_224"]
    found, cell = record.measurement, record.cell
    assert found
    assert found.compiled
    assert found.compilation
    assert (found.eager.published_median_ms, found.compiled.published_median_ms) == (1.412003 * 21.345678, 21.345678)
    assert (found.eager.peak_memory_gb, found.compiled.peak_memory_gb) == (1.2, 1.142857)
    assert found.compilation.ready_s == {"cold": 31.25}
    assert (cell.variant, cell.precision, cell.batch_size) == ("compile:default", "autocast float16", 64)
    assert (cell.task, cell.checkpoint) == ("image-classification", "timm/beit_base_patch16_224")
    assert {"eager-latency-is-speedup-times-compiled", "input-size-not-stated"} <= {*record.flags}
    assert record.source
    assert (record.source.date, record.source.licence, record.source.files) == ("2025-10", "BSD-3-Clause", (TABLE,))


def test_a_failed_row_is_a_failure_and_the_accuracy_table_says_why(tmp_path: Path) -> None:
    performance = file(tmp_path, TABLE, INDUCTOR, BEIT, FAILED)
    good, failed = imported("pytorch-dynamo", tmp_path / "out", performance, **TOLD).values()
    assert (good.status, failed.status, failed.measurement) == (Status.PASS, Status.FAIL_TO_RUN, None)
    accuracy = file(
        tmp_path,
        TABLE.replace("performance", "accuracy"),
        "dev,name,batch_size,accuracy",
        "cuda,beit_base_patch16_224,8,fail_accuracy",
        "cuda,convit_base,8,eager_1st_run_OOM",
    )
    good, failed = imported("pytorch-dynamo", tmp_path / "out", accuracy, performance, **TOLD).values()
    assert (good.status, failed.status) == (Status.FAIL_ACCURACY, Status.EAGER_OOM)
    assert good.measurement
    assert failed.reason == "the source says eager_1st_run_OOM"


def test_models_that_take_no_images_are_left_out_and_named(tmp_path: Path) -> None:
    told: list[str] = []
    name = TABLE.replace("timm_models", "torchbench")
    rows = (BEIT.replace("beit_base_patch16_224", model) for model in ("resnet50", "yolov3", "BERT_pytorch"))
    found = imported("pytorch-dynamo", tmp_path, file(tmp_path, name, INDUCTOR, *rows), log=told.append, **TOLD)
    tasks = {model: record.cell.task for model, record in found.items()}
    assert tasks == {"resnet50": "image-classification", "yolov3": "object-detection"}
    assert told == [f"{name}: left out 1 model not in a task of the atlas: BERT_pytorch"]


@pytest.mark.parametrize(
    ("name", "good", "bad", "says"),
    [
        (EAGER, RESNET, RESNET.replace("80.0", ""), "infer_step_time is missing"),
        (EAGER, RESNET, RESNET.replace("80.0", "nan"), "infer_step_time is missing"),
        (EAGER, RESNET, RESNET.replace("3200.0", "-1"), "infer_samples_per_sec '-1': Expected `float` > 0"),
        (EAGER, RESNET, RESNET.replace(",256,", ",2.5,"), "infer_batch_size '2.5': Expected `int`"),
        (EAGER, RESNET, "cut,224", "model is missing"),
        (TABLE, BEIT, BEIT.replace("1.412003", "fast"), "speedup 'fast': Expected `float`"),
        (TABLE, BEIT, BEIT.replace("21.345678", "0"), "abs_latency '0': is 0, but the speedup is not"),
        (TABLE, BEIT, BEIT.replace("cuda,", "tpu,"), "dev 'tpu': Expected"),
    ],
)
def test_one_bad_row_is_left_out_and_told(tmp_path: Path, name: str, good: str, bad: str, says: str) -> None:
    told: list[str] = []
    header, source = (TIMM, "timm") if name == EAGER else (INDUCTOR, "pytorch-dynamo")
    found = imported(source, tmp_path / "out", file(tmp_path, name, header, bad, good), log=told.append, **TOLD)
    assert len(found) == 1
    assert told[0].startswith(f"{name}: left out 1 row: line 2: {says}")


def test_a_row_without_figures_is_an_outcome(tmp_path: Path) -> None:
    path = file(tmp_path, EAGER, TIMM, RESNET, "vit_huge,448,,,,631.67,544.7,636.83", "vit_giant,224,nan,NaN,,,,")
    found = imported("timm", tmp_path / "out", path, date="2023-11-25")
    assert {model: record.reason for model, record in found.items() if not record.measurement} == dict.fromkeys(
        ("vit_huge", "vit_giant"), "the source gives no figure"
    )


def test_the_tag_of_weights_is_kept_and_the_architecture_is_one_model(tmp_path: Path) -> None:
    name = "convnextv2_nano.fcmae_ft_in22k_in1k"
    tagged = imported(
        "timm", tmp_path / "out", file(tmp_path, EAGER, TIMM, RESNET.replace("resnet50", name)), date="2024"
    )
    assert tagged["convnextv2_nano"].cell.checkpoint == f"timm/{name}"
    other = file(tmp_path, EAGER.replace("pt240", "pt250"), TIMM, RESNET.replace("resnet50", "convnextv2_nano"))
    imported("timm", tmp_path / "out", other, date="2025")
    assert {row["model"] for row in load(tmp_path / "out").by_label} == {"convnextv2-nano"}


def test_options_stand_in_for_a_name_of_timm(tmp_path: Path) -> None:
    told = TOLD | {"device": "cuda", "dtype": "amp", "layout": "nhwc", "compile_mode": "default"}
    (record,) = imported("timm", tmp_path / "out", file(tmp_path, "mine.csv", TIMM, RESNET), **told).values()
    cell, found = record.cell, record.measurement
    assert (cell.precision, cell.channels_last, record.environment.torch) == ("autocast float16", True, "2.9.0")
    assert found
    assert found.compiled
    assert found.compiled.published_mean_ms == 80.0


@pytest.mark.parametrize(
    ("name", "dev", "expected"),
    [
        ("inductor_timm_models_amp_inference_cuda_h100", "cuda", "compile:reduce-overhead autocast float16"),
        ("inductor_timm_models_amp_bf16_inference_xpu", "xpu", "compile:reduce-overhead autocast bfloat16"),
        ("inductor-timm_models-float32-inference-cpu_x86", "cpu", "compile:default float32"),
        (
            "inductor_with_cudagraphs_freezing_timm_models_bfloat16_inference_cuda_a10g",
            "cuda",
            "compile:reduce-overhead:freezing bfloat16",
        ),
        (
            "inductor_dynamic_timm_models_amp_fp16_inference_cuda_b200",
            "cuda",
            "compile:reduce-overhead:dynamic autocast float16",
        ),
        ("inductor_timm_models_dynamic_amp_inference_cpu_aarch64", "cpu", "compile:default:dynamic autocast bfloat16"),
    ],
)
def test_files_are_read_as_ci_names_them(tmp_path: Path, name: str, dev: str, expected: str) -> None:
    path = file(tmp_path, f"{name}_performance.csv", INDUCTOR, BEIT.replace("cuda,", f"{dev},"))
    (record,) = imported("pytorch-dynamo", tmp_path / "out", path, **TOLD).values()
    assert f"{record.cell.variant} {record.cell.precision}" == expected


def test_breaks_and_skips_are_kept_and_an_accuracy_alone_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    header = f"{INDUCTOR},unique_graphs,graph_breaks,cudagraph_skips"
    accuracy = file(
        tmp_path,
        TABLE.replace("performance", "accuracy"),
        "dev,name,batch_size,accuracy",
        "cuda,alone,8,pass",
        "cuda,cait_m36_384,8,OOM",
    )
    path = file(tmp_path, TABLE, header, f"{BEIT},19,18,1")
    found = imported("pytorch-dynamo", tmp_path / "out", accuracy, path, log=told.append, **TOLD)
    graphs = found["beit_base_patch16_224"].measurement.graphs  # type: ignore[union-attr]
    assert graphs
    assert (graphs.graphs, len(graphs.breaks), len(graphs.cudagraph_skips)) == (19, 18, 1)
    assert found["cait_m36_384"].status is Status.OOM
    assert told == [f"{TABLE}: left out 1 model with an accuracy alone: alone"]


@pytest.mark.parametrize(("backend", "mode"), MODES.items())
def test_a_backend_is_a_mode_and_on_a_cpu_there_are_no_cuda_graphs(tmp_path: Path, backend: str, mode: str) -> None:
    path = file(tmp_path, TABLE.replace("inductor_no_cudagraphs", backend), INDUCTOR, BEIT, BEIT.replace("cuda", "cpu"))
    (written,) = import_("pytorch-dynamo", ImportOptions(files=(path,), **TOLD), tmp_path / "out")
    gpu, cpu = (record.cell for record in read(written))
    assert gpu.compile_mode == mode
    assert (cpu.compile_mode, cpu.dtype) == (mode.replace("reduce-overhead", "default"), "bfloat16")


def test_a_name_that_says_nothing_needs_type_and_mode(tmp_path: Path) -> None:
    path = file(tmp_path, "mine.csv", INDUCTOR, BEIT)
    told = TOLD | {"dtype": "float16", "compile_mode": "max-autotune", "suite": "timm"}
    (record,) = imported("pytorch-dynamo", tmp_path / "out", path, **told).values()
    assert (record.cell.dtype, record.cell.compile_mode) == ("float16", "max-autotune")


RENAMED = "mine.csv", EAGER.replace("infer", "train"), EAGER.replace("-amp-", "-int8-"), f"aot_eager{TABLE[22:]}"


@pytest.mark.parametrize(
    ("name", "lines", "told", "where", "says"),
    [
        (EAGER, [TIMM, RESNET, RESNET.replace("80.0", "81.0")], {}, ":3: model", "resnet50 is already in line 2"),
        (EAGER, [TIMM, 'a,"b'], {}, ":2", "not CSV"),
        (EAGER, ["model,top1"], {}, ":1", "has no column infer_img_size"),
        (EAGER, [], {}, ":1", "has no column model"),
        (EAGER, ["\0"], {}, ":1", "has no column model"),
        (EAGER, [TIMM, RESNET], {"date": None}, "", "does not say its date"),
        (EAGER, [TIMM, RESNET], {"date": "2026-02-31"}, "", "day is out of range for month"),
        (EAGER, [TIMM, RESNET], {"date": "yesterday"}, "", r"not allow - at `\$.date`"),
        *((name, [TIMM, RESNET], {}, "", "is not named ") for name in RENAMED),
        (TABLE, [INDUCTOR, BEIT], {"torch": None}, "", "does not say its torch"),
        (TABLE, [INDUCTOR, BEIT], {"device_name": None}, "", "does not say its device-name"),
        (TABLE, [INDUCTOR, BEIT], {"licence": None}, "", "does not say its licence"),
        (
            TABLE,
            [INDUCTOR, BEIT, BEIT],
            {},
            ":3: name",
            "already in line 2: the same model twice, such as cold and warm",
        ),
    ],
)
def test_what_is_missing_or_broken_is_told_with_place_and_remedy_and_nothing_is_written(
    tmp_path: Path, name: str, lines: list[str], told: dict[str, str | None], where: str, says: str
) -> None:
    path = file(tmp_path, name, *lines)
    source = "timm" if "benchmark" in name or name == "mine.csv" else "pytorch-dynamo"
    with pytest.raises(AtlasError, match=says) as error:
        import_(source, ImportOptions(files=(path,), **TOLD | told), tmp_path / "out")
    assert error.value.where == f"{path}{where}"
    assert error.value.remedy
    assert not (tmp_path / "out").exists()


def test_the_same_file_twice_and_other_bytes_are_refused(tmp_path: Path) -> None:
    path, copy = tmp_path / EAGER, tmp_path / "copy" / EAGER
    with pytest.raises(AtlasError, match="contains the same eager results as"):
        imported("timm", tmp_path, path, copy)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AtlasError, match="not UTF-8"):
        imported("timm", tmp_path, path, date="2024")


def test_an_import_of_many_records_is_compressed_and_replaces_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "COMPRESS_FROM", 3)
    run = "timm-rtx4090-torch-2.4.0-amp-nchw.jsonl"
    for count, name in ((2, run), (3, f"{run}.gz"), (1, run)):
        rows = (RESNET.replace("resnet50", f"resnet{number}") for number in range(count))
        found = imported("timm", tmp_path / "out", file(tmp_path, EAGER, TIMM, *rows), date="2024-08")
        assert len(found) == count
        assert [path.name for path in run_files(tmp_path / "out")] == [name]
