"""Build times: how long the guide takes to build, to load its records and to show an edit, beside other builders.

One JSON document in ``results/build_times`` holds every timing of one run of `perf`. The methodology page shows the
newest.

    make perf
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec

from bench.records import document
from bench.records.document import Amount, Count, Lines
from bench.records.record import RESULTS

SCHEMA = 1
"""Version of the file format."""

BUILD_TIMES = RESULTS / "build_times"
"""The folder of committed documents."""

COMMAND = "make perf"

OURS = "atlas"
"""The name of this project's builder."""

BUILDS = ("cold", "warm", "unchanged", "publish")
"""A build with empty caches; with filled caches and no site; with nothing changed; and with one more record."""

START = "serve"
"""From the start of the development server with warm caches to its first page."""

EDITS = ("record", "message", "paragraph", "title")
"""From writing one of these to the moment when the reloading browser gets the new pages."""

LOADS = ("first load", "cached load")
"""Reading all records with an empty cache, and again in a new process."""

Figure = Literal["wall_s", "cpu_s", "memory_gb"]
"""A figure of a `Timing`: wall time, CPU time of all processes, and their peak resident memory."""


class Timing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One repeat of one action of one builder. Figures are None if it failed or the system does not report them."""

    builder: Lines
    action: Lines  # one of BUILDS, START, EDITS, LOADS
    size: Count  # pages in all languages, or records for a load
    repeat: Count
    wall_s: Amount | None = None
    cpu_s: Amount | None = None
    memory_gb: Amount | None = None
    failure: Lines | None = None

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Identifies a timing in its document."""
        return self.builder, self.action, self.size, self.repeat


class BuildEnvironment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The machine and the versions of the builders. Contains no host name, user name or path."""

    device_name: Lines  # model name of the processor
    cores: Count | None = None
    memory_gb: Amount | None = None
    platform: Lines | None = None  # such as "Linux x86_64"
    python: Lines | None = None
    commit: Lines | None = None  # of this project; ends in "-dirty" if the tree had changes
    versions: dict[Lines, Lines] = {}  # of every builder, by package name


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a build per page, between `few` and `many` pages."""

    few: Count
    many: Count
    wall_s: Amount


class BuildTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All timings of one run and its machine. Ratios compare timings of one document only."""

    schema: int
    taken_at: datetime  # UTC
    environment: BuildEnvironment
    command: Lines
    timings: tuple[Timing, ...] = ()

    def median(self, builder: str, action: str, size: int, figure: Figure = "wall_s") -> float | None:
        """Return the median of a figure over the repeats, or None if no repeat has it."""
        values = [getattr(timing, figure) for timing in self.of(builder, action, size)]
        if figure == "memory_gb":  # old documents have 0 for a process that ended before its memory was read
            values = [value or None for value in values]
        known = [value for value in values if value is not None]
        return statistics.median(known) if known else None

    def ratio(self, peer: str, action: str, size: int, figure: Figure = "wall_s") -> float | None:
        """Return our median divided by that of the other builder `peer`, or None if one is unknown."""
        ours, theirs = (self.median(builder, action, size, figure) for builder in (OURS, peer))
        return ours / theirs if ours is not None and theirs else None

    def failed(self, builder: str, action: str, size: int) -> bool:
        """Return whether the action was timed and failed in every repeat."""
        timings = self.of(builder, action, size)
        return bool(timings) and all(timing.failure for timing in timings)

    def of(self, builder: str, action: str, size: int) -> list[Timing]:
        """Return the timings of all repeats."""
        return [timing for timing in self.timings if timing.key[:3] == (builder, action, size)]

    def with_timing(self, timing: Timing) -> BuildTimes:
        """Return a copy with `timing` added, or replacing the one with the same key."""
        others = tuple(other for other in self.timings if other.key != timing.key)
        return msgspec.structs.replace(self, timings=(*others, timing))

    @property
    def builders(self) -> list[str]:
        """Ours first, the others in the order of first appearance."""
        names = dict.fromkeys(timing.builder for timing in self.timings)
        return sorted(names, key=lambda builder: builder != OURS)

    def sizes(self, actions: Iterable[str]) -> list[int]:
        """Return the sizes at which one of these actions was timed, in ascending order."""
        wanted = set(actions)
        return sorted({timing.size for timing in self.timings if timing.action in wanted})

    def growth(self) -> list[Growth]:
        """Return the growth of our cold builds between adjacent sizes, in ascending order."""
        known = [(size, wall_s) for size in self.sizes(("cold",)) if (wall_s := self.median(OURS, "cold", size))]
        return [
            Growth(few=few, many=many, wall_s=(longer - shorter) / (many - few))
            for (few, shorter), (many, longer) in pairwise(known)
        ]

    @property
    def repeats(self) -> int:
        """Number of repeats of each action."""
        return len({timing.repeat for timing in self.timings})


def nothing_yet(environment: BuildEnvironment, command: str) -> BuildTimes:
    """Return a document without timings."""
    now = datetime.now(UTC).replace(microsecond=0)
    return BuildTimes(schema=SCHEMA, taken_at=now, environment=environment, command=command)


def write(build_times: BuildTimes, folder: Path = BUILD_TIMES) -> Path:
    """Write the document, named by its day and commit. Replaces an earlier one of that name."""
    commit = build_times.environment.commit or "unknown"
    return document.write(build_times, folder / f"{build_times.taken_at.astimezone(UTC):%Y-%m-%d}_{commit}.json")


def read(path: Path) -> BuildTimes:
    """Read a document. Raises `AtlasError` if the file is invalid or has another schema."""
    return document.read(path, BuildTimes, SCHEMA, COMMAND)


def newest(results: Path = RESULTS) -> BuildTimes | None:
    """Return the newest document below the folder `results`, or None."""
    return document.newest(results / BUILD_TIMES.name, read)


def rounded(seconds: float) -> float:
    """Round to four significant digits, the precision of the clocks used."""
    return float(f"{seconds:.4g}") if math.isfinite(seconds) else seconds
