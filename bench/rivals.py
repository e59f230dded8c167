"""What other ways of timing report about one model: the mean of 300 calls, and the three ways of torch's Timer.

One process, one model: the line of JSON on standard output has for each way the latency of both arms in ms and the
seconds it spent calling them. `bench.quality` set these beside what this harness reports. Imports torch.

    python -m bench.rivals ResNet
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch.utils.benchmark import Timer

from bench.job import Job, Recipe
from bench.measure import Subject, sample, warm_up
from bench.models import find
from bench.plan import make_plan
from bench.profiles import STANDARD
from bench.trial import Arms

CALLS = 300
"""Of the 2023 guide: the mean of so many calls, one arm after the other."""

Way = Callable[[Subject], float]
"""Times one arm and gives its latency in ms."""

Latencies = tuple[float, float]
"""Of eager and of compiled, in ms."""


def mean_of_300(subject: Subject) -> float:
    """The mean of 300 calls on the wall clock."""
    start = time.perf_counter()
    for _ in range(CALLS):
        subject.call(0)
    return (time.perf_counter() - start) / CALLS * 1e3


def blocked_autorange(subject: Subject) -> float:
    """The median that torch's Timer gives for blocks of calls, with the threads of this process."""
    return _timer(subject).blocked_autorange(min_run_time=2.0).median * 1e3


def adaptive_autorange(subject: Subject) -> float:
    """The median that torch's Timer gives when it stops by its own precision."""
    return _timer(subject).adaptive_autorange(min_run_time=0.5).median * 1e3


def alone(subject: Subject) -> float:
    """The median of our rounds of this arm alone: what interleaving might shift."""
    return _sampled(subject)[0]


def _timer(subject: Subject) -> Timer:
    return Timer("call(0)", globals={"call": subject.call}, num_threads=torch.get_num_threads())


def interleaved(eager: Subject, compiled: Subject) -> Latencies:
    """The medians of our rounds of both arms in turn."""
    eager_ms, compiled_ms = _sampled(eager, compiled)
    return eager_ms, compiled_ms


def _sampled(*subjects: Subject) -> list[float]:
    for subject in subjects:
        subject.rounds_ms.clear()
    for _ in sample(subjects, STANDARD.sampling, rng=random.Random()):
        pass
    return [statistics.median(subject.medians_ms()) for subject in subjects]


def _one_by_one(way: Way) -> Callable[[Subject, Subject], Latencies]:
    return lambda eager, compiled: (way(eager), way(compiled))


WAYS: dict[str, Callable[[Subject, Subject], Latencies]] = {
    **{way.__name__: _one_by_one(way) for way in (mean_of_300, blocked_autorange, adaptive_autorange, alone)},
    "interleaved": interleaved,
}


@torch.no_grad()
def measure(label: str) -> dict[str, dict[str, float]]:
    """Both arms of one model at batch size 1 by every way, in random order, after the same warm-up."""
    spec = find(label)
    [planned] = make_plan(STANDARD, [Recipe(model=spec.label, task=spec.task)], "cpu").planned
    arms = Arms(Job(cell=planned.cell, recipe=planned.recipe, sampling=STANDARD.sampling))
    warm_up(arms.eager, STANDARD.sampling)
    arms.compile()
    arms.warm_up_compiled()
    found = {}
    for name in random.sample(list(WAYS), len(WAYS)):
        start = time.perf_counter()
        eager_ms, compiled_ms = WAYS[name](arms.eager, arms.compiled)
        seconds = time.perf_counter() - start
        found[name] = {"eager_ms": eager_ms, "compiled_ms": compiled_ms, "seconds": seconds}
        if name == "interleaved":
            found[name]["overhead"] = 1 - (arms.eager.seconds + arms.compiled.seconds) / seconds
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1])) + "\n")
