"""Import performance tables of PyTorch's Dynamo benchmarks, as `--performance --output` writes them.

Takes `<backend>_<suite>_<type>_inference_<device>_performance.csv`, and the `…_accuracy.csv` of the same run if there
is one, which says why a model failed; returns one record for each model that takes images, and logs the others. The
tables do not name the GPU or torch: `--device-name` and `--torch` do. They hold the speedup and the compiled median, so
the eager latency is their product, and is flagged.

    python -m bench import pytorch-dynamo FILE --device-name "NVIDIA A100-SXM4-40GB" --torch 2.9.0 --url … --licence …
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.errors import AtlasError, counted
from bench.exchange.importers.timm import FLAGS, NO_TYPE
from bench.exchange.source_files import ImportOptions, SourceRow, csv_rows
from bench.records.record import (
    DEVICES,
    DTYPES,
    SCHEMA,
    Cell,
    Compilation,
    Environment,
    Measurement,
    Record,
    Samples,
    Source,
    Status,
    Task,
    variant_of,
)
from bench.records.run_file import file_slug

NAME = re.compile(
    r"(?P<backend>.+)_(?P<suite>torchbench|huggingface|timm)(?:_models)?_(?P<dtype>float32|float16|bfloat16|amp)"
    r"_(?P<mode>inference|training)_[a-z]+_(?P<kind>performance|accuracy)\.csv"
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

ACCURACY = {
    "pass": Status.PASS,
    "pass_due_to_skip": Status.PASS,
    "fail_accuracy": Status.FAIL_ACCURACY,
    "eager_two_runs_differ": Status.EAGER_TWO_RUNS_DIFFER,
    "eager_variation": Status.EAGER_TWO_RUNS_DIFFER,
    "fail_to_run": Status.FAIL_TO_RUN,
    "eager_1st_run_fail": Status.FAIL_TO_RUN,
    "eager_2nd_run_fail": Status.FAIL_TO_RUN,
    "eager_fail_to_run": Status.FAIL_TO_RUN,
    "model_fail_to_load": Status.FAIL_TO_RUN,
    "OOM": Status.OOM,
    "eager_1st_run_OOM": Status.EAGER_OOM,
    "eager_2nd_run_OOM": Status.EAGER_OOM,
    "timeout": Status.TIMEOUT,
    "infra_error": Status.CRASH,
}
"""The status of a record by that of the accuracy table."""

CLASSIFIERS = (
    *("alexnet", "densenet121", "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large", "phlippe_densenet"),
    *("phlippe_resnet", "resnet152", "resnet18", "resnet50", "resnext50_32x4d", "shufflenet_v2_x1_0"),
    *("squeezenet1_1", "timm_efficientnet", "timm_nfnet", "timm_regnet", "timm_resnest", "timm_vision_transformer"),
    *("timm_vision_transformer_large", "timm_vovnet", "vgg16"),
)
DETECTORS = (
    *("detectron2_fasterrcnn_r_50_c4", "detectron2_fasterrcnn_r_50_dc5", "detectron2_fasterrcnn_r_50_fpn"),
    *("detectron2_fasterrcnn_r_101_c4", "detectron2_fasterrcnn_r_101_dc5", "detectron2_fasterrcnn_r_101_fpn"),
    *("detectron2_fcos_r_50_fpn", "timm_efficientdet", "yolov3"),
)
SEGMENTERS = (
    *("detectron2_maskrcnn", "detectron2_maskrcnn_r_50_c4", "detectron2_maskrcnn_r_50_fpn"),
    *("detectron2_maskrcnn_r_101_c4", "detectron2_maskrcnn_r_101_fpn", "pytorch_unet", "vision_maskrcnn"),
)
TASKS: Mapping[str, Task] = {
    **dict.fromkeys(CLASSIFIERS, "image-classification"),
    **dict.fromkeys(DETECTORS, "object-detection"),
    **dict.fromkeys(SEGMENTERS, "image-segmentation"),
}
"""The TorchBench models that take images. All models of the timm suite classify images; those of the huggingface suite
take text."""

COLUMNS = ("dev", "name", "batch_size", "speedup", "abs_latency")
ACCURACY_COLUMNS = ("dev", "name", "accuracy")

NO_SIZE = "input-size-not-stated"
NO_BATCH = "batch-size-not-stated"
NO_CACHE = "compile-cache-not-stated"
DERIVED = "eager-latency-is-speedup-times-compiled"

NOTE = "medians of repeated calls; eager is the speedup times the compiled latency"


@dataclass(frozen=True)
class Setting:
    """What all rows of a table share: from its file name or the command line."""

    suite: str
    dtype: str
    autocast: bool
    compile_mode: str
    dynamic: str
    flags: tuple[str, ...]

    def task(self, model: str) -> Task | None:
        """Return the model's task, or None if it takes no images."""
        return "image-classification" if self.suite == "timm" else TASKS.get(model)


