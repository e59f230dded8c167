"""Find what would distort a measurement on this machine, with remedies. Imports no torch.

`look` reads the machine once, through psutil and NVML, and returns a `MachineState`. `examine` takes it and returns
`Complaint`s; it is pure, so that tests need no such machine. What cannot be read is not a complaint; `unknowns` lists
it for NVIDIA GPUs.

    python -m bench doctor
"""

from __future__ import annotations

import math
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from bench.errors import Complaint, attempt
from bench.machine import (
    c_compiler,
    compiler,
    cores,
    python_headers,
    quota_cores,
    sees_all_processes,
)
from bench.measuring.interference import SLOWDOWNS, throttle_reasons

BUSY_SHARE = 0.1
"""Share of the cores used by others. Shared caches and clocks affect latency well before cores run out."""

LOOK_S = 1.0
"""Seconds to watch the load. The load average covers minutes and includes programs that have ended."""

STOLEN_SHARE = 0.02
"""Share of CPU time that the host of a virtual machine gave to others."""

HOT_BELOW_C = 5.0
"""Distance to the critical temperature of a sensor."""

SWAPPED_SHARE = 0.05
"""Swap in use, as a share of the memory. Swapped pages are read back in the middle of a call."""

CLOCK_BEHIND_S = 86_400.0
"""Maximum lag of the clock behind the files of this program. A slower one was never set and would misdate records."""

FREE_GB = 5.0
"""Free space for the compile cache. The kernels of a model take tens of megabytes, those of a full run gigabytes."""

FREE_MEMORY_GB = 4.0
"""Free memory that suffices for the largest model of the table on a CPU, eager and compiled."""

DRIVER = Path("/proc/driver/nvidia")
"""Exists if the kernel has loaded NVIDIA's driver."""

UNTOLD = "the driver does not say"

NO_COMPILER = Complaint(
    "compiler",
    "there is no C++ compiler, and torch.compile needs one",
    "apt install g++, or xcode-select --install, or Build Tools for Visual Studio",
    distorts=False,
)

AMD_DRIVER = Path("/dev/kfd")
"""Exists if the kernel has loaded AMD's driver for computing."""

DEBUG_VARIABLES = {"CUDA_LAUNCH_BLOCKING": (None, "", "0"), "PYTORCH_NO_CUDA_MEMORY_CACHING": (None,)}
"""Environment variables for debugging, and their values that change nothing. With the first one, the CPU waits for each
kernel; with the second one, whatever its value, torch asks the driver for each piece of memory."""

