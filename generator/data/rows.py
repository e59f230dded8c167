"""The rows of one run file: one per cell, with the figures that its processes give together.

`rows_of` takes the path of a run file and returns `FileRows`. A row follows from its file alone, apart from what it
shares with rows of other files, such as the slug of its device: `generator.data.load` adds that.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas as pd

from bench.plans.profiles import KEEP_MEMORY
from bench.records.record import DOCTOR, THROUGHPUT_PROFILES, Cell, Environment, Measurement, Record, Source, worst
from bench.records.run_file import read
from bench.statistics.causes import explain
from bench.statistics.cells import Cells
from generator.data.names import device_label, short_name
from generator.data.registry import COLUMNS


class Key(NamedTuple):
    """The place of a row among the rows of other files."""

    case: Cell  # the same in all runs that measured it
    host: tuple[
        Any, ...
    ]  # device, version of PyTorch and, of a CPU, threads: rows of one case and host replace another
    origin: str
    model: tuple[str, ...]  # the digest of a local checkpoint, else label and checkpoint
    named: tuple[str, str]  # label and checkpoint
    device: tuple[Any, ...]  # type, name and, of a CPU, cores
    age: tuple[Any, ...]  # sorts rows, the oldest first


class FileRows(NamedTuple):
    """The rows of a run file. Nobody changes them."""

    records: int  # how many there are in the file
    keys: Sequence[Key]
    columns: Mapping[str, Sequence[Any]]  # of `COLUMNS`, apart from those that depend on other files
    rounds_ms: Sequence[Mapping[str, Sequence[float]]]  # medians in the order of time, by variant


def rows_of(path: Path) -> FileRows:
    """Return the rows of a file, read again only after a change. Raises `AtlasError` for a line that is no record."""
    status = path.stat()
    stamp = status.st_mtime_ns, status.st_size
    if path not in _READ or _READ[path][0] != stamp:
        _READ[path] = stamp, _read(path)
    return _READ[path][1]


_READ: dict[Path, tuple[tuple[int, int], FileRows]] = {}
"""The rows of each file that this process has read, with the time of its last change and its size."""


def _read(path: Path) -> FileRows:
    groups: defaultdict[tuple[Any, ...], list[Record]] = defaultdict(list)
    count = 0
    for record in read(path):
        on = record.environment
        groups[record.run, _case(record.cell), on.device_name, on.torch].append(record)
        count += 1
    several = [sorted(group, key=lambda record: record.process) for group in groups.values()]
    rows = [_row(group) for group in several]
    measured = [[record.measurement for record in group if record.measurement] for group in several]
    keys = [_key(case, group, row) for (_, case, *_), group, row in zip(groups, several, rows, strict=True)]
    cells = Cells(
        measured,
        [row["batch_size"] for row in rows],
        pd.factorize(pd.Series([f"{row['run']} {row['device_type']}" for row in rows], dtype=object))[0],
    )
    figures = _figures(cells) | _reasons(measured)
    columns = {
        name: figures[name] if name in figures else [row.get(name) for row in rows]
        for name in COLUMNS
        if name not in SHARED
    }
    return FileRows(count, keys, columns, cells.rounds_ms())


SHARED = ("family", "model", "model_label", "device", "newest")
"""Columns that depend on rows of other files."""


def _case(cell: Cell) -> Cell:
    """Return the cell as it is in any run, so that a newer one takes its place. A local checkpoint stays the same under
    another name."""
    case = msgspec.structs.replace(cell, grad_mode=None)
    return msgspec.structs.replace(case, model=cell.digest, checkpoint=cell.digest) if cell.digest else case


def _key(case: Cell, group: Sequence[Record], row: Mapping[str, Any]) -> Key:
    is_cpu = row["device_type"] == "cpu"
    device = row["device_type"], row["device_name"], row["cores"] if is_cpu else None
    measured_at = row["measured_at"].timestamp() if row["measured_at"] else -1.0  # published rows come first
    named = row["model"], row["checkpoint"]
    return Key(
        case,
        (*device, row["torch"], row["threads"]),
        row["origin"],
        (row["digest"],) if row["digest"] else named,
        named,
        device,
        (measured_at, row["source_date"], group[0].run),
    )


# ── Facts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _row(group: Sequence[Record]) -> dict[str, Any]:
    """Return the facts about a cell, which are no figures. One of its processes stands for all."""
    record = worst(group)
    carried = Counter(flag for each in group for flag in each.flags)
    # A look at the machine before one of several processes dooms no row: each process watches its own rounds.
    flags = {flag for flag, times in carried.items() if not flag.startswith(DOCTOR) or 2 * times >= len(group)}
    row = {
        **_of_cell(record.cell),
        **_of_environment(record.environment),
        **_of_source(record.source),
        **{name: getattr(record, name) for name in ("run", "origin", "profile", "reason")},
        "status": record.status.value,
        "workload": "throughput" if record.profile in THROUGHPUT_PROFILES else "latency",
        "device_name": device_label(record.cell.device, record.environment.device_name),
        "command": record.command,
        "flags": " ".join(sorted(flags)),
        "attempts": len(group),
        "measured_at": max((each.measured_at for each in group if each.measured_at), default=None),
    }
    if row["command"] and row["malloc"] == "default" and not {"--malloc", "paper-2023"} & {*row["command"].split()}:
        row["command"] += " --malloc default"  # from before memory was kept: a run would keep it now
    return row if row["device_type"] == "cpu" else {**row, "threads": None}


def _of_cell(cell: Cell) -> Mapping[str, Any]:
    return {
        **msgspec.structs.asdict(cell),
        "device_type": cell.device,
        "dtype": cell.precision,
        "compile_mode": cell.compile_mode,
        "dynamic": cell.dynamic,
        "input_size": "×".join(map(str, cell.input_size)) if cell.input_size else "",
        "layout": "channels_last" if cell.channels_last else "",
    }


def _of_environment(environment: Environment) -> Mapping[str, Any]:
    return {
        **msgspec.structs.asdict(environment),
        "processor": short_name(environment.device_name),
        "settings": json.dumps(environment.settings, sort_keys=True, ensure_ascii=False),
        "malloc": "keep" if KEEP_MEMORY.items() <= environment.settings.items() else "default",
    }


def _of_source(source: Source | None) -> Mapping[str, Any]:
    if source is None:
        return {"source_date": ""}
    return {f"source_{name}": value for name, value in msgspec.structs.asdict(source).items()}


# ── Figures ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _figures(cells: Cells) -> dict[str, Sequence[Any]]:
    """Return the columns of figures."""
    causes = [[(each.cause.value, each.figure, each.share) for each in several] for several in explain(cells)]
    return {
        **{name: values.tolist() for name, values in cells.figures().items()},
        "processes": (cells.at >= 0).sum(axis=1).tolist(),
        "verdict": cells.verdicts.tolist(),
        "causes": [json.dumps(several) if several else "" for several in causes],
    }


def _reasons(measured: Sequence[Sequence[Measurement]]) -> dict[str, list[str]]:
    """Return the reasons for graph breaks and for skipped CUDA graphs, as JSON."""
    found = defaultdict[str, list[str]](list)
    for group in measured:
        graphs = [each.graphs for each in group if each.graphs]
        breaks = ({"reason": each.reason, "location": each.location or ""} for one in graphs for each in one.breaks)
        found["graph_break_reasons"].append(_distinct(breaks))
        found["cudagraph_skip_reasons"].append(_distinct(each for one in graphs for each in one.cudagraph_skips))
    return found


def _distinct(values: Iterable[Any]) -> str:
    """Return distinct values as a JSON list, in the order in which they first occur; "" for none."""
    distinct = list({json.dumps(value, sort_keys=True): value for value in values}.values())
    return json.dumps(distinct, ensure_ascii=False) if distinct else ""
