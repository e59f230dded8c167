"""Mistakes of units are refused with a reason; records that are only surprising pass."""

from __future__ import annotations

from typing import Any

import pytest
from atlas_data import measured, telling

from bench.records.plausibility import faults
from bench.records.record import Measurement, Samples


def told(figures: Measurement, **cell: Any) -> list[tuple[str, str]]:
    return [(field, what) for field, what, _ in faults(measured(figures=figures, **cell))]


def printed(eager_ms: float, compiled_ms: float, **compiled: Any) -> Measurement:
    return Measurement(
        eager=Samples(published_mean_ms=eager_ms), compiled=Samples(published_mean_ms=compiled_ms, **compiled)
    )


@pytest.mark.parametrize(
    ("figures", "field"),
    [
        (Measurement(eager=Samples(published_mean_ms=10.0, published_images_s=5000.0)), "eager.published_images_s"),
        (Measurement(eager=Samples(rounds_ms=((10.0, 5e6),))), "eager"),
        (Measurement(eager=Samples(published_mean_ms=float("nan"))), "eager"),
        (printed(500.0, 1.0), ""),
        (printed(0.01, 10.0), ""),
        (telling(), None),
        (printed(500.0, 10.0), None),
        (printed(500.0, 1.0, batch_size=8), None),  # of two batch sizes
        (Measurement(eager=Samples()), None),
    ],
)
def test_mistakes_of_units_are_refused_and_surprises_are_not(figures: Measurement, field: str | None) -> None:
    expected = [] if field is None else [f"measurement.{field}".rstrip(".")]
    assert [each for each, _ in told(figures)] == expected
