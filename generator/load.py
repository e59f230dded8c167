"""The only reader of results: run files enter, one tidy table leaves, with one row per cell and run.

The processes of a cell are pooled here by `bench.statistics`; whoever comes after sees medians, intervals and
statuses, never a record. A failure is a row like any other: it has a status and a reason, and no figures.

    python -c "from generator.load import load; print(load().cells)"
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from packaging.version import InvalidVersion, Version

from bench import cause, record, statistics
from bench.errors import AtlasError
from bench.faults import Faults
from bench.faults import newest as newest_faults
from bench.quality import Quality
from bench.quality import newest as newest_quality
from bench.record import COMPARABLE, RESULTS, Arm, Measurement, Record, Telemetry, worst
from bench.statistics import Estimate
from bench.tour import Tour
from bench.tour import newest as newest_tour
from generator.lint import Finding, lint

# ── Columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────

COORDINATES = {
    "device": "str",  # slug, safe as file name and in addresses
    "model": "str",  # slug
    "torch": "str",
    "compile_mode": "str",
    "dtype": "str",
    "batch_size": "int64",
    "dynamic": "str",  # auto, true, false
    "weights": "str",  # random, pretrained
    "input_size": "str",  # height×width in pixels, empty where not recorded
    "layout": "str",  # channels_last; empty for torch's own
    "threads": "Int64",  # of torch, on a CPU only: elsewhere they hardly matter
    "origin": "str",  # measured, published
}
"""What tells one cell from another, whatever its run."""

FIGURES = (
    *("eager_ms", "eager_low_ms", "eager_high_ms", "compiled_ms", "compiled_low_ms", "compiled_high_ms"),
    *("speedup", "speedup_low", "speedup_high", "change", "change_low", "change_high"),
    *("compile_cold_s", "break_even_calls", "break_even_calls_low", "break_even_calls_high"),
    *("compile_warm_s", "break_even_warm_calls", "break_even_warm_calls_low", "break_even_warm_calls_high"),
    *("eager_device_ms", "compiled_device_ms", "eager_host_bound", "compiled_host_bound"),
    *("flop", "traffic_bytes", "matmul_flop_s", "copy_bytes_s"),
    *("eager_flop_s", "eager_matmul_share", "eager_copy_share", "eager_image_j"),
    *("compiled_flop_s", "compiled_matmul_share", "compiled_copy_share", "compiled_image_j"),
    *("clock_mhz", "temperature_c", "power_w"),
    *("eager_images_s", "compiled_images_s"),
    *("eager_peak_memory_gb", "compiled_peak_memory_gb", "memory_change"),
    *("eager_peak_reserved_gb", "compiled_peak_reserved_gb"),
    *("eager_minor_faults_per_call", "compiled_minor_faults_per_call", "max_relative_error"),
)
"""Numbers, nan where unknown. ``_low`` and ``_high`` bound the 95% interval over processes. `change` is compiled ÷
eager − 1 (−0.45: the latency falls by 45%), the inverse of the speedup, so that both tell the same; `memory_change` is
the same of the peak memory. FLOP and bytes are those of one call of the whole batch, joules those of one image. Shares
are of the latency (``_host_bound``: while the device waits for the host) or of the device's own peaks
(``_matmul_share``, ``_copy_share``).
"""

COUNTS = (
    *("processes", "attempts", "eager_samples", "compiled_samples"),
    *("graphs", "graph_breaks", "recompiles", "batch_size_recompiles", "cudagraph_skips"),
    *("repeated_rounds", "throttled_rounds"),
)
"""Whole numbers, missing where unknown. `attempts` are records, `processes` those of them that have figures."""

TEXTS = (
    *("run", "profile", "status", "reason", "verdict", "causes", "stop_reason", "flags", "command", "contributor"),
    *("device_name", "device_type", "model_label", "checkpoint", "task"),
    *("transformers", "python", "platform", "accelerator", "driver", "triton", "commit", "settings"),
    *("graph_break_reasons", "cudagraph_skip_reasons", "throttle_reasons"),
    *("source_title", "source_url", "source_date", "source_licence", "source_note", "source_files"),
)
"""Text, empty where unknown. `flags` are separated by spaces; `settings`, `causes`, and ``_reasons`` are JSON."""

ARMS: tuple[cause.ArmName, ...] = ("eager", "compiled")

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
"""Modes of torch.compile in the order of what they try. Pages may name them before anything was measured with them."""

COLUMNS: dict[str, str] = {
    **COORDINATES,
    **dict.fromkeys(TEXTS, "str"),
    **dict.fromkeys(FIGURES, "float64"),
    **dict.fromkeys(COUNTS, "Int64"),
    "cores": "Int64",
    "memory_gb": "float64",
    "measured_at": "datetime64[us, UTC]",  # NaT for published rows, which have source_date
    "newest": "bool",  # no later run holds this cell: what pages show
}
"""Every column of `Results.cells` with its type."""

Row = Mapping[str, Any]
"""One row of the table by column, with its label as ``row``. What is unknown is None."""

Rows = Sequence[Row]
"""Some rows. Pages ask for a handful at a time, thousands of times: for that a list is far quicker than a DataFrame."""


@dataclass(frozen=True, eq=False)
class Results:
    """All that pages can show. `cells` has `COLUMNS`; nobody changes it."""

    cells: pd.DataFrame
    records: int
    tour: Tour | None = None  # the newest
    quality: Quality | None = None  # likewise
    faults: Faults | None = None  # likewise
    rounds_ms: Sequence[Mapping[str, Sequence[float]]] = ()
    """By label, for each arm of a measured row the median of each round, in the order of time, one process after the
    other; empty for a row without."""

    @cached_property
    def rows(self) -> Rows:
        """The rows of `cells` as dictionaries, each at the position that is its label."""
        known = {str(name): _known(self.cells[name]) for name in self.cells}
        labels = range(len(self.cells))
        return [dict(zip(("row", *known), values, strict=True)) for values in zip(labels, *known.values(), strict=True)]

    @cached_property
    def newest_rows(self) -> Rows:
        """Those of `newest`."""
        return [row for row in self.rows if row["newest"]]

    @cached_property
    def newest(self) -> pd.DataFrame:
        """The rows that pages show: of each cell, that of its newest run."""
        return self.cells.loc[self.cells["newest"]]

    @cached_property
    def problems(self) -> tuple[Finding, ...]:
        """What the data lint finds in the newest rows."""
        return lint(self.newest)

    @cached_property
    def doubts(self) -> Mapping[int, Sequence[Finding]]:
        """The findings that doubt a row, by its label."""
        doubts: dict[int, list[Finding]] = {}
        for finding in self.problems:
            for row in finding.doubtful:
                doubts.setdefault(row, []).append(finding)
        return doubts

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs, by name."""
        return tuple(sorted(self.cells["run"].unique()))


