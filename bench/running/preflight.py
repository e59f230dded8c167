"""Ask a worker about its machine before anything is measured.

Takes an executor and what is to be measured; returns the `Machine`, or raises `AtlasError` for a missing or busy
device, a missing checkpoint or a missing torch.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from bench.errors import AtlasError
from bench.plans.messages import Answer, Machine, Preflight, Recipe, Refusal
from bench.plans.profiles import KEEP_MEMORY, Profile
from bench.running.worker_process import Executor, WorkerExit

PREFLIGHT_TIMEOUT_S = 300.0
"""Importing torch from a cold disk takes a minute, and reading a checkpoint from the hub as long again."""


def preflight(executor: Executor, device: str | None, recipes: Sequence[Recipe], profile: Profile) -> Machine:
    """Return the machine that a worker finds. Raises `AtlasError`."""
    request = Preflight(
        device=device,
        recipes=tuple(recipe for recipe in recipes if recipe.needs_hub),
        allow_busy=profile.allow_busy,
    )
    variables = variables_of(request.recipes, keep_memory=profile.keep_memory)
    ended = executor(request, variables=variables, timeout_s=PREFLIGHT_TIMEOUT_S, on_phase=lambda _: None)
    machine = answer_of(ended, "torch cannot be used here")
    assert isinstance(machine, Machine)
    return machine


def answer_of(ended: WorkerExit, failure: str) -> Answer:
    """Return the worker's answer. Raises `AtlasError` for a refusal, or with `failure` if there is no answer."""
    match ended.answer:
        case Refusal(what=what, where=where, remedy=remedy):
            raise AtlasError(what, where=where, remedy=remedy)
        case None:
            remedy = (
                "install the measuring dependencies: python -m bench install" if "No module" in ended.last_line else ""
            )
            raise AtlasError(f"{failure}: {ended.last_line or ended.cause}", remedy=remedy)
    return ended.answer


def variables_of(recipes: Sequence[Recipe], *, keep_memory: bool) -> dict[str, str]:
    """Return a worker's environment variables.

    They forbid network access unless a checkpoint may come from the hub. With `keep_memory`, malloc keeps freed memory,
    unless the user has set the same variables.
    """
    offline = {} if any(recipe.needs_hub for recipe in recipes) else {"HF_HUB_OFFLINE": "1"}
    kept = {name: KEEP_MEMORY[name] for name in KEEP_MEMORY if keep_memory and name not in os.environ}
    return offline | kept
