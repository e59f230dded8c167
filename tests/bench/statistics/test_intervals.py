"""Statistics: against known values, against simulated clocks whose truth is known, and properties that always hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from conftest import THOROUGH
from hypothesis import given, strategies as st

from bench.records.record import Compilation, Measurement, Samples, Start
from bench.statistics.cells import (
    Cells,
    break_even_calls,
    latency,
    process_latencies,
    saving_ms,
    speedup,
    verdict,
)
from bench.statistics.intervals import (
    Estimate,
    Precision,
    has_converged,
    is_precise,
    mean_ratio,
    median_interval,
    student,
)
from bench.statistics.processes import Processes
from bench.statistics.verdicts import SAME, judge

latencies = st.lists(st.floats(0.01, 1e5), min_size=1, max_size=20)
processes = st.lists(st.lists(latencies, min_size=1, max_size=6), min_size=1, max_size=4)


def variant(rounds: Iterable[Iterable[float]]) -> Samples:
    return Samples(rounds_ms=tuple(tuple(map(float, calls)) for calls in rounds))


def figures(variants: Sequence[Samples]) -> dict[str, float]:
    """The columns of a cell of which only eager was measured."""
    cells = Cells.of([Measurement(eager=each) for each in variants])
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


# ── Known values ────────────────────────────────────────────────────────────────────────────────────────────────────


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
    assert (found["eager_ms"], found["eager_samples"]) == (50.5, 100)
    # Ranks 50 ± 1.96·√100/2 of 100 samples: the 41st to the 60th, within one.
    assert (found["eager_low_ms"], found["eager_high_ms"]) == pytest.approx((40.7, 60.3), abs=0.1)


def test_outliers_are_kept() -> None:
    quiet, slow = [1.0, 1.1, 0.9, 1.05, 0.95] * 4, [2.0, 2.1, 1.9, 2.05, 1.95] * 4
    assert figures([variant([[x] for x in [*quiet, 9.0]]), variant([[x] for x in slow])])["eager_samples"] == 41


def test_a_speedup_is_the_ratio_of_the_latencies_beside_it() -> None:
    rng = np.random.default_rng(4)
    cell = [pair(rng.lognormal(3, 0.3, 31), rng.lognormal(2.8, 0.3, 31)) for _ in range(4)]
    eager, compiled = (latency([getattr(each, name) for each in cell]).value for name in ("eager", "compiled"))
    assert speedup(cell).value == pytest.approx(eager / compiled)
    alone = speedup(cell[:1])
    assert alone.low <= alone.value <= alone.high


def test_rounds_of_different_lengths_are_medians_of_their_own_calls() -> None:
    measurement = Measurement(eager=variant([[2, 2, 8], [3]] * 4), compiled=variant([[1], [1, 1]] * 4))
    assert speedup([measurement]).value == pytest.approx(2.5)


def test_a_single_block_is_worth_its_mean_as_in_2023() -> None:
    measurement = Measurement(eager=variant([[2, 2, 8]]), compiled=variant([[1, 1, 4]]))
    assert latency([measurement.eager]).value == pytest.approx(4.0)
    assert speedup([measurement]).value == pytest.approx(2.0)


def test_two_runs_are_compared_as_welch_says() -> None:
    import scipy.stats  # takes more than a second

    before, after = np.array([20.1, 19.8, 20.5, 20.2]), np.array([21.0, 22.4, 21.3])
    welch = scipy.stats.ttest_ind(np.log(before), np.log(after), equal_var=False)
    assert welch.df == pytest.approx(2.54, abs=0.01)  # rounded down to 2
    reach = scipy.stats.t.ppf(0.975, 2) * welch._standard_error
    centre = np.log(before).mean() - np.log(after).mean()
    expected = Estimate(*np.exp([centre, centre - reach, centre + reach]))
    assert dataclasses.astuple(mean_ratio([(before, after)])) == pytest.approx(dataclasses.astuple(expected), rel=1e-6)
    alone = scipy.stats.ttest_ind(np.log(before), np.log(after[:1])).confidence_interval(0.95)
    estimate = mean_ratio([(before, after[:1])])  # one process shows no scatter: that of the other side stands for both
    assert (estimate.low, estimate.high) == pytest.approx((math.exp(alone.low), math.exp(alone.high)), rel=1e-6)


def test_the_mean_ratio_of_several_cells_is_geometric() -> None:
    ones = np.array([1.0, 1.0])
    ratio = mean_ratio([(2 * ones, ones), (ones, 8 * ones)])
    assert dataclasses.astuple(ratio) == pytest.approx((0.5, 0.5, 0.5))


def test_a_process_is_worth_its_median_and_a_publication_its_mean() -> None:
    variants = [variant([[1.0], [2.0], [9.0]]), Samples(published_mean_ms=7.0), Samples()]
    assert process_latencies(variants).tolist() == [2.0, 7.0]


# ── Unknown stays unknown ───────────────────────────────────────────────────────────────────────────────────────────


def test_published_means_give_values_without_intervals() -> None:
    published = Measurement(eager=Samples(published_mean_ms=9.0), compiled=Samples(published_mean_ms=6.0))
    assert speedup([published]).value == 1.5
    assert math.isnan(speedup([published]).low)
    assert latency([published.eager]).value == 9.0
    assert math.isnan(figures([published.eager])["eager_samples"])
    assert saving_ms([published]).value == 3.0
    assert verdict([published]) == "faster"  # a published figure has no interval: differences beyond 5% are clear
    close = Measurement(eager=Samples(published_mean_ms=6.2), compiled=Samples(published_mean_ms=6.0))
    assert verdict([close]) == "inconclusive"


def test_no_samples_no_figures() -> None:
    assert math.isnan(latency([]).value)
    assert math.isnan(speedup([]).value)
    assert math.isnan(speedup([Measurement(eager=variant([[1.0]]))]).value)


def test_one_process_on_each_side_gives_a_ratio_without_an_interval() -> None:
    ratio = mean_ratio([(np.array([3.0]), np.array([2.0]))])
    assert ratio.value == pytest.approx(1.5)
    assert judge(ratio) == "unknown"
    assert math.isnan(mean_ratio([(np.array([]), np.array([2.0]))]).value)
    assert math.isnan(mean_ratio([]).value)


def test_five_rounds_of_one_process_have_no_interval() -> None:
    low, high = median_interval(np.arange(5.0))
    assert math.isnan(low)
    assert math.isnan(high)


# ── Break-even ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_break_even_is_cost_over_saving() -> None:
    measurement = pair([30.0] * 9, [20.0] * 9, cold_s=5.0, warm_s=1.0)
    assert break_even_calls([measurement]) == Estimate(500.0, 500.0, 500.0)
    assert Cells.of([measurement]).break_even("warm")[0].tolist() == [100.0]


def test_what_is_not_faster_never_pays_back() -> None:
    assert break_even_calls([pair([20.0] * 9, [30.0] * 9, cold_s=5.0)]).value == math.inf


def test_an_uncertain_saving_pays_back_at_an_uncertain_time() -> None:
    estimate = break_even_calls([pair([eager] * 9, [20.0] * 9, cold_s=5.0) for eager in (25.0, 26.0, 27.0)])
    assert 0 < estimate.low < estimate.value < estimate.high < math.inf


def test_nobody_knows_when_an_unclear_gain_pays_back() -> None:
    cell = [pair([eager] * 9, [20.0] * 9, cold_s=5.0) for eager in (19.0, 22.0, 24.0)]
    assert verdict(cell) == "inconclusive"
    assert math.isnan(break_even_calls(cell).value)


def test_an_unmeasured_cost_has_no_break_even() -> None:
    assert math.isnan(break_even_calls([pair([30.0] * 9, [20.0] * 9)]).value)


# ── Verdicts and stopping ───────────────────────────────────────────────────────────────────────────────────────────


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
    assert judge(Estimate((low + high) / 2, low, high)) == expected


def test_sampling_stops_when_all_three_intervals_are_narrow() -> None:
    rng = np.random.default_rng(1)
    eager, compiled = rng.lognormal(0.0, 0.01, 200), rng.lognormal(-0.3, 0.01, 200)
    assert is_precise([eager, compiled], Precision())
    assert is_precise([eager], Precision())
    assert not is_precise([eager[:12], compiled[:12]], Precision())
    drifting = np.linspace(1.0, 1.3, 200)  # the ratio stays exact, the latencies do not
    assert not is_precise([eager * drifting, compiled * drifting], Precision())


def test_warm_up_ends_when_two_windows_agree() -> None:
    assert not has_converged([3.0, 2.0, 1.5, 1.2, 1.1], 5, 0.05)
    assert not has_converged([3.0, 2.0, 1.5, 1.0, 1.0, 1.0], 3, 0.05)
    assert has_converged([9.0, 1.01, 1.0, 1.02, 1.0, 1.0, 0.99], 3, 0.05)


# ── Simulated clocks ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("k", [3, 5, 8] if THOROUGH else [3, 8])
def test_intervals_over_processes_cover_the_truth(k: int) -> None:
    rng, truth, runs = np.random.default_rng(k), 1.5, 1000
    processes = Processes([one for _ in range(runs) for one in simulated(rng, truth, k=k, between=0.04, within=0.03)])
    cells = Cells(processes, np.arange(runs * k).reshape(runs, k), np.full(runs, np.nan))
    _, low, high = cells.speedup
    assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 0.97


def test_resampling_three_processes_would_cover_far_less() -> None:
    """The reason for Student's t: the hierarchical bootstrap misses its 95% by a wide margin here."""
    rng, truth, runs, covered = np.random.default_rng(0), 0.0, 400 if THOROUGH else 200, 0
    for _ in range(runs):
        process = truth + rng.normal(0, 0.04, 3)
        rounds = process[:, None] + rng.normal(0, 0.04, (3, 40))
        chosen = rounds[rng.integers(0, 3, (500, 3))]
        within = rng.integers(0, 40, (500, 3, 40))
        means = np.median(np.take_along_axis(chosen, within, axis=2), axis=2).mean(axis=1)
        low, high = np.percentile(means, (2.5, 97.5))
        covered += low <= truth <= high
    assert covered / runs < 0.87


