"""Check on a device that the benchmark measures correctly, with the workers of every measurement. Imports no torch."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.errors import AtlasError
from bench.plans.messages import Answer, CellOutcome, CheckSelf, Job, Recipe, SelfChecked
from bench.plans.plan import make_plan
from bench.plans.profiles import QUICK, Profile
from bench.records.documents import BOUND, SCHEMA, Check, Selfcheck
from bench.records.record import Measurement
from bench.running.worker_process import Executor, answer_of, caches_below, preflight, variables_of
from bench.statistics.cells import speedup

PROFILE = msgspec.structs.replace(QUICK, processes=4, timeout_s=900.0)
"""Four processes compare eager with itself. The interval is over processes, as for any case."""


def check(
    executor: Executor, device: str | None, recipe: Recipe, tell: Callable[[str], None], profile: Profile = PROFILE
) -> Selfcheck:
    """Make all checks on a device, by default the best one. `tell` receives a line for each process.

    A process measures the model with a cold compile cache and another one with a warm cache, as in a run; on CUDA, one
    more does in the mode reduce-overhead. The others compare eager with eager. Raises `AtlasError` if one of them ends
    without a measurement.
    """
    machine = preflight(executor, device, [recipe], profile)

    def ask(what: str, request: Job | CheckSelf, cache: Path) -> Answer:
        tell(f"{what} …")
        variables = variables_of([recipe], keep_memory=profile.keep_memory) | caches_below(cache)
        ended = executor(request, variables=variables, timeout_s=profile.timeout_s)
        return answer_of(ended, f"{what}: the process ended early")

    def job_in(mode: str) -> Job:
        changed = msgspec.structs.replace(profile, variants=(f"compile:{mode}",))
        [planned] = make_plan(changed, [recipe], machine.device).planned
        return Job(cell=planned.cell, recipe=recipe, sampling=profile.sampling)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        job, cache = job_in("default"), Path(folder, "default")
        cold, graphs = _measured(ask("cold cache", job, cache)), _cached_graphs(cache)
        again = msgspec.structs.replace(job, start="warm", peaks=cold.peaks)
        warm = _measured(ask("warm cache", again, cache))
        assert cold.compilation
        assert warm.compilation
        share = warm.compilation.ready_s["warm"] / cold.compilation.ready_s["cold"]
        is_sooner = share < 1 and _cached_graphs(cache) == graphs  # and nothing new was compiled
        caches = Check(name="caches", has_passed=is_sooner, figure=share)
        replays = Check(name="replays", has_passed=None)
        if machine.device == "cuda":
            found = _measured(ask("CUDA graphs", job_in("reduce-overhead"), Path(folder, "graphs"))).graphs
            count = found.replays if found else None
            replays = Check(name="replays", has_passed=bool(count), figure=count)
        twins = [
            ask(f"eager against eager, process {number + 1}", CheckSelf(job=job, beside_others=number == 0), cache)
            for number in range(profile.processes)
        ]
    sampled = [each for each in twins if isinstance(each, SelfChecked)]
    return Selfcheck(
        schema=SCHEMA,
        taken_at=datetime.now(UTC).replace(microsecond=0),
        environment=machine.environment,
        device=machine.device,
        model=job.cell.model,
        checks=(_eager_against_eager(sampled), *sampled[0].checks, replays, caches),
    )


def _measured(answer: Answer) -> Measurement:
    assert isinstance(answer, CellOutcome)
    if answer.measurement is None or answer.measurement.compiled is None:
        raise AtlasError(f"the model cannot be measured: {answer.reason}", remedy="python -m bench doctor")
    return answer.measurement


def _eager_against_eager(sampled: Sequence[SelfChecked]) -> Check:
    """A model compared with itself shows no difference: else the method would find one everywhere."""
    found = speedup([each.measurement for each in sampled])
    low, high = (None if math.isnan(end) else end for end in (found.low, found.high))
    has_passed = found.low <= 1 <= found.high and abs(found.value - 1) <= BOUND
    return Check(name="eager_against_eager", has_passed=has_passed, figure=found.value, low=low, high=high)


def _cached_graphs(cache: Path) -> set[Path]:
    return set(Path(cache, "inductor", "fxgraph").glob("*/*/*"))
