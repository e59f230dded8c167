"""The digits of figures: what an interval supports, and no more."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from bench.statistics.digits import LATENCY, decimals, rounded
from bench.statistics.intervals import Estimate


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (17.702, 17.66, 17.74, "17.70"),
        (1621.826, 1590.0, 1650.0, "1,620"),
        (1621.826, math.nan, math.nan, "1,620"),  # three calls have no interval
        (0.94137, 0.923, 0.960, "0.94"),
        (1.2325, 1.08, 1.41, "1.2"),
        (10216.0, 2632.0, math.inf, "10,200"),
        (9.0, 2.0, 40.0, "9.0"),  # one digit alone would read as an order of magnitude
        (5.0, 5.0, 5.0, "5.000"),
        (0.0, 0.0, 0.0, "0"),
    ],
)
def test_the_last_digit_stands_where_the_interval_begins(value: float, low: float, high: float, expected: str) -> None:
    assert rounded(Estimate(value, low, high)) == expected


def test_a_latency_has_digits_enough_to_find_its_speedup() -> None:
    eager, compiled = (rounded(Estimate(ms, 0.9 * ms, 1.1 * ms), least=LATENCY) for ms in (355.7, 324.1))
    assert (eager, compiled) == ("356", "324")
    assert float(eager) / float(compiled) == pytest.approx(355.7 / 324.1, rel=0.005)


@given(st.floats(1e-3, 1e6), st.floats(1e-6, 0.5))
def test_rounding_stays_within_the_interval(value: float, share: float) -> None:
    half = value * share
    places = decimals(value, value - half, value + half)
    assert abs(round(value, places) - value) <= max(half, 0.5e-3) * (1 + 1e-6)
