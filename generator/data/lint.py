"""The data lint: what in the results does not fit together, found by rule.

Rows of the table enter, `Finding`s leave. They hold figures and labels of rows, never text, so that each language can
tell them in its own words; nothing is corrected or dropped. A finding is a doubt, not a proof.

    python -m generator check
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise, permutations
from statistics import median
from typing import Any, Literal, get_args

from packaging.version import InvalidVersion, Version

from bench.records.record import DOCTOR, UNEQUAL_BATCHES
from generator.data.rows import Row, Rows, grouped

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

_VARIANTS = ("eager_ms", "compiled_ms")
_SETTING = ("dtype", "dynamic", "weights", "input_size", "layout", "threads", "origin")


@dataclass(frozen=True)
class Finding:
    """One thing that does not fit. `rows` are labels of rows, the most doubtful first."""

    kind: Kind
    rows: tuple[int, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def doubtful(self) -> tuple[int, ...]:
        """The rows that a reader should not trust without a second look."""
        return self.rows[:1] if self.kind in DOUBTING else ()


def lint(rows: Rows) -> tuple[Finding, ...]:
    """Everything that does not fit together in `rows`, by kind and then by row. Linear in rows, where few devices have
    the same cell."""
    rules: tuple[Callable[[Rows], Iterator[Finding]], ...] = (
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
    found = [finding for rule in rules for finding in rule(rows)]
    repeated = {row for finding in found if finding.kind == "repeated" for row in finding.doubtful}
    # A row that was copied from elsewhere cannot fit its neighbours: once told is enough.
    kept = (each for each in found if each.kind == "repeated" or not repeated.intersection(each.doubtful))
    return tuple(sorted(kept, key=lambda each: (KINDS.index(each.kind), each.rows)))


def stale(rows: Rows, today: date, pinned: str) -> Iterator[Finding]:
    """Runs of our own that are older than `STALE_DAYS`, or than the torch version `pinned`: what to measure again.

    Apart from `lint`, because a page must not change with the day on which it is built. Figures: days, torch.
    """
    runs = grouped([row for row in rows if row["origin"] == "measured"], "run")
    for _, group in sorted(runs.items()):
        age = today - max(row["measured_at"] for row in group).date()
        torch = max((row["torch"] for row in group), key=_release)
        if age > timedelta(days=STALE_DAYS) or _release(torch) < _release(pinned):
            yield Finding("stale", _labels(group), {"days": age.days, "torch": torch})


def _release(version: str) -> tuple[int, ...]:
    """Major and minor: patch releases hardly move a latency."""
    try:
        return Version(version).release[:2]
    except InvalidVersion:
        return ()


def _labels(rows: Rows) -> tuple[int, ...]:
    return tuple(row["row"] for row in rows)


def _known(rows: Rows, *figures: str) -> Rows:
    for figure in figures:
        rows = [row for row in rows if row[figure] is not None]
    return rows


def _several(rows: Rows, *columns: str) -> list[list[Row]]:
    """Rows that agree in `columns` with others: those with each other."""
    return [group for group in grouped(rows, *columns).values() if len(group) > 1]


def _repeated(rows: Rows) -> Iterator[Finding]:
    """Rows of one model with the same two latencies to the digit. The one that fits its device worse is doubted.

    Figures: eager_ms and compiled_ms as repeated; expected_ms, eager latency of the doubtful row's cell with another
    torch version, nan where there is none.
    """
    known = _known(rows, *_VARIANTS)
    repeated = _several(known, "model", *_VARIANTS)
    by_cell = grouped(known, "model", "device", "batch_size", "dtype") if repeated else {}

    def other_version_ms(row: Row) -> float:
        """Eager does not depend on the compile mode."""
        same = by_cell[row["model"], row["device"], row["batch_size"], row["dtype"]]
        found: float = median([other["eager_ms"] for other in same if other["torch"] != row["torch"]] or [math.nan])
        return found

    def fit(row: Row) -> float:
        distance = abs(math.log(row["eager_ms"] / other_version_ms(row)))
        return 1.0 if math.isnan(distance) else -distance  # what has nothing to be compared with is doubted last

    for group in repeated:
        worst, *others = sorted(group, key=fit)
        figures = {**{variant: worst[variant] for variant in _VARIANTS}, "expected_ms": other_version_ms(worst)}
        yield Finding("repeated", _labels([worst, *others]), figures)


def _device_order(rows: Rows) -> Iterator[Finding]:
    """Cells in which the slower of two devices is clearly faster.

    Rows: that of the slower device, that of the faster. Figures: variant, ms and other_ms of the two rows, share and
    common: in which share of how many common cells the other device is faster.
    """
    for variant in _VARIANTS:
        common: defaultdict[tuple[str, str], list[tuple[Row, Row]]] = defaultdict(list)
        for cell in _several(_known(rows, variant), "model", "torch", "compile_mode", "batch_size", *_SETTING):
            of_device = {row["device"]: row for row in reversed(cell)}  # its first row
            for fast, slow in permutations(of_device.values(), 2):
                common[fast["device"], slow["device"]].append((fast, slow))
        for pairs in common.values():
            yield from _inversions(variant, pairs)


def _inversions(variant: str, pairs: Collection[tuple[Row, Row]]) -> Iterator[Finding]:
    if len(pairs) < MIN_COMMON_CELLS:
        return
    share = sum(slow[variant] > fast[variant] for fast, slow in pairs) / len(pairs)
    if share < FASTER_SHARE:
        return
    for fast, slow in pairs:
        if slow[variant] / fast[variant] < INVERSION:
            figures = {**_two(variant, slow, fast), "share": share, "common": len(pairs)}
            yield Finding("device_order", _labels([slow, fast]), figures)


def _two(variant: str, row: Row, other: Row) -> dict[str, Any]:
    return {"variant": variant.removesuffix("_ms"), "ms": row[variant], "other_ms": other[variant]}


def _batch_order(rows: Rows) -> Iterator[Finding]:
    """A batch that takes clearly less time than a smaller batch of the same model.

    Rows: the larger batch, the smaller. Figures: variant, ms and other_ms of the two rows.
    """
    for variant in _VARIANTS:
        for series in grouped(_known(rows, variant), "device", "model", "torch", "compile_mode", *_SETTING).values():
            for smaller, larger in pairwise(sorted(series, key=lambda row: row["batch_size"])):
                if larger[variant] / smaller[variant] < INVERSION:
                    yield Finding("batch_order", _labels([larger, smaller]), _two(variant, larger, smaller))


def _version_jump(rows: Rows) -> Iterator[Finding]:
    """Eager latency that differs by a factor from that of the same cell with other torch versions on the same device.

    Rows: the doubtful one. Figures: ms, and other_ms, the median with the other versions.
    """
    for cell in _several(_known(rows, "eager_ms"), "device", "model", "batch_size", "dtype"):
        versions = grouped(cell, "torch")
        medians = {torch: median(row["eager_ms"] for row in group) for (torch,), group in versions.items()}
        for (torch,), group in versions.items():
            # The fast one is doubted: a slow run has many innocent causes.
            slower = (other for other, ms in medians.items() if ms / medians[torch] > VERSION_FACTOR)
            if other := next(slower, None):
                figures = {"ms": medians[torch], "other_ms": medians[other], "other_torch": other}
                yield Finding("version_jump", _labels(group), figures)


def _implausible(rows: Rows) -> Iterator[Finding]:
    """A speedup that is too good. Figures: speedup."""
    for row in _known(rows, "speedup"):
        if row["speedup"] > IMPLAUSIBLE_SPEEDUP:
            yield Finding("implausible", _labels([row]), {"speedup": row["speedup"]})


def _impossible(rows: Rows) -> Iterator[Finding]:
    """A latency that means far more arithmetic than the device can do, or next to none. Figures: variant, ms, share."""
    for variant in _VARIANTS:
        for row in _known(rows, variant, "flop", "matmul_flop_s"):
            share = row["flop"] / row[variant] * 1e3 / row["matmul_flop_s"]
            if not SLOWEST <= share <= FASTEST:
                figures = {"variant": variant.removesuffix("_ms"), "ms": row[variant], "share": share}
                yield Finding("impossible", _labels([row]), figures)


def _without_reason(rows: Rows) -> Iterator[Finding]:
    """A failure that does not say why. Figures: status."""
    for row in rows:
        if row["status"] != "pass" and not row["reason"].strip():
            yield Finding("no_reason", _labels([row]), {"status": row["status"]})


def _unequal_batches(rows: Rows) -> Iterator[Finding]:
    """A row whose two variants were measured with different batches, as its importer says."""
    for row in rows:
        if UNEQUAL_BATCHES in row["flags"].split():
            yield Finding("unequal_batches", _labels([row]))


def _gaps(rows: Rows) -> Iterator[Finding]:
    """A model without a row at a batch size at which nearly all models of its table have one.

    Rows: those the model has in that table. Figures: batch_sizes, siblings (the number of models that have rows there).
    """
    table = ("device", "torch", "compile_mode", *(name for name in _SETTING if name != "input_size"))
    for group in grouped(rows, *table).values():
        models = grouped(group, "model")
        sizes = {model: {row["batch_size"] for row in own} for model, own in models.items()}
        having = {size: sum(size in own for own in sizes.values()) for size in set().union(*sizes.values())}
        usual = {size for size, n in having.items() if n >= max(MIN_SIBLINGS, GAP_SHARE * len(sizes))}
        for model, own in sizes.items():
            if missing := usual - own:
                siblings = sum(missing <= other for other in sizes.values())
                figures = {"batch_sizes": tuple(sorted(missing)), "siblings": siblings}
                yield Finding("gap", _labels(models[model]), figures)


def _flags(rows: Rows) -> Iterator[Finding]:
    """What an importer could not know or found wrong. Figures: flag, its identifier."""
    for flag, flagged in _by_flag(rows):
        if flag != UNEQUAL_BATCHES and not flag.startswith(DOCTOR):
            yield Finding("flag", flagged, {"flag": flag})


def _complaints(rows: Rows) -> Iterator[Finding]:
    """What the doctor found on the machine while it was measured. Figures: check, its name."""
    for flag, flagged in _by_flag(rows):
        if flag.startswith(DOCTOR):
            yield Finding("complaint", flagged, {"check": flag.removeprefix(DOCTOR)})


def _by_flag(rows: Rows) -> Iterator[tuple[str, tuple[int, ...]]]:
    flagged: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        for flag in row["flags"].split():
            flagged[flag].append(row["row"])
    return ((flag, tuple(flagged[flag])) for flag in sorted(flagged))
