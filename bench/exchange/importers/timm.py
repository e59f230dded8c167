"""Import inference benchmarks of pytorch-image-models: CSV files whose names describe the setup.

Takes `benchmark-infer-<type>-<layout>-pt<torch>-<cuda>-<device>[-dynamo].csv`, as in the folder `results` of
https://github.com/huggingface/pytorch-image-models (Apache-2.0); returns one record for each model and image size. A
file with `-dynamo` is the compiled variant of the file with the same name without it. Each run took the largest batch
that fits, so some models have variants of different batch sizes, which are flagged and have no speedup. Models whose
names begin with ``test_`` exist for timm's own tests, and are flagged as well.

    python -m bench import timm benchmark-infer-amp-nchw-pt240-cu124-rtx4090*.csv --out records
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.errors import AtlasError
from bench.exchange.source_files import NOT_INTERLEAVED, ImportOptions, SourceRow, csv_rows
from bench.records.record import (
    SCHEMA,
    TIMM,
    TOY,
    UNEQUAL_BATCHES,
    Cell,
    Environment,
    Measurement,
    Record,
    Samples,
    Source,
    Status,
    Work,
)

URL = "https://github.com/huggingface/pytorch-image-models/tree/main/results"

NAME = re.compile(
    r"benchmark-(?P<bench>infer|train)-(?P<precision>[a-z0-9_]+)-(?P<layout>nchw|nhwc)"
    r"-pt(?P<torch>\d{3,4})-(?P<accelerator>cu\d{3}|cpu)-(?P<device>[A-Za-z0-9_.-]+?)(?P<compiled>-dynamo)?\.csv"
)
EXAMPLE = "benchmark-infer-amp-nchw-pt240-cu124-rtx4090-dynamo.csv"

PRECISIONS = {
    "fp32": ("float32", False),
    "fp16": ("float16", False),
    "bf16": ("bfloat16", False),
    "amp": ("float16", True),
    "amp_fp16": ("float16", True),
    "amp_bf16": ("bfloat16", True),
}
"""Data type and whether autocast is on. `amp` does not state its type: torch's default is float16."""

COLUMNS = ("model", "infer_img_size", "infer_samples_per_sec", "infer_step_time", "infer_batch_size")
MACS = "infer_gmacs"  # 1e9 multiply-accumulates per image, if they were counted
ACTIVATIONS = "infer_macts"  # 1e6 elements that convolutions and matrix products write per image
PARAMETERS = "param_count"  # 1e6

NOTE = "mean over consecutive calls with one batch of random images, after a warm-up; throughput of the whole loop"

FLAGS = ("weights-not-stated",)  # timm's script uses random ones by default
NO_TYPE = "autocast-type-not-stated"
NO_MODE = "compile-mode-not-stated"  # timm's script uses torch's default unless given another
NO_DEVICE = "device-as-the-file-is-named"


@dataclass(frozen=True)
class Setup:
    """The setup in a file name, without the variant."""

    precision: str
    layout: str
    torch: str
    accelerator: str
    device: str

    @property
    def run(self) -> str:
        return f"timm-{self.device}-torch-{self.torch}-{self.precision}-{self.layout}".lower()

    @property
    def device_name(self) -> str:
        """The full product name if the abbreviation is known, else the name in the file name."""
        if match := re.fullmatch(r"(?:rtx_?)?([2345]0\d0)(_?ti)?", self.device):
            return f"NVIDIA GeForce RTX {match[1]}{' Ti' if match[2] else ''}"
        if match := re.fullmatch(r"i(\d)_(\d+\w*)", self.device):
            return f"Intel Core i{match[1]}-{match[2].upper()}"
        return {"pro6000maxq": "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"}.get(self.device, self.device)


Figures = Mapping[tuple[str, int], SourceRow]
"""Rows by model and image size."""


def read(options: ImportOptions) -> Iterator[Record]:
    """Yield one record for each setup, model and image size, in the order of the eager file. Raises `AtlasError`."""
    variants: dict[Setup, dict[str, Path]] = {}
    for path in options.some_files(f"files such as {EXAMPLE}"):
        setup, variant = parse(path)
        if variant in variants.setdefault(setup, {}):
            raise AtlasError(
                f"contains the same {variant} results as {variants[setup][variant]}",
                where=str(path),
                remedy="give only one of them",
            )
        variants[setup][variant] = path
    if options.device_name and len({setup.device for setup in variants}) > 1:
        raise AtlasError(
            "the files are from several devices",
            where="--device-name",
            remedy="import the files of each device separately",
        )
    for setup, files in variants.items():
        yield from _records(setup, files, options)