def test_the_interval_of_one_process_covers_its_median() -> None:
    rng, runs = np.random.default_rng(5), 2000
    for n in (8, 30, 101):
        bounds = [median_interval(rng.lognormal(0, 0.2, n)) for _ in range(runs)]
        covered = sum(low <= 1 <= high for low, high in bounds) / runs
        assert (
            0.93 <= covered <= (0.985 if n == 8 else 0.97)
        )  # eight ranks are coarse: the interval errs to the wide side


def test_eager_against_itself_is_rarely_called_different() -> None:
    rng, runs = np.random.default_rng(7), 500
    processes = Processes([one for _ in range(runs) for one in simulated(rng, 1.0, k=5, between=0.01, within=0.03)])
    cells = Cells(processes, np.arange(runs * 5).reshape(runs, 5), np.full(runs, np.nan))
    assert np.isin(cells.verdicts, ("faster", "slower")).mean() <= 0.015


@pytest.mark.parametrize(
    ("sizes", "scatter"),
    [((3, 3), (0.05, 0.05)), ((3, 5), (0.01, 0.08)), ((5, 3), (0.02, 0.06)), ((1, 4), (0.04, 0.04))],
)
def test_intervals_of_two_runs_cover_the_truth(sizes: tuple[int, int], scatter: tuple[float, float]) -> None:
    """95% intervals hold the true ratio in about 95% of pairs of runs, whichever side scatters more."""
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(2000):
        before, after = (np.exp(rng.normal(0, s, n)) for n, s in zip(sizes, scatter, strict=True))
        ratio = mean_ratio([(before * 1.1, after)])
        held += ratio.low <= 1.1 <= ratio.high
    assert 0.93 <= held / 2000 <= 0.99


