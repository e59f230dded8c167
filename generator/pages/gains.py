"""Reasons for a gain: the same models compared by family, arithmetic intensity, GPU, version and data type.

Takes `Results`; returns `Gains`. Only throughput counts here, and only rows that are free of doubt: no toy model, no
doubtful row and no pair of unequal batches enters a median.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import pandas as pd

from bench.statistics.processes import VARIANTS, VariantName
from bench.statistics.verdicts import judge_changes, time_change
from generator.data.load import Results
from generator.data.registry import COORDINATES
from generator.data.selection import grouped, is_trusted, version_order, where
from generator.figures.drawing import Box

FEWEST = 5
"""Models that a family must have before it is named."""

NAMED = 5
"""Families that a chart or a sentence names at each end."""

MOST_REGRESSIONS = 20

BOUNDS = (0.0, 200.0, 400.0, 800.0, 1600.0, math.inf)
"""Ends of the classes of arithmetic intensity, in FLOP for each activation: each is twice as wide as the one before."""

BASE_DTYPE = "autocast float16"
"""The data type that others are compared with: what most benchmarks of throughput use."""

_APART = ("device", "torch", "dtype", "batch_size", "origin")  # what may differ between rows of one model
_MODEL = [name for name in COORDINATES if name not in _APART]

_COLUMNS = [
    *(*COORDINATES, "family", "status", "change", "verdict", "intensity"),
    *(f"{variant}_{figure}" for variant in VARIANTS for figure in ("images_s", "batch_size")),
]


@dataclass(frozen=True, eq=False)
class Changes:
    """One figure of many models against another. `rows` has the change and the family of each, by label of a row; where
    it is against another row, that one's label is the `base`."""

    rows: pd.DataFrame
    less_is_better: bool = True

    @property
    def count(self) -> int:
        """How many models."""
        return len(self.rows)

    @cached_property
    def labels(self) -> list[int]:
        """The labels of all rows that stand behind the changes."""
        return [*self.rows.index, *self.rows.get("base", ())]

    @cached_property
    def box(self) -> Box:
        """Quartiles of all. Raises `ValueError` without any."""
        return Box.of(self.rows["change"])

    @cached_property
    def families(self) -> Mapping[str, Box]:
        """Quartiles of each family with enough models, the best first."""
        found = grouped(self.rows[["family", "model", "change"]], "family")
        boxes = {family: Box.of(rows["change"]) for (family,), rows in found if rows["model"].nunique() >= FEWEST}
        return dict(sorted(boxes.items(), key=lambda each: self._rank(each[1].median)))

    @property
    def best_families(self) -> tuple[str, ...]:
        """The families with the best medians."""
        return tuple(self.families)[:NAMED]

    @property
    def worst_families(self) -> tuple[str, ...]:
        """The families with the worst medians, the worst first: none of the best ones."""
        return tuple(self.families)[NAMED:][::-1][:NAMED]

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """The rows, the best first."""
        return self.rows.sort_values("change", ascending=self.less_is_better, kind="stable")

    @property
    def best(self) -> int:
        """The label of the best row."""
        return int(self.ranked.index[0])

    @property
    def worst(self) -> int:
        """The label of the worst row."""
        return int(self.ranked.index[-1])

    @property
    def least(self) -> float:
        """The least change."""
        return float(self.rows["change"].min())

    @property
    def most(self) -> float:
        """The largest change."""
        return float(self.rows["change"].max())

    @cached_property
    def losses(self) -> pd.DataFrame:
        """The rows that are clearly worse, the worst first."""
        times = np.array([*map(self.as_time, self.ranked["change"])])
        return where(self.ranked, pd.Series(judge_changes(times) == "slower", self.ranked.index))[::-1]

    @property
    def slower(self) -> int:
        """How many rows are clearly worse."""
        return len(self.losses)

    def as_time(self, change: float) -> float:
        """Return the change of the time that goes with a change."""
        return change if self.less_is_better else time_change(change)

    def _rank(self, change: float) -> float:
        return change if self.less_is_better else -change


@dataclass(frozen=True, eq=False)
class IntensityClass:
    """Models with an arithmetic intensity from `low` up to `high`."""

    low: float
    high: float
    changes: Changes


