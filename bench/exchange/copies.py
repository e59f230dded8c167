"""Find measurements that were copied: unchanged, in part, or multiplied by any factor.

Takes records one by one with their places; names the earlier record whose samples a later one repeats. Latencies are
noise from the fourth digit on, so that no two processes share the ratios of a few successive calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bench.records.record import Record, Variant

RATIOS = 5
"""Successive ratios that make a fingerprint: about one in 10¹² pairs of honest ones is alike."""

FEWEST = 2
"""Fingerprints in common that tell a copy, which has them one after the other."""

GRAIN = 2e-5
"""Ratios that differ by less, as a share, are alike: a copy is rounded, to a nanosecond or to six digits."""

_PRIMES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD])
_FACTORS = _PRIMES.astype(np.uint64)


class Samples:
    """The fingerprints of records, each with the place of the first that has it."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[str, int]] = {}
        self._own: dict[tuple[str, int], frozenset[int]] = {}

    def add(self, record: Record, place: tuple[str, int]) -> None:
        """Add the samples of a measured record."""
        self._own[place] = frozenset(_fingerprints(record))
        for each in self._own[place]:
            self._first.setdefault(each, place)

    def original(self, place: tuple[str, int]) -> tuple[str, int] | None:
        """Return the place of the first other record that has some samples of the one in this place, or None."""
        places = Counter(self._first.get(each, place) for each in self._own.get(place, ()))
        others = [other for other, times in places.items() if other != place and times >= FEWEST]
        return min(others, default=None)


def _fingerprints(record: Record) -> Iterator[int]:
    """Yield hashes of the successive ratios of both variants, those of one that repeats itself left out.

    Ratios are rounded to one of two grids, of which one is off by half: near the border of one is the middle of the
    other.
    """
    if record.origin != "measured" or record.measurement is None:
        return
    for variant in (record.measurement.eager, record.measurement.compiled):
        steps = np.diff(np.log(_calls(variant))) / GRAIN
        if len(steps) < RATIOS:
            continue
        for grid in range(2):
            numbers = np.floor(steps + grid / 2).astype(np.int64)
            windows = np.lib.stride_tricks.sliding_window_view(numbers, RATIOS)
            varied = windows[(np.abs(windows) > 1).sum(axis=1) > RATIOS // 2]
            yield from ((varied.astype(np.uint64) * _FACTORS).sum(axis=1) ^ np.uint64(grid)).tolist()


def _calls(variant: Variant | None) -> NDArray[np.float64]:
    return np.array([call for calls in variant.rounds_ms for call in calls] if variant else [], np.float64)
