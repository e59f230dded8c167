"""Sampling: warm up, interleave, stop. Two callables enter, raw samples leave; no torch, and the clock can be replaced.

A `Subject` is one variant: a call runs forward and waits until the device has finished. Rounds of an eager block and a
compiled block alternate in random order, so that what the machine does meanwhile hits both variants alike; their ratio
is
taken round by round. What the change of variants itself costs falls on a call before each block, which is no sample: a
program that runs one variant would not see it. The constants, each with its reason, are those of
`bench.plans.profiles.Sampling`.

    python -m bench run --profile quick --model ViT
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.plans.profiles import Sampling
from bench.statistics.intervals import Precision, has_converged, is_precise

Clock = Callable[[], int]
"""Nanoseconds; `time.perf_counter_ns` unless a test replaces it."""

Call = Callable[[int], object]
"""Run forward on the batch of that number (taken modulo the batches there are) and wait for the device."""


@dataclass
class Subject:
    """One variant under measurement: its call, and what has been seen of it. Latencies in ms."""

    call: Call
    warmup_ms: list[float] = field(default_factory=list)
    rounds_ms: list[tuple[float, ...]] = field(default_factory=list)
    lead_ms: list[tuple[float, ...]] = field(default_factory=list)  # before the block of each round
    repeated_s: float = 0.0  # in calls of rounds that were repeated
    faults: int = 0
    next_batch: int = 0

    @property
    def samples(self) -> int:
        return sum(map(len, self.rounds_ms))

    @property
    def seconds(self) -> float:
        """In calls of rounds, of the blocks and before them."""
        return sum(map(sum, (*self.rounds_ms, *self.lead_ms))) / 1e3

    def forget_rounds(self) -> None:
        """Before it is sampled again."""
        self.rounds_ms.clear()
        self.lead_ms.clear()
        self.repeated_s = 0.0
        self.faults = 0

    def medians_ms(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The median of each round, shape (rounds,)."""
        return np.array([statistics.median(calls) for calls in self.rounds_ms])


def timed(subject: Subject, calls: int, clock: Clock = time.perf_counter_ns) -> tuple[float, ...]:
    """Latencies in ms of that many calls, one after the other, going through the batches in turn."""
    latencies = []
    for _ in range(calls):
        start = clock()
        subject.call(subject.next_batch)
        latencies.append((clock() - start) / 1e6)
        subject.next_batch += 1
    return tuple(latencies)


def warm_up(subject: Subject, sampling: Sampling, clock: Clock = time.perf_counter_ns) -> None:
    """Call until the latency has settled: enough calls, enough time, two adjacent windows that agree; or the cap."""
    while not _is_warm(subject.warmup_ms, sampling):
        subject.warmup_ms.extend(timed(subject, 1, clock))


def _is_warm(latencies_ms: list[float], sampling: Sampling) -> bool:
    seconds = sum(latencies_ms) / 1e3
    if seconds >= sampling.warmup_cap_s:
        return True
    return (
        len(latencies_ms) >= sampling.warmup_calls
        and seconds >= sampling.warmup_s
        and has_converged(latencies_ms, sampling.warmup_window, sampling.warmup_tolerance)
    )


@dataclass(frozen=True)
class Round:
    """Progress: how many rounds are done, and why sampling stops after this one."""

    number: int
    stop_reason: str | None = None
    disturbed: int = 0  # rounds that had to be kept although the device was throttled or used by others


def sample(
    subjects: Sequence[Subject],
    sampling: Sampling,
    *,
    rng: random.Random,
    clock: Clock = time.perf_counter_ns,
    faults: Callable[[], int] = lambda: 0,
    is_disturbed: Callable[[], bool] = lambda: False,
) -> Iterator[Round]:
    """Take rounds until a reason to stop, yielding after each; samples gather in the subjects: eager and compiled, or
    eager alone.

    `faults` reads a running count of page faults, `is_disturbed` asks the device after each round; a disturbed round is
    repeated, as long as `max_repeats` and `max_s` allow, and then kept and counted.
    """
    blocks = {id(subject): _block_length(subject, sampling) for subject in subjects}
    leads = _leads(subjects, sampling)
    start, repeats, disturbed, number, reason = clock(), 0, 0, 0, None
    while reason is None:
        made = {}
        for subject in rng.sample(subjects, len(subjects)):
            subject.next_batch -= leads  # those that had their turn, so that all batches get into blocks
            subject.lead_ms.append(timed(subject, leads, clock))
            before = faults()
            subject.rounds_ms.append(timed(subject, blocks[id(subject)], clock))
            made[id(subject)] = faults() - before
        seconds = (clock() - start) / 1e9
        if is_disturbed():
            if repeats < sampling.max_repeats and seconds < sampling.max_s:
                repeats += 1
                for subject in subjects:
                    subject.repeated_s += sum(subject.rounds_ms.pop() + subject.lead_ms.pop()) / 1e3
                continue
            disturbed += 1
        for subject in subjects:
            subject.faults += made[id(subject)]
        number += 1
        reason = _stop_reason(subjects, sampling, number, seconds)
        yield Round(number, reason, disturbed)


def expected_rounds(subjects: Sequence[Subject], sampling: Sampling) -> int:
    """About how many rounds there will be at most, for a progress bar."""
    leads = _leads(subjects, sampling)
    variants_ms = [_settled_ms(subject, sampling) * (leads + _block_length(subject, sampling)) for subject in subjects]
    within = max(sampling.floor_rounds, round(sampling.max_s * 1e3 / sum(variants_ms)))
    return min(within, max(sampling.max_rounds, math.ceil(sampling.min_s * 1e3 / min(variants_ms))))


def _leads(subjects: Sequence[Subject], sampling: Sampling) -> int:
    """Calls before each block: none where no other variant comes between two blocks."""
    return sampling.lead_calls if len(subjects) > 1 else 0


def _block_length(subject: Subject, sampling: Sampling) -> int:
    return sampling.block_calls or max(1, round(sampling.block_ms / _settled_ms(subject, sampling)))


def _settled_ms(subject: Subject, sampling: Sampling) -> float:
    return statistics.median(subject.warmup_ms[-sampling.warmup_window :])


def _stop_reason(subjects: Sequence[Subject], sampling: Sampling, rounds: int, seconds: float) -> str | None:
    are_long = all(subject.seconds >= sampling.min_s for subject in subjects)
    are_many = rounds >= sampling.min_rounds and all(subject.samples >= sampling.min_samples for subject in subjects)
    is_last = are_long and rounds >= sampling.max_rounds
    if are_long and are_many and (is_last or rounds % sampling.check_every == 0):
        target = Precision(sampling.speedup_precision, sampling.latency_precision)
        if is_precise([subject.medians_ms() for subject in subjects], target):
            return "precision"
    if is_last:
        return "rounds"
    return "time" if seconds >= sampling.max_s and rounds >= sampling.floor_rounds else None
