"""Import performance tables of PyTorch's Dynamo benchmarks, as `--performance --output` writes them.

Takes `<backend>_<suite>_<type>_inference_<device>_performance.csv`, and the `…_accuracy.csv` beside it if there is one,
which says why a model failed; returns one record for each model that takes images, and logs the others. The
tables do not name the GPU or torch: `--device-name` and `--torch` do. They hold the speedup and the compiled median, so
the eager latency is their product, and is flagged.

    python -m bench import pytorch-dynamo FILE --device-name "NVIDIA A100-SXM4-40GB" --torch 2.9.0 --date 2026-11 …
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from bench.errors import AtlasError, counted
from bench.exchange.importers.timm import FLAGS, NO_TYPE
from bench.exchange.transfer import AGAIN, ImportOptions, Known, rows
from bench.records import record as records
from bench.records.record import Cell, Compilation, Environment, Measurement, Record, Samples, Source, Status, Task
from bench.records.run_file import file_slug

NAME = re.compile(
    r"(?P<backend>.+)_(?P<suite>torchbench|huggingface|timm)(?:_models)?_(?P<dtype>float32|float16|bfloat16|amp)"
    r"_inference_[a-z]+_performance\.csv"
)

MODES: Mapping[str, tuple[str, str]] = {
    "inductor": ("reduce-overhead", "auto"),
    "inductor_with_cudagraphs": ("reduce-overhead", "auto"),
    "inductor_no_cudagraphs": ("default", "auto"),
    "inductor_dynamic": ("default", "true"),
    "inductor_max_autotune": ("max-autotune", "auto"),
    "inductor_max_autotune_no_cudagraphs": ("max-autotune-no-cudagraphs", "auto"),
}
"""Compile mode and dynamic shapes by the name of a backend. CUDA graphs are on in these benchmarks unless disabled."""

STATUSES = {
    "pass": Status.PASS,
    "pass_due_to_skip": Status.PASS,
    "fail_accuracy": Status.FAIL_ACCURACY,
    "eager_two_runs_differ": Status.EAGER_TWO_RUNS_DIFFER,
    "eager_variation": Status.EAGER_TWO_RUNS_DIFFER,
    "OOM": Status.OOM,
    "eager_1st_run_OOM": Status.EAGER_OOM,
    "eager_2nd_run_OOM": Status.EAGER_OOM,
    "timeout": Status.TIMEOUT,
    "infra_error": Status.CRASH,
}
"""Status by the word in the accuracy table. Other words are failures to load or run."""

CLASSIFIERS = """
    alexnet densenet121 mnasnet1_0 mobilenet_v2 mobilenet_v3_large phlippe_densenet phlippe_resnet resnet152 resnet18
    resnet50 resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_1 timm_efficientnet timm_nfnet timm_regnet timm_resnest
    timm_vision_transformer timm_vision_transformer_large timm_vovnet vgg16
"""
DETECTORS = """
    detectron2_fasterrcnn_r_50_c4 detectron2_fasterrcnn_r_50_dc5 detectron2_fasterrcnn_r_50_fpn
    detectron2_fasterrcnn_r_101_c4 detectron2_fasterrcnn_r_101_dc5 detectron2_fasterrcnn_r_101_fpn
    detectron2_fcos_r_50_fpn timm_efficientdet yolov3
"""
SEGMENTERS = """
    detectron2_maskrcnn detectron2_maskrcnn_r_50_c4 detectron2_maskrcnn_r_50_fpn detectron2_maskrcnn_r_101_c4
    detectron2_maskrcnn_r_101_fpn pytorch_unet vision_maskrcnn
