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
from pathlib import Path, PurePath
from typing import Any, Self

import msgspec

from bench.choices import existing
from bench.errors import AtlasError
from bench.exchange import lookalikes, seals, signatures, texts
from bench.exchange.copies import Samples
from bench.exchange.lookalikes import KnownNames
from bench.exchange.source_files import RELEASED
from bench.plans import checkpoints
from bench.plans.models import BY_CHECKPOINT, BY_LABEL, flop_of_image
from bench.records import (
    examples,
    plausibility,
    selfcheck,
    wording,
)
from bench.records.examples import EXAMPLES
from bench.records.plausibility import Fault
from bench.records.record import (
    COMPILE_MODES,
    DEVICES,
    DTYPES,
    RESULTS,
    TIMM,
    Cell,
    Measurement,
    Origin,
    Record,
    Status,
)
from bench.records.run_file import COMPRESSED, SUFFIX, decode, lines, run_files, run_of
from bench.records.selfcheck import SELFCHECKS

READERS: Mapping[str, Callable[[Path], object]] = {
    EXAMPLES.name: examples.read,
    SELFCHECKS.name: selfcheck.read,
}
"""The reader of each kind of document, by the name of its folder."""

MAX_PASSING_ERROR = 1.0
"""Compiled that differs from eager by more than the largest magnitude computes something else."""

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
    paths, now = list(paths), now or datetime.now(UTC)
    for path in paths:
        existing(path)
    checked = [file for path in paths for file in files(path)]
    known = _Known.of(run_files(atlas), [file for file in checked if file.parent.name not in READERS])
    yield from _strangers(paths, checked, atlas)
    yield from _unsealed(checked)
    yield from check_signatures(paths, atlas)
    for file in checked:
        yield from check_document(file, now=now) if file.parent.name in READERS else _check_file(file, known, now)


def files(path: Path) -> list[Path]:
    """Return the run files at or below `path`, then the documents. Raises `AtlasError` for a file that is neither."""
    if path.is_file():
        if not path.name.removesuffix(COMPRESSED).endswith(SUFFIX) and path.parent.name not in READERS:
            remedy = f"give a run file, such as bench/results/measured/….{SUFFIX[1:]}, or a folder with run files"
            raise AtlasError(f"is not a run file: run files end with {SUFFIX}", where=str(path), remedy=remedy)
        return [path]
    documents = filter(Path.is_file, sorted(path.rglob("*")))
    return run_files(path) + [file for file in documents if is_document(file)]


def _strangers(paths: Iterable[Path], checked: Iterable[Path], atlas: Path) -> Iterator[Problem]:
    """Yield the files of the atlas that nothing reads."""
    known = {file.resolve() for file in checked}
    for path in paths:
        for file in filter(Path.is_file, sorted(path.rglob("*")) if _is_below(path, atlas) else ()):
            is_seal = file.name == seals.NAME and file.parent.name == seals.FOLDER
            is_list = file.resolve() == (atlas / signatures.NAME).resolve()
            if not (is_seal or is_list or file.suffix == signatures.SUFFIX or file.resolve() in known):
                remedy = f"remove it; run files end with {SUFFIX}, and documents are in {', '.join(READERS)}"
                yield Problem(str(file), "", "is neither a run file nor a known document", remedy)


def _is_below(path: Path, atlas: Path) -> bool:
    return path.resolve().is_relative_to(atlas.resolve())


def _unsealed(checked: Iterable[Path]) -> Iterator[Problem]:
    """Yield what has changed in folders of published figures since their import."""
    for folder in dict.fromkeys(file.parent for file in checked if file.parent.name == seals.FOLDER):
        try:
            for path, (field, what, remedy) in seals.faults(folder):
                yield Problem(str(path), field, what, remedy)
        except AtlasError as error:
            yield Problem(error.where, "", error.what, error.remedy)


def check_signatures(paths: Iterable[Path], atlas: Path = RESULTS) -> Iterator[Problem]:
    """Yield what is wrong with the signatures at or below `paths`, by the keys that the `atlas` lists."""
    listed = atlas / signatures.NAME
    try:
        signatures.keys(listed)
    except AtlasError as error:
        yield Problem(error.where, "", error.what, error.remedy)
        return
    for signature in dict.fromkeys(each for path in paths for each in signatures.signatures(path)):
        try:
            if not signatures.verify(signature, listed):
                what, remedy = "cannot be verified: ssh-keygen is missing", "install OpenSSH 8.2 or newer"
                yield Problem(str(signature), "", what, remedy, is_note=True)
        except AtlasError as error:
            yield Problem(error.where, "", error.what, error.remedy)


