"""Select, group and order the rows of the table of results.

Takes the table or a part of it, a DataFrame with one row per cell, and returns another; nothing changes its argument.
The index of a row is its label: it stays the same in every selection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
from packaging.version import InvalidVersion, Version

from bench.records.record import COMPARABLE

Row = Mapping[str, Any]
"""One row as plain values by column, with its label as ``row``. What is unknown is None."""

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
"""Modes of torch.compile, from the least to the most that they try. Pages name them before anything is measured."""


def comparisons(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in which eager and compiled can be compared."""
    return cells[cells["change"].notna() & cells["status"].isin(COMPARABLE)]


def is_comparison(row: Row) -> bool:
    """Return whether eager and compiled can be compared in this row: `comparisons` for a record."""
    return row["change"] is not None and row["status"] in COMPARABLE


def grouped(cells: pd.DataFrame, *columns: str) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Yield the values of `columns` with the rows that share them, in the order in which the values first occur."""
    yield from cells.groupby(list(columns), sort=False, dropna=False)


def records(cells: pd.DataFrame) -> list[Row]:
    """Return the rows as dictionaries of plain Python values, with the label under ``row`` and None for unknown."""
    names = ("row", *cells.columns)
    # As one array: column by column takes five times as long.
    rows = cells.to_numpy(object, na_value=None).tolist()  # type: ignore[arg-type]  # the stubs lack None
    return [dict(zip(names, (label, *row), strict=True)) for label, row in zip(cells.index.tolist(), rows, strict=True)]


def mode_order(mode: str) -> tuple[int, str]:
    """Return a sort key that orders modes as `MODES` does, unknown ones last."""
    return (MODES.index(mode) if mode in MODES else len(MODES), mode)


def version_order(version: str) -> tuple[bool, Version | str]:
    """Return a sort key that orders versions, the oldest first: 2.9.1 before 2.13.0. What is no version comes first."""
    try:
        return True, Version(version)
    except InvalidVersion:
        return False, version


ORDERS: Mapping[str, Callable[[str], Any]] = {"compile_mode": mode_order, "torch": version_order}
"""Sort keys of the columns whose values have an order of their own."""
