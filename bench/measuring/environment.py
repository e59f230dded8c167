"""Describe the machine and software of a measurement, and read page faults, load and peak memory. Imports torch.

`describe` takes a device and returns an `Environment` without host name, user name, path or serial number. What the
machine does not report (no driver, no /proc) is None.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import resource
from pathlib import Path
from typing import Any, Self

import torch

from bench import machine
from bench.errors import AtlasError
from bench.machine import commit
from bench.measuring.sensors import Sensors
from bench.records.record import DEVICES, Environment, as_name
from bench.records.scrub import one_line


def choose_device(wanted: str | None) -> torch.device:
    """Return the wanted device, or the best one present. Raises `AtlasError` if the wanted one is missing."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    present = [accelerator.type, "cpu"] if accelerator else ["cpu"]
    if wanted is None:
        return torch.device(next((device for device in DEVICES if device in present), "cpu"))
    if wanted not in present:
        raise AtlasError(
            f"torch {torch.__version__} finds no {wanted} device on this machine",
            where="--device",
            remedy=f"present: {', '.join(present)}; for any other, install the build of torch that supports it",
        )
    return torch.device(wanted)


def describe(device: torch.device) -> Environment:
    """Return the environment of a measurement on `device` in this process."""
    return Environment(
        device_name=as_name(_device_name(device)),
        torch=str(torch.__version__),
        transformers=machine.version("transformers"),
        python=platform.python_version(),
        platform=machine.system(),
        memory_gb=_memory_gb(device),
        cores=machine.cores(),
        threads=torch.get_num_threads(),
        multiprocessors=_multiprocessors(device),
        accelerator=_accelerator(device),
        driver=Sensors(device).read("driver"),
        commit=commit(),
        settings=_settings(device),
    )


def _device_name(device: torch.device) -> str:
    if device.type == "cpu":
        return machine.cpu_name()
    if device.type in ("cuda", "xpu"):
        return str(getattr(torch, device.type).get_device_name(device))
    return f"{machine.cpu_name()} ({device.type})"


def _memory_gb(device: torch.device) -> float | None:
    if device.type in ("cuda", "xpu"):
        return round(int(_properties(device).total_memory) / 1e9, 1)  # `mem_get_info` raises on Arc GPUs
    return machine.memory_gb()


def _multiprocessors(device: torch.device) -> int | None:
    """Return what Inductor counts to tell whether a GPU is large enough for kernels that it would have to try."""
    if device.type not in ("cuda", "xpu"):
        return None
    properties = _properties(device)
    return int(properties.multi_processor_count if device.type == "cuda" else properties.gpu_subslice_count)


def _properties(device: torch.device) -> Any:
    return getattr(torch, device.type).get_device_properties(device)


def _accelerator(device: torch.device) -> str | None:
    if device.type == "cuda":
        return f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
    return {"xpu": f"XPU {torch.version.xpu}", "mps": f"MPS, macOS {platform.mac_ver()[0]}"}.get(device.type)


_RECORDED = re.compile(
    "(?:MALLOC_|GLIBC_TUNABLES|LD_PRELOAD|OMP_|KMP_|MKL_|GOMP_|PYTORCH_|TORCH|TRITON_|MIOPEN_|CUDA_|CUBLAS|CUDNN_"
    "|NVIDIA_TF32_OVERRIDE)[A-Z0-9_]*"
)
"""Environment variables that affect latency."""

_LEFT_OUT = re.compile(
    ".*(?:_DIRS?|_HOME|_PATH|_ROOT|_FILE|_VISIBLE_DEVICES|_TRACE|TOKEN|SECRET|PASSWORD|_KEY)|TORCHELASTIC_.*|TORCH_LOGS_OUT"
)
"""Those among them that name folders, devices or a job, or hold a secret: private, and no settings."""


def _is_setting(name: str) -> bool:
    return bool(_RECORDED.fullmatch(name)) and not _LEFT_OUT.fullmatch(name)


def _settings(device: torch.device) -> dict[str, str]:
    settings = {
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "interop_threads": str(torch.get_num_interop_threads()),
        **{name: one_line(value) for name, value in sorted(os.environ.items()) if _is_setting(name)},
    }
    huge_pages = "".join(machine.lines(Path("/sys/kernel/mm/transparent_hugepage/enabled")))
    if "[" in huge_pages:
        settings["transparent_hugepage"] = huge_pages.partition("[")[2].partition("]")[0]
    if device.type == "cpu":
        settings["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
        settings["libc"] = " ".join(platform.libc_ver()).strip() or "unknown"
    if device.type == "cuda":
        settings["cuda_matmul_allow_tf32"] = str(torch.backends.cuda.matmul.allow_tf32)
        settings["cudnn_allow_tf32"] = str(torch.backends.cudnn.allow_tf32)
        settings["cudnn_benchmark"] = str(torch.backends.cudnn.benchmark)
        settings["cudnn"] = str(torch.backends.cudnn.version())  # type: ignore[no-untyped-call]
    return settings


# ── While measuring ─────────────────────────────────────────────────────────────────────────────────────────────────


def minor_faults() -> int:
    """Return the number of page faults of this process, in all threads, that needed no disk access."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def load_average() -> float | None:
    """Return the load average of the last minute, or None where the system has none."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


class PeakMemory:
    """Context that measures peak memory in GB: `allocated_gb` (resident memory on a CPU) and `reserved_gb`."""

    allocated_gb: float | None = None
    reserved_gb: float | None = None

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def __enter__(self) -> Self:
        if self.device.type == "cpu":
            self._resettable = _reset_peak_resident()
        elif self.device.type in ("cuda", "xpu"):
            torch.accelerator.empty_cache()
            torch.accelerator.reset_peak_memory_stats(self.device)
        return self

    def __exit__(self, *_: object) -> None:
        if self.device.type == "cpu" and self._resettable:
            self.allocated_gb = _peak_resident_gb()
        elif self.device.type in ("cuda", "xpu"):
            self.allocated_gb = torch.accelerator.max_memory_allocated(self.device) / 1e9
            self.reserved_gb = torch.accelerator.max_memory_reserved(self.device) / 1e9


def _reset_peak_resident() -> bool:
    """Return freed memory to the kernel and reset VmHWM. Returns False where the system does not support this."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError):
        return False
    return True


def _peak_resident_gb() -> float | None:
    peaks = [line.split() for line in machine.lines(Path("/proc/self/status")) if line.startswith("VmHWM")]
    return int(peaks[0][1]) * 1024 / 1e9 if peaks else None
