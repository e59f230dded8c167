"""Pooling: run files enter, columns leave, with one row per cell and run.

What `bench.statistics` and `bench.cause` define for one cell is worked out here for thousands of cells at once, in
arrays of shape (cells, processes): a million records take seconds instead of minutes, and `tests/test_pooling.py` holds
both against each other. What the lines of a run have in common, cell and environment, is decoded once.

    python -m pytest tests/test_pooling.py
"""

from __future__ import annotations

import gc
import json
import math
import re
import typing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench import record
from bench.cause import AT_THE_PEAK, EXPLAINS, HOST_BOUND, LESS_TRAFFIC, MEMORY_BOUND, ArmName, Cause
from bench.errors import AtlasError
from bench.profiles import KEEP_MEMORY
from bench.record import (
    PHASES,
    SCHEMA,
    WORST_FIRST,
    Arm,
    Cell,
    Environment,
    Graphs,
    Measurement,
    Moment,
    Number,
    Record,
    Source,
    Status,
    Telemetry,
    Whole,
)
from bench.statistics import CONFIDENCE, PERCENTILE_FLOORS, SAME, VERDICT_CONFIDENCE, student
from generator.columns import Array, Indices, Numbers, Ragged, Texts, sums

ARMS: tuple[ArmName, ...] = ("eager", "compiled")

PERCENTILES = (90, 99)
"""Those that pages show."""

TOGETHER = 2_000
"""Lines from which arrays are made at once: of few, making them takes longer than reading."""

UNKNOWN_TIME = np.iinfo(np.int64).min
"""Where a record does not say when it was measured."""


class _Arm(Arm, frozen=True, kw_only=True):
    """An `Arm` whose calls are left as they are written: those of many are read at once."""

    rounds_ms: msgspec.Raw = msgspec.Raw(b"[]")  # type: ignore[assignment]


class _Measurement(Measurement, frozen=True, kw_only=True):
    eager: _Arm
    compiled: _Arm | None = None


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `Record` whose repeated parts are left as they are written, and whose texts are looked at once each: most lines
    have them in common with others."""

    schema: int
    run: str
    origin: str
    profile: str
    process: Whole
    status: Status
    cell: msgspec.Raw
    environment: msgspec.Raw
    measured_at: Moment | None = None
    reason: str | None = None
    measurement: _Measurement | None = None
    seconds: Number | None = None
    source: msgspec.Raw = msgspec.Raw(b"null")
    command: str | None = None
    contributor: str | None = None
    node: str | None = None
    plan: str | None = None
    flags: tuple[str, ...] = ()


# ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Checked(Numbers):
    """Numbers texts that a field of a record may hold."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, value: Any) -> int:
        msgspec.convert(value, self._kind)
        return super().__missing__(value)


class _Said(Numbers):
    """Numbers what lines say in texts, all texts of a line at once: most lines have them in common with others."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = {name: _Checked(_KINDS[name]) for name in _TEXTS}
        self._numbers: list[list[int]] = []

    def __missing__(self, value: Any) -> int:
        self._numbers.append([self.texts[name][text] for name, text in zip(_TEXTS, value, strict=True)])
        return super().__missing__(value)

    def columns(self, numbers: Indices) -> dict[str, Indices]:
        """For each of `numbers` those of its texts."""
        return dict(zip(_TEXTS, np.array(self._numbers).T[:, numbers], strict=True))


class _Decoded(dict[bytes, int]):
    """Numbers JSON texts, each of which is decoded once."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._decode = msgspec.json.Decoder(kind).decode
        self.decoded: list[Any] = []

    def __missing__(self, text: bytes) -> int:
        value = self._decode(text)
        if isinstance(value, Source):
            date(*[*map(int, value.date.split("-")), 1, 1][:3])  # a ValueError for a day that no calendar has
        self.decoded.append(value)
        number = self[text] = len(self.decoded) - 1
        return number


