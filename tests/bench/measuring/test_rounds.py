"""Sampling with a simulated clock that only calls advance."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench.measuring.rounds import End, Subject, sample, warm_up
from bench.plans.profiles import PROFILES, Sampling

Latency = Callable[[int], float]
"""Takes the number of a call and returns its latency in ms."""


class World:
    """A clock, and variants whose calls advance it by the given latencies."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.called: list[str] = []

    def clock(self) -> int:
        return self.now_ns

    def variant(self, name: str, latency_ms: Latency) -> Subject:
        def call(number: int) -> None:
            self.called.append(name)
            self.now_ns += round(latency_ms(number) * 1e6)

        return Subject(call)


def noisy(latency_ms: float, seed: int, spread: float = 0.02) -> Latency:
    rng = random.Random(seed)
    return lambda _: latency_ms * rng.lognormvariate(0, spread)


def run(world: World, subjects: list[Subject], sampling: Sampling, **options: Any) -> End:
    for subject in subjects:
        warm_up(subject, sampling, world.clock)
    return sample(subjects, sampling, rng=random.Random(0), clock=world.clock, **options)


def test_warm_up_lasts_until_the_latency_has_settled() -> None:
    world = World()
    subject = world.variant("eager", lambda number: 5.0 if number >= 40 else 25.0 - 0.5 * number)
    warm_up(subject, Sampling(warmup_s=0.0), world.clock)
    assert len(subject.warmup_ms) >= 45  # both windows are after the drop
    assert subject.warmup_ms[-1] == 5.0


def test_warm_up_takes_enough_calls_and_enough_time() -> None:
    world = World()
    fast, slow = world.variant("fast", lambda _: 1.0), world.variant("slow", lambda _: 500.0)
    for subject in (fast, slow):
        warm_up(subject, Sampling(), world.clock)
    assert sum(fast.warmup_ms) >= 1000
    assert len(slow.warmup_ms) >= 10


def test_rounds_pair_the_variants_in_random_order() -> None:
    world = World()
    variants = [world.variant("e", noisy(40, 1)), world.variant("c", noisy(30, 2))]
    rounds = run(world, variants, Sampling()).number
    order = "".join(world.called[-4 * rounds :])
    pairs = [order[index : index + 4] for index in range(0, len(order), 4)]  # the unsampled call, and the block
    assert set(pairs) == {"eecc", "ccee"}
    assert 0.3 < pairs.count("eecc") / len(pairs) < 0.7
    assert len(variants[0].rounds_ms) == len(variants[1].rounds_ms) == rounds == len(pairs)


def test_blocks_of_fast_models_last_about_twenty_milliseconds() -> None:
    world = World()
    variants = [world.variant("eager", lambda _: 2.0), world.variant("compiled", lambda _: 0.5)]
    run(world, variants, Sampling())
    assert [len(variant.rounds_ms[0]) for variant in variants] == [10, 40]


def test_what_the_change_of_variants_costs_is_in_no_sample() -> None:
    world = World()
    before = ""

    def latency(name: str) -> Latency:
        def call(number: int) -> float:
            nonlocal before
            changed, before = before != name, name
            batches.append(number % 4)
            return 50.0 if changed else 40.0

        return call

    batches: list[int] = []
    variants = [world.variant(name, latency(name)) for name in ("eager", "compiled")]
    end = run(world, variants, Sampling(max_s=10))
    assert {calls for variant in variants for calls in variant.rounds_ms} == {(40.0,)}
    assert len(variants[0].lead_ms) == end.number
    in_blocks = batches[-4 * end.number :][1::2]  # of both variants, which use the batches in the same order
    counts = [in_blocks.count(batch) for batch in range(4)]
    assert max(counts) - min(counts) <= 2


def test_enough_rounds_that_took_long_enough_end_a_process() -> None:
    sampling = Sampling(max_rounds=10, min_s=1.0, max_s=10.0)
    for latency_ms, number in ((100.0, 10), (10.0, 34)):  # of 10 ms, a round has three calls of each variant
        world = World()
        variants = [
            world.variant("eager", noisy(latency_ms, 1, 0.3)),
            world.variant("compiled", noisy(latency_ms, 2, 0.3)),
        ]
        last = run(world, variants, sampling)
        assert last.stop_reason == "rounds"
        assert last.number == pytest.approx(number, abs=4)


def test_more_than_two_take_turns_and_one_alone_needs_no_call_before_its_block() -> None:
    world = World()
    several = [world.variant(name, lambda _: 30.0) for name in "abcd"]
    run(world, several, Sampling(max_rounds=5, min_s=0.0))
    assert {len(each.rounds_ms) for each in several} == {5}
    alone = world.variant("e", lambda _: 30.0)
    run(world, [alone], Sampling(max_rounds=5, min_s=0.0))
    assert (len(alone.rounds_ms), alone.lead_ms) == (5, [()] * 5)


def test_the_protocol_of_2023_is_one_block_of_300_calls_on_one_image() -> None:
    world = World()
    sampling = PROFILES["paper-2023"].sampling
    variants = [world.variant("eager", noisy(10, 1)), world.variant("compiled", noisy(7, 2))]
    end = run(world, variants, sampling)
    assert (end.number, end.stop_reason) == (1, "rounds")
    assert [len(variant.rounds_ms[0]) for variant in variants] == [300, 300]
    assert sampling.inputs == 1


def test_throttled_rounds_are_repeated_and_counted_when_there_are_too_many() -> None:
    world = World()
    variants = [world.variant("eager", noisy(50, 1)), world.variant("compiled", noisy(40, 2))]
    hot = iter(["heat"] * 4 + [None] * 10_000)
    end = run(world, variants, Sampling(max_s=5, max_repeats=3), disturbance=lambda: next(hot))
    assert end.disturbed == {"heat": 1}
    assert len(variants[0].rounds_ms) == len(variants[1].rounds_ms) == end.number


def test_what_the_machine_does_to_both_variants_cancels_in_the_ratio() -> None:
    """The machine slows down by half in the middle, which changes latencies but hardly their ratio."""
    world = World()

    def machine(latency_ms: float, seed: int) -> Latency:
        noise = noisy(latency_ms, seed)
        return lambda number: noise(number) * (1.0 if world.now_ns < 8e9 else 1.5)

    variants = [world.variant("eager", machine(60, 1)), world.variant("compiled", machine(40, 2))]
    run(world, variants, Sampling(max_s=15))
    assert np.median(variants[0].medians_ms() / variants[1].medians_ms()) == pytest.approx(1.5, rel=0.01)
