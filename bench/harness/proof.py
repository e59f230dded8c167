"""Prove on one device that the harness measures correctly. Imports no torch.

`prove` takes a device and returns a `Proof`: what `bench.harness.checks` finds in a worker process. If a check ends
its process, it has failed, and another process runs the rest.

    python -m bench prove
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import msgspec

from bench.errors import Complaint
from bench.plans.messages import CellOutcome, Job, Prove, Proved, Recipe
from bench.plans.models import ModelSpec, find
from bench.plans.plan import make_plan
from bench.plans.profiles import QUICK, Profile
from bench.records.proof import SCHEMA, Check, CheckName, Finding, Proof, Reason
from bench.records.record import Status
from bench.running.executors import Executor, LocalProcesses, caches_below
from bench.running.preflight import preflight, variables_of

MODEL = "ViT"
"""The model of the checks: it waits for the device only at the end of a call, and compiles quickly."""

BATCH_SIZE = 32
"""Enough for kernels that take far longer than launching them, on any accelerator. A CPU gets one image."""

LONGEST_S, LONGEST_SCARCE_S = 600.0, 120.0
"""A worker is stopped after this many seconds, and sooner without memory, where it may hang."""

SCARCE_BYTES = 128 * 2**20
"""Size of a batch that has no room in the memory that is left to it (`MARGIN_BYTES` of the checks)."""

CHECKER = (sys.executable, "-m", "bench.harness.checks")

MADE_BY_CHECKER: tuple[CheckName, ...] = tuple(name for name in get_args(CheckName) if name != "out_of_memory")
"""The checks of one worker. That of memory takes a worker of its own, and whether the other one measures after it."""

REMEDIES: Mapping[CheckName, str] = {
    "eager_against_eager": "fix what python -m bench doctor reports, then prove again; until then, trust no speedup",
    "clocks": "do not compare latencies from this device with those of other tools",
    "alone": "raise the power limit or improve the cooling, then prove again; until then, speedups hold only for calls "
    "that alternate",
    "device_time": "report this, and attach the document; shares of waiting for the host are wrong here",
    "energy": "do not quote energy figures from this device; report this, and attach the document",
    "replays": "report this, and attach the document; reduce-overhead does not work as described here",
    "compiled_ahead": "measure with the profile standard, which compiles in turn; report this, and attach the document",
    "throttling": "report this, and attach the document; watch the clock with nvidia-smi while you measure",
    "out_of_memory": "report this, and attach the document; models that do not fit may spoil a run here",
}
"""What to do if a check has failed."""


def prove(
    device: str | None,
    *,
    command: str,
    tell: Callable[[str], None],
    may_lower_power: bool = False,
    shrunken: bool = False,
    profile: Profile = QUICK,
    checker: Executor | None = None,
) -> Proof:
    """Make all checks on a device, by default the best one. `tell` receives a line for each step.

    With `shrunken`, the model is a small one of the same kind. Raises `AtlasError` if there is no such device.
    """
    checker = checker or LocalProcesses(CHECKER)
    machine = preflight(LocalProcesses(), device, profile=profile)
    spec = find(MODEL)
    recipe = Recipe(model=spec.label, task=spec.task, shrunken=shrunken)
    batch_size = 1 if machine.device == "cpu" else BATCH_SIZE
    [planned] = make_plan(msgspec.structs.replace(profile, batch_sizes=(batch_size,)), [recipe], machine.device).planned
    job = Job(cell=planned.cell, recipe=recipe, sampling=profile.sampling)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        variables = caches_below(Path(cache)) | variables_of([recipe], keep_memory=profile.keep_memory)
        tell("out_of_memory …")
        scarce = checker.run(_scarce(job), variables=variables, timeout_s=LONGEST_SCARCE_S, on_phase=lambda _: None)
        request = Prove(job=job, checks=MADE_BY_CHECKER, may_lower_power=may_lower_power)
        checks = list(_made(checker, request, variables, tell))
    ended = scarce.answer or f"{scarce.cause} {scarce.last_line}".strip()
    return Proof(
        schema=SCHEMA,
        taken_at=datetime.now(UTC).replace(microsecond=0),
        environment=machine.environment,
        command=command,
        device=machine.device,
        model=planned.cell.model,
        checks=(*checks, _memory(ended, checks)),
    )


def _scarce(job: Job) -> Job:
    """Return the job with a batch that needs more memory than is left."""
    spec = job.recipe.spec
    assert isinstance(spec, ModelSpec)
    image_bytes = 3 * 4 * math.prod(job.cell.input_size or (1, 1))
    cell = msgspec.structs.replace(job.cell, batch_size=math.ceil(SCARCE_BYTES / image_bytes))
    return msgspec.structs.replace(job, cell=cell, sampling=msgspec.structs.replace(job.sampling, inputs=1))


def _made(
    checker: Executor, request: Prove, variables: Mapping[str, str], tell: Callable[[str], None]
) -> Iterable[Check]:
    left = request.checks
    while left:
        ended = checker.run(
            msgspec.structs.replace(request, checks=left),
            variables=variables,
            timeout_s=LONGEST_S,
            on_phase=lambda phase: tell(f"{phase.name} …"),
        )
        made = ended.answer.checks if isinstance(ended.answer, Proved) else ()
        yield from made
        left = tuple(name for name in left if name not in {check.name for check in made})
        if left:
            told = f"{ended.cause} after {ended.seconds:.0f} s {ended.last_line}".strip()
            yield Check(name=left[0], finding="failed", reason="process_ended", told=told)
            left = left[1:]


def _memory(ended: object, others: Iterable[Check]) -> Check:
    """A job that lacks memory says so, and the next process measures as if there had been none: `others`."""
    finding: Finding = "failed"
    reason: Reason | None = None
    told: str | None = None
    if not isinstance(ended, CellOutcome):
        reason, told = "process_ended", str(ended)
    elif ended.status is Status.SKIPPED:
        finding, reason, told = "not_applicable", "memory_not_scarce", ended.reason
    elif ended.status not in (Status.OOM, Status.EAGER_OOM):
        reason, told = "not_reported", f"status {ended.status}: {ended.reason}"
    elif not any(check.ratio for check in others):
        reason = "nothing_measured_after"
    else:
        finding = "passed"
    return Check(name="out_of_memory", finding=finding, reason=reason, told=told)


def line(check: Check) -> str:
    """Return a check in one line."""
    name = f"{check.name} ({check.variant})" if check.variant else check.name
    parts = [f"{check.finding.replace('_', ' '):<15}{name}"]
    if check.ratio is not None:
        interval = f" ({check.low:.4f} to {check.high:.4f})" if check.low and check.high else ""
        bound = f", within {check.bound:.0%} of 1" if check.bound else ""
        parts.append(f"ratio {check.ratio:.4f}{interval}{bound}")
    parts += [", ".join(f"{figure} {value:g}" for figure, value in check.figures.items())]
    parts += [_why(check)]
    return "; ".join(filter(None, parts))


def complaints(proof: Proof) -> list[Complaint]:
    """Return what failed, why, and what to do."""
    return [Complaint(check.name, _why(check), REMEDIES[check.name]) for check in proof.failed]


def _why(check: Check) -> str:
    reason = (check.reason or "").replace("_", " ")
    return f"{reason} ({check.told})" if check.told else reason
