"""Sample latencies: warm up, interleave two variants, and stop. Imports no torch; tests replace the clock.

`sample` takes `Subject`s, such as eager and a variant, and collects raw samples in them. A round has a block of each
in random order, so that disturbances of the machine affect both alike, and speedups are ratios within a round.
An unsampled call before each block absorbs the cost of switching variants, which a program with one variant does not
have. `bench.plans.profiles.Sampling` explains the constants.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.plans.profiles import Sampling
from bench.statistics.intervals import has_converged

Clock = Callable[[], int]
"""Returns nanoseconds."""

Call = Callable[[int], object]
"""Runs forward on the batch of this number, modulo the number of batches, and waits for the device."""


@dataclass
class Subject:
    """One variant under measurement: its call and its latencies in ms."""

    call: Call
    warmup_ms: list[float] = field(default_factory=list)
    rounds_ms: list[tuple[float, ...]] = field(default_factory=list)
    lead_ms: list[tuple[float, ...]] = field(default_factory=list)  # of the unsampled calls before each block
    next_batch: int = 0
    first_s: float | None = None  # until its first output, starting it included

    @property
    def seconds(self) -> float:
        """Time in calls of all rounds, including the unsampled ones."""
        return sum(map(sum, (*self.rounds_ms, *self.lead_ms))) / 1e3

    def clear_rounds(self) -> None:
        """Discard all rounds, so that the subject can be sampled again."""
        self.rounds_ms.clear()
        self.lead_ms.clear()

    def medians_ms(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the median latency of each round, of shape (rounds,)."""
        return np.array([statistics.median(calls) for calls in self.rounds_ms])


def timed(subject: Subject, calls: int, clock: Clock = time.perf_counter_ns) -> tuple[float, ...]:
    """Return the latencies in ms of consecutive calls, which use the batches in turn."""
    latencies = []
    for _ in range(calls):
        start = clock()
        subject.call(subject.next_batch)
        latencies.append((clock() - start) / 1e6)
        subject.next_batch += 1
    return tuple(latencies)


def warm_up(subject: Subject, sampling: Sampling, clock: Clock = time.perf_counter_ns) -> None:
    """Call until the latency has settled (enough calls and time, and two adjacent windows that agree), or the cap."""
    while (seconds := sum(subject.warmup_ms) / 1e3) < sampling.warmup_cap_s:
        is_long_enough = len(subject.warmup_ms) >= sampling.warmup_calls and seconds >= sampling.warmup_s
        if is_long_enough and has_converged(subject.warmup_ms, sampling.warmup_window, sampling.warmup_tolerance):
            break
        subject.warmup_ms.extend(timed(subject, 1, clock))


@dataclass(frozen=True)
class End:
    """The end of sampling: the number of rounds, and why it stopped."""

    number: int
    stop_reason: str
    disturbed: Mapping[str, int] = field(default_factory=dict)  # rounds kept although disturbed, by what


def sample(
    subjects: Sequence[Subject],
    sampling: Sampling,
    *,
    rng: random.Random,
    clock: Clock = time.perf_counter_ns,
    disturbance: Callable[[], str | None] = lambda: None,
) -> End:
    """Sample rounds until a stop condition. `subjects`: eager and a variant, one alone, or more.

    `disturbance` is called after each round and says what disturbed it; such a round is repeated within the limits
    `max_repeats` and `max_s`, and beyond them kept and counted.
    """
    leads = sampling.lead_calls if len(subjects) > 1 else 0  # a single variant finds its own caches
    blocks = {}
    for subject in subjects:
        settled_ms = statistics.median(subject.warmup_ms[-sampling.warmup_window :])
        blocks[id(subject)] = sampling.block_calls or max(1, round(sampling.block_ms / settled_ms))
    start, repeats, number = clock(), 0, 0
    disturbed = Counter[str]()
    while True:
        for subject in rng.sample(subjects, len(subjects)):
            subject.next_batch -= leads  # so that blocks, not the calls before them, go through all batches
            subject.lead_ms.append(timed(subject, leads, clock))
            subject.rounds_ms.append(timed(subject, blocks[id(subject)], clock))
        seconds = (clock() - start) / 1e9
        if found := disturbance():
            if repeats < sampling.max_repeats and seconds < sampling.max_s:
                repeats += 1
                for subject in subjects:
                    del subject.rounds_ms[-1], subject.lead_ms[-1]
                continue
            disturbed[found] += 1
        number += 1
        if number >= sampling.max_rounds and all(subject.seconds >= sampling.min_s for subject in subjects):
            return End(number, "rounds", disturbed)
        if number >= sampling.floor_rounds and seconds >= sampling.max_s:
            return End(number, "time", disturbed)
