"""Turn the options of `run` into a profile, recipes and a plan.

Takes the parsed options; returns what to measure and the run file to go on with.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec

from bench.choices import pick
from bench.commands import LARGEST_COUNT, MEASURED, count
from bench.errors import AtlasError
from bench.measuring.variants import VARIANTS
from bench.plans.checkpoints import identify
from bench.plans.messages import Recipe, Weights
from bench.plans.models import MODELS, find
from bench.plans.profiles import PRECISIONS, PROFILES, Profile
from bench.records.record import Task

if TYPE_CHECKING:
    from bench.plans.duration import DurationEstimates
    from bench.plans.messages import Machine
    from bench.plans.plan import Plan
    from bench.running.resume import RunFile

MALLOC = {"keep": True, "default": False}

LARGEST_BATCH = 4096

LONGEST_BUDGET_S = 366 * 86_400

HUB_ID = re.compile(r"[\w][\w.-]*/[\w][\w.-]*")


def profile_of(options: argparse.Namespace) -> Profile:
    """Return the named profile with the values from the command line. Raises `AtlasError`."""
    changes: dict[str, Any] = {}
    if options.model or options.checkpoint:
        changes["models"] = tuple(find(name).label for name in options.model or ())
    if options.batch_size:
        changes["batch_sizes"] = tuple(count("--batch-size", text, LARGEST_BATCH) for text in options.batch_size)
    if options.variant:
        changes["variants"] = tuple(variant_named(name) for name in options.variant)
    if options.dtype:
        changes["dtypes"] = tuple(pick("dtype", name, PRECISIONS) for name in options.dtype)
    if options.malloc:
        changes["keep_memory"] = MALLOC[pick("malloc", options.malloc, MALLOC)]
    if options.allow_busy:
        changes["allow_busy"] = True
    if options.processes:
        changes["processes"] = count("--processes", options.processes, LARGEST_COUNT)
        changes["cpu_processes"] = None
    return msgspec.structs.replace(PROFILES[pick("profile", options.profile or "quick", PROFILES)], **changes)


def variant_named(text: str) -> str:
    """Return the name of a variant, which a user may give without its "compile:". Raises `AtlasError`."""
    return pick("variant", text if text.startswith(("compile:", "eager:")) else f"compile:{text}", VARIANTS)


def recipes_of(options: argparse.Namespace) -> list[Recipe]:
    """Return what to build: the models of the profile or the command line, and the checkpoint.

    Reads the whole of a local checkpoint, so call it once. Raises `AtlasError`.
    """
    weights = options.weights and cast(Weights, pick("weights", options.weights, get_args(Weights)))
    recipes = [
        msgspec.structs.replace(recipe, weights=weights or "random", shrunken=options.shrunken)
        for recipe in _table_recipes(profile_of(options).models)
    ]
    if options.checkpoint:
        recipes.append(
            _identified(checkpoint_recipe(options.checkpoint, options.task, weights or "pretrained"), options.name)
        )
        return recipes
    for option in ("task", "name"):
        if getattr(options, option) is not None:
            remedy = f"add --checkpoint, or omit --{option}"
            raise AtlasError(f"--{option} only applies to a checkpoint", where=f"--{option}", remedy=remedy)
    return recipes


def _identified(recipe: Recipe, name: str | None) -> Recipe:
    """Return the recipe with a local checkpoint under this name and its digest."""
    directory = Path(recipe.source)
    if recipe.model is None and directory.is_dir():
        local = identify(directory, needs_weights=recipe.weights == "pretrained", name=name)
        return msgspec.structs.replace(recipe, checkpoint=local)
    if name is not None:
        remedy = "omit it: a hub checkpoint is identified by its ID"
        raise AtlasError("only applies to a checkpoint in a local folder", where="--name", remedy=remedy)
    return recipe


def _table_recipes(labels: Sequence[str]) -> list[Recipe]:
    return [Recipe(model=label, task=find(label).task) for label in labels]


def checkpoint_recipe(checkpoint: str, task: str | None, weights: Weights) -> Recipe:
    if known := [spec for spec in MODELS if spec.checkpoint == checkpoint]:
        return Recipe(model=known[0].label, task=known[0].task, weights=weights)
    if not Path(checkpoint).is_dir() and not HUB_ID.fullmatch(checkpoint):
        raise AtlasError(
            f"{checkpoint!r} is neither a local folder nor a Hugging Face Hub ID",
            where="--checkpoint",
            remedy="give an existing folder, or an ID such as microsoft/resnet-18",
        )
    if task is None:
        raise AtlasError(
            "the task of the checkpoint is missing",
            where="--checkpoint",
            remedy=f"add --task {' or '.join(get_args(Task))}",
        )
    return Recipe(checkpoint=checkpoint, task=cast(Task, pick("task", task, get_args(Task))), weights=weights)


def prepared(
    options: argparse.Namespace, recipes: Sequence[Recipe], machine: Machine
) -> tuple[Plan, RunFile, DurationEstimates]:
    """Return what to measure on this machine, its run file, and how long its processes take."""
    from bench.plans.duration import DurationEstimates
    from bench.plans.plan import make_plan
    from bench.running.resume import earlier, find_run
    from bench.running.sweep import stopped_runs

    profile = profile_of(options)
    plan = make_plan(profile, recipes, machine.device)
    if options.shard:
        first, every = shard_of(options.shard)
        plan = msgspec.structs.replace(plan, planned=plan.planned[first - 1 :: every])
    if machine.device != "cuda" and any(planned.cell.tf32 for planned in plan.planned):
        what = f"a {machine.device} device does not offer TF32"
        raise AtlasError(
            what, where="--dtype TF32", remedy="omit it, or choose a GPU that supports TF32: --device cuda"
        )
    pace = DurationEstimates.from_records(profile, earlier(machine, {options.out, MEASURED, stopped_runs()}))
    run_file = find_run(
        plan,
        machine,
        options.out,
        is_ordinary=_is_ordinary(plan, machine),
        fresh=options.fresh,
        reopen=options.retry_failed,
    )
    return plan, run_file, pace


def _is_ordinary(plan: Plan, machine: Machine) -> bool:
    """Return whether the plan is exactly its profile's."""
    from bench.plans.plan import make_plan

    profile = PROFILES[plan.profile.name]
    return plan == make_plan(profile, _table_recipes(profile.models), machine.device)


def shard_of(text: str) -> tuple[int, int]:
    """Return the numbers of a shard such as 2/8. Raises `AtlasError`."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        remedy = "give two whole numbers, such as 2/8 for the second of eight shards"
        raise AtlasError(f"{text!r:.60} is not a shard", where="--shard", remedy=remedy)
    return int(match[1]), int(match[2])


def seconds_of(text: str) -> float:
    """Return the seconds of a time such as 90s, 9m, 1h30m or 45. Raises `AtlasError`."""
    match = re.fullmatch(r"(?:(\d{1,9})h)?(?:(\d{1,9})m(?:in)?)?(?:(\d{1,9})s?)?", text.strip().lower(), re.ASCII)
    if match is None or not text.strip():
        raise _no_budget(f"{text!r:.60} is not a duration")
    seconds = sum(int(part or 0) * unit for part, unit in zip(match.groups(), (3600, 60, 1), strict=True))
    if not seconds:
        raise _no_budget("a time budget of 0 leaves no time to measure")
    if seconds > LONGEST_BUDGET_S:
        raise _no_budget(f"{text!r} is longer than a year")
    return float(seconds)


def _no_budget(what: str) -> AtlasError:
    return AtlasError(what, where="--time-budget", remedy="write 90s, 9m or 1h30m, or omit it to measure everything")
