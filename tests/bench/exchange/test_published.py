"""The committed published records say what their sources say, and importing those again gives the same records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest

from bench.exchange.importers import timm
from bench.exchange.transfer import ImportOptions
from bench.records.record import RESULTS, TOY, UNEQUAL_BATCHES, GradMode, Record, Work
from bench.records.run_file import read, run_files, run_of

HEADER = (
    "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts"
)

# Rows as the files of timm have them: model, image size, images/s, ms per batch, batch size, 1e6 parameters,
# 1e9 multiply-accumulates and 1e6 activations per image.
ROWS = {
    "amp-nchw-pt240-cu124-rtx4090": (
        "caformer_b36,384,177.61,1441.35,256,98.75,72.33,261.79",
        "resnet50,224,4217.6,242.763,1024,25.56,4.11,11.11",
        "cait_m48_448,448,27.15,4715.382,128,356.46,329.41,1708.23",
    ),
    "amp-nchw-pt240-cu124-rtx4090-dynamo": (
        "caformer_b36,384,564.02,453.867,256,98.75,72.33,261.79",
        "resnet50,224,8237.46,31.069,256,25.56,4.11,11.11",
        "eva02_enormous_patch14_clip_224,224,63.84,4009.924,256,4350.56,1132.46,497.58",
    ),
    "amp-nchw-pt291-cu128-4090": ("convnext_base,384,716.38,714.679,512,88.59,45.21,84.49",),
    "amp-nchw-pt291-cu128-4090-dynamo": ("convnext_base,384,918.39,836.218,768,88.59,45.21,84.49",),
    "amp-nchw-pt291-cu130-5090": ("samvit_huge_patch16,1024,9.69,619.462,6,637.03,2982.23,3428.16",),
    "amp-nchw-pt291-cu130-5090-dynamo": ("test_vit,160,414210.56,2.456,1024,0.37,0.04,0.48",),
    "amp-nchw-pt291-cu130-pro6000maxq": ("efficientnet_b0,224,12127.59,168.843,2048,5.29,0.4,6.75",),
    "amp-nchw-pt291-cu130-pro6000maxq-dynamo": ("efficientnet_b0,224,17361.19,88.428,1536,5.29,0.4,6.75",),
    "amp_bf16-nchw-pt291-cu130-pro6000maxq-dynamo": ("cait_m48_448,448,80.08,19180.239,1536,356.46,329.41,1708.23",),
    "bf16-nchw-pt291-cu130-pro6000maxq-dynamo": ("convmixer_1536_20,224,148.35,6902.39,1024,51.63,48.68,33.03",),
    "amp-nchw-pt210-cu121-rtx3090": (
        "resnet50,224,3021.24,338.922,1024,25.56,4.11,11.11",
        "vit_base_patch16_224,224,1568.03,653.038,1024,86.57,16.87,16.49",
        "convmixer_1536_20,224,172.27,5944.074,1024,51.63,48.68,33.03",
    ),
    "amp-nchw-pt240-cu124-rtx3090": (
        "resnet50,224,3219.06,318.095,1024,25.56,4.11,11.11",
        "vit_base_patch16_224,224,1570.66,651.945,1024,86.57,17.58,23.9",
        "mobilenetv3_large_150d,224,5094.2,201.003,1024,0,0,0",
    ),
    "amp-nhwc-pt240-cu124-rtx3090": (
        "resnet50,224,3729.86,274.531,1024,25.56,4.11,11.11",
        "vit_base_patch16_224,224,1572.08,651.357,1024,86.57,17.58,23.9",
        "convmixer_1536_20,224,76.93,13310.571,1024,51.63,48.68,33.03",
    ),
    "amp-nhwc-pt240-cu124-rtx4090": (
        "resnet50,224,5088.39,100.61,512,25.56,4.11,11.11",
        "vit_base_patch16_224,224,2843.0,180.077,512,86.57,17.58,23.9",
        "convmixer_1536_20,224,135.19,3787.319,512,51.63,48.68,33.03",
    ),
    "fp32-nchw-pt240-cpu-i7_12700h-dynamo": (
        "resnet50,224,30.48,32.78,1,25.56,4.11,11.11",
        "vit_base_patch16_224,224,8.33,120.013,1,86.57,17.58,23.9",
        "convmixer_1536_20,224,3.25,307.72,1,51.63,48.68,33.03",
    ),
    "fp32-nchw-pt240-cpu-i9_10940x-dynamo": (
        "resnet50,224,67.2,14.865,1,25.56,4.11,11.11",
        "vit_base_patch16_224,224,32.37,30.879,1,86.57,17.58,23.9",
        "convmixer_1536_20,224,13.52,73.944,1,51.63,48.68,33.03",
    ),
}

# Rows of each file without its header, as `wc -l` counts them; of PyTorch 2.1.0 two have no figures.
COUNTS = (1444, 1443, 1627, 1625, 1627, 1627, 1629, 1628, 1628, 1622, 1293 - 2, 1443, 1430, 1441, 1440, 1435)
LINES = dict(zip(ROWS, COUNTS, strict=True))


@cache
def runs() -> dict[str, Sequence[Record]]:
    return {run_of(path): list(read(path)) for path in run_files(RESULTS / "published")}


TIMM = sorted(run for run in runs() if run.startswith("timm-"))


def rows(records: Sequence[Record], side: str) -> Iterator[str]:
    """Yield the rows of the file from which one side of these records was imported."""
    for record in records:
        found, cell = record.measurement, record.cell
        if not found:
            assert record.reason == "the source gives no figure"
            continue
        work = found.work or Work(flop=0)
        assert cell.input_size
        figures = getattr(found, side)
        if figures and figures.published_mean_ms:
            batch_size = figures.batch_size or cell.batch_size
            per_image = (
                (work.parameters or 0) / 1e6,
                work.flop / cell.batch_size / 2e9,
                (work.activations or 0) / cell.batch_size / 1e6,
            )
            plain = ",".join(f"{round(each, 2):g}" if each < 1e4 else f"{each:.2f}" for each in per_image)
            size = cell.input_size[0]
            yield f"{cell.model},{size},{figures.published_images_s},{figures.published_mean_ms},{batch_size},{plain}"


@pytest.mark.parametrize("name", ROWS)
def test_the_records_have_each_row_of_a_file_of_timm(name: str) -> None:
    side = "compiled" if name.endswith("-dynamo") else "eager"
    file = f"benchmark-infer-{name}.csv"
    (records,) = (runs()[run] for run in TIMM if file in getattr(runs()[run][0].source, "files", ()))
    found = list(rows(records, side))
    assert len(found) == LINES[name]
    assert set(ROWS[name]) <= set(found)


@pytest.mark.parametrize("run", TIMM)
def test_importing_the_files_of_timm_again_gives_the_same_records(run: str, tmp_path: Path) -> None:
    source = runs()[run][0].source
    assert source
    for name in source.files:
        side = "compiled" if name.endswith("-dynamo.csv") else "eager"
        (tmp_path / name).write_text("\n".join([HEADER, *rows(runs()[run], side)]))
    options = ImportOptions(files=tuple(tmp_path / name for name in source.files), date=source.date)
    again = list(timm.read(options))
    assert {each.cell.grad_mode for each in again} == {"no_grad" if source.date < "2025" else "inference_mode"}
    known = [record for record in runs()[run] if record.measurement]
    assert [_as_known(each, known[0].cell.grad_mode) for each in again] == known


def _as_known(record: Record, grad_mode: GradMode | None) -> Record:
    """Return the record with this gradient mode, which was not recorded when the first files were imported."""
    return msgspec.structs.replace(record, cell=msgspec.structs.replace(record.cell, grad_mode=grad_mode))


def test_unequal_batches_and_toys_are_flagged_and_no_others() -> None:
    for record in (record for run in TIMM for record in runs()[run]):
        if found := record.measurement:
            is_unequal = bool(found.compiled and found.compiled.published_mean_ms and not found.is_comparable)
            assert (UNEQUAL_BATCHES in record.flags) is (is_unequal and found.eager.published_mean_ms is not None)
        assert (TOY in record.flags) is record.cell.model.startswith("test_")
