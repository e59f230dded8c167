"""Find measurements that were copied: unchanged, in part, multiplied by a factor, in another order or with noise.

Takes records one by one with their places; names the earlier record whose samples a later one repeats. Latencies are
noise from the fourth digit on, so that no two processes share the ratios of a few successive calls, or those of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.records.record import Record, Variant

RATIOS = 5
"""Successive ratios that make a fingerprint: about one in 10¹² pairs of honest ones is alike."""

FEWEST = 2
"""Fingerprints in common that tell a copy, which has them one after the other."""

GRAIN = 2e-5
"""Ratios that differ by less, as a share, are alike: a copy is rounded, to a nanosecond or to six digits."""

FEW_CALLS = 8
"""Sorted samples are compared from so many calls on."""

RANKED_CALLS = 32
"""The calls whose ups and downs are compared, by rank."""

ALIKE = 0.9
"""Rank correlation of the ups and downs that tells a copy with noise: for honest samples about one in 10¹⁴ pairs. The
largest one between committed records is 0.73."""

_PRIMES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD])
_FACTORS = _PRIMES.astype(np.uint64)

Place = tuple[str, int]
"""A file and a line."""


class _Series(NamedTuple):
    """The samples of a variant of one record, free of scale."""

    record: int  # its number among those added
    ordered: NDArray[np.float64]  # sorted logarithms, from the median on
    moves: NDArray[np.float64] | None  # ranks of the ups and downs, of length 1; None for few calls


class Samples:
    """The samples of records, and which of them repeat those of an earlier one."""

    def __init__(self) -> None:
        self._numbers: dict[Place, int] = {}
        self._places: list[Place] = []
        self._fingerprints: list[NDArray[np.uint64]] = []
        self._series: list[_Series] = []

    def add(self, record: Record, place: Place) -> None:
        """Add the samples of a measured record. Nothing is added after the first question."""
        if record.origin != "measured" or record.measurement is None:
            return
        number = self._numbers[place] = len(self._places)
        self._places.append(place)
        prints = []
        for variant in (record.measurement.eager, record.measurement.compiled):
            if variant and variant.rounds_ms:
                logs = np.log([call for calls in variant.rounds_ms for call in calls])
                prints += list(_fingerprints(logs))
                ordered = np.sort(logs) - np.median(logs)
                self._series.append(_Series(number, ordered, _moves(variant, logs)))
        self._fingerprints.append(np.unique(np.concatenate([*prints, np.empty(0, np.uint64)])))

    def original(self, place: Place) -> Place | None:
        """Return the place of the first earlier record that has samples of the one in this place, or None."""
        number = self._numbers.get(place)
        if number is None:
            return None
        found = [self._repeated[number]] if number in self._repeated else []
        for series in self._of[number]:
            found += [each for each in (*self._reordered(series), *self._with_noise(series)) if each < number]
        return self._places[min(found)] if found else None

    @cached_property
    def _repeated(self) -> dict[int, int]:
        """By the number of a record, the first earlier one that shares `FEWEST` fingerprints."""
        owners = np.repeat(np.arange(len(self._places)), [len(each) for each in self._fingerprints])
        prints = np.concatenate(self._fingerprints)
        order = np.argsort(prints, kind="stable")
        is_first = np.ones(len(prints), bool)
        is_first[1:] = np.diff(prints[order]) != 0
        firsts = owners[order][np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))]
        pairs, times = np.unique(np.stack([owners[order], firsts])[:, ~is_first], axis=1, return_counts=True)
        shared = pairs[:, times >= FEWEST].T[::-1].tolist()  # the first one of each record last
        return {later: earlier for later, earlier in shared if later != earlier}

    @cached_property
    def _of(self) -> list[list[_Series]]:
        """The series of each record."""
        found: list[list[_Series]] = [[] for _ in self._places]
        for series in self._series:
            found[series.record].append(series)
        return found

    @cached_property
    def _by_length(self) -> dict[int, tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]]:
        """The sorted samples by the number of calls: the records, from where to where each reaches, and all."""
        groups: dict[int, list[_Series]] = {}
        for series in self._series:
            groups.setdefault(len(series.ordered), []).append(series)
        return {
            length: (
                np.array([each.record for each in group]),
                np.array([each.ordered[-1] - each.ordered[0] for each in group]),
                np.array([each.ordered for each in group]),
            )
            for length, group in groups.items()
        }

    def _reordered(self, series: _Series) -> list[int]:
        """Return the records with the same samples in any order."""
        if len(series.ordered) < FEW_CALLS or np.ptp(series.ordered) < FEW_CALLS * GRAIN:
            return []
        records, reach, ordered = self._by_length[len(series.ordered)]
        near = np.flatnonzero(np.abs(reach - np.ptp(series.ordered)) < GRAIN)
        is_same = np.abs(ordered[near] - series.ordered).max(axis=1) < GRAIN
        return [int(each) for each in records[near[is_same]]]

    @cached_property
    def _moving(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        moving = [each for each in self._series if each.moves is not None]
        moves = [each.moves for each in moving if each.moves is not None]
        return np.array([each.record for each in moving]), np.array(moves)

    def _with_noise(self, series: _Series) -> list[int]:
        """Return the records whose latencies rise and fall with these."""
        if series.moves is None:
            return []
        records, moves = self._moving
        return [int(each) for each in records[moves @ series.moves > ALIKE]]


def _fingerprints(logs: NDArray[np.float64]) -> Iterator[NDArray[np.uint64]]:
    """Yield hashes of the successive ratios, those of a variant that repeats itself left out.

    Ratios are rounded to one of two grids, of which one is off by half: near the border of one is the middle of the
    other.
    """
    steps = np.diff(logs) / GRAIN
    if len(steps) < RATIOS:
        return
    for grid in range(2):
        numbers = np.floor(steps + grid / 2).astype(np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(numbers, RATIOS)
        varied = windows[(np.abs(windows) > 1).sum(axis=1) > RATIOS // 2]
        yield (varied.astype(np.uint64) * _FACTORS).sum(axis=1) ^ np.uint64(grid)


def _moves(variant: Variant, logs: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the ranks of the first ups and downs, without what all rounds share; None where there are few calls."""
    if len(logs) < RANKED_CALLS:
        return None
    count = len(variant.rounds_ms)
    if count > 2 and len({len(calls) for calls in variant.rounds_ms}) == 1:
        rounds = logs.reshape(count, -1)
        logs = (rounds - np.median(rounds, axis=0)).ravel()
    steps = np.diff(logs[:RANKED_CALLS])
    ranks = np.argsort(np.argsort(steps, kind="stable")) - (len(steps) - 1) / 2
    return np.asarray(ranks / np.linalg.norm(ranks)) if np.ptp(steps) > 0 else None
