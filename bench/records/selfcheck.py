"""Self-checks: whether the benchmark measures correctly on a device. One JSON document for each device and day."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Literal

import msgspec

from bench.records import document
from bench.records.record import RESULTS, Amount, Environment, Moment, Name
from bench.records.run_file import file_slug

SCHEMA = 1
SELFCHECKS = RESULTS / "selfcheck"

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

    schema: int
    taken_at: Moment  # UTC
    environment: Environment
    device: Name  # torch device type
    model: Name
    checks: tuple[Check, ...]


def write(selfcheck: Selfcheck, folder: Path = SELFCHECKS) -> Path:
    """Write the document, named by its day and device. Replaces an earlier one of that name."""
    name = f"{selfcheck.taken_at.astimezone(UTC):%Y-%m-%d}_{file_slug(selfcheck.environment.device_name)}.json"
    return document.write(selfcheck, folder / name)


def read(path: Path) -> Selfcheck:
    """Read a document. Raises `AtlasError` if the file is invalid or has another schema."""
    return document.read(path, Selfcheck, SCHEMA, "python -m bench selfcheck")


def newest_of_each_device(results: Path = RESULTS) -> tuple[Selfcheck, ...]:
    """Return the newest document of each device below the folder `results`, accelerators first, by name."""
    found = map(read, (results / SELFCHECKS.name).glob("*.json"))
    newest = {each.environment.device_name: each for each in sorted(found, key=lambda each: each.taken_at)}
    return tuple(sorted(newest.values(), key=lambda each: (each.device == "cpu", each.environment.device_name)))
