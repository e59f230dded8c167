"""Reasons for a gain: the same models compared by family, arithmetic intensity, GPU, version and data type.

Takes `Results`; returns `Gains`, and tables of them. Only throughput counts here, and only rows that are free of
doubt: no toy model, no doubtful row and no pair of unequal batches enters a median.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import pandas as pd

from bench.statistics.processes import VARIANTS, VariantName
from bench.statistics.verdicts import verdicts_without_interval
from generator.data.load import Results
from generator.data.registry import COORDINATES, FACTOR, GAIN, IMAGES, N_
from generator.data.rows import CONTIGUOUS
from generator.data.selection import Rows, grouped, is_trusted, version_order, where
from generator.figures.drawing import Box
from generator.figures.matrix import FamilyGain, FamilyGains
from generator.figures.words import Words

FEWEST = 5
"""Models that a family or a class of arithmetic intensity must have before it is named."""

NAMED = 5
"""Families that a chart or a sentence names at each end."""

LARGEST = 20
"""Families that the first page names: those with the most models."""

MOST_REGRESSIONS = 20

LOSS = 0.05
"""Share of the throughput whose loss in another layout is counted."""

BOUNDS = (0.0, 200.0, 400.0, 800.0, 1600.0, math.inf)
"""Ends of the classes of arithmetic intensity, in FLOP for each activation: each is twice as wide as the one before."""

BASE_DTYPE = "autocast float16"
"""The data type that others are compared with: what most benchmarks of throughput use."""

_APART = ("device", "torch", "dtype", "batch_size", "layout", "origin")  # what may differ between rows of one model
_MODEL = [name for name in COORDINATES if name not in _APART]

_COLUMNS = [
    *(*COORDINATES, "device_name", "family", "status", "speedup", "verdict", "intensity"),
    *(f"{variant}_{figure}" for variant in VARIANTS for figure in ("images_s", "batch_size")),
]


@dataclass(frozen=True, eq=False)
class Speedups:
    """How many times as fast many models are in one way as in another. `rows` has the speedup, the family and the model
    of each, by label of a row; where it is against another row, that one's label is the `base`."""

    rows: pd.DataFrame

    count = property(lambda self: len(self.rows))
    slower = property(lambda self: len(self.losses))
    least = property(lambda self: float(self.rows["speedup"].min()))
    most = property(lambda self: float(self.rows["speedup"].max()))
    best = property(lambda self: int(self.ranked.index[0]))  # the label of a row
    worst = property(lambda self: int(self.ranked.index[-1]))
    losing = property(lambda self: int((self.rows["speedup"] <= 1 - LOSS).sum()))
    device_name = property(lambda self: str(self.rows["device_name"].iloc[0]))

    @cached_property
    def box(self) -> Box:
        """Quartiles of all. Raises `ValueError` without any."""
        return Box.of(self.rows["speedup"])

    def medians(self, group: str) -> pd.Series:
        """Return the median by the values of a column, the best first, of those with enough models."""
        groups = self.rows.groupby(group, sort=False)
        medians = groups["speedup"].median()[groups["model"].nunique() >= FEWEST]
        return medians.sort_values(ascending=False, kind="stable")

    families = cached_property(lambda self: tuple(self.medians("family").index))
    best_families = property(lambda self: self.families[:NAMED])
    worst_families = property(lambda self: self.families[NAMED:][::-1][:NAMED])  # none of the best ones

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """The rows, the best first."""
        return self.rows.sort_values("speedup", ascending=False, kind="stable")

    @cached_property
    def losses(self) -> pd.DataFrame:
        """The rows that are clearly worse, the worst first."""
        verdicts = verdicts_without_interval(self.ranked["speedup"].to_numpy(float))
        return where(self.ranked, pd.Series(verdicts == "slower", self.ranked.index))[::-1]


class GpuPair(NamedTuple):
    """How well the gains on one GPU tell those on another: over models that nothing doubts on either."""

    difference: float  # of one speedup from the other as a share, the median
    correlation: float  # of the ranks, by Spearman
    same_verdict: float  # share of the models


class History(NamedTuple):
    """The same models on one GPU with an old and a new version of PyTorch, in images per second: more is better."""

    device: str
    old: str
    new: str
    eager: Speedups
    compiled: Speedups
    unequal: int  # compiled models that are left out, since their batch sizes differ


class SettingChange(NamedTuple):
    """The same variant of models on one device in two data types or memory layouts, in images per second."""

    device: str
    torch: str
    dtype: str  # the second one, where there are two
    speedups: Speedups


