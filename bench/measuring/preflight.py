"""Check the machine before a sweep: choose and describe the device, and refuse what could not be measured properly.

It refuses a busy device, an unreadable checkpoint, and a GPU that this build of torch cannot use. Imports torch.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch

from bench.errors import AtlasError, attempt
from bench.measuring.environment import build, choose_device, describe
from bench.measuring.sensors import Sensors
from bench.plans.messages import Machine, Preflight


def preflight(request: Preflight) -> Machine:
    """Return the machine to be measured.

    Raises `AtlasError` for a missing or busy device, for a GPU that torch cannot use unless the CPU is asked for, and
    for an unreadable checkpoint.
    """
    if request.device != "cpu" and torch.accelerator.current_accelerator(check_available=True) is None:
        refuse_unused_gpu()
    device = choose_device(request.device)
    others = Sensors(device).other_processes() if device.type != "cpu" and not request.allow_busy else ()
    if others:
        raise AtlasError(
            f"other processes compute on this {device.type} device, which would distort every latency: "
            + ", ".join(map(str, others)),
            where=f"--device {device.type}",
            remedy="wait, stop what is running there, or choose a different GPU with CUDA_VISIBLE_DEVICES; "
            "--allow-busy measures anyway and marks the result as unstable",
        )
    if request.recipes:
        from bench.measuring.build import architecture  # noqa: PLC0415 - takes seconds

        for recipe in request.recipes:
            architecture(recipe)
    return Machine(device=device.type, environment=describe(device))


def refuse_unused_gpu(root: Path = Path("/")) -> None:
    """Raise `AtlasError` if the machine has an NVIDIA GPU that the user doesn't hide: torch would measure the CPU.

    `root` is the folder that holds ``dev``.
    """
    driver = attempt(_nvidia_driver)
    is_there = driver is not None or any(root.glob("dev/nvidia[0-9]*"))
    if is_there and os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1"):
        built = f"built for {build() or 'CPUs only'}"
        remedy = "install the build of torch for CUDA"
        if torch.version.cuda:
            remedy = "nvidia-smi shows which CUDA the driver supports; after an update of the driver, reboot"
        raise AtlasError(
            f"torch {torch.__version__} ({built}) finds no GPU, but this machine has an NVIDIA GPU"
            + (f" with driver {driver}" if driver else ""),
            where="--device",
            remedy=f"{remedy} (https://pytorch.org/get-started/locally/); or measure the CPU instead: --device cpu",
        )


def _nvidia_driver() -> str | None:
    import pynvml  # noqa: PLC0415 - optional

    pynvml.nvmlInit()
    return str(pynvml.nvmlSystemGetDriverVersion()) if pynvml.nvmlDeviceGetCount() else None
