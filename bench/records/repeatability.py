"""How well our numbers repeat, what they cost and whether they are biased: repeats of a measurement, ours and others'.

One document below ``results/repeatability`` holds the repeats that `bench.harness.repeats` took of every way of timing;
the
newest is
shown on the methodology page.

    python -m bench repeatability
"""

from __future__ import annotations

import math
import statistics
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.records import document
from bench.records.record import RESULTS, Environment

SCHEMA = 1
"""Version of the file format."""

REPEATABILITY = RESULTS / "repeatability"
"""Where committed documents live."""

COMMAND = "python -m bench repeatability"

OURS = "standard"
"""The way that is this harness's standard profile."""

ALONE, IN_TURN = "alone", "in turn"
"""Our rounds of one variant, held against torch's Timer; and of both variants in turn, held against one alone."""


class Repeat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one way of timing said of one model in one repeat."""

    way: str
    model: str
    repeat: int
    speedup: float
    seconds: float  # spent in calls of the two variants, warm-up included for ours
    eager_ms: float
    compiled_ms: float
    low: float | None = None  # the 95% interval of the speedup, where the way gives one
    high: float | None = None
    processes: int = 1
    overhead: float | None = None  # share of the sampling time that was not spent in calls


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How two ways of timing one variant compare, taken in short turns in one process: what the machine did hits
    both."""

    model: str
    repeat: int
    variant: str = msgspec.field(name="arm")
    way: str
    ratio: float  # of its latency to that of the way it is held against


class Repeatability(msgspec.Struct, frozen=True, kw_only=True):
    """All repeats, and the machine."""

    schema: int
    taken_at: datetime  # UTC
    environment: Environment
    command: str
    repeats: tuple[Repeat, ...]
    agreements: tuple[Agreement, ...] = ()

    def spread(self, way: str, model: str) -> float:
        """Largest ÷ smallest speedup of the repeats, less one."""
        values = [each.speedup for each in self.of(way, model)]
        return max(values) / min(values) - 1

    def coverage(self, way: str = OURS) -> tuple[int, int]:
        """How many of the intervals hold the value that all repeats together give, and how many there are."""
        held = [
            each.low <= self.pooled(way, each.model) <= each.high
            for each in self.repeats
            if each.way == way and each.low is not None and each.high is not None
        ]
        return sum(held), len(held)

    def pooled(self, way: str, model: str) -> float:
        """The geometric mean of the repeats' speedups."""
        return math.exp(statistics.fmean(math.log(each.speedup) for each in self.of(way, model)))

    def seconds(self, way: str, model: str) -> float:
        """Median time spent measuring."""
        return statistics.median(each.seconds for each in self.of(way, model))

    def distance(self, way: str) -> float | None:
        """How far the latencies of a way lie from those it is held against, as a share: in the median of the repeats,
        for the variant and the model with the most. None where nothing was compared."""
        ratios: dict[tuple[str, str], list[float]] = {}
        for each in self.agreements:
            if each.way == way:
                ratios.setdefault((each.model, each.variant), []).append(each.ratio)
        return max((abs(statistics.median(found) - 1) for found in ratios.values()), default=None)

    @property
    def overhead(self) -> float | None:
        """Share of the time of our rounds that was not spent in calls, the median of all; None where unknown."""
        known = [each.overhead for each in self.repeats if each.overhead is not None]
        return statistics.median(known) if known else None

    @property
    def times(self) -> int:
        """How many repeats there are of each way."""
        return len({each.repeat for each in self.repeats})

    def of(self, way: str, model: str) -> list[Repeat]:
        """The repeats of a way and a model."""
        return [each for each in self.repeats if (each.way, each.model) == (way, model)]

    @property
    def ways(self) -> list[str]:
        """In the order of first appearance."""
        return list(dict.fromkeys(each.way for each in self.repeats))

    @property
    def models(self) -> list[str]:
        """In the order of first appearance."""
        return list(dict.fromkeys(each.model for each in self.repeats))


def write(repeatability: Repeatability, folder: Path = REPEATABILITY) -> Path:
    """The file, named by its day, torch and commit; an earlier one of these is replaced."""
    version, commit = repeatability.environment.torch.partition("+")[0], repeatability.environment.commit or "unknown"
    name = f"{repeatability.taken_at.astimezone(UTC):%Y-%m-%d}_torch-{version}_{commit}.json"
    return document.write(repeatability, folder / name)


def read(path: Path) -> Repeatability:
    """One document. Raises `AtlasError` for a file that is none, or of another schema."""
    return document.read(path, Repeatability, SCHEMA, COMMAND)


def newest(results: Path = RESULTS) -> Repeatability | None:
    """The newest below a folder of results; None where there is none."""
    return document.newest(results / REPEATABILITY.name, read)
