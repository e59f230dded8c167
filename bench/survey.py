"""Before a sweep: which device, what machine, and can the checkpoints be read? Imports torch: workers only."""

from __future__ import annotations

from bench.environment import choose_device, describe
from bench.job import Machine, Survey


def survey(request: Survey) -> Machine:
    """The machine that would be measured. Raises `AtlasError` for a missing device or an unreadable checkpoint."""
    device = choose_device(request.device)
    if request.recipes:
        from bench.build import architecture  # noqa: PLC0415 - seconds, which only a checkpoint needs

        for recipe in request.recipes:
            architecture(recipe)
    return Machine(device=device.type, environment=describe(device))
