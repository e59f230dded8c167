"""How long the guide takes to build, to load its records and to show an edit, beside other builders of the same pages.

One document below ``results/build_times`` holds every timing of one run of the program `perf`; the newest is shown on
the methodology page.

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
from bench.records.record import RESULTS

SCHEMA = 1
"""Version of the file format."""

BUILD_TIMES = RESULTS / "build_times"
"""Where committed documents live."""

COMMAND = "make perf"

OURS = "atlas"
"""The builder that is this project."""

BUILDS = ("cold", "warm", "unchanged")
"""A build with empty caches; one with the caches of an earlier build and no site; one more with nothing changed."""

START = "serve"
"""From the start of the development server, its caches warm, to the first page that it answers."""

EDITS = ("record", "message", "paragraph", "title")
"""From writing one of these to the moment when a browser that was told to reload gets the new pages."""

LOADS = ("first load", "cached load")
"""Reading all records with an empty cache, and once more in a new process."""

Figure = Literal["wall_s", "cpu_s", "memory_gb"]
"""Of a timing: time on the wall, CPU time of all its processes, peak of their resident memory."""


class Timing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One action of one builder, once. Figures are None where it failed, or where the system does not tell."""

    builder: str
    action: str  # one of BUILDS, START, EDITS, LOADS
    size: int  # pages in all languages together; for a load, records
    repeat: int
    wall_s: float | None = None
    cpu_s: float | None = None
    memory_gb: float | None = None
    failure: str | None = None

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What tells one timing from another."""
        return self.builder, self.action, self.size, self.repeat


class BuildEnvironment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What it was timed on, and what. No host name, user or path."""

    device_name: str  # of the processor
    cores: int | None = None
    memory_gb: float | None = None
    platform: str | None = None  # such as "Linux x86_64"
    python: str | None = None
    commit: str | None = None  # of this project, with "-dirty" where the tree had changes
    versions: dict[str, str] = {}  # of every builder, by the name of its package


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """What a build takes for each page beyond `few`, up to `many`."""

    few: int
    many: int
    wall_s: float


class BuildTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All timings of one run, and the machine. Ratios are only ever taken within one."""

    schema: int
    taken_at: datetime  # UTC
    environment: BuildEnvironment
    command: str
    timings: tuple[Timing, ...] = ()

    def median(self, builder: str, action: str, size: int, figure: Figure = "wall_s") -> float | None:
        """Over the repeats; None where none has a figure."""
        values = [getattr(each, figure) for each in self.of(builder, action, size)]
        if figure == "memory_gb":  # nothing needs none: what was over before the first look has 0 in old documents
            values = [value or None for value in values]
        known = [value for value in values if value is not None]
        return statistics.median(known) if known else None

    def ratio(self, peer: str, action: str, size: int, figure: Figure = "wall_s") -> float | None:
        """Ours ÷ theirs: below 1 where we need less. None where one of them has no figure."""
        ours, theirs = (self.median(builder, action, size, figure) for builder in (OURS, peer))
        return ours / theirs if ours is not None and theirs else None

    def failed(self, builder: str, action: str, size: int) -> bool:
        """Whether it was tried, and never worked."""
        found = self.of(builder, action, size)
        return bool(found) and all(each.failure for each in found)

    def of(self, builder: str, action: str, size: int) -> list[Timing]:
        """The repeats."""
        return [each for each in self.timings if each.key[:3] == (builder, action, size)]

    def with_timing(self, timing: Timing) -> BuildTimes:
        """The same with one more, or with this in place of an older one."""
        others = tuple(each for each in self.timings if each.key != timing.key)
        return msgspec.structs.replace(self, timings=(*others, timing))

    @property
    def builders(self) -> list[str]:
        """Ours first, then in the order of first appearance."""
        return sorted(_distinct(each.builder for each in self.timings), key=lambda builder: builder != OURS)

    def sizes(self, actions: Iterable[str]) -> list[int]:
        """Of the timings of these actions, the smallest first."""
        wanted = set(actions)
        return sorted({each.size for each in self.timings if each.action in wanted})

    def growth(self) -> list[Growth]:
        """Our cold builds from each number of pages to the next, the smallest first."""
        known = [(size, wall_s) for size in self.sizes(("cold",)) if (wall_s := self.median(OURS, "cold", size))]
        return [
            Growth(few=few, many=many, wall_s=(longer - shorter) / (many - few))
            for (few, shorter), (many, longer) in pairwise(known)
        ]

    @property
    def repeats(self) -> int:
        """How many there are of each."""
        return len({each.repeat for each in self.timings})


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def nothing_yet(environment: BuildEnvironment, command: str) -> BuildTimes:
    """A document without timings, to begin with."""
    now = datetime.now(UTC).replace(microsecond=0)
    return BuildTimes(schema=SCHEMA, taken_at=now, environment=environment, command=command)


def write(build_times: BuildTimes, folder: Path = BUILD_TIMES) -> Path:
    """The file, named by its day and commit; an earlier one of these is replaced."""
    commit = build_times.environment.commit or "unknown"
    return document.write(build_times, folder / f"{build_times.taken_at.astimezone(UTC):%Y-%m-%d}_{commit}.json")


def read(path: Path) -> BuildTimes:
    """One document. Raises `AtlasError` for a file that is none, or of another schema."""
    return document.read(path, BuildTimes, SCHEMA, COMMAND)


def newest(results: Path = RESULTS) -> BuildTimes | None:
    """The newest below a folder of results; None where there is none."""
    return document.newest(results / BUILD_TIMES.name, read)


def rounded(seconds: float) -> float:
    """To four significant digits: no clock of ours tells more."""
    return float(f"{seconds:.4g}") if math.isfinite(seconds) else seconds
