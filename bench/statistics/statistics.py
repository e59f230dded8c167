"""From raw samples to figures with intervals: pure functions of numpy arrays, deterministic, and no torch.

Enter `Variant`s and `Measurement`s, one per process of a cell; leave `Summary` (one variant), `Estimate` (a value and
its 95%
interval) and a `Verdict`. Published variants have only a mean or a median: they give values whose intervals are nan.

Why no bootstrap. Processes differ by more than any one of them shows (6.5% against ±1% on ResNet-50, two cores), so an
interval has to come from the differences *between* processes, and there are only three to eight of them. Resampling
three values reaches ten different sets and covers far less than it claims; Student's t over the logarithms of the
processes' own medians covers as it claims from two processes on (`tests/bench/statistics/test_statistics.py` compares
both), and what
varies within a process is contained in how its median scatters. One process alone gives the order-statistics interval
of its median: true of that process, not of the machine, and whoever shows it sees `processes == 1`.

    python -c "from bench.statistics.statistics import student; print(student(2))"
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.records.record import Measurement, Variant

Array = NDArray[np.float64]
Verdict = Literal["faster", "slower", "same", "ambiguous", "unknown"]

CONFIDENCE = 0.95
"""Of every interval that is shown."""

VERDICT_CONFIDENCE = 0.995
"""Of the interval behind a verdict: an eager model compared with itself may be called different once in a hundred."""

SAME = 0.01
"""Differences that stay below 1% are called the same: no one chooses a mode for less."""

NOISE = 0.05
"""Without an interval, differences up to 5% count as none: processes of one model differ by as much. SAME and NOISE are
those of docs/assets/javascripts/recommend.js as well."""

PERCENTILE_FLOORS = {90: 64, 95: 130, 99: 662}
"""Samples of a process from which a percentile is given: fewer leave its upper 95% bound at the largest or beyond."""

SMALLEST_SAMPLE = 6
"""Rounds below which no 95% interval of a median exists: even the whole range of five covers only 93.75%."""

OUTLIER_FENCE = 1.5
"""Tukey's fence in interquartile ranges. What lies beyond is counted, and never removed."""


@dataclass(frozen=True)
class Estimate:
    """A value and its 95% interval; nan where unknown. The interval may end in inf."""

    value: float
    low: float
    high: float


