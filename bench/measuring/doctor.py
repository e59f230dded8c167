"""Find what would distort a measurement on this machine, with remedies. Imports no torch.

`look` reads the machine once, through psutil and NVML, and returns a `MachineState`. `examine` takes it and returns
`Complaint`s; it is pure, so that tests need no such machine. What cannot be read is no complaint.

    python -m bench doctor
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from bench.errors import Complaint, attempt
from bench.machine import compiler, cores
from bench.measuring.throttling import SLOWDOWNS, named
from bench.served_requests import ServedRequests

BUSY_SHARE = 0.1
"""Share of the cores used by others. Shared caches and clocks affect latency well before cores run out."""

LOOK_S, LOOKS = 1.0, 5
"""Seconds to watch the load, and the most times. The load average covers minutes and includes programs that have
ended."""

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

NO_COMPILER = Complaint(
    "compiler",
    "there is no C++ compiler, and torch.compile needs one",
    "apt install g++, or xcode-select --install, or Build Tools for Visual Studio",
)

SLOW_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smbfs", "fuse.sshfs", "9p", "lustre", "beegfs"})
"""Network file systems, too slow for the thousands of small files of a compile cache."""


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU as NVML describes it. Unknown values are None."""

    name: str
    processes: int | None = None  # number that compute on it
    slowdowns: frozenset[str] = frozenset()  # current ones, by heat or a fault
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    persistent: bool | None = None  # the driver stays loaded while the device is idle


@dataclass(frozen=True)
class MachineState:
    """The state of this machine. Unknown values are None."""

    cores: int
    quota_cores: float | None = None  # that a container may use
    busy_cores: float | None = None  # used by others on average during the look
    stolen_share: float | None = None
    governors: frozenset[str] = frozenset()
    hottest: tuple[float, float] | None = None  # temperature and critical one, in °C, of the sensor nearest to it
    on_battery: bool | None = None
    swapped_share: float | None = None
    free_memory_gb: float | None = None
    compiler: str | None = None
    cache: str = "the compile cache"
    cache_free_gb: float | None = None
    cache_file_system: str | None = None
    gpus: tuple[Gpu, ...] = ()
    driver_fault: str | None = None  # error of NVML although there is a device
    thread_variables: tuple[str, ...] = ()  # environment variables that set torch's number of threads
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
            "end them, or measure when they are done: `top` shows which",
        )
    if machine.quota_cores is not None and machine.quota_cores < machine.cores:
        yield Complaint(
            "quota",
            f"this container may use {machine.quota_cores:.1f} of the {machine.cores} cores that it sees",
            "give it whole cores (docker run --cpuset-cpus), so that torch does not start more threads than it may run",
        )
    if machine.stolen_share is not None and machine.stolen_share > STOLEN_SHARE:
        yield Complaint(
            "steal",
            f"the host of this virtual machine gave {machine.stolen_share:.0%} of its time to others",
            "use a machine with cores of its own",
        )
    slow = machine.governors - {"performance"}
    if slow:
        yield Complaint(
            "governor",
            f"the clock frequency is governed by {', '.join(sorted(slow))}",
            "sudo cpupower frequency-set --governor performance",
        )
    if machine.hottest is not None and machine.hottest[0] > machine.hottest[1] - HOT_BELOW_C:
        temperature, critical = machine.hottest
        yield Complaint(
            "temperature",
            f"a sensor reads {temperature:.0f} °C, and {critical:.0f} °C is critical",
            "let the machine cool down, and look after its fans and vents",
        )
    if machine.on_battery:
        yield Complaint("battery", "the machine runs on its battery", "plug it in")
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
            "unset them, unless this is what is to be measured: it is recorded either way",
        )


def _memory(machine: MachineState) -> Iterator[Complaint]:
    if machine.swapped_share is not None and machine.swapped_share > SWAPPED_SHARE:
        yield Complaint(
            "swap",
            f"swap holds as much as {machine.swapped_share:.0%} of the memory",
            "end what needs the memory, then: sudo swapoff -a && sudo swapon -a",
        )
    if machine.free_memory_gb is not None and machine.free_memory_gb < FREE_MEMORY_GB:
        yield Complaint(
            "memory",
            f"{machine.free_memory_gb:.1f} GB of memory are free",
            "end what needs it: the largest models take several GB",
        )


def _compiling(machine: MachineState) -> Iterator[Complaint]:
    if machine.compiler is None:
        yield NO_COMPILER
    if machine.cache_free_gb is not None and machine.cache_free_gb < FREE_GB:
        yield Complaint(
            "disk",
            f"{machine.cache_free_gb:.1f} GB are free where {machine.cache} is",
            "make room there",
        )
    if machine.cache_file_system in SLOW_FILE_SYSTEMS:
        yield Complaint(
            "cache",
            f"{machine.cache} lies on a network file system ({machine.cache_file_system})",
            "use a checkout on a local disk: compile times would be those of the network",
        )


