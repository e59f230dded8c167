"""Figures of pytorch-image-models: file names, and variants in one file and in two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.errors import AtlasError
from bench.exchange.importers.timm import Setup, parse, read
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import import_
from bench.records.record import UNEQUAL_BATCHES, Record, Status
from generator.data import selection
from generator.data.lint import DOUBTING
from generator.data.load import load

EAGER, DYNAMO = (f"benchmark-infer-amp-nchw-pt240-cu124-rtx4090{variant}.csv" for variant in ("", "-dynamo"))

HEADER = (
    "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts"
)


def file(folder: Path, name: str, *rows: str, header: str = HEADER) -> Path:
    path = folder / name
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Write equal batches, unequal ones, and a model that only one variant has."""
    eager = file(
        tmp_path,
        EAGER,
        "resnet50,224,3200.0,80.0,256,25.56,4.11,11.11",
        "vit,224,2000.0,512.0,1024,86.57,16.87,16.49",
        "alone,160,1000.0,1.0,1,0.5,,",
    )
    compiled = file(
        tmp_path,
        DYNAMO,
        "vit,224,2560.0,100.0,256,86.57,16.87,16.49",
        "resnet50,224,6400.0,40.0,256,25.56,4.11,11.11",
        "other,160,1000.0,1.0,1,0.5,0.0,",
    )
    return eager, compiled


def records(*files: Path, **given: Any) -> dict[str, Record]:
    return {record.cell.model: record for record in read(ImportOptions(files=files, **given))}


@pytest.mark.parametrize(
    ("name", "setup", "variant", "device"),
    [
        (DYNAMO, ("amp", "nchw", "2.4.0", "cu124", "rtx4090"), "compiled", "NVIDIA GeForce RTX 4090"),
        (
            "benchmark-infer-amp-nhwc-pt110-cu113-rtx3090.csv",
            ("amp", "nhwc", "1.10", "cu113", "rtx3090"),
            "eager",
            "NVIDIA GeForce RTX 3090",
        ),
        (
            "benchmark-infer-amp-nchw-pt291-cu130-5090-dynamo.csv",
            ("amp", "nchw", "2.9.1", "cu130", "5090"),
            "compiled",
            "NVIDIA GeForce RTX 5090",
        ),
        (
            "benchmark-infer-amp_bf16-nchw-pt2100-cu130-pro6000maxq-dynamo.csv",
            ("amp_bf16", "nchw", "2.10.0", "cu130", "pro6000maxq"),
            "compiled",
            "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
        ),
        (
            "benchmark-infer-fp32-nchw-pt221-cpu-i9_10940x-dynamo.csv",
            ("fp32", "nchw", "2.2.1", "cpu", "i9_10940x"),
            "compiled",
            "Intel Core i9-10940X",
        ),
        (
            "benchmark-infer-bf16-nchw-pt240-cu124-mi300x.csv",
            ("bf16", "nchw", "2.4.0", "cu124", "mi300x"),
            "eager",
            "mi300x",
        ),
    ],
)
def test_a_file_name_tells_device_torch_type_and_layout(
    name: str, setup: tuple[str, ...], variant: str, device: str
) -> None:
    found, its_variant = parse(Path(name))
    assert (found, its_variant) == (Setup(*setup), variant)
    assert found.device_name == device


def test_two_tables_make_one_record_a_model_and_size(pair: tuple[Path, Path]) -> None:
    found = records(*pair)
    assert {name: record.status for name, record in found.items()} == {
        "resnet50": Status.PASS,
        "vit": Status.PASS,
        "alone": Status.SKIPPED,
        "other": Status.SKIPPED,
    }
    resnet = found["resnet50"]
    assert resnet.measurement
    assert resnet.measurement.compiled
    assert (resnet.cell.dtype, resnet.cell.autocast, resnet.cell.input_size) == ("float16", True, (224, 224))
    assert resnet.measurement.eager.published_mean_ms == 80.0
    assert resnet.measurement.compiled.published_images_s == 6400.0
    assert resnet.measurement.work
    assert resnet.measurement.work.flop == pytest.approx(2 * 4.11e9 * 256)
    assert UNEQUAL_BATCHES not in resnet.flags
    assert resnet.source
    assert (resnet.source.licence, resnet.source.date) == ("Apache-2.0", "2024-07")
    assert resnet.source.files == (DYNAMO, EAGER)
    assert records(*pair, date="2024-08")["vit"].flags == tuple(
        flag for flag in found["vit"].flags if not flag.startswith("date-")
    )


