"""Intervals: of the median of one process, over the processes of a cell, and of the difference of two sides.

Processes differ by more than any one of them shows (6.5% against ±1% on ResNet-50, two cores), so an interval has to
come from the differences *between* processes, and there are only three to eight of them. Resampling three values
reaches ten different sets and covers far less than it claims; Student's t over the logarithms of the processes' medians
covers as it claims (`tests/bench/statistics/test_intervals.py` compares both). What three processes know least is their
own scatter, so they borrow from the other cells of their run: see `moderated`. One process alone has the
order-statistics interval of its median: true for that process, not for the machine.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

Interval = tuple[Array, Array, Array]
"""Values and the ends of their intervals, each of shape (cells,); nan where unknown."""

CONFIDENCE = 0.95
"""Confidence of every interval that is shown."""

SMALLEST_SAMPLE = 6
"""Rounds below which no 95% interval of a median exists: even the whole range of five covers only 93.75%."""

FEW = 6
"""Processes from which on a cell knows its scatter well enough: its interval is 1.05 standard deviations wide on either
side, and would be 0.8 if the scatter were known. With three processes it is 2.5, and would be 1.1."""

POOLED = 6
"""Cells that a run must have with two processes or more, for their scatter to say something of the others."""

MOST_FREEDOM = 60
"""Degrees of freedom of what the cells of a run have in common, at most: as good as a known scatter."""


@dataclass(frozen=True)
class Estimate:
    """A value and its interval; nan where unknown. The interval may end in inf."""

    value: float
    low: float
    high: float


UNKNOWN = Estimate(math.nan, math.nan, math.nan)


class Means(NamedTuple):
    """Means over the processes of each cell, their number, and the variance of a process with its degrees of freedom;
    all of shape (cells,)."""

    mean: Array
    n: Indices
    variance: Array
    freedom: Indices

    def where(self, chosen: NDArray[np.bool_]) -> Means:
        """Return those of some cells."""
        return Means(self.mean[chosen], self.n[chosen], self.variance[chosen], self.freedom[chosen])

    def interval(self) -> Interval:
        """Return Student's interval of each mean."""
        reach = _quantiles(self.freedom) * np.sqrt(self.variance / self.n)
        return self.mean, self.mean - reach, self.mean + reach


@np.errstate(all="ignore")
def over_processes(values: Array, runs: Indices) -> Means:
    """Average the values of each cell, shape (cells, processes), nan for none. `runs` numbers the run of each cell:
    those of one run and device are `moderated` together."""
    n = (~np.isnan(values)).sum(axis=1)
    mean = np.nansum(values, axis=1) / n
    freedom = np.maximum(n - 1, 0)
    variance = np.nansum((values - mean[:, None]) ** 2, axis=1) / freedom
    for run in np.flatnonzero(np.bincount(runs[freedom > 0], minlength=1) >= POOLED):
        at = np.flatnonzero((runs == run) & (n < FEW))
        prior, its_freedom, most = _prior(variance[runs == run], freedom[runs == run])
        if its_freedom:
            own = np.where(freedom[at] > 0, freedom[at] * variance[at], 0.0)
            variance[at] = (its_freedom * prior + own) / (its_freedom + freedom[at])
            freedom[at] = np.minimum(its_freedom + freedom[at], most)
    return Means(mean, n, variance, freedom)


def _prior(variances: Array, freedom: Indices) -> tuple[float, int, int]:
    """Return the variance that the cells of a run have in common, the degrees of freedom that it is worth beside a
    cell's own, 0 for none, and how many all cells have.

    The more the variances differ beyond chance, the less they are worth. Empirical Bayes after G. K. Smyth, "Linear
    models and empirical Bayes methods for assessing differential expression in microarray experiments" (2004),
    section 6.2: log s² has the mean log σ² + ψ(d/2) − log(d/2) and the variance ψ′(d/2), beyond which ψ′(d₀/2) is left.
    """
    known = freedom > 0
    variances, freedom = variances[known], freedom[known]
    variances = np.maximum(variances, 1e-5 * np.median(variances))  # three equal medians are chance
    most = int(freedom.sum())
    if not variances.all():
        return 0.0, 0, most
    digamma, trigamma = _polygammas(max(MOST_FREEDOM, int(freedom.max())))
    logs = np.log(variances) - digamma[freedom] + np.log(freedom / 2)
    beyond_chance = logs.var(ddof=1) - trigamma[freedom].mean()
    prior = int(np.count_nonzero(trigamma[1 : MOST_FREEDOM + 1] >= beyond_chance))
    return math.exp(logs.mean() + digamma[prior] - math.log(prior / 2)) if prior else 0.0, prior, most


