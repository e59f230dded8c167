"""Rows of the table of results, as everything reads them that comes after the loading: chosen, grouped, ordered.

A row is a dictionary of plain values, what is unknown None. Nothing here changes one.

    python -c "from generator import load, rows; print(len(rows.comparisons(load.load().rows)))"
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from packaging.version import InvalidVersion, Version

from bench.records.record import COMPARABLE

Row = Mapping[str, Any]
"""One row of the table by column, with its label as ``row``. What is unknown is None."""

Rows = Sequence[Row]
"""Some rows. Pages ask for a handful at a time, thousands of times: for that a list is far quicker than a DataFrame."""

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
"""Modes of torch.compile in the order of what they try. Pages may name them before anything was measured with them."""


def comparisons(rows: Rows) -> list[Row]:
    """The rows in which eager and compiled can be compared."""
    return [row for row in rows if row["change"] is not None and row["status"] in COMPARABLE]


def grouped(rows: Rows, *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows by their values of `columns`, in the order in which these first occur."""
    groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    key = itemgetter(*columns) if len(columns) > 1 else lambda row: tuple(row[column] for column in columns)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def mode_order(mode: str) -> tuple[int, str]:
    """Sorts modes as `MODES` does, unknown ones last."""
    return (MODES.index(mode) if mode in MODES else len(MODES), mode)


def version_order(version: str) -> tuple[bool, Version | str]:
    """Sorts versions, the oldest first: 2.9.1 before 2.13.0. What is none comes first."""
    try:
        return True, Version(version)
    except InvalidVersion:
        return False, version


ORDERS: Mapping[str, Callable[[str], Any]] = {"compile_mode": mode_order, "torch": version_order}
"""How the values of a column are sorted, where that isn't their own order."""
