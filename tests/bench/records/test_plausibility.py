"""Impossible records are refused with a reason; records that are only surprising pass."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from atlas_data import measured, measurement, telling

from bench.records.plausibility import CEILINGS, ceiling, faults
from bench.records.record import Measurement, Peaks, Record, Samples, Work


def found(record: Record) -> list[tuple[str, str]]:
    return [(field, what) for field, what, _ in faults(record)]


def of_work(eager_ms: float, flop: float, traffic_bytes: float | None = None, **changes: Any) -> Record:
    figures = measurement(eager_ms, eager_ms, work=Work(flop=flop, traffic_bytes=traffic_bytes), **changes)
    return measured(figures=figures, device_name=changes.pop("device_name", "NVIDIA H200"))


def test_what_a_gpu_can_tell_is_plausible() -> None:
    assert found(measured(figures=telling())) == []


def test_no_device_is_faster_than_its_data_sheet() -> None:
    peak = CEILINGS["H200"].single_flop_s
    assert found(of_work(1.0, 2 * peak * 1e-3)) == []  # an algorithm may need fewer operations
    (eager, compiled) = found(of_work(1.0, 9 * peak * 1e-3))
    assert eager[0] == "measurement.eager"
    assert "9 times what the data sheet of NVIDIA H200 allows" in eager[1]
    assert compiled[0] == "measurement.compiled"


def test_nor_than_its_memory() -> None:
    ((field, what),) = found(of_work(1.0, 1.0, 50 * CEILINGS["H200"].memory_bytes_s * 1e-3))
    assert field == "measurement.eager"
    assert "50 times" in what


def test_a_device_without_a_data_sheet_is_held_against_its_own_peaks() -> None:
    peaks = Peaks(matmul_flop_s=1e12, copy_bytes_s=1e11)
    fast = measured(
        figures=measurement(1.0, 1.0, work=Work(flop=5e9), peaks=peaks), device_name="Some CPU", device="cpu"
    )
    assert "this record itself measured as the peak" in found(fast)[0][1]
    gpu = measured(figures=fast.measurement, device_name="Some GPU")
    assert found(gpu) == []  # convolutions may use TF32 there
    assert found(measured(figures=fast.measurement, device_name="Some GPU", tf32=True)) != []  # as its peak does


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA T400 4GB", None),
    ],
)
def test_a_product_is_a_word_of_the_device_name(name: str, product: str | None) -> None:
    flop_s, _, _ = ceiling(measured(device_name=name))
    assert flop_s == (CEILINGS[product].single_flop_s if product else 0)


def test_autocast_may_use_the_faster_type() -> None:
    plain, cast = (measured(dtype=dtype, autocast=cast) for dtype, cast in (("float32", False), ("float16", True)))
    assert ceiling(plain)[0] < ceiling(cast)[0]


@pytest.mark.parametrize(
    ("variant", "field"),
    [
        (Samples(published_mean_ms=10.0, published_images_s=5000.0), "measurement.eager.published_images_s"),
        (Samples(published_mean_ms=5e6), "measurement.eager"),
        (Samples(published_mean_ms=float("nan")), "measurement.eager"),
    ],
)
def test_figures_that_contradict_each_other_are_refused(variant: Samples, field: str) -> None:
    assert [each for each, _ in found(measured(figures=Measurement(eager=variant)))] == [field]


def test_variants_of_one_batch_that_differ_by_a_unit_are_refused_and_of_two_are_not() -> None:
    eager, compiled = Samples(published_mean_ms=500.0), Samples(published_mean_ms=1.0)
    assert found(measured(figures=Measurement(eager=eager, compiled=compiled)))[0][0] == "measurement"
    own = msgspec.structs.replace(compiled, batch_size=8)
    assert found(measured(figures=Measurement(eager=eager, compiled=own))) == []