_NO_ARM, _SILENT = _Arm(), Telemetry()
_RANK = {status: rank for rank, status in enumerate(WORST_FIRST)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_PARTS: Mapping[str, Sequence[str]] = {
    "compilation": ("cold_s", "warm_s"),
    "work": ("flop", "traffic_bytes", "streamed_bytes", "compiled_traffic_bytes", "convolution_flop"),
    "peaks": ("matmul_flop_s", "copy_bytes_s", "page_fault_s", "convolution_flop_s"),
    "graphs": ("graphs", "recompiles", "batch_size_recompiles"),
    "accuracy": ("max_relative_error",),
    "telemetry": ("repeated_rounds", "throttled_rounds"),
}
"""Figures of a measurement that are read as they are."""

_PUBLISHED = ("published_mean_ms", "published_median_ms", "published_images_s")
_OF_ARM = ("batch_size", "peak_memory_gb", "peak_reserved_gb", "minor_faults_per_call", "energy_j", *_PUBLISHED)
_READINGS = ("clock_mhz", "temperature_c", "power_w")
_TEXTS = ("run", "origin", "profile", "reason", "command", "contributor", "node", "plan", "flags")
_KINDS = {name: typing.get_type_hints(Record, include_extras=True)[name] for name in _TEXTS}


@dataclass
class _Read:
    """What was read so far: an array for each block of lines, by name. `figures` and `lists` are of measurements."""

    paths: list[Path] = field(default_factory=list)
    cells: _Decoded = field(default_factory=lambda: _Decoded(Cell))
    environments: _Decoded = field(default_factory=lambda: _Decoded(Environment))
    sources: _Decoded = field(default_factory=lambda: _Decoded(Source | None))
    said: _Said = field(default_factory=_Said)
    records: defaultdict[str, list[Indices]] = field(default_factory=lambda: defaultdict(list))
    figures: defaultdict[str, list[Array]] = field(default_factory=lambda: defaultdict(list))
    lists: defaultdict[str, list[Ragged]] = field(default_factory=lambda: defaultdict(list))
    graphs: list[Graphs | None] = field(default_factory=list)
    throttled: list[Mapping[str, int]] = field(default_factory=list)
    _waiting: list[tuple[_Line, int, int, int, int]] = field(default_factory=list)

    def read(self, path: Path) -> None:
        """One run file."""
        self.paths.append(path)
        for _, text in record.lines(path):
            if text.endswith(b"\n"):  # the others are still being written
                self._waiting.append(self._numbered(_decode(text)))
                if len(self._waiting) >= TOGETHER:
                    self.settle()

    def _numbered(self, line: _Line) -> tuple[_Line, int, int, int, int]:
        """The line with the numbers of its file and of what it shares with others."""
        cell, environment = self.cells[bytes(line.cell)], self.environments[bytes(line.environment)]
        return line, len(self.paths) - 1, cell, environment, self.sources[bytes(line.source)]

    def settle(self) -> None:
        """Make arrays of the lines that were read since the last time."""
        if not self._waiting:
            return
        lines, *numbers = zip(*self._waiting, strict=True)
        self._waiting = []
        found: dict[str, Iterable[int]] = dict(zip(("file", "cell", "environment", "source"), numbers, strict=True))
        found |= {
            "process": [each.process for each in lines],
            "status": [_RANK[each.status] for each in lines],
            "measured_at": [_time(each.measured_at) for each in lines],
            "is_measured": [each.measurement is not None for each in lines],
            "said": map(self.said.__getitem__, map(attrgetter(*_TEXTS), lines)),
        }
        for name, values in found.items():
            self.records[name].append(np.fromiter(values, np.int64, len(lines)))
        self._add_measurements([each.measurement for each in lines if each.measurement is not None])

    def _add_measurements(self, measurements: Sequence[_Measurement]) -> None:
        for arm in ARMS:
            self._add_arms(arm, list(map(attrgetter(arm), measurements)))
        for part, names in _PARTS.items():
            self._add_figures("", names, list(map(attrgetter(part), measurements)))
        phases = [each.compilation.phases_s if each.compilation else {} for each in measurements]
        for name in PHASES:
            self.figures[f"{name}_s"].append(np.array([each.get(name, math.nan) for each in phases]))
        graphs = [each.graphs for each in measurements]
        for name in ("breaks", "cudagraph_skips"):
            counts = [math.nan if each is None else len(getattr(each, name)) for each in graphs]
            self.figures[name].append(np.array(counts, dtype=np.float64))
        telemetry = [each.telemetry or _SILENT for each in measurements]
        for name in _READINGS:
            self.lists[name].append(Ragged.of([getattr(each, name) for each in telemetry]))
        self.graphs += graphs
        self.throttled += [each.throttle_reasons for each in telemetry]

    def _add_arms(self, name: str, arms: Sequence[_Arm | None]) -> None:
        self._add_figures(f"{name}_", _OF_ARM, arms)
        known = [_NO_ARM if arm is None else arm for arm in arms]
        calls, rounds = _rounds([bytes(arm.rounds_ms) for arm in known])
        filled = calls.lengths > 0
        odd = ~((calls.flat >= SHORTEST_MS) & (calls.flat < LONGEST_MS))
        samples = calls.merged(rounds)
        found = {
            "is": np.array([arm is not None for arm in arms]),
            "samples": samples.lengths,
            "odd_calls": sums(odd, samples.lengths),
            **{f"p{each}_ms": samples.percentiles(each, PERCENTILE_FLOORS[each]) for each in PERCENTILES},
        }
        for column, values in found.items():
            self.figures[f"{name}_{column}"].append(values.astype(np.float64))
        medians = calls.medians()
        alone = np.flatnonzero(np.repeat(rounds == 1, rounds) & filled)  # blocks of the protocol of 2023: their mean
        blocks = calls.take(alone)
        medians[alone] = np.add.reduceat(blocks.flat, blocks.starts) / blocks.lengths
        self.lists[f"{name}_rounds"].append(Ragged(medians[filled], sums(filled, rounds)))
        self.lists[f"{name}_device"].append(Ragged.of([arm.device_ms for arm in known]))

    def _add_figures(self, prefix: str, names: Iterable[str], values: Sequence[Any]) -> None:
        """The attributes `names` of some values, nan where it or the whole value is None."""
        known = [at for at, value in enumerate(values) if value is not None]
        some = [values[at] for at in known]
        for name in names:
            found = list(map(attrgetter(name), some))
            if found.count(None) == len(found):
                figures = np.full(len(values), np.nan)
            elif len(some) == len(values):
                figures = np.array(found, dtype=np.float64)
            else:
                figures = np.full(len(values), np.nan)
                figures[known] = np.array(found, dtype=np.float64)
            self.figures[prefix + name].append(figures)


class _NotReadableError(Exception):
    """The quick way does not read this line: the slow one tells why."""


_decoder = msgspec.json.Decoder(_Line)
_calls_of = msgspec.json.Decoder(list[Number]).decode
_rounds_of = msgspec.json.Decoder(typing.get_type_hints(Arm, include_extras=True)["rounds_ms"]).decode


def _rounds(arms: Sequence[bytes]) -> tuple[Ragged, Indices]:
    """The calls of all rounds, and how many rounds each arm has.

    Most of a run file are these. So all numbers are decoded as one list, and what stands between them tells where each
    round and arm ends: half the time of lists in lists.
    """
    text = b",".join(arm for arm in arms if arm != b"[]")
    ends = text.translate(None, b"+-.0123456789Ee").replace(b"]],[[", b"a").replace(b"],[", b"r")
    if ends[:2] + ends[2:-2].translate(None, b",ra") + ends[-2:] != b"[[]]":  # written by hand: with spaces, or wrong
        lists = [_rounds_of(arm) for arm in arms]
        return Ragged.of(list(chain.from_iterable(lists))), np.fromiter(map(len, lists), np.int64, len(lists))
    calls = _calls_of(b"[%b]" % text.translate(None, b"[]"))
    of_calls = np.frombuffer(ends[2:-2] + b"a", np.uint8)
    if len(calls) != len(of_calls):
        raise _NotReadableError
    of_rounds = np.flatnonzero(of_calls != ord(","))
    of_arms = np.flatnonzero(of_calls[of_rounds] == ord("a"))
    rounds = np.zeros(len(arms), np.int64)
    rounds[[arm != b"[]" for arm in arms]] = np.diff(of_arms, prepend=-1)
    return Ragged(np.array(calls, np.float64), np.diff(of_rounds, prepend=-1)), rounds


def _decode(text: bytes) -> _Line:
    line = _decoder.decode(text)
    if not 1 <= line.schema <= SCHEMA or (line.measured_at and not 2000 <= line.measured_at.year < 2200):
        raise _NotReadableError
    return line


def _time(at: datetime | None) -> int:
    return UNKNOWN_TIME if at is None else (at - _EPOCH) // _MICROSECOND


def moment(number: int) -> datetime | None:
    """The time that a number in the column ``measured_at`` stands for."""
    return None if number == UNKNOWN_TIME else _EPOCH + number * _MICROSECOND


# ── Pooling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Pooled:
    """Rows of some run files. `figures` (nan where unknown) and `texts` are those of `load.COLUMNS` that follow from
    the records of one cell, and ``file``, the position of the file; `rounds` has for each arm the medians of the rounds
    of each row, in the order of time, one process after the other.
    """

    figures: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Texts]
    rounds: Mapping[str, Ragged]
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else is kept beside them

    def __len__(self) -> int:
        return len(next(iter(self.figures.values()), ()))

    def take(self, rows: Indices) -> Pooled:
        """These rows, in this order."""
        return Pooled(
            {name: figures.take(rows) for name, figures in self.figures.items()},
            {name: texts.take(rows) for name, texts in self.texts.items()},
            {arm: rounds.take(rows) for arm, rounds in self.rounds.items()},
            self.facts,
        )


