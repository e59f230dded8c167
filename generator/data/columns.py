"""Columns of a table that arrays of numpy cannot hold well: `Texts`, each of them held once, and `Ragged`, lists of
numbers of any length. Each has something for every row, and `take` picks rows of it, as that of an array does.

    python -m pytest tests/generator/data/test_columns.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.statistics.statistics import smallest_sample

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Numbers(dict[Any, int]):
    """Numbers values in the order in which they first occur."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number


# ── Texts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Texts:
    """A text for each row: that of `known` at the place which `codes` has for the row, shape (rows,), 0 for the first.

    Raises `ValueError` for a code without a text.
    """

    codes: NDArray[Any]  # whole numbers of any size
    known: Sequence[str]

    def __post_init__(self) -> None:
        if self.codes.dtype.kind not in "iu" or (len(self.codes) and self.codes.max() >= len(self.known)):
            raise ValueError(self.codes.dtype)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Any texts."""
        return cls.picked(np.arange(len(texts)), texts)

    @classmethod
    def picked(cls, numbers: Indices, texts: Sequence[str]) -> Texts:
        """For each of `numbers` the text at that place; `texts` may have some more than once."""
        distinct = Numbers()
        codes = [distinct[text] for text in texts]
        return cls(np.array(codes, np.min_scalar_type(len(distinct)))[numbers], list(distinct))

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """The texts of all parts, one after the other."""
        distinct = Numbers()
        codes = [[distinct[text] for text in part.known] for part in parts]
        small = np.min_scalar_type(len(distinct))
        found = [np.array(own, small)[part.codes] for own, part in zip(codes, parts, strict=True)]
        return cls(np.concatenate(found), list(distinct))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        return self.known[int(self.codes[row])]

    def take(self, rows: Indices) -> Texts:
        """The texts of these rows, in this order."""
        return Texts(self.codes[rows], self.known)

    def are(self, text: str) -> NDArray[np.bool_]:
        """Which rows have this text, shape (rows,)."""
        found: NDArray[np.bool_] = np.array([each == text for each in self.known], np.bool_)[self.codes]
        return found

    def used(self) -> list[str]:
        """Those that some row has."""
        return [self.known[code] for code in np.unique(self.codes).tolist()]

    def plain(self) -> list[str]:
        """All of them."""
        known = self.known
        return [known[code] for code in self.codes.tolist()]


# ── Lists of numbers ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Ragged:
    """Lists of numbers, one after the other in `flat`; `lengths` tells them apart, shape (lists,)."""

    flat: Array
    lengths: Indices

    @classmethod
    def of(cls, lists: Sequence[Sequence[float]]) -> Ragged:
        """Any lists of numbers."""
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        return cls(np.fromiter(chain.from_iterable(lists), np.float64, int(lengths.sum())), lengths)

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        """The lists of all parts."""
        if not parts:
            return cls.of(())
        return cls(np.concatenate([each.flat for each in parts]), np.concatenate([each.lengths for each in parts]))

    @property
    def starts(self) -> Indices:
        """Where each list begins."""
        starts: Indices = np.cumsum(self.lengths) - self.lengths
        return starts

    def take(self, positions: Indices) -> Ragged:
        """The lists at these positions, in this order."""
        lengths = self.lengths[positions]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Ragged(self.flat[np.repeat(self.starts[positions], lengths) + within], lengths)

    def cut(self, lengths: Indices) -> Ragged:
        """The beginning of each list, so long."""
        if (lengths == self.lengths).all():
            return self
        within = np.arange(len(self.flat)) - np.repeat(self.starts, self.lengths)
        return Ragged(self.flat[within < np.repeat(lengths, self.lengths)], lengths)

    def merged(self, sizes: Indices) -> Ragged:
        """Each `sizes` lists that follow each other as one list."""
        return Ragged(self.flat, sums(self.lengths, sizes))

    def lists(self) -> list[list[float]]:
        """Plain lists."""
        values, ends = self.flat.tolist(), np.cumsum(self.lengths).tolist()
        return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def medians(self) -> Array:
        """The median of each list, nan of an empty one."""
        found = np.full(len(self.lengths), np.nan)
        for where, lists in self.by_length():
            n = lists.shape[1]
            if n > 1:
                lists.sort(axis=1)
            found[where] = (lists[:, (n - 1) // 2] + lists[:, n // 2]) / 2
        return found

    def median_intervals(self, confidence: float) -> tuple[Array, Array]:
        """`bench.statistics.statistics.median_interval` of each list."""
        low, high = np.full((2, len(self.lengths)), np.nan)
        for where, lists in self.by_length():
            n = lists.shape[1]
            if n >= smallest_sample(confidence):
                lists.sort(axis=1)
                reach = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(n) / 2
                low[where], high[where] = _at_rank(lists, n / 2 - reach), _at_rank(lists, n / 2 + reach)
        return low, high

    def percentiles(self, percent: float, least: int) -> Array:
        """That of each list, nan of one that is shorter than `least`."""
        found = np.full(len(self.lengths), np.nan)
        for where, lists in self.by_length(least):
            found[where] = np.percentile(lists, percent, axis=1)
        return found

    def by_length(self, least: int = 1) -> Iterator[tuple[Indices, Array]]:
        """Positions of the lists of one length, `least` at first, and these as an array of shape (lists, length)."""
        starts = self.starts
        for length in np.flatnonzero(np.bincount(self.lengths)):
            if length < max(least, 1):
                continue
            where = np.flatnonzero(self.lengths == length)
            if len(where) == len(self.lengths):  # nothing has to be looked for
                yield where, self.flat.reshape(-1, length).copy()
            else:
                yield where, self.flat[starts[where][:, None] + np.arange(length)]


def _at_rank(ordered: Array, rank: float) -> Array:
    """Each row at `rank`, between its values, the first of which has the rank ½."""
    n = ordered.shape[1]
    place = min(max(rank - 0.5, 0.0), n - 1.0)
    below = min(int(place), n - 2)
    found: Array = ordered[:, below] + (place - below) * (ordered[:, below + 1] - ordered[:, below])
    return found


def sums(values: NDArray[Any], sizes: Indices) -> Indices:
    """Sums over groups of so many values that follow each other; a group may be empty."""
    ends = np.cumsum(sizes)
    total = np.concatenate(([0], np.cumsum(values)))
    sums: Indices = total[ends] - total[ends - sizes]
    return sums
