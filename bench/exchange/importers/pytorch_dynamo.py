"""Import performance tables of PyTorch's Dynamo benchmarks, as `--performance --output` writes them.

Takes `<backend>_<suite>_<type>_inference_<device>_performance.csv`, as its and Intel's CI name them, and the
`…_accuracy.csv` beside it if there is one, which says why a model failed; returns one record for each model in a task
of the atlas, and logs the others. Options stand in for a name that says nothing. The tables do not name the GPU or
torch: `--device-name` and `--torch` do. They hold the speedup and the compiled median, so the eager latency is their
product, and is flagged.

    python -m bench import pytorch-dynamo FILE --device-name "NVIDIA A100-SXM4-40GB" --torch 2.9.0 --date 2026-11 …
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from bench.errors import AtlasError, counted
from bench.exchange.importers.timm import FLAGS, NO_TYPE
from bench.exchange.transfer import ImportOptions, Known, rows
from bench.records import record as records
from bench.records.record import Cell, Compilation, Environment, Measurement, Record, Samples, Source, Status, Task
from bench.records.run_file import file_slug

NAME = re.compile(
    r"(?P<backend>.+)_(?P<suite>torchbench|huggingface|timm)(?:_models)?"
    r"_(?P<dtype>float32|float16|bfloat16|amp(?:_bf16|_fp16)?)_inference_[a-z0-9_]+_performance"
)
"""The name of a file with underscores alone, without the words `FREEZING` and `DYNAMIC`, which may stand anywhere."""
FREEZING, DYNAMIC = "_freezing", "_dynamic"
AMP = {"amp_bf16": "bfloat16", "amp_fp16": "float16"}

MODES: Mapping[str, str] = {
    "inductor": "reduce-overhead",
    "inductor_with_cudagraphs": "reduce-overhead",
    "inductor_no_cudagraphs": "default",
    "inductor_max_autotune": "max-autotune",
    "inductor_max_autotune_no_cudagraphs": "max-autotune-no-cudagraphs",
}
"""Compile mode by the name of a backend. CUDA graphs are on in these benchmarks unless disabled."""

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
    unique_graphs: records.Count | None = None
    graph_breaks: records.Count = 0
    cudagraph_skips: records.Count = 0

    def __post_init__(self) -> None:
        if self.speedup and not self.abs_latency:
            raise ValueError("is 0, but the speedup is not - at `$.abs_latency`")

    @property
    def graphs(self) -> records.Graphs | None:
        """The graphs, of which the source counts breaks and skips alone."""
        if self.unique_graphs is None:
            return None
        unsaid = "the source gives no reason"
        breaks, skips = (records.GraphBreak(unsaid),) * self.graph_breaks, (unsaid,) * self.cudagraph_skips
        return records.Graphs(graphs=self.unique_graphs, breaks=breaks, cudagraph_skips=skips)


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
    stem = path.stem.replace("-", "_")
    match = NAME.fullmatch(stem.replace(FREEZING, "").replace(DYNAMIC, ""))
    backend, suite, dtype = match.group("backend", "suite", "dtype") if match else ("", "", "")
    mode, dtype = options.compile_mode or MODES.get(backend, ""), options.dtype or dtype
    suite = options.suite or suite
    if not (mode and dtype and suite):
        what = "is not named <backend>_<suite>_<type>_inference_<device>_performance.csv with a known backend"
        remedy = f"rename it, or add --dtype, --compile-mode and --suite; known backends are {', '.join(MODES)}"
        raise AtlasError(what, where=str(path), remedy=remedy)
    dynamic, frozen = "true" if DYNAMIC in stem else "auto", ":freezing" if FREEZING in stem else ""
    torch = options.needed("torch", "2.9.0", path)
    device_name = options.needed("device_name", '"NVIDIA A100-SXM4-40GB"', path)
    source = options.source([path, *filter(None, [accuracy])], title="PyTorch: Dynamo benchmarks", note=NOTE)
    key = ("name", "dev")
    told = rows(accuracy, Accuracy, key, options.log) if accuracy else ()
    words = {(row.name, row.dev): row.accuracy for _, row in told}
    run = file_slug(f"dynamo-{path.stem.removesuffix('_performance')}-{device_name}-torch-{torch}")
    found = {(row.name, row.dev): row for _, row in rows(path, Row, key, options.log)}
    alone = [each for each in words if each not in found]
    is_passed = {each: STATUSES.get(words[each]) is Status.PASS for each in alone}
    found |= {each: Row(each[1], each[0], 0, 0, 0) for each in alone if not is_passed[each]}
    tasks = {each: "image-classification" if suite == "timm" else TASKS.get(each[0]) for each in found}
    for why, names in {
        "not in a task of the atlas": [name for (name, _), task in tasks.items() if task is None],
        "with an accuracy alone": [name for (name, _), passed in is_passed.items() if passed],
    }.items():
        if names:
            options.log(f"{path.name}: left out {counted(len(names), 'model')} {why}: {', '.join(names)}")
    for each, row in found.items():
        if (task := tasks[each]) is None:
            continue
        autocast, on_cpu = dtype.startswith("amp"), row.dev == "cpu"
        cell = Cell(
            model=row.name,
            checkpoint=f"{suite}/{row.name}",
            task=task,
            device=row.dev,
            dtype=AMP.get(dtype, ("bfloat16" if on_cpu else "float16") if autocast else dtype),  # torch's default
            batch_size=row.batch_size,
            variant=records.variant_of("default" if on_cpu and mode == "reduce-overhead" else mode, dynamic) + frozen,
            grad_mode="no_grad",  # as their runners' `pick_grad`
            autocast=autocast,
        )
        environment = Environment(device_name=device_name, torch=torch)
        flags = (NO_TYPE,) if dtype == "amp" else ()
        yield _record(row, words.get(each, ""), run, cell, environment, source, flags)


def _record(
    row: Row, word: str, run: str, cell: Cell, environment: Environment, source: Source, more: Sequence[str]
) -> Record:
    """Return the record of one row, with `more` flags. A failed model has a speedup of 0."""
    status = STATUSES.get(word, Status.FAIL_TO_RUN) if word else Status.PASS
    says_why = status is not Status.PASS
    if not row.speedup and not says_why:  # accuracy is checked with another batch size
        status = Status.FAIL_TO_RUN
    reason = "the source gives no figure, and doesn't say why" if not says_why else f"the source says {word}"
    measurement = Measurement(
        eager=Samples(published_median_ms=row.speedup * row.abs_latency, peak_memory_gb=row.eager_peak_mem or None),
        compiled=Samples(published_median_ms=row.abs_latency, peak_memory_gb=row.dynamo_peak_mem or None),
        compilation=Compilation(ready_s={"cold": row.compilation_latency}) if row.compilation_latency else None,
        graphs=row.graphs,
        stop_reason="published",
    )
    flags = {
        "input-size-not-stated": True,
        "eager-latency-is-speedup-times-compiled": True,
        "compile-cache-not-stated": bool(row.speedup and row.compilation_latency),
        "batch-size-not-stated": not row.batch_size,
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
        flags=(*FLAGS, *more, *(flag for flag, applies in flags.items() if applies)),
    )