def pool(paths: Iterable[Path]) -> Pooled:
    """The rows of some run files.

    Raises `AtlasError` for the first line that is broken, of an unknown schema, without positive latencies, or a
    duplicate of another line of its run.
    """
    collecting = gc.isenabled()
    gc.disable()  # what is decoded holds no cycles, and there is much of it
    try:
        return _pooled(_read(list(paths)))
    finally:
        if collecting:
            gc.enable()


def _read(paths: Sequence[Path]) -> _Read:
    read = _Read()
    try:
        for path in paths:
            read.read(path)
        read.settle()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, _NotReadableError):
        for path in paths:
            for _ in record.read(path):  # says what is wrong with which line
                pass
        raise
    return read


def _pooled(read: _Read) -> Pooled:
    records = {name: np.concatenate(blocks) for name, blocks in read.records.items()}
    if not records or not len(records["file"]):
        return Pooled({"file": np.empty(0, np.int64)}, {}, {arm: Ragged.of(()) for arm in ARMS})
    records |= read.said.columns(records["said"])
    figures = {name: np.concatenate(blocks) for name, blocks in read.figures.items()}
    lists = {name: Ragged.joined(blocks) for name, blocks in read.lists.items()}
    _refuse_impossible(read, records, figures)
    group = _groups(read, records)
    order = np.lexsort((records["process"], group))
    _refuse_duplicates(read, records, group, order)
    sizes = np.bincount(group)
    measured = records["is_measured"].astype(bool)
    gave = np.zeros(len(measured), dtype=bool)
    gave[measured] = figures["compiled_is"] > 0
    described, texts = _described(read, records, gave, order, sizes)
    # Positions among the measurements, cell by cell and process by process.
    number = np.cumsum(records["is_measured"]) - 1
    at = number[order][measured[order]]
    processes = np.bincount(group[measured], minlength=len(sizes))
    with np.errstate(all="ignore"):
        sample = _Measurements(read, figures, lists)
    rounds: dict[str, Ragged] = {arm: lists[f"{arm}_rounds"].take(at).merged(processes) for arm in ARMS}
    with np.errstate(all="ignore"):  # what is not known is nan, and so is what follows from it
        found, told = _figures(sample, at, processes, described["batch_size"])
    return Pooled({**described, **found}, {**texts, **told}, rounds)


