"""Lines: run files enter, arrays leave, with a number for each line or for each measurement.

What the lines of a run have in common, cell and environment, is decoded once; the calls of thousands of variants are
decoded as one list. A line that is wrong is read again by `bench.records.run_file`, which says what is wrong with it.

    python -m pytest tests/generator/data/test_lines.py
"""

from __future__ import annotations

import math
import typing
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import chain, compress, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.records import run_file
from bench.records.record import (
    PHASES,
    SCHEMA,
    WORST_FIRST,
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
    Variant,
    Whole,
)
from bench.statistics.causes import VariantName
from bench.statistics.statistics import PERCENTILE_FLOORS
from generator.data.columns import Array, Indices, Numbers, Ragged, sums

VARIANTS: tuple[VariantName, ...] = ("eager", "compiled")

PERCENTILES = (90, 99)
"""Those that pages show."""

PARTS: Mapping[str, Sequence[str]] = {
    "compilation": ("cold_s", "warm_s"),
    "work": ("flop", "traffic_bytes", "streamed_bytes", "compiled_traffic_bytes", "convolution_flop"),
    "peaks": ("matmul_flop_s", "copy_bytes_s", "page_fault_s", "convolution_flop_s"),
    "graphs": ("graphs", "recompiles", "batch_size_recompiles", "breaks", "cudagraph_skips"),
    "accuracy": ("max_relative_error",),
    "telemetry": ("repeated_rounds", "throttled_rounds"),
}
"""Figures of a measurement that are read as they are; of what is a list, how long it is."""

PUBLISHED = ("published_mean_ms", "published_median_ms", "published_images_s")
READINGS = ("clock_mhz", "temperature_c", "power_w")

TOGETHER = 2_000
"""Lines from which arrays are made at once: of few, making them takes longer than reading."""

SHORTEST_MS, LONGEST_MS = 1e-9, 1e12
"""Between these a figure can be a latency or a throughput: a picosecond, and thirty years."""

UNKNOWN_TIME = np.iinfo(np.int64).min
"""Where a record does not say when it was measured."""


_NOTHING = msgspec.Raw(b"null")


class _Variant(Variant, frozen=True, kw_only=True):
    """An `Variant` whose calls are left as they are written: those of many are read at once."""

    rounds_ms: msgspec.Raw = msgspec.Raw(b"[]")  # type: ignore[assignment]


class _Measurement(Measurement, frozen=True, kw_only=True):
    eager: _Variant
    compiled: _Variant | None = None


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
    source: msgspec.Raw = _NOTHING
    command: str | None = None
    contributor: str | None = None
    node: str | None = None
    plan: str | None = None
    flags: tuple[str, ...] = ()


class _Gave(msgspec.Struct, frozen=True, kw_only=True):
    """A `Measurement` of which only is seen whether it has a pair of latencies."""

    compiled: msgspec.Raw = _NOTHING


