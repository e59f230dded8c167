"""Import inference benchmarks of pytorch-image-models: CSV files whose names describe the setup.

Takes `benchmark-infer-<type>-<layout>-pt<torch>-<cuda>-<device>[-dynamo].csv`, as in the folder `results` of
https://github.com/huggingface/pytorch-image-models (Apache-2.0); returns one record for each model and image size. A
file with `-dynamo` is the compiled side of the file with the same name without it. Each run took the largest batch
that fits, so some models have sides of different batch sizes, which are flagged and have no speedup. Models whose
names begin with ``test_`` exist for timm's own tests, and are flagged as well. A name may end in the tag of pretrained
weights, which the checkpoint keeps: ``convnextv2_nano.fcmae``. Of a file with another name, the options say it all.

    python -m bench import timm benchmark-infer-amp-nchw-pt240-cu124-rtx4090*.csv --date 2024-09-04 --out records
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.errors import AtlasError
from bench.exchange.transfer import ImportOptions, Known, Positive, Whole, rows
from bench.records import record as records
from bench.records.record import Cell, Environment, Measurement, Record, Samples, Source, Status, Work
from bench.records.run_file import file_slug

URL = "https://github.com/huggingface/pytorch-image-models/tree/main/results"
EXAMPLE = "benchmark-infer-amp-nchw-pt240-cu124-rtx4090-dynamo.csv"
UNNAMED = ("device", "device_name", "torch", "dtype", "layout")
"""The options that a file with another name needs."""
NAME = re.compile(
    r"benchmark-infer-(?P<precision>fp32|(?:amp_)?(?:fp16|bf16)|amp)-(?P<layout>nchw|nhwc)"
    r"-pt(?P<torch>\d{3,4})-(?P<accelerator>cu\d{3}|cpu)-(?P<device>[A-Za-z0-9_.-]+?)(?P<compiled>-dynamo)?\.csv"
)
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "amp": "float16"}
"""`amp` does not state its type: torch's default is float16."""

INFERENCE_MODE_SINCE = "2025-07-03"
"""The day on which timm's script went from `torch.no_grad` to `torch.inference_mode` (its commit 8630947d)."""

NOTE = "mean over consecutive calls with one batch of random images, after a warm-up; throughput of the whole loop"

FLAGS = ("weights-not-stated",)  # timm's script uses random ones by default
NO_TYPE = "autocast-type-not-stated"


@dataclass(frozen=True)
class Setup:
    """The setup in a file name, without the side."""

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


class Row(msgspec.Struct):
    """The columns of a file."""

    model: records.Name
    infer_img_size: Whole
    infer_samples_per_sec: Positive | None = None  # without figures, the model failed
    infer_step_time: Positive | None = None
    infer_batch_size: Whole = 0
    infer_gmacs: Known = 0.0  # 1e9 multiply-accumulates per image, if they were counted
    infer_macts: Known = 0.0  # 1e6 elements that convolutions and matrix products write per image
    param_count: Known = 0.0  # 1e6

    def __post_init__(self) -> None:
        figures = ("infer_samples_per_sec", "infer_step_time", "infer_batch_size")
        missing = [name for name in figures if not getattr(self, name)]
        if 0 < len(missing) < len(figures):
            raise ValueError(f"the source gives other figures - at `$.{missing[0]}`")

    def samples(self, cell_batch_size: int) -> Samples:
        """Return the figures of this side."""
        return Samples(
            published_mean_ms=self.infer_step_time,
            published_images_s=self.infer_samples_per_sec,
            batch_size=None if self.infer_batch_size == cell_batch_size else self.infer_batch_size,
        )


def parse(path: Path, options: ImportOptions | None = None) -> tuple[Setup, str]:
    """Return the setup and the side that a file name tells, or else the options. Raises `AtlasError` if neither does.

    A file is compiled if its name ends in ``-dynamo`` or, where options say what it holds, if there is a compile mode.
    """
    if match := NAME.fullmatch(path.name):
        digits = match["torch"]  # 240 is 2.4.0 and 2100 is 2.10.0, but 113 is 1.13
        torch = f"1.{digits[1:]}" if digits[0] == "1" else f"{digits[0]}.{digits[1:-1]}.{digits[-1]}"
        setup = Setup(match["precision"], match["layout"], torch, match["accelerator"], match["device"])
        return setup, "compiled" if match["compiled"] else "eager"
    if options is None or not all(getattr(options, name) for name in UNNAMED):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in UNNAMED)
        what = "is not named like a file of timm with inference results"
        remedy = f"rename it to match {EXAMPLE}, or add {names}, and --compile-mode if it is compiled"
        raise AtlasError(what, where=str(path), remedy=remedy)
    device_name, torch, device = (str(getattr(options, name)) for name in ("device_name", "torch", "device"))
    precision = {dtype: name for name, dtype in DTYPES.items()} | {"amp": "amp"}
    setup = Setup(precision[str(options.dtype)], str(options.layout), torch, device, file_slug(device_name))
    return setup, "compiled" if options.compile_mode or path.stem.endswith("-dynamo") else "eager"