"""
TASKS: Mapping[str, Task] = {
    **dict.fromkeys(CLASSIFIERS.split(), "image-classification"),
    **dict.fromkeys(DETECTORS.split(), "object-detection"),
    **dict.fromkeys(SEGMENTERS.split(), "image-segmentation"),
}
"""The TorchBench models that take images. All models of the timm suite classify images; those of the huggingface suite
take text."""

NO_SIZE = "input-size-not-stated"
NO_BATCH = "batch-size-not-stated"
NO_CACHE = "compile-cache-not-stated"
DERIVED = "eager-latency-is-speedup-times-compiled"

NOTE = "medians of repeated calls; eager is the speedup times the compiled latency"


class Row(msgspec.Struct):
    """The columns of a performance table."""

    dev: records.Device
    name: records.Name
    batch_size: records.Images  # 0 if the model failed, as the speedup
    speedup: Known
    abs_latency: Known  # ms, compiled
    compilation_latency: Known = 0.0  # s
    eager_peak_mem: Known = 0.0  # GB
    dynamo_peak_mem: Known = 0.0  # GB


class Accuracy(msgspec.Struct):
    """The columns of an accuracy table."""

    dev: records.Device
    name: records.Name
    accuracy: str


def read(options: ImportOptions) -> Iterator[Record]:
    """Yield one record per row of each performance table. Raises `AtlasError`."""
    for path in (each for each in options.files if not each.name.endswith("_accuracy.csv")):
        beside = path.with_name(path.name.replace("_performance", "_accuracy"))
        yield from _records(path, beside if beside != path and beside.exists() else None, options)


def _records(path: Path, accuracy: Path | None, options: ImportOptions) -> Iterator[Record]:
    match = NAME.fullmatch(path.name)
    backend, suite, dtype = match.group("backend", "suite", "dtype") if match else ("", "torchbench", "")
    mode, dynamic = (options.compile_mode, "auto") if options.compile_mode else MODES.get(backend, ("", ""))
    dtype = options.dtype or dtype
    if not mode or not dtype:
        what = "is not named <backend>_<suite>_<type>_inference_<device>_performance.csv with a known backend"
        remedy = f"rename it, or add --dtype and --compile-mode; known backends are {', '.join(MODES)}"
        raise AtlasError(what, where=str(path), remedy=remedy)
    torch = options.needed("torch", "2.9.0", path)
    device_name = options.needed("device_name", '"NVIDIA A100-SXM4-40GB"', path)
    source = options.source([path, *filter(None, [accuracy])], title="PyTorch: Dynamo benchmarks", note=NOTE)
    key = ("name", "dev")
    words = {(row.name, row.dev): row.accuracy for _, row in rows(accuracy, Accuracy, key, options.log)} if accuracy else {}
    run = file_slug(f"dynamo-{path.stem.removesuffix('_performance')}-{device_name}-torch-{torch}")
    left_out = []
    for where, row in rows(path, Row, key, options.log):
        task = "image-classification" if suite == "timm" else TASKS.get(row.name)
        if task is None:
            left_out.append(row.name)
            continue
        if row.speedup and not row.abs_latency:
            raise AtlasError("is 0, but the speedup is not", where=f"{where}: abs_latency", remedy=AGAIN)
        autocast, on_cpu = dtype == "amp", row.dev == "cpu"
        cell = Cell(
            model=row.name,
            checkpoint=f"{suite}/{row.name}",
            task=task,
            device=row.dev,
            dtype=dtype if not autocast else "bfloat16" if on_cpu else "float16",  # torch's default
            batch_size=row.batch_size,
            variant=records.variant_of("default" if on_cpu and mode == "reduce-overhead" else mode, dynamic),
            grad_mode="no_grad",  # as their runners' `pick_grad`
            autocast=autocast,
        )
        yield _record(
            row,
            words.get((row.name, row.dev), ""),
            run,
            cell,
            Environment(device_name=device_name, torch=torch),
            source,
        )
    if left_out:
        models = counted(len(left_out), "model that does not take images", "models that do not take images")
        options.log(f"{path.name}: left out {models}: {', '.join(left_out)}")


def _record(row: Row, word: str, run: str, cell: Cell, environment: Environment, source: Source) -> Record:
    """Return the record of one row. A failed model has a speedup of 0."""
    status = STATUSES.get(word, Status.FAIL_TO_RUN) if word else Status.PASS
    says_why = status is not Status.PASS
    if not row.speedup and not says_why:  # accuracy is checked with another batch size
        status = Status.FAIL_TO_RUN
    reason = f"the source says {word}" if says_why else "the source marks the model as failed and doesn't say why"
    measurement = Measurement(
        eager=Samples(published_median_ms=row.speedup * row.abs_latency, peak_memory_gb=row.eager_peak_mem or None),
        compiled=Samples(published_median_ms=row.abs_latency, peak_memory_gb=row.dynamo_peak_mem or None),
        compilation=Compilation(ready_s={"cold": row.compilation_latency}) if row.compilation_latency else None,
        stop_reason="published",
    )
    flags = {
        NO_SIZE: True,
        DERIVED: True,
        NO_TYPE: cell.autocast,
        NO_CACHE: bool(row.speedup and row.compilation_latency),
        NO_BATCH: not row.batch_size,
    }
    return Record(
        schema=records.SCHEMA,
        run=run,
        origin="published",
        profile="pytorch-dynamo",
        process=0,
        status=status,
        reason=None if status is Status.PASS else reason,
        cell=cell,
        environment=environment,
        measurement=measurement if row.speedup else None,
        source=source,
        flags=(*FLAGS, *(flag for flag, applies in flags.items() if applies)),
    )
