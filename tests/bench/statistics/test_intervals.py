"""Statistics: against known values, against simulated clocks whose truth is known, and properties that always hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import pytest
from conftest import THOROUGH
from hypothesis import given, strategies as st

from bench.records.record import Compilation, Measurement, Samples, Start
from bench.statistics.cells import Cells, only, speedup
from bench.statistics.intervals import (
    Estimate,
    Means,
    difference,
    has_converged,
    median_interval,
    over_processes,
    student,
)
from bench.statistics.processes import VARIANTS
from bench.statistics.verdicts import SAME, verdicts


def variant(rounds: Iterable[Iterable[float]]) -> Samples:
    return Samples(rounds_ms=tuple(tuple(map(float, calls)) for calls in rounds))


def figures(variants: Sequence[Samples]) -> dict[str, float]:
    """The columns of a cell of which only eager was measured."""
    cells = Cells([[Measurement(eager=each) for each in variants]])
    return {name: float(values[0]) for name, values in cells.figures().items()}


def pair(
    eager: Iterable[float], compiled: Iterable[float], cold_s: float | None = None, warm_s: float | None = None
) -> Measurement:
    ready: dict[Start, float | None] = {"cold": cold_s, "warm": warm_s}
    return Measurement(
        eager=variant([[x] for x in eager]),
        compiled=variant([[x] for x in compiled]),
        compilation=Compilation(ready_s={start: each for start, each in ready.items() if each is not None}),
    )


def simulated(
    rng: np.random.Generator, truth: float, *, k: int, between: float, within: float, rounds: int = 40
) -> list[Measurement]:
    """k processes whose variants share a machine that drifts, and differ by a log-normal offset of their own."""
    measurements = []
    for _ in range(k):
        drift = np.linspace(0, rng.normal(0, 0.05), rounds)
        eager = np.exp(drift + rng.normal(0, within, rounds))
        compiled = np.exp(drift + rng.normal(0, within, rounds) + rng.normal(0, between)) / truth
        measurements.append(pair(eager, compiled))
    return measurements


@pytest.mark.parametrize(
    ("freedom", "confidence", "expected"),
    [(1, 0.95, 12.7062), (2, 0.95, 4.30265), (4, 0.95, 2.77645), (30, 0.95, 2.04227), (2, 0.99, 9.92484)],
)
def test_students_quantiles_are_those_of_the_tables(freedom: int, confidence: float, expected: float) -> None:
    assert student(freedom, confidence) == pytest.approx(expected, rel=1e-4)


def test_three_processes_give_the_t_interval_of_their_log_medians() -> None:
    estimate = speedup([pair([factor] * 7, [1.0] * 7) for factor in (1.0, 1.1, 1.21)])
    assert estimate.value == pytest.approx(1.1)
    reach = 4.30265 * math.log(1.1) / math.sqrt(3)  # the three logarithms are 0, ln 1.1 and 2 ln 1.1
    assert estimate.low == pytest.approx(1.1 * math.exp(-reach), rel=1e-4)
    assert estimate.high == pytest.approx(1.1 * math.exp(reach), rel=1e-4)


def test_the_latency_of_known_samples() -> None:
    found = figures([variant([[value] for value in range(1, 101)])])
    assert (found["eager_ms"], found["eager_samples"]) == pytest.approx((50.5, 100))
    # Ranks 50 ± 1.96·√100/2 of 100 samples: the 41st to the 60th, within one.
    assert (found["eager_low_ms"], found["eager_high_ms"]) == pytest.approx((40.7, 60.3), abs=0.1)


def test_a_speedup_is_the_ratio_of_the_latencies_beside_it() -> None:
    rng = np.random.default_rng(4)
    cell = [pair(rng.lognormal(3, 0.3, 31), rng.lognormal(2.8, 0.3, 31)) for _ in range(4)]
    eager, compiled = (only(Cells([cell]).latency(name)).value for name in VARIANTS)
    assert speedup(cell).value == pytest.approx(eager / compiled)
    alone = speedup(cell[:1])
    assert alone.low <= alone.value <= alone.high


def test_rounds_of_different_lengths_are_medians_of_their_own_calls() -> None:
    measurement = Measurement(eager=variant([[2, 2, 8], [3]] * 4), compiled=variant([[1], [1, 1]] * 4))
    assert speedup([measurement]).value == pytest.approx(2.5)


def test_a_single_block_is_worth_its_mean_as_in_2023() -> None:
    measurement = Measurement(eager=variant([[2, 2, 8]]), compiled=variant([[1, 1, 4]]))
    assert only(Cells([[measurement]]).latency("eager")).value == pytest.approx(4.0)
    assert speedup([measurement]).value == pytest.approx(2.0)


def test_published_means_give_values_without_intervals() -> None:
    published = Measurement(eager=Samples(published_mean_ms=9.0), compiled=Samples(published_mean_ms=6.0))
    assert speedup([published]).value == 1.5
    assert math.isnan(speedup([published]).low)
    assert only(Cells([[published]]).latency("eager")).value == 9.0
    assert math.isnan(figures([published.eager])["eager_samples"])
    assert Cells([[published]]).saving[0].tolist() == [3.0]
    assert Cells([[published]]).verdicts.tolist() == [
        "faster"
    ]  # a published figure has no interval: differences beyond 5% are clear
    close = Measurement(eager=Samples(published_mean_ms=6.2), compiled=Samples(published_mean_ms=6.0))
    assert Cells([[close]]).verdicts.tolist() == ["inconclusive"]


def test_break_even_is_cost_over_saving() -> None:
    measurement = pair([30.0] * 9, [20.0] * 9, cold_s=5.0, warm_s=1.0)
    assert only(Cells([[measurement]]).break_even("cold")) == Estimate(500.0, 500.0, 500.0)
    assert Cells([[measurement]]).break_even("warm")[0].tolist() == [100.0]


def test_what_is_not_faster_never_pays_back() -> None:
    assert only(Cells([[pair([20.0] * 9, [30.0] * 9, cold_s=5.0)]]).break_even("cold")).value == math.inf


def test_nobody_knows_when_an_unclear_gain_pays_back() -> None:
    cell = [pair([eager] * 9, [20.0] * 9, cold_s=5.0) for eager in (19.0, 22.0, 24.0)]
    assert Cells([cell]).verdicts.tolist() == ["inconclusive"]
    assert math.isnan(only(Cells([cell]).break_even("cold")).value)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.02, 1.05, "faster"),
        (0.90, 0.97, "slower"),
        (1 / (1 + SAME), 1 + SAME, "same"),
        (1.001, 1.009, "same"),
        (0.98, 1.03, "inconclusive"),
        (1.005, 1.03, "inconclusive"),  # a reader who sees 1.00–1.03 would not call it clear
        (0.97, 0.995, "inconclusive"),
        (math.nan, math.nan, "unknown"),
    ],
)
def test_verdicts(low: float, high: float, expected: str) -> None:
    assert verdicts(np.array([low]), np.array([high])).tolist() == [expected]


def test_warm_up_ends_when_two_windows_agree() -> None:
    assert not has_converged([3.0, 2.0, 1.5, 1.2, 1.1], 5, 0.05)
    assert not has_converged([3.0, 2.0, 1.5, 1.0, 1.0, 1.0], 3, 0.05)
    assert has_converged([9.0, 1.01, 1.0, 1.02, 1.0, 1.0, 0.99], 3, 0.05)


@pytest.mark.parametrize("k", [3, 5, 8] if THOROUGH else [3, 8])
def test_intervals_of_cells_that_stand_alone_cover_the_truth(k: int) -> None:
    rng, truth, number = np.random.default_rng(k), 1.5, 1000
    cells = Cells([simulated(rng, truth, k=k, between=0.04, within=0.03) for _ in range(number)], runs=range(number))
    _, low, high = cells.speedup
    assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 0.97


@pytest.mark.parametrize("spread", [0.0, 0.4, 1.0])
def test_a_few_processes_borrow_scatter_from_the_other_cells_of_their_run(spread: float) -> None:
    """Twelve cells of three processes, whose scatter differs little or much: intervals hold the truth as they claim,
    and are narrower than those of cells that stand alone, by as much as the scatter is common."""
    rng, truth, number = np.random.default_rng(3), 1.5, 100
    several = [
        simulated(rng, truth, k=3, between=0.03 * math.exp(rng.normal(0, spread)), within=0.01, rounds=9)
        for _ in range(12 * number)
    ]
    runs = np.repeat(np.arange(number), 12).tolist()
    (_, low, high), (_, lone_low, lone_high) = (
        Cells(several, runs=each).speedup for each in (runs, range(len(several)))
    )
    assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 0.975
    narrower = np.median(high - low) / np.median(lone_high - lone_low)
    assert narrower < (0.65 if spread < 0.5 else 1.0)


def test_six_processes_and_small_runs_borrow_nothing() -> None:
    rng = np.random.default_rng(4)
    for k, number in ((6, 12), (3, 5)):
        several = [simulated(rng, 1.5, k=k, between=0.03, within=0.01, rounds=9) for _ in range(number)]
        pooled, alone = (Cells(several, runs=runs).speedup for runs in ([0] * number, range(number)))
        np.testing.assert_array_equal(pooled, alone)


def sides(rng: np.random.Generator, number: int, k: Sequence[int], scatter: Sequence[float]) -> list[Means]:
    """Return two sides of logarithms with the mean 0: `number` cells of k processes each."""
    return [over_processes(rng.normal(0, s, (number, n)), np.arange(number)) for s, n in zip(scatter, k, strict=True)]


@pytest.mark.parametrize(
    ("k", "scatter"), [((3, 3), (0.05, 0.05)), ((3, 5), (0.01, 0.08)), ((5, 3), (0.02, 0.06)), ((1, 4), (0.04, 0.04))]
)
def test_the_interval_of_a_difference_covers_the_truth(k: Sequence[int], scatter: Sequence[float]) -> None:
    """Whichever side scatters more, and also where a process stands alone."""
    rng, number = np.random.default_rng(8), 2000
    _, low, high = difference(*sides(rng, number, k, scatter))
    assert 0.93 <= np.mean((low <= 0) & (high >= 0)) <= 0.99
    ends = [difference(*sides(rng, 4, k, scatter), overall=True) for _ in range(number)]
    assert 0.93 <= np.mean([low[0] <= 0 <= high[0] for _, low, high in ends]) <= 0.99


def test_the_interval_of_a_difference_is_that_of_welch() -> None:
    import scipy.stats  # takes more than a second

    before, after = np.array([20.1, 19.8, 20.5, 20.2]), np.array([21.0, 22.4, 21.3])
    welch = scipy.stats.ttest_ind(before, after, equal_var=False)
    assert welch.df == pytest.approx(2.36, abs=0.2)  # rounded down to 2
    reach = scipy.stats.t.ppf(0.975, 2) * welch._standard_error
    value, low, high = difference(*(over_processes(each[None, :], np.zeros(1, int)) for each in (before, after)))
    center = before.mean() - after.mean()
    assert [value[0], low[0], high[0]] == pytest.approx([center, center - reach, center + reach], rel=1e-6)


@pytest.mark.parametrize("truth", [1.0, 1.5])
def test_variants_in_processes_of_their_own_are_compared_unpaired(truth: float) -> None:
    rng, number = np.random.default_rng(6), 1000
    several = [
        [
            msgspec.structs.replace(
                pair([math.exp(rng.normal(0, 0.05))] * 9, [math.exp(rng.normal(0, 0.02)) / truth] * 9),
                interleaved=False,
            )
            for _ in range(5)
        ]
        for _ in range(number)
    ]
    _, low, high = Cells(several, runs=range(number)).speedup
    assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 0.985
    assert np.isin(verdicts(low, high), ("faster", "slower")).mean() <= (0.03 if truth == 1.0 else 1.0)


def test_the_interval_of_one_process_covers_its_median() -> None:
    rng, runs = np.random.default_rng(5), 2000
    for n in (8, 30, 101):
        bounds = [median_interval(rng.lognormal(0, 0.2, n)) for _ in range(runs)]
        covered = sum(low <= 1 <= high for low, high in bounds) / runs
        assert (
            0.93 <= covered <= (0.985 if n == 8 else 0.97)
        )  # eight ranks are coarse: the interval errs to the wide side


@given(st.lists(st.lists(st.floats(0.1, 1e4), min_size=8, max_size=8), min_size=1, max_size=4), st.floats(0.5, 4.0))
def test_a_speedup_does_not_depend_on_the_unit_and_inverts_with_the_variants(
    eager: list[list[float]], factor: float
) -> None:
    compiled = [[value**0.5 for value in process] for process in eager]
    forward = speedup([pair(e, c) for e, c in zip(eager, compiled, strict=True)])
    scaled = speedup(
        [pair([x * factor for x in e], [x * factor for x in c]) for e, c in zip(eager, compiled, strict=True)]
    )
    assert scaled.value == pytest.approx(forward.value)
    assert scaled.low == pytest.approx(forward.low)
    assert scaled.high == pytest.approx(forward.high)


@given(st.lists(st.floats(0.1, 1e4), min_size=6, max_size=60))
def test_the_interval_of_a_median_holds_it_and_lies_in_the_sample(values: list[float]) -> None:
    low, high = median_interval(np.array(values))
    slack = 1e-9 * max(values)
    assert min(values) - slack <= low <= np.median(values) + slack
    assert np.median(values) - slack <= high <= max(values) + slack