class LayoutPair(NamedTuple):
    """The factors of channels last in eager mode on one GPU and of compiling on another, over common models."""

    device: str  # on which they were compiled
    device_name: str
    rows: pd.DataFrame  # by label of a compiled row: model, family, and the factors `layout` and `compiled`
    correlation: float  # of the ranks, by Spearman
    slower: int  # models that are clearly slower when compiled
    slower_twice: int  # in channels last, too

    @property
    def extremes(self) -> pd.DataFrame:
        """The models that gain most in channels last, and those that lose most."""
        ranked = self.rows.sort_values("layout", ascending=False, kind="stable")
        return pd.concat([ranked[:NAMED], ranked[NAMED:][-NAMED:]])


class Gains:
    """All that the throughput of many models tells about compiling."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @cached_property
    def _cells(self) -> pd.DataFrame:
        newest = self._results.newest
        cells = newest.loc[newest["workload"] == "throughput", _COLUMNS]
        return cells.assign(intensity_class=pd.cut(cells["intensity"], BOUNDS, right=False, labels=False))

    @cached_property
    def every(self) -> Speedups:
        """The comparisons with the newest of those versions of PyTorch and that data type that most GPUs share."""
        known = where(self._cells, is_trusted(self._cells))
        if known.empty:
            return Speedups(known)
        shared = known.groupby(["torch", "dtype"])["device"].nunique()
        torch, dtype = max(shared.index, key=lambda named: (shared[named], version_order(named[0])))
        return Speedups(where(known, (known["torch"] == torch) & (known["dtype"] == dtype)))

    # The version of PyTorch of these comparisons, and the number of their models.
    torch = property(lambda self: str(self.every.rows["torch"].iloc[0]) if self.every.count else "")
    models = property(lambda self: int(self.every.rows["model"].nunique()))
    fewest = FEWEST

    @cached_property
    def by_device(self) -> Mapping[str, Speedups]:
        """The comparisons on each GPU, by its name."""
        return {name: Speedups(rows) for (name,), rows in grouped(self.every.rows, "device_name")}

    @property
    def intensity_correlation(self) -> float:
        """Rank correlation, by Spearman, of the arithmetic intensity with the speedup."""
        return _rank_correlation(self.every.rows[["intensity", "speedup"]].dropna())

    @cached_property
    def largest_families(self) -> FamilyGains:
        """The gains of all families together and of the largest ones on each GPU, the largest first."""
        of_families = self.every.rows[self.every.rows["family"] != ""]
        rows = pd.concat([self.every.rows.assign(family=""), of_families])
        largest = rows.groupby("family")["model"].nunique().nlargest(1 + LARGEST).index  # "" has all models
        found: dict[str, dict[str, FamilyGain]] = {family: {} for family in largest}
        for (family, device), group in grouped(rows[rows["family"].isin(largest)], "family", "device"):
            if group["model"].nunique() >= FEWEST:
                median = float(group["speedup"].median())
                nearest = (group["speedup"] - median).abs().sort_values(kind="stable").index[0]
                found[family][device] = FamilyGain(median, int(nearest))
        return {family: of_device for family, of_device in found.items() if of_device}

    # ── GPUs ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def agreements(self) -> Sequence[GpuPair]:
        """How well each GPU tells another, pair by pair."""
        found = []
        for first, second in combinations((speedups.rows for speedups in self.by_device.values()), 2):
            both = _matched(first, second, "speedup", "verdict")
            if len(both) >= FEWEST:
                difference = (both["speedup_after"] / both["speedup_before"] - 1).abs().median()
                correlation = _rank_correlation(both[["speedup_before", "speedup_after"]])
                same_verdict = (both["verdict_before"] == both["verdict_after"]).mean()
                found.append(GpuPair(float(difference), correlation, float(same_verdict)))
        return found

    # ── Versions and data types ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def history(self) -> Sequence[History]:
        """Each GPU with several versions of PyTorch: the oldest and the newest."""
        found = []
        for (device, _), rows in grouped(self._results.sound(self._cells), "device", "dtype"):
            versions = sorted(set(rows["torch"]), key=version_order)
            old, new = (rows[rows["torch"] == each] for each in (versions[0], versions[-1]))
            (eager, _), (compiled, unequal) = (_rates(old, new, variant) for variant in VARIANTS)
            if len(versions) > 1 and eager.count:
                found.append(History(str(device), versions[0], versions[-1], eager, compiled, unequal))
        return found

    @cached_property
    def types(self) -> Sequence[SettingChange]:
        """Each GPU and version whose compiled models ran in several data types: every other one against the base."""
        found = []
        for (device, torch), rows in grouped(self._results.sound(self._cells), "device", "torch"):
            base = rows[rows["dtype"] == BASE_DTYPE]
            for dtype in sorted(set(rows["dtype"]) - {BASE_DTYPE}):
                speedups, _ = _rates(base, rows[rows["dtype"] == dtype], "compiled")
                if speedups.count:
                    found.append(SettingChange(device, torch, dtype, speedups))
        return found

    @cached_property
    def layouts(self) -> Sequence[SettingChange]:
        """Each device whose eager models ran in both layouts, the one with the most models in common first: in runs of
        their own, or in turn. Toys count: they say nothing about compiling alone."""
        known, found = self._results.sound(self._results.current, "toy"), list[SettingChange]()
        known = known.assign(speedup=known["channels_last_speedup"])
        for (device, torch, dtype, *_), rows in grouped(known, "device", "torch", "dtype", "origin", "workload"):
            usual = rows["layout"] == CONTIGUOUS
            apart, _ = _rates(rows[usual], rows[~usual], "eager")
            in_turn = Speedups(rows.dropna(subset=["speedup"]))
            found += [SettingChange(device, torch, dtype, each) for each in (apart, in_turn) if each.count]
        return sorted(found, key=lambda each: -each.speedups.count)

    @property
    def every_layout(self) -> Speedups:
        """The first of these, to say where they come from."""
        return self.layouts[0].speedups if self.layouts else Speedups(self._cells.iloc[:0])

    @cached_property
    def layout_pairs(self) -> Sequence[LayoutPair]:
        """The first of these beside compiling on each GPU, those with both layouts first."""
        if not self.layouts:
            return ()
        found, layout = [], self.layouts[0].speedups.rows
        for name, compiled in self.by_device.items():
            both = _matched(layout, compiled.rows, "speedup", "family")
            factors = {"layout": both["speedup_before"], "compiled": both["speedup_after"]}
            both = both.assign(**factors, family=both["family_after"])
            if len(both) >= FEWEST:
                verdicts = (verdicts_without_interval(both[each].to_numpy(float)) for each in factors)
                turned, slower = (verdict == "slower" for verdict in verdicts)
                device, correlation = str(compiled.rows["device"].iloc[0]), _rank_correlation(both[[*factors]])
                counts = int(slower.sum()), int((slower & turned).sum())
                found.append(LayoutPair(device, name, both, correlation, *counts))
        devices = [each.device for each in self.layouts]
        return sorted(found, key=lambda pair: pair.device not in devices)

    @property
    def layout_explains_losses(self) -> bool:
        """Whether all models that are slower when compiled, on whichever GPU, are also slower in channels last."""
        pairs = [pair for pair in self.layout_pairs if pair.slower]
        return bool(pairs) and all(pair.slower == pair.slower_twice for pair in pairs)

    @property
    def every_type(self) -> Speedups:
        """All of these, to say where they come from."""
        found = [each.speedups.rows for each in self.types]
        return Speedups(pd.concat(found) if found else self.every.rows)


def _rank_correlation(two: pd.DataFrame) -> float:
    """Return the correlation of the ranks of two columns, by Spearman."""
    return float(two.rank().corr().to_numpy()[0, 1])


def _matched(before: pd.DataFrame, after: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the models that both have, by label in `after`, with the columns of both and the label in `before`."""
    first, second = (
        rows[[*_MODEL, *columns]].assign(row=rows.index).drop_duplicates(_MODEL, keep="last")
        for rows in (before, after)
    )
    both = first.merge(second, on=_MODEL, suffixes=("_before", "_after"))
    return both.set_index(both["row_after"].rename(None))


