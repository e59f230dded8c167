"""Check the machine before a sweep: choose and describe the device, and refuse what could not be measured properly.

It refuses a busy device, an unreadable checkpoint, and a GPU that this build of torch cannot use. Imports torch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import torch

from bench import machine
from bench.errors import AtlasError, attempt
from bench.measuring.environment import choose_device, describe
from bench.measuring.sensors import Sensors
from bench.plans.messages import Machine, Preflight

NVIDIA_DRIVERS = {11: 450, 12: 525, 13: 580}
"""The oldest branch of NVIDIA's driver that runs a major version of CUDA."""

AMD_MEMORY_BYTES = 4 * 2**30
"""AMD GPUs with more memory than this are those that ROCm serves. Graphics within a processor reserve less."""

HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Environment variables that hide every GPU if they are empty or -1."""


def preflight(request: Preflight) -> Machine:
    """Return the machine to be measured.

    Raises `AtlasError` for a missing or busy device, for a GPU that torch cannot use unless the CPU is asked for, and
    for an unreadable checkpoint.
    """
    if request.device != "cpu":
        refuse_unused_gpu()
    device = choose_device(request.device)
    if not request.allow_busy:
        _refuse_busy_device(device)
    if request.recipes:
        from bench.measuring.build import architecture  # noqa: PLC0415 - takes seconds

        for recipe in request.recipes:
            architecture(recipe)
    return Machine(device=device.type, environment=describe(device))


def _refuse_busy_device(device: torch.device) -> None:
    pids = () if device.type == "cpu" else Sensors(device).other_processes()
    if pids:
        who = f"process {pids[0]} is" if len(pids) == 1 else f"processes {', '.join(map(str, pids))} are"
        raise AtlasError(
            f"{who} computing on this {device.type} device, which would distort every latency",
            where=f"--device {device.type}",
            remedy="wait, stop what is running there, or choose a different GPU with CUDA_VISIBLE_DEVICES; "
            "--allow-busy measures anyway and marks the result as unstable",
        )


# ── GPUs that torch cannot use ──────────────────────────────────────────────────────────────────────────────────────


def refuse_unused_gpu(root: Path = Path("/")) -> None:
    """Raise `AtlasError` if the machine clearly has a GPU and torch finds none: it would measure the CPU, unasked.

    Nothing is refused where the user hides the GPUs. `root` is the folder that holds ``dev``, ``proc`` and ``sys``.
    """
    if torch.accelerator.current_accelerator(check_available=True) is not None:
        return
    if any(os.environ.get(name) in ("", "-1") for name in HIDING):
        return
    for what, remedy in _unused_gpus(root):
        raise AtlasError(
            f"torch {torch.__version__} ({_build()}) finds no GPU, but this machine has {what}",
            where="--device",
            remedy=f"{remedy} (https://pytorch.org/get-started/locally/); or measure the CPU instead: --device cpu",
        )


def _build() -> str:
    builds = {"CUDA": torch.version.cuda, "ROCm": torch.version.hip, "XPU": torch.version.xpu}
    return next((f"built for {name} {version}" for name, version in builds.items() if version), "built for CPUs only")


def _unused_gpus(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the GPU of each vendor and its driver, and what lets torch use it."""
    if driver := _nvidia_driver(root):
        yield f"an NVIDIA GPU with driver {driver}", _nvidia_remedy(driver)
    if (root / "dev/kfd").exists() and any(map(_is_large, root.glob("sys/class/drm/card*/device/mem_info_vram_total"))):
        version = " ".join(machine.lines(root / "sys/module/amdgpu/version")) or "amdgpu of the kernel"
        install = (
            "give this user access to /dev/kfd (groups render and video)" if torch.version.hip else _install("ROCm")
        )
        yield f"an AMD GPU with driver {version}", install
    for vendor in sorted(root.glob("sys/class/drm/renderD*/device/vendor")):
        bus = vendor.parent.resolve().name.split(":")[1:2]
        # Graphics within an Intel processor are always on bus 0, and the default build of torch never used them.
        if machine.lines(vendor) == ["0x8086"] and bus not in ([], ["00"]):
            driver = (vendor.parent / "driver").resolve().name
            install = "install Intel's compute runtime (Level Zero)" if torch.version.xpu else _install("XPU")
            yield f"an Intel GPU with driver {driver}", install


def _nvidia_driver(root: Path) -> str | None:
    """Return the version of the driver of an NVIDIA GPU, or None. A container sees /proc of the host without its GPU,
    and WSL has only NVML."""
    kernel = re.search(r"Module.*?\s(\d+(?:\.\d+)+)", " ".join(machine.lines(root / "proc/driver/nvidia/version")))
    if kernel and any(root.glob("dev/nvidia[0-9]*")):
        return kernel[1]
    return attempt(_nvml_driver)


def _nvml_driver() -> str | None:
    import pynvml  # noqa: PLC0415 - optional

    pynvml.nvmlInit()
    try:
        return str(pynvml.nvmlSystemGetDriverVersion()) if pynvml.nvmlDeviceGetCount() else None
    finally:
        pynvml.nvmlShutdown()


def _nvidia_remedy(driver: str) -> str:
    if torch.version.cuda is None:
        return _install("CUDA")
    oldest = NVIDIA_DRIVERS.get(int(torch.version.cuda.partition(".")[0]), 0)
    if int(driver.partition(".")[0]) < oldest:
        return f"CUDA {torch.version.cuda} needs driver {oldest} or newer: update it, or {_install('an older CUDA')}"
    return f"find out with nvidia-smi why it does not answer, or {_install('another CUDA')}"


def _install(platform: str) -> str:
    return f"install the build of torch for {platform}"


def _is_large(vram: Path) -> bool:
    return int("".join(machine.lines(vram)) or 0) > AMD_MEMORY_BYTES