UNKNOWN = Estimate(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Summary:
    """The latency of one variant, pooled over processes. Everything in ms but the counts.

    `latency_ms` is the geometric mean of the processes' medians (the median itself, when there is one process), where
    the median of a process is that of its rounds; `low_ms` and `high_ms` are its 95% interval. Quartiles, MAD, min and
    mean are those of all samples together. Outliers are counted process by process, so that one slow process does not
    make outliers of all its samples; a percentile is the median of those of the processes, likewise.
    """

    latency_ms: float
    low_ms: float
    high_ms: float
    n: int
    processes: int
    q1: float
    q3: float
    mad: float
    min: float
    mean: float
    outliers: int
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None


# ── What a cell says ────────────────────────────────────────────────────────────────────────────────────────────────


def summarize(processes: Sequence[Variant]) -> Summary:
    """Pool the same variant of several processes. All figures are nan when no process has samples."""
    samples = [_samples(variant) for variant in processes if variant.rounds_ms]
    if not samples:
        return _published_summary(processes)
    pooled = np.concatenate(samples)
    latency = over_processes([round_medians(variant) for variant in processes if variant.rounds_ms], log=True)
    q1, median, q3 = np.percentile(pooled, (25, 50, 75))
    percentiles = {f"p{p}": _percentile(samples, p) for p in PERCENTILE_FLOORS}
    return Summary(
        latency_ms=latency.value,
        low_ms=latency.low,
        high_ms=latency.high,
        n=pooled.size,
        processes=len(samples),
        q1=float(q1),
        q3=float(q3),
        mad=float(np.median(np.abs(pooled - median))),
        min=float(pooled.min()),
        mean=float(pooled.mean()),
        outliers=sum(count_outliers(values) for values in samples),
        **percentiles,
    )


def speedup(measurements: Sequence[Measurement], confidence: float = CONFIDENCE) -> Estimate:
    """Eager ÷ compiled, over processes: each gives the median of its paired round ratios. nan without both variants,
    and
    where their batches differ.
    """
    ratios = [paired_ratios(measurement) for measurement in measurements if _is_paired(measurement)]
    if ratios:
        return over_processes(ratios, log=True, confidence=confidence)
    return _published_pair(measurements, lambda eager, compiled: eager / compiled)


def saving_ms(measurements: Sequence[Measurement]) -> Estimate:
    """What one compiled call saves, in ms: eager − compiled, paired by round. Negative where compiled is slower."""
    savings = [paired_savings(measurement) for measurement in measurements if _is_paired(measurement)]
    if savings:
        return over_processes(savings, log=False)
    return _published_pair(measurements, lambda eager, compiled: eager - compiled)


def break_even_calls(measurements: Sequence[Measurement], *, warm: bool = False) -> Estimate:
    """Calls after which compiling has paid back its time to ready, with an empty cache or (`warm`) a filled one.

    inf means never: compiled isn't faster. nan means that no process measured the cost. An interval that ends in inf
    holds a saving of nothing.
    """
    saving = saving_ms(measurements)
    costs = [measurement.compilation for measurement in measurements if measurement.compilation]
    seconds = [cost for each in costs if (cost := each.warm_s if warm else each.cold_s) is not None]
    if not seconds or math.isnan(saving.value):
        return UNKNOWN
    cost_ms = statistics.median(seconds) * 1e3
    return Estimate(*(_calls(cost_ms, per_call) for per_call in (saving.value, saving.high, saving.low)))


def _calls(cost_ms: float, saving_per_call_ms: float) -> float:
    if math.isnan(saving_per_call_ms):
        return math.nan
    return max(cost_ms, 0.0) / saving_per_call_ms if saving_per_call_ms > 0 else math.inf


def verdict(measurements: Sequence[Measurement]) -> Verdict:
    """Whether compiled is faster than eager, as far as an interval of 99.5% of the speedup can tell."""
    return judge(speedup(measurements, VERDICT_CONFIDENCE))


def judge(ratio: Estimate) -> Verdict:
    """What an interval of a ratio says: wholly within 1% of 1 is the same, wholly on one side is faster or slower."""
    if math.isnan(ratio.low) or math.isnan(ratio.high):
        return "unknown"
    if ratio.low >= 1 / (1 + SAME) and ratio.high <= 1 + SAME:
        return "same"
    return "faster" if ratio.low > 1 else "slower" if ratio.high < 1 else "ambiguous"


def direction(change: float, low: float = math.nan, high: float = math.nan) -> Literal[-1, 0, 1]:
    """What a change of the latency is shown as: -1 a gain, 1 a loss, 0 no clear difference.

    That is where its interval holds zero or stays within `SAME`, or where it has none (nan) and is within `NOISE`.
    """
    least, most = (1 + change) / (1 + NOISE), (1 + change) * (1 + NOISE)
    if not (math.isnan(low) or math.isnan(high)):
        least, most = 1 + low, 1 + high
    if least >= 1 / (1 + SAME) and most <= 1 + SAME:
        return 0
    return 1 if least > 1 else -1 if most < 1 else 0


def process_latencies(variants: Iterable[Variant]) -> Array:
    """What each process gives for its latency, in ms, shape (processes,): its median; a published one stands alone."""
    medians = [
        float(np.median(round_medians(variant))) if variant.rounds_ms else variant.published_ms for variant in variants
    ]
    return np.array([each for each in medians if each is not None], dtype=np.float64)


# ── Rounds ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def round_medians(variant: Variant) -> Array:
    """The median of each round in ms, shape (rounds,). A single round is the block of the protocol of 2023, which takes
    its mean."""
    if len(variant.rounds_ms) == 1:
        return np.array([statistics.fmean(variant.rounds_ms[0])])
    lengths = {len(calls) for calls in variant.rounds_ms}
    if len(lengths) == 1:
        return np.median(np.array(variant.rounds_ms, dtype=np.float64), axis=1)
    return np.array([statistics.median(calls) for calls in variant.rounds_ms if calls], dtype=np.float64)


def paired_ratios(measurement: Measurement) -> Array:
    """Eager ÷ compiled of each round, shape (rounds,): what slows the machine down for both variants cancels out."""
    eager, compiled = _pair(measurement)
    return eager / compiled


def paired_savings(measurement: Measurement) -> Array:
    """Eager − compiled of each round in ms, shape (rounds,)."""
    eager, compiled = _pair(measurement)
    return eager - compiled


def _pair(measurement: Measurement) -> tuple[Array, Array]:
    assert measurement.compiled is not None
    eager, compiled = round_medians(measurement.eager), round_medians(measurement.compiled)
    rounds = min(eager.size, compiled.size)
    return eager[:rounds], compiled[:rounds]


def _is_paired(measurement: Measurement) -> bool:
    if measurement.compiled is None or not measurement.is_comparable:
        return False
    return bool(measurement.eager.rounds_ms and measurement.compiled.rounds_ms)


# ── Intervals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def over_processes(rounds: Sequence[Array], *, log: bool, confidence: float = CONFIDENCE) -> Estimate:
    """The median of each process, averaged over processes, with Student's t interval.

    `rounds` has one array a process, shape (rounds,); `log` averages logarithms, for what is positive and scatters by a
    factor. One process: the interval of its median.
    """
    medians = np.array([np.median(each) for each in rounds])
    if len(medians) == 1:
        return Estimate(float(medians[0]), *median_interval(rounds[0], confidence))
    scale = np.log(medians) if log else medians
    centre = scale.mean()
    reach = student(len(medians) - 1, confidence) * scale.std(ddof=1) / math.sqrt(len(medians))
    ends = np.array([centre, centre - reach, centre + reach])
    return Estimate(*(np.exp(ends) if log else ends).tolist())


def smallest_sample(confidence: float) -> int:
    """Rounds below which no such interval of a median exists: the whole range of n covers 1 − 2^(1−n)."""
    return max(SMALLEST_SAMPLE, math.ceil(1 - math.log2(1 - confidence)))


def median_interval(rounds: Array, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of the median of one process's rounds, from order statistics: no shape of the noise is assumed.

    How many samples fall below the true median is binomial, so the interval runs between the ranks n/2 ± z√n/2,
    interpolated. nan for rounds whose whole range covers less: fewer than six, and for 99.5% fewer than nine.
    """
    n = rounds.size
    if n < smallest_sample(confidence):
        return math.nan, math.nan
    reach = statistics.NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(n) / 2
    low, high = np.interp((n / 2 - reach, n / 2 + reach), np.arange(n) + 0.5, np.sort(rounds))
    return float(low), float(high)


def mean_ratio(pairs: Sequence[tuple[Array, Array]], confidence: float = CONFIDENCE) -> Estimate:
    """Numerator ÷ denominator, its geometric mean over the pairs, with Welch's interval.

    A pair has what each process found, shapes (processes,) and (processes,), independent of each other: latencies of
    one cell in two runs. Scatter may differ from side to side; degrees of freedom are rounded down, because with three
    processes on the side that scatters more, Welch's own cover 98% where they claim 99. Where some side has one process
    alone, nothing shows its scatter, and that pooled over all sides stands for each (Student's interval); nan where
    every side has only one.
    """
    sides = [(sign, np.log(side)) for pair in pairs for sign, side in zip((1, -1), pair, strict=True)]
    if not sides or any(not side.size for _, side in sides):
        return UNKNOWN
    value = math.exp(sum(sign * side.mean() for sign, side in sides) / len(pairs))
    sizes = np.array([side.size for _, side in sides])
    squares = np.array([float(((side - side.mean()) ** 2).sum()) for _, side in sides])
    freedom = sizes - 1
    if not freedom.any():
        return Estimate(value, math.nan, math.nan)
    if freedom.all():
        parts = squares / freedom / sizes
        free = parts.sum() ** 2 / (parts**2 / freedom).sum() if parts.any() else 1
    else:
        parts = squares.sum() / freedom.sum() / sizes
        free = freedom.sum()
    reach = student(max(1, int(free + 1e-9)), confidence) * math.sqrt(parts.sum()) / len(pairs)
    return Estimate(value, value * math.exp(-reach), value * math.exp(reach))


@lru_cache
def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The two-sided quantile of Student's t: 12.706 for one degree of freedom at 95%, 1.96 for many.

    With t = √ν·tan θ the density over θ is cosᵛ⁻¹ θ, bounded and smooth, which a grid integrates to six digits.
    """
    theta = np.linspace(0.0, math.pi / 2, 20_001)
    density = np.cos(theta) ** (freedom - 1)
    area = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence, area / area[-1], theta)))