def read(options: ImportOptions) -> Iterator[Record]:
    """Yield one record per row of each performance table. Raises `AtlasError`."""
    files = options.some_files("a table such as inductor_no_cudagraphs_timm_models_amp_inference_cuda_performance.csv")
    accuracy = {path for path in files if path.name.endswith("_accuracy.csv")}
    used = set()
    for path in files:
        if path in accuracy:
            continue
        beside = path.with_name(path.name.replace("_performance.csv", "_accuracy.csv"))
        if beside in accuracy:
            used.add(beside)
        yield from _records(path, beside if beside in accuracy else None, options)
    for path in sorted(accuracy - used):
        raise AtlasError(
            "has no performance table to go with it", where=str(path), remedy="give the performance table as well"
        )


def _records(path: Path, beside: Path | None, options: ImportOptions) -> Iterator[Record]:
    setting = _setting_of(path, options)
    torch = options.needed("torch", "which version of torch was measured", "2.9.0", path)
    device_name = options.needed("device_name", "on which device", '"NVIDIA A100-SXM4-40GB"', path)
    date, dated = options.dated(torch)
    files = [each.name for each in (path, beside) if each]
    source = options.source(path, title="PyTorch: Dynamo benchmarks", date=date, files=files, note=NOTE)
    statuses = _statuses(beside) if beside else {}
    environment = Environment(device_name=device_name, torch=torch)
    run = file_slug(f"dynamo-{path.stem.removesuffix('_performance')}-{device_name}-torch-{torch}")
    left_out, seen = [], dict[tuple[str, str], str]()
    for row in csv_rows(path, COLUMNS, "a performance table of the Dynamo benchmarks"):
        name = row.text("name")
        key = (row.text("dev"), name)
        if key in seen:
            raise row.wrong("name", f"{name} is already in line {seen[key]}", "remove one of the two")
        seen[key] = row.where.rpartition(":")[2]
        if setting.task(name) is None:
            left_out.append(name)
            continue
        yield _record(row, setting, run, environment, source, dated, accuracy=statuses.get(key))
    if left_out:
        models = counted(len(left_out), "model that does not take images", "models that do not take images")
        options.log(f"{path.name}: left out {models}: {', '.join(left_out)}")


def _setting_of(path: Path, options: ImportOptions) -> Setting:
    """Return the setting from the file name, or from the options if the name is unusual. Raises `AtlasError`."""
    match = NAME.fullmatch(path.name)
    if match and match["mode"] == "training":
        raise AtlasError(
            "contains training results, but the atlas covers inference only", where=str(path), remedy="omit this file"
        )
    if not match and not (options.dtype and options.compile_mode):
        raise AtlasError(
            "does not follow the file names of the Dynamo benchmarks: <backend>_<suite>_<type>_inference_<device>_"
            "performance.csv",
            where=str(path),
            remedy="rename it, or add --dtype and --compile-mode",
        )
    backend = match["backend"] if match else ""
    if not options.compile_mode and backend not in MODES:
        known = ", ".join(MODES)
        raise AtlasError(
            f"backend {backend!r} is not a mode of torch.compile",
            where=str(path),
            remedy=f"known are {known}; if it is a different name for one of these, add --compile-mode",
        )
    mode, dynamic = (options.compile_mode, "auto") if options.compile_mode else MODES[backend]
    dtype = options.dtype or (match["dtype"] if match else "")
    autocast = dtype == "amp"
    flags = (*FLAGS, NO_SIZE, DERIVED, *([NO_TYPE] if autocast else []))
    return Setting(match["suite"] if match else "torchbench", dtype, autocast, mode, dynamic, flags)


