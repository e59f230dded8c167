"""The committed records of timm say what its files say: three rows of each file, copied by hand, and the totals."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from bench.records.record import RESULTS, TOY, UNEQUAL_BATCHES, Record, Status
from bench.records.run_file import read, run_files, run_of

PUBLISHED = RESULTS / "published"

FILES = "benchmark-infer-{}.csv"

# Below each name, rows as the file has them: model, image size, images/s, ms per batch, batch size, 1e6 parameters,
# 1e9 multiply-accumulates and 1e6 activations per image. The first is an ordinary one, the second has another batch
# size than its counterpart where there is such a row, the third is a toy, or has no counterpart.
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
    "amp-nchw-pt291-cu128-4090": (
        "resnet50,224,4302.84,237.959,1024,25.56,4.11,11.11",
        "convnext_base,384,716.38,714.679,512,88.59,45.21,84.49",
        "tresnet_xl,448,484.98,2111.394,1024,78.44,60.77,61.31",
    ),
    "amp-nchw-pt291-cu128-4090-dynamo": (
        "resnet50,224,8039.05,127.355,1024,25.56,4.11,11.11",
        "convnext_base,384,918.39,836.218,768,88.59,45.21,84.49",
        "test_resnet,160,136832.43,7.462,1024,0.47,0.1,0.64",
    ),
    "amp-nchw-pt291-cu130-5090": (
        "convmixer_1536_20,224,401.91,2547.788,1024,51.63,48.68,33.03",
        "samvit_huge_patch16,1024,9.69,619.462,6,637.03,2982.23,3428.16",
        "test_vit,160,260723.52,3.909,1024,0.37,0.04,0.48",
    ),
    "amp-nchw-pt291-cu130-5090-dynamo": (
        "convmixer_1536_20,224,169.48,6041.959,1024,51.63,48.68,33.03",
        "samvit_huge_patch16,1024,18.21,878.709,16,637.03,2982.23,3428.16",
        "test_vit,160,414210.56,2.456,1024,0.37,0.04,0.48",
    ),
    "amp-nchw-pt291-cu130-pro6000maxq": (
        "vit_base_patch16_224,224,4189.64,488.777,2048,86.57,17.58,23.9",
        "efficientnet_b0,224,12127.59,168.843,2048,5.29,0.4,6.75",
        "halonet_h1,256,847.94,1207.582,1024,8.1,3.0,51.17",
    ),
    "amp-nchw-pt291-cu130-pro6000maxq-dynamo": (
        "vit_base_patch16_224,224,4741.58,431.866,2048,86.57,17.58,23.9",
        "efficientnet_b0,224,17361.19,88.428,1536,5.29,0.4,6.75",
        "test_resnet,160,207628.42,9.836,2048,0.47,0.1,0.64",
    ),
    "amp_bf16-nchw-pt291-cu130-pro6000maxq-dynamo": (
        "swin_base_patch4_window7_224,224,3046.6,672.161,2048,87.77,15.47,36.63",
        "cait_m48_448,448,80.08,19180.239,1536,356.46,329.41,1708.23",
        "test_vit,160,502268.05,4.061,2048,0.37,0.04,0.48",
    ),
    "bf16-nchw-pt291-cu130-pro6000maxq-dynamo": (
        "swin_base_patch4_window7_224,224,3183.57,643.244,2048,87.77,15.47,36.63",
        "convmixer_1536_20,224,148.35,6902.39,1024,51.63,48.68,33.03",
        "test_vit,160,662619.72,3.073,2048,0.37,0.04,0.48",
    ),
}

# Below the name of each run: its records, those with both variants, those with unequal batches, and toys.
TOTALS = {
    "timm-rtx4090-torch-2.4.0-amp-nchw": (1445, 1442, 1370, 3),
    "timm-4090-torch-2.9.1-amp-nchw": (1627, 1625, 347, 16),
    "timm-5090-torch-2.9.1-amp-nchw": (1627, 1627, 303, 16),
    "timm-pro6000maxq-torch-2.9.1-amp-nchw": (1629, 1628, 273, 16),
    "timm-pro6000maxq-torch-2.9.1-amp_bf16-nchw": (1628, 0, 0, 16),
    "timm-pro6000maxq-torch-2.9.1-bf16-nchw": (1622, 0, 0, 16),
}

# Rows of each file without its header, as `wc -l` counts them.
LINES = {
    "amp-nchw-pt240-cu124-rtx4090": 1444,
    "amp-nchw-pt240-cu124-rtx4090-dynamo": 1443,
    "amp-nchw-pt291-cu128-4090": 1627,
    "amp-nchw-pt291-cu128-4090-dynamo": 1625,
    "amp-nchw-pt291-cu130-5090": 1627,
    "amp-nchw-pt291-cu130-5090-dynamo": 1627,
    "amp-nchw-pt291-cu130-pro6000maxq": 1629,
    "amp-nchw-pt291-cu130-pro6000maxq-dynamo": 1628,
    "amp_bf16-nchw-pt291-cu130-pro6000maxq-dynamo": 1628,
    "bf16-nchw-pt291-cu130-pro6000maxq-dynamo": 1622,
}


@cache
def runs() -> dict[str, list[Record]]:
    """The records of all files of timm that are here now, by run."""
    paths = [path for path in run_files(PUBLISHED) if run_of(path) in TOTALS]
    return {run_of(path): list(read(path)) for path in paths}


def of_file(name: str) -> list[Record]:
    return [
        record for records in runs().values() for record in records if record.source and name in record.source.files
    ]


def figures(record: Record, side: str) -> tuple[float | None, float | None, int]:
    """Return what the record says of a variant: images/s, ms per batch, and the batch size."""
    variant = getattr(record.measurement, side)
    return variant.published_images_s, variant.published_mean_ms, variant.batch_size or record.cell.batch_size


@pytest.mark.parametrize(("name", "row"), [(name, row) for name, rows in ROWS.items() for row in rows])
def test_a_row_is_in_the_records_as_it_is_in_the_file(name: str, row: str) -> None:
    model, size, images_s, ms, batch, parameters, gmacs, activations = row.split(",")
    side = "compiled" if name.endswith("-dynamo") else "eager"
    (record,) = (
        record
        for record in of_file(FILES.format(name))
        if (record.cell.model, record.cell.input_size) == (model, (int(size), int(size)))
    )
    assert figures(record, side) == (float(images_s), float(ms), int(batch))
    assert record.measurement
    assert record.measurement.work
    work, images = record.measurement.work, record.cell.batch_size
    assert work.parameters == round(float(parameters) * 1e6)
    assert work.flop == pytest.approx(2e9 * float(gmacs) * images)
    assert work.activations == pytest.approx(1e6 * float(activations) * images)
    assert (TOY in record.flags) is model.startswith("test_")


def test_the_rows_stand_for_every_file_and_every_kind() -> None:
    named = {file for records in runs().values() for record in records if record.source for file in record.source.files}
    assert {FILES.format(name) for name in ROWS} == {FILES.format(name) for name in LINES} == named
    for eager in (name for name in ROWS if f"{name}-dynamo" in ROWS):
        batches = [[int(row.split(",")[4]) for row in ROWS[name][:2]] for name in (eager, f"{eager}-dynamo")]
        assert batches[0][0] == batches[1][0]
        assert batches[0][1] != batches[1][1]


@pytest.mark.parametrize(("run", "total"), TOTALS.items())
def test_each_run_has_all_records_and_flags(run: str, total: tuple[int, ...]) -> None:
    records = runs()[run]
    flags = Counter(flag for record in records for flag in record.flags)
    pairs = sum(record.status is Status.PASS for record in records)
    assert (len(records), pairs, flags[UNEQUAL_BATCHES], flags[TOY]) == total
    assert len({(record.cell.model, record.cell.input_size) for record in records}) == len(records)


@pytest.mark.parametrize(("name", "lines"), LINES.items())
def test_each_row_of_a_file_is_one_variant_of_one_record(name: str, lines: int) -> None:
    side = "compiled" if name.endswith("-dynamo") else "eager"
    variants = [getattr(record.measurement, side) for record in of_file(FILES.format(name))]
    assert sum(variant is not None and variant.published_mean_ms is not None for variant in variants) == lines


def test_unequal_batches_are_flagged_and_no_others() -> None:
    for record in (record for records in runs().values() for record in records if record.status is Status.PASS):
        _, _, eager = figures(record, "eager")
        _, _, compiled = figures(record, "compiled")
        assert (UNEQUAL_BATCHES in record.flags) is (eager != compiled), record.cell


def test_every_record_says_where_it_comes_from_and_when() -> None:
    dates = {run: {record.source.date for record in records if record.source} for run, records in runs().items()}
    assert dates == {run: {"2024-09-04" if "torch-2.4.0" in run else "2026-01-06"} for run in TOTALS}
    every = [record for records in runs().values() for record in records]
    assert {record.source.licence for record in every if record.source} == {"Apache-2.0"}
    assert all("weights-not-stated" in record.flags for record in every)