def comparisons(rows: Rows) -> list[Row]:
    """The rows in which eager and compiled can be compared."""
    return [row for row in rows if row["change"] is not None and row["status"] in COMPARABLE]


def grouped(rows: Rows, *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows by their values of `columns`, in the order in which these first occur."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


def mode_order(mode: str) -> tuple[int, str]:
    """Sorts modes as `MODES` does, unknown ones last."""
    return (MODES.index(mode) if mode in MODES else len(MODES), mode)


def version_order(version: str) -> tuple[bool, Version | str]:
    """Sorts versions, the oldest first: 2.9.1 before 2.13.0. What is none comes first."""
    try:
        return True, Version(version)
    except InvalidVersion:
        return False, version


ORDERS: Mapping[str, Callable[[str], Any]] = {"compile_mode": mode_order, "torch": version_order}
"""How the values of a column are sorted, where that isn't their own order."""


def _known(column: pd.Series[Any]) -> list[Any]:
    """The values of a column as plain Python ones, None where unknown."""
    if str(column.dtype).startswith("datetime"):
        return [None if pd.isna(value) else value.to_pydatetime() for value in column]
    return [None if missing else value for value, missing in zip(column.tolist(), column.isna(), strict=True)]


# ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def load(results: Path = RESULTS) -> Results:
    """Read every run file below `results`.

    Raises `AtlasError` for the first line that is broken, of an unknown schema, without positive latencies, or a
    duplicate of another line of its run.
    """
    rows: list[dict[str, Any]] = []
    records = 0
    owner: dict[str, Path] = {}
    for path in record.run_files(results):
        stat = path.stat()
        of_file = _read(path, stat.st_mtime_ns, stat.st_size)
        for run in sorted({row["run"] for row in of_file}):
            if run in owner:
                raise AtlasError(
                    f"the run {run!r} is already in {owner[run]}",
                    where=f"{path}: $.run",
                    remedy="remove one of the two files, or give its records another run",
                )
            owner[run] = path
        rows += of_file
        records += sum(row["attempts"] for row in of_file)
    table = _table(rows)
    rounds_ms = tuple(rows[position]["rounds_ms"] for position in table.index)
    documents = newest_tour(results), newest_quality(results), newest_faults(results)
    return Results(table.reset_index(drop=True), records, *documents, rounds_ms)


@lru_cache(maxsize=256)
def _read(path: Path, _modified_ns: int, _size: int) -> list[dict[str, Any]]:
    """The pooled rows of one file. While pages are served, only the file that has grown is read again."""
    groups: defaultdict[tuple[Any, ...], list[Record]] = defaultdict(list)
    seen: dict[tuple[Any, ...], int] = {}
    for index, each in enumerate(record.read(path)):
        key = (each.run, each.key)
        if key in seen:
            raise AtlasError(
                f"process {each.process} of {_cell_name(each)} is already in line {_line(path, seen[key])}",
                where=f"{path}:{_line(path, index)}: $.cell, $.environment, $.process",
                remedy="remove one of the two lines",
            )
        if field := _impossible(each.measurement):
            raise AtlasError(
                "a latency is not a positive number",
                where=f"{path}:{_line(path, index)}: $.measurement.{field}",
                remedy="remove the line (`python -m bench run` with the same plan measures that cell again)",
            )
        seen[key] = index
        groups[(each.run, *each.key[:-1])].append(each)
    return [_pool(group) for group in groups.values()]


def _line(path: Path, index: int) -> int:
    """The line number of the record `index`: blank lines hold none."""
    return next(number for at, (number, _) in enumerate(record.lines(path)) if at == index)


def _cell_name(each: Record) -> str:
    cell, environment = each.cell, each.environment
    return (
        f"{cell.model} on {environment.device_name} "
        f"(batch size {cell.batch_size}, {cell.compile_mode}, {cell.dtype}, torch {environment.torch})"
    )


SHORTEST_MS, LONGEST_MS = 1e-9, 1e12
"""Between these a figure can be a latency or a throughput: a picosecond, and thirty years."""


def _impossible(measurement: Measurement | None) -> str | None:
    for name in ("eager", "compiled"):
        arm: Arm | None = getattr(measurement, name, None)
        if arm and any(not SHORTEST_MS <= call < LONGEST_MS for calls in arm.rounds_ms for call in calls):
            return f"{name}.rounds_ms"
        for field in ("published_mean_ms", "published_median_ms", "published_images_s"):
            figure = getattr(arm, field, None)
            if figure is not None and not SHORTEST_MS <= figure < LONGEST_MS:
                return f"{name}.{field}"
    return None


# ── Pooling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pool(group: Sequence[Record]) -> dict[str, Any]:
    """One row of the table from the processes of a cell."""
    group = sorted(group, key=lambda each: each.process)
    standing = worst(group)
    newest = max(group, key=lambda each: each.measured_at.timestamp() if each.measured_at else 0.0)
    measurements = [each.measurement for each in group if each.measurement]
    return {
        "run": standing.run,
        "profile": standing.profile,
        "origin": standing.origin,
        "status": standing.status.value,
        "reason": standing.reason or "",
        "flags": " ".join(sorted({flag for each in group for flag in each.flags})),
        "attempts": len(group),
        "measured_at": newest.measured_at,
        "command": standing.command or "",
        "contributor": standing.contributor or "",
        **_cell(standing),
        **_environment(standing),
        **_source(standing),
        **_figures(measurements, standing.cell.batch_size),
        "rounds_ms": _rounds(measurements),
    }


def _rounds(measurements: Sequence[Measurement]) -> dict[str, list[float]]:
    arms = {name: [one for each in measurements if (one := getattr(each, name))] for name in ("eager", "compiled")}
    medians = {name: [statistics.round_medians(arm) for arm in each] for name, each in arms.items()}
    return {name: ms for name, each in medians.items() if each and (ms := np.concatenate(each).tolist())}


def _cell(each: Record) -> dict[str, Any]:
    cell = each.cell
    return {
        "model_label": cell.model,
        "checkpoint": cell.checkpoint,
        "task": cell.task,
        "device_type": cell.device,
        "dtype": f"autocast {cell.dtype}" if cell.autocast else cell.dtype,
        "batch_size": cell.batch_size,
        "compile_mode": cell.compile_mode,
        "dynamic": "auto" if cell.dynamic is None else str(cell.dynamic).lower(),
        "weights": cell.weights,
        "input_size": "×".join(map(str, cell.input_size)) if cell.input_size else "",
        "layout": "channels_last" if cell.channels_last else "",
    }


def _environment(each: Record) -> dict[str, Any]:
    environment, on_cpu = each.environment, each.cell.device == "cpu"
    texts = ("transformers", "python", "platform", "accelerator", "driver", "triton", "commit")
    return {
        "device_name": short_name(environment.device_name),
        "torch": environment.torch,
        "cores": environment.cores,
        "threads": environment.threads if on_cpu else None,
        "memory_gb": environment.memory_gb,
        "settings": json.dumps(environment.settings, sort_keys=True, ensure_ascii=False),
        **{name: getattr(environment, name) or "" for name in texts},
    }


def _source(each: Record) -> dict[str, str]:
    names = ("title", "url", "date", "licence", "note")
    files = " ".join(each.source.files) if each.source else ""
    return {f"source_{name}": getattr(each.source, name, None) or "" for name in names} | {"source_files": files}


def _figures(measurements: Sequence[Measurement], batch_size: int) -> dict[str, Any]:
    if not measurements:
        return {"processes": 0}
    figures: dict[str, Any] = {"processes": len(measurements), "verdict": statistics.verdict(measurements)}
    figures["causes"] = _json_of([each.cause.value, each.figure] for each in cause.explain(measurements))
    for arm in ARMS:
        figures |= _arm(arm, [one for each in measurements if (one := getattr(each, arm))], batch_size)
    ratio = statistics.speedup(measurements)
    figures |= _estimate("speedup", ratio)
    figures |= {"change": 1 / ratio.value - 1, "change_low": 1 / ratio.high - 1, "change_high": 1 / ratio.low - 1}
    eager_gb, compiled_gb = (figures.get(f"{arm}_peak_memory_gb", math.nan) for arm in ARMS)
    if eager_gb and all(each.is_comparable for each in measurements):
        figures |= {"memory_change": compiled_gb / eager_gb - 1}
    return figures | _compilation(measurements) | _graphs(measurements) | _efficiency(measurements, batch_size)


def _arm(name: str, arms: Sequence[Arm], batch_size: int) -> dict[str, Any]:
    if not arms:
        return {}
    summary = statistics.summarize(arms)
    own_batch = _median(arm.batch_size for arm in arms)
    images = batch_size if math.isnan(own_batch) else own_batch
    # A row tells one batch size: the latency of another would be taken for one of it. Images a second fit any.
    latency = (
        {}
        if images != batch_size
        else {
            f"{name}_ms": summary.latency_ms,
            f"{name}_low_ms": summary.low_ms,
            f"{name}_high_ms": summary.high_ms,
        }
    )
    printed = _median(arm.published_images_s for arm in arms)
    return latency | {
        f"{name}_images_s": images / summary.latency_ms * 1e3 if math.isnan(printed) else printed,
        f"{name}_samples": summary.n or None,
        f"{name}_peak_memory_gb": _most(arm.peak_memory_gb for arm in arms),
        f"{name}_peak_reserved_gb": _most(arm.peak_reserved_gb for arm in arms),
        f"{name}_minor_faults_per_call": _median(arm.minor_faults_per_call for arm in arms),
        f"{name}_device_ms": _median(_median(arm.device_ms) for arm in arms if arm.device_ms),
    }


def _compilation(measurements: Sequence[Measurement]) -> dict[str, Any]:
    compilations = [each.compilation for each in measurements if each.compilation]
    if not compilations:
        return {}
    cold, warm = (statistics.break_even_calls(measurements, warm=warm) for warm in (False, True))
    return {
        "compile_cold_s": _median(each.cold_s for each in compilations),
        "compile_warm_s": _median(each.warm_s for each in compilations),
        **_estimate("break_even_calls", cold),
        **_estimate("break_even_warm_calls", warm),
    }


def _estimate(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _graphs(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """The worst that any process saw: a break in one process is a break."""
    graphs = [each.graphs for each in measurements if each.graphs]
    errors = [each.accuracy.max_relative_error for each in measurements if each.accuracy]
    found: dict[str, Any] = {"max_relative_error": max(errors)} if errors else {}
    if graphs:
        found |= {
            "graphs": max(each.graphs for each in graphs),
            "graph_breaks": max(len(each.breaks) for each in graphs),
            "recompiles": max(each.recompiles for each in graphs),
            "cudagraph_skips": max(len(each.cudagraph_skips) for each in graphs),
            "batch_size_recompiles": max(
                (each.batch_size_recompiles for each in graphs if each.batch_size_recompiles is not None), default=None
            ),
            "graph_break_reasons": _json_of(
                {"reason": one.reason, "location": one.location or ""} for each in graphs for one in each.breaks
            ),
            "cudagraph_skip_reasons": _json_of(reason for each in graphs for reason in each.cudagraph_skips),
        }
    return found


def _efficiency(measurements: Sequence[Measurement], batch_size: int) -> dict[str, Any]:
    """What a call has to do, at what rate each arm does it, and what the device says of itself meanwhile."""
    work, peaks = cause.work_of(measurements), cause.peaks_of(measurements)
    found: dict[str, Any] = {}
    if work:
        found |= {"flop": work.flop, "traffic_bytes": work.traffic_bytes}
    if peaks:
        found |= {"matmul_flop_s": peaks.matmul_flop_s, "copy_bytes_s": peaks.copy_bytes_s}
    for arm in ARMS:
        found |= {
            f"{arm}_host_bound": cause.host_bound(measurements, arm),
            f"{arm}_flop_s": cause.achieved_flop_s(measurements, arm),
            f"{arm}_matmul_share": cause.peak_share(measurements, arm),
            f"{arm}_copy_share": cause.bandwidth_share(measurements, arm),
            f"{arm}_image_j": cause.energy_per_image_j(measurements, arm, batch_size),
        }
    return found | _telemetry([each.telemetry for each in measurements if each.telemetry])


def _telemetry(told: Sequence[Telemetry]) -> dict[str, Any]:
    if not told:
        return {}
    reasons = Counter[str]()
    for each in told:
        reasons.update(each.throttle_reasons)
    return {
        "clock_mhz": _median(mhz for each in told for mhz in each.clock_mhz),
        "temperature_c": _most(celsius for each in told for celsius in each.temperature_c),
        "power_w": _median(watts for each in told for watts in each.power_w),
        "repeated_rounds": sum(each.repeated_rounds for each in told),
        "throttled_rounds": sum(each.throttled_rounds for each in told),
        "throttle_reasons": json.dumps(reasons, sort_keys=True) if reasons else "",
    }


def _json_of(values: Iterable[Any]) -> str:
    """Distinct values as a JSON list, in the order in which they first occur; nothing for none."""
    distinct = list({json.dumps(value, sort_keys=True): value for value in values}.values())
    return json.dumps(distinct, ensure_ascii=False) if distinct else ""


def _most(values: Iterable[float | None]) -> float:
    return max((value for value in values if value is not None), default=math.nan)


def _median(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else math.nan


# ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The table in the order of pages; its index still says which of `rows` each row was."""
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name not in {"device", "model", "newest"}])
    # The cores tell CPUs apart; beside an accelerator they are its host's, and it stays the same device.
    own_cores = table.assign(cores=table["cores"].where(table["device_type"] == "cpu"))
    table["device"] = _slugs(own_cores, ["device_type", "device_name", "cores"], _device_slug)
    table["model"] = _slugs(table, ["model_label", "checkpoint"], lambda row: slugify(row["model_label"]))
    table["model_label"] = _distinct_labels(table)
    table["newest"] = False
    for name in (*TEXTS, *(name for name, kind in COORDINATES.items() if kind == "str")):
        table[name] = table[name].astype("str").fillna("")
    table = table[list(COLUMNS)].astype(COLUMNS)
    oldest_first = table.sort_values(["measured_at", "source_date", "run"], na_position="first", kind="stable")
    newest = oldest_first.drop_duplicates(list(COORDINATES), keep="last").index
    table.loc[newest, "newest"] = True
    return table.take(_in_order(table))


def _in_order(table: pd.DataFrame) -> Any:
    """Positions of the rows as pages show them: accelerators before CPUs, old versions before new, models by name."""
    keys = ["device", "origin", "torch", "compile_mode", "dtype", "batch_size", "model", "run"]
    ranked = {column: _rank(table[column], order) for column, order in ORDERS.items()}
    return np.lexsort([*(ranked.get(key, table[key]) for key in reversed(keys)), table["device_type"] == "cpu"])


def _rank(column: pd.Series[Any], order: Callable[[str], Any]) -> pd.Series[Any]:
    ranks = {value: rank for rank, value in enumerate(sorted(column.unique(), key=order))}
    return column.map(ranks).astype("int64")


def _slugs(table: pd.DataFrame, identity: list[str], slug: Callable[[Mapping[Any, Any]], str]) -> pd.Series[str]:
    """One slug for each distinct `identity`. Of those that would share one the oldest keeps it: links stay valid."""
    known = table.sort_values(["measured_at", "source_date", "run"], na_position="first", kind="stable")
    known = known[identity].drop_duplicates()
    taken: set[str] = set()
    slugs: dict[tuple[Any, ...], str] = {}
    for row in known.to_dict("records"):
        key = tuple(None if pd.isna(row[name]) else row[name] for name in identity)
        name = slug(row)
        if name in taken or name in _RESERVED or not name:
            name = "-".join(filter(None, (name, hashlib.sha256(repr(key).encode()).hexdigest()[:8])))
        taken.add(name)
        slugs[key] = name
    keys = zip(*(table[name] for name in identity), strict=True)
    values = [slugs[tuple(None if pd.isna(part) else part for part in key)] for key in keys]
    return pd.Series(values, index=table.index, dtype="str")


# Names of pages that are there anyway, and names that Windows keeps for itself.
_RESERVED = {"index", "each", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_MAX_SLUG = 80


def slugify(text: str) -> str:
    """`text` in lower-case ASCII letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_MAX_SLUG].rstrip("-")


def _device_slug(row: Mapping[Any, Any]) -> str:
    if row["device_type"] != "cpu":
        return slugify(row["device_name"])
    cores = "" if pd.isna(row["cores"]) else f" {row['cores']:.0f} cores"
    return slugify(f"cpu {row['device_name']}{cores}")


def _distinct_labels(table: pd.DataFrame) -> pd.Series[str]:
    """The label of each model, with its checkpoint where several checkpoints go by one label."""
    pairs = table[["model_label", "checkpoint"]].drop_duplicates()
    shared = {label for label, count in Counter(pairs["model_label"]).items() if count > 1}
    labels = [
        f"{label} ({checkpoint})" if label in shared else label
        for label, checkpoint in zip(table["model_label"], table["checkpoint"], strict=True)
    ]
    return pd.Series(labels, index=table.index, dtype="str")


_NOISE = re.compile(r"\((?:R|TM|C)\)|\b(?:NVIDIA|Tesla|GeForce|CPU|Processor|\d+-Core)\b|[®™@]", re.IGNORECASE)


def short_name(device_name: str) -> str:
    """What people call a device: ``A100`` for "NVIDIA A100", ``T4`` for "Tesla T4", ``Intel Xeon 2.50 GHz`` for
    "Intel(R) Xeon(R) Processor @ 2.50GHz". Only brands and filler go, so different products stay different."""
    name = re.sub(r"(?<=\d)GHz", " GHz", _NOISE.sub(" ", device_name))
    return " ".join(name.split()) or device_name.strip() or "?"
