"""Find what would distort a measurement on this machine, with remedies. Imports no torch.

`look` reads the machine once, through psutil and NVML, and returns a `MachineState`. `examine` takes it and returns
`Complaint`s; it is pure, so that tests need no such machine. What cannot be read is no complaint.

    python -m bench doctor
"""

from __future__ import annotations

import math
import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil

from bench.errors import Complaint, attempt
from bench.machine import compiler, cores, quota_cores
from bench.measuring import interference

BUSY_SHARE = 0.1  # of the cores, used by others: shared caches and clocks affect latency before cores run out
STOLEN_SHARE = 0.02  # of the CPU time, given to others by the host of a virtual machine
HOST_CORES = 2  # free ones that suffice for an accelerator: for the thread that launches kernels, and the driver
LOOK_S = 1.0  # the load average covers minutes, and includes programs that have ended

TOOLS = {
    "a C++ compiler": "apt install g++, or xcode-select --install, or Build Tools for Visual Studio",
    "Python.h": "apt install python3-dev, or the package with this Python's headers on your system",
    "Triton": "install the build of torch for this GPU, which includes it: https://pytorch.org/get-started/locally/",
}
"""Needs of torch.compile, and how to get them."""


def _missing(tool: str) -> Complaint:
    return Complaint("compiler", f"torch.compile needs {tool}, and finds none", TOOLS[tool], distorts=False)


NO_COMPILER = _missing("a C++ compiler")


@dataclass(frozen=True)
class Gpu:
    """An NVIDIA GPU as NVML describes it."""

    name: str
    id: str = "0"  # index or UUID
    processes: int = 0  # of others that compute on it
    slowdowns: frozenset[str] = frozenset()  # current ones, by heat or a fault
    power_limits_w: tuple[float, float] | None = None  # current and usual one


@dataclass(frozen=True)
class MachineState:
    """The state of this machine. The cores are those that this process may use."""

    cores: int
    quota_cores: float = math.inf  # that a container may use at a time
    busy_cores: float = 0.0  # used by others on average during the look
    stolen_share: float = 0.0
    governors: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()  # of `TOOLS`
    is_accelerated: bool = False  # the CPU only launches kernels
    gpu: Gpu | None = None


def examine(machine: MachineState) -> list[Complaint]:
    """Return everything that would distort a measurement, the processor first."""
    return [*_processor(machine), *map(_missing, machine.missing), *_gpu(machine.gpu)]


def _processor(machine: MachineState) -> Iterator[Complaint]:
    free_cores = min(machine.quota_cores, machine.cores - machine.busy_cores)
    is_short = not machine.is_accelerated or free_cores < HOST_CORES
    if is_short and machine.busy_cores > BUSY_SHARE * machine.cores:
        what = f"other programs use {machine.busy_cores:.1f} of {machine.cores} cores"
        yield Complaint("load", what, "stop them, or measure when they have finished: `top` lists them")
    if is_short and machine.quota_cores < machine.cores:
        what = f"this container may use {machine.quota_cores:.1f} of the {machine.cores} cores that it sees"
        remedy = "assign it whole cores (docker run --cpuset-cpus), so that torch starts no more threads than can run"
        yield Complaint("quota", what, remedy)
    if is_short and machine.stolen_share > STOLEN_SHARE:
        what = f"the host of this virtual machine gave {machine.stolen_share:.0%} of its CPU time to other machines"
        yield Complaint("steal", what, "use a machine with dedicated cores")
    if slow := machine.governors - {"performance"}:
        what = f"the CPU frequency governor is {', '.join(sorted(slow))}"
        yield Complaint("governor", what, "sudo cpupower frequency-set --governor performance")


def _gpu(gpu: Gpu | None) -> Iterator[Complaint]:
    if gpu and gpu.processes:
        what = f"other processes are computing on {gpu.name}: {gpu.processes}"
        yield Complaint("gpu-processes", what, "stop them: nvidia-smi lists them")
    if gpu and gpu.slowdowns:
        what = f"{gpu.name} is slowed down: {', '.join(sorted(gpu.slowdowns))}"
        yield Complaint("gpu-slowdown", what, "let it cool down, and check its fans and power supply")
    if gpu and gpu.power_limits_w and gpu.power_limits_w[0] < gpu.power_limits_w[1]:
        what = "{} is limited to {:.0f} W instead of the usual {:.0f} W".format(gpu.name, *gpu.power_limits_w)
        command = f"sudo nvidia-smi -i {gpu.id} --power-limit={gpu.power_limits_w[1]:.0f}"
        yield Complaint("gpu-power", what, f"{command}, unless you want to measure with this limit")


def look(device: str | None = None, seconds: float = LOOK_S) -> MachineState:
    """Read the state of this machine, watching its load for `seconds`.

    `device` is the type of the measured device; without it, an NVIDIA GPU if there is one.
    """
    gpu = None if device == "cpu" else attempt(_nvidia)
    before, stolen_s = interference.look(), _stolen_s()
    time.sleep(seconds)
    passed, busy_s, own_s = (now - then for now, then in zip(interference.look(), before, strict=True))
    governors = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return MachineState(
        cores=cores() or 1,
        quota_cores=quota_cores(),
        busy_cores=(busy_s - own_s) / passed,
        stolen_share=(_stolen_s() - stolen_s) / (passed * (psutil.cpu_count() or 1)),
        governors=frozenset(name.strip() for path in governors if (name := attempt(path.read_text))),
        missing=tuple(_missing_tools(uses_triton=gpu is not None or device in ("cuda", "xpu"))),
        is_accelerated=gpu is not None if device is None else device != "cpu",
        gpu=gpu,
    )


def _stolen_s() -> float:
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def _missing_tools(*, uses_triton: bool) -> Iterator[str]:
    if compiler() is None:
        yield "a C++ compiler"
    if sys.platform == "linux" and not Path(sysconfig.get_path("include"), "Python.h").exists():
        yield "Python.h"
    if uses_triton and find_spec("torch") and not find_spec("triton"):
        yield "Triton"


def _nvidia() -> Gpu:
    """Return the first NVIDIA GPU that this process may use. Raises an error of NVML, or for a missing one.

    Of unequal GPUs, CUDA may take another one than NVML's first; a UUID in CUDA_VISIBLE_DEVICES is never mistaken.
    """
    import pynvml as nvml  # noqa: PLC0415 - optional

    nvml.nvmlInit()
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    if first.startswith("GPU-"):
        gpu = nvml.nvmlDeviceGetHandleByUUID(first)
    else:
        gpu = nvml.nvmlDeviceGetHandleByIndex(int(first))
    bits = attempt(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)) or 0
    processes = attempt(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(gpu)) or []
    limits = nvml.nvmlDeviceGetPowerManagementLimit, nvml.nvmlDeviceGetPowerManagementDefaultLimit
    return Gpu(
        name=str(nvml.nvmlDeviceGetName(gpu)),
        id=first,
        processes=sum(each.pid != os.getpid() for each in processes),
        slowdowns=interference.throttle_reasons(bits) & interference.SLOWDOWNS.keys(),
        power_limits_w=attempt(lambda: (limits[0](gpu) / 1e3, limits[1](gpu) / 1e3)),
    )