def is_document(path: PurePath) -> bool:
    """Return whether a file is a document by its place and name."""
    return path.parent.name in READERS and path.suffix == ".json"


def check_document(path: Path, *, now: datetime | None = None) -> Iterator[Problem]:
    """Yield the problems of a document, by its kind. Nothing can have been made after `now`."""
    try:
        document = READERS[path.parent.name](path)
    except AtlasError as error:
        yield Problem(error.where, "", error.what, error.remedy)
        return
    taken_at: datetime | None = getattr(document, "taken_at", None)
    if taken_at and not (taken_at.tzinfo and taken_at <= (now or datetime.now(UTC)) + CLOCK_TOLERANCE):
        what = f"{taken_at} is in the future or has no time zone, so it would be the newest for ever"
        yield Problem(str(path), "taken_at", what, "set the clock of that machine, then make the document again")
    for field, what, remedy in texts.private(msgspec.to_builtins(document)):
        yield Problem(str(path), field, what, remedy)


def _check_file(path: Path, known: _Known, now: datetime) -> Iterator[Problem]:
    try:
        yield from _check_lines(path, known, now)
    except AtlasError as error:  # the rest of the file cannot be read
        yield Problem(error.where, "", error.what, error.remedy)


def _check_lines(path: Path, known: _Known, now: datetime) -> Iterator[Problem]:
    seen: dict[tuple[Any, ...], int] = {}
    resolved = path.resolve()
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
            field = error.where.removeprefix(where).removeprefix(": $.")
            yield Problem(where, field, error.what, error.remedy)
            continue
        first = seen.setdefault(record.key, number)
        if first != number:
            yield Problem(where, "cell", f"repeats line {first}", "remove one of the two lines")
        for field, what, remedy in (*_faults(record, path, now), *known.faults(record, resolved, number)):
            yield Problem(where, field, what, remedy)


# ── Compared with other records ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Known:
    """An index of the atlas and the checked files: the file of each run, the first copy of each record, latencies."""

    owners: Mapping[str, Path]
    first: Mapping[bytes, tuple[Path, int]]
    samples: Samples
    image_latencies: plausibility.KnownLatencies
    names: KnownNames

    @classmethod
    def of(cls, atlas: Iterable[Path], checked: Iterable[Path]) -> Self:
        """Index the files. Earlier ones win: a record that repeats one of them is reported as a duplicate. Those of the
        atlas that are not checked are the earliest, whatever they are called, and their names are known."""
        names = KnownNames()
        owners: dict[str, Path] = {}
        first: dict[bytes, tuple[Path, int]] = {}
        image_latencies: dict[plausibility.Family, list[float]] = {}
        samples, new = Samples(), dict.fromkeys(each.resolve() for each in checked)
        old = dict.fromkeys(each.resolve() for each in atlas)
        for path in (*(each for each in old if each not in new), *new):
            for number, record in _readable(path):
                samples.add(record, (str(path), number))
                owners.setdefault(record.run, path)
                names.add(record, is_checked=path in new)
                first.setdefault(_fingerprint(record), (path, number))
                for family, latency in plausibility.image_latencies(record):
                    image_latencies.setdefault(family, []).append(latency)
        for latencies in image_latencies.values():
            latencies.sort()
        return cls(owners, first, samples, image_latencies, names)

    def faults(self, record: Record, path: Path, line: int) -> Iterator[Fault]:
        """Yield the faults of a record compared with the others. The path is resolved."""
        owner = self.owners.get(record.run, path)
        if owner != path and record.run == run_of(path):
            yield (
                "run",
                f"{record.run!r} is already the name of the run in {_display_path(owner)}",
                "give the records a different run name",
            )
        source, number = self.first.get(_fingerprint(record), (path, line))
        if source != path:
            yield (
                "cell",
                f"repeats {_display_path(source)}:{number}",
                "remove the line: the atlas already has these measurements",
            )
        elif original := self.samples.original((str(path), line)):
            what = f"contains samples from {_display_path(Path(original[0]))}:{original[1]}, unchanged or multiplied"
            yield "measurement", what, _MEASURE_AGAIN
        yield from self.names.faults(record)
        cell = record.cell
        image_flop = flop_of_image(cell.model, cell.checkpoint, cell.input_size)
        for fault in plausibility.faults(record, self.image_latencies, image_flop):
            if not _is_marked(record, fault, image_flop):
                yield fault