def _gpus(machine: MachineState) -> Iterator[Complaint]:
    if machine.driver_fault:
        yield Complaint(
            "driver",
            f"the NVIDIA driver does not answer: {machine.driver_fault}",
            "reboot after an update of the driver, and in a container use libraries of the host's version",
        )
    for gpu in machine.gpus:
        if gpu.processes:
            yield Complaint(
                "gpu-processes",
                f"other processes compute on {gpu.name}: {gpu.processes}",
                "end them: nvidia-smi shows which",
            )
        if gpu.slowdowns:
            yield Complaint(
                "gpu-slowdown",
                f"{gpu.name} is slowed down: {', '.join(sorted(gpu.slowdowns))}",
                "let it cool down, and look after its fans and power supply",
            )
        limit, usual = gpu.power_limit_w, gpu.default_power_limit_w
        if limit is not None and usual is not None and limit < usual:
            yield Complaint(
                "gpu-power",
                f"{gpu.name} is limited to {limit:.0f} W, and {usual:.0f} W are usual",
                f"sudo nvidia-smi --power-limit={usual:.0f}, unless the limit is what is to be measured",
            )
        if gpu.persistent is False:
            yield Complaint(
                "gpu-persistence",
                f"the driver of {gpu.name} is unloaded between processes, so that each starts with a cold device",
                "sudo nvidia-smi --persistence-mode=1",
            )


# ── Reading the machine ───────────────────────────────────────────────────────────────────────────────────────────────


def look(cache: Path, seconds: float = LOOK_S) -> MachineState:
    """Read the state of this machine, watching its load for `seconds`. `cache` is the compile cache."""
    gpus, driver_fault = _nvidia()
    busy_cores, stolen_share = _load(seconds)
    folder = next(path for path in (cache, *cache.parents) if path.exists())
    memory = psutil.virtual_memory()
    return MachineState(
        cores=cores() or 1,
        quota_cores=_quota_cores(),
        busy_cores=busy_cores,
        stolen_share=stolen_share,
        governors=_governors(),
        hottest=_hottest(),
        on_battery=attempt(lambda: psutil.sensors_battery().power_plugged is False),
        swapped_share=attempt(lambda: psutil.swap_memory().used / memory.total),
        free_memory_gb=memory.available / 1e9,
        compiler=compiler(),
        cache_free_gb=attempt(lambda: shutil.disk_usage(folder).free / 1e9),
        cache_file_system=_file_system(folder),
        gpus=gpus,
        driver_fault=driver_fault,
        clock_behind_s=Path(__file__).stat().st_mtime - time.time(),
        thread_variables=tuple(name for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if name in os.environ),
    )


def _load(seconds: float) -> tuple[float | None, float | None]:
    """Sleep for `seconds`, and return the number of busy cores and the stolen share of CPU time.

    Looks again if a server of the guide answered a request meanwhile: it will not while a model is measured.
    """
    served = ServedRequests.of_environment()
    for _ in range(LOOKS):
        state = served.state() if served else None
        load = _load_once(seconds)
        if served is None or state is None or served.are_quiet_since(state):
            break
    return load


def _load_once(seconds: float) -> tuple[float | None, float | None]:
    before = psutil.cpu_times()
    psutil.cpu_percent()
    percent = psutil.cpu_percent(interval=seconds)
    after = psutil.cpu_times()
    stolen = getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)
    cores = psutil.cpu_count() or 1
    return percent / 100 * cores, stolen / (seconds * cores)


def _quota_cores() -> float | None:
    """Return the CPU quota of this process's control group: ``cpu.max`` of version 2, or that of version 1."""
    with suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError, ZeroDivisionError):
        group = Path("/sys/fs/cgroup/cpu")
        quota_us, period_us = (int((group / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
        return quota_us / period_us if quota_us > 0 else None
    return None


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
    """Return the NVIDIA GPU that torch would use, or the driver's error if there seems to be one."""
    try:
        import pynvml  # noqa: PLC0415 - optional
    except ImportError:
        return (), None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return (), str(error) if DRIVER.exists() else None
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    by_index, by_uuid = pynvml.nvmlDeviceGetHandleByIndex, pynvml.nvmlDeviceGetHandleByUUID
    handle = attempt(lambda: by_index(int(first)) if first.isdigit() else by_uuid(first))
    if handle is None:  # no such device, such as -1; torch sees none either
        return (), None
    return (_gpu(pynvml, handle),), None


def _gpu(nvml: Any, handle: Any) -> Gpu:
    bits = attempt(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
    milliwatts = (nvml.nvmlDeviceGetPowerManagementLimit, nvml.nvmlDeviceGetPowerManagementDefaultLimit)
    limit, usual = (attempt(partial(ask, handle)) for ask in milliwatts)
    return Gpu(
        name=str(nvml.nvmlDeviceGetName(handle)),
        processes=attempt(lambda: len(nvml.nvmlDeviceGetComputeRunningProcesses(handle))),
        slowdowns=named(bits) & SLOWDOWNS.keys(),
        power_limit_w=limit and limit / 1e3,
        default_power_limit_w=usual and usual / 1e3,
        persistent=attempt(lambda: bool(nvml.nvmlDeviceGetPersistenceMode(handle))),
    )
