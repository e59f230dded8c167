"""What would spoil a measurement on this machine, and what to do about it.

`look` reads the machine once (through psutil and, for an NVIDIA GPU, NVML), `examine` judges what was read: pure, so
that each complaint can be tested without the machine that has it. What cannot be read is no complaint. No torch here.

    python -m bench doctor
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psutil

from bench.errors import Complaint
from bench.machine import cores
from bench.measuring.throttling import SLOWDOWNS, named

T = TypeVar("T")

BUSY_SHARE = 0.1
"""Of the cores, taken by others: their caches and clocks are felt well before a core is missing."""

LOOK_S = 1.0
"""For which the load is watched: the load average remembers minutes, and what has just ended is no harm."""

STOLEN_SHARE = 0.02
"""Of the time of a virtual machine that its host gave to others."""

HOT_BELOW_C = 5.0
"""Distance to the temperature at which a sensor calls itself critical."""

SWAPPED_SHARE = 0.05
"""Of the memory, lying in swap: what was pushed out comes back in the middle of a call."""

CLOCK_BEHIND_S = 86_400.0
"""A clock so far behind the files of this program was never set: records would be dated before it."""

FREE_GB = 5.0
"""On the disk of the compile cache. The kernels of a model take tens of megabytes, those of a full run gigabytes."""

FREE_MEMORY_GB = 4.0
"""What the largest model of the table takes on a CPU, eager and compiled, with room to spare."""

DRIVER = Path("/proc/driver/nvidia")
"""There where the kernel has loaded NVIDIA's driver."""

COMPILERS = ("c++", "g++", "clang++", "cl")

