"""Time one model in other ways: the mean of 300 calls, two methods of torch's Timer, and our rounds in one process.

Prints one line of JSON: for each way, the latency of both variants in ms and the seconds it took; and how our timing
compares with the Timer in short turns. `bench.harness.repeats` compares these with the standard profile. Imports torch.

    python -m bench.harness.baselines ResNet
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import torch
from torch.utils.benchmark import Timer

from bench.measuring.interference import CpuWatch
from bench.measuring.rounds import Subject, sample, warm_up
from bench.measuring.variants import Variants
from bench.plans.messages import Job, Recipe
from bench.plans.models import find
from bench.plans.plan import make_plan
from bench.plans.profiles import STANDARD, Sampling
from bench.records.repeatability import ALONE, IN_TURN

CALLS = 300
"""Number of calls that the 2023 guide averaged, one variant after the other."""

TIMER = "timer"
"""The way that our rounds are compared with: torch's Timer."""

TURNS, TURN_S = 12, 0.2
"""Number of turns, and seconds of each. Turns are short because the machine's speed changes within seconds."""

Way = Callable[[Subject], float]
"""Times one variant and returns its latency in ms."""

Latencies = tuple[float, float]
"""Latencies of eager and compiled in ms."""


def mean_of_300(subject: Subject) -> float:
    """Return the mean wall time of 300 calls, in ms."""
    start = time.perf_counter()
    for _ in range(CALLS):
        subject.call(0)
    return (time.perf_counter() - start) / CALLS * 1e3


def blocked_autorange(subject: Subject) -> float:
    """Return the median of torch's Timer for blocks of calls, in ms, with the threads of this process."""
    return _timer(subject).blocked_autorange(min_run_time=2.0).median * 1e3


def adaptive_autorange(subject: Subject) -> float:
    """Return the median of torch's Timer, in ms, when it stops by its own precision."""
    return _timer(subject).adaptive_autorange(min_run_time=0.5).median * 1e3


def _timer(subject: Subject) -> Timer:
    return Timer("call(0)", globals={"call": subject.call}, num_threads=torch.get_num_threads())


def interleaved(eager: Subject, compiled: Subject) -> Latencies:
    """Return the medians of our rounds, with both variants in turn in a single process."""
    watch = CpuWatch(torch.get_num_threads())
    eager_ms, compiled_ms = _sampled([eager, compiled], STANDARD.sampling, is_disturbed=watch.is_disturbed)
    return eager_ms, compiled_ms


def _sampled(subjects: Sequence[Subject], sampling: Sampling, **options: Any) -> list[float]:
    for subject in subjects:
        subject.clear_rounds()
    for _ in sample(subjects, sampling, rng=random.Random(), **options):
        pass
    return [statistics.median(subject.medians_ms()) for subject in subjects]


def _one_by_one(way: Way) -> Callable[[Subject, Subject], Latencies]:
    return lambda eager, compiled: (way(eager), way(compiled))


WAYS: dict[str, Callable[[Subject, Subject], Latencies]] = {
    **{way.__name__: _one_by_one(way) for way in (mean_of_300, blocked_autorange, adaptive_autorange)},
    "interleaved": interleaved,
}


@torch.no_grad()
def measure(label: str) -> dict[str, Any]:
    """Time both variants of one model at batch size 1 by every way, in random order; then compare ways in turns."""
    spec = find(label)
    [planned] = make_plan(STANDARD, [Recipe(model=spec.label, task=spec.task)], "cpu").planned
    variants = Variants(Job(cell=planned.cell, recipe=planned.recipe, sampling=STANDARD.sampling))
    warm_up(variants.eager, STANDARD.sampling)
    variants.compile()
    variants.warm_up_compiled()
    ways = {}
    for name in random.sample(list(WAYS), len(WAYS)):
        start = time.perf_counter()
        eager_ms, compiled_ms = WAYS[name](variants.eager, variants.compiled)
        seconds = time.perf_counter() - start
        ways[name] = {"eager_ms": eager_ms, "compiled_ms": compiled_ms, "seconds": seconds}
        if name == "interleaved":
            in_calls = sum(variant.seconds + variant.repeated_s for variant in (variants.eager, variants.compiled))
            ways[name]["overhead"] = 1 - in_calls / seconds
    return {"ways": ways, "agreements": list(agreements(variants.eager, variants.compiled))}


def agreements(eager: Subject, compiled: Subject) -> Iterator[dict[str, Any]]:
    """Compare our timing of one variant alone with torch's Timer, and of both variants in turn with one alone.

    Yields the median ratios over all `TURNS`. Each turn takes all ways in random order.
    """
    variants = {"eager": eager, "compiled": compiled}
    steps = [*((way, (variant,)) for way in (TIMER, ALONE) for variant in variants), (IN_TURN, tuple(variants))]
    ratios: dict[tuple[str, str], list[float]] = {}
    for _ in range(TURNS):
        turn: dict[tuple[str, str], float] = {}
        for way, names in random.sample(steps, len(steps)):
            latencies = _turn(way, [variants[name] for name in names])
            turn.update({(way, name): latency for name, latency in zip(names, latencies, strict=True)})
        for way, other in ((ALONE, TIMER), (IN_TURN, ALONE)):
            for variant in variants:
                ratios.setdefault((way, variant), []).append(turn[way, variant] / turn[other, variant])
    for (way, variant), values in ratios.items():
        yield {"way": way, "variant": variant, "ratio": statistics.median(values)}


def _turn(way: str, subjects: Sequence[Subject]) -> list[float]:
    """Return the latency of each subject in ms, after one call that absorbs the cost of switching."""
    for subject in subjects:
        subject.call(0)
    if way == TIMER:
        return [_timer(subject).blocked_autorange(min_run_time=TURN_S).median * 1e3 for subject in subjects]
    short = msgspec.structs.replace(STANDARD.sampling, max_s=TURN_S * len(subjects), floor_rounds=1)
    return _sampled(subjects, short)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1])) + "\n")
