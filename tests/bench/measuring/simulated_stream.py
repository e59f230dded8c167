"""A simulated CUDA stream with a virtual clock: a host that launches, a queue of limited depth, and a device in order.

`install` puts it behind `torch.Event` and `torch.cuda._sleep`, so the code under test runs as it does on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

EVENT_MS = 0.0005
"""What the device needs to note the time of an event, and the resolution of that time."""


class SimulatedStream:
    """Times in ms. The device starts an operation when it is queued and all before it are done; a launch into a full
    queue blocks the host until one has left it."""

    def __init__(self, *, launch_ms: float = 0.005, depth: int = 1024, clock_mhz: float = 1500.0) -> None:
        self.host_ms = 0.0
        self.launch_ms, self.depth, self.clock_mhz = launch_ms, depth, clock_mhz
        self.ends_ms: list[float] = []  # of all operations, in order
        self.spins_ms: list[float] = []

    def launch(self, duration_ms: float) -> float:
        """Queue an operation; return when the device will have done it."""
        self.host_ms += self.launch_ms
        if len(self.ends_ms) >= self.depth:
            self.host_ms = max(self.host_ms, self.ends_ms[-self.depth])
        free_ms = self.ends_ms[-1] if self.ends_ms else 0.0
        self.ends_ms.append(max(self.host_ms, free_ms) + duration_ms)
        return self.ends_ms[-1]

    def spin(self, cycles: int) -> None:
        """Take the place of `torch.cuda._sleep`."""
        assert isinstance(cycles, int)
        self.spins_ms.append(cycles / (self.clock_mhz * 1e3))
        self.launch(self.spins_ms[-1])

    def wait(self) -> None:
        """Block the host until the device is done: it synchronises, reads a scalar, or copies to the CPU."""
        self.host_ms = max([self.host_ms, *self.ends_ms[-1:]])

    def latency_ms(self, call: Callable[[int], object]) -> float:
        """Return the latency of a call with the wait for the device."""
        self.wait()
        start = self.host_ms
        call(0)
        self.wait()
        return self.host_ms - start

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = self

        class Event:
            """An event of this stream, with the answers and errors of `torch.Event` on a CUDA device."""

            def __init__(self, device: Any = None, *, enable_timing: bool = False) -> None:
                assert torch.device(device).type == "cuda"
                self.is_timed = enable_timing
                self.done_ms: float | None = None

            def record(self) -> None:
                self.done_ms = stream.launch(EVENT_MS)

            def query(self) -> bool:
                return self.done_ms is None or self.done_ms <= stream.host_ms

            def synchronize(self) -> None:
                if self.done_ms is not None:
                    stream.host_ms = max(stream.host_ms, self.done_ms)

            def elapsed_time(self, end: Event) -> float:
                if not (self.is_timed and end.is_timed):
                    raise ValueError("Both events must be created with argument 'enable_timing=True'.")
                if self.done_ms is None or end.done_ms is None:
                    raise ValueError("Both events must be recorded before calculating elapsed time.")
                if not (self.query() and end.query()):
                    raise RuntimeError("device not ready")
                return round((end.done_ms - self.done_ms) / EVENT_MS) * EVENT_MS

        monkeypatch.setattr(torch, "Event", Event)
        monkeypatch.setattr(torch.cuda, "_sleep", self.spin)


WAIT = -1.0
"""A step of a model that waits for the device."""


def model(stream: SimulatedStream, steps_ms: Sequence[float], host_ms: float = 0.0) -> Callable[[int], None]:
    """Return a call that launches kernels of these durations, with time of Python before each."""

    def call(_number: int) -> None:
        for step_ms in steps_ms:
            stream.host_ms += host_ms
            if step_ms == WAIT:
                stream.wait()
            else:
                stream.launch(step_ms)

    return call