def _groups(read: _Read, records: Mapping[str, Indices]) -> Indices:
    """For each record the number of its cell and run, in the order in which these first occur."""
    numbers = Numbers()
    cells = np.array([numbers[each] for each in read.cells.decoded], dtype=np.int64)
    numbers = Numbers()
    machines = np.array([numbers[each.device_name, each.torch] for each in read.environments.decoded], dtype=np.int64)
    key = records["file"] * len(read.said.texts["run"]) + records["run"]
    key = (key * len(cells) + cells[records["cell"]]) * len(machines) + machines[records["environment"]]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    found: Indices = ranks[group]
    return found


def _refuse_duplicates(read: _Read, records: Mapping[str, Indices], group: Indices, order: Indices) -> None:
    same = (np.diff(group[order]) == 0) & (np.diff(records["process"][order]) == 0)
    if same.any():
        again = order[1:][same]
        second = int(again.min())
        earlier = order[:-1][same][np.argmin(again)]
        path, index, each = _record(read, records, second)
        _, first, _ = _record(read, records, int(earlier))
        raise AtlasError(
            f"process {each.process} of {_cell_name(each)} is already in line {_line(path, first)}",
            where=f"{path}:{_line(path, index)}: $.cell, $.environment, $.process",
            remedy="remove one of the two lines",
        )


def _refuse_impossible(read: _Read, records: Mapping[str, Indices], figures: Mapping[str, Array]) -> None:
    wrong = np.zeros(int(records["is_measured"].sum()), dtype=bool)
    for arm in ARMS:
        wrong |= figures[f"{arm}_odd_calls"] > 0
        for name in _PUBLISHED:
            printed = figures[f"{arm}_{name}"]
            wrong |= (printed < SHORTEST_MS) | (printed >= LONGEST_MS)
    if wrong.any():
        path, index, each = _record(read, records, int(np.flatnonzero(records["is_measured"])[wrong.argmax()]))
        raise AtlasError(
            "a latency is not a positive number",
            where=f"{path}:{_line(path, index)}: $.measurement.{_impossible(each.measurement)}",
            remedy="remove the line (`python -m bench run` with the same plan measures that cell again)",
        )


def _record(read: _Read, records: Mapping[str, Indices], position: int) -> tuple[Path, int, Record]:
    """The file of a record, its place among the records of that file, and itself."""
    file = records["file"][position]
    index = position - int(np.searchsorted(records["file"], file))
    path = read.paths[file]
    return path, index, next(islice(record.read(path), index, None))


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


def _impossible(measurement: Measurement | None) -> str:
    for name in ARMS:
        arm: Arm | None = getattr(measurement, name, None)
        if arm and any(not SHORTEST_MS <= call < LONGEST_MS for calls in arm.rounds_ms for call in calls):
            return f"{name}.rounds_ms"
        for figure in _PUBLISHED:
            value = getattr(arm, figure, None)
            if value is not None and not SHORTEST_MS <= value < LONGEST_MS:
                return f"{name}.{figure}"
    return "eager"


# ── What a row says of its cell ─────────────────────────────────────────────────────────────────────────────────────


def _described(
    read: _Read, records: Mapping[str, Indices], gave: NDArray[np.bool_], order: Indices, sizes: Indices
) -> tuple[dict[str, NDArray[Any]], dict[str, Texts]]:
    """Names, statuses, environment and source: those of the record that stands for the cell. `gave` says which records
    have a pair of latencies."""
    starts = np.cumsum(sizes) - sizes
    standing = order[starts]
    statuses = records["status"][order]
    for row in np.flatnonzero(np.maximum.reduceat(statuses, starts) != np.minimum.reduceat(statuses, starts)):
        members = order[starts[row] : starts[row] + sizes[row]]
        found = [WORST_FIRST[each] for each in records["status"][members]]
        standing[row] = members[record.standing(found, gave[members].tolist())]
    figures = {"file": records["file"][standing], "attempts": sizes.astype(np.float64)}
    texts: dict[str, Texts] = {}
    for name in _TEXTS:
        if name not in {"flags", "node", "plan"}:
            texts[name] = Texts.picked(records[name][standing], [text or "" for text in read.said.texts[name]])
    texts["status"] = Texts.picked(records["status"][standing], [each.value for each in WORST_FIRST])
    texts["flags"] = _flags(read, records["flags"][order], sizes)
    figures["measured_at"] = np.maximum.reduceat(records["measured_at"][order], starts)
    for name, decoded, describe in (
        ("cell", read.cells.decoded, _cell),
        ("environment", read.environments.decoded, _environment),
        ("source", read.sources.decoded, _source),
    ):
        rows, numbers = [describe(each) for each in decoded], records[name][standing]
        for column, value in rows[0].items():
            values = [row[column] for row in rows]
            if isinstance(value, str):
                texts[column] = Texts.picked(numbers, values)
            else:
                figures[column] = np.array(values, dtype=np.float64)[numbers]
    figures["threads"] = np.where(texts["device_type"].are("cpu"), figures["threads"], np.nan)
    return figures, texts


