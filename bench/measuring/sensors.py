"""What an accelerator says of itself: clock, temperature, power, energy, why it slows down, and who else uses it.

Enter a device; leave readings between rounds, as a `Telemetry`. NVIDIA is asked through NVML, AMD through what
`torch.cuda` passes on; Intel and Apple tell torch nothing. What can't be read is named, never guessed. Imports torch:
workers only.

    python -m bench run --device cuda --model ViT
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from bench.measuring.throttling import SLOWDOWNS, named
from bench.records.record import Telemetry

try:
    import pynvml
except ImportError:
    pynvml = None

READ_EVERY_S = 0.1
"""Between two readings: one takes well below a millisecond, so that all together cost less than 1%, and none falls
into a timed call. While the device is slowed down, that alone is asked after every round."""

ENERGY_S = 1.0
"""Least time between two ticks of the energy counter, which ticks every 20 to 100 ms: an error of a tenth at most."""

ENERGY_PATIENCE_S = 5.0
"""Without a tick for so long, the counter stands still."""

QUESTIONS = ("clock", "temperature", "power", "slowdown", "energy", "processes")

Clock = Callable[[], float]
Answers = Mapping[str, Callable[[], Any]]


class Sensors:
    """One accelerator, open to `QUESTIONS`. What it can't answer is None, and listed in `unreadable`."""

    def __init__(self, device: torch.device) -> None:
        self.unreadable: set[str] = set()
        self.hidden: set[str] = set()  # answered, but not for the whole machine
        self._device = device
        self._answers = _answers(device)
        for question in QUESTIONS:
            self.read(question)

    def read(self, question: str) -> Any | None:
        """MHz, °C, W, a set of reasons, J since some moment, a set of process ids, the driver's version; or None."""
        if question not in self.unreadable:
            with suppress(Exception):  # whatever the library raises, the device has not said it
                return self._answers[question]()
            self.unreadable.add(question)
        return None

    def other_processes(self) -> tuple[int, ...]:
        """Processes that compute on the device and are none of ours.

        None are found where nobody tells. A container may hide other processes: where this one is hidden as well
        nothing is known, and else only of those within, which `unreadable` says.
        """
        torch.empty(1, device=self._device)  # from here on, this process is one of them
        pids = self.read("processes") or set()
        if os.getpid() not in pids:
            self.unreadable.add("processes")
            return ()
        if not _sees_all_processes():
            self.hidden.add("processes")
        return tuple(sorted(pid for pid in pids if not _is_ours(pid)))


def _sees_all_processes() -> bool:
    """Whether this process is in the namespace of the machine itself, whose number Linux has fixed."""
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink()) == "pid:[4026531836]"
    return False


def _is_ours(pid: int) -> bool:
    """This process, the one that started it, and what either of them started to compile."""
    with suppress(OSError):
        return pid in (os.getpid(), os.getppid()) or os.getpgid(pid) == os.getpgrp()
    return True  # it has ended since


def _answers(device: torch.device) -> Answers:
    if device.type != "cuda":
        return {}
    if torch.version.hip:
        # Not its power: in which unit torch passes that on, its documentation and its code disagree.
        return {"clock": torch.cuda.clock_rate, "temperature": torch.cuda.temperature}
    with suppress(Exception):  # no pynvml, no driver, or no such device, as in a partition of one
        pynvml.nvmlInit()
        uuid = torch.cuda.get_device_properties(device).uuid
        return _nvml(pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}"))
    return {}


def _nvml(handle: Any) -> Answers:
    return {
        "clock": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        "temperature": lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        "power": lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
        "slowdown": lambda: named(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
        "energy": lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3,
        "driver": lambda: str(pynvml.nvmlSystemGetDriverVersion()),
        "processes": lambda: {each.pid for each in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)},
    }


class DeviceWatch:
    """Looks at the sensors between rounds, seldom, and keeps what they said."""

    def __init__(self, sensors: Sensors, clock: Clock = time.monotonic) -> None:
        self._sensors = sensors
        self._clock = clock
        self._next = -float("inf")
        self._readings: dict[str, list[Any]] = {"clock": [], "temperature": [], "power": []}
        self._reasons: Counter[str] = Counter()
        self._throttled = False
        self._throttled_rounds = 0

    def is_disturbed(self) -> bool:
        """Whether the device has been found slowed down after this round; call it once a round."""
        is_due = self._clock() >= self._next
        if is_due or self._throttled:
            reasons = self._sensors.read("slowdown") or frozenset()
            self._throttled = not reasons.isdisjoint(SLOWDOWNS)
            self._reasons.update(reasons)
        if is_due:
            self._next = self._clock() + READ_EVERY_S
            for question, readings in self._readings.items():
                value = self._sensors.read(question)
                if value is not None:
                    readings.append(value)
        self._throttled_rounds += self._throttled
        return self._throttled

    def telemetry(self, kept: int) -> Telemetry:
        """All of it; `kept` of the throttled rounds were not repeated."""
        return Telemetry(
            clock_mhz=tuple(self._readings["clock"]),
            temperature_c=tuple(self._readings["temperature"]),
            power_w=tuple(self._readings["power"]),
            throttle_reasons=dict(sorted(self._reasons.items())),
            repeated_rounds=self._throttled_rounds - kept,
            throttled_rounds=kept,
            unreadable=tuple(each for each in QUESTIONS if each in self._sensors.unreadable | self._sensors.hidden),
        )


def energy_j(sensors: Sensors, block: Callable[[], int], clock: Clock = time.monotonic) -> float | None:
    """Joules of the device for one call; `block` makes some and says how many. None where no counter counts.

    Counted from one tick of the device's counter to another, so that neither end is a guess.
    """
    before = sensors.read("energy")
    if before is None:
        return None
    first, start, calls, ticked = 0.0, None, 0, clock()
    while clock() - ticked < ENERGY_PATIENCE_S:
        calls += block()
        now = sensors.read("energy")
        if now is None:
            return None
        if now == before:
            continue
        before, ticked = now, clock()
        if start is None:
            first, start, calls = now, ticked, 0
        elif ticked - start >= ENERGY_S:
            return float(now - first) / calls
    return None
