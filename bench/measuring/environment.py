"""Describe the machine and software of a measurement, and read peak memory. Imports torch.

`describe` takes a device and returns an `Environment` without host name, user name, path or serial number. What the
machine does not report (no driver, no /proc) is None.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
import torch

from bench import machine
from bench.errors import AtlasError
from bench.measuring.sensors import Sensors
from bench.records.record import DEVICES, Environment, as_name
from bench.records.scrub import one_line


def choose_device(wanted: str | None) -> torch.device:
    """Return the wanted device, or the best one present. Raises `AtlasError` if the wanted one is missing."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    present = [accelerator.type, "cpu"] if accelerator and accelerator.type in DEVICES else ["cpu"]
    if wanted is not None and wanted not in present:
        raise AtlasError(
            f"torch {torch.__version__} finds no {wanted} device on this machine",
            where="--device",
            remedy=f"present: {', '.join(present)}; for any other, install the build of torch that supports it",
        )
    return torch.device(wanted or present[0])


def describe(device: torch.device) -> Environment:
    """Return the environment of a measurement on `device` in this process. The CPU is told on every device, since eager
    on a GPU waits for its host."""
    cpu = as_name(machine.cpu_name())
    known: dict[str, Any] = {"device_name": cpu, "memory_gb": round(psutil.virtual_memory().total / 1e9, 1)}
    if device.type == "mps":
        known |= {"device_name": f"{cpu} (mps)", "accelerator": f"MPS, macOS {platform.mac_ver()[0]}"}
    elif device.type in ("cuda", "xpu"):
        properties = getattr(torch, device.type).get_device_properties(device)
        units = "multi_processor_count" if device.type == "cuda" else "gpu_subslice_count"
        known = {
            "device_name": as_name(getattr(torch, device.type).get_device_name(device)),
            "memory_gb": round(properties.total_memory / 1e9, 1),  # `mem_get_info` raises on Arc GPUs
            "multiprocessors": getattr(properties, units),  # Inductor looks for fewer kernels where there are few
            "accelerator": build(),
        }
    return Environment(
        **known,
        torch=str(torch.__version__),
        transformers=machine.version("transformers"),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        cores=machine.cores(),
        threads=torch.get_num_threads(),
        cpu=cpu,
        instruction_sets=machine.instruction_sets(),
        driver=Sensors(device).read("driver"),
        commit=machine.commit(),
        settings=_settings(device),
    )


def build() -> str | None:
    """Return the platform that this build of torch is for, such as "CUDA 13.0", or None for CPUs alone."""
    builds = {"CUDA": torch.version.cuda, "ROCm": torch.version.hip, "XPU": torch.version.xpu}
    return next((f"{name} {version}" for name, version in builds.items() if version), None)


_RECORDED = re.compile(
    "(?:MALLOC_|GLIBC_TUNABLES|LD_PRELOAD|OMP_|KMP_|MKL_|GOMP_|PYTORCH_|TORCH|TRITON_|MIOPEN_|CUDA_|CUBLAS|CUDNN_"
    "|NVIDIA_TF32_OVERRIDE)[A-Z0-9_]*"
)
"""Environment variables that affect latency."""

_LEFT_OUT = re.compile(
    ".*(?:_DIRS?|_HOME|_PATH|_ROOT|_FILE|_VISIBLE_DEVICES|_TRACE|TOKEN|SECRET|PASSWORD|_KEY)|TORCHELASTIC_.*|TORCH_LOGS_OUT"
    "|.*(?:_VERSION|_BUILD_.*|_(?:ARCH|COMPONENT)_LIST|_NVCC_FLAGS)"
)
"""Those among them that are no settings: they name folders, devices or a job, hold a secret, or say how the image of a
container was built."""


def _settings(device: torch.device) -> dict[str, str]:
    settings = {
        "interop_threads": str(torch.get_num_interop_threads()),
        **{
            name: one_line(os.environ[name])
            for name in sorted(filter(_RECORDED.fullmatch, os.environ))
            if not _LEFT_OUT.fullmatch(name)
        },
    }
    huge_pages = "".join(machine.lines(Path("/sys/kernel/mm/transparent_hugepage/enabled")))
    if "[" in huge_pages:
        settings["transparent_hugepage"] = huge_pages.partition("[")[2].partition("]")[0]
    if device.type == "cpu":
        settings["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
        settings["libc"] = " ".join(platform.libc_ver()).strip() or "unknown"
    if device.type == "cuda":
        settings["cudnn_allow_tf32"] = str(torch.backends.cudnn.allow_tf32)
        settings["cudnn_benchmark"] = str(torch.backends.cudnn.benchmark)
        settings["cudnn"] = str(torch.backends.cudnn.version())  # type: ignore[no-untyped-call]
    return settings


class PeakMemory:
    """Context that measures peak memory in GB: `allocated_gb` (resident memory on a CPU) and `reserved_gb`."""

    allocated_gb: float | None = None
    reserved_gb: float | None = None

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._is_reset = False

    def __enter__(self) -> Self:
        if self.device.type == "cpu":
            with suppress(AttributeError, OSError):  # on Linux: free memory returns to the kernel, and VmHWM falls
                ctypes.CDLL(None).malloc_trim(0)
                Path("/proc/self/clear_refs").write_text("5")
                self._is_reset = True
        elif self.device.type in ("cuda", "xpu"):
            torch.accelerator.empty_cache()
            torch.accelerator.reset_peak_memory_stats(self.device)
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_reset:
            peaks = [line.split()[1] for line in machine.lines(Path("/proc/self/status")) if line.startswith("VmHWM")]
            self.allocated_gb = int(peaks[0]) * 1024 / 1e9 if peaks else None
        elif self.device.type in ("cuda", "xpu"):
            self.allocated_gb = torch.accelerator.max_memory_allocated(self.device) / 1e9
            self.reserved_gb = torch.accelerator.max_memory_reserved(self.device) / 1e9