def _statuses(path: Path) -> dict[tuple[str, str], str]:
    """Return the accuracy of each model by device and name."""
    statuses = {}
    for row in csv_rows(path, ACCURACY_COLUMNS, "an accuracy table of the Dynamo benchmarks"):
        if row.text("accuracy") not in ACCURACY:
            known = ", ".join(ACCURACY)
            raise row.wrong("accuracy", f"{row.text('accuracy')!r} is not known", f"known are {known}")
        statuses[row.text("dev"), row.text("name")] = row.text("accuracy")
    return statuses


def _record(
    row: SourceRow,
    setting: Setting,
    run: str,
    environment: Environment,
    source: Source,
    flags: tuple[str, ...],
    *,
    accuracy: str | None = None,
) -> Record:
    """Return the record of one row. A failed model has a speedup of 0. Raises `AtlasError`."""
    name, device = row.text("name"), row.text("dev")
    if device not in DEVICES:
        raise row.wrong("dev", f"{device!r} is not a known torch device", f"known are {', '.join(DEVICES)}")
    on_cpu, task = device == "cpu", setting.task(name)
    assert task is not None
    dtype = setting.dtype if not setting.autocast else "bfloat16" if on_cpu else "float16"  # torch's default
    if dtype not in DTYPES:
        raise row.wrong("dtype", f"{dtype!r} is not known", f"known are {', '.join(DTYPES)}, amp")
    batch_size, ratio = row.count("batch_size", zero=True), row.number("speedup", zero=True)
    status = ACCURACY[accuracy] if accuracy else Status.PASS if ratio else Status.FAIL_TO_RUN
    if not ratio and status is Status.PASS:  # accuracy is checked with another batch size
        status = Status.FAIL_TO_RUN
    stated = "the source marks the model as failed and doesn't say why"
    if accuracy and ACCURACY[accuracy] is not Status.PASS:
        stated = f"the source says {accuracy}"
    return Record(
        schema=SCHEMA,
        run=run,
        origin="published",
        profile="pytorch-dynamo",
        process=0,
        status=status,
        reason=None if status is Status.PASS else stated,
        cell=Cell(
            model=name,
            checkpoint=f"{setting.suite}/{name}",
            task=task,
            device=device,
            dtype=dtype,
            batch_size=batch_size,
            variant=variant_of(
                "default" if on_cpu and setting.compile_mode == "reduce-overhead" else setting.compile_mode,
                setting.dynamic,
            ),
            autocast=setting.autocast,
        ),
        environment=environment,
        measurement=_measurement(row, ratio) if ratio else None,
        source=source,
        flags=(
            *setting.flags,
            *flags,
            *([NO_CACHE] if ratio and row.known("compilation_latency", zero=True) else []),
            *([NO_BATCH] if not batch_size else []),
        ),
    )


def _measurement(row: SourceRow, ratio: float) -> Measurement:
    compiled_ms, seconds = row.number("abs_latency"), row.known("compilation_latency", zero=True)
    return Measurement(
        eager=Samples(
            published_median_ms=ratio * compiled_ms, peak_memory_gb=row.known("eager_peak_mem", zero=True) or None
        ),
        compiled=Samples(
            published_median_ms=compiled_ms, peak_memory_gb=row.known("dynamo_peak_mem", zero=True) or None
        ),
        compilation=Compilation(ready_s={"cold": seconds}) if seconds else None,
        stop_reason="published",
    )
