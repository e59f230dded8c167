"""Estimates: a model of the speedup, fitted to the published comparisons, and how far off it is.

One JSON document in ``results/estimates`` holds the model and its validation, as made by `bench.estimates.fitting`. The
guide answers from the newest, for models that nobody has measured, and shows how far off such answers are.

    python -m bench estimate
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from bench.records import document
from bench.records.record import RESULTS

SCHEMA = 1
"""Version of the file format."""

FOLDER = "estimates"
"""The folder of committed documents, in that of the results."""

COMMAND = "python -m bench estimate"

Evidence = Literal["other_size", "other_device", "family", "features"]
"""What an estimate rests on, the best first: the same model at another image size on the device; the same model on
other devices; what decides the gain, with models of its family among those that taught it; or without."""

Scheme = Literal[Evidence, "device_left_out", "next_version", "median", "family_median"]
"""How estimates were tried: as they are made from each evidence, without any row of the device, from the version of
PyTorch before; and two naive ones, the median of all rows and the median of the family on the device."""

Share = Literal["device", "family"]
"""What a group of rows has in common."""


class EstimateAccuracy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far off estimates were. Errors are shares of the true speedup: 0.05 is 5%."""

    scheme: Scheme
    operations: bool = True  # whether the operations were counted
    eager: bool = True  # whether the eager latency was known
    share: Share | None = None  # None: all rows
    name: str = ""  # of the device or family
    models: int
    count: int
    median_error: float
    p90_error: float
    reach_50: float | None = None  # half of the interval in natural logarithms of the speedup; None for naive ways
    reach_90: float | None = None
    coverage_50: float | None = None  # share of rows within the interval, which the others have made
    coverage_90: float | None = None


class Trees(msgspec.Struct, frozen=True, kw_only=True):
    """Boosted regression trees: their sum, added to `base`, is the natural logarithm of the speedup.

    `nodes` has the trees one after the other, each in preorder. A branch is ``<feature>L<threshold>`` or
    ``<feature>R<threshold>``: a value up to the threshold goes to the left branch, which follows, and a missing value
    to the side of the letter. Any other word is a leaf with its value.
    """

    features: tuple[str, ...]
    base: float
    nodes: str  # separated by spaces


class Estimates(msgspec.Struct, frozen=True, kw_only=True):
    """The model, what it was fitted to, and how far off it is."""

    schema: int
    taken_at: datetime  # UTC
    command: str
    commit: str | None
    versions: dict[str, str]  # of the libraries
    devices: dict[str, str]  # full name, and the version of PyTorch of its records
    dtype: str
    compile_mode: str
    comparisons: int
    models: int
    families: tuple[str, ...]
    trees: Trees
    accuracy: tuple[EstimateAccuracy, ...]

    def of(self, scheme: Scheme, *, operations: bool = True, eager: bool = True) -> EstimateAccuracy:
        """Return how far off a way to estimate is, over all rows."""
        return next(
            each
            for each in self.accuracy
            if (each.scheme, each.operations, each.eager, each.share) == (scheme, operations, eager, None)
        )

    def groups(self, scheme: Scheme, share: Share) -> list[EstimateAccuracy]:
        """Return the same for each device or family."""
        return [each for each in self.accuracy if (each.scheme, each.share) == (scheme, share)]


def write(estimates: Estimates, folder: Path = RESULTS / FOLDER) -> Path:
    """Write the document, named by its day. Replaces an earlier one of that name."""
    return document.write(estimates, folder / f"{estimates.taken_at.astimezone(UTC):%Y-%m-%d}.json")


def read(path: Path) -> Estimates:
    """Read a document. Raises `AtlasError` if the file is invalid or has another schema."""
    return document.read(path, Estimates, SCHEMA, COMMAND)


def newest(results: Path = RESULTS) -> Estimates | None:
    """Return the newest document below the folder `results`, or None."""
    return document.newest(results / FOLDER, read)
