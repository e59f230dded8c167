"""Read an accelerator's sensors: clock, temperature, throttle reasons, and processes that use it. Imports torch.

`Sensors` takes a device and answers single questions; `bench.measuring.interference.RoundWatch` reads them between
rounds. NVIDIA devices are read through NVML. AMD devices tell clock and temperature through `torch.cuda`, and others
nothing. What cannot be read is listed as unreadable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import torch

from bench.errors import attempt
from bench.measuring.interference import throttle_reasons


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