def _is_marked(record: Record, fault: Fault, image_flop: float | None) -> bool:
    """Return whether the run that measured the record found the fault itself: no page draws conclusions from it."""
    _, what, _ = next(plausibility.faults(record, {}, image_flop), fault)
    mark = wording.IMPLAUSIBLE(fault=what)
    return record.origin == "measured" and record.status is Status.UNSTABLE and (record.reason or "").startswith(mark)


def _readable(path: Path) -> Iterator[tuple[int, Record]]:
    with suppress(AtlasError):  # reported when the file itself is checked
        for number, line in lines(path):
            if line.endswith(b"\n"):
                with suppress(AtlasError):  # likewise
                    yield number, decode(line, f"{path}:{number}")


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


def _display_path(path: Path) -> str:
    root = RESULTS.parents[1]
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


# ── One record ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _faults(record: Record, path: Path, now: datetime) -> Iterator[Fault]:
    yield from _provenance(record, path, now)
    yield from _names(record)
    yield from _coordinates(record)
    yield from texts.faults(record)
    if record.status is not Status.PASS and not record.reason:
        yield "reason", f"missing, although the status is {record.status}", "state in one line what happened"
    if record.status is Status.PASS and not (record.measurement and record.measurement.compiled):
        yield "measurement", "missing or without compiled latencies, although the status is pass", _MEASURE_AGAIN
    accuracy = record.measurement.accuracy if record.measurement else None
    if record.status is Status.PASS and accuracy and accuracy.max_relative_error > MAX_PASSING_ERROR:
        what = f"{accuracy.max_relative_error:g} is too large an error for status pass"
        yield "measurement.accuracy.max_relative_error", what, _MEASURE_AGAIN
    if record.measurement:
        yield from _samples(record.measurement, record)


def _provenance(record: Record, path: Path, now: datetime) -> Iterator[Fault]:
    if record.run != run_of(path):
        yield "run", f"is {record.run!r} in the file of run {run_of(path)!r}", "move the line to its own file"
    if record.origin == "published" and record.source is None:
        yield "source", "missing: a published result must state its source", "add title, url, date and licence"
    if record.source and record.source.date > f"{now + CLOCK_TOLERANCE:%Y-%m-%d}":
        yield "source.date", f"{record.source.date} is in the future", "give the date of publication"
    if record.origin == "measured":
        yield from _clock(record, now)
    version = _TORCH.match(record.environment.torch)
    months = (now.year - _NEWEST[1]) * 12 + now.month - _NEWEST[2]
    if version is None or int(version[1]) == 2 and int(version[2]) > _NEWEST[0] + months:  # noqa: RUF021
        yield (
            "environment.torch",
            f"{record.environment.torch} is not a version of torch",
            "give the version that the process used",
        )


def _clock(record: Record, now: datetime) -> Iterator[Fault]:
    """Yield a time of measurement that cannot be."""
    if record.measured_at is None:
        yield "measured_at", "missing", _MEASURE_AGAIN
    elif (released := _released(record.environment.torch)) > f"{record.measured_at:%Y-%m}":
        what = (
            f"{record.measured_at:%Y-%m} is earlier than the release of torch {record.environment.torch} ({released})"
        )
        yield "measured_at", what, f"set the clock of that machine, then {_MEASURE_AGAIN}"
    elif record.measured_at > now + CLOCK_TOLERANCE:
        measured_at = f"{record.measured_at.astimezone(UTC):%Y-%m-%d %H:%M}"
        what = f"{measured_at} is in the future: it is {now.astimezone(UTC):%Y-%m-%d %H:%M} (UTC)"
        yield "measured_at", what, f"set the clock of that machine, then {_MEASURE_AGAIN}"


def _names(record: Record) -> Iterator[Fault]:
    if fault := lookalikes.contributor_fault(record.contributor):
        yield "contributor", fault, "give a name, or omit it"
    for field, name in (
        ("environment.device_name", record.environment.device_name),
        ("cell.model", record.cell.model),
        ("cell.checkpoint", record.cell.checkpoint),
    ):
        if fault := lookalikes.name_fault(name):
            yield field, fault, "spell the name with common letters"


_TORCH = re.compile(r"([1-3])\.(\d{1,2})(?:\.\d{1,2})?(?:(?:a|b|rc|\.dev)\d*)*(?:\+[\w.]+)?\Z")
_NEWEST = (9, 2025, 10)
"""A minor release of torch and when it came: there is at most one a month."""


