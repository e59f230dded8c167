"""Import files in the format of PyTorch's benchmark database, v3: JSON with one object per metric.

Takes files that `python -m bench export pytorch-oss-v3` wrote, and returns the exported records; or takes files of the
Dynamo benchmarks, with the metrics `speedup` and `abs_latency` (see `bench.exchange.importers.pytorch_dynamo` for what
they lack). Refuses other benchmarks of that database, because they do not compare eager with compiled.

    python -m bench import pytorch-oss-v3 atlas.json --out records
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.errors import AtlasError, counted
from bench.exchange.exporters.pytorch_oss_v3 import BACKENDS, FAILURE, LATENCY, NAME, ROUNDS
from bench.exchange.importers.pytorch_dynamo import ACCURACY, NOTE, record, setting
from bench.exchange.source_files import ImportOptions, SourceRow, documents
from bench.records.record import COMPILE_MODES, Environment, Record
from bench.records.run_file import file_slug
from bench.records.tabular import COLUMNS, from_text, unflatten

REMEDY = "get the file from its source again"

METRICS = {"speedup", "abs_latency", "compilation_latency", "eager_peak_mem", "dynamo_peak_mem", "accuracy"}
"""The metrics of the Dynamo benchmarks that are read."""

_PREFIXES = {backend: prefix for prefix, backend in BACKENDS.items()}


def read(options: ImportOptions) -> Iterator[Record]:
    """Yield one record for each group of metrics of the same cell and process. Raises `AtlasError`."""
    for path in options.some_files("a file of PyTorch's benchmark database"):
        entries = list(_entries(path))
        ours = [entry for entry in entries if entry[1]["benchmark"].get("name") == NAME]
        theirs = [entry for entry in entries if entry[1]["benchmark"].get("name") != NAME]
        yield from _our_records(ours)
        yield from _dynamo_records(path, theirs, options)


Entry = tuple[str, Mapping[str, Any]]
"""The place of an object in its file, and the object."""


def _entries(path: Path) -> Iterator[Entry]:
    for where, document in documents(path):
        many = document if isinstance(document, list) else [document]
        for number, entry in enumerate(many, start=1):
            place = f"{where}: entry {number}" if isinstance(document, list) else where
            for part in ("benchmark", "model", "metric"):
                if not isinstance(entry, dict) or not isinstance(entry.get(part), dict):
                    raise AtlasError("not format v3: not an object", where=f"{place}: {part}", remedy=REMEDY)
                if not isinstance(entry[part].get("name"), str):
                    raise AtlasError("has no name", where=f"{place}: {part}.name", remedy=REMEDY)
            yield place, entry


# ── Exports of the atlas ────────────────────────────────────────────────────────────────────────────────────────────


def _our_records(entries: list[Entry]) -> Iterator[Record]:
    groups: dict[str, list[Entry]] = {}
    for where, entry in entries:
        extra = _extra(where, entry["benchmark"])
        groups.setdefault(json.dumps(extra, sort_keys=True), []).append((where, entry))
    for group in groups.values():
        where, first = group[0]
        extra = _extra(where, first["benchmark"])
        columns = {name: from_text(name, str(text), where) for name, text in extra.items() if name in COLUMNS}
        for place, entry in group:
            columns |= _column(place, entry)
        yield unflatten(columns, where)


def _extra(where: str, part: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = part.get("extra_info", {})
    if not isinstance(extra, dict):
        raise AtlasError("is not an object", where=f"{where}: extra_info", remedy=REMEDY)
    return extra


def _column(where: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column of a record that holds this metric, with its value."""
    metric, backend = entry["metric"], entry["model"].get("backend")
    name, values = metric["name"], metric.get("benchmark_values")
    if name == FAILURE:
        return {}
    if not isinstance(values, list) or not values:
        raise AtlasError("has no list of values", where=f"{where}: metric.benchmark_values", remedy=REMEDY)
    column = f"{_PREFIXES.get(str(backend), '')}{'rounds_ms' if name == LATENCY else name}"
    if column not in COLUMNS:
        column = f"measurement.{name}"
    if column not in COLUMNS:
        raise AtlasError(f"{name!r} is not a metric that records contain", where=f"{where}: metric.name", remedy=REMEDY)
    if name == LATENCY:
        return {column: _rounds(values, _extra(where, metric).get(ROUNDS), where)}
    is_list = str(COLUMNS[column]).startswith("tuple")
    return {column: values if is_list else values[0]}


