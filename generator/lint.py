"""The data lint: what in the results does not fit together, found by rule.

The table of cells enters, `Finding`s leave. They hold figures and rows, never text, so that each language can tell
them in its own words; nothing is corrected or dropped. A finding is a doubt, not a proof.

    python -m generator check
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from packaging.version import InvalidVersion, Version

from bench.record import DOCTOR, UNEQUAL_BATCHES

Kind = Literal[
    "repeated",
    "unequal_batches",
    "device_order",
    "batch_order",
    "version_jump",
    "implausible",
    "impossible",
    "no_reason",
    "gap",
    "flag",
    "complaint",
    "stale",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

DOUBTING: tuple[Kind, ...] = KINDS[: KINDS.index("no_reason")]
"""Kinds that make a figure doubtful; the others tell that something is missing, open or old."""

MIN_COMMON_CELLS = 8
"""Cells that two devices must share before one of them can be called the faster one."""

FASTER_SHARE = 0.75
"""Share of common cells in which the faster device wins. With small batches, where the host decides, any may win."""

INVERSION = 0.75
"""Latency of what ought to be slower over what ought to be faster, below which the order is doubtful: noise between
runs and hosts moves a latency by a tenth or two, seldom by a quarter."""

VERSION_FACTOR = 2.0
"""From one torch version to another, eager latency on the same device seldom moves by more."""

IMPLAUSIBLE_SPEEDUP = 5.0
"""What compiling removes is host time and memory traffic. Five times faster than eager asks for a second look."""

FASTEST, SLOWEST = 10.0, 1e-3
"""Arithmetic that a latency means, as a share of the matmul peak measured beside it. Above: no algorithm saves so much
(Winograd's saves half, and convolutions may use TF32 where the product did not, at eight times the rate). Below: no
device waits so long, and a unit was taken for another."""

STALE_DAYS = 270
"""Three minor releases of torch: after that, a figure tells about the past."""

GAP_SHARE = 0.75
"""Share of the models of a table that have a row at a batch size, from which a model without one is a gap."""

MIN_SIBLINGS = 3

_ARMS = ("eager_ms", "compiled_ms")
_SETTING = ["dtype", "dynamic", "weights", "input_size", "threads", "origin"]


@dataclass(frozen=True)
class Finding:
    """One thing that does not fit. `rows` are labels of the table's index, the most doubtful row first."""

    kind: Kind
    rows: tuple[int, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def doubtful(self) -> tuple[int, ...]:
        """The rows that a reader should not trust without a second look."""
        return self.rows[:1] if self.kind in DOUBTING else ()


def lint(cells: pd.DataFrame) -> tuple[Finding, ...]:
    """Everything that does not fit together in `cells`, by kind and then by row. Linear in cells."""
    rules: tuple[Callable[[pd.DataFrame], Iterator[Finding]], ...] = (
        _repeated,
        _unequal_batches,
        _device_order,
        _batch_order,
        _version_jump,
        _implausible,
        _impossible,
        _without_reason,
        _gaps,
        _flags,
        _complaints,
    )
    found = [finding for rule in rules for finding in rule(cells)]
    repeated = {row for finding in found if finding.kind == "repeated" for row in finding.doubtful}
    # A row that was copied from elsewhere cannot fit its neighbours: once told is enough.
    kept = (each for each in found if each.kind == "repeated" or not repeated.intersection(each.doubtful))
    return tuple(sorted(kept, key=lambda each: (KINDS.index(each.kind), each.rows)))


def stale(cells: pd.DataFrame, today: date, pinned: str) -> Iterator[Finding]:
    """Runs of our own that are older than `STALE_DAYS`, or than the torch version `pinned`: what to measure again.

    Apart from `lint`, because a page must not change with the day on which it is built. Figures: days, torch.
    """
    for _, group in cells[cells["origin"] == "measured"].groupby("run", sort=True):
        age = today - group["measured_at"].max().date()
        torch = max(group["torch"], key=_release)
        if age > timedelta(days=STALE_DAYS) or _release(torch) < _release(pinned):
            yield Finding("stale", tuple(int(row) for row in group.index), {"days": age.days, "torch": torch})


def _release(version: str) -> tuple[int, ...]:
    """Major and minor: patch releases hardly move a latency."""
    try:
        return Version(version).release[:2]
    except InvalidVersion:
        return ()


def _repeated(cells: pd.DataFrame) -> Iterator[Finding]:
    """Rows of one model with the same two latencies to the digit. The one that fits its device worse is doubted.

    Figures: eager_ms and compiled_ms as repeated; expected_ms, eager latency of the doubtful row's cell with another
    torch version, nan where there is none.
    """
    known = cells.dropna(subset=list(_ARMS))
    for _, group in known[known.duplicated(["model", *_ARMS], keep=False)].groupby(["model", *_ARMS], sort=False):
        other_version = [_other_version_ms(known, row) for row in group.index]
        distance = np.abs(np.log(group["eager_ms"].to_numpy() / np.array(other_version)))
        order = np.argsort(-np.nan_to_num(distance, nan=-1.0), kind="stable")
        yield Finding(
            "repeated",
            tuple(int(group.index[position]) for position in order),
            {**{arm: float(group[arm].iloc[0]) for arm in _ARMS}, "expected_ms": float(other_version[order[0]])},
        )


def _other_version_ms(cells: pd.DataFrame, row: int) -> float:
    """Median eager latency of the same cell with other torch versions; eager does not depend on the compile mode."""
    same = ["model", "device", "batch_size", "dtype"]
    others = cells[(cells[same] == cells.loc[row, same]).all(axis=1) & (cells["torch"] != cells.loc[row, "torch"])]
    return float(others["eager_ms"].median())


def _device_order(cells: pd.DataFrame) -> Iterator[Finding]:
    """Cells in which the slower of two devices is clearly faster.

    Rows: that of the slower device, that of the faster. Figures: arm, ms and other_ms of the two rows, share and
    common: in which share of how many common cells the other device is faster.
    """
    cell = ["model", "torch", "compile_mode", "batch_size", *_SETTING]
    for arm in _ARMS:
        known = cells.dropna(subset=[arm]).drop_duplicates(["device", *cell])
        keys = pd.MultiIndex.from_frame(known[cell].astype(str))
        codes, _ = pd.factorize(keys)
        column, names = pd.factorize(known["device"], sort=True)
        latency = np.full((codes.max(initial=-1) + 1, len(names)), np.nan)
        label = np.zeros(latency.shape, dtype=np.int64)
        latency[codes, column], label[codes, column] = known[arm], known.index
        for fast in range(len(names)):
            for slow in range(len(names)):
                yield from _inversions(arm, latency[:, fast], latency[:, slow], label[:, fast], label[:, slow])


def _inversions(arm: str, fast: Any, slow: Any, fast_rows: Any, slow_rows: Any) -> Iterator[Finding]:
    common = ~np.isnan(fast) & ~np.isnan(slow)
    if common.sum() < MIN_COMMON_CELLS:
        return
    ratio = slow[common] / fast[common]
    share = float((ratio > 1).mean())
    if share < FASTER_SHARE:
        return
    for position in np.flatnonzero(common)[ratio < INVERSION]:
        yield Finding(
            "device_order",
            (int(slow_rows[position]), int(fast_rows[position])),
            {
                "arm": arm.removesuffix("_ms"),
                "ms": float(slow[position]),
                "other_ms": float(fast[position]),
                "share": share,
                "common": int(common.sum()),
            },
        )


def _batch_order(cells: pd.DataFrame) -> Iterator[Finding]:
    """A batch that takes clearly less time than a smaller batch of the same model.

    Rows: the larger batch, the smaller. Figures: arm, ms and other_ms of the two rows.
    """
    series = ["device", "model", "torch", "compile_mode", *_SETTING]
    for arm in _ARMS:
        known = cells.dropna(subset=[arm]).sort_values("batch_size", kind="stable")
        groups = known.groupby(series, sort=False, dropna=False)
        smaller_ms = groups[arm].shift()
        smaller_row = (
            known.index.to_series().groupby([known[name] for name in series], sort=False, dropna=False).shift()
        )
        for row in known.index[(known[arm] / smaller_ms) < INVERSION]:
            figures = {
                "arm": arm.removesuffix("_ms"),
                "ms": float(known.loc[row, arm]),
                "other_ms": float(smaller_ms[row]),
            }
            yield Finding("batch_order", (int(row), int(smaller_row[row])), figures)


def _version_jump(cells: pd.DataFrame) -> Iterator[Finding]:
    """Eager latency that differs by a factor from that of the same cell with other torch versions on the same device.

    Rows: the doubtful one. Figures: ms, and other_ms, the median with the other versions.
    """
    cell = ["device", "model", "batch_size", "dtype"]
    known = cells.dropna(subset=["eager_ms"])
    by_version = known.groupby([*cell, "torch"], sort=False)["eager_ms"].median().reset_index()
    pairs = by_version.merge(by_version, on=cell, suffixes=("", "_other"))
    pairs = pairs[pairs["torch"] != pairs["torch_other"]]
    factor = pairs["eager_ms_other"] / pairs["eager_ms"]
    # The fast one is doubted: a slow run has many innocent causes.
    jumps = pairs[factor > VERSION_FACTOR].drop_duplicates([*cell, "torch"])
    rows = known.reset_index().merge(jumps, on=[*cell, "torch"], suffixes=("", "_jump"))
    for _, jump in rows.groupby([*cell, "torch"], sort=False):
        first = jump.iloc[0]
        yield Finding(
            "version_jump",
            tuple(int(row) for row in jump["index"]),
            {
                "ms": float(first["eager_ms_jump"]),
                "other_ms": float(first["eager_ms_other"]),
                "other_torch": str(first["torch_other"]),
            },
        )


def _implausible(cells: pd.DataFrame) -> Iterator[Finding]:
    """A speedup that is too good. Figures: speedup, eager_ms, compiled_ms."""
    for row in cells.index[cells["speedup"] > IMPLAUSIBLE_SPEEDUP]:
        figures = {name: float(cells.loc[row, name]) for name in ("speedup", *_ARMS)}
        yield Finding("implausible", (int(row),), figures)


def _impossible(cells: pd.DataFrame) -> Iterator[Finding]:
    """A latency that means far more arithmetic than the device can do, or next to none. Figures: arm, ms, share."""
    for arm in _ARMS:
        share = cells["flop"] / cells[arm] * 1e3 / cells["matmul_flop_s"]
        for row in cells.index[(share > FASTEST) | (share < SLOWEST)]:
            figures = {"arm": arm.removesuffix("_ms"), "ms": float(cells.loc[row, arm]), "share": float(share[row])}
            yield Finding("impossible", (int(row),), figures)


def _without_reason(cells: pd.DataFrame) -> Iterator[Finding]:
    """A failure that does not say why. Figures: status."""
    for row in cells.index[(cells["status"] != "pass") & (cells["reason"].str.strip() == "")]:
        yield Finding("no_reason", (int(row),), {"status": str(cells.loc[row, "status"])})


def _unequal_batches(cells: pd.DataFrame) -> Iterator[Finding]:
    """A row whose two arms were measured with different batches, as its importer says."""
    for row in cells.index[cells["flags"].str.split().map(lambda flags: UNEQUAL_BATCHES in flags).astype(bool)]:
        yield Finding("unequal_batches", (int(row),))


def _gaps(cells: pd.DataFrame) -> Iterator[Finding]:
    """A model without a row at a batch size at which nearly all models of its table have one.

    Rows: those the model has in that table. Figures: batch_sizes, siblings (the number of models that have rows there).
    """
    table = ["device", "torch", "compile_mode", *_SETTING]
    without_size = [name for name in table if name != "input_size"]
    for _, group in cells.groupby(without_size, sort=False, dropna=False):
        sizes = pd.crosstab(group["model"], group["batch_size"]) > 0
        usual = sizes.columns[(sizes.mean() >= GAP_SHARE) & (sizes.sum() >= MIN_SIBLINGS)]
        missing = ~sizes[usual]
        for model in missing.index[missing.any(axis=1)]:
            batch_sizes = tuple(int(size) for size in usual[missing.loc[model]])
            siblings = int(sizes[list(batch_sizes)].all(axis=1).sum())
            rows = tuple(int(row) for row in group.index[group["model"] == model])
            yield Finding("gap", rows, {"batch_sizes": batch_sizes, "siblings": siblings})


def _flags(cells: pd.DataFrame) -> Iterator[Finding]:
    """What an importer could not know or found wrong. Figures: flag, its identifier."""
    flags = cells["flags"].str.split().explode().dropna()
    others = flags[(flags != UNEQUAL_BATCHES) & ~flags.astype(str).str.startswith(DOCTOR)]
    for flag, rows in others.groupby(others):  # a row with several flags is there several times
        yield Finding("flag", tuple(int(row) for row in rows.index), {"flag": str(flag)})


def _complaints(cells: pd.DataFrame) -> Iterator[Finding]:
    """What the doctor found on the machine while it was measured. Figures: check, its name."""
    flags = cells["flags"].str.split().explode().dropna().astype(str)
    checks = flags[flags.str.startswith(DOCTOR)].str.removeprefix(DOCTOR)
    for check, rows in checks.groupby(checks):
        yield Finding("complaint", tuple(int(row) for row in rows.index), {"check": str(check)})
