"""The data lint: rules that find results which do not fit together.

Takes a DataFrame of cells and returns `Anomaly`s, which hold figures and labels of rows, never text: each language has
its own words (`generator.figures.findings`). Nothing is corrected or dropped. An anomaly is a doubt, not a proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from bench.records.record import DOCTOR, TOY, UNEQUAL_BATCHES, Status
from bench.statistics.verdicts import SAME
from generator.data.selection import by_value, is_comparison, numbered

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
    "flag",
    "complaint",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

DOUBTING: tuple[Kind, ...] = KINDS[: KINDS.index("no_reason")]
"""Kinds that make a figure doubtful; the others say that something is not known."""

DISTURBING = frozenset({"load", "quota", "steal", "gpu-processes", "gpu-slowdown"})
"""Complaints of the doctor about what changes latencies; the others are about what may end a run."""

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
"""Without the time for which eager leaves the device idle, which CUDA graphs can remove: the rest of a speedup comes
from fewer and better kernels. Five times faster than eager needs a second look."""

FASTEST, SLOWEST = 10.0, 1e-3
"""Arithmetic that a latency implies, as a share of the measured matmul peak. Above: no algorithm saves that much
(Winograd's saves half, and convolutions may use TF32 where the product did not, at eight times the rate). Below: no
device waits that long, and a unit was mistaken for another."""

_VARIANTS = ("eager_ms", "compiled_ms")
_SETTING = ["dtype", "dynamic", "weights", "input_size", "layout", "threads", "origin"]


@dataclass(frozen=True)
class Anomaly:
    """Something that does not fit. `rows` are labels of rows, the most doubtful first."""

    kind: Kind
    rows: tuple[int, ...]
    figures: Mapping[Any, Any] = field(default_factory=dict)

    @property
    def doubtful(self) -> tuple[int, ...]:
        """The rows that a reader should not trust without a second look."""
        if self.kind == "complaint":
            return self.rows if self.figures["check"] in DISTURBING else ()
        return self.rows[:1] if self.kind in DOUBTING else ()


def lint(cells: pd.DataFrame) -> tuple[Anomaly, ...]:
    """Return everything that does not fit together in `cells`, by kind and then by row."""
    found = [*_repeated(cells), *_version_jump(cells), *_flags(cells), *_within_rows(cells)]
    for _, rows in cells.groupby("origin"):  # the benchmarks of another origin may differ
        found += _inverted(rows)
    repeated = {row for anomaly in found if anomaly.kind == "repeated" for row in anomaly.doubtful}
    # A row that was copied from elsewhere can't fit its neighbours: one anomaly is enough.
    kept = (each for each in found if each.kind == "repeated" or not repeated.intersection(each.doubtful))
    return tuple(sorted(kept, key=lambda each: (KINDS.index(each.kind), each.rows)))


def lint_alone(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Yield doubts about rows that depend on no other row."""
    yield from _within_rows(cells)
    yield from (each for each in _flags(cells) if each.kind in _OF_ROWS.values())


def gathered(anomalies: Sequence[Anomaly], most: int) -> list[tuple[Anomaly, ...]]:
    """Return each anomaly by itself, and together those of a kind that has more than `most`: nobody reads a thousand
    sentences that say the same."""
    by_kind = by_value(anomalies, (each.kind for each in anomalies)).values()
    groups = ([tuple(several)] if len(several) > most else [(one,) for one in several] for several in by_kind)
    return [group for several in groups for group in several]


# ── Rows that contradict each other ─────────────────────────────────────────────────────────────────────────────────


def _repeated(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find rows of one model with the same two latencies to the digit. The one that fits its device worse is doubted.

    Figures: eager_ms and compiled_ms as repeated; expected_ms, eager latency of the doubtful row's cell with another
    torch version, NaN where there is none.
    """
    known = cells[["model", "device", "batch_size", "dtype", "layout", "torch", *_VARIANTS]].dropna(
        subset=list(_VARIANTS)
    )
    repeated = known[known.duplicated(["model", *_VARIANTS], keep=False)]
    if repeated.empty:
        return
    cell = ["model", "device", "batch_size", "dtype", "layout"]  # eager does not depend on the compile mode
    pairs = repeated.reset_index(names="row").merge(known, on=cell, suffixes=("", "_other"))
    others = pairs[pairs["torch"] != pairs["torch_other"]]
    repeated = repeated.assign(expected_ms=others.groupby("row")["eager_ms_other"].median())
    misfit = np.abs(np.log(repeated["eager_ms"] / repeated["expected_ms"]))
    by_misfit = repeated.assign(misfit=misfit).sort_values("misfit", ascending=False, kind="stable")  # unknown is last
    for _, group in by_misfit.groupby(["model", *_VARIANTS], sort=False):
        yield Anomaly("repeated", tuple(group.index), group.iloc[0][[*_VARIANTS, "expected_ms"]].to_dict())


def _inverted(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find cells in which the slower of two devices is clearly faster, and batches that take clearly less time than a
    smaller batch of the same model.

    Rows: the slower device or larger batch, then the other. Figures: variant, ms and other_ms of the two rows; of
    devices also share and count: in which share of how many common cells the other device is faster.
    """
    setting = ("model", "torch", "compile_mode", *_SETTING)
    rows = cells[["device", "batch_size", *_VARIANTS]].assign(row=cells.index)
    rows = rows.assign(
        of_size=numbered(cells, (*setting, "batch_size")), of_device=numbered(cells, (*setting, "device"))
    )
    for variant in _VARIANTS:
        known = rows.rename(columns={variant: "ms"}).dropna(subset="ms")
        found: Mapping[Kind, pd.DataFrame] = {
            "device_order": _slower_devices(known),
            "batch_order": _larger_batches(known),
        }
        for kind, pairs in found.items():
            shown = pairs.columns.intersection(["ms", "other_ms", "share", "count"])
            for _, pair in pairs[pairs["ms"] / pairs["other_ms"] < INVERSION].iterrows():
                figures = {"variant": variant.removesuffix("_ms"), **pair[shown]}
                yield Anomaly(kind, (int(pair["row"]), int(pair["other_row"])), figures)


def _slower_devices(known: pd.DataFrame) -> pd.DataFrame:
    """Return each row beside the same cell on a device that is nearly always faster."""
    shared = known.drop_duplicates(["of_size", "device"])
    shared = shared[shared["of_size"].duplicated(keep=False)]
    pairs = shared.merge(shared.add_prefix("other_"), left_on="of_size", right_on="other_of_size")
    pairs = pairs[pairs["device"] != pairs["other_device"]]
    by_devices = (pairs["ms"] > pairs["other_ms"]).groupby([pairs["other_device"], pairs["device"]])
    pairs = pairs.assign(share=by_devices.transform("mean"), count=by_devices.transform("size"))
    return pairs[(pairs["count"] >= MIN_COMMON_CELLS) & (pairs["share"] >= FASTER_SHARE)]


def _larger_batches(known: pd.DataFrame) -> pd.DataFrame:
    """Return each row beside the next smaller batch on its device."""
    ordered = known.sort_values(["of_device", "batch_size"], kind="stable")
    pairs = ordered.join(ordered.shift().add_prefix("other_"))
    return pairs[pairs["of_device"] == pairs["other_of_device"]]


def _version_jump(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find eager latencies that differ by a factor from the same cell with other torch versions on the same device.

    Rows: the doubtful one. Figures: ms, and other_ms, the median with the other version.
    """
    known = cells[cells["eager_ms"].notna()]
    cell = numbered(known, ("device", "model", "batch_size", "dtype", "layout"))
    latencies = known["eager_ms"].groupby(cell)
    jumping = known[latencies.transform("max") / latencies.transform("min") > VERSION_FACTOR]
    for _, rows in jumping.groupby(cell.loc[jumping.index]):
        medians = rows.groupby("torch", sort=False)["eager_ms"].median().to_dict()
        for torch, own_ms in medians.items():
            # The fast one is doubted: a slow run has many innocent causes.
            slower = (other for other, ms in medians.items() if ms / own_ms > VERSION_FACTOR)
            if other := next(slower, None):
                figures = {"ms": own_ms, "other_ms": medians[other], "other_torch": other}
                yield Anomaly("version_jump", tuple(rows.index[rows["torch"] == torch]), figures)


# ── Rows that are doubtful by themselves ────────────────────────────────────────────────────────────────────────────


def _within_rows(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Find faults within a row, whatever other rows say. Figures: the columns beside each rule."""
    cells = cells.rename(columns={"paired_speedup": "paired"})
    is_restless = cells["status"].isin((Status.UNSTABLE, Status.THROTTLED))
    busy = cells["speedup"] * (1 - cells["eager_host_bound"].fillna(0.0))
    paired = np.abs(np.log(cells["paired"] / cells["speedup"]))
    reach = np.log(cells["speedup_high"] / cells["speedup_low"]) / 2
    is_short = is_comparison(cells) & (cells["origin"] == "measured") & cells["speedup_low"].isna()
    has_no_reason = (cells["status"] != "pass") & (cells["reason"].str.strip() == "")
    rules: Mapping[Kind, tuple[pd.Series, Sequence[str]]] = {
        "implausible": (busy > IMPLAUSIBLE_SPEEDUP, ["speedup"]),
        # The latency never settled, or the device lowered its clock.
        "unstable": (is_restless & cells["speedup"].notna(), ["status"]),
        # The rounds contradict the speedup by more than anyone cares about: something slowed down one variant.
        "disturbed": (~is_restless & (paired > np.maximum(reach, math.log(1 + SAME))), ["speedup", "paired"]),
        "no_interval": (is_short & ~is_restless, []),
        "no_reason": (has_no_reason, ["status"]),
    }
    for kind, (is_found, columns) in rules.items():
        for label in cells.index[is_found].tolist():
            yield Anomaly(kind, (label,), cells.loc[label, columns].to_dict())
    for variant in _VARIANTS:
        share = (cells["flop"] / cells[variant] * 1e3 / cells["matmul_flop_s"]).dropna()
        for label in share.index[~share.between(SLOWEST, FASTEST)].tolist():
            figures = {"variant": variant.removesuffix("_ms"), "ms": cells.loc[label, variant], "share": share[label]}
            yield Anomaly("impossible", (label,), figures)


# ── Flags ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_OF_ROWS: Mapping[str, Kind] = {UNEQUAL_BATCHES: "unequal_batches", TOY: "toy"}
"""Flags of importers that doubt each row by itself."""


def _flags(cells: pd.DataFrame) -> Iterator[Anomaly]:
    """Report unknown and wrong facts of imports, and the findings of the doctor on the machine during the
    measurement. Figures: flag, its identifier; or check, the name of the doctor's."""
    flags = cells["flags"].str.split().explode().dropna()
    for flag, rows in flags.groupby(flags):
        labels = tuple(rows.index)
        if flag in _OF_ROWS:
            yield from (Anomaly(_OF_ROWS[flag], (label,)) for label in labels)
        elif flag.startswith(DOCTOR):
            yield Anomaly("complaint", labels, {"check": flag.removeprefix(DOCTOR)})
        else:
            yield Anomaly("flag", labels, {"flag": flag})
