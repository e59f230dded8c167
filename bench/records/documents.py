"""JSON documents: results that are made in one piece, such as a self-check and the output of the example programs.

An old document is not converted: the error names the command that makes a new one. Records of runs are JSON Lines
instead; see `bench.records.run_file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from bench import durable
from bench.errors import AtlasError, unwritable
from bench.records.record import RESULTS, Amount, Environment, Moment, Name
from bench.records.run_file import file_slug

SCHEMA: Final = 1

Lines = Annotated[
    str, msgspec.Meta(max_length=100_000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*\Z")
]
"""Text of one or more lines, such as source code: no control characters, and nothing that turns its direction."""

D = TypeVar("D")


def write(document: object, path: Path) -> Path:
    """Write the document atomically, replacing an existing file. Raises `AtlasError` if that fails."""
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    try:
        return durable.write(path, content)
    except OSError as error:
        raise unwritable(path, error) from None


def read(path: Path, kind: type[D], command: str) -> D:
    """Read a document of type `kind`.

    Raises `AtlasError` if the file is invalid or has another schema version; it names the `command` to make a new one.
    """
    remedy = f"remove the file and create it again: {command}"
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, UnicodeError, RecursionError, msgspec.MsgspecError) as error:
        raise AtlasError(f"not a {kind.__name__.lower()}: {error}", where=str(path), remedy=remedy) from None


# ── Self-checks ─────────────────────────────────────────────────────────────────────────────────────────────────────

SELFCHECKS = RESULTS / "selfcheck"
"""The folder of self-checks: whether the benchmark measures correctly on a device, one document a device and day."""

BOUND = 0.05
"""The largest difference, as a share, of eager from eager and of our latency from the latency of torch's Timer."""

CheckName = Literal["eager_against_eager", "timer", "busy_time", "replays", "caches"]


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One check, of one variant if both are checked.

    The figure of each check: the speedup of eager against eager; our latency divided by that of torch's Timer; the
    profiler's busy time divided by the latency; CUDA graph replays per call; the time to ready with a warm cache
    divided by that with a cold one.
    """

    name: CheckName
    has_passed: bool | None  # None: it cannot be made on this device
    variant: Literal["eager", "compiled"] | None = None
    figure: Amount | None = None
    low: Amount | None = None  # 95% interval of the figure
    high: Amount | None = None


class Selfcheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All checks of one run, and their machine."""

    schema: Literal[1]
    taken_at: Moment  # UTC
    environment: Environment
    device: Name  # torch device type
    model: Name
    checks: tuple[Check, ...]


def write_selfcheck(selfcheck: Selfcheck, folder: Path = SELFCHECKS) -> Path:
    """Write the document, named by its day and device. Replaces an earlier one of that name."""
    name = f"{selfcheck.taken_at.astimezone(UTC):%Y-%m-%d}_{file_slug(selfcheck.environment.device_name)}.json"
    return write(selfcheck, folder / name)


def read_selfcheck(path: Path) -> Selfcheck:
    """Read a document. Raises `AtlasError` if the file is invalid or has another schema."""
    return read(path, Selfcheck, "python -m bench selfcheck")


def newest_of_each_device(results: Path = RESULTS) -> tuple[Selfcheck, ...]:
    """Return the newest document of each device below the folder `results`, accelerators first, by name."""
    found = map(read_selfcheck, (results / SELFCHECKS.name).glob("*.json"))
    newest = {each.environment.device_name: each for each in sorted(found, key=lambda each: each.taken_at)}
    return tuple(sorted(newest.values(), key=lambda each: (each.device == "cpu", each.environment.device_name)))


# ── Example programs ────────────────────────────────────────────────────────────────────────────────────────────────

EXAMPLES = RESULTS / "examples"
"""The folder of what the example programs printed, one document."""

CAPTURE_COMMAND = "python -m bench examples"


class Capture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The programs, the JSON that each of them prints, and the machine."""

    schema: Literal[1]
    taken_at: datetime  # UTC
    device_name: Lines
    torch: Lines
    sources: Mapping[str, Lines]
    graphs: Mapping[str, Any]
    training_step: Mapping[str, Any]
    k_fold: Mapping[str, Any]
    pipeline: Mapping[str, Any]


def read_capture(path: Path) -> Capture:
    """Read the document. Raises `AtlasError` if the file is invalid or has another schema."""
    return read(path, Capture, CAPTURE_COMMAND)


def newest_capture(results: Path = RESULTS) -> Capture | None:
    """Return the document below the folder `results`, or None."""
    found = map(read_capture, (results / EXAMPLES.name).glob("*.json"))
    return max(found, key=lambda capture: capture.taken_at, default=None)
