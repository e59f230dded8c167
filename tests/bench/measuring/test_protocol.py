"""The whole protocol on simulated clocks with a known speedup: warm-up, rounds, stopping, intervals, verdicts.

The weekly run makes two thousand runs, which leave less to chance.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import pytest
from conftest import THOROUGH

from bench.measuring.rounds import Subject, sample, warm_up
from bench.plans.profiles import STANDARD, Sampling
from bench.records.record import Measurement, Samples
from bench.statistics.cells import Cells, speedup
from bench.statistics.intervals import Estimate

RUNS = 2000 if THOROUGH else 300

SHORT = msgspec.structs.replace(STANDARD.sampling, max_s=4.0, warmup_cap_s=1.0, min_s=1.0)
"""The same rules with fewer calls, since simulated calls are slow."""


@dataclass(frozen=True)
class SimulatedMachine:
    """How a simulated machine disturbs calls of `eager_ms` and `eager_ms / truth`, as shares of a latency."""

    truth: float
    eager_ms: float = 60.0
    noise: float = 0.03  # log-normal, call by call
    outliers: float = 0.01  # share of calls that take up to three times as long
    drift: float = 0.05  # over a process, both variants alike
    step: float = 0.10  # at one moment in every third process, both variants alike
    offset: float = 0.06  # between processes, both variants alike
    own_offset: float = 0.01  # between processes, for each variant independently

    def process(self, rng: random.Random, sampling: Sampling = SHORT) -> Measurement:
        """Measure one new process."""
        now_ns = 0
        common = rng.gauss(0, self.offset)
        step_at = rng.uniform(0, 10) if rng.random() < 1 / 3 else math.inf
        slope = rng.uniform(-self.drift, self.drift) / 10

        def subject(latency_ms: float) -> Subject:
            base = latency_ms * math.exp(common + rng.gauss(0, self.own_offset))

            def call(_number: int) -> None:
                nonlocal now_ns
                seconds = now_ns / 1e9
                factor = rng.lognormvariate(0, self.noise) * (1 + slope * seconds)
                factor *= 1 + self.step if seconds > step_at else 1
                factor *= rng.uniform(1, 3) if rng.random() < self.outliers else 1
                now_ns += round(base * factor * 1e6)

            return Subject(call)

        variants = [subject(self.eager_ms), subject(self.eager_ms / self.truth)]
        for variant in variants:
            warm_up(variant, sampling, lambda: now_ns)
        *_, last = sample(variants, sampling, rng=rng, clock=lambda: now_ns)
        eager, compiled = (Samples(rounds_ms=tuple(variant.rounds_ms)) for variant in variants)
        return Measurement(eager=eager, compiled=compiled, stop_reason=last.stop_reason)

    def cell(self, rng: random.Random, processes: int = STANDARD.processes) -> list[Measurement]:
        """Measure all processes of one cell."""
        return [self.process(rng) for _ in range(processes)]


def cells(machine: SimulatedMachine, seed: int, runs: int = RUNS) -> Iterator[list[Measurement]]:
    rng = random.Random(seed)
    return (machine.cell(rng) for _ in range(runs))


def chance(share: float) -> float:
    """Return 2.5 standard deviations of a share in `RUNS` runs, the allowance for chance.

    Seeds are fixed, so that the runs give the same result on every machine.
    """
    return 2.5 * math.sqrt(share * (1 - share) / RUNS)


def holds(estimate: Estimate, truth: float) -> bool:
    return estimate.low <= truth <= estimate.high


@pytest.mark.parametrize(
    "machine", [SimulatedMachine(truth=1.5), SimulatedMachine(truth=1.02, noise=0.08, own_offset=0.03)]
)
def test_the_interval_holds_the_truth_as_often_as_it_claims(machine: SimulatedMachine) -> None:
    share = sum(holds(speedup(cell), machine.truth) for cell in cells(machine, seed=1)) / RUNS
    assert 0.93 - chance(0.93) <= share <= 0.97 + chance(0.97)


def test_eager_against_itself_is_called_different_once_in_a_hundred_at_most() -> None:
    wrong = sum(
        str(Cells([cell]).verdicts[0]) in {"faster", "slower"} for cell in cells(SimulatedMachine(truth=1.0), seed=5)
    )
    assert wrong / RUNS <= 0.01 + chance(0.01)