@lru_cache
def _polygammas(most: int) -> tuple[Array, Array]:
    """Return ψ(d/2) and ψ′(d/2) for d up to `most`, exact by recurrence; nan for 0."""
    digamma, trigamma = np.full((2, most + 1), np.nan)
    digamma[1], digamma[2] = -np.euler_gamma - 2 * math.log(2), -np.euler_gamma
    trigamma[1], trigamma[2] = math.pi**2 / 2, math.pi**2 / 6
    for d in range(3, most + 1):
        digamma[d] = digamma[d - 2] + 2 / (d - 2)
        trigamma[d] = trigamma[d - 2] - 4 / (d - 2) ** 2
    return digamma, trigamma


@np.errstate(all="ignore")
def difference(one: Means, two: Means, *, overall: bool = False) -> Interval:
    """Return the difference of independent means with Welch's interval, of each cell or `overall` the mean of all.

    Degrees of freedom are rounded down, because with three processes on the side that scatters more, Welch's own cover
    98% where they claim 99. A process that stands alone scatters as those of the other side; nan where both do.
    """
    freedom = np.stack((one.freedom, two.freedom))
    variance = np.stack((one.variance, two.variance))
    known = freedom > 0
    parts = np.where(known, variance, variance[::-1]) / np.stack((one.n, two.n))
    axis = None if overall else 0
    total = np.atleast_1d(parts.sum(axis=axis))
    free = total**2 / (parts**2 / np.where(known, freedom, freedom[::-1])).sum(axis=axis)
    free = np.where(total == 0, 1, np.minimum(free, freedom.sum(axis=axis)))
    value = one.mean - two.mean
    value, cells = (value.mean(keepdims=True), value.size) if overall else (value, 1)
    reach = _quantiles(np.nan_to_num(free + 1e-9).astype(np.int64)) * np.sqrt(total) / cells
    return value, value - reach, value + reach


def median_interval(rounds: Sequence[float] | Array) -> tuple[float, float]:
    """Return the interval of the median of one process's rounds, from order statistics: no shape of the noise is
    assumed.

    How many rounds fall below the true median is binomial, so the interval runs between the ranks n/2 ± z√n/2,
    interpolated. nan for fewer than `SMALLEST_SAMPLE`.
    """
    n = len(rounds)
    if n < SMALLEST_SAMPLE:
        return math.nan, math.nan
    reach = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(n) / 2
    low, high = np.interp((n / 2 - reach, n / 2 + reach), np.arange(n) + 0.5, np.sort(rounds))
    return float(low), float(high)


def _quantiles(freedom: Indices) -> Array:
    known, where = np.unique(freedom, return_inverse=True)
    return np.array([student(each) if each > 0 else math.nan for each in known.tolist()])[where]


@lru_cache
def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t: 12.706 for one degree of freedom at 95%, 1.96 for many.

    With t = √ν·tan θ the density over θ is cosᵛ⁻¹ θ, bounded and smooth, which a grid integrates to six digits.
    """
    theta = np.linspace(0.0, math.pi / 2, 20_001)
    density = np.cos(theta) ** (freedom - 1)
    area = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence, area / area[-1], theta)))


def has_converged(latencies_ms: Sequence[float], window: int, tolerance: float) -> bool:
    """Return whether the last two windows of calls have the same median, within `tolerance`: warm-up is over."""
    if len(latencies_ms) < 2 * window:
        return False
    before = statistics.median(latencies_ms[-2 * window : -window])
    after = statistics.median(latencies_ms[-window:])
    return abs(after - before) <= tolerance * before