def _rates(before: pd.DataFrame, after: pd.DataFrame, variant: VariantName) -> tuple[Speedups, int]:
    """Return how many times as many images per second the second has, with both rates, of the models whose batches
    were equal, and the number of the other models."""
    rate, size = f"{variant}_images_s", f"{variant}_batch_size"
    both = _matched(before, after, rate, size).dropna(subset=[f"{rate}_before", f"{rate}_after"])
    rows = after.loc[both.index, [*_MODEL, "family", "device_name"]].assign(
        base=both["row_before"],
        before=both[f"{rate}_before"],
        after=both[f"{rate}_after"],
        speedup=both[f"{rate}_after"] / both[f"{rate}_before"],
    )
    is_equal = (both[f"{size}_before"] == both[f"{size}_after"]).astype(bool)
    return Speedups(rows[is_equal]), int((~is_equal).sum())


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class GainTable(NamedTuple):
    """A table about speedups of its subject, `Gains` or a `History`: its headline as a message, the name of these
    speedups, and its lines in the form of `generator.figures.tables`."""

    headline: str
    speedups: str
    lines: Callable[[Any], pd.DataFrame]

    def caption(self, subject: Gains | History, by_label: Rows, words: Words) -> str:
        """Return the headline, the facts that all rows behind the speedups share, and their number."""
        headline, rows = words.language.gettext(self.headline), getattr(subject, self.speedups).rows
        if isinstance(subject, History):
            headline = words.say(headline, old=f"PyTorch {subject.old}", new=f"PyTorch {subject.new}")
        behind = [by_label[label] for label in (*rows.index, *rows.get("base", ()))]
        common = words.selection(behind, skip=("model", "batch_size"))
        message = words.language.ngettext("%(count)s comparison", "%(count)s comparisons", len(rows))
        return words.facts([words.phrase(headline), common, words.counted(message, len(rows))])


