"""Repeatability: how well the harness's results repeat, what they cost and whether they are biased.

One JSON document in ``results/repeatability`` holds the repeats of every way of timing, ours and others, as taken by
`bench.harness.repeats`. The methodology page shows the newest.

    python -m bench repeatability
"""

from __future__ import annotations

import math
import statistics
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.records import document
from bench.records.document import Amount, Count, Lines
from bench.records.record import RESULTS, Environment

SCHEMA = 1
"""Version of the file format."""

REPEATABILITY = RESULTS / "repeatability"
"""The folder of committed documents."""

COMMAND = "python -m bench repeatability"

OURS = "standard"
"""The way of timing of this harness: its standard profile."""

ALONE, IN_TURN = "alone", "in turn"
"""Two agreements: our rounds of one variant against torch's Timer, and of both variants in turn against one alone."""


class Repeat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one way of timing for one model in one repeat."""

    way: Lines
    model: Lines
    repeat: Count
    speedup: Amount
    seconds: Amount  # spent in calls of both variants; ours includes warm-up
    eager_ms: Amount
    compiled_ms: Amount
    low: Amount | None = None  # 95% interval of the speedup, if the way reports one
    high: Amount | None = None
    processes: Count = 1
    overhead: Amount | None = None  # share of sampling time spent outside of calls


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How two ways of timing one variant compare. Short turns in one process expose both to the same disturbances."""

    model: Lines
    repeat: Count
    variant: Lines = msgspec.field(name="arm")
    way: Lines
    ratio: Amount  # its latency divided by that of the way it is compared with


class Repeatability(msgspec.Struct, frozen=True, kw_only=True):
    """All repeats and their machine."""

    schema: int
    taken_at: datetime  # UTC
    environment: Environment
    command: Lines
    repeats: tuple[Repeat, ...]
    agreements: tuple[Agreement, ...] = ()

    def spread(self, way: str, model: str) -> float:
        """Return the largest speedup of the repeats divided by the smallest, minus one."""
        values = [repeat.speedup for repeat in self.of(way, model)]
        return max(values) / min(values) - 1

    def coverage(self, way: str = OURS) -> tuple[int, int]:
        """Return how many intervals contain the pooled value of all repeats, and how many intervals there are."""
        contains = [
            repeat.low <= self.pooled(way, repeat.model) <= repeat.high
            for repeat in self.repeats
            if repeat.way == way and repeat.low is not None and repeat.high is not None
        ]
        return sum(contains), len(contains)

    def pooled(self, way: str, model: str) -> float:
        """Return the geometric mean of the speedups of all repeats."""
        return math.exp(statistics.fmean(math.log(repeat.speedup) for repeat in self.of(way, model)))

    def seconds(self, way: str, model: str) -> float:
        """Return the median time spent measuring."""
        return statistics.median(repeat.seconds for repeat in self.of(way, model))

    def distance(self, way: str) -> float | None:
        """Return how far a way deviates from the one it is compared with, as a share, or None if nothing was compared.

        This is the largest deviation of any model and variant, each in the median of its repeats.
        """
        ratios: dict[tuple[str, str], list[float]] = {}
        for agreement in self.agreements:
            if agreement.way == way:
                ratios.setdefault((agreement.model, agreement.variant), []).append(agreement.ratio)
        return max((abs(statistics.median(values) - 1) for values in ratios.values()), default=None)

    @property
    def overhead(self) -> float | None:
        """Median share of our sampling time spent outside of calls, or None if unknown."""
        known = [repeat.overhead for repeat in self.repeats if repeat.overhead is not None]
        return statistics.median(known) if known else None

    @property
    def times(self) -> int:
        """Number of repeats of each way."""
        return len({repeat.repeat for repeat in self.repeats})

    def of(self, way: str, model: str) -> list[Repeat]:
        """Return the repeats of one way and model."""
        return [repeat for repeat in self.repeats if (repeat.way, repeat.model) == (way, model)]

    @property
    def ways(self) -> list[str]:
        """In the order of first appearance."""
        return list(dict.fromkeys(repeat.way for repeat in self.repeats))

    @property
    def models(self) -> list[str]:
        """In the order of first appearance."""
        return list(dict.fromkeys(repeat.model for repeat in self.repeats))


def write(repeatability: Repeatability, folder: Path = REPEATABILITY) -> Path:
    """Write the document, named by its day, torch and commit. Replaces an earlier one of that name."""
    version, commit = repeatability.environment.torch.partition("+")[0], repeatability.environment.commit or "unknown"
    name = f"{repeatability.taken_at.astimezone(UTC):%Y-%m-%d}_torch-{version}_{commit}.json"
    return document.write(repeatability, folder / name)


def read(path: Path) -> Repeatability:
    """Read a document. Raises `AtlasError` if the file is invalid or has another schema."""
    return document.read(path, Repeatability, SCHEMA, COMMAND)


def newest(results: Path = RESULTS) -> Repeatability | None:
    """Return the newest document below the folder `results`, or None."""
    return document.newest(results / REPEATABILITY.name, read)
