"""The rows of one run file: one per cell, with the figures that its processes give together.

`rows_of` takes the path of a run file and returns its rows. `generator.data.load` adds the columns that depend on rows
of other files, such as the slug of a device.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from bench.plans.profiles import KEEP_MEMORY
from bench.records.record import COMPILE_MODES, DOCTOR, THROUGHPUT_PROFILES, Cell, Environment, Record, Source, worst
from bench.records.run_file import read
from bench.statistics.causes import explain
from bench.statistics.cells import Cells
from bench.statistics.starts import starts_of
from generator.data.names import device_label, short_name
from generator.data.registry import COLUMNS

CONTIGUOUS = "contiguous"
"""The memory layout of torch, unless told otherwise: NCHW."""

TURNED = "eager:channels_last"
"""The variant that is eager in the other memory layout."""


def rows_of(path: Path) -> pd.DataFrame:
    """Return the rows of a file by `COLUMNS`, with model and checkpoint as recorded. Nobody changes them.

    A file is read again only after a change. Raises `AtlasError` for a line that is no record.
    """
    status = path.stat()
    changed = status.st_mtime_ns, status.st_size
    if path not in _READ or _READ[path][0] != changed:
        _READ[path] = changed, _read(path)
    return _READ[path][1]


_READ: dict[Path, tuple[tuple[int, int], pd.DataFrame]] = {}
"""The rows of each file that this process has read, with the time of its last change and its size."""


def _read(path: Path) -> pd.DataFrame:
    groups: defaultdict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for record in read(path):
        groups[record.run, _case(record.cell), record.environment.device_name, record.environment.torch].append(record)
    several = [sorted(group, key=lambda record: record.process) for group in groups.values()]
    records = [worst(group) for group in several]  # one of the processes of a cell stands for all
    facts = _facts(records, several)
    measured = [[record.measurement for record in group if record.measurement] for group in several]
    runs = [f"{run} {kind}" for run, kind in zip(facts["run"], facts["device_type"], strict=True)]
    cells = Cells(measured, facts["batch_size"], pd.factorize(pd.Series(runs, dtype=object))[0])
    turned = np.array([record.cell.variant == TURNED for record in records], bool)  # eager, in place of compiled
    causes = [[(each.cause.value, each.figure, each.share) for each in several] for several in explain(cells)]
    graphs = [[each.graphs for each in group if each.graphs] for group in measured]
    breaks = [[each for one in several for each in one.breaks] for several in graphs]
    figures = {
        **cells.figures(),
        "processes": (cells.at >= 0).sum(axis=1),
        "channels_last_speedup": np.where(turned, cells.speedup[0], cells.middle("channels_last_speedup")),
        "verdict": cells.verdicts.tolist(),
        "causes": [_json_list(several) for several in causes],
        "graph_break_reasons": [
            _json_list({"reason": each.reason, "location": each.location or ""} for each in several)
            for several in breaks
        ],
        "starts": [_json_list(each._asdict() for each in starts_of(group)) for group in several],
        "calls": [msgspec.json.encode(record.calls).decode() if record.calls else "" for record in records],
        "cudagraph_skip_reasons": [
            _json_list(each for one in several for each in one.cudagraph_skips) for several in graphs
        ],
    }
    return frame({**facts, **figures})


def frame(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Return `COLUMNS` in their order. An unknown text is "", and any other unknown value is missing."""
    count = max(map(len, columns.values()), default=0)
    blocks: dict[str, dict[str, Any]] = {}
    for name, column in COLUMNS.items():
        values: Any = columns.get(name, [None] * count)
        if column.type in {str, bool}:
            values = [value or column.type() for value in values]
        elif column.type is int:
            values = pd.array(values, dtype="Int64")
        elif column.type is datetime:
            values = pd.to_datetime(pd.Series(values, dtype=object), utc=True)
        blocks.setdefault(column.dtype, {})[name] = values
    return pd.concat([pd.DataFrame(each, dtype=dtype) for dtype, each in blocks.items()], axis=1)[[*COLUMNS]]


def _case(cell: Cell) -> Cell:
    """Return the cell as all its processes name it: a local checkpoint stays the same under another name."""
    case = msgspec.structs.replace(cell, grad_mode=None)
    return msgspec.structs.replace(case, model=cell.digest, checkpoint=cell.digest) if cell.digest else case


# ── Facts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _facts(records: Sequence[Record], several: Sequence[Sequence[Record]]) -> dict[str, list[Any]]:
    """Return the columns that are no figures, from the record that stands for each cell and from all of them."""
    cells = [record.cell for record in records]
    environments = [record.environment for record in records]
    sources = [record.source for record in records]
    columns = {name: [getattr(cell, name) for cell in cells] for name in Cell.__struct_fields__}
    columns["model"] = [cell.architecture for cell in cells]
    columns |= {name: [getattr(each, name) for each in environments] for name in Environment.__struct_fields__}
    columns |= {
        f"source_{name}": [getattr(source, name, None) for source in sources] for name in Source.__struct_fields__
    }
    columns |= {name: [getattr(record, name) for record in records] for name in ("run", "origin", "profile", "reason")}
    return columns | {
        "device_type": columns["device"],
        "device_name": [device_label(record.cell.device, record.environment.device_name) for record in records],
        "processor": [short_name(each.device_name) for each in environments],
        "dtype": [cell.precision for cell in cells],
        "compile_mode": [cell.compile_mode for cell in cells],
        "dynamic": [cell.dynamic for cell in cells],
        "usual": [_is_usual(cell) for cell in cells],
        "input_size": ["×".join(map(str, cell.input_size or ())) for cell in cells],
        "layout": ["channels_last" if cell.channels_last or cell.variant == TURNED else CONTIGUOUS for cell in cells],
        "threads": [record.environment.threads if record.cell.device == "cpu" else None for record in records],
        "settings": [json.dumps(each.settings, sort_keys=True, ensure_ascii=False) for each in environments],
        "malloc": [_malloc(each) for each in environments],
        "status": [record.status.value for record in records],
        "workload": ["throughput" if record.profile in THROUGHPUT_PROFILES else "latency" for record in records],
        "command": [_command(record) for record in records],
        "flags": [_flags(group) for group in several],
        "attempts": [len(group) for group in several],
        "measured_at": [
            max((each.measured_at for each in group if each.measured_at), default=None) for group in several
        ],
    }


def _is_usual(cell: Cell) -> bool:
    return cell.threads is None and cell.compile_mode in (*COMPILE_MODES, "default:freezing", TURNED)


def _malloc(environment: Environment) -> str:
    return "keep" if KEEP_MEMORY.items() <= environment.settings.items() else "default"


def _command(record: Record) -> str | None:
    """Return the command of a record. One from before memory was kept says so: a run would keep it now."""
    command = record.command
    if command and _malloc(record.environment) == "default" and not {"--malloc", "paper-2023"} & {*command.split()}:
        command += " --malloc default"
    return command


def _flags(group: Sequence[Record]) -> str:
    """Return the flags of a cell. A look at the machine before one of several processes dooms no row: each process
    watches its own rounds."""
    carried = Counter(flag for record in group for flag in record.flags)
    flags = (flag for flag, times in carried.items() if not flag.startswith(DOCTOR) or 2 * times >= len(group))
    return " ".join(sorted(flags))


def _json_list(values: Iterable[Any]) -> str:
    """Return distinct values as a JSON list, in the order in which they first occur; "" for none."""
    distinct = {json.dumps(value, ensure_ascii=False): None for value in values}
    return f"[{', '.join(distinct)}]" if distinct else ""
