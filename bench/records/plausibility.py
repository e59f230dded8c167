"""Find records that no device could have measured.

Takes a record and yields faults: the field, what is wrong, and a remedy. The limits are wide: they catch a wrong unit,
batch size or variant and let true surprises pass.
The data lint (`generator.data.lint`) marks what is only unusual, and refuses nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.records.record import Record, Samples

Fault = tuple[str, str, str]
"""The field, what is wrong with it, and the remedy."""

LONGEST_CALL_MS = 3.6e6
"""An hour: a longer call has the wrong unit."""

SHORTEST_CALL_MS = 1e-3
"""A microsecond: calling a function takes longer."""

MAX_SPEEDUP_RATIO = 100.0
"""The largest ratio of eager and compiled: beyond it, one of them was measured wrongly."""

FLOP_SLACK = 4.0
"""An algorithm may need fewer operations than are counted: Winograd's F(4×4, 3×3) needs a quarter."""

TF32_SLACK = 8.0
"""Convolutions in float32 on a GPU may be faster than a matrix product, because they use TF32 by default."""

TRAFFIC_SLACK = 20.0
"""Caches are faster than memory, and traffic is counted as if there were none."""

THROUGHPUT_SLACK = 2.0
"""The largest ratio between a published throughput and the one that its latency implies."""

MARK = "implausible: "
"""Begins the reason of a record that was found implausible when it was measured."""

_CHECK_UNIT = "check the unit (milliseconds for one call of the whole batch) and the batch size"


@dataclass(frozen=True)
class Ceiling:
    """The peak performance of a product in its data sheet: dense, at boost clock, for the largest model."""

    half_flop_s: float  # float16 and bfloat16, tensor cores
    single_flop_s: float  # float32, with TF32 where there is one
    memory_bytes_s: float

    def flop_s(self, dtype: str, *, autocast: bool) -> float:
        """Return the peak of products and convolutions in a data type."""
        return max(self.single_flop_s, self.half_flop_s) if autocast or dtype != "float32" else self.single_flop_s


CEILINGS: Mapping[str, Ceiling] = {
    "B200": Ceiling(2250e12, 1120e12, 8000e9),  # NVIDIA Blackwell architecture technical brief (HGX B200)
    "GH200": Ceiling(989.5e12, 494.5e12, 4900e9),  # NVIDIA GH200 Grace Hopper Superchip data sheet, HBM3e
    "H200": Ceiling(989.5e12, 494.5e12, 4800e9),  # NVIDIA H200 Tensor Core GPU data sheet
    "H100": Ceiling(989.5e12, 494.5e12, 3350e9),  # NVIDIA H100 Tensor Core GPU data sheet, SXM
    "L40S": Ceiling(362.1e12, 183e12, 864e9),  # NVIDIA L40S data sheet
    "L40": Ceiling(181.1e12, 90.5e12, 864e9),  # NVIDIA L40 data sheet
    "A100": Ceiling(312e12, 156e12, 2039e9),  # NVIDIA A100 Tensor Core GPU data sheet, 80 GB SXM
    "A40": Ceiling(149.7e12, 74.8e12, 696e9),  # NVIDIA A40 data sheet
    "A30": Ceiling(165e12, 82e12, 933e9),  # NVIDIA A30 data sheet
    "V100": Ceiling(130e12, 16.4e12, 1134e9),  # NVIDIA V100 and V100S data sheets
    "P100": Ceiling(21.2e12, 10.6e12, 732e9),  # NVIDIA Tesla P100 data sheet, SXM2
    "A10G": Ceiling(70e12, 35e12, 600e9),  # NVIDIA A10G data sheet
    "A10": Ceiling(125e12, 62.5e12, 600e9),  # NVIDIA A10 data sheet
    "L4": Ceiling(121e12, 60e12, 300e9),  # NVIDIA L4 data sheet
    "T4": Ceiling(65e12, 8.1e12, 320e9),  # NVIDIA T4 data sheet
    "RTX PRO 6000": Ceiling(503.8e12, 251.9e12, 1792e9),  # NVIDIA RTX Blackwell PRO GPU architecture
    "RTX 6000 Ada": Ceiling(364.2e12, 182.1e12, 960e9),  # NVIDIA Ada GPU architecture, RTX 6000
    "RTX A6000": Ceiling(154.8e12, 77.4e12, 768e9),  # NVIDIA Ampere GA102 architecture, RTX A6000
    "RTX 5090": Ceiling(419e12, 104.8e12, 1792e9),  # NVIDIA RTX Blackwell GPU architecture, appendix
    "RTX 5080": Ceiling(225.1e12, 56.3e12, 960e9),  # likewise
    "RTX 5070": Ceiling(175.8e12, 43.9e12, 896e9),  # likewise: RTX 5070 Ti, the larger one
    "RTX 4090": Ceiling(330.3e12, 82.6e12, 1008e9),  # NVIDIA Ada GPU architecture, appendix
    "RTX 4080": Ceiling(208.9e12, 52.2e12, 736e9),  # NVIDIA Ada GPU architecture: RTX 4080 and 4080 SUPER
    "RTX 4070": Ceiling(176.4e12, 44.1e12, 672e9),  # likewise: RTX 4070 to 4070 Ti SUPER
    "RTX 3090": Ceiling(160e12, 40e12, 1008e9),  # NVIDIA Ampere GA102 architecture, appendix: RTX 3090 and 3090 Ti
    "RTX 3080": Ceiling(136.4e12, 34.1e12, 912e9),  # likewise: RTX 3080 and 3080 Ti
    "RTX 3070": Ceiling(87e12, 21.7e12, 608e9),  # likewise: RTX 3070 and 3070 Ti
    "RTX 3060": Ceiling(64.8e12, 16.2e12, 448e9),  # likewise: RTX 3060 and 3060 Ti
    "RTX 2080": Ceiling(113.8e12, 14.2e12, 616e9),  # NVIDIA Turing architecture: RTX 2080 Ti, the larger one
    "MI300X": Ceiling(1307.4e12, 653.7e12, 5300e9),  # AMD Instinct MI300X data sheet
    "MI250X": Ceiling(383e12, 95.7e12, 3277e9),  # AMD Instinct MI250X data sheet, both dies
    "MI210": Ceiling(181e12, 45.3e12, 1638e9),  # AMD Instinct MI210 data sheet
}
"""Ceilings by a part of the device name. Other devices are held against what they measured of themselves."""


