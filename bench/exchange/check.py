"""Check record files, for example before a pull request adds them.

Takes paths; yields a `Problem` for each line that breaks the schema, has a mistake of units, repeats another line, or
identifies a person or a machine. Limits are wide, so that true surprises pass. The data lint (`generator.data.lint`)
marks what is only unusual, and refuses nothing.

    python -m bench check
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench.errors import AtlasError
from bench.records import scrub
from bench.records.documents import EXAMPLES, SELFCHECKS, read_capture, read_selfcheck
from bench.records.record import Record, Samples, Status, gave_nothing
from bench.records.run_file import COMPRESSED, SUFFIX, decode, lines, run_files, run_of

READERS: Mapping[str, Callable[[Path], object]] = {EXAMPLES.name: read_capture, SELFCHECKS.name: read_selfcheck}
"""The reader of each kind of document, by the name of its folder."""

SHORTEST_CALL_MS, LONGEST_CALL_MS = 1e-3, 3.6e6
"""A microsecond, in which no function is called, and an hour: beyond them, the unit is wrong."""

MAX_SPEEDUP_RATIO = 100.0
"""The largest ratio of eager and compiled: beyond it, one of them was measured wrongly."""

THROUGHPUT_SLACK = 2.0
"""The largest ratio between a published throughput and the one that its latency implies."""

Fault = tuple[str, str, str]
"""The field, what is wrong with it, and the remedy."""

_MEASURE_AGAIN = "remove the line and measure the case again: python -m bench run"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a record file, or a note, which is no fault."""

    where: str
    field: str
    what: str
    remedy: str
    is_note: bool = False

    def __str__(self) -> str:
        place = f"{self.where}: {self.field}" if self.field else self.where
        return f"{place}: {self.what}\n  remedy: {self.remedy}"


def check(paths: Iterable[Path]) -> Iterator[Problem]:
    """Yield the problems of all files at or below `paths`. Raises `AtlasError` for a path that does not exist."""
    for file in dict.fromkeys(file for path in paths for file in files(path)):
        try:
            if file.parent.name in READERS:
                READERS[file.parent.name](file)
            else:
                yield from _check_lines(file)
        except AtlasError as error:  # the rest of the file cannot be read
            yield Problem(error.where, "", error.what, error.remedy)


def files(path: Path) -> list[Path]:
    """Return the run files at or below `path`, then the documents. Raises `AtlasError` for a path of neither."""
    if not path.exists():
        raise AtlasError("there is no such file or directory", where=str(path), remedy="check the path")
    if path.is_file():
        if not path.name.removesuffix(COMPRESSED).endswith(SUFFIX) and path.parent.name not in READERS:
            remedy = f"give a run file, such as bench/results/measured/….{SUFFIX[1:]}, or a folder with run files"
            raise AtlasError(f"is not a run file: run files end with {SUFFIX}", where=str(path), remedy=remedy)
        return [path]
    return run_files(path) + sorted(file for file in path.rglob("*.json") if file.parent.name in READERS)


def _check_lines(path: Path) -> Iterator[Problem]:
    """Yield the problems of a run file."""
    first: dict[tuple[Any, ...], int] = {}
    complete, is_torn = lines(path)
    for number, line in enumerate(complete, start=1):
        where = f"{path}:{number}"
        if not line.strip():
            continue
        try:
            record = decode(line, where)
        except AtlasError as error:
            yield Problem(error.where, "", error.what, error.remedy)
            continue
        if (earlier := first.setdefault(record.key, number)) != number:
            yield Problem(where, "cell", f"repeats line {earlier}", "remove one of the two lines")
        if record.run != run_of(path):
            what = f"is {record.run!r} in the file of run {run_of(path)!r}"
            yield Problem(where, "run", what, "move the line to its own file")
        for field, what, remedy in _faults(record):
            yield Problem(where, field, what, remedy)
    if is_torn:
        what = "the last line is incomplete: a run was interrupted while writing it"
        remedy = "run the same command again: it resumes and measures that case again"
        yield Problem(f"{path}:{len(complete)}", "", what, remedy, is_note=bool(first))


def _faults(record: Record) -> Iterator[Fault]:
    if record.origin == "published" and record.source is None:
        yield "source", "missing: a published result must state its source", "add title, url, date and licence"
    if record.origin == "measured" and record.measured_at is None:
        yield "measured_at", "missing", _MEASURE_AGAIN
    if record.status is not Status.PASS and not record.reason:
        yield "reason", f"missing, although the status is {record.status}", "state in one line what happened"
    if record.status is Status.PASS and gave_nothing(record):
        yield "measurement", "missing or without compiled latencies, although the status is pass", _MEASURE_AGAIN
    for field, value in msgspec.to_builtins(msgspec.structs.replace(record, source=None)).items():
        for text in _texts(value):
            if detail := scrub.private(text):
                remedy = f"replace the text with {scrub.anonymous(text)!r}"
                yield field, f"contains a private detail: {detail!r}", remedy
    yield from _faults_of_latencies(record)


def _faults_of_latencies(record: Record) -> Iterator[Fault]:
    """Yield missing samples, rounds that are no pairs, and mistakes of units."""
    measurement = record.measurement
    if measurement is None or (record.origin == "published" and record.status is Status.SKIPPED):
        return
    eager, compiled = measurement.eager, measurement.compiled
    sides = {"eager": eager} | ({"compiled": compiled} if compiled else {})
    faults = [fault for name, samples in sides.items() for fault in _faults_of_a_side(name, samples, record)]
    yield from faults
    if compiled is None or faults:  # which would only be told again
        return
    if measurement.interleaved and len(compiled.rounds_ms) != len(eager.rounds_ms):
        what = "has a different number of rounds from eager, but rounds come in pairs"
        yield "measurement.compiled.rounds_ms", what, _MEASURE_AGAIN
    ratio = statistics.median(_calls(eager)) / statistics.median(_calls(compiled))
    if measurement.is_comparable and not 1 / MAX_SPEEDUP_RATIO <= ratio <= MAX_SPEEDUP_RATIO:
        yield "measurement", f"eager ÷ compiled is {ratio:.3g}", "check that both variants are in milliseconds"


def _faults_of_a_side(name: str, samples: Samples, record: Record) -> Iterator[Fault]:
    field, calls = f"measurement.{name}", _calls(samples)
    if not calls:
        yield field, "has no latency", _MEASURE_AGAIN
        return
    if record.origin == "measured" and not samples.rounds_ms:
        yield f"{field}.rounds_ms", "missing: a measured record contains its raw samples", _MEASURE_AGAIN
    for each in [each for each in calls if not SHORTEST_CALL_MS <= each <= LONGEST_CALL_MS][:1]:
        yield field, f"{each:g} ms is not a plausible latency of a model", "check the unit: milliseconds"
        return
    stated = samples.published_images_s
    implied = (samples.batch_size or record.cell.batch_size) / statistics.median(calls) * 1e3
    if stated and implied and not 1 / THROUGHPUT_SLACK <= stated / implied <= THROUGHPUT_SLACK:
        what = f"{stated:g} images/s contradict its latency, which implies {implied:.4g}"
        yield f"{field}.published_images_s", what, "check the unit, and that it is the time of the whole batch"


def _calls(samples: Samples) -> list[float]:
    """Return the latencies of all calls in ms, or the published latency if there are no calls."""
    published = [] if samples.published_mean_ms is None else [samples.published_mean_ms]
    return [call for each in samples.rounds_ms for call in each] or published


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list | tuple) and not (value and isinstance(value[0], int | float)):
        for each in value:
            yield from _texts(each)
