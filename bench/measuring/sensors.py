"""Read an accelerator's sensors: clock, temperature, throttle reasons, and processes that use it. Imports torch.

`Sensors` takes a device and answers single questions; `DeviceWatch` reads it between rounds and returns a `Telemetry`.
NVIDIA devices are read through NVML. AMD devices tell clock and temperature through `torch.cuda`, and others nothing.
What cannot be read is listed as unreadable.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import torch

from bench.errors import attempt
from bench.measuring.interference import SLOWDOWNS, throttle_reasons
from bench.records.record import Telemetry

READ_EVERY_S = 0.1
"""Time between readings, outside of timed calls. One takes well below a millisecond, so that they cost less than 1%.
While the device is throttled, it is read after every round."""


class Sensors:
    """The sensors of one accelerator. A question that it cannot answer is added to `unreadable`."""

    def __init__(self, device: torch.device) -> None:
        self.unreadable: set[str] = set()
        self._device = device
        self._answers = attempt(lambda: _answers(device)) or {}  # no pynvml, no driver, or no such device

    def read(self, question: str) -> Any | None:
        """Return the answer to a question, or None.

        "clock" in MHz, "temperature" in °C; sets of throttle reasons for "slowdown" and of process ids for "processes";
        "driver": its version.
        """
        if question not in self.unreadable:
            with suppress(Exception):  # the library may raise anything
                return self._answers[question]()
            self.unreadable.add(question)
        return None

    def other_processes(self) -> tuple[int, ...]:
        """Return the ids of processes that compute on the device and do not belong to this run.

        The result is empty if the processes are unknown, as where a container hides even this one.
        """
        torch.empty(1, device=self._device)  # makes this process visible to the driver
        pids = self.read("processes") or set()
        if os.getpid() not in pids:
            self.unreadable.add("processes")
            return ()
        ended, ours = None, os.getpgrp()
        return tuple(sorted(pid for pid in pids if attempt(partial(os.getpgid, pid)) not in (ended, ours)))


def _answers(device: torch.device) -> Mapping[str, Callable[[], Any]]:
    if device.type != "cuda":
        return {}
    if torch.version.hip:
        return {"clock": torch.cuda.clock_rate, "temperature": torch.cuda.temperature}
    import pynvml  # noqa: PLC0415 - optional

    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
    return {
        "clock": lambda: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
        "temperature": lambda: pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
        "slowdown": lambda: throttle_reasons(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)),
        "processes": lambda: {each.pid for each in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)},
        "driver": lambda: str(pynvml.nvmlSystemGetDriverVersion()),
    }


class DeviceWatch:
    """Reads the sensors between rounds, at most every `READ_EVERY_S`, and keeps the readings."""

    def __init__(self, sensors: Sensors, clock: Callable[[], float] = time.monotonic) -> None:
        self._sensors = sensors
        self._clock = clock
        self._next = -float("inf")
        self._readings: dict[str, list[int]] = {"clock": [], "temperature": []}
        self._reasons: Counter[str] = Counter()
        self._throttled = False

    def is_throttled(self) -> bool:
        """Return whether heat or a fault slows the device down, as last read."""
        if self._throttled or self._clock() >= self._next:
            self._next = self._clock() + READ_EVERY_S
            for question, readings in self._readings.items():
                if (value := self._sensors.read(question)) is not None:
                    readings.append(value)
            reasons = self._sensors.read("slowdown") or frozenset()
            self._reasons.update(reasons)
            self._throttled = not reasons.isdisjoint(SLOWDOWNS)
        return self._throttled

    def telemetry(self) -> Telemetry:
        """Return all readings, and the number of readings with each throttle reason."""
        return Telemetry(
            clock_mhz=tuple(self._readings["clock"]),
            temperature_c=tuple(self._readings["temperature"]),
            throttle_reasons=dict(sorted(self._reasons.items())),
            unreadable=tuple(sorted(self._sensors.unreadable)),
        )