def test_variants_of_different_batches_are_flagged_and_never_divided(pair: tuple[Path, Path], tmp_path: Path) -> None:
    import_("timm", ImportOptions(files=pair), tmp_path / "out")
    results = load(tmp_path / "out")
    rows = {row["model_label"]: row for row in results.by_label}
    assert rows["resnet50"]["speedup"] == 2.0
    assert {row["workload"] for row in rows.values()} == {"throughput"}
    vit = rows["vit"]
    assert UNEQUAL_BATCHES in vit["flags"]
    assert (vit["batch_size"], vit["eager_ms"], vit["compiled_ms"]) == (1024, 512.0, None)
    assert all(vit[name] is None for name in ("speedup", "change", "break_even_calls", "memory_change"))
    assert vit["verdict"] == "doubtful"
    assert (vit["eager_images_s"], vit["compiled_images_s"]) == (2000.0, 2560.0)
    (unequal,) = (finding for finding in results.problems if finding.kind == "unequal_batches")
    assert unequal.kind in DOUBTING
    assert results.by_label[unequal.rows[0]]["model_label"] == "vit"
    assert rows["other"]["eager_ms"] is None
    assert rows["other"]["compiled_ms"] == 1.0


def test_layouts_and_types_of_one_model_stay_apart(tmp_path: Path) -> None:
    row = "resnet50,224,3200.0,80.0,256,25.56,4.11,11.11"
    names = [f"benchmark-infer-{type_}-pt240-cu124-rtx3090.csv" for type_ in ("amp-nchw", "amp-nhwc", "fp16-nchw")]
    import_("timm", ImportOptions(files=tuple(file(tmp_path, name, row) for name in names)), tmp_path / "out")
    results = load(tmp_path / "out")
    assert len(selection.records(results.newest)) == 3
    assert {(row["dtype"], row["layout"]) for row in results.by_label} == {
        ("autocast float16", ""),
        ("autocast float16", "channels_last"),
        ("float16", ""),
    }


GOOD = "resnet50,224,3200.0,80.0,256,25.56,4.11,11.11"


@pytest.mark.parametrize(
    ("rows", "where", "says"),
    [
        ([GOOD, GOOD.replace("224", "288").replace("80.0", "")], ":3: infer_step_time", "is empty"),
        ([GOOD.replace("80.0", "nan")], ":2: infer_step_time", "'nan' is not a positive number"),
        ([GOOD.replace("3200.0", "-1")], ":2: infer_samples_per_sec", "not a positive number"),
        ([GOOD.replace(",256,", ",2.5,")], ":2: infer_batch_size", "not a whole number"),
        ([GOOD, "cut,224"], ":3", "has 2 fields, but the header has 8"),
        ([GOOD, GOOD.replace("80.0", "81.0")], ":3: model", "resnet50 at 224 pixels is already in line 2"),
        (['a,"b'], ":2", "not CSV"),
    ],
)
def test_a_broken_row_refuses_the_file_with_its_place_and_writes_nothing(
    tmp_path: Path, rows: list[str], where: str, says: str
) -> None:
    path = file(tmp_path, EAGER, *rows)
    with pytest.raises(AtlasError, match=says) as error:
        import_("timm", ImportOptions(files=(path,)), tmp_path / "out")
    assert error.value.where == f"{path}{where}"
    assert error.value.remedy
    assert not (tmp_path / "out").exists()


def test_files_that_are_something_else_are_refused(tmp_path: Path) -> None:
    for name, header, says in (
        ("results.csv", HEADER, "does not follow the file names"),
        (EAGER.replace("infer", "train"), HEADER, "contains training results"),
        (EAGER.replace("-amp-", "-int8-"), HEADER, "'int8' is not a known data type"),
        (EAGER, "model,top1", "no column infer_img_size"),
        (EAGER, "", "the file is empty"),
    ):
        with pytest.raises(AtlasError) as error:
            records(file(tmp_path, name, header=header))
        assert says in str(error.value)
    (tmp_path / EAGER).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AtlasError, match="not UTF-8"):
        records(tmp_path / EAGER)
    with pytest.raises(AtlasError, match="contains the same eager results as"):
        list(read(ImportOptions(files=(tmp_path / EAGER, tmp_path / "copy" / EAGER))))