def _flags(read: _Read, numbers: Indices, sizes: Indices) -> Texts:
    """The flags of all processes."""
    starts = np.cumsum(sizes) - sizes
    known = list(read.said.texts["flags"])
    texts = Numbers()
    codes = np.array([texts[_joined(flags)] for flags in known], dtype=np.int64)[numbers[starts]]
    for row in np.flatnonzero(np.maximum.reduceat(numbers, starts) != np.minimum.reduceat(numbers, starts)):
        members = numbers[starts[row] : starts[row] + sizes[row]]
        codes[row] = texts[_joined(flag for each in members for flag in known[each])]
    return Texts.picked(codes, list(texts))


def _joined(flags: Iterable[str]) -> str:
    return " ".join(sorted(set(flags)))


def _cell(cell: Cell) -> dict[str, Any]:
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


def _environment(environment: Environment) -> dict[str, Any]:
    texts = ("transformers", "python", "platform", "accelerator", "driver", "triton", "commit")
    return {
        "device_name": short_name(environment.device_name),
        "torch": environment.torch,
        "cores": _nan(environment.cores),
        "threads": _nan(environment.threads),  # on a CPU only: see where it is used
        "memory_gb": _nan(environment.memory_gb),
        "settings": json.dumps(environment.settings, sort_keys=True, ensure_ascii=False),
        "malloc": "keep" if KEEP_MEMORY.items() <= environment.settings.items() else "default",
        **{name: getattr(environment, name) or "" for name in texts},
    }


def _source(source: Source | None) -> dict[str, str]:
    names = ("title", "url", "date", "licence", "note")
    files = " ".join(source.files) if source else ""
    return {f"source_{name}": getattr(source, name, None) or "" for name in names} | {"source_files": files}


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


_NOISE = re.compile(r"\((?:R|TM|C)\)|\b(?:NVIDIA|Tesla|GeForce|CPU|Processor|\d+-Core)\b|[®™@]", re.IGNORECASE)


def short_name(device_name: str) -> str:
    """What people call a device: ``A100`` for "NVIDIA A100", ``T4`` for "Tesla T4", ``Intel Xeon 2.50 GHz`` for
    "Intel(R) Xeon(R) Processor @ 2.50GHz". Only brands and filler go, so different products stay different."""
    name = re.sub(r"(?<=\d)GHz", " GHz", _NOISE.sub(" ", device_name))
    return " ".join(name.split()) or device_name.strip() or "?"


# ── Figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Measurements:
    """All measurements of a batch, each figure an array of shape (measurements,)."""

    def __init__(self, read: _Read, figures: dict[str, Array], lists: Mapping[str, Ragged]) -> None:
        self.graphs, self.throttled = read.graphs, read.throttled
        self.lists = dict(lists)
        self.figures = figures
        for arm in ARMS:
            mean, printed = figures[f"{arm}_published_mean_ms"], figures[f"{arm}_published_median_ms"]
            figures[f"{arm}_published_ms"] = np.where(np.isnan(printed), mean, printed)
            figures[f"{arm}_latency"] = lists[f"{arm}_rounds"].medians()
            figures[f"{arm}_device_ms"] = lists[f"{arm}_device"].medians()
        eager, compiled = (figures[f"{arm}_batch_size"] for arm in ARMS)
        alike = (eager == compiled) | (np.isnan(eager) & np.isnan(compiled))
        self.comparable = (figures["compiled_is"] > 0) & alike
        self._pair()

    def _pair(self) -> None:
        """What each round of both arms says: it was measured back to back."""
        eager, compiled = (self.lists[f"{arm}_rounds"] for arm in ARMS)
        common = np.where(self.comparable, np.minimum(eager.lengths, compiled.lengths), 0)
        eager, compiled = eager.cut(common), compiled.cut(common)
        self.lists["speedup"] = Ragged(eager.flat / compiled.flat, common)
        self.lists["saving"] = Ragged(eager.flat - compiled.flat, common)
        for name in ("speedup", "saving"):
            self.figures[name] = self.lists[name].medians()


def _figures(
    sample: _Measurements, at: Indices, processes: Indices, batch_sizes: Array
) -> tuple[dict[str, Array], dict[str, Texts]]:
    """What the measurements say, in figures and in words. `at` are the measurements, cell by cell; `processes` says how
    many each cell has."""
    rows = len(processes)
    found: dict[str, Array] = defaultdict(lambda: np.full(rows, np.nan))
    texts: dict[str, list[str]] = defaultdict(lambda: [""] * rows)
    starts = np.cumsum(processes) - processes
    found["processes"] = processes.astype(np.float64)
    for size in np.unique(processes[processes > 0]).tolist():
        where = np.flatnonzero(processes == size)
        cells = _Cells(sample, at[starts[where][:, None] + np.arange(size)], batch_sizes[where])
        for name, values in cells.figures().items():
            found[name][where] = values
        for name, several in cells.texts().items():
            column = texts[name]
            for row, text in zip(where.tolist(), several, strict=True):
                column[row] = text
    return found, {name: Texts.of(column) for name, column in texts.items()}


