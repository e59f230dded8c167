"""Time for which the device is busy with a call, from torch's profiler. Imports torch.

The profiler sees each kernel and copy, also where a call waits for the device in the middle, or launches more kernels
than the queue of the device holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

CALLS = 5
"""Calls that are profiled."""


def busy_ms(device: torch.device, call: Callable[[int], object]) -> tuple[float, ...]:
    """Return the busy time of the device in ms for each of `CALLS` calls; empty if the profiler sees none.

    `call` runs the call of this number and waits for the device. Of a CPU, it is the time in operators.
    """
    kind = device.type.upper()
    activity = getattr(torch.profiler.ProfilerActivity, kind, None)
    if activity is None or activity not in torch.profiler.supported_activities():  # type: ignore[no-untyped-call]
        return ()
    call(0)  # the first profile starts the profiler of the driver
    found = []
    for number in range(CALLS):
        with torch.profiler.profile(activities=[activity]) as profile:
            call(number)
        events = [each for each in profile.events() if each.device_type.name == kind and not each.is_user_annotation]
        found.append(covered((each.time_range.start, each.time_range.end) for each in events) / 1e3)
    return tuple(round(each, 6) for each in found) if all(found) else ()  # another tool may hold the profiler


def covered(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of intervals, each a start and an end: kernels of several streams may overlap."""
    total = until = 0.0
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