@dataclass(frozen=True, eq=False)
class GpuPair:
    """How well the gains on one GPU tell those on another: over models that nothing doubts on either."""

    labels: tuple[int, int]  # a row of each GPU
    count: int
    difference: float  # median of the absolute differences of the changes
    correlation: float  # of the ranks, by Spearman
    same_verdict: float  # share of the models


@dataclass(frozen=True, eq=False)
class History:
    """The same models on one GPU with an old and a new version of PyTorch, in images per second: more is better."""

    device: str
    old: str
    new: str
    eager: Changes
    compiled: Changes
    unequal: int  # compiled models that are left out, since their batch sizes differ


@dataclass(frozen=True, eq=False)
class TypeGain:
    """The same compiled models on one GPU in `BASE_DTYPE` and in another data type, in images per second."""

    device: str
    dtype: str
    changes: Changes
    unequal: int  # models that are left out, since their batch sizes differ


class Gains:
    """All that the throughput of many models tells about compiling."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @cached_property
    def _cells(self) -> pd.DataFrame:
        newest = self._results.newest
        return newest.loc[newest["workload"] == "throughput", _COLUMNS]

    @cached_property
    def _doubted(self) -> frozenset[int]:
        """The rows whose figures are doubtful by themselves, not only as a pair."""
        doubts = self._results.doubts.items()
        return frozenset(label for label, found in doubts if {each.kind for each in found} - _OF_THE_PAIR)

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The comparisons with the newest of those versions of PyTorch and that data type that most GPUs share."""
        known = where(self._cells, is_trusted(self._cells))
        if known.empty:
            return known
        shared = known.groupby(["torch", "dtype"])["device"].nunique()
        torch, dtype = max(shared.index, key=lambda named: (shared[named], version_order(named[0])))
        return where(known, (known["torch"] == torch) & (known["dtype"] == dtype))

    @property
    def torch(self) -> str:
        """The version of PyTorch of these comparisons; "" without any."""
        return "" if self.compared.empty else str(self.compared["torch"].iloc[0])

    @cached_property
    def every(self) -> Changes:
        """The comparisons on all GPUs: to order families by, and to name them."""
        return Changes(self.compared)

    @cached_property
    def by_device(self) -> Mapping[str, Changes]:
        """The comparisons on each GPU."""
        return {device: Changes(rows) for (device,), rows in grouped(self.compared, "device")}

    @cached_property
    def intensity_correlation(self) -> float:
        """Rank correlation, by Spearman, of the arithmetic intensity with the change: above zero, more intensity goes
        with less gain."""
        return _rank_correlation(self.compared[["intensity", "change"]].dropna())

    @cached_property
    def models(self) -> int:
        """How many models these comparisons have."""
        return int(self.compared["model"].nunique())

    # ── Intensity ───────────────────────────────────────────────────────────────────────────────────────────────────

    def classes(self, changes: Changes) -> tuple[IntensityClass, ...]:
        """Return the models by classes of arithmetic intensity, the least first, without those that have few models."""
        intensity = changes.rows["intensity"]
        found = (
            IntensityClass(low, high, Changes(changes.rows[(intensity >= low) & (intensity < high)]))
            for low, high in pairwise(BOUNDS)
        )
        return tuple(each for each in found if each.changes.count >= FEWEST)

    # ── GPUs ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def agreements(self) -> tuple[GpuPair, ...]:
        """How well each GPU tells another, pair by pair."""
        return tuple(self._agreements())

    def _agreements(self) -> Iterator[GpuPair]:
        for first, second in combinations((changes.rows for changes in self.by_device.values()), 2):
            both = _matched(first, second, "change", "verdict")
            if len(both) < FEWEST:
                continue
            changes = both[["change_before", "change_after"]].astype(float)
            yield GpuPair(
                (int(first.index[0]), int(second.index[0])),
                count=len(both),
                difference=float((changes["change_after"] - changes["change_before"]).abs().median()),
                correlation=_rank_correlation(changes),
                same_verdict=float((both["verdict_before"] == both["verdict_after"]).mean()),
            )

    @cached_property
    def steady_best(self) -> tuple[str, ...]:
        """The families that are among the twice `NAMED` best ones on every GPU."""
        return self._on_every_device(lambda changes: tuple(changes.families)[: 2 * NAMED])

    @cached_property
    def steady_worst(self) -> tuple[str, ...]:
        """The families that are among the twice `NAMED` worst ones on every GPU, the worst first."""
        return self._on_every_device(lambda changes: tuple(changes.families)[2 * NAMED :][::-1][: 2 * NAMED])

    def _on_every_device(self, choose: Callable[[Changes], tuple[str, ...]]) -> tuple[str, ...]:
        chosen = [choose(changes) for changes in self.by_device.values()]
        return tuple(family for family in choose(self.every) if all(family in each for each in chosen))

    # ── Versions and data types ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def history(self) -> tuple[History, ...]:
        """Each GPU with several versions of PyTorch: the oldest and the newest."""
        return tuple(self._histories())

    def _histories(self) -> Iterator[History]:
        for (device, _), rows in grouped(self._sound, "device", "dtype"):
            versions = sorted(set(rows["torch"]), key=version_order)
            old, new = (rows[rows["torch"] == each] for each in (versions[0], versions[-1]))
            eager, compiled = (_rates(old, new, variant) for variant in VARIANTS)
            if len(versions) > 1 and eager["is_equal"].any():
                equal = [Changes(each[each["is_equal"]], less_is_better=False) for each in (eager, compiled)]
                unequal = int((~compiled["is_equal"]).sum())
                yield History(str(device), versions[0], versions[-1], equal[0], equal[1], unequal)

    @cached_property
    def types(self) -> tuple[TypeGain, ...]:
        """Each GPU and version whose compiled models ran in several data types: every other one against the base."""
        return tuple(self._types())

    @cached_property
    def every_type(self) -> Changes:
        """All of these, to say where they come from."""
        found = [each.changes.rows for each in self.types]
        return Changes(pd.concat(found) if found else self.compared, less_is_better=False)

    def _types(self) -> Iterator[TypeGain]:
        for (device, _), rows in grouped(self._sound, "device", "torch"):
            base = rows[rows["dtype"] == BASE_DTYPE]
            for dtype in sorted(set(rows["dtype"]) - {BASE_DTYPE}):
                pairs = _rates(base, rows[rows["dtype"] == dtype], "compiled")
                equal = pairs[pairs["is_equal"]]
                if not equal.empty:
                    changes = Changes(equal, less_is_better=False)
                    yield TypeGain(str(device), str(dtype), changes, len(pairs) - len(equal))

    @cached_property
    def _sound(self) -> pd.DataFrame:
        """The rows that nothing doubts but that their two variants had unequal batches: each variant can still be
        compared with itself."""
        return where(self._cells, ~self._cells.index.to_series().isin(self._doubted))