SLOW_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smbfs", "fuse.sshfs", "9p", "lustre", "beegfs"})
"""Across a network: the compile cache is thousands of small files."""


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU as NVML describes it; None for what it does not tell."""

    name: str
    processes: int | None = None  # that compute on it
    slowdowns: frozenset[str] = frozenset()  # by heat or a fault, right now
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    persistent: bool | None = None  # the driver stays loaded while nobody uses the device


@dataclass(frozen=True)
class MachineState:
    """What was read of this machine; None for what it does not tell."""

    cores: int
    quota_cores: float | None = None  # what a container may use of them
    busy_cores: float | None = None  # that others use, on average while looking
    stolen_share: float | None = None
    governors: frozenset[str] = frozenset()
    hottest: tuple[float, float] | None = None  # °C of the sensor nearest to its critical temperature, and that
    on_battery: bool | None = None
    swapped_share: float | None = None
    free_memory_gb: float | None = None
    compiler: str | None = None
    cache: str = "the compile cache"
    cache_free_gb: float | None = None
    cache_file_system: str | None = None
    gpus: tuple[Gpu, ...] = ()
    driver_fault: str | None = None  # what NVML said when it could not be asked although there is a device
    thread_variables: tuple[str, ...] = ()  # that set how many threads torch uses
    clock_behind_s: float = 0.0  # the clock, after the time at which this program was put here


# ── Judging ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def examine(machine: MachineState) -> list[Complaint]:
    """Everything that would spoil a measurement, the processor first."""
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
        yield Complaint(
            "compiler",
            "there is no C++ compiler, and torch.compile needs one",
            "apt install g++, or xcode-select --install, or Build Tools for Visual Studio",
        )
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


# ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def look(cache: Path, seconds: float = LOOK_S) -> MachineState:
    """Read this machine for that many seconds; `cache` is where compiled kernels go."""
    gpus, driver_fault = _nvidia()
    busy_cores, stolen_share = _load(seconds)
    folder = next(each for each in (cache, *cache.parents) if each.exists())
    memory = psutil.virtual_memory()
    return MachineState(
        cores=cores() or 1,
        quota_cores=_quota_cores(),
        busy_cores=busy_cores,
        stolen_share=stolen_share,
        governors=_governors(),
        hottest=_hottest(),
        on_battery=_unless_it_fails(lambda: psutil.sensors_battery().power_plugged is False),
        swapped_share=_unless_it_fails(lambda: psutil.swap_memory().used / memory.total),
        free_memory_gb=memory.available / 1e9,
        compiler=next((path for name in (os.environ.get("CXX", ""), *COMPILERS) if (path := shutil.which(name))), None),
        cache_free_gb=_unless_it_fails(lambda: shutil.disk_usage(folder).free / 1e9),
        cache_file_system=_file_system(folder),
        gpus=gpus,
        driver_fault=driver_fault,
        clock_behind_s=Path(__file__).stat().st_mtime - time.time(),
        thread_variables=tuple(name for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if name in os.environ),
    )


def _unless_it_fails(question: Callable[[], T]) -> T | None:
    with suppress(Exception):  # whatever the platform raises, it has not said it
        return question()
    return None


def _load(seconds: float) -> tuple[float | None, float | None]:
    """Cores that were busy, and the share of time that was stolen, over these seconds: this process sleeps them."""
    before = psutil.cpu_times()
    psutil.cpu_percent()
    percent = psutil.cpu_percent(interval=seconds)
    after = psutil.cpu_times()
    stolen = getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)
    cores = psutil.cpu_count() or 1
    return percent / 100 * cores, stolen / (seconds * cores)


def _quota_cores() -> float | None:
    """Of the control group that this process is in: ``cpu.max`` of version 2, quota and period of version 1."""
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
    return frozenset(name.strip() for path in paths if (name := _unless_it_fails(path.read_text)))


def _hottest() -> tuple[float, float] | None:
    """The sensor that is nearest to its critical temperature."""
    sensors = _unless_it_fails(psutil.sensors_temperatures) or {}
    known = [
        (each.current, each.critical or each.high)
        for chip in sensors.values()
        for each in chip
        if each.current and (each.critical or each.high)
    ]
    return min(known, key=lambda reading: reading[1] - reading[0], default=None)


def _file_system(folder: Path) -> str | None:
    """The type of the file system that holds the folder."""
    place = str(folder.resolve())
    mounted = [part for part in psutil.disk_partitions(all=True) if _is_below(place, part.mountpoint)]
    return max(mounted, key=lambda part: len(part.mountpoint)).fstype if mounted else None


def _is_below(place: str, mountpoint: str) -> bool:
    return place == mountpoint or place.startswith(mountpoint.rstrip("/") + "/")


def _nvidia() -> tuple[tuple[Gpu, ...], str | None]:
    """The NVIDIA GPU that torch would take; or why it does not answer, where there seems to be one."""
    try:
        import pynvml  # noqa: PLC0415 - where it is not installed, nothing is asked
    except ImportError:
        return (), None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return (), str(error) if DRIVER.exists() else None
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    by_index, by_uuid = pynvml.nvmlDeviceGetHandleByIndex, pynvml.nvmlDeviceGetHandleByUUID
    handle = _unless_it_fails(lambda: by_index(int(first)) if first.isdigit() else by_uuid(first))
    if handle is None:  # no such device, as by -1: torch sees none
        return (), None
    return (_gpu(pynvml, handle),), None


def _gpu(nvml: Any, handle: Any) -> Gpu:
    bits = _unless_it_fails(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
    milliwatts = (nvml.nvmlDeviceGetPowerManagementLimit, nvml.nvmlDeviceGetPowerManagementDefaultLimit)
    limit, usual = (_unless_it_fails(partial(ask, handle)) for ask in milliwatts)
    return Gpu(
        name=str(nvml.nvmlDeviceGetName(handle)),
        processes=_unless_it_fails(lambda: len(nvml.nvmlDeviceGetComputeRunningProcesses(handle))),
        slowdowns=named(bits) & SLOWDOWNS.keys(),
        power_limit_w=limit and limit / 1e3,
        default_power_limit_w=usual and usual / 1e3,
        persistent=_unless_it_fails(lambda: bool(nvml.nvmlDeviceGetPersistenceMode(handle))),
    )
