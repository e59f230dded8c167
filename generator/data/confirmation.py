"""Find comparisons that nothing independent confirms: anyone can type a speedup into a record.

Takes the rows of all origins; yields anomalies of the kind "unconfirmed". A measured speedup counts if the operations
of the model and the data sheet of the device are known, and if it is not larger than what others have found:

- up to the median of their comparisons of the model, under the conditions nearest to its own: one run is enough;
- up to their largest: another run must agree, even one of the same contributor;
- beyond: another contributor must have measured the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd

from bench.plans.models import flop_of_image
from bench.records.plausibility import ceiling_of
from bench.records.record import TOY, UNEQUAL_BATCHES
from generator.data.lint import IMPLAUSIBLE_SPEEDUP, Anomaly
from generator.data.selection import Row, grouped, is_comparison, labels_by, numbered, records

Why = Literal["model", "device", "speedup", "repeat", "scatter"]
"""What is missing: the operations of the model, the data sheet of the device, anyone who has found such a speedup,
a second run that agrees, or any scatter of the latencies."""

BOUNDLESS_SPEEDUP = 3.0
"""What counts where nobody has compared the model: of the published speedups, 97% are smaller."""

TOLERANCE = 1.2
"""The factor by which a speedup may exceed what others have found. Of published comparisons, 96% would be confirmed if
they were the first of their device, 99% with a second run; of the same ones with invented gains, 0.7%, and 1.9% if they
are invented twice."""

EXCUSED = 1.25
"""A speedup may also exceed it by as much as its interval reaches below it, but by no more than this factor."""

NEAREST = (
    ("input_size", "batch_size", "dtype", "device"),
    ("input_size", "batch_size", "dtype"),
    ("input_size", "dtype"),
    ("input_size",),
    (),
)
"""What comparisons of the same model by others have in common with a row, the nearest first."""

_SAME_CASE = (
    *("device", "model", "torch", "compile_mode", "batch_size", "dtype", "dynamic", "weights", "input_size"),
    *("layout", "threads"),
)
COLUMNS = (
    *_SAME_CASE,
    *("status", "change", "flags"),
    *("run", "contributor", "origin", "model_label", "checkpoint", "family", "device_type", "processor", "cores"),
    *("speedup", "speedup_low", "speedup_high", "eager_ms", "eager_low_ms", "eager_high_ms"),
    *("flop", "activations", "parameters"),
)
"""What `unconfirmed` needs of the rows."""


@dataclass(frozen=True)
class Limits:
    """The largest speedups that one run, and several that agree, may show."""

    one_run: float
    several: float


def unconfirmed(
    rows: pd.DataFrame,
    own_runs: frozenset[str] = frozenset(),
) -> Iterator[Anomaly]:
    """Yield the measured comparisons that nothing confirms. Those of `own_runs` are the reader's own. Figures: why."""
    measured = rows[is_comparison(rows) & (rows["origin"] == "measured")]
    if measured.empty:
        return
    found = Found.by_others(_trusted(rows[rows["checkpoint"].isin(measured["checkpoint"])]))
    cases = numbered(measured, _SAME_CASE)
    by_case = labels_by(cases)
    own = dict(zip(measured.index.tolist(), records(measured), strict=True))
    for label, row in own.items():
        others = [own[other] for other in by_case[cases[label]]]
        if row["run"] in own_runs or any(_agree(row, other) and _are_two(row, other) for other in others):
            continue
        why = _unknown(row)
        if not why:
            limit = found.limits(row) or _usual(rows)
            why = _beyond(row, others, limit)
        if why:
            yield Anomaly("unconfirmed", (label,), {"why": why})


def _trusted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons of some rows, of published ones those that nothing doubts."""
    is_doubtful = rows["flags"].str.contains(f"{UNEQUAL_BATCHES}|{TOY}") | (rows["speedup"] > IMPLAUSIBLE_SPEEDUP)
    return rows[is_comparison(rows) & ((rows["origin"] == "measured") | ~is_doubtful)]


def _usual(rows: pd.DataFrame) -> Limits:
    """Return what published comparisons of all models show."""
    median = _trusted(rows[rows["origin"] == "published"])["speedup"].median()
    return Limits(BOUNDLESS_SPEEDUP if math.isnan(median) else median, BOUNDLESS_SPEEDUP)


def _unknown(row: Row) -> Why | None:
    """Return why nobody can judge a row, whatever its speedup."""
    if not flop_of_image(row["model_label"], row["checkpoint"], _size(row)):
        return "model"
    if ceiling_of(row["device_type"], row["processor"], row["cores"]) is None:
        return "device"
    is_still = row["eager_low_ms"] is not None and row["eager_low_ms"] == row["eager_high_ms"]
    return "scatter" if is_still else None


def _size(row: Row) -> tuple[int, int] | None:
    height, _, width = row["input_size"].partition("×")
    return (int(height), int(width)) if width else None


def _beyond(row: Row, others: list[Row], limit: Limits) -> Why | None:
    """Return why a speedup is too large to count. One without an interval has a doubt of its own, as has one that is
    implausible."""
    speedup, low = row["speedup"], row["speedup_low"]
    if low is None or speedup > IMPLAUSIBLE_SPEEDUP:
        return None
    certain = max(low, speedup / EXCUSED) / TOLERANCE
    if certain > limit.several or speedup < 1 / BOUNDLESS_SPEEDUP:
        return "speedup"
    is_repeated = any(other["run"] != row["run"] and _agree(row, other) for other in others)
    return None if certain <= limit.one_run or is_repeated else "repeat"


def _agree(row: Row, other: Row) -> bool:
    """Return whether two rows show the same speedup, as far as their intervals tell."""
    ends = (row["speedup_low"], row["speedup_high"], other["speedup_low"], other["speedup_high"])
    return None not in ends and bool(ends[0] <= ends[3] and ends[2] <= ends[1])


def _are_two(row: Row, other: Row) -> bool:
    """Return whether two rows name different contributors: whoever names nobody may be the same."""
    return bool(row["contributor"] and other["contributor"]) and row["contributor"] != other["contributor"]


# ── What others have found ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Found:
    """The comparisons of others, by checkpoint: columns as arrays."""

    models: Mapping[str, Mapping[str, np.ndarray]]

    @classmethod
    def by_others(cls, compared: pd.DataFrame) -> Self:
        """Index the comparisons by model."""
        columns = ["origin", "contributor", "speedup", *NEAREST[0]]
        models = grouped(compared, "checkpoint")
        return cls({checkpoint: {name: rows[name].to_numpy() for name in columns} for (checkpoint,), rows in models})

    def limits(self, row: Row) -> Limits | None:
        """Return what a row may show by the comparisons of others of its model; None without any."""
        known = self.models[row["checkpoint"]]
        is_other = known["origin"] == "published"
        if row["contributor"]:
            is_other |= (known["contributor"] != "") & (known["contributor"] != row["contributor"])
        if not is_other.any():
            return None
        is_same = {name: known[name] == row[name] for name in NEAREST[0]}
        is_same["input_size"] |= known["input_size"] == ""  # not stated: that of the checkpoint
        alike = (np.all([is_other, *(is_same[name] for name in shared)], axis=0) for shared in NEAREST)
        nearest = next(each for each in alike if each.any())
        return Limits(float(np.median(known["speedup"][nearest])), float(known["speedup"][is_other].max()))
