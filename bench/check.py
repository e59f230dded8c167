"""Is what the record files say plausible? Every finding is listed, with file and line, field and remedy.

Enter paths; leave `Finding`s, none when all is well.

    python -m bench check
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench import quality, tour
from bench.errors import AtlasError
from bench.models import BY_LABEL
from bench.profiles import COMPILE_MODES, DEVICES, DTYPES
from bench.quality import QUALITY
from bench.record import Arm, Measurement, Record, Status, decode, run_files
from bench.tour import TOURS

LONGEST_CALL_MS = 3.6e6
"""An hour: a longer call is a unit taken for another."""

SHORTEST_CALL_MS = 1e-3
"""A microsecond: less than it takes to call a function."""

LARGEST_RATIO = 100.0
"""Between eager and compiled: what lies beyond is one arm measured wrongly."""

READERS: Mapping[str, Callable[[Path], object]] = {TOURS.name: tour.read, QUALITY.name: quality.read}
"""How to read a document, by the name of its folder."""

_MEASURE_AGAIN = "remove the line and measure the cell again: python -m bench run"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: what, in which field, where, and what to do; or a note, which is no fault."""

    where: str
    field: str
    what: str
    remedy: str
    is_note: bool = False

    def __str__(self) -> str:
        place = f"{self.where}: {self.field}" if self.field else self.where
        return f"{place}: {self.what}\n  remedy: {self.remedy}"


def check(paths: Iterable[Path]) -> Iterator[Finding]:
    """All that is wrong in the run files at or below `paths`. Raises `AtlasError` for a path that isn't there."""
    for path in paths:
        if not path.exists():
            raise AtlasError("there is no such file or directory", where=str(path), remedy="check the path")
        for file in files(path):
            yield from _check_document(file) if file.parent.name in READERS else _check_file(file)


def files(path: Path) -> list[Path]:
    """The run files at or below `path`, then the documents."""
    if path.is_file():
        return [path]
    return run_files(path) + [file for file in sorted(path.rglob("*.json")) if file.parent.name in READERS]


def _check_document(path: Path) -> Iterator[Finding]:
    try:
        READERS[path.parent.name](path)
    except AtlasError as error:
        yield Finding(error.where, "", error.what, error.remedy)


def _check_file(path: Path) -> Iterator[Finding]:
    lines = path.read_bytes().split(b"\n")
    seen: dict[tuple[Any, ...], int] = {}
    for number, line in enumerate(lines[:-1], start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = decode(line, where)
        except AtlasError as error:
            yield Finding(where, "", error.what, error.remedy)
            continue
        first = seen.setdefault(record.key, number)
        if first != number:
            yield Finding(where, "cell", f"says again what line {first} says", "remove one of the two lines")
        for field, what, remedy in _faults(record, path):
            yield Finding(where, field, what, remedy)
    if lines[-1].strip():
        yield Finding(
            f"{path}:{len(lines)}",
            "",
            "the last line is torn: a run was interrupted while it wrote",
            "run the same command again: it resumes, and measures that cell again",
            is_note=True,
        )


Fault = tuple[str, str, str]


def _faults(record: Record, path: Path) -> Iterator[Fault]:
    yield from _provenance(record, path)
    yield from _coordinates(record)
    if record.status is not Status.PASS and not record.reason:
        yield "reason", f"missing, although the status is {record.status}", "say in one line what happened"
    if record.status is Status.PASS and not (record.measurement and record.measurement.compiled):
        yield "measurement", "a passing cell has latencies of both arms", _MEASURE_AGAIN
    if record.measurement:
        yield from _latencies(record.measurement, record.origin)


def _provenance(record: Record, path: Path) -> Iterator[Fault]:
    if record.run != path.stem:
        yield "run", f"is {record.run!r} in the file of run {path.stem!r}", "move the line to its own file"
    if record.origin == "published" and record.source is None:
        yield "source", "missing: a published figure says where it comes from", "add title, url, date and licence"
    if record.origin == "measured":
        if record.measured_at is None:
            yield "measured_at", "missing", _MEASURE_AGAIN
        elif record.measured_at > datetime.now(UTC) + timedelta(days=1):
            yield "measured_at", f"{record.measured_at:%Y-%m-%d} is in the future", "set the clock, and measure again"


def _coordinates(record: Record) -> Iterator[Fault]:
    cell = record.cell
    for field, value, known in (
        ("device", cell.device, DEVICES),
        ("dtype", cell.dtype, DTYPES),
        ("compile_mode", cell.compile_mode, COMPILE_MODES),
    ):
        if value not in known:
            yield f"cell.{field}", f"{value!r} is not known", f"one of {', '.join(known)}"
    if cell.batch_size < 1:
        yield "cell.batch_size", f"{cell.batch_size} is not positive", _MEASURE_AGAIN
    if record.process < 0:
        yield "process", f"{record.process} is negative", "count processes from 0"
    spec = BY_LABEL.get(cell.model)
    if spec and spec.checkpoint != cell.checkpoint:
        yield "cell.checkpoint", f"{cell.checkpoint!r} is not what {cell.model} stands for", f"it is {spec.checkpoint}"


def _latencies(measurement: Measurement, origin: str) -> Iterator[Fault]:
    eager, compiled, cost = measurement.eager, measurement.compiled, measurement.compilation
    yield from _arm("eager", eager, origin)
    if compiled:
        yield from _arm("compiled", compiled, origin)
        yield from _pair(eager, compiled)
    for name, seconds in (("cold_s", cost.cold_s), ("warm_s", cost.warm_s)) if cost else ():
        if seconds is not None and not 0 <= seconds < math.inf:
            yield f"measurement.compilation.{name}", f"{seconds:g} s is no duration", _MEASURE_AGAIN


def _arm(name: str, arm: Arm, origin: str) -> Iterator[Fault]:
    calls = _calls(arm)
    if not calls:
        yield f"measurement.{name}", "has no latency", _MEASURE_AGAIN
    elif origin == "measured" and not arm.rounds_ms:
        yield f"measurement.{name}.rounds_ms", "missing: raw samples are kept", _MEASURE_AGAIN
    strange = [call for call in calls if not SHORTEST_CALL_MS <= call <= LONGEST_CALL_MS]
    if strange:
        yield f"measurement.{name}", f"{strange[0]:g} ms is no latency of a model", "check the unit: milliseconds"


def _pair(eager: Arm, compiled: Arm) -> Iterator[Fault]:
    if len(compiled.rounds_ms) != len(eager.rounds_ms):
        yield "measurement.compiled.rounds_ms", "has not as many rounds as eager: they are pairs", _MEASURE_AGAIN
    calls = _calls(eager), _calls(compiled)
    if all(calls) and all(min(each) > 0 for each in calls):
        ratio = statistics.median(calls[0]) / statistics.median(calls[1])
        if not 1 / LARGEST_RATIO <= ratio <= LARGEST_RATIO:
            yield "measurement", f"eager ÷ compiled is {ratio:.3g}", "check that both arms are in milliseconds"


def _calls(arm: Arm) -> list[float]:
    published = [] if arm.published_mean_ms is None else [arm.published_mean_ms]
    return [call for calls in arm.rounds_ms for call in calls] or published
