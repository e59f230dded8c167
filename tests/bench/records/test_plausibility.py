"""Mistakes of units are refused with a reason; records that are only surprising pass."""

from __future__ import annotations

from typing import Any

import pytest
from atlas_data import measured, measurement, telling

from bench.records.plausibility import faults
from bench.records.record import Measurement, Peaks, Samples, Work

PEAKS = Peaks(matmul_flop_s=1e12, copy_bytes_s=1e11)


def told(figures: Measurement, **cell: Any) -> list[tuple[str, str]]:
    return [(field, what) for field, what, _ in faults(measured(figures=figures, **cell))]


def printed(eager_ms: float, compiled_ms: float, **compiled: Any) -> Measurement:
    return Measurement(
        eager=Samples(published_mean_ms=eager_ms), compiled=Samples(published_mean_ms=compiled_ms, **compiled)
    )


@pytest.mark.parametrize(
    ("work", "is_refused", "says"),
    [
        (Work(flop=3.9e9), False, ""),  # an algorithm may need fewer operations
        (Work(flop=5e9), True, "1 ms implies 5e+12 FLOP/s, 5 times the peak"),
        (Work(flop=1.0, traffic_bytes=19e8), False, ""),  # caches are faster than memory
        (Work(flop=1.0, traffic_bytes=50e8), True, "1 ms implies 5e+12 B/s, 50 times the peak"),
    ],
)
def test_no_model_is_much_faster_than_the_peaks_that_its_process_measured(
    work: Work, is_refused: bool, says: str
) -> None:
    samples = Samples(rounds_ms=((1.0,),) * 9)
    figures = Measurement(eager=samples, compiled=samples, work=work, peaks=PEAKS)
    found = told(figures, device="cpu")
    assert bool(found) is is_refused
    assert not found or (found[0][0] == "measurement.eager" and says in found[0][1])


def test_convolutions_of_a_gpu_may_use_tf32_where_the_product_did_not() -> None:
    fast = measurement(1.0, 1.0, work=Work(flop=5e9), peaks=PEAKS)
    assert told(fast) == []
    assert told(fast, tf32=True) != []  # as its peak does


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
