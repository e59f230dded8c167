"""Turn the options of `run` into a profile, recipes and a plan.

Takes the options by their names; returns what to measure and the run file to go on with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from bench.choices import pick
from bench.commands import MEASURED
from bench.errors import AtlasError
from bench.machine import version
from bench.measuring.variants import VARIANTS
from bench.plans.checkpoints import identify
from bench.plans.messages import Machine, Recipe, Weights
from bench.plans.models import BY_CHECKPOINT, find
from bench.plans.profiles import PROFILES, Profile
from bench.records.record import Task

if TYPE_CHECKING:
    from bench.plans.duration import DurationEstimates
    from bench.plans.plan import Plan
    from bench.running.resume import RunFile

HUB_ID = re.compile(r"[\w][\w.-]*/[\w][\w.-]*")


def profile_of(options: SimpleNamespace) -> Profile:
    """Return the named profile with the values from the command line. Raises `AtlasError` for a missing package."""
    changed = ("models", "batch_sizes", "variants", "dtypes", "allow_busy", "processes")
    changes: dict[str, Any] = {name: value for name in changed if (value := getattr(options, name))}
    if options.checkpoint:
        changes["models"] = options.models
    if options.malloc:
        changes["keep_memory"] = options.malloc == "keep"
    profile = msgspec.structs.replace(PROFILES[options.profile], **changes)
    for variant in profile.variants:
        missing = [package for package in VARIANTS[variant].needs if version(package) is None]
        if missing and options.executor == "local":
            what = f"{variant} needs {' and '.join(missing)}, which {'are' if missing[1:] else 'is'} not installed"
            raise AtlasError(what, where="--variant", remedy=f"pip install {' '.join(missing)}")
    return profile


def recipes_of(options: SimpleNamespace) -> list[Recipe]:
    """Return what to build: the models of the profile or the command line, and the checkpoint.

    Reads the whole of a local checkpoint, so call it once. Raises `AtlasError`.
    """
    recipes = _recipes(profile_of(options).models, weights=options.weights or "random", shrunken=options.shrunken)
    if options.checkpoint:
        return [*recipes, _of_checkpoint(options, options.checkpoint)]
    for option in ("task", "name"):
        if getattr(options, option) is not None:
            remedy = f"add --checkpoint, or omit --{option}"
            raise AtlasError(f"--{option} only applies to a checkpoint", where=f"--{option}", remedy=remedy)
    return recipes


def _recipes(labels: Sequence[str], **how: Any) -> list[Recipe]:
    return [Recipe(model=label, task=find(label).task, **how) for label in labels]


def _of_checkpoint(options: SimpleNamespace, checkpoint: str) -> Recipe:
    """Return the recipe of a checkpoint. One in a local folder has a name and a digest."""
    weights: Weights = options.weights or "pretrained"
    directory = Path(checkpoint)
    known = BY_CHECKPOINT.get(checkpoint)
    if options.name is not None and (known or not directory.is_dir()):
        remedy = "omit it: a hub checkpoint is identified by its ID"
        raise AtlasError("only applies to a checkpoint in a local folder", where="--name", remedy=remedy)
    if known:
        return Recipe(model=known.label, task=known.task, weights=weights)
    if not directory.is_dir() and not HUB_ID.fullmatch(checkpoint):
        what = f"{checkpoint!r} is neither a local folder nor a Hugging Face Hub ID"
        remedy = "give an existing folder, or an ID such as microsoft/resnet-18"
        raise AtlasError(what, where="--checkpoint", remedy=remedy)
    if options.task is None:
        remedy = f"add --task {' or '.join(get_args(Task))}"
        raise AtlasError("the task of the checkpoint is missing", where="--checkpoint", remedy=remedy)
    if not directory.is_dir():
        return Recipe(checkpoint=checkpoint, task=options.task, weights=weights)
    local = identify(directory, needs_weights=weights == "pretrained", name=options.name)
    return Recipe(checkpoint=local, task=options.task, weights=weights)


def prepared(
    options: SimpleNamespace, recipes: Sequence[Recipe], machine: Machine
) -> tuple[Plan, RunFile, DurationEstimates]:
    """Return what to measure on this machine, its run file, and how long its processes take. Raises `AtlasError`."""
    from bench.plans.duration import DurationEstimates
    from bench.plans.plan import make_plan
    from bench.running.resume import earlier, find_run

    profile, named = profile_of(options), PROFILES[options.profile]
    plan = make_plan(profile, recipes, machine.device, options.threads)
    if machine.device != "cuda" and any(planned.cell.tf32 for planned in plan.planned):
        remedy = "omit it, or choose a GPU that supports TF32: --device cuda"
        raise AtlasError(f"a {machine.device} device does not offer TF32", where="--dtype TF32", remedy=remedy)
    alone = [variant for variant in profile.variants if VARIANTS[variant].on_cpu_alone]
    if machine.device != "cpu" and (alone or options.threads):
        what = f"{', '.join(alone) or '--threads'}: only measured on CPUs, and this is a {machine.device} device"
        raise AtlasError(what, where="--variant" if alone else "--threads", remedy="add --device cpu, or omit it")
    is_ordinary = plan == make_plan(named, _recipes(named.models), machine.device)
    found = find_run(
        plan, machine, options.out, is_ordinary=is_ordinary, fresh=options.fresh, reopen=options.retry_failed
    )
    pace = DurationEstimates.from_records(profile, earlier(machine, {options.out, MEASURED}))
    return plan, found, pace


def model_named(text: str) -> str:
    """Return the label of a model. Raises `AtlasError`."""
    return find(text).label


def variant_named(text: str) -> str:
    """Return the name of a variant, which a user may give without its "compile:". Raises `AtlasError`."""
    is_whole = text in VARIANTS or text.startswith(("compile:", "eager:"))
    return pick("variant", text if is_whole else f"compile:{text}", VARIANTS)


def seconds_of(text: str) -> float:
    """Return the seconds of a time such as 90s, 9m, 1h30m or 45. Raises `AtlasError`."""
    match = re.fullmatch(r"(?:(\d{1,9})h)?(?:(\d{1,9})m(?:in)?)?(?:(\d{1,9})s?)?", text.strip().lower(), re.ASCII)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    total = 3600 * hours + 60 * minutes + seconds
    if not total:
        remedy = "write 90s, 9m or 1h30m, or omit it to measure everything"
        raise AtlasError(f"{text!r:.60} is not a duration", where="--time-budget", remedy=remedy)
    return float(total)
