"""Verdicts: what the interval of a speedup says in a word.

One rule for each word, wherever it appears: a difference is clear where the 95% interval that readers see lies entirely
beyond 1%. Tables, charts, the answers of the guide and `bench compare` all take their words and colours from here.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from bench.statistics.intervals import Array

Verdict = Literal["faster", "slower", "same", "inconclusive", "doubtful", "unknown"]
"""``inconclusive``: the interval reaches beyond 1% and does not lie there wholly. ``doubtful``: there is a reason not
to trust the figures (`generator.data.lint`). ``unknown``: there is nothing to judge."""

SAME = 0.01
"""Differences that stay below 1% are called the same: no one chooses a mode for less."""

NOISE = 0.05
"""Published figures have no interval. Of these, differences up to 5% count as none: processes of one model differ by as
much."""


def verdicts(low: Array, high: Array) -> NDArray[Any]:
    """Return the `Verdict` of each interval of a ratio, shape (cells,)."""
    unknown = np.isnan(low) | np.isnan(high)
    same = (low >= 1 / (1 + SAME)) & (high <= 1 + SAME)
    return np.select(
        [unknown, same, low > 1 + SAME, high < 1 / (1 + SAME)], ["unknown", "same", "faster", "slower"], "inconclusive"
    )


def verdicts_without_interval(ratio: Array) -> NDArray[Any]:
    """Return the `Verdict` of each published ratio, shape (cells,): faster or slower beyond `NOISE`."""
    return np.select(
        [np.isnan(ratio), ratio > 1 + NOISE, ratio < 1 / (1 + NOISE)], ["unknown", "faster", "slower"], "inconclusive"
    )


def judge(speedup: float) -> Verdict:
    """Return the verdict of a speedup without an interval."""
    [verdict] = verdicts_without_interval(np.array([speedup]))
    return cast(Verdict, str(verdict))