_OF_THE_PAIR = {"unequal_batches"}
"""Anomalies of the comparison of eager with compiled, which leave each figure as good as it was."""


def _rank_correlation(two: pd.DataFrame) -> float:
    """Return the correlation of the ranks of two columns, by Spearman."""
    return float(two.astype(float).rank().corr().to_numpy()[0, 1])


def _matched(before: pd.DataFrame, after: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the models that both have, by label in `after`, with the columns of both and the label in `before`."""
    first, second = (
        rows[[*_MODEL, *columns]].assign(row=rows.index).drop_duplicates(_MODEL, keep="last")
        for rows in (before, after)
    )
    both = first.merge(second, on=_MODEL, suffixes=("_before", "_after"))
    return both.set_index(both["row_after"].rename(None))


def _rates(before: pd.DataFrame, after: pd.DataFrame, variant: VariantName) -> pd.DataFrame:
    """Return the change in images per second from one to the other, with both, and whether the batches were equal."""
    rate, size = f"{variant}_images_s", f"{variant}_batch_size"
    both = _matched(before, after, rate, size).dropna(subset=[f"{rate}_before", f"{rate}_after"])
    first, second = (both[f"{rate}_{end}"].astype(float) for end in ("before", "after"))
    return pd.DataFrame(
        {
            "change": second / first - 1,
            **{name: after.loc[both.index, name] for name in ("model", "input_size", "family")},
            "base": both["row_before"],
            "before": first,
            "after": second,
            "is_equal": (both[f"{size}_before"] == both[f"{size}_after"]).astype(bool),
        }
    )
