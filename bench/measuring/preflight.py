"""Check the machine before a sweep: choose and describe the device, refuse busy devices and unreadable checkpoints.

Imports torch.
"""

from __future__ import annotations

import torch

from bench.errors import AtlasError
from bench.measuring.environment import choose_device, describe
from bench.measuring.sensors import Sensors
from bench.plans.messages import Machine, Preflight


def preflight(request: Preflight) -> Machine:
    """Return the machine to be measured.

    Raises `AtlasError` for a missing or busy device, and for an unreadable checkpoint.
    """
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
            remedy="wait, end what runs there, or choose another GPU with CUDA_VISIBLE_DEVICES; --allow-busy measures "
            "anyway and marks the result as unstable",
        )