def parse(path: Path) -> tuple[Setup, str]:
    """Return the setup and the variant of a file name. Raises `AtlasError` for any other name."""
    match = NAME.fullmatch(path.name)
    if match is None:
        raise AtlasError(
            "does not follow the file names of timm's results", where=str(path), remedy=f"rename it to match {EXAMPLE}"
        )
    if match["bench"] == "train":
        raise AtlasError(
            "contains training results, but the atlas covers inference only", where=str(path), remedy="omit this file"
        )
    if match["precision"] not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise AtlasError(
            f"{match['precision']!r} is not a known data type", where=str(path), remedy=f"known are {known}"
        )
    digits = match["torch"]  # 240 is 2.4.0 and 2100 is 2.10.0, but 113 is 1.13
    torch = f"1.{digits[1:]}" if digits[0] == "1" else f"{digits[0]}.{digits[1:-1]}.{digits[-1]}"
    setup = Setup(match["precision"], match["layout"], torch, match["accelerator"], match["device"])
    return setup, "compiled" if match["compiled"] else "eager"


def _records(setup: Setup, files: Mapping[str, Path], options: ImportOptions) -> Iterator[Record]:
    eager, compiled = (_figures(files[variant]) if variant in files else {} for variant in ("eager", "compiled"))
    date, dated = options.dated(setup.torch)
    source = Source(
        title=options.title or "pytorch-image-models: inference benchmarks",
        url=options.url or URL,
        date=date,
        licence=options.licence or "Apache-2.0",
        note=NOTE,
        files=tuple(sorted(path.name for path in files.values())),
    )
    device_name = options.device_name or setup.device_name
    environment = Environment(
        device_name=device_name,
        torch=setup.torch,
        accelerator=f"CUDA {setup.accelerator[2:4]}.{setup.accelerator[4:]}" if setup.accelerator != "cpu" else None,
    )
    flags = (
        *FLAGS,
        *dated,
        *([NO_TYPE] if setup.precision == "amp" else []),
        *([NO_MODE] if compiled else []),
        *([NO_DEVICE] if device_name == setup.device else []),
    )
    for key in {**eager, **compiled}:
        yield _record(setup, eager.get(key), compiled.get(key), environment, source, flags)


def _figures(path: Path) -> Figures:
    rows: dict[tuple[str, int], SourceRow] = {}
    for row in csv_rows(path, COLUMNS, "a result file of timm"):
        key = (row.text("model"), row.count("infer_img_size"))
        if key in rows:
            first = rows[key].where.rpartition(":")[2]
            raise row.wrong("model", f"{key[0]} at {key[1]} pixels is already in line {first}", "remove one of the two")
        rows[key] = row
    return rows


def _record(
    setup: Setup,
    eager: SourceRow | None,
    compiled: SourceRow | None,
    environment: Environment,
    source: Source,
    flags: tuple[str, ...],
) -> Record:
    row = eager or compiled
    assert row is not None
    pixels, batch_size = row.count("infer_img_size"), row.count("infer_batch_size")
    dtype, autocast = PRECISIONS[setup.precision]
    gmacs, macts, millions = (row.known(name, zero=True) for name in (MACS, ACTIVATIONS, PARAMETERS))
    variants = [_variant(each, batch_size) for each in (eager, compiled)]
    is_pair = bool(eager and compiled)
    own = [UNEQUAL_BATCHES] if is_pair and variants[1].batch_size else []
    own += [TOY] if row.text("model").startswith("test_") else []
    return Record(
        schema=SCHEMA,
        run=setup.run,
        origin="published",
        profile="timm",
        process=0,
        status=Status.PASS if is_pair else Status.SKIPPED,
        reason=None if is_pair else f"the source has no {'compiled' if eager else 'eager'} figures of this model",
        cell=Cell(
            model=row.text("model"),
            checkpoint=f"{TIMM}{row.text('model')}",
            task="image-classification",
            device="cpu" if setup.accelerator == "cpu" else "cuda",
            dtype=dtype,
            batch_size=batch_size,
            variant="compile:default",
            input_size=(pixels, pixels),
            autocast=autocast,
            channels_last=setup.layout == "nhwc",
        ),
        environment=environment,
        measurement=Measurement(
            eager=variants[0],
            compiled=variants[1] if compiled else None,
            stop_reason="published",
            work=_work(gmacs, macts, millions, batch_size) if gmacs else None,
        ),
        source=source,
        flags=(*flags, *([NOT_INTERLEAVED] if is_pair else []), *own),
    )


def _work(gmacs: float, macts: float | None, millions: float | None, batch_size: int) -> Work:
    """Return the work of a batch; decimals as the file has them, without what binary arithmetic adds."""
    return Work(
        flop=round(2e9 * gmacs * batch_size),
        activations=round(1e6 * macts * batch_size) if macts else None,
        parameters=round(1e6 * millions) if millions else None,
    )


def _variant(row: SourceRow | None, cell_batch_size: int) -> Samples:
    """Return the latencies of a row; empty without a row."""
    if row is None:
        return Samples()
    batch_size = row.count("infer_batch_size")
    return Samples(
        published_mean_ms=row.number("infer_step_time"),
        published_images_s=row.number("infer_samples_per_sec"),
        batch_size=None if batch_size == cell_batch_size else batch_size,
    )