# ── While measuring ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Precision:
    """Half-widths of the 95% interval within a process at which sampling may stop, as shares of the value."""

    speedup: float = 0.005
    latency: float = 0.01


def is_precise(variants: Sequence[Array], target: Precision) -> bool:
    """Whether the rounds so far, shape (rounds,) for eager and for compiled or for one variant alone, meet `target`."""
    ratios = [variants[0] / variants[1]] if len(variants) == 2 else []
    return all(_half_width(each) <= target.latency for each in variants) and all(
        _half_width(each) <= target.speedup for each in ratios
    )


def _half_width(values: Array) -> float:
    low, high = median_interval(values)
    half = (high - low) / 2 / float(np.median(values))
    return math.inf if math.isnan(half) else half


def has_converged(latencies_ms: Sequence[float], window: int, tolerance: float) -> bool:
    """Whether the last two windows of calls have the same median, within `tolerance`: warm-up is over."""
    if len(latencies_ms) < 2 * window:
        return False
    before = statistics.median(latencies_ms[-2 * window : -window])
    after = statistics.median(latencies_ms[-window:])
    return abs(after - before) <= tolerance * before


# ── Samples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def count_outliers(values: Array) -> int:
    """How many samples lie beyond Tukey's fences."""
    q1, q3 = np.percentile(values, (25, 75))
    fence = OUTLIER_FENCE * (q3 - q1)
    return int(np.count_nonzero((values < q1 - fence) | (values > q3 + fence)))