def _rounds(values: list[Any], lengths: Any, where: str) -> list[list[Any]]:
    try:
        counts = [int(count) for count in json.loads(lengths)]
    except (TypeError, ValueError, OverflowError, RecursionError):
        counts = []
    if sum(counts) != len(values) or min(counts, default=1) < 0:
        what = f"{counted(len(values), 'call is', 'calls are')} but its rounds have a different number"
        raise AtlasError(what, where=f"{where}: metric.extra_info.{ROUNDS}", remedy=REMEDY)
    calls = iter(values)
    return [[next(calls) for _ in range(count)] for count in counts]


# ── The Dynamo benchmarks ───────────────────────────────────────────────────────────────────────────────────────────


def _dynamo_records(path: Path, entries: list[Entry], options: ImportOptions) -> Iterator[Record]:
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for where, entry in entries:
        benchmark, model = entry["benchmark"], entry["model"]
        if benchmark.get("mode") not in (None, "", "inference"):
            what = f"{benchmark['mode']!r} is not inference"
            raise AtlasError(what, where=f"{where}: benchmark.mode", remedy="remove those entries")
        extra = _extra(where, benchmark)
        origins = model.get("origins")
        origin = str(origins[0]) if isinstance(origins, list) and origins else ""
        key = (model["name"], str(benchmark.get("dtype") or ""), str(extra.get("device") or ""), origin)
        groups.setdefault((*key, str(model.get("backend") or "")), []).append((where, entry))
    left_out = []
    for (name, dtype, device, origin, backend), group in groups.items():
        where, first = group[0]
        metrics = {entry["metric"]["name"]: (place, entry) for place, entry in group}
        if not {"speedup", "abs_latency"} <= metrics.keys():
            names = ", ".join(sorted(metrics))
            what = f"compares nothing: {name} has {names}, and no speedup and abs_latency"
            raise AtlasError(
                what, where=where, remedy="give a file of the Dynamo benchmarks, or one of our own exports"
            )
        setup = setting(
            "timm" if origin.startswith("timm") else origin or "torchbench",
            options.dtype or dtype,
            options.compile_mode or (backend if backend in COMPILE_MODES else None),
        )
        if setup.task(name) is None:
            left_out.append(name)
            continue
        environment, dated = _environment(path, first, options), _date(first)
        date, flags = (dated, ()) if dated and not options.date else options.dated(environment.torch)
        source = options.source(path, title="PyTorch: Dynamo benchmarks", date=date, files=[path.name], note=NOTE)
        cells = {metric: _text(metrics[metric]) for metric in METRICS & metrics.keys()}
        batch_size = str(_extra(where, first["benchmark"]).get("batch_size") or 0)
        row = SourceRow(where, {"name": name, "dev": device, "batch_size": batch_size, **cells})
        accuracy = cells.get("accuracy")
        if accuracy is not None and accuracy not in ACCURACY:
            raise row.wrong("accuracy", f"{accuracy!r} is not known", f"known are {', '.join(ACCURACY)}")
        run = file_slug(f"dynamo-{backend}-{origin}-{dtype}-{environment.device_name}-torch-{environment.torch}")
        yield record(row, setup, run, environment, source, flags, accuracy=accuracy)
    if left_out:
        models = counted(len(left_out), "model that does not take images", "models that do not take images")
        options.log(f"{path.name}: left out {models}: {', '.join(left_out)}")


def _text(placed: Entry) -> str:
    """Return the value of a metric as text. Values that are no numbers are in the extra information."""
    where, entry = placed
    metric = entry["metric"]
    values = metric.get("benchmark_values") or _extra(where, metric).get("benchmark_values")
    if not isinstance(values, list) or not values:
        raise AtlasError("has no list of values", where=f"{where}: metric.benchmark_values", remedy=REMEDY)
    return str(values[0])


def _environment(path: Path, entry: Mapping[str, Any], options: ImportOptions) -> Environment:
    runners, dependencies = entry.get("runners"), entry.get("dependencies")
    about = runners[0] if isinstance(runners, list) and runners and isinstance(runners[0], dict) else {}
    pytorch = dependencies.get("pytorch") if isinstance(dependencies, dict) else None
    torch = pytorch.get("version") if isinstance(pytorch, dict) else None
    name = options.device_name or about.get("gpu_info") or about.get("type")
    return Environment(
        device_name=str(name or options.needed("device_name", "on which device", '"NVIDIA A100-SXM4-40GB"', path)),
        torch=str(
            options.torch or torch or options.needed("torch", "which version of torch was measured", "2.9.0", path)
        ),
    )


def _date(entry: Mapping[str, Any]) -> str | None:
    timestamp = entry.get("timestamp")
    try:
        return datetime.fromtimestamp(timestamp, UTC).date().isoformat() if isinstance(timestamp, int) else None
    except (ValueError, OverflowError, OSError):  # outside the range of dates
        return None
