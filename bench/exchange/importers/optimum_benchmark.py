"""Import reports of optimum-benchmark: JSON files with a configuration and timed calls.

Takes `benchmark.json` files with `config` and `report`, some of them with `torch_compile`; returns one record for each
compiled report and its eager twin, the report with the same configuration but no compilation. A report without a twin
becomes a record with one variant. All calls form one round, in ms, because the two variants ran in separate processes
and nothing pairs their calls.

    python -m bench import optimum-benchmark eager/benchmark.json compiled/benchmark.json --date 2026-11-02 …
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from bench.errors import AtlasError
from bench.exchange.importers.pytorch_dynamo import NO_SIZE
from bench.exchange.source_files import NOT_INTERLEAVED, TASKS, ImportOptions, documents
from bench.records.record import (
    COMPILE_MODES,
    DEVICES,
    DTYPES,
    SCHEMA,
    UNEQUAL_BATCHES,
    Cell,
    Environment,
    Measurement,
    Record,
    Status,
    Task,
    Variant,
)
from bench.records.run_file import file_slug
from bench.records.wording import ONE_VARIANT

REMEDY = "get the file from its source again, or measure again with optimum-benchmark"

NO_DTYPE = "dtype-not-stated"
NO_CALLS = "calls-not-kept"

MEGABYTE_GB = 1e-3


@dataclass(frozen=True)
class Report:
    """One file: one variant of a cell."""

    path: Path
    is_compiled: bool
    cell: Cell  # eager reports have the compile mode `default`
    environment: Environment
    variant: Variant
    flags: tuple[str, ...]

    @property
    def twin(self) -> tuple[Any, ...]:
        """What a report shares with its twin. The batch size may differ, and is then flagged."""
        cell = self.cell
        return (
            *(cell.checkpoint, cell.task, cell.device, cell.dtype, cell.autocast, cell.input_size, cell.weights),
            *(self.environment.device_name, self.environment.torch),
        )


def read(options: ImportOptions) -> Iterator[Record]:
    """Yield one record for each compiled report, with its eager twin if any, and for each other eager report.

    Raises `AtlasError`.
    """
    reports = [_report(path, options) for path in options.some_files("benchmark.json files")]
    eager = [report for report in reports if not report.is_compiled]
    paired: set[Path] = set()
    for compiled in (report for report in reports if report.is_compiled):
        twins = [each for each in eager if each.twin == compiled.twin]
        same = [each for each in twins if each.cell.batch_size == compiled.cell.batch_size]
        twin = next(iter(same or (twins if len(twins) == 1 else [])), None)
        if len(same) > 1:
            raise AtlasError(
                f"measures the same as {same[0].path} measures",
                where=str(same[1].path),
                remedy="give only one of the two",
            )
        paired |= {twin.path} if twin else set()
        yield _record(twin, compiled, options)
    for alone in eager:
        if alone.path not in paired:
            yield _record(alone, None, options)


def _report(path: Path, options: ImportOptions) -> Report:
    _, document = next(documents(path))
    config, report = _part(path, document, "config"), _part(path, document, "report")
    backend, scenario, about = (_part(path, config, name) for name in ("backend", "scenario", "environment"))
    if backend.get("name") != "pytorch":
        what = f"backend {backend.get('name')!r} is not PyTorch"
        raise AtlasError(what, where=f"{path}: config.backend.name", remedy="omit this file")
    task = TASKS.get(str(backend.get("task")))
    if task is None:
        what = f"task {backend.get('task')!r} is not an image task"
        raise AtlasError(what, where=f"{path}: config.backend.task", remedy=f"known are {', '.join(TASKS)}")
    device = str(backend.get("device", ""))
    if device not in DEVICES:
        what = f"{device!r} is not a known device"
        raise AtlasError(what, where=f"{path}: config.backend.device", remedy=f"known are {', '.join(DEVICES)}")
    torch = options.torch or backend.get("version")
    if not torch:
        raise AtlasError(
            "does not say which version of torch was measured",
            where=f"{path}: config.backend.version",
            remedy="add --torch 2.9.0",
        )
    dtype, autocast, flags = _dtype(path, backend)
    shapes = _part(path, scenario, "input_shapes")
    size = (shapes.get("height"), shapes.get("width"))
    is_compiled = bool(backend.get("torch_compile"))
    checkpoint = str(backend.get("model") or "")
    if not checkpoint:
        raise AtlasError("does not name the model", where=f"{path}: config.backend.model", remedy=REMEDY)
    variant = _variant(path, report)
    known_size = all(isinstance(each, int) for each in size)
    return Report(
        path=path,
        is_compiled=is_compiled,
        cell=Cell(
            model=checkpoint.rpartition("/")[2],
            checkpoint=checkpoint,
            task=cast(Task, task),
            device=device,
            dtype=dtype,
            batch_size=_batch_size(path, shapes),
            compile_mode=_mode(path, backend),
            dynamic=_object(backend.get("torch_compile_config")).get("dynamic") if is_compiled else None,
            weights="random" if backend.get("no_weights") else "pretrained",
            input_size=cast("tuple[int, int]", size) if known_size else None,
            autocast=autocast,
        ),
        environment=_environment(path, device, str(torch), about, options),
        variant=variant,
        flags=(*flags, *([] if known_size else [NO_SIZE]), *([] if variant.rounds_ms else [NO_CALLS])),
    )


def _part(path: Path, document: Any, name: str) -> Mapping[str, Any]:
    part = document.get(name) if isinstance(document, dict) else None
    if not isinstance(part, dict):
        raise AtlasError("not a report of optimum-benchmark: missing", where=f"{path}: {name}", remedy=REMEDY)
    return part


def _object(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _dtype(path: Path, backend: Mapping[str, Any]) -> tuple[str, bool, tuple[str, ...]]:
    """Return the data type, whether autocast is on, and flags."""
    autocast = bool(backend.get("autocast_enabled") or backend.get("amp_autocast"))
    stated = backend.get("autocast_dtype" if autocast else "torch_dtype") or backend.get(
        "amp_dtype" if autocast else "dtype"
    )
    dtype = "float32" if stated in (None, "auto") and not autocast else str(stated)
    if dtype not in DTYPES:
        field = "config.backend.torch_dtype"
        raise AtlasError(
            f"{stated!r} is not a known data type", where=f"{path}: {field}", remedy=f"known are {', '.join(DTYPES)}"
        )
    return dtype, autocast, () if stated not in (None, "auto") else (NO_DTYPE,)


def _mode(path: Path, backend: Mapping[str, Any]) -> str:
    config = _object(backend.get("torch_compile_config"))
    mode = str(config.get("mode") or "default")
    if mode not in COMPILE_MODES or config.get("backend", "inductor") != "inductor":
        what = f"torch.compile with {config} is not a known mode"
        raise AtlasError(
            what, where=f"{path}: config.backend.torch_compile_config", remedy=f"known are {', '.join(COMPILE_MODES)}"
        )
    return mode


def _batch_size(path: Path, shapes: Mapping[str, Any]) -> int:
    batch_size = shapes.get("batch_size")
    if not isinstance(batch_size, int) or batch_size < 1:
        what = f"{batch_size!r} is not a valid batch size"
        raise AtlasError(what, where=f"{path}: config.scenario.input_shapes.batch_size", remedy=REMEDY)
    return batch_size


def _environment(path: Path, device: str, torch: str, about: Mapping[str, Any], options: ImportOptions) -> Environment:
    gpus = about.get("gpu")
    names = gpus if isinstance(gpus, list) else [gpus] if gpus else []
    name = options.device_name or (about.get("cpu") if device == "cpu" else names[0] if names else None)
    memory = about.get("cpu_ram_mb")
    version = about.get("transformers_version")
    name = name or options.needed("device_name", "on which device", '"NVIDIA T4"', path)
    return Environment(
        device_name=str(name).strip(),
        torch=torch,
        transformers=str(version) if version else None,
        python=about.get("python_version"),
        platform=f"{about['system']} {about['machine']}" if about.get("system") and about.get("machine") else None,
        memory_gb=round(memory * MEGABYTE_GB, 1) if device == "cpu" and isinstance(memory, int | float) else None,
        cores=about.get("cpu_count"),
    )


def _variant(path: Path, report: Mapping[str, Any]) -> Variant:
    """Return the latencies of the forward pass: its calls, or their median or mean if the calls were not kept."""
    forward = next((part for name in ("forward", "call") if isinstance(part := report.get(name), dict)), None)
    latency = (forward or {}).get("latency")
    if not isinstance(latency, dict):
        raise AtlasError(
            "contains no latency of a forward pass", where=f"{path}: report.forward.latency", remedy=REMEDY
        )
    factor = {"s": 1e3, "ms": 1.0}.get(str(latency.get("unit", "s")))
    values = latency.get("values") or []
    values = values if isinstance(values, list) else [values]
    figures = [*values, *(latency[name] for name in ("mean", "p50") if latency.get(name) is not None)]
    if factor is None or not figures or not all(_is_latency(value) for value in figures):
        raise AtlasError("are not latencies in s or ms", where=f"{path}: report.forward.latency", remedy=REMEDY)
    throughput = _object(_object(forward).get("throughput")).get("value")
    memory = _object(_object(forward).get("memory"))
    return Variant(
        rounds_ms=(tuple(value * factor for value in values),) if values else (),
        published_mean_ms=latency["mean"] * factor if latency.get("mean") is not None else None,
        published_median_ms=latency["p50"] * factor if latency.get("p50") is not None else None,
        published_images_s=throughput if _is_latency(throughput) else None,
        peak_memory_gb=_gb(memory, "max_allocated"),
        peak_reserved_gb=_gb(memory, "max_reserved"),
    )


def _is_latency(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _gb(memory: Mapping[str, Any], name: str) -> float | None:
    value = memory.get(name)
    return float(value) * MEGABYTE_GB if value and _is_latency(value) and memory.get("unit", "MB") == "MB" else None


def _record(eager: Report | None, compiled: Report | None, options: ImportOptions) -> Record:
    one = compiled or eager
    assert one is not None
    batch_size = (eager or one).cell.batch_size
    differ = compiled is not None and compiled.cell.batch_size != batch_size
    files = [each.path.name for each in (eager, compiled) if each]
    date = options.needed("date", "when it was measured", "2026-11-02", one.path)
    options.dated(one.environment.torch)
    is_pair = bool(eager and compiled)
    variant = compiled.variant if compiled else None
    if variant and differ:
        variant = msgspec.structs.replace(variant, batch_size=one.cell.batch_size)
    flags = dict.fromkeys(flag for each in (eager, compiled) if each for flag in each.flags)
    return Record(
        schema=SCHEMA,
        run=file_slug(f"optimum-{one.environment.device_name}-torch-{one.environment.torch}-{date}"),
        origin="published",
        profile="optimum-benchmark",
        process=0,
        status=Status.PASS if is_pair else Status.SKIPPED,
        reason=None if is_pair else ONE_VARIANT(variant="compiled" if eager else "eager"),
        cell=msgspec.structs.replace(one.cell, batch_size=batch_size),
        environment=one.environment,
        measurement=Measurement(eager=eager.variant if eager else Variant(), compiled=variant, stop_reason="published"),
        source=options.source(one.path, title="optimum-benchmark", date=date, files=files),
        flags=(*flags, *([NOT_INTERLEAVED] if is_pair else []), *([UNEQUAL_BATCHES] if is_pair and differ else [])),
    )