def test_intervals_of_a_geometric_mean_cover_the_truth() -> None:
    rng = np.random.default_rng(9)
    held = 0
    for _ in range(1000):
        cells = [(1.2 * np.exp(rng.normal(0, s, 3)), np.exp(rng.normal(0, s, 3))) for s in (0.01, 0.05, 0.03, 0.08)]
        ratio = mean_ratio(cells)
        held += ratio.low <= 1.2 <= ratio.high
    assert 0.93 <= held / 1000 <= 0.98


@pytest.mark.parametrize("sizes", [(3, 3), (2, 2), (3, 5), (1, 3)])
def test_a_run_against_its_repetition_is_rarely_called_different(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(10)
    verdicts = []
    for _ in range(4000):
        sides = [np.exp(rng.normal(0, 0.05, n)) for n in sizes]
        verdicts.append(judge(mean_ratio([(sides[0], sides[1])])))
    different = sum(each in {"faster", "slower"} for each in verdicts) / len(verdicts)
    assert different <= 0.04  # the interval covers 95%, and has to lie beyond 1% as well


# ── What always holds ───────────────────────────────────────────────────────────────────────────────────────────────


@given(processes)
def test_a_latency_lies_in_its_interval_and_loses_no_sample(rounds: list[list[list[float]]]) -> None:
    variants = [variant(process) for process in rounds]
    found = figures(variants)
    assert found["eager_samples"] == sum(len(calls) for process in rounds for calls in process)
    assert process_latencies(variants).size == len(rounds)
    if not math.isnan(found["eager_low_ms"]):
        assert found["eager_low_ms"] <= found["eager_ms"] * (1 + 1e-9)
        assert found["eager_ms"] <= found["eager_high_ms"] * (1 + 1e-9)


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
