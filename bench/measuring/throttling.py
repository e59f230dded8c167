"""Name the reasons why an NVIDIA device is throttled, from the bit mask that NVML returns. Imports no torch."""

from __future__ import annotations

SLOWDOWNS = {
    "hardware slowdown": 0x08,
    "software thermal slowdown": 0x20,
    "hardware thermal slowdown": 0x40,
    "hardware power brake": 0x80,
}
"""Slowdowns by heat or a fault. A round measured during one is repeated."""

LIMITS = {"application clocks": 0x02, "power cap": 0x04, "synchronised boost": 0x10, "display clocks": 0x100}
"""Limits of the device and its settings. They are recorded, and no round is repeated for them."""


def named(bits: int) -> frozenset[str]:
    """Return the names of the slowdowns and limits in a bit mask. Other bits, such as idling, are ignored."""
    return frozenset(name for name, bit in {**SLOWDOWNS, **LIMITS}.items() if bits & bit)