class _Named(_Line, frozen=True, kw_only=True):
    """A line without what was measured."""

    measurement: _Gave | None = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of some run files, in their order.

    `records` has a number for each line, shape (lines,): that of its file, its process, its status in the order of
    `WORST_FIRST`, its time in microseconds, whether it has a measurement, whether that gave a pair of latencies, and
    the place of its cell, its environment, its source and each of its texts among those that there are. `figures`, nan
    where unknown, and `lists` are of measurements, as are `graphs` and `throttled`: of the lines that have one.
    """

    paths: Sequence[Path]
    records: Mapping[str, Indices]
    cells: Sequence[Cell]
    environments: Sequence[Environment]
    sources: Sequence[Source | None]
    texts: Mapping[str, Sequence[Any]]
    figures: Mapping[str, Array]
    lists: Mapping[str, Ragged]
    graphs: Sequence[Graphs | None]
    throttled: Sequence[Mapping[str, int]]

    def __len__(self) -> int:
        return len(self.records.get("file", ()))


def read(paths: Sequence[Path], *, measured: bool = True) -> Lines:
    """The lines of some run files, `measured` or only what names them; what an interrupted write left behind is none.

    Raises `AtlasError` for the first line that is broken, or of an unknown schema.
    """
    try:
        return _Reader(measured=measured).read(paths)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, _NotReadableError):
        for path in paths:
            for _ in run_file.read(path):  # says what is wrong with which line
                pass
        raise


def moment(number: int) -> datetime | None:
    """The time that a number in the column ``measured_at`` stands for."""
    return None if number == UNKNOWN_TIME else _EPOCH + number * _MICROSECOND


# ── What lines have in common ───────────────────────────────────────────────────────────────────────────────────────


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


_NO_VARIANT, _SILENT = _Variant(), Telemetry()
_RANK = {status: rank for rank, status in enumerate(WORST_FIRST)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_OF_VARIANT = ("batch_size", "peak_memory_gb", "peak_reserved_gb", "minor_faults_per_call", "energy_j", *PUBLISHED)
_TEXTS = ("run", "origin", "profile", "reason", "command", "contributor", "node", "plan", "flags")
_KINDS = {name: typing.get_type_hints(Record, include_extras=True)[name] for name in _TEXTS}
_SHARED = {"cell": Cell, "environment": Environment, "source": Source | None}


# ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Reader:
    """Makes an array of each block of lines."""

    def __init__(self, *, measured: bool) -> None:
        self._measured = measured
        self._decode = msgspec.json.Decoder(_Line if measured else _Named).decode
        self._decoded = {name: _Decoded(kind) for name, kind in _SHARED.items()}
        self._said = _Said()
        self._records: defaultdict[str, list[Indices]] = defaultdict(list)
        self._figures: defaultdict[str, list[Array]] = defaultdict(list)
        self._lists: defaultdict[str, list[Ragged]] = defaultdict(list)
        self._graphs: list[Graphs | None] = []
        self._throttled: list[Mapping[str, int]] = []

    def read(self, paths: Sequence[Path]) -> Lines:
        """All lines of these files, but for those that are still being written."""
        written = (
            (file, text) for file, path in enumerate(paths) for _, text in run_file.lines(path) if text.endswith(b"\n")
        )
        while block := list(islice(written, TOGETHER)):
            files, texts = zip(*block, strict=True)
            self._add(files, list(map(self._decode, texts)))
        decoded = {name: each.decoded for name, each in self._decoded.items()}
        records = {name: np.concatenate(blocks) for name, blocks in self._records.items()}
        records |= self._said.columns(records["said"]) if records else {}
        return Lines(
            paths=paths,
            records=records,
            cells=decoded["cell"],
            environments=decoded["environment"],
            sources=decoded["source"],
            texts={name: list(texts) for name, texts in self._said.texts.items()},
            figures={name: np.concatenate(blocks) for name, blocks in self._figures.items()},
            lists={name: Ragged.joined(blocks) for name, blocks in self._lists.items()},
            graphs=self._graphs,
            throttled=self._throttled,
        )

    def _add(self, files: Sequence[int], lines: Sequence[_Line]) -> None:
        """Make arrays of these lines, of which `files` are the positions of their files."""
        schemas, years = {each.schema for each in lines}, {each.measured_at.year for each in lines if each.measured_at}
        if not all(1 <= each <= SCHEMA for each in schemas) or not all(2000 <= each < 2200 for each in years):
            raise _NotReadableError
        found: dict[str, Iterable[int]] = {
            "file": files,
            "process": [each.process for each in lines],
            "status": [_RANK[each.status] for each in lines],
            "measured_at": [_time(each.measured_at) for each in lines],
            "is_measured": [each.measurement is not None for each in lines],
            "gave": [_gave(each.measurement) for each in lines],
            "said": map(self._said.__getitem__, map(attrgetter(*_TEXTS), lines)),
        }
        for name, decoded in self._decoded.items():
            found[name] = map(decoded.__getitem__, map(bytes, map(attrgetter(name), lines)))
        for name, values in found.items():
            self._records[name].append(np.fromiter(values, np.int64, len(lines)))
        if self._measured:
            self._add_measurements([each.measurement for each in lines if each.measurement is not None])

    def _add_measurements(self, measurements: Sequence[_Measurement]) -> None:
        for variant in VARIANTS:
            self._add_variants(variant, list(map(attrgetter(variant), measurements)))
        for part, names in PARTS.items():
            self._add_figures("", names, list(map(attrgetter(part), measurements)))
        phases = [each.compilation.phases_s if each.compilation else {} for each in measurements]
        for name in PHASES:
            self._figures[f"{name}_s"].append(np.array([each.get(name, math.nan) for each in phases]))
        telemetry = [each.telemetry or _SILENT for each in measurements]
        for name in READINGS:
            self._lists[name].append(Ragged.of([getattr(each, name) for each in telemetry]))
        self._graphs += [each.graphs for each in measurements]
        self._throttled += [each.throttle_reasons for each in telemetry]

    def _add_variants(self, name: str, variants: Sequence[_Variant | None]) -> None:
        self._add_figures(f"{name}_", _OF_VARIANT, variants)
        known = [_NO_VARIANT if variant is None else variant for variant in variants]
        calls, rounds = _rounds([bytes(variant.rounds_ms) for variant in known])
        odd = ~((calls.flat >= SHORTEST_MS) & (calls.flat < LONGEST_MS))
        samples = calls.merged(rounds)
        found = {
            "is": np.array([variant is not None for variant in variants]),
            "samples": samples.lengths,
            "odd_calls": sums(odd, samples.lengths),
            **{f"p{each}_ms": samples.percentiles(each, PERCENTILE_FLOORS[each]) for each in PERCENTILES},
        }
        for column, values in found.items():
            self._figures[f"{name}_{column}"].append(values.astype(np.float64))
        medians = calls.medians()
        alone = np.flatnonzero(np.repeat(rounds == 1, rounds))  # blocks of the protocol of 2023: their mean
        blocks = calls.take(alone)
        medians[alone] = np.add.reduceat(blocks.flat, blocks.starts) / blocks.lengths
        self._lists[f"{name}_rounds"].append(Ragged(medians, rounds))
        self._lists[f"{name}_device"].append(Ragged.of([variant.device_ms for variant in known]))

    def _add_figures(self, prefix: str, names: Iterable[str], values: Sequence[Any]) -> None:
        """The attributes `names` of some values, of a list how long it is; nan where one or the whole value is None."""
        known = [at for at, value in enumerate(values) if value is not None]
        some = [values[at] for at in known]
        for name in names:
            found = list(map(attrgetter(name), some))
            if found and isinstance(found[0], tuple):
                found = list(map(len, found))
            figures = np.full(len(values), np.nan)
            if found.count(None) < len(found):
                figures[known] = found
            self._figures[prefix + name].append(figures)


class _NotReadableError(Exception):
    """The quick way does not read this line: the slow one tells why."""


_calls_of = msgspec.json.Decoder(list[Number]).decode
_rounds_of = msgspec.json.Decoder(typing.get_type_hints(Variant, include_extras=True)["rounds_ms"]).decode


def _rounds(variants: Sequence[bytes]) -> tuple[Ragged, Indices]:
    """The calls of all rounds, none of which is without any, and how many rounds each variant has.

    Most of a run file are these. So all numbers are decoded as one list, and what stands between them tells where each
    round and variant ends: half the time of lists in lists.
    """
    filled = [variant != b"[]" for variant in variants]
    text = b",".join(compress(variants, filled))
    ends = text.translate(None, b"+-.0123456789Ee").replace(b"],[", b"r").replace(b"]r[", b"a")
    if ends[:2] + ends[2:-2].translate(None, b",ra") + ends[-2:] != b"[[]]":  # written by hand: with spaces, or wrong
        lists = [_rounds_of(variant) for variant in variants]
        return Ragged.of(list(chain.from_iterable(lists))), np.fromiter(map(len, lists), np.int64, len(lists))
    calls = _calls_of(b"[%b]" % text.translate(None, b"[]"))
    of_calls = np.frombuffer(ends[2:-2] + b"a", np.uint8)
    if len(calls) != len(of_calls):
        raise _NotReadableError
    of_rounds = np.flatnonzero(of_calls != ord(","))
    of_variants = np.flatnonzero(of_calls[of_rounds] == ord("a"))
    rounds = np.zeros(len(variants), np.int64)
    rounds[filled] = np.diff(of_variants, prepend=-1)
    return Ragged(np.fromiter(calls, np.float64, len(calls)), np.diff(of_rounds, prepend=-1)), rounds


def _gave(measurement: _Measurement | _Gave | None) -> bool:
    return measurement is not None and measurement.compiled not in (None, _NOTHING)


def _time(at: datetime | None) -> int:
    return UNKNOWN_TIME if at is None else (at - _EPOCH) // _MICROSECOND