Interval = tuple[Array, Array, Array]
"""Values and the ends of their intervals, each of shape (cells,)."""


class _Cells:
    """Cells of equally many processes. `at` has the position of each process's measurement, (cells, processes)."""

    def __init__(self, sample: _Measurements, at: Indices, batch_sizes: Array) -> None:
        self.sample, self.at, self.batch_sizes = sample, at, batch_sizes
        self.speedup = self._paired("speedup", np.divide, log=True)
        self.saving = self._paired("saving", np.subtract, log=False)
        work = self["flop"]
        first = np.argmax(~np.isnan(work), axis=1)[:, None]
        self.work = {name: np.take_along_axis(self[name], first, axis=1)[:, 0] for name in _PARTS["work"]}
        best = {name: np.fmin if name == "page_fault_s" else np.fmax for name in _PARTS["peaks"]}
        self.peaks = {name: choose.reduce(self[name], axis=1) for name, choose in best.items()}
        self.computing_s = self._computing_s()

    def _computing_s(self) -> Array:
        work, peaks = self.work, self.peaks
        convolved = np.where(np.isnan(peaks["convolution_flop_s"]), 0.0, np.nan_to_num(work["convolution_flop"]))
        apart = np.where(convolved > 0, convolved / peaks["convolution_flop_s"], 0.0)
        found: Array = (work["flop"] - convolved) / peaks["matmul_flop_s"] + apart
        return found

    def __getitem__(self, name: str) -> Array:
        """A figure of every process, shape (cells, processes)."""
        found: Array = self.sample.figures[name][self.at]
        return found

    def figures(self) -> dict[str, Array]:
        """The columns of numbers."""
        value, low, high = self.speedup
        found = {"speedup": value, "speedup_low": low, "speedup_high": high}
        found |= {"change": 1 / value - 1, "change_low": 1 / high - 1, "change_high": 1 / low - 1}
        for arm in ARMS:
            found |= self._arm(arm)
        compared = self.sample.comparable[self.at].all(axis=1)
        gigabytes = [found[f"{arm}_peak_memory_gb"] for arm in ARMS]
        compared &= gigabytes[0] != 0
        found["memory_change"] = np.where(compared, gigabytes[1] / gigabytes[0] - 1, np.nan)
        names = {"graphs": "graphs", "graph_breaks": "breaks", "cudagraph_skips": "cudagraph_skips"}
        names |= dict.fromkeys(("recompiles", "batch_size_recompiles", "max_relative_error"), "")
        found |= {name: _most(self[own or name]) for name, own in names.items()}
        return found | self._compilation() | self._phases() | self._efficiency() | self._telemetry()

    def texts(self) -> dict[str, list[str]]:
        """The columns of words."""
        judged = _judged(*self._paired("speedup", np.divide, log=True, confidence=VERDICT_CONFIDENCE)[1:])
        found = {"verdict": judged.tolist(), "causes": self._causes()}
        graphs, throttled = self.sample.graphs, self.sample.throttled
        told = {"graph_break_reasons": "breaks", "cudagraph_skip_reasons": "cudagraph_skips"}
        for name, counted in told.items():
            found[name] = [""] * len(self.at)
            for row in np.flatnonzero((self[counted] > 0).any(axis=1)).tolist():
                each = (graphs[at] for at in self.at[row])
                found[name][row] = _json_of(reason for one in each if one for reason in _REASONS[name](one))
        found["throttle_reasons"] = [""] * len(self.at)
        if any(throttled):
            for row, members in enumerate(self.at.tolist()):
                reasons = Counter[str]()
                for at in members:
                    reasons.update(throttled[at])
                found["throttle_reasons"][row] = json.dumps(reasons, sort_keys=True) if reasons else ""
        return found

    def _over_processes(self, name: str, medians: Array, *, log: bool, confidence: float) -> Interval:
        """`bench.statistics.over_processes` of the lists of `name`, whose medians are given."""
        known = ~np.isnan(medians)
        n = known.sum(axis=1)
        scale = np.log(medians) if log else medians
        centre = np.nansum(scale, axis=1) / n
        spread = np.sqrt(np.nansum((scale - centre[:, None]) ** 2, axis=1) / (n - 1))
        quantile = np.array([math.nan, math.nan, *(student(each - 1, confidence) for each in range(2, n.max() + 1))])
        reach = quantile[n] * spread / np.sqrt(n)
        ends = np.stack((centre, centre - reach, centre + reach))
        value, low, high = np.exp(ends) if log else ends
        alone = np.flatnonzero(n == 1)
        if alone.size:
            only = self.at[alone, known[alone].argmax(axis=1)]
            value[alone] = _most(medians[alone])
            low[alone], high[alone] = self.sample.lists[name].take(only).median_intervals(confidence)
        return value, low, high

    def _paired(self, name: str, combine: Any, *, log: bool, confidence: float = CONFIDENCE) -> Interval:
        """Over the pairs of rounds; where there are none, from what was published."""
        value, low, high = self._over_processes(name, self[name], log=log, confidence=confidence)
        comparable = self.sample.comparable[self.at]
        eager, compiled = (_middle(np.where(comparable, self[f"{arm}_published_ms"], np.nan)) for arm in ARMS)
        return np.where(np.isnan(value), combine(eager, compiled), value), low, high

    def _arm(self, arm: str) -> dict[str, Array]:
        name = f"{arm}_latency"
        value, low, high = self._over_processes(f"{arm}_rounds", self[name], log=True, confidence=CONFIDENCE)
        value = np.where(np.isnan(value), _middle(self[f"{arm}_published_ms"]), value)
        own = _middle(self[f"{arm}_batch_size"])
        images = np.where(np.isnan(own), self.batch_sizes, own)
        # A row tells one batch size: the latency of another would be taken for one of it. Images a second fit any.
        of_row = images == self.batch_sizes
        printed, samples = _middle(self[f"{arm}_published_images_s"]), self[f"{arm}_samples"].sum(axis=1)
        percentiles = {f"p{each}_ms": _middle(self[f"{arm}_p{each}_ms"]) for each in PERCENTILES}
        latencies = {"ms": value, "low_ms": low, "high_ms": high, **percentiles}
        return {
            **{f"{arm}_{end}": np.where(of_row, figures, np.nan) for end, figures in latencies.items()},
            f"{arm}_images_s": np.where(np.isnan(printed), images / value * 1e3, printed),
            f"{arm}_samples": np.where(samples > 0, samples, np.nan),
            f"{arm}_peak_memory_gb": _most(self[f"{arm}_peak_memory_gb"]),
            f"{arm}_peak_reserved_gb": _most(self[f"{arm}_peak_reserved_gb"]),
            f"{arm}_minor_faults_per_call": _middle(self[f"{arm}_minor_faults_per_call"]),
            f"{arm}_device_ms": _middle(self[f"{arm}_device_ms"]),
        }

    def _compilation(self) -> dict[str, Array]:
        value, low, high = self.saving
        found: dict[str, Array] = {}
        for cache, column in (("cold", "break_even_calls"), ("warm", "break_even_warm_calls")):
            seconds = found[f"compile_{cache}_s"] = _middle(self[f"{cache}_s"])
            cost_ms = np.where(np.isnan(value), np.nan, np.maximum(seconds * 1e3, 0.0))
            for end, saving in (("", value), ("_low", high), ("_high", low)):
                found[column + end] = _calls(cost_ms, saving)
        return found

    def _phases(self) -> dict[str, Array]:
        """Of compiling with an empty cache."""
        is_cold = ~np.isnan(self["cold_s"])
        return {f"{name}_s": _middle(np.where(is_cold, self[f"{name}_s"], np.nan)) for name in PHASES}

    def _efficiency(self) -> dict[str, Array]:
        """What a call has to do, at what rate each arm does it, and what the device says of itself meanwhile."""
        work, peaks = self.work, self.peaks
        found = {name: work[name] for name in ("flop", "traffic_bytes")}
        found |= {name: peaks[name] for name in ("matmul_flop_s", "copy_bytes_s")}
        for arm, moved in zip(ARMS, ("traffic_bytes", "compiled_traffic_bytes"), strict=True):
            latency_ms = _middle(self[f"{arm}_latency"])
            bytes_moved = np.where(work[moved] > 0, work[moved], np.nan)
            found |= {
                f"{arm}_host_bound": self._host_bound(arm),
                f"{arm}_flop_s": work["flop"] / latency_ms * 1e3,
                f"{arm}_matmul_share": self.computing_s / latency_ms * 1e3,
                f"{arm}_copy_share": bytes_moved / latency_ms * 1e3 / peaks["copy_bytes_s"],
                f"{arm}_image_j": _middle(self[f"{arm}_energy_j"])
                / np.where(self.batch_sizes > 0, self.batch_sizes, np.nan),
            }
        return found

    def _host_bound(self, arm: str) -> Array:
        return _middle(np.maximum(1 - self[f"{arm}_device_ms"] / self[f"{arm}_latency"], 0.0))

    def _host_ms(self, arm: str) -> Array:
        return _middle(np.maximum(self[f"{arm}_latency"] - self[f"{arm}_device_ms"], 0.0))

    def _telemetry(self) -> dict[str, Array]:
        cells, size = self.at.shape
        sizes = np.full(cells, size)
        readings = {name: self.sample.lists[name].take(self.at.ravel()).merged(sizes) for name in _READINGS}
        hottest = np.full(cells, np.nan)
        for where, lists in readings["temperature_c"].by_length():
            hottest[where] = lists.max(axis=1)
        found = {"clock_mhz": readings["clock_mhz"].medians(), "power_w": readings["power_w"].medians()}
        for name in ("repeated_rounds", "throttled_rounds"):
            told = self[name]
            found[name] = np.where(np.isnan(told).all(axis=1), np.nan, np.nansum(told, axis=1))
        return {**found, "temperature_c": hottest}

    # ── Causes, as `bench.cause` defines them ─────────────────────────────────────────────────────────────────────────

    def _causes(self) -> list[str]:
        ratio, low, high = self.speedup
        judged = _judged(low, high)
        gains = self._gains()
        obstacles = self._obstacles()
        never: list[tuple[Cause, Array, Any]] = [
            (Cause.HOST_BOUND, self._host_bound("compiled"), self._host_bound("compiled") >= HOST_BOUND),
            (Cause.NEVER_PAYS_BACK, ratio, np.ones(len(ratio), dtype=bool)),
        ]
        faster = judged == "faster"
        lost = (judged == "slower") | (judged == "same")
        found: list[list[tuple[float, str, float]]] = [[] for _ in ratio]
        for cause, figures, ms in gains:
            counts = faster & (ms >= EXPLAINS * self.saving[0])
            for row in np.flatnonzero(counts & ~np.isnan(figures)).tolist():
                found[row].append((-float(ms[row]), cause.value, float(figures[row])))
        for row in {row for row, causes in enumerate(found) if len(causes) > 1}:
            found[row].sort(key=lambda gain: gain[0])
        for among, causes in ((np.ones(len(ratio), dtype=bool), obstacles), (lost, never)):
            for cause, figures, holds in causes:
                whole = cause in _COUNTED
                for row in np.flatnonzero(among & holds).tolist():
                    found[row].append((0.0, cause.value, int(figures[row]) if whole else float(figures[row])))
        return [json.dumps([each[1:] for each in causes]) if causes else "" for causes in found]

    def _gains(self) -> list[tuple[Cause, Array, Array]]:
        """What a cause tells, and the milliseconds that it saves of a call; nan for none."""
        work, peaks = self.work, self.peaks
        waiting = self._host_bound("eager")
        host_ms = self._host_ms("eager") - self._host_ms("compiled")
        less = work["traffic_bytes"] - work["compiled_traffic_bytes"]
        streaming_s = work["streamed_bytes"] / peaks["copy_bytes_s"]
        streams = streaming_s / (streaming_s + self.computing_s) >= MEMORY_BOUND
        moves_less = work["compiled_traffic_bytes"] <= LESS_TRAFFIC * work["traffic_bytes"]
        faults = [_middle(self[f"{arm}_minor_faults_per_call"]) for arm in ARMS]
        fewer = faults[0] - faults[1]
        return [
            (Cause.HOST_BOUND, np.where(waiting >= HOST_BOUND, waiting, np.nan), host_ms),
            (
                Cause.MEMORY_BOUND,
                np.where(streams & moves_less, less / work["traffic_bytes"], np.nan),
                less / peaks["copy_bytes_s"] * 1e3,
            ),
            (Cause.PAGE_FAULTS, fewer, fewer * peaks["page_fault_s"] * 1e3),
        ]

    def _obstacles(self) -> list[tuple[Cause, Array, Any]]:
        counts = [
            (Cause.CUDAGRAPH_SKIPS, _most(self["cudagraph_skips"])),
            (Cause.GRAPH_BREAKS, _most(self["breaks"])),
            (Cause.RECOMPILES, _most(self["recompiles"])),
        ]
        share = self.computing_s / _middle(self["eager_latency"]) * 1e3
        obstacles: list[tuple[Cause, Array, Any]] = [(cause, most, most > 0) for cause, most in counts]
        return [*obstacles, (Cause.AT_THE_PEAK, share, share >= AT_THE_PEAK)]