def variants(record: Record) -> Iterator[tuple[str, Samples, int]]:
    """Yield the variants that have a latency: name, variant and batch size."""
    measurement = record.measurement
    for name, variant in (("eager", measurement.eager), ("compiled", measurement.compiled)) if measurement else ():
        if variant and calls(variant):
            yield name, variant, variant.batch_size or record.cell.batch_size


def calls(variant: Samples) -> list[float]:
    """Return the latencies of all calls in ms, or the published latency if there are no calls."""
    published = [] if variant.published_ms is None else [variant.published_ms]
    return [call for each in variant.rounds_ms for call in each] or published


def faults(record: Record) -> Iterator[Fault]:
    """Yield the faults of a record."""
    for name, variant, batch_size in variants(record):
        field, latencies = f"measurement.{name}", calls(variant)
        impossible = [each for each in latencies if not SHORTEST_CALL_MS <= each <= LONGEST_CALL_MS]
        if impossible:
            yield field, f"{impossible[0]:g} ms is not a plausible latency of a model", "check the unit: milliseconds"
            continue
        latency_ms = statistics.median(latencies)
        yield from _throughput(field, variant, batch_size / latency_ms * 1e3)
        yield from _faster_than_possible(record, name, latency_ms, batch_size)
    yield from _ratio(record)


def _throughput(field: str, variant: Samples, images_s: float) -> Iterator[Fault]:
    published = variant.published_images_s
    if published and not 1 / THROUGHPUT_SLACK <= published / images_s <= THROUGHPUT_SLACK:
        what = f"{published:g} images/s contradict its latency, which implies {images_s:.4g}"
        yield f"{field}.published_images_s", what, _CHECK_UNIT


def _faster_than_possible(record: Record, name: str, latency_ms: float, batch_size: int) -> Iterator[Fault]:
    work, seconds = record.measurement and record.measurement.work, latency_ms / 1e3
    if not work:
        return
    flop_s, bytes_s, whose = ceiling(record)
    scale = batch_size / record.cell.batch_size if record.cell.batch_size else 1.0
    moved = work.traffic_bytes if name == "eager" else work.compiled_traffic_bytes
    for amount, limit, unit, slack in (
        (work.flop * scale / seconds, flop_s, "FLOP/s", FLOP_SLACK),
        ((moved or 0.0) * scale / seconds, bytes_s, "B/s", TRAFFIC_SLACK),
    ):
        if limit and amount > slack * limit:
            what = f"{latency_ms:g} ms implies {amount:.3g} {unit}, {amount / limit:,.0f} times what {whose}"
            yield f"measurement.{name}", f"{what} ({limit:.3g} {unit})", _CHECK_UNIT


def ceiling(record: Record) -> tuple[float, float, str]:
    """Return the largest FLOP/s and bytes/s of the device (0 if unknown), and their origin in words."""
    cell, name = record.cell, record.environment.device_name
    peaks = record.measurement.peaks if record.measurement else None
    if cell.device != "cpu":
        words = f" {name.replace('-', ' ').replace('_', ' ')} "
        sheet = next((each for product, each in CEILINGS.items() if f" {product} " in words), None)
        if sheet:
            stated = sheet.flop_s(cell.dtype, autocast=cell.autocast)
            return stated, sheet.memory_bytes_s, f"the data sheet of {name} allows"
    slack = TF32_SLACK if (cell.device, cell.precision) == ("cuda", "float32") else 1
    measured = peaks.matmul_flop_s * slack if peaks else 0.0
    return measured, peaks.copy_bytes_s if peaks else 0.0, "this record itself measured as the peak"


def _ratio(record: Record) -> Iterator[Fault]:
    measurement = record.measurement
    if not measurement or not measurement.compiled or not measurement.is_comparable:
        return
    eager, compiled = calls(measurement.eager), calls(measurement.compiled)
    if eager and compiled and min(*eager, *compiled) > 0:
        ratio = statistics.median(eager) / statistics.median(compiled)
        if not 1 / MAX_SPEEDUP_RATIO <= ratio <= MAX_SPEEDUP_RATIO:
            yield "measurement", f"eager ÷ compiled is {ratio:.3g}", "check that both variants are in milliseconds"