def _samples(variant: Variant) -> Array:
    return np.fromiter((call for calls in variant.rounds_ms for call in calls), dtype=np.float64)


def _percentile(processes: Sequence[Array], percent: int) -> float | None:
    known = [np.percentile(values, percent) for values in processes if values.size >= PERCENTILE_FLOORS[percent]]
    return float(np.median(known)) if known else None


# ── Published figures ───────────────────────────────────────────────────────────────────────────────────────────────


def _published_summary(processes: Iterable[Variant]) -> Summary:
    published = [(ms, variant.published_mean_ms) for variant in processes if (ms := variant.published_ms) is not None]
    means = [mean for _, mean in published if mean is not None]
    nan = math.nan
    return Summary(
        latency_ms=statistics.median(ms for ms, _ in published) if published else nan,
        low_ms=nan,
        high_ms=nan,
        n=0,
        processes=len(published),
        q1=nan,
        q3=nan,
        mad=nan,
        min=nan,
        mean=statistics.median(means) if means else nan,
        outliers=0,
    )


def _published_pair(measurements: Sequence[Measurement], combine: Callable[[float, float], float]) -> Estimate:
    pairs = [(each.eager, each.compiled) for each in measurements if each.compiled and each.is_comparable]
    eager, compiled = (_published_summary(pair[variant] for pair in pairs) for variant in (0, 1))
    return Estimate(combine(eager.latency_ms, compiled.latency_ms), math.nan, math.nan)
