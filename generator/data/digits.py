"""The number of digits to show for a figure: those that its interval supports, or those that its source printed.

Takes a row and the name of a column; `bench.statistics.digits` has the rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bench.statistics.digits import LATENCY, LEAST, decimals

PUBLISHED = {"eager_ms": 3, "compiled_ms": 3, "speedup": 2, "change": 3}
"""Decimals of published figures, as in their sources, and of ratios that follow from them."""

RATIOS = {"speedup": (0, 2), "change": (2, 3)}
"""The least and the most decimals of a measured ratio. A change of 0.123 is shown as 12.3%, and follows the speedup."""


def digits(row: Mapping[str, Any], name: str) -> int:
    """Return the decimals of a figure of a row; below zero where it is rounded to tens or more."""
    if row["origin"] == "published" and name in PUBLISHED:
        return PUBLISHED[name]
    figure = "speedup" if name in RATIOS else name
    known = (math.nan if each is None else each for each in map(row.get, with_interval(figure)))
    places = decimals(*known, least=LATENCY if figure.endswith("_ms") else LEAST)
    least, most = RATIOS.get(name, (places, places))
    return min(max(places, least), most)


def with_interval(name: str) -> tuple[str, str, str]:
    """Return the columns of a figure, and of the ends of its interval."""
    stem, suffix = (name.removesuffix("_ms"), "_ms") if name.endswith("_ms") else (name, "")
    return name, f"{stem}_low{suffix}", f"{stem}_high{suffix}"


class RowFigure(float):
    """A figure of a row that knows its decimals, so that a page need not say them."""

    digits: int

    @classmethod
    def of(cls, row: Mapping[str, Any], name: str) -> RowFigure:
        """Return a figure of a row."""
        figure = cls(row[name])
        figure.digits = digits(row, name)
        return figure
