"""Sources of figures: file names, sides in two files, failures, missing values, and models that take no images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.errors import AtlasError
from bench.exchange import transfer
from bench.exchange.check import check
from bench.exchange.importers.timm import Setup, parse
from bench.exchange.transfer import ImportOptions, import_
from bench.records.record import UNEQUAL_BATCHES, Record
from bench.records.run_file import read, run_files
from generator.data.load import load

EAGER, DYNAMO = (f"benchmark-infer-amp-nchw-pt240-cu124-rtx4090{side}.csv" for side in ("", "-dynamo"))
TIMM = "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts"
RESNET = "resnet50,224,3200.0,80.0,256,25.56,4.11,11.11"

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


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (RESNET.replace("80.0", ""), "infer_step_time is missing"),
        (RESNET.replace("80.0", "nan"), "infer_step_time is missing"),
        (RESNET.replace("3200.0", "-1"), "infer_samples_per_sec '-1': Expected `float` > 0"),
        (RESNET.replace(",256,", ",2.5,"), "infer_batch_size '2.5': Expected `int`"),
        ("cut,224", "model is missing"),
    ],
)
def test_one_bad_row_is_left_out_and_told(tmp_path: Path, bad: str, says: str) -> None:
    told: list[str] = []
    found = imported("timm", tmp_path / "out", file(tmp_path, EAGER, TIMM, bad, RESNET), log=told.append, **TOLD)
    assert len(found) == 1
    assert told[0].startswith(f"{EAGER}: left out 1 row: line 2: {says}")


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


RENAMED = "mine.csv", EAGER.replace("infer", "train"), EAGER.replace("-amp-", "-int8-")


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
    ],
)
def test_what_is_missing_or_broken_is_told_with_place_and_remedy_and_nothing_is_written(
    tmp_path: Path, name: str, lines: list[str], told: dict[str, str | None], where: str, says: str
) -> None:
    path = file(tmp_path, name, *lines)
    with pytest.raises(AtlasError, match=says) as error:
        import_("timm", ImportOptions(files=(path,), **TOLD | told), tmp_path / "out")
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
