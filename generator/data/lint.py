"""The data lint: rules that find results which do not fit together.

Takes a DataFrame of cells and returns `Anomaly`s, which hold figures and labels of rows, never text: each language has
its own words. Nothing is corrected or dropped. An anomaly is a doubt, not a proof.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from statistics import median
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from packaging.version import InvalidVersion, Version

from bench.records.record import DOCTOR, TOY, UNEQUAL_BATCHES, Status
from bench.statistics.verdicts import SAME, Verdict
from generator.data.selection import Groups, Row, Rows, grouped, grouping, is_comparison, labels_by, numbered, records

Kind = Literal[
    "repeated",
    "unequal_batches",
    "toy",
    "device_order",
    "batch_order",
    "version_jump",
    "implausible",
    "impossible",
    "unstable",
    "disturbed",
    "no_interval",
    "no_reason",
    "gap",
    "flag",
    "complaint",
    "stale",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

DOUBTING: tuple[Kind, ...] = KINDS[: KINDS.index("no_reason")]
"""Kinds that make a figure doubtful; the others say that something is missing, open or old."""

ORDERS: tuple[Kind, ...] = ("device_order", "batch_order")
"""Kinds by which a second row doubts the first."""

DISTURBING = frozenset({"load", "quota", "steal", "gpu-processes", "gpu-slowdown"})
"""Complaints of the doctor about what changes latencies; the others are about what may end a run."""

DOUBTFUL: Verdict = "doubtful"
"""The verdict of a row that the lint doubts."""

MIN_COMMON_CELLS = 8
"""Cells that two devices must share before one of them counts as the faster one."""

FASTER_SHARE = 0.75
"""Share of common cells in which the faster device wins. With small batches the host decides, and any may win."""

INVERSION = 0.75
"""Latency of the expectedly slower over the expectedly faster one, below which the order is doubtful: noise between
runs and hosts changes a latency by a tenth or two, seldom by a quarter."""

VERSION_FACTOR = 2.0
"""From one torch version to another, eager latency on the same device seldom changes by more."""

IMPLAUSIBLE_SPEEDUP = 5.0
"""Without the time for which eager leaves the device idle, which CUDA graphs can remove: what is left of a speedup is
fewer and better kernels. Five times faster than eager needs a second look."""

FASTEST, SLOWEST = 10.0, 1e-3
"""Arithmetic that a latency implies, as a share of the measured matmul peak. Above: no algorithm saves that much
(Winograd's saves half, and convolutions may use TF32 where the product did not, at eight times the rate). Below: no
device waits that long, and a unit was mistaken for another."""

STALE_DAYS = 270
"""Three minor releases of torch: after that, a figure describes the past."""

GAP_SHARE = 0.75
"""Share of the models of a table that have a row at a batch size, from which a model without one is a gap."""

MIN_SIBLINGS = 3

_RESTLESS = (Status.UNSTABLE, Status.THROTTLED)
_VARIANTS = ("eager_ms", "compiled_ms")
_SETTING = ("dtype", "dynamic", "weights", "input_size", "layout", "threads", "origin")


@dataclass(frozen=True)
class Anomaly:
    """Something that does not fit. `rows` are labels of rows, the most doubtful first."""

    kind: Kind
    rows: tuple[int, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def doubtful(self) -> tuple[int, ...]:
        """The rows that a reader should not trust without a second look."""
        if self.kind == "complaint":
            return self.rows if self.figures["check"] in DISTURBING else ()
        return self.rows[:1] if self.kind in DOUBTING else ()


def doubted(cells: pd.DataFrame, labels: Iterable[int]) -> pd.DataFrame:
    """Return `cells` with the verdict doubtful, and without a break-even point, in the rows with these labels."""
    rows = list(labels)
    if not rows:
        return cells
    is_doubted = cells.index.isin(rows)
    break_even = (name for name in cells.columns if name.startswith("break_even"))
    unknown = {name: cells[name].mask(is_doubted) for name in break_even}
    return cells.assign(verdict=cells["verdict"].mask(is_doubted, DOUBTFUL), **unknown)


def lint(cells: pd.DataFrame) -> tuple[Anomaly, ...]:
    """Return everything that does not fit together in `cells`, by kind and then by row.

    Takes time in proportion to the rows, unless many devices have the same cell.
    """
    found = [*_repeated(cells), *_version_jump(cells), *_flags(cells)]
    for _, rows in grouped(cells, "origin"):  # the benchmarks of another origin may differ
        found += lint_alone(rows)
        for rule in (_device_order, _batch_order, _without_reason, _gaps):
            found += rule(rows)
    repeated = {row for anomaly in found if anomaly.kind == "repeated" for row in anomaly.doubtful}
    # A row that was copied from elsewhere can't fit its neighbours: one anomaly is enough.
    kept = (each for each in found if each.kind == "repeated" or not repeated.intersection(each.doubtful))
    return tuple(sorted(kept, key=lambda each: (KINDS.index(each.kind), each.rows)))


def gathered(anomalies: Iterable[Anomaly], most: int) -> list[tuple[Anomaly, ...]]:
    """Return each anomaly by itself, and together those of a kind that has more than `most`: nobody reads a thousand
    sentences that say the same."""
    by_kind: dict[Kind, list[Anomaly]] = {}
    for each in anomalies:
        by_kind.setdefault(each.kind, []).append(each)
    groups = ([tuple(several)] if len(several) > most else [(one,) for one in several] for several in by_kind.values())
    return [group for several in groups for group in several]


def lint_alone(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Yield what does not fit together within a row, whatever other rows say."""
    for rule in (_unequal_batches, _toys, _implausible, _impossible, _unstable, _disturbed, _without_interval):
        yield from rule(cells)


def stale(cells: pd.DataFrame, today: date, pinned: str) -> Iterator[Anomaly]:
    """Yield our own runs that are older than `STALE_DAYS`, or than the torch version `pinned`: what to measure again.

    Not part of `lint`, because a page must not change with the day on which it is built. Figures: days, torch.
    """
    measured = cells.loc[cells["origin"] == "measured", ["run", "measured_at", "torch"]]
    for (_, *_), group in sorted(grouped(measured, "run"), key=lambda named: named[0]):
        age = today - group["measured_at"].max().date()
        torch = max(group["torch"], key=_release)
        if age > timedelta(days=STALE_DAYS) or _release(torch) < _release(pinned):
            yield Anomaly("stale", tuple(group.index.tolist()), {"days": age.days, "torch": torch})


def _release(version: str) -> tuple[int, ...]:
    """Return major and minor: patch releases hardly change a latency."""
    try:
        return Version(version).release[:2]
    except InvalidVersion:
        return ()


def _shared(cells: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the rows that agree in `columns` with another row."""
    return cells[cells.duplicated(list(columns), keep=False)]


def _repeated(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find rows of one model with the same two latencies to the digit. The one that fits its device worse is doubted.

    Figures: eager_ms and compiled_ms as repeated; expected_ms, eager latency of the doubtful row's cell with another
    torch version, NaN where there is none.
    """
    known = cells[["model", "device", "batch_size", "dtype", "torch", *_VARIANTS]].dropna(subset=list(_VARIANTS))
    repeated = _shared(known, "model", *_VARIANTS)
    if repeated.empty:
        return
    cell = numbered(known, ("model", "device", "batch_size", "dtype"))  # eager does not depend on the compile mode
    by_cell: defaultdict[int, list[tuple[str, float]]] = defaultdict(list)
    for number, torch, ms in zip(cell.tolist(), known["torch"].tolist(), known["eager_ms"].tolist(), strict=True):
        by_cell[number].append((torch, ms))
    rows = dict(zip(repeated.index.tolist(), records(repeated.assign(cell=cell)), strict=True))

    def other_version_ms(row: Row) -> float:
        return median([ms for torch, ms in by_cell[row["cell"]] if torch != row["torch"]] or [math.nan])

    def misfit(row: Row) -> float:
        distance = abs(math.log(row["eager_ms"] / other_version_ms(row)))
        return 1.0 if math.isnan(distance) else -distance  # a row that can't be compared is doubted last

    for labels in labels_by(numbered(repeated, ("model", *_VARIANTS))).values():
        group = sorted((rows[label] for label in labels), key=misfit)
        figures = {variant: group[0][variant] for variant in _VARIANTS}
        yield Anomaly("repeated", _labels(group), {**figures, "expected_ms": other_version_ms(group[0])})


def _labels(rows: Rows) -> tuple[int, ...]:
    return tuple(row["row"] for row in rows)


def _device_order(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find cells in which the slower of two devices is clearly faster.

    Rows: that of the slower device, that of the faster. Figures: variant, ms and other_ms of the two rows, share and
    common: in which share of how many common cells the other device is faster.
    """
    cell = ("model", "torch", "compile_mode", "batch_size", *_SETTING)
    for variant in _VARIANTS:
        known = cells.loc[cells[variant].notna(), ["device", variant, *cell]]
        rows = pd.DataFrame({"cell": numbered(known, cell), "device": known["device"], "ms": known[variant]})
        rows = rows.assign(row=rows.index).drop_duplicates(["cell", "device"])
        rows = _shared(rows, "cell")
        if rows.empty:
            continue
        pairs = rows.merge(rows, on="cell", suffixes=("_fast", "_slow"))
        pairs = pairs[pairs["device_fast"] != pairs["device_slow"]]
        by_devices = (pairs["ms_slow"] > pairs["ms_fast"]).groupby([pairs["device_fast"], pairs["device_slow"]])
        pairs = pairs.assign(share=by_devices.transform("mean"), common=by_devices.transform("size"))
        is_ordered = (pairs["common"] >= MIN_COMMON_CELLS) & (pairs["share"] >= FASTER_SHARE)
        for pair in pairs[is_ordered & (pairs["ms_slow"] / pairs["ms_fast"] < INVERSION)].to_dict("records"):
            figures = _two(variant, pair["ms_slow"], pair["ms_fast"])
            figures |= {"share": pair["share"], "common": pair["common"]}
            yield Anomaly("device_order", (pair["row_slow"], pair["row_fast"]), figures)


def _two(variant: str, ms: float, other_ms: float) -> dict[str, Any]:
    return {"variant": variant.removesuffix("_ms"), "ms": ms, "other_ms": other_ms}


def _batch_order(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find batches that take clearly less time than a smaller batch of the same model.

    Rows: the larger batch, the smaller. Figures: variant, ms and other_ms of the two rows.
    """
    series = ("device", "model", "torch", "compile_mode", *_SETTING)
    for variant in _VARIANTS:
        known = cells.loc[cells[variant].notna(), ["batch_size", variant, *series]]
        rows = pd.DataFrame({"series": numbered(known, series), "size": known["batch_size"], "ms": known[variant]})
        rows = rows.assign(row=rows.index).sort_values(["series", "size"], kind="stable")
        smaller = rows.shift()
        is_inverted = (rows["series"] == smaller["series"]) & (rows["ms"] / smaller["ms"] < INVERSION)
        pairs = zip(rows[is_inverted].to_dict("records"), smaller[is_inverted].to_dict("records"), strict=True)
        for larger, other in pairs:
            figures = _two(variant, larger["ms"], other["ms"])
            yield Anomaly("batch_order", (larger["row"], int(other["row"])), figures)


def _version_jump(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find eager latencies that differ by a factor from the same cell with other torch versions on the same device.

    Rows: the doubtful one. Figures: ms, and other_ms, the median with the other versions.
    """
    cell = ["device", "model", "batch_size", "dtype"]
    known = cells.loc[cells["eager_ms"].notna(), [*cell, "torch", "eager_ms"]]
    known = known.assign(cell=numbered(known, cell))
    latencies = known.groupby("cell")["eager_ms"]
    spread = latencies.transform("max") / latencies.transform("min")
    jumping = known[spread > VERSION_FACTOR]
    medians: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for (number, torch), ms in grouping(jumping, "cell", "torch")["eager_ms"].median().items():
        medians[number][torch] = ms
    labels = labels_by(
        pd.Series(list(zip(jumping["cell"], jumping["torch"], strict=True)), jumping.index, dtype="object")
    )
    for number, by_torch in medians.items():
        for torch, own_ms in by_torch.items():
            # The fast one is doubted: a slow run has many innocent causes.
            slower = (other for other, ms in by_torch.items() if ms / own_ms > VERSION_FACTOR)
            if other := next(slower, None):
                figures = {"ms": own_ms, "other_ms": by_torch[other], "other_torch": other}
                yield Anomaly("version_jump", tuple(labels[number, torch]), figures)


def _implausible(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find speedups that are too good. Figures: speedup."""
    busy = cells["speedup"] * (1 - cells["eager_host_bound"].fillna(0.0))
    for row in records(cells.loc[busy > IMPLAUSIBLE_SPEEDUP, ["speedup"]]):
        yield Anomaly("implausible", _labels([row]), {"speedup": row["speedup"]})


def _impossible(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find latencies that mean far more arithmetic than the device can do, or next to none.

    Figures: variant, ms, share.
    """
    for variant in _VARIANTS:
        share = (cells["flop"] / cells[variant] * 1e3 / cells["matmul_flop_s"]).dropna()
        outside = share[~share.between(SLOWEST, FASTEST)]
        for row in records(pd.DataFrame({"ms": cells.loc[outside.index, variant], "share": outside})):
            figures = {"variant": variant.removesuffix("_ms"), "ms": row["ms"], "share": row["share"]}
            yield Anomaly("impossible", _labels([row]), figures)


def _unstable(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find comparisons whose latency never settled, or whose device lowered its clock. Figures: status."""
    known = cells.loc[_is_restless(cells) & cells["change"].notna(), ["status"]]
    for row in records(known):
        yield Anomaly("unstable", _labels([row]), {"status": row["status"]})


def _disturbed(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find speedups that pairs of rounds contradict, by more than anyone cares about: something slowed down one variant
    more than the other.

    Figures: speedup, and paired_speedup, which is further from it than its interval reaches.
    """
    known = cells.loc[~_is_restless(cells), ["speedup", "speedup_low", "speedup_high", "paired_speedup"]]
    apart = np.abs(np.log((known["paired_speedup"] / known["speedup"]).to_numpy(float)))
    reach = np.log((known["speedup_high"] / known["speedup_low"]).to_numpy(float)) / 2
    for row in records(known[(apart > reach) & (apart > math.log(1 + SAME))]):
        yield Anomaly("disturbed", _labels([row]), {name: row[name] for name in ("speedup", "paired_speedup")})


def _without_interval(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find measured comparisons that are too short for an interval."""
    is_short = is_comparison(cells) & (cells["origin"] == "measured") & cells["speedup_low"].isna()
    for label in cells.index[is_short & ~_is_restless(cells)].tolist():
        yield Anomaly("no_interval", (label,))


def _is_restless(cells: pd.DataFrame) -> pd.Series:
    return cells["status"].isin(_RESTLESS)


def _without_reason(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find failures that do not say why. Figures: status."""
    has_no_reason = (cells["status"] != "pass") & (cells["reason"].str.strip() == "")
    for row in records(cells.loc[has_no_reason, ["status"]]):
        yield Anomaly("no_reason", _labels([row]), {"status": row["status"]})


def _unequal_batches(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find rows whose two variants were measured with different batches, as their importer says."""
    for label in _by_flag(cells).get(UNEQUAL_BATCHES, ()):
        yield Anomaly("unequal_batches", (label,))


def _toys(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find rows of models that exist for tests, as their importer says."""
    for label in _by_flag(cells).get(TOY, ()):
        yield Anomaly("toy", (label,))


def _gaps(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find models without a row at a batch size at which nearly all models of their table have one.

    A benchmark of throughput chooses the batch for each model, and leaves no gap.

    Rows: those the model has in that table. Figures: batch_sizes, siblings (the number of models that have rows there).
    """
    table = ("device", "torch", "compile_mode", *(name for name in _SETTING if name != "input_size"))
    cells = cells[cells["workload"] == "latency"]
    models = Groups(cells, *table, "model")
    number = numbered(models.first, table)
    sizes, labels = models.values("batch_size"), list(labels_by(models.number).values())
    for positions in labels_by(number.reset_index(drop=True)).values():
        own = {position: set(sizes[position]) for position in positions}
        having: defaultdict[int, int] = defaultdict(int)
        for size in (size for each in own.values() for size in each):
            having[size] += 1
        usual = {size for size, count in having.items() if count >= max(MIN_SIBLINGS, GAP_SHARE * len(own))}
        for position, known in own.items():
            if missing := usual - known:
                siblings = sum(missing <= other for other in own.values())
                figures = {"batch_sizes": tuple(sorted(missing)), "siblings": siblings}
                yield Anomaly("gap", tuple(labels[position]), figures)


def _flags(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Report what an importer could not know or found wrong, and what the doctor found on the machine during the
    measurement. Figures: flag, its identifier; or check, the name of the doctor's."""
    for flag, labels in _by_flag(cells).items():
        if flag.startswith(DOCTOR):
            yield Anomaly("complaint", tuple(labels), {"check": flag.removeprefix(DOCTOR)})
        elif flag not in {UNEQUAL_BATCHES, TOY}:
            yield Anomaly("flag", tuple(labels), {"flag": flag})


def _by_flag(cells: pd.DataFrame) -> Mapping[str, list[int]]:
    """Return the labels of the rows by flag, sorted by flag."""
    labels: defaultdict[str, list[int]] = defaultdict(list)
    for flags, several in labels_by(cells["flags"]).items():
        for flag in dict.fromkeys(flags.split()):
            labels[flag] += several
    return {flag: sorted(labels[flag]) for flag in sorted(labels)}
