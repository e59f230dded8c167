"""Lists of numbers of any length as two arrays: the numbers one after the other, and the lengths of the lists.

Takes the calls of rounds, or the rounds of processes; returns a median or interval for each list. Lists of
one length are computed together, so that thousands cost little more than one.
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

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

CONFIDENCE = 0.95
"""Confidence of every interval that is shown."""

SMALLEST_SAMPLE = 6
"""Rounds below which no 95% interval of a median exists: even the whole range of five covers only 93.75%."""


@dataclass(frozen=True, eq=False)
class Ragged:
    """Lists of numbers, one after the other in `flat`; `lengths` has the shape (lists,)."""

    flat: Array
    lengths: Indices

    @classmethod
    def of(cls, lists: Sequence[Sequence[float]]) -> Ragged:
        """Build it from any lists of numbers."""
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        return cls(np.fromiter(chain.from_iterable(lists), np.float64, int(lengths.sum())), lengths)

    @property
    def starts(self) -> Indices:
        """The position at which each list begins."""
        starts: Indices = np.cumsum(self.lengths) - self.lengths
        return starts

    def take(self, positions: Indices) -> Ragged:
        """Return the lists at these positions, in this order."""
        lengths = self.lengths[positions]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Ragged(self.flat[np.repeat(self.starts[positions], lengths) + within], lengths)

    def cut(self, lengths: Indices) -> Ragged:
        """Return the beginning of each list, `lengths` numbers long."""
        if (lengths == self.lengths).all():
            return self
        within = np.arange(len(self.flat)) - np.repeat(self.starts, self.lengths)
        return Ragged(self.flat[within < np.repeat(lengths, self.lengths)], lengths)

    def merged(self, sizes: Indices) -> Ragged:
        """Join neighbouring lists: the first `sizes[0]` of them become one list, and so on."""
        return Ragged(self.flat, sums(self.lengths, sizes))

    def lists(self) -> list[list[float]]:
        """Return plain lists."""
        values, ends = self.flat.tolist(), np.cumsum(self.lengths).tolist()
        return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def medians(self) -> Array:
        """Return the median of each list, nan for an empty one."""
        found = np.full(len(self.lengths), np.nan)
        for where, lists in self.by_length():
            n = lists.shape[1]
            if n > 1:
                lists.sort(axis=1)
            found[where] = (lists[:, (n - 1) // 2] + lists[:, n // 2]) / 2
        return found

    def median_intervals(self) -> tuple[Array, Array]:
        """Return the interval of the median of each list, from order statistics: no shape of the noise is assumed.

        How many samples fall below the true median is binomial, so the interval runs between the ranks n/2 ± z√n/2,
        interpolated. nan for lists whose whole range covers less: those shorter than `SMALLEST_SAMPLE`.
        """
        low, high = np.full((2, len(self.lengths)), np.nan)
        for where, lists in self.by_length(SMALLEST_SAMPLE):
            lists.sort(axis=1)
            n = lists.shape[1]
            reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(n) / 2
            low[where], high[where] = _at_rank(lists, n / 2 - reach), _at_rank(lists, n / 2 + reach)
        return low, high

    def by_length(self, least: int = 1) -> Iterator[tuple[Indices, Array]]:
        """Yield the positions of the lists of one length, from `least` on, and a copy of these, (lists, length)."""
        starts = self.starts
        for length in np.flatnonzero(np.bincount(self.lengths)):
            if length < max(least, 1):
                continue
            where = np.flatnonzero(self.lengths == length)
            if len(where) == len(self.lengths):
                yield where, self.flat.reshape(-1, length).copy()
            else:
                yield where, self.flat[starts[where][:, None] + np.arange(length)]


def _at_rank(ordered: Array, rank: float) -> Array:
    """Interpolate each row at `rank`; the first value of a row has the rank ½."""
    n = ordered.shape[1]
    place = min(max(rank - 0.5, 0.0), n - 1.0)
    below = min(int(place), n - 2)
    found: Array = ordered[:, below] + (place - below) * (ordered[:, below + 1] - ordered[:, below])
    return found


def sums(values: NDArray[Any], sizes: Indices) -> Indices:
    """Return the sums over groups of neighbouring values; a group may be empty."""
    ends = np.cumsum(sizes)
    total = np.concatenate(([0], np.cumsum(values)))
    sums: Indices = total[ends] - total[ends - sizes]
    return sums
