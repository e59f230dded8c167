"""Select, group and order the rows of the table of results.

Takes the table or a part of it, a DataFrame with one row per cell, and returns another; nothing changes its argument.
The index of a row is its label: it stays the same in every selection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
from packaging.version import InvalidVersion, Version

from bench.records.record import COMPARABLE, COMPILE_MODES
from generator.data.rows import CONTIGUOUS

if TYPE_CHECKING:
    from pandas.core.groupby import SeriesGroupBy

T = TypeVar("T")
Row = Mapping[str, Any]
"""One row as plain values by column, with its label as ``row``. What is unknown is None."""

Rows = Sequence[Row]
"""Some rows as plain values, for what becomes text."""


def where(cells: pd.DataFrame, chosen: pd.Series) -> pd.DataFrame:
    """Return the rows for which `chosen` is true. Copies nothing where these are all rows or none: the common cases,
    and a copy of all columns takes 2 ms."""
    if chosen.all():
        return cells
    return cells[chosen] if chosen.any() else cells.iloc[:0]


def is_comparison(cells: pd.DataFrame) -> pd.Series:
    """Return for each row whether eager and compiled can be compared in it."""
    return cells["speedup"].notna() & cells["status"].isin(COMPARABLE)


def trusted(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons without a doubt: they may be averaged, and lead a ranking."""
    return where(cells, is_trusted(cells))


def is_trusted(cells: pd.DataFrame) -> pd.Series:
    """Return for each row whether it is a comparison without a doubt."""
    return is_comparison(cells) & (cells["verdict"] != "doubtful")


def is_compared(row: Row) -> bool:
    """Return the same for one row of plain values."""
    return row["speedup"] is not None and row["status"] in COMPARABLE


def grouped(cells: pd.DataFrame, *columns: str) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Yield the values of `columns` with the rows that share them, in the order in which the values first occur."""
    yield from cells.groupby(list(columns), sort=False, dropna=False)


def numbered(cells: pd.DataFrame, columns: Iterable[str]) -> pd.Series:
    """Return the number of the group of each row: rows that agree in `columns` share one, from 0 on as they occur.

    The same as `groupby(…).ngroup()`, in a tenth of its time for a few rows and many columns.
    """
    numbers: dict[tuple[Any, ...], int] = {}
    keys = zip(*(plain(cells[name]) for name in columns), strict=True)
    return pd.Series([numbers.setdefault(key, len(numbers)) for key in keys], cells.index, dtype=int)


def by_value(items: Iterable[T], values: Iterable[Any]) -> dict[Any, list[T]]:
    """Return items, such as labels, by the value of each in `values`, in the order in which values first occur."""
    found: dict[Any, list[T]] = {}
    for item, value in zip(items, values, strict=True):
        found.setdefault(value, []).append(item)
    return found


def records(cells: pd.DataFrame) -> list[Row]:
    """Return the rows as dictionaries of plain Python values, with the label under ``row`` and None for unknown."""
    return [*Records(cells)]


class Records(Sequence[Row]):
    """The rows as `records` returns them, by position. A row is made when it is first asked for: a page shows few."""

    def __init__(self, cells: pd.DataFrame) -> None:
        self._columns = {"row": cells.index.tolist(), **{str(name): plain(values) for name, values in cells.items()}}
        self._row = cache(lambda at: {name: values[at] for name, values in self._columns.items()})

    def column(self, name: str) -> list[Any]:
        """Return the values of a column, by position."""
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._columns["row"])

    def __getitem__(self, position: Any) -> Any:
        """Return the row at a position."""
        return self._row(position)


def plain(values: pd.Series) -> list[Any]:
    """Return the values of a column as plain Python values, with None for unknown."""
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        return [None if value is pd.NaT else value.to_pydatetime() for value in values]
    # `notna` takes a tenth of a millisecond: too long for the few rows of most tables.
    return [None if value is pd.NA or value != value else value for value in values.tolist()]  # noqa: PLR0124  # NaN


FEW = 8
"""Values of which quartiles say little: each of them is then a value or two."""


class Groups:
    """The rows of a table that agree in some columns. Each method returns a value for each group, in the order in which
    the groups first occur."""

    def __init__(self, cells: pd.DataFrame, *columns: str) -> None:
        self.cells = cells
        self.number = numbered(cells, columns)
        self.first = cells[~self.number.duplicated()]  # the first row of each

    def of(self, values: pd.Series) -> SeriesGroupBy[Any, Any]:
        """Return one value for each row, by group: to be counted, summed or averaged."""
        return values.groupby(self.number)

    def values(self, column: str) -> list[tuple[Any, ...]]:
        """Return the known values of a column, in its order."""
        found = by_value(self.cells[column], self.number)
        return [tuple(sorted({*found.get(at, ())} - {"", 0}, key=ORDERS.get(column))) for at in range(len(self.first))]

    def quartiles(self, values: pd.Series) -> list[tuple[float, float] | None]:
        """Return the first and the last quartile of the known values, None for fewer than `FEW`."""
        groups = self.of(values)
        ends = zip(groups.quantile(0.25), groups.quantile(0.75), groups.count(), strict=True)
        return [(low, high) if count >= FEW else None for low, high, count in ends]

    def labels(self, rows: pd.DataFrame) -> list[int | None]:
        """Return the label of the first of some rows in each group, None for a group without such a row."""
        found = by_value(rows.index, self.number[rows.index])
        return [found.get(at, [None])[0] for at in range(len(self.first))]


def mode_order(mode: str) -> tuple[int, str]:
    """Return a sort key that orders modes as `COMPILE_MODES` does, unknown ones last."""
    return (COMPILE_MODES.index(mode) if mode in COMPILE_MODES else len(COMPILE_MODES), mode)


@cache
def version_order(version: str) -> tuple[bool, Version | str]:
    """Return a sort key that orders versions, the oldest first: 2.9.1 before 2.13.0. What is no version comes first."""
    try:
        return True, Version(version)
    except InvalidVersion:
        return False, version


def dtype_order(dtype: str) -> tuple[bool, bool, str]:
    """Return a sort key that orders data types: float32, then TF32, then the others by name."""
    return dtype != "float32", dtype != "TF32", dtype


ORDERS: Mapping[str, Callable[[str], Any]] = {
    "compile_mode": mode_order,
    "dtype": dtype_order,
    "layout": lambda layout: layout != CONTIGUOUS,
    "torch": version_order,
}
"""Sort keys of the columns whose values have an order of their own."""
