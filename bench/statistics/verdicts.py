"""Verdicts: what the interval of a speedup, or of a change of a latency, says in a word."""

from __future__ import annotations

import math
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from bench.statistics.intervals import Estimate
from bench.statistics.ragged import Array

Verdict = Literal["faster", "slower", "same", "ambiguous", "unknown"]

VERDICT_CONFIDENCE = 0.995
"""Confidence of the interval behind a verdict: an eager model compared with itself may be called different once in a
hundred."""

SAME = 0.01
"""Differences that stay below 1% are called the same: no one chooses a mode for less."""

NOISE = 0.05
"""Without an interval, differences up to 5% count as none: processes of one model differ by as much. SAME and NOISE are
those of docs/assets/javascripts/recommend.js as well."""


def verdicts(low: Array, high: Array) -> NDArray[Any]:
    """Return the `Verdict` of each interval of a ratio, shape (cells,): wholly within 1% of 1 is the same, wholly on
    one side is faster or slower."""
    unknown = np.isnan(low) | np.isnan(high)
    same = (low >= 1 / (1 + SAME)) & (high <= 1 + SAME)
    return np.select([unknown, same, low > 1, high < 1], ["unknown", "same", "faster", "slower"], "ambiguous")


def judge(ratio: Estimate) -> Verdict:
    """Return the verdict of one interval of a ratio."""
    return cast(Verdict, str(verdicts(np.array([ratio.low]), np.array([ratio.high]))[0]))


def direction(change: float, low: float = math.nan, high: float = math.nan) -> Literal[-1, 0, 1]:
    """Return what a change of the latency is shown as: -1 a gain, 1 a loss, 0 no clear difference.

    There is no clear difference where its interval holds zero or stays within `SAME`, or where it has none (nan) and is
    within `NOISE`.
    """
    least, most = (1 + change) / (1 + NOISE), (1 + change) * (1 + NOISE)
    if not (math.isnan(low) or math.isnan(high)):
        least, most = 1 + low, 1 + high
    if least >= 1 / (1 + SAME) and most <= 1 + SAME:
        return 0
    return 1 if least > 1 else -1 if most < 1 else 0
