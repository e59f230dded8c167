"""Read an accelerator's sensors: clock, temperature, throttle reasons, and processes that use it.

`Sensors` takes a device and answers single questions; `DeviceWatch` reads it between rounds and returns a `Telemetry`.
NVIDIA devices are read through NVML, AMD devices through `torch.cuda` and Intel devices through `torch.xpu`, which
report clock and temperature; Apple devices provide nothing. What cannot be read is listed as unreadable. Imports torch.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import torch

from bench.errors import attempt
from bench.machine import sees_all_processes
from bench.measuring.interference import SLOWDOWNS, throttle_reasons
from bench.records.record import Telemetry

try:
    import pynvml
except ImportError:
    pynvml = None

SENSORS = ("clock", "temperature", "slowdown", "processes")
"""What an accelerator is asked."""

READ_EVERY_S = 0.1
"""Time between readings, outside of timed calls. One takes well below a millisecond, so that they cost less than 1%.
While the device is throttled, the throttle reasons are read after every round."""

Clock = Callable[[], float]
Answers = Mapping[str, Callable[[], Any]]


class Sensors:
    """The sensors of one accelerator. A question that it cannot answer returns None and is added to `unreadable`."""

    def __init__(self, device: torch.device) -> None:
        self.unreadable: set[str] = set()
        self.hidden: set[str] = set()  # answered for this container only
        self._device = device
        self._answers = _answers(device)
        for question in SENSORS:
            self.read(question)

    def read(self, question: str) -> Any | None:
        """Return the answer to one of `SENSORS` or "driver", or None.

        Clock in MHz, temperature in °C; sets of throttle reasons and process ids; the driver's version.
        """
        if question not in self.unreadable:
            with suppress(Exception):  # the library may raise anything
                return self._answers[question]()
            self.unreadable.add(question)
        return None

    def other_processes(self) -> tuple[int, ...]:
        """Return the ids of processes that compute on the device and do not belong to this run.

        The result is empty if the processes are unknown. A container may hide processes outside of it, which telemetry
        lists as unreadable; if it hides this process too, nothing is known.
        """
        torch.empty(1, device=self._device)  # makes this process visible to the driver
        pids = self.read("processes") or set()
        if os.getpid() not in pids:
            self.unreadable.add("processes")
            return ()
        if not sees_all_processes():
            self.hidden.add("processes")
        return tuple(sorted(pid for pid in pids if not _is_ours(pid)))


def _is_ours(pid: int) -> bool:
    """Return whether the process is this one or was started by it."""
    with suppress(OSError):
        return os.getpgid(pid) == os.getpgrp()
    return True  # it has ended


def _answers(device: torch.device) -> Answers:
    # Of AMD devices, slowdowns are left out, because AMD SMI waits 100 ms for each answer: the device would cool down.
    library = torch.xpu if device.type == "xpu" else torch.cuda if device.type == "cuda" and torch.version.hip else None
    if library is not None:
        return {"clock": lambda: _known(library.clock_rate), "temperature": lambda: _known(library.temperature)}
    if device.type != "cuda":
        return {}
    with suppress(Exception):  # no pynvml, no driver, or no such device
        pynvml.nvmlInit()
        return _nvml(str(torch.cuda.get_device_properties(device).uuid))
    return {}


def _known(question: Callable[[], float]) -> int:
    """Return the answer of torch, rounded. Raises `ValueError` for 0 and -1, which stand for an unknown value."""
    answer = round(question())
    if answer <= 0:
        raise ValueError(answer)
    return answer


def _nvml(uuid: str) -> Answers:
    """Return what NVML answers about the device with this UUID, a GPU or an instance of one in MIG mode.

    The instances of a GPU share its clock and its heat. Which processes use an instance is not told.
    """
    instance = attempt(lambda: pynvml.nvmlDeviceGetHandleByUUID(f"MIG-{uuid}"))
    if instance is not None:
        gpu = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance)
    else:
        gpu = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
    is_shared = instance is not None or bool((attempt(lambda: pynvml.nvmlDeviceGetMigMode(gpu)) or [0])[0])
    answers: dict[str, Callable[[], Any]] = {
        "clock": lambda: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
        "temperature": lambda: pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
        "slowdown": lambda: throttle_reasons(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)),
        "driver": lambda: str(pynvml.nvmlSystemGetDriverVersion()),
    }
    if not is_shared:
        answers["processes"] = lambda: {each.pid for each in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)}
    return answers


class DeviceWatch:
    """Reads the sensors between rounds, at most every `READ_EVERY_S`, and keeps the readings."""

    def __init__(self, sensors: Sensors, clock: Clock = time.monotonic) -> None:
        self._sensors = sensors
        self._clock = clock
        self._next = -float("inf")
        self._readings: dict[str, list[Any]] = {"clock": [], "temperature": []}
        self._reasons: Counter[str] = Counter()
        self._reason_readings = 0
        self._throttled = False

    def is_disturbed(self) -> bool:
        """Return whether the device is throttled: see `bench.measuring.interference.Watch`."""
        is_due = self._clock() >= self._next
        if is_due or self._throttled:
            answer = self._sensors.read("slowdown")
            reasons = answer or frozenset()
            self._reason_readings += answer is not None
            self._throttled = not reasons.isdisjoint(SLOWDOWNS)
            self._reasons.update(reasons)
        if is_due:
            self._next = self._clock() + READ_EVERY_S
            for question, readings in self._readings.items():
                value = self._sensors.read(question)
                if value is not None:
                    readings.append(value)
        return self._throttled

    def telemetry(self) -> Telemetry:
        """Return all readings, the number of readings with each reason, and that of all readings of reasons."""
        return Telemetry(
            clock_mhz=tuple(self._readings["clock"]),
            temperature_c=tuple(self._readings["temperature"]),
            throttle_reasons=dict(sorted(self._reasons.items())),
            throttle_readings=self._reason_readings or None,
            unreadable=tuple(each for each in SENSORS if each in self._sensors.unreadable | self._sensors.hidden),
        )