_COUNTED = {Cause.CUDAGRAPH_SKIPS, Cause.GRAPH_BREAKS, Cause.RECOMPILES}

_REASONS: Mapping[str, Callable[[Graphs], Iterable[Any]]] = {
    "graph_break_reasons": lambda graphs: (
        {"reason": each.reason, "location": each.location or ""} for each in graphs.breaks
    ),
    "cudagraph_skip_reasons": lambda graphs: graphs.cudagraph_skips,
}


def _judged(low: Array, high: Array) -> NDArray[Any]:
    """`bench.statistics.judge` of each interval."""
    unknown = np.isnan(low) | np.isnan(high)
    same = (low >= 1 / (1 + SAME)) & (high <= 1 + SAME)
    return np.select([unknown, same, low > 1, high < 1], ["unknown", "same", "faster", "slower"], "ambiguous")


def _calls(cost_ms: Array, saving_ms: Array) -> Array:
    """Calls until `cost_ms` is paid, inf for never, nan where either is unknown."""
    unknown = np.isnan(cost_ms) | np.isnan(saving_ms)
    found: Array = np.where(unknown, np.nan, np.where(saving_ms > 0, cost_ms / saving_ms, np.inf))
    return found


def _middle(figures: Array) -> Array:
    """The median of each row over what is known, nan where nothing is."""
    n = (~np.isnan(figures)).sum(axis=1)
    if not n.any():  # as of most columns
        return np.full(len(figures), np.nan)
    ordered = np.sort(figures, axis=1)
    rows = np.arange(len(figures))
    last = np.maximum(n - 1, 0)
    found: Array = (ordered[rows, last // 2] + ordered[rows, (last + 1) // 2]) / 2
    return found


def _most(figures: Array) -> Array:
    """The largest of each row, nan where nothing is known."""
    found: Array = np.fmax.reduce(figures, axis=1)
    return found


def _json_of(values: Iterable[Any]) -> str:
    """Distinct values as a JSON list, in the order in which they first occur; nothing for none."""
    distinct = list({json.dumps(value, sort_keys=True): value for value in values}.values())
    return json.dumps(distinct, ensure_ascii=False) if distinct else ""
