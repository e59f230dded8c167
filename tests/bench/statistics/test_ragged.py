"""Lists of numbers of any length: what comes out is what went in, whatever is done to its rows."""

from __future__ import annotations

import math

import numpy as np

from bench.statistics.ragged import Ragged


def test_lists_of_any_length_keep_their_order() -> None:
    ragged = Ragged.of([[3.0, 1.0, 2.0], [], [5.0], [4.0, 6.0]])
    assert ragged.medians().tolist()[0::2] == [2.0, 5.0]
    assert math.isnan(ragged.medians()[1])
    assert ragged.take(np.array([3, 1, 0])).lists() == [[4.0, 6.0], [], [3.0, 1.0, 2.0]]
    assert ragged.merged(np.array([2, 0, 2])).lists() == [[3.0, 1.0, 2.0], [], [5.0, 4.0, 6.0]]
    assert ragged.cut(np.array([1, 0, 1, 2])).lists() == [[3.0], [], [5.0], [4.0, 6.0]]


def test_lists_of_one_length_are_copies() -> None:
    ragged = Ragged.of([[3.0, 1.0], [2.0, 5.0]])
    assert ragged.medians().tolist() == [2.0, 3.5]
    assert ragged.lists() == [[3.0, 1.0], [2.0, 5.0]]