def read(options: ImportOptions) -> Iterator[Record]:
    """Yield one record for each setup, model and image size, in the order of the eager file. Raises `AtlasError`."""
    setups: dict[Setup, dict[str, Path]] = {}
    for path in options.files:
        setup, side = parse(path, options)
        if side in setups.setdefault(setup, {}):
            what = f"contains the same {side} results as {setups[setup][side]}"
            raise AtlasError(what, where=str(path), remedy="give only one of them")
        setups[setup][side] = path
    if options.device_name and len({setup.device for setup in setups}) > 1:
        remedy = "import the files of each device separately"
        raise AtlasError("the files are from several devices", where="--device-name", remedy=remedy)
    for setup, files in setups.items():
        title = "pytorch-image-models: inference benchmarks"
        source = options.source([*files.values()], title=title, url=URL, licence="Apache-2.0", note=NOTE)
        sides: list[dict[tuple[str, int], Row]] = []
        for side in ("eager", "compiled"):
            found = rows(files[side], Row, ("model", "infer_img_size"), options.log) if side in files else ()
            sides.append({(row.model, row.infer_img_size): row for _, row in found})
        for key in {**sides[0], **sides[1]}:
            yield _record(setup, [side.get(key) for side in sides], source, options)


def _record(setup: Setup, sides: Sequence[Row | None], source: Source, options: ImportOptions) -> Record:
    """Return the record of a model and image size, of which one side or both have a row, if without figures."""
    about = next(row for row in sides if row)
    eager, compiled = (row if row and row.infer_batch_size else None for row in sides)
    batch_size, is_pair = (eager or compiled or about).infer_batch_size, bool(eager and compiled)
    other = "compiled" if eager else "eager"
    missing = f"has no {other} figures of this model" if eager or compiled else "gives no figure"
    device_name = options.device_name or setup.device_name
    architecture = about.model.partition(".")[0]
    flags = {
        NO_TYPE: setup.precision == "amp",
        # Timm's script uses torch's default unless given another.
        "compile-mode-not-stated": any("-dynamo" in name for name in source.files) and not options.compile_mode,
        "device-as-the-file-is-named": device_name == setup.device,
        "arms-measured-apart": is_pair,  # a disturbance during one of them does not cancel out
        records.UNEQUAL_BATCHES: is_pair and compiled is not None and compiled.infer_batch_size != batch_size,
        records.TOY: architecture.startswith("test_"),
    }
    work = Work(  # decimals as the file has them, without what binary arithmetic adds
        flop=round(2e9 * about.infer_gmacs * batch_size),
        activations=round(1e6 * about.infer_macts * batch_size) or None,
        parameters=round(1e6 * about.param_count) or None,
    )
    cuda = setup.accelerator.removeprefix("cu")
    return Record(
        schema=records.SCHEMA,
        run=setup.run,
        origin="published",
        profile="timm",
        process=0,
        status=Status.PASS if is_pair else Status.SKIPPED,
        reason=None if is_pair else f"the source {missing}",
        cell=Cell(
            model=architecture,
            checkpoint=f"{records.TIMM}{about.model}",
            task="image-classification",
            device=cuda if cuda in records.DEVICES else "cuda",
            dtype=DTYPES[setup.precision.removeprefix("amp_")],
            batch_size=batch_size,
            variant=records.variant_of(options.compile_mode or "default"),
            grad_mode="no_grad" if source.date < INFERENCE_MODE_SINCE else "inference_mode",
            input_size=(about.infer_img_size, about.infer_img_size),
            autocast=setup.precision.startswith("amp"),
            channels_last=setup.layout == "nhwc",
        ),
        environment=Environment(
            device_name=device_name,
            torch=setup.torch,
            accelerator=f"CUDA {cuda[:2]}.{cuda[2:]}" if cuda.isdigit() else None,
        ),
        measurement=Measurement(
            eager=eager.samples(batch_size) if eager else Samples(),
            compiled=compiled.samples(batch_size) if compiled else None,
            stop_reason="published",
            work=work if work.flop else None,
        )
        if eager or compiled
        else None,
        source=source,
        flags=(*FLAGS, *(flag for flag, applies in flags.items() if applies)),
    )
