"""Intervals: of the median of one process, over the processes of a cell, and of the ratio of two runs.

Processes differ by more than any one of them shows (6.5% against ±1% on ResNet-50, two cores), so an interval has to
come from the differences *between* processes, and there are only three to eight of them. Resampling three values
reaches ten different sets and covers far less than it claims; Student's t over the logarithms of the processes' medians
covers as it claims from two processes on (`tests/bench/statistics/test_intervals.py` compares both). One process alone
has the order-statistics interval of its median: true for that process, not for the machine.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bench.statistics.ragged import CONFIDENCE, Array, Indices, Ragged

Interval = tuple[Array, Array, Array]
"""Values and the ends of their intervals, each of shape (cells,); nan where unknown."""


@dataclass(frozen=True)
class Estimate:
    """A value and its interval; nan where unknown. The interval may end in inf."""

    value: float
    low: float
    high: float


UNKNOWN = Estimate(math.nan, math.nan, math.nan)


def over_processes(medians: Array, lists: Ragged, at: Indices, *, log: bool) -> Interval:
    """Average the medians of the processes of each cell, with Student's t interval.

    `medians` and `at` have the shape (cells, processes): the median of each process, nan where it has none, and the
    position of its rounds in `lists`. `log` averages logarithms, for what is positive and scatters by a factor. A cell
    with one process has the interval of its median.
    """
    known = ~np.isnan(medians)
    n = known.sum(axis=1)
    scale = np.log(medians) if log else medians
    centre = np.nansum(scale, axis=1) / n
    spread = np.sqrt(np.nansum((scale - centre[:, None]) ** 2, axis=1) / (n - 1))
    quantile = np.array([math.nan, math.nan, *(student(each - 1) for each in range(2, n.max() + 1))])
    reach = quantile[n] * spread / np.sqrt(n)
    ends = np.stack((centre, centre - reach, centre + reach))
    value, low, high = np.exp(ends) if log else ends
    alone = np.flatnonzero(n == 1)
    if alone.size:
        process = known[alone].argmax(axis=1)
        value[alone] = medians[alone, process]
        first, last = lists.take(at[alone, process]).median_intervals()
        # The median ratio of the pairs of rounds is not quite the ratio of the medians: the interval holds both.
        low[alone], high[alone] = np.minimum(first, value[alone]), np.maximum(last, value[alone])
    return value, low, high


def median_interval(rounds: Array) -> tuple[float, float]:
    """Return the interval of the median of one process's rounds: see `Ragged.median_intervals`."""
    low, high = Ragged(np.asarray(rounds, np.float64), np.array([len(rounds)])).median_intervals()
    return float(low[0]), float(high[0])


def mean_ratio(pairs: Sequence[tuple[Array, Array]]) -> Estimate:
    """Return numerator ÷ denominator, its geometric mean over the pairs, with Welch's interval.

    A pair has the values of the processes of both sides, shapes (processes,) and (processes,), independent of each
    other: the latencies of one cell in two runs. Scatter may differ from side to side; degrees of freedom are rounded
    down, because with three processes on the side that scatters more, Welch's own cover 98% where they claim 99. Where
    some side has one process alone, nothing shows its scatter, and that pooled over all sides stands for each
    (Student's interval); nan where every side has only one.
    """
    sides = [(sign, np.log(side)) for pair in pairs for sign, side in zip((1, -1), pair, strict=True)]
    if not sides or any(not side.size for _, side in sides):
        return UNKNOWN
    value = math.exp(sum(sign * side.mean() for sign, side in sides) / len(pairs))
    sizes = np.array([side.size for _, side in sides])
    squares = np.array([float(((side - side.mean()) ** 2).sum()) for _, side in sides])
    freedom = sizes - 1
    if not freedom.any():
        return Estimate(value, math.nan, math.nan)
    if freedom.all():
        parts = squares / freedom / sizes
        free = parts.sum() ** 2 / (parts**2 / freedom).sum() if parts.any() else 1
    else:
        parts = squares.sum() / freedom.sum() / sizes
        free = freedom.sum()
    reach = student(max(1, int(free + 1e-9))) * math.sqrt(parts.sum()) / len(pairs)
    return Estimate(value, value * math.exp(-reach), value * math.exp(reach))


@lru_cache
def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t: 12.706 for one degree of freedom at 95%, 1.96 for many.

    With t = √ν·tan θ the density over θ is cosᵛ⁻¹ θ, bounded and smooth, which a grid integrates to six digits.
    """
    theta = np.linspace(0.0, math.pi / 2, 20_001)
    density = np.cos(theta) ** (freedom - 1)
    area = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence, area / area[-1], theta)))


# ── While measuring ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Precision:
    """Half-widths of the 95% interval within a process at which sampling may stop, as shares of the value."""

    speedup: float = 0.005
    latency: float = 0.01


def is_precise(variants: Sequence[Array], target: Precision) -> bool:
    """Return whether the rounds so far, shape (rounds,) for eager and compiled or for one variant, meet `target`."""
    ratios = [variants[0] / variants[1]] if len(variants) == 2 else []
    return all(_half_width(each) <= target.latency for each in variants) and all(
        _half_width(each) <= target.speedup for each in ratios
    )


def _half_width(values: Array) -> float:
    low, high = median_interval(values)
    half = (high - low) / 2 / float(np.median(values))
    return math.inf if math.isnan(half) else half


def has_converged(latencies_ms: Sequence[float], window: int, tolerance: float) -> bool:
    """Return whether the last two windows of calls have the same median, within `tolerance`: warm-up is over."""
    if len(latencies_ms) < 2 * window:
        return False
    before = statistics.median(latencies_ms[-2 * window : -window])
    after = statistics.median(latencies_ms[-window:])
    return abs(after - before) <= tolerance * before