SLOW_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smbfs", "fuse.sshfs", "9p", "lustre", "beegfs"})
"""Network file systems, too slow for the thousands of small files of a compile cache."""


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU, or instance of one in MIG mode, as NVML describes it. Unknown values are None."""

    name: str
    processes: int | None = None  # number that compute on it
    hidden: str = ""  # why there may be other processes than these
    slowdowns: frozenset[str] | None = None  # current ones, by heat or a fault
    index: int = 0  # of the whole GPU, as nvidia-smi numbers them
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    persistent: bool | None = None  # the driver stays loaded while the device is idle


@dataclass(frozen=True)
class MachineState:
    """The state of this machine. Unknown values are None."""

    cores: int
    quota_cores: float = math.inf  # that a container may use
    busy_cores: float | None = None  # used by others on average during the look
    stolen_share: float | None = None
    governors: frozenset[str] = frozenset()
    hottest: tuple[float, float] | None = None  # temperature and critical one, in °C, of the sensor nearest to it
    on_battery: bool | None = None
    swapped_share: float | None = None
    free_memory_gb: float | None = None
    compiler: str | None = None  # for C++
    c_compiler: str | None = None
    has_python_headers: bool = True
    uses_triton: bool = False  # it has a GPU that Triton compiles for
    has_triton: bool = True
    cache: str = "the compile cache"
    cache_free_gb: float | None = None
    cache_file_system: str | None = None
    gpus: tuple[Gpu, ...] = ()  # torch uses one of these; several where CUDA's order is unknown
    driver_fault: str | None = None  # error of NVML although there is a device
    thread_variables: tuple[str, ...] = ()  # environment variables that set torch's number of threads
    debug_variables: tuple[str, ...] = ()  # environment variables that slow down a GPU
    clock_behind_s: float = 0.0  # lag of the clock behind the files of this program


# ── Checks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def examine(machine: MachineState) -> list[Complaint]:
    """Return everything that would distort a measurement, the processor first."""
    return [*_processor(machine), *_memory(machine), *_compiling(machine), *_gpus(machine)]


def _processor(machine: MachineState) -> Iterator[Complaint]:
    if machine.busy_cores is not None and machine.busy_cores > BUSY_SHARE * machine.cores:
        yield Complaint(
            "load",
            f"other programs use {machine.busy_cores:.1f} of {machine.cores} cores",
            "stop them, or measure when they have finished: `top` lists them",
        )
    if machine.quota_cores < machine.cores:
        yield Complaint(
            "quota",
            f"this container may use {machine.quota_cores:.1f} of the {machine.cores} cores that it sees",
            "assign it whole cores (docker run --cpuset-cpus), so that torch starts no more threads than can run",
        )
    if machine.stolen_share is not None and machine.stolen_share > STOLEN_SHARE:
        yield Complaint(
            "steal",
            f"the host of this virtual machine gave {machine.stolen_share:.0%} of its CPU time to other machines",
            "use a machine with dedicated cores",
        )
    slow = machine.governors - {"performance"}
    if slow:
        yield Complaint(
            "governor",
            f"the CPU frequency governor is {', '.join(sorted(slow))}",
            "sudo cpupower frequency-set --governor performance",
        )
    if machine.hottest is not None and machine.hottest[0] > machine.hottest[1] - HOT_BELOW_C:
        temperature, critical = machine.hottest
        yield Complaint(
            "temperature",
            f"a sensor reads {temperature:.0f} °C; {critical:.0f} °C is critical",
            "let the machine cool down, and check its fans and vents",
        )
    if machine.on_battery:
        yield Complaint("battery", "the machine is running on battery", "plug it in")
    if machine.clock_behind_s > CLOCK_BEHIND_S:
        yield Complaint(
            "clock",
            f"the clock is {machine.clock_behind_s / 86_400:.0f} days behind the files of this program",
            "set it: sudo timedatectl set-ntp true",
        )
    if machine.thread_variables:
        yield Complaint(
            "threads",
            f"{', '.join(machine.thread_variables)} set how many threads torch uses",
            "unset them, unless you want to measure with them: records note them either way",
        )


def _memory(machine: MachineState) -> Iterator[Complaint]:
    if machine.swapped_share is not None and machine.swapped_share > SWAPPED_SHARE:
        yield Complaint(
            "swap",
            f"the swap in use amounts to {machine.swapped_share:.0%} of the memory",
            "stop what uses the memory, then: sudo swapoff -a && sudo swapon -a",
        )
    if machine.free_memory_gb is not None and machine.free_memory_gb < FREE_MEMORY_GB:
        yield Complaint(
            "memory",
            f"only {machine.free_memory_gb:.1f} GB of memory are free",
            "stop what uses the memory: the largest models take several GB",
        )


def _compiling(machine: MachineState) -> Iterator[Complaint]:
    if machine.compiler is None:
        yield NO_COMPILER
    if machine.uses_triton and machine.c_compiler is None:
        yield Complaint(
            "c-compiler",
            "there is no C compiler, and Triton needs one for a GPU",
            "apt install gcc; if CC is set, it must name a C compiler; otherwise: unset CC",
            distorts=False,
        )
    if not machine.has_python_headers:
        yield Complaint(
            "headers",
            "Python.h is missing, and compiled kernels include it",
            "apt install python3-dev, or the package with this Python's headers on your system",
            distorts=False,
        )
    if machine.uses_triton and not machine.has_triton:
        yield Complaint(
            "triton",
            "Triton is not installed, and torch.compile needs it for a GPU",
            "install the build of torch for this GPU, which includes it: https://pytorch.org/get-started/locally/",
            distorts=False,
        )
    if machine.cache_free_gb is not None and machine.cache_free_gb < FREE_GB:
        yield Complaint(
            "disk",
            f"only {machine.cache_free_gb:.1f} GB are free on the disk of {machine.cache}",
            "free up space there",
        )
    if machine.cache_file_system in SLOW_FILE_SYSTEMS:
        yield Complaint(
            "cache",
            f"{machine.cache} is on a network file system ({machine.cache_file_system})",
            "use a checkout on a local disk; otherwise compile times include the network",
        )


def _gpus(machine: MachineState) -> Iterator[Complaint]:
    if machine.uses_triton and machine.debug_variables:
        names = machine.debug_variables
        yield Complaint(
            "variables",
            f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} set for debugging, and slow down the GPU",
            f"unset {' '.join(names)}",
        )
    if machine.driver_fault:
        yield Complaint(
            "driver",
            f"the NVIDIA driver does not answer: {machine.driver_fault}",
            "after a driver update, reboot; in a container, use driver libraries of the host's version",
        )
    each = [[*_gpu_complaints(gpu)] for gpu in machine.gpus]
    for complaints in each:
        yield from (complaint for complaint in complaints if _is_shared(complaint, each))


def _is_shared(complaint: Complaint, each: Sequence[Sequence[Complaint]]) -> bool:
    """Return whether all GPUs have this complaint, so that it concerns the one that is measured, whichever it is."""
    return all(any(other.check == complaint.check for other in complaints) for complaints in each)


def _gpu_complaints(gpu: Gpu) -> Iterator[Complaint]:
    if gpu.processes:
        yield Complaint(
            "gpu-processes",
            f"other processes are computing on {gpu.name}: {gpu.processes}",
            "stop them: nvidia-smi lists them",
        )
    if gpu.slowdowns:
        yield Complaint(
            "gpu-slowdown",
            f"{gpu.name} is slowed down: {', '.join(sorted(gpu.slowdowns))}",
            "let it cool down, and check its fans and power supply",
        )
    limit, usual = gpu.power_limit_w, gpu.default_power_limit_w
    if limit is not None and usual is not None and limit < usual:
        yield Complaint(
            "gpu-power",
            f"{gpu.name} is limited to {limit:.0f} W instead of the usual {usual:.0f} W",
            f"sudo nvidia-smi -i {gpu.index} --power-limit={usual:.0f}, unless you want to measure with this limit",
        )
    if gpu.persistent is False:
        yield Complaint(
            "gpu-persistence",
            f"the driver of {gpu.name} is unloaded between processes, so each starts with a cold device",
            f"sudo nvidia-smi -i {gpu.index} --persistence-mode=1",
        )


def unknowns(machine: MachineState) -> list[str]:
    """Return what cannot be known of the NVIDIA GPU that torch will use, each with the reason."""
    return [*_unknowns(machine.gpus)]


def _unknowns(gpus: Sequence[Gpu]) -> Iterator[str]:
    if len(gpus) > 1:
        yield (
            f"which of these {len(gpus)} will be measured: {', '.join(gpu.name for gpu in gpus)}; "
            "put the UUID of one (nvidia-smi -L) into CUDA_VISIBLE_DEVICES"
        )
    each = [[*_gpu_complaints(gpu)] for gpu in gpus]
    for gpu, complaints in zip(gpus, each, strict=True):
        for complaint in complaints:
            if not _is_shared(complaint, each):
                yield f"whether this affects the GPU that will be measured: {complaint.what}"
        if gpu.hidden:
            yield f"whether other processes are computing on {gpu.name}: {gpu.hidden}"
        if gpu.slowdowns is None:
            yield f"whether {gpu.name} is slowed down: {UNTOLD}"


# ── Reading the machine ───────────────────────────────────────────────────────────────────────────────────────────────


def look(cache: Path, seconds: float = LOOK_S) -> MachineState:
    """Read the state of this machine, watching its load for `seconds`. `cache` is the compile cache."""
    gpus, driver_fault = _nvidia()
    busy_cores, stolen_share = _load(seconds)
    folder = next(path for path in (cache, *cache.parents) if path.exists())
    memory = psutil.virtual_memory()
    return MachineState(
        cores=cores() or 1,
        quota_cores=quota_cores(),
        busy_cores=busy_cores,
        stolen_share=stolen_share,
        governors=_governors(),
        hottest=_hottest(),
        on_battery=attempt(lambda: psutil.sensors_battery().power_plugged is False),
        swapped_share=attempt(lambda: psutil.swap_memory().used / memory.total),
        free_memory_gb=memory.available / 1e9,
        compiler=compiler(),
        c_compiler=c_compiler(),
        has_python_headers=python_headers() is not None,
        uses_triton=bool(gpus) or AMD_DRIVER.exists(),
        has_triton=find_spec("torch") is None or find_spec("triton") is not None,  # torch brings it
        cache_free_gb=attempt(lambda: shutil.disk_usage(folder).free / 1e9),
        cache_file_system=_file_system(folder),
        gpus=gpus,
        driver_fault=driver_fault,
        clock_behind_s=Path(__file__).stat().st_mtime - time.time(),
        debug_variables=tuple(name for name, off in DEBUG_VARIABLES.items() if os.environ.get(name) not in off),
        thread_variables=tuple(name for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if name in os.environ),
    )


def _load(seconds: float) -> tuple[float | None, float | None]:
    """Sleep for `seconds`, and return the number of busy cores and the stolen share of CPU time."""
    before = psutil.cpu_times()
    psutil.cpu_percent()
    percent = psutil.cpu_percent(interval=seconds)
    after = psutil.cpu_times()
    stolen = getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)
    cores = psutil.cpu_count() or 1
    return percent / 100 * cores, stolen / (seconds * cores)


def _governors() -> frozenset[str]:
    paths = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return frozenset(name.strip() for path in paths if (name := attempt(path.read_text)))


def _hottest() -> tuple[float, float] | None:
    """Return the temperature of the sensor nearest to its critical temperature, and that, in °C."""
    chips = attempt(lambda: [*psutil.sensors_temperatures().values()]) or []  # macOS lacks the function itself
    known = [
        (sensor.current, sensor.critical or sensor.high)
        for chip in chips
        for sensor in chip
        if sensor.current and (sensor.critical or sensor.high)
    ]
    return min(known, key=lambda reading: reading[1] - reading[0], default=None)


def _file_system(folder: Path) -> str | None:
    """Return the type of the file system that holds the folder."""
    place = str(folder.resolve())
    mounted = [part for part in psutil.disk_partitions(all=True) if _is_below(place, part.mountpoint)]
    return max(mounted, key=lambda part: len(part.mountpoint)).fstype if mounted else None


def _is_below(place: str, mountpoint: str) -> bool:
    return place == mountpoint or place.startswith(mountpoint.rstrip("/") + "/")


def _nvidia() -> tuple[tuple[Gpu, ...], str | None]:
    """Return the NVIDIA GPU that torch would use, or all that it may be, or the driver's error if there seems to be
    one."""
    try:
        import pynvml  # noqa: PLC0415 - optional
    except ImportError:
        return (), None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return (), str(error) if DRIVER.exists() else None
    devices = attempt(lambda: [*_devices(pynvml)]) or []
    found = _candidates(devices, os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("CUDA_DEVICE_ORDER"))
    return tuple(_gpu(pynvml, device, is_alone=len(found) == 1) for device in found), None


@dataclass(frozen=True)
class _Device:
    """What CUDA takes for one device: a GPU, or an instance of a GPU in MIG mode."""

    handle: Any
    gpu: Any  # handle of the whole GPU
    index: int  # of the whole GPU
    uuids: tuple[str, ...]  # names of the GPU and of the instance

    @property
    def is_instance(self) -> bool:
        return self.handle is not self.gpu


def _devices(nvml: Any) -> Iterator[_Device]:
    """Yield the devices of this machine by PCI bus, the order of NVML."""
    for index in range(nvml.nvmlDeviceGetCount()):
        gpu = attempt(partial(nvml.nvmlDeviceGetHandleByIndex, index))
        if gpu is None:  # it has fallen off the bus
            continue
        uuid = nvml.nvmlDeviceGetUUID(gpu)
        if (attempt(partial(nvml.nvmlDeviceGetMigMode, gpu)) or [0])[0]:
            for number in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
                instance = attempt(partial(nvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu, number))
                if instance is not None:
                    yield _Device(instance, gpu, index, (uuid, nvml.nvmlDeviceGetUUID(instance)))
        else:
            yield _Device(gpu, gpu, index, (uuid,))


def _candidates(devices: Sequence[_Device], visible: str | None, order: str | None) -> Sequence[_Device]:
    """Return the device that CUDA takes first, or all that it may be.

    `visible` is CUDA_VISIBLE_DEVICES: a list of indices or of UUIDs, which may be shortened. `order` is
    CUDA_DEVICE_ORDER. Without it, CUDA begins with the fastest device, and without CUDA, nobody knows which that is.
    """
    first = "0" if visible is None else visible.partition(",")[0].strip()
    if first.startswith(("GPU-", "MIG-")):
        named = [device for device in devices if any(uuid.startswith(first) for uuid in device.uuids)]
        is_ambiguous = len({device.uuids[: 1 if first.startswith("GPU-") else 2] for device in named}) > 1
        return [] if is_ambiguous else named  # as CUDA does
    number = re.match("[0-9]+", first)
    if number is None or int(number[0]) >= len(devices):  # such as -1; torch sees none either
        return []
    is_ordered = order == "PCI_BUS_ID" and not any(device.is_instance for device in devices)
    return [devices[int(number[0])]] if is_ordered or len(devices) == 1 else devices


def _gpu(nvml: Any, device: _Device, *, is_alone: bool) -> Gpu:
    """Describe a device. Clocks, heat and power limits of an instance are those of the whole GPU."""
    name = attempt(lambda: str(nvml.nvmlDeviceGetName(device.handle))) or "an NVIDIA GPU"
    bits = attempt(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device.gpu))
    milliwatts = (nvml.nvmlDeviceGetPowerManagementLimit, nvml.nvmlDeviceGetPowerManagementDefaultLimit)
    limit, usual = (attempt(partial(ask, device.gpu)) for ask in milliwatts)
    processes = attempt(
        lambda: sum(each.pid != os.getpid() for each in nvml.nvmlDeviceGetComputeRunningProcesses(device.handle))
    )
    hidden = _hidden(device, processes)
    return Gpu(
        name=name if is_alone else f"{name} (GPU {device.index})",
        processes=processes or (None if hidden else 0),
        hidden=hidden,
        slowdowns=None if bits is None else throttle_reasons(bits) & SLOWDOWNS.keys(),
        index=device.index,
        power_limit_w=limit and limit / 1e3,
        default_power_limit_w=usual and usual / 1e3,
        persistent=attempt(lambda: bool(nvml.nvmlDeviceGetPersistenceMode(device.gpu))),
    )


def _hidden(device: _Device, processes: int | None) -> str:
    """Return why NVML may not list all processes that compute on the device, or an empty string."""
    if processes is None:
        return UNTOLD
    if device.is_instance:
        return "it is part of a GPU, and processes on the other parts are not listed"
    return "" if sees_all_processes() else "this container hides processes outside it"
