"""How many digits of a figure are meaningful: as many as its interval supports.

The last digit stands where the half-width of the interval begins: 17.70 for 17.702 ± 0.04, 1,620 for 1,621.826 ± 30.
Tables, charts, captions, the answers of the guide and the reports of a run all round by this rule.
"""

from __future__ import annotations

import math

from bench.statistics.intervals import Estimate

WITHOUT_INTERVAL = 3
"""Significant digits of a measured figure that has no interval."""

LEAST = 2
"""Significant digits of any figure: one alone would read as an order of magnitude."""

LATENCY = 3
"""Significant digits of a latency, at least: so a reader who divides two of them finds the speedup beside them, which
may be known better than either."""

MOST = 3
"""Decimals of any figure: no latency is known to less than a microsecond."""


def decimals(value: float, low: float = math.nan, high: float = math.nan, *, least: int = LEAST) -> int:
    """Return the decimals of a figure; below zero where not even whole numbers are certain: −1 is rounded to tens."""
    if not value or not math.isfinite(value):
        return 0
    size = math.floor(math.log10(abs(value)))
    half = (high - low) / 2
    if not math.isfinite(half):
        return min(WITHOUT_INTERVAL - 1 - size, MOST)
    certain = -math.floor(math.log10(half)) if half > 0 else MOST
    return min(max(certain, least - 1 - size), MOST)


def rounded(figure: Estimate, *, least: int = LEAST) -> str:
    """Return a figure as text, with the digits that its interval supports."""
    return _in_text(figure.value, decimals(figure.value, figure.low, figure.high, least=least))


def rounded_ends(figure: Estimate) -> tuple[str, str]:
    """Return the ends of an interval as text, with as many digits as its figure."""
    places = decimals(figure.value, figure.low, figure.high)
    return _in_text(figure.low, places), _in_text(figure.high, places)


def _in_text(value: float, places: int) -> str:
    return f"{value:,.{places}f}" if places >= 0 else f"{round(value, places):,.0f}"
