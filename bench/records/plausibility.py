"""Find records that no device could have measured.

Takes a record, the latencies known for its model and the operations counted for it; yields faults: the field, what is
wrong, and a remedy. The limits are wide: they catch a wrong unit, batch size or variant and let true surprises pass.
The data lint (`generator.data.lint`) marks what is only unusual, and refuses nothing.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.records.record import Record, Variant

Fault = tuple[str, str, str]
"""The field, what is wrong with it, and the remedy."""

FLOP_TOLERANCE = 1.25
"""How much the operations that a record counted may differ from those that the atlas has counted for its model."""

PEAK_SLACK = 1.5
"""A peak may be measured above that of the data sheet, since some cards clock higher."""

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

MAX_FAMILY_RATIO = 1000.0
"""A record that is slower than others of its model by more than this measures another model."""

THROUGHPUT_SLACK = 2.0
"""The largest ratio between a published throughput and the one that its latency implies."""

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
"""Ceilings by a part of the device name. Other devices are held against what they measured of themselves, and are
unconfirmed."""

PER_CORE = Ceiling(8e12, 1e12, 0.5e12)
"""More than any core of a CPU does: 2,048 operations a cycle of AMX in the lower-precision types at 4 GHz. In float32,
64 operations of AVX-512 at 6 GHz are 0.4 TFLOP/s; the limit is far above, because it must refuse no honest record. The
last is more than the memory of a socket moves."""

APPLE_CPU = Ceiling(4e12, 4e12, 0.8e12)
"""The same for CPUs of Apple, whose cores share a unit for products."""


Family = tuple[str, ...]
KnownLatencies = Mapping[Family, Sequence[float]]
"""The latencies per image in the atlas by model, device type, data type and variant, each sorted."""


def variants(record: Record) -> Iterator[tuple[str, Variant, int]]:
    """Yield the variants that have a latency: name, variant and batch size."""
    measurement = record.measurement
    for name, variant in (("eager", measurement.eager), ("compiled", measurement.compiled)) if measurement else ():
        if variant and calls(variant):
            yield name, variant, variant.batch_size or record.cell.batch_size


def calls(variant: Variant) -> list[float]:
    """Return the latencies of all calls in ms, or the published latency if there are no calls."""
    published = [] if variant.published_ms is None else [variant.published_ms]
    return [call for each in variant.rounds_ms for call in each] or published


def image_latencies(record: Record) -> Iterator[tuple[Family, float]]:
    """Yield the latencies per image of a record, with their families."""
    cell = record.cell
    for name, variant, batch_size in variants(record):
        if batch_size > 0:
            family = (cell.by_content.model, cell.device, cell.dtype, name)
            yield family, statistics.median(calls(variant)) / batch_size


def faults(record: Record, known: KnownLatencies, image_flop: float | None = None) -> Iterator[Fault]:
    """Yield the faults of a record, which may be among the known ones. What the record itself says of its work counts
    only where nobody has counted it: `image_flop` is the number of operations for an image, None if unknown."""
    for name, variant, batch_size in variants(record):
        field, latencies = f"measurement.{name}", calls(variant)
        impossible = [each for each in latencies if not SHORTEST_CALL_MS <= each <= LONGEST_CALL_MS]
        if impossible:
            yield field, f"{impossible[0]:g} ms is not a plausible latency of a model", "check the unit: milliseconds"
            continue
        yield from _median(field, variant)
        latency_ms = statistics.median(latencies)
        yield from _throughput(field, variant, batch_size / latency_ms * 1e3)
        yield from _faster_than_possible(record, name, latency_ms, batch_size, image_flop)
        if batch_size:
            cell, image_ms = record.cell, latency_ms / batch_size
            others = known.get((cell.by_content.model, cell.device, cell.dtype, name), ())
            yield from _slower_than_family(record, field, image_ms, _median_of_others(others, image_ms))
    yield from _ratio(record)
    yield from _claims(record, image_flop)


def _median_of_others(ordered: Sequence[float], own: float) -> float | None:
    """Return the median of sorted numbers, of which one that equals `own` is left out."""
    at = bisect_left(ordered, own)
    has_own = at < len(ordered) and ordered[at] == own
    count = len(ordered) - has_own

    def other(number: int) -> float:
        return ordered[number + (has_own and number >= at)]

    return (other((count - 1) // 2) + other(count // 2)) / 2 if count else None


def _slower_than_family(record: Record, field: str, image_ms: float, usual_ms: float | None) -> Iterator[Fault]:
    if usual_ms and image_ms > MAX_FAMILY_RATIO * usual_ms:
        cell = record.cell
        what = (
            f"{image_ms:g} ms per image is {image_ms / usual_ms:,.0f} times the latency in other records of "
            f"{cell.model}"
        )
        yield field, f"{what} on {cell.device} devices ({usual_ms:.3g} ms)", _CHECK_UNIT


def _median(field: str, variant: Variant) -> Iterator[Fault]:
    """Yield a fault if the published median lies outside the quartiles of its calls."""
    samples = [call for each in variant.rounds_ms for call in each]
    if variant.published_median_ms is None or len(samples) < 2:
        return
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    if not low * (1 - 1e-6) <= variant.published_median_ms <= high * (1 + 1e-6):
        what = f"{variant.published_median_ms:g} ms lies outside the quartiles of its calls, {low:g} and {high:g} ms"
        yield f"{field}.published_median_ms", what, "get both the median and the calls from the same source"


def _throughput(field: str, variant: Variant, images_s: float) -> Iterator[Fault]:
    published = variant.published_images_s
    if published and not 1 / THROUGHPUT_SLACK <= published / images_s <= THROUGHPUT_SLACK:
        what = f"{published:g} images/s contradict its latency, which implies {images_s:.4g}"
        yield f"{field}.published_images_s", what, _CHECK_UNIT


def _claims(record: Record, image_flop: float | None) -> Iterator[Fault]:
    """Yield a fault if the record counts other operations than its model has, or measured more than its device has."""
    measurement, cell = record.measurement, record.cell
    is_counted = record.origin == "measured" and image_flop and cell.batch_size
    if is_counted and measurement and measurement.work:
        ratio = measurement.work.flop / ((image_flop or 1.0) * cell.batch_size)
        if not 1 / FLOP_TOLERANCE <= ratio <= FLOP_TOLERANCE:
            what = f"{measurement.work.flop:.3g} FLOP are {ratio:.3g} times those of {cell.model} at this input size"
            yield "measurement.work.flop", what, "check the model, the input size and the batch size"
    sheet = ceiling_of(cell.device, record.environment.device_name, record.environment.cores)
    peaks = measurement.peaks if measurement else None
    if sheet and peaks:
        for field, stated in (
            ("matmul_flop_s", sheet.flop_s(cell.dtype, autocast=cell.autocast)),
            ("convolution_flop_s", sheet.single_flop_s),
            ("copy_bytes_s", sheet.memory_bytes_s),
        ):
            if (claimed := getattr(peaks, field) or 0.0) > PEAK_SLACK * stated:
                what = f"{claimed:.3g} is {claimed / stated:,.1f} times what {record.environment.device_name} can do"
                yield f"measurement.peaks.{field}", what, "measure it again: python -m bench run"


def _faster_than_possible(
    record: Record, name: str, latency_ms: float, batch_size: int, image_flop: float | None
) -> Iterator[Fault]:
    measurement = record.measurement
    assert measurement is not None
    work, seconds = measurement.work, latency_ms / 1e3
    flop_s, bytes_s, whose = ceiling(record)
    scale = batch_size / record.cell.batch_size if record.cell.batch_size else 1.0
    moved = work and (work.traffic_bytes if name == "eager" else work.compiled_traffic_bytes)
    done = image_flop * batch_size if image_flop else work.flop * scale if work else 0.0
    for amount, limit, unit, slack in (
        (done / seconds, flop_s, "FLOP/s", FLOP_SLACK),
        ((moved or 0.0) * scale / seconds, bytes_s, "B/s", TRAFFIC_SLACK),
    ):
        if limit and amount > slack * limit:
            what = f"{latency_ms:g} ms implies {amount:.3g} {unit}, {amount / limit:,.0f} times what {whose}"
            yield f"measurement.{name}", f"{what} ({limit:.3g} {unit})", _CHECK_UNIT


def ceiling_of(device: str, name: str, cores: float | None) -> Ceiling | None:
    """Return the ceiling of a device of this type and name, or None if it is not known. A CPU's goes by its cores."""
    if device == "cpu":
        if not cores:
            return None
        core = APPLE_CPU if name.startswith("Apple") else PER_CORE
        return Ceiling(core.half_flop_s * cores, core.single_flop_s * cores, core.memory_bytes_s)
    words = f" {name.replace('-', ' ').replace('_', ' ')} "
    return next((each for product, each in CEILINGS.items() if f" {product} " in words), None)


def ceiling(record: Record) -> tuple[float, float, str]:
    """Return the largest FLOP/s and bytes/s of the device (0 if unknown), and their origin in words.

    Of a CPU, the lower one of that of its cores and what the record measured.
    """
    cell, name = record.cell, record.environment.device_name
    sheet = ceiling_of(cell.device, name, record.environment.cores)
    peaks = record.measurement.peaks if record.measurement else None
    slack = TF32_SLACK if (cell.device, cell.precision) == ("cuda", "float32") else 1
    measured = peaks.matmul_flop_s * slack if peaks else 0.0
    if sheet and not (cell.device == "cpu" and peaks):
        stated = sheet.flop_s(cell.dtype, autocast=cell.autocast)
        whose = "its cores can do" if cell.device == "cpu" else f"the data sheet of {name} allows"
        return stated, sheet.memory_bytes_s, whose
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