def _medians(group: str, order: Speedups, columns: Mapping[str, Speedups]) -> pd.DataFrame:
    """One line per group with the median of each column, in the order of the medians of `order`."""
    groups = order.rows.reset_index(names="row").groupby(group)
    medians = {name: speedups.medians(group) for name, speedups in columns.items()}
    lines = pd.DataFrame(medians | {"models": groups["model"].nunique(), "row": groups["row"].first()})
    return lines.loc[order.medians(group).index].rename_axis(group).reset_index().set_index("row")


def _on_each_gpu(group: str, gains: Gains) -> pd.DataFrame:
    return _medians(group, gains.every, {f"{GAIN} {name}": each for name, each in gains.by_device.items()})


def _intensity(gains: Gains) -> pd.DataFrame:
    lines = _on_each_gpu("intensity_class", gains).sort_values("intensity_class")
    lines.insert(0, "bounds", [BOUNDS[int(each) : int(each) + 2] for each in lines.pop("intensity_class")])
    return lines


def _losses(gains: Gains) -> pd.DataFrame:
    return gains.every.losses[["model", "speedup", "device", "input_size", "eager_images_s", "compiled_images_s"]]


def _with_both_rates(rows: pd.DataFrame, history: History) -> pd.DataFrame:
    names = {"speedup": "newer_speedup", "before": f"{IMAGES} {history.old}", "after": f"{IMAGES} {history.new}"}
    return rows[["model", *names, "input_size"]].rename(columns=names)


def _families_by_type(gains: Gains) -> pd.DataFrame:
    return _medians("family", gains.every_type, {f"{GAIN} {each.dtype}": each.speedups for each in gains.types})


def _families_by_layout(gains: Gains) -> pd.DataFrame:
    if not gains.layouts:
        return pd.DataFrame()
    columns = {f"{FACTOR} layout {each.speedups.device_name}": each.speedups for each in gains.layouts}
    for pair in gains.layout_pairs[:1]:
        factors = pair.rows.assign(speedup=pair.rows["compiled"])
        columns[f"{FACTOR} compiled {pair.device_name}"] = Speedups(factors)
    return _medians("family", gains.layouts[0].speedups, columns).dropna(axis=1, how="all")


GAIN_TABLES = {
    "families": GainTable(
        N_("Median speedup when compiled, by model family"), "every", partial(_on_each_gpu, "family")
    ),
    "intensity": GainTable(N_("Median speedup when compiled, by FLOP per activation"), "every", _intensity),
    "losses": GainTable(N_("Where compiling lowers throughput"), "every", _losses),
    "layouts": GainTable(
        N_("Median factor of images per second, relative to eager in PyTorch’s own layout, by model family"),
        "every_layout",
        _families_by_layout,
    ),
    "types": GainTable(
        N_("Throughput relative to float16 autocast, compiled: medians by model family"),
        "every_type",
        _families_by_type,
    ),
}
"""The tables of all models with the newest version of PyTorch."""

HISTORY_TABLES = {
    "history": GainTable(
        N_("Throughput in eager mode with %(new)s, relative to %(old)s: medians by model family"),
        "eager",
        lambda history: _medians("family", history.eager, {f"{GAIN} eager": history.eager}),
    ),
    "regressions": GainTable(
        N_("Slower in eager mode: from %(old)s to %(new)s"),
        "eager",
        lambda history: _with_both_rates(history.eager.losses.iloc[:MOST_REGRESSIONS], history),
    ),
    "equal": GainTable(
        N_("Compiled, in batches of equal size, from %(old)s to %(new)s"),
        "compiled",
        lambda history: _with_both_rates(history.compiled.ranked[::-1], history),
    ),
}
"""The tables of a GPU with two versions of PyTorch."""
