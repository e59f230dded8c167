"""Why an NVIDIA device slows itself down, by the bits of NVML's answer. No torch here.

python -m bench doctor
"""

from __future__ import annotations

SLOWDOWNS = {
    "hardware slowdown": 0x08,
    "software thermal slowdown": 0x20,
    "hardware thermal slowdown": 0x40,
    "hardware power brake": 0x80,
}
"""A device that is held back by heat or a fault: a round measured meanwhile is repeated."""

LIMITS = {"application clocks": 0x02, "power cap": 0x04, "synchronised boost": 0x10, "display clocks": 0x100}
"""Limits that belong to the device and its settings: noted, and no reason to repeat a round."""


def named(bits: int) -> frozenset[str]:
    """The reasons in an answer of NVML; what is neither a slowdown nor a limit, such as idling, is none."""
    return frozenset(name for name, bit in {**SLOWDOWNS, **LIMITS}.items() if bits & bit)
