"""Time the device alone: milliseconds between two events around a call that is queued before the device begins it.

A kernel that spins holds the device meanwhile. Where the event before the call is still pending when the event after it
is queued, the device never waited for the host. Otherwise the call has no device time. Imports torch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

CALLS = 10
"""Calls that are timed."""

HEAD_STARTS = (1.5, 3.0, 6.0)
"""How long the device is held, in latencies. Each is tried where the one before was too short: the latency holds what
the host needs to queue a call, but a busy host needs longer."""

LONGEST_HOLD_MS = 500.0
"""Longest time to hold the device. Even if its clock falls to half in the meantime, it is released after a second."""

PROBE_CYCLES = 1_000_000
"""Cycles of the spin that tells the clock of the device: about half a millisecond."""


class NotHeldError(Exception):
    """The device began a call before the host had queued the whole of it."""


def device_ms(device: torch.device, call: Callable[[int], object], latency_ms: float) -> tuple[float, ...]:
    """Return the time of the device in ms for each of several calls, on a CUDA device.

    `call` queues the call of this number, and `latency_ms` is its latency with a wait for the device. Raises
    `NotHeldError` if the device cannot be held until a call is queued: the call waits for the device, or it has more
    launches than the queue of the device, which then blocks the host.
    """
    found: list[float] = []
    holds = iter(dict.fromkeys(min(LONGEST_HOLD_MS, head_start * latency_ms) for head_start in HEAD_STARTS))
    hold_ms = next(holds)
    while len(found) < CALLS:
        taken = _held_ms(device, lambda: call(len(found)), hold_ms)
        if taken is not None:
            found.append(taken)
        elif (longer := next(holds, None)) is not None:
            hold_ms = longer
        else:
            raise NotHeldError(
                f"the device began a call before the whole of it was queued, although it was held for {hold_ms:.3g} ms:"
                " the call waits for the device, or it has more launches than the queue holds"
            )
    return tuple(found)


def _held_ms(device: torch.device, call: Callable[[], object], hold_ms: float) -> float | None:
    """Return the time of the device for a call, or None if the device began too early."""
    cycles = round(hold_ms * _cycles_per_ms(device))
    start, end = _event(device), _event(device)
    _spin(cycles)
    start.record()
    call()
    end.record()
    was_held = not start.query()  # before anything waits
    end.synchronize()
    return round(start.elapsed_time(end), 6) if was_held else None


def _cycles_per_ms(device: torch.device) -> float:
    """Return the present clock of the device: a spin counts cycles, and their time changes with the load."""
    start, end = _event(device), _event(device)
    start.record()
    _spin(PROBE_CYCLES)
    end.record()
    end.synchronize()
    return PROBE_CYCLES / max(start.elapsed_time(end), 1e-3)


def _event(device: torch.device) -> torch.Event:
    return torch.Event(device, enable_timing=True)


def _spin(cycles: int) -> None:
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]  # noqa: SLF001 - no public one