def _released(torch: str) -> str:
    """Return the month in which a version of torch was released, "" where it is not known or was not final."""
    return "" if re.search(r"dev|a\d|rc", torch) else RELEASED.get(".".join(re.split(r"[.+]", torch)[:2]), "")


def _coordinates(record: Record) -> Iterator[Fault]:
    cell = record.cell
    for field, value, known in (
        ("device", cell.device, DEVICES),
        ("dtype", cell.dtype, DTYPES),
        ("compile_mode", cell.compile_mode, COMPILE_MODES),
    ):
        if value not in known:
            yield f"cell.{field}", f"{value!r} is not known", f"one of {', '.join(known)}"
    if cell.tf32 and (cell.device, cell.dtype, cell.autocast) != ("cuda", "float32", False):
        yield "cell.tf32", "TF32 requires float32 without autocast, on cuda", _MEASURE_AGAIN
    is_unknown = cell.batch_size == 0 and record.origin == "published" and record.measurement is None
    if cell.batch_size < 1 and not is_unknown:
        yield "cell.batch_size", f"{cell.batch_size} is not positive", _MEASURE_AGAIN
    yield from _local(record, cell)
    if cell.digest is None:
        yield from _of_the_table(cell, record.origin)


def _of_the_table(cell: Cell, origin: Origin) -> Iterator[Fault]:
    """Yield what contradicts the model table: its models have one name, task and input size."""
    if (spec := BY_LABEL.get(cell.model)) and spec.checkpoint != cell.checkpoint:
        yield (
            "cell.checkpoint",
            f"{cell.checkpoint!r} is not the checkpoint of {cell.model}",
            f"it is {spec.checkpoint}",
        )
        return
    if spec := BY_CHECKPOINT.get(cell.checkpoint):
        names = (spec.label, spec.shrink().label)
        if origin == "measured" and cell.model not in names:
            yield "cell.model", f"{cell.model!r} is not the name of {cell.checkpoint}", f"write {spec.label}"
            return
        size = (spec.shrink() if cell.model == names[1] else spec).input_size
        if cell.model in names and cell.input_size not in (None, size):
            what = f"{cell.model} takes images of {'×'.join(map(str, size))} pixels"
            yield "cell.input_size", what, _MEASURE_AGAIN
    task = spec.task if spec else "image-classification" if cell.checkpoint.startswith(TIMM) else cell.task
    if cell.task != task:
        yield "cell.task", f"{cell.model} is for {task}", "correct the task"


def _local(record: Record, cell: Cell) -> Iterator[Fault]:
    """Yield the faults of a local checkpoint: pages show its name, and its digest says which model it is."""
    if (cell.digest is None) != (cell.model_type is None):
        yield (
            "cell.digest",
            "a local checkpoint has both a digest and a model_type; any other has neither",
            _MEASURE_AGAIN,
        )
    if cell.digest is None:
        return
    if record.origin != "measured":
        yield "cell.digest", "a published result cannot come from a local checkpoint", "remove the digest"
    if cell.model != cell.checkpoint:
        yield "cell.model", f"{cell.model!r} is not the name of its checkpoint, {cell.checkpoint!r}", "use that name"
    if fault := checkpoints.name_fault(cell.checkpoint):
        yield "cell.checkpoint", fault, "use one short name in every line"


def _samples(measurement: Measurement, record: Record) -> Iterator[Fault]:
    """Yield missing latencies, missing raw samples and unpaired rounds."""
    one_is_enough = record.origin == "published" and record.status is Status.SKIPPED
    variants = [("eager", measurement.eager), *([("compiled", measurement.compiled)] if measurement.compiled else [])]
    for name, variant in variants:
        if not plausibility.calls(variant) and not (
            one_is_enough and any(plausibility.calls(each) for _, each in variants)
        ):
            yield f"measurement.{name}", "has no latency", _MEASURE_AGAIN
        elif record.origin == "measured" and not variant.rounds_ms:
            yield f"measurement.{name}.rounds_ms", "missing: a measured record contains its raw samples", _MEASURE_AGAIN
    eager, compiled = measurement.eager, measurement.compiled
    if compiled and len(compiled.rounds_ms) != len(eager.rounds_ms) and not one_is_enough:
        yield (
            "measurement.compiled.rounds_ms",
            "has a different number of rounds from eager, but rounds come in pairs",
            _MEASURE_AGAIN,
        )
