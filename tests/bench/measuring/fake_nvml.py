"""A fake of NVML, with readings that a test can change and questions that its driver refuses."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class Nvml:
    """Takes the place of `pynvml`. Of its two GPUs, the second has the UUID that torch tells in tests."""

    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0

    def __init__(self) -> None:
        self.reasons = 0
        self.pids = {os.getpid()}
        self.limits_mw = (300_000, 300_000)
        self.refused: set[str] = set()
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers: dict[str, Callable[..., Any]] = {
            "nvmlInit": lambda: None,
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": {0: "NVIDIA T1000", 1: "NVIDIA L4"}.__getitem__,
            "nvmlDeviceGetHandleByUUID": {"GPU-0-1": "NVIDIA L4"}.__getitem__,
            "nvmlDeviceGetName": lambda gpu: gpu,
            "nvmlDeviceGetClockInfo": lambda *_: 1980,
            "nvmlDeviceGetTemperature": lambda *_: 41,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: self.reasons,
            "nvmlDeviceGetComputeRunningProcesses": lambda _: [SimpleNamespace(pid=pid) for pid in self.pids],
            "nvmlDeviceGetPowerManagementLimit": lambda _: self.limits_mw[0],
            "nvmlDeviceGetPowerManagementDefaultLimit": lambda _: self.limits_mw[1],
            "nvmlSystemGetDriverVersion": lambda: "580.1",
        }

        def answer(*arguments: Any) -> Any:
            self.asked.append(name)
            if name in self.refused:
                raise RuntimeError("Not Supported")
            return answers[name](*arguments)

        return answer
