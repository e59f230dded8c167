"""Check record files, for example before a pull request adds them.

Takes paths; yields a `Problem` for each line that breaks the schema, is implausible (`bench.records.plausibility`),
duplicates a record of the atlas, or identifies a person or a machine.

    python -m bench check
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from bench.choices import existing
from bench.errors import AtlasError
from bench.plans import checkpoints
from bench.plans.models import BY_CHECKPOINT, BY_LABEL
from bench.records import examples, plausibility, scrub, selfcheck
from bench.records.examples import EXAMPLES
from bench.records.plausibility import Fault
from bench.records.record import COMPILE_MODES, DEVICES, DTYPES, RESULTS, Cell, Measurement, Record, Status
from bench.records.run_file import COMPRESSED, SUFFIX, decode, lines, run_files, run_of
from bench.records.selfcheck import SELFCHECKS

READERS: Mapping[str, Callable[[Path], object]] = {EXAMPLES.name: examples.read, SELFCHECKS.name: selfcheck.read}
"""The reader of each kind of document, by the name of its folder."""

CLOCK_TOLERANCE = timedelta(minutes=10)
"""How far the clocks of two machines may be apart. Both tell UTC, so time zones make no difference."""

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


def check(paths: Iterable[Path], atlas: Path = RESULTS, *, now: datetime | None = None) -> Iterator[Problem]:
    """Yield the problems of all files at or below `paths`, on their own and compared with the `atlas`.

    Nothing can have been measured after `now`, by default the time of the system's clock. Raises `AtlasError` for a
    path that does not exist.
    """
    checked = {file.resolve(): file for path in paths for file in files(existing(path))}
    runs = [file for file in checked.values() if file.parent.name not in READERS]
    earliest = _earliest([*(file for file in run_files(atlas) if file.resolve() not in checked), *runs])
    for file in checked.values():
        try:
            if file in runs:
                yield from _check_lines(file, earliest, now or datetime.now(UTC))
            else:
                READERS[file.parent.name](file)
        except AtlasError as error:  # the rest of the file cannot be read
            yield Problem(error.where, "", error.what, error.remedy)


def files(path: Path) -> list[Path]:
    """Return the run files at or below `path`, then the documents. Raises `AtlasError` for a file that is neither."""
    if path.is_file():
        if not path.name.removesuffix(COMPRESSED).endswith(SUFFIX) and path.parent.name not in READERS:
            remedy = f"give a run file, such as bench/results/measured/….{SUFFIX[1:]}, or a folder with run files"
            raise AtlasError(f"is not a run file: run files end with {SUFFIX}", where=str(path), remedy=remedy)
        return [path]
    documents = (file for file in sorted(path.rglob("*")) if file.parent.name in READERS)
    return run_files(path) + [file for file in documents if file.suffix == ".json"]


def _check_lines(path: Path, earliest: Mapping[bytes, str], now: datetime) -> Iterator[Problem]:
    seen: dict[tuple[Any, ...], int] = {}
    for number, line in lines(path):
        where = f"{path}:{number}"
        if not line.endswith(b"\n"):
            what = "the last line is incomplete: a run was interrupted while writing it"
            if b"\0" in line:
                what = "ends with zero bytes: a power cut left them, or this is not a run file"
            remedy = "run the same command again: it resumes and measures that case again"
            yield Problem(where, "", what, remedy, is_note=bool(seen))
            return
        try:
            record = decode(line, where)
        except AtlasError as error:
            yield Problem(error.where, "", error.what, error.remedy)
            continue
        first = seen.setdefault(record.key, number)
        if first != number:
            yield Problem(where, "cell", f"repeats line {first}", "remove one of the two lines")
        elif (place := earliest.get(_fingerprint(record), where)) != where:
            remedy = "remove the line: the atlas already has these measurements"
            yield Problem(where, "cell", f"repeats {place}", remedy)
        if record.run != run_of(path):
            what = f"is {record.run!r} in the file of run {run_of(path)!r}"
            yield Problem(where, "run", what, "move the line to its own file")
        for field, what, remedy in _faults(record, now):
            yield Problem(where, field, what, remedy)


def _earliest(paths: Iterable[Path]) -> Mapping[bytes, str]:
    """Return the place of the first copy of each record."""
    places: dict[bytes, str] = {}
    for path in paths:
        with suppress(AtlasError):  # reported when the file itself is checked
            for number, line in lines(path):
                with suppress(AtlasError):  # likewise
                    places.setdefault(_fingerprint(decode(line, "")), f"{path}:{number}")
    return places


def _fingerprint(record: Record) -> bytes:
    """Return a hash that is equal for duplicates, whatever their run is called.

    Duplicates share the cell, device and torch, and further the source if published, else time, process and samples.
    """
    if record.origin == "published":
        content: Any = (record.source.url if record.source else None, record.process)
    else:
        content = (record.measured_at, record.process, record.measurement)
    environment = (record.environment.device_name, record.environment.torch)
    return hashlib.sha256(msgspec.json.encode((record.cell, environment, content))).digest()


# ── One record ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _faults(record: Record, now: datetime) -> Iterator[Fault]:
    yield from _provenance(record, now)
    yield from _coordinates(record.cell)
    is_local = record.cell.digest or record.cell.model_type
    yield from _local(record.cell) if is_local else _of_the_table(record)
    if record.status is not Status.PASS and not record.reason:
        yield "reason", f"missing, although the status is {record.status}", "state in one line what happened"
    if record.status is Status.PASS and not (record.measurement and record.measurement.compiled):
        yield "measurement", "missing or without compiled latencies, although the status is pass", _MEASURE_AGAIN
    if record.measurement:
        yield from _samples(record.measurement, record)
    for field, value in msgspec.to_builtins(msgspec.structs.replace(record, source=None)).items():
        for text in _texts(value):
            if detail := scrub.private(text):
                remedy = f"replace the text with {scrub.anonymous(text)!r}"
                yield field, f"contains a private detail: {detail!r}", remedy
    is_marked = record.status is Status.UNSTABLE and (record.reason or "").startswith(plausibility.MARK)
    if not is_marked:  # by the run itself: no page draws conclusions from it
        yield from plausibility.faults(record)


def _provenance(record: Record, now: datetime) -> Iterator[Fault]:
    torch, device_name = record.environment.torch, record.environment.device_name
    if not re.match(r"[1-9]\.\d", torch):
        yield "environment.torch", f"{torch!a} is not a version of torch", "give the version that the process used"
    if not (device_name.isascii() and device_name.isprintable()):
        yield "environment.device_name", f"{device_name!a} is not printable ASCII", "spell it with Latin letters"
    if record.origin == "published":
        if record.source is None:
            yield "source", "missing: a published result must state its source", "add title, url, date and licence"
        elif record.source.date > f"{now + CLOCK_TOLERANCE:%Y-%m-%d}":
            yield "source.date", f"{record.source.date} is in the future", "give the date of publication"
    elif record.measured_at is None:
        yield "measured_at", "missing", _MEASURE_AGAIN
    elif record.measured_at > now + CLOCK_TOLERANCE:
        measured_at = f"{record.measured_at.astimezone(UTC):%Y-%m-%d %H:%M}"
        what = f"{measured_at} is in the future: it is {now.astimezone(UTC):%Y-%m-%d %H:%M} (UTC)"
        yield "measured_at", what, f"set the clock of that machine, then {_MEASURE_AGAIN}"


def _coordinates(cell: Cell) -> Iterator[Fault]:
    for field, known in (("device", DEVICES), ("dtype", DTYPES), ("compile_mode", COMPILE_MODES)):
        if (value := getattr(cell, field)) not in known:
            yield f"cell.{field}", f"{value!r} is not known", f"one of {', '.join(known)}"
    if cell.tf32 and (cell.device, cell.dtype, cell.autocast) != ("cuda", "float32", False):
        yield "cell.tf32", "TF32 requires float32 without autocast, on cuda", _MEASURE_AGAIN


def _of_the_table(record: Record) -> Iterator[Fault]:
    """Yield what contradicts the model table: its models have one name, checkpoint, task and input size."""
    cell = record.cell
    spec = BY_LABEL.get(cell.model) or BY_CHECKPOINT.get(cell.checkpoint)
    if spec is None:
        return
    if cell.model == spec.shrink().label:
        spec = spec.shrink()
    stated: list[tuple[str, Any, Any]] = [
        ("checkpoint", cell.checkpoint, spec.checkpoint),
        ("task", cell.task, spec.task),
    ]
    if record.origin == "measured":
        stated.append(("model", cell.model, spec.label))
    if cell.input_size and cell.model == spec.label:
        stated.append(("input_size", cell.input_size, spec.input_size))
    for field, value, expected in stated:
        if value != expected:
            yield f"cell.{field}", f"{value!r} is not the {field} of {spec.label}", f"it is {expected!r}"


def _local(cell: Cell) -> Iterator[Fault]:
    """Yield the faults of a local checkpoint: pages show its name, and its digest says which model it is."""
    if not (cell.digest and cell.model_type):
        yield "cell.digest", "a local checkpoint has both a digest and a model_type", _MEASURE_AGAIN
    if cell.model != cell.checkpoint:
        yield "cell.model", f"{cell.model!r} is not the name of its checkpoint, {cell.checkpoint!r}", "use that name"
    if fault := checkpoints.name_fault(cell.checkpoint):
        yield "cell.checkpoint", fault, "use one short name in every line"


def _samples(measurement: Measurement, record: Record) -> Iterator[Fault]:
    """Yield an impossible batch size, missing latencies, missing raw samples and unpaired rounds."""
    eager, compiled = measurement.eager, measurement.compiled
    if record.cell.batch_size < 1:
        yield "cell.batch_size", f"{record.cell.batch_size} is not positive", _MEASURE_AGAIN
    one_is_enough = record.origin == "published" and record.status is Status.SKIPPED
    named = {"eager": eager, **({"compiled": compiled} if compiled else {})}
    with_latency = [name for name, variant in named.items() if plausibility.calls(variant)]
    for name, variant in named.items():
        if name not in with_latency and not (one_is_enough and with_latency):
            yield f"measurement.{name}", "has no latency", _MEASURE_AGAIN
        elif record.origin == "measured" and not variant.rounds_ms:
            yield f"measurement.{name}.rounds_ms", "missing: a measured record contains its raw samples", _MEASURE_AGAIN
    if compiled and len(compiled.rounds_ms) != len(eager.rounds_ms) and not one_is_enough:
        what = "has a different number of rounds from eager, but rounds come in pairs"
        yield "measurement.compiled.rounds_ms", what, _MEASURE_AGAIN


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list | tuple) and not (value and isinstance(value[0], int | float)):
        for each in value:
            yield from _texts(each)
