"""Compare eager with eager, and our latencies with torch's Timer and profiler, in one process. Imports torch."""

from __future__ import annotations

import random
import statistics

import msgspec
import numpy as np
import torch
from torch.utils.benchmark import Timer

from bench.measuring import trial
from bench.measuring.device_time import busy_ms
from bench.measuring.pair import Pair, gradient_mode
from bench.measuring.rounds import Subject, sample, timed, warm_up
from bench.plans.messages import CheckSelf, Phase, SelfChecked, Send
from bench.records.documents import BOUND, Check
from bench.statistics.intervals import median_interval
from bench.statistics.processes import VariantName

TURNS = 8
"""Turns of the Timer and of our rounds. From six on, their median has an interval."""

CLOCK_BOUND = 0.01
"""How far the clocks of the profiler and of the host may be apart, as a share."""


def run(request: CheckSelf, send: Send) -> SelfChecked:
    """Return the rounds of eager against eager, and the checks of both pair if the request asks for them."""
    pair = Pair(request.job)
    with gradient_mode(request.job.cell):
        warm_up(pair.eager, request.job.sampling)
        twin = Subject(pair.eager.call, warmup_ms=list(pair.eager.warmup_ms))
        measurement, _ = trial.sampled(pair, (pair.eager, twin), send)
        if not request.beside_others:
            return SelfChecked(measurement=measurement)
        send(Phase(name="compiling"))
        pair.compile()
        pair.warm_up_compiled()
        subjects: dict[VariantName, Subject] = {"eager": pair.eager, "compiled": pair.compiled}
        checks = [_timer(pair, name, subject) for name, subject in subjects.items()]
        checks += [_busy_time(pair, name, subject) for name, subject in subjects.items()]
        return SelfChecked(measurement=measurement, checks=tuple(checks))


def _timer(pair: Pair, name: VariantName, subject: Subject) -> Check:
    """Compare our latency of one variant with the latency of torch's Timer. The two take turns."""
    timer = Timer("call(0)", globals={"call": subject.call}, num_threads=torch.get_num_threads())
    turn_s = pair.job.sampling.max_s / 20  # short, since the machine's speed changes within seconds
    short = msgspec.structs.replace(pair.job.sampling, min_s=turn_s, max_s=turn_s)
    ratios = []
    for _ in range(TURNS):
        timer_ms = timer.blocked_autorange(min_run_time=turn_s).median * 1e3
        subject.clear_rounds()
        sample([subject], short, rng=random.Random())
        ratios.append(float(np.median(subject.medians_ms())) / timer_ms)
    figure, (low, high) = statistics.median(ratios), median_interval(np.array(ratios))
    return Check(name="timer", has_passed=abs(figure - 1) <= BOUND, variant=name, figure=figure, low=low, high=high)


def _busy_time(pair: Pair, name: VariantName, subject: Subject) -> Check:
    """A call takes at least as long as the profiler sees the device busy: else we would not wait for all of it.

    A CPU has nothing to wait for: there, the figure is the share of the latency that is spent in operators.
    """
    latencies_ms: list[float] = []
    busy = busy_ms(pair.device, lambda _: latencies_ms.extend(timed(subject, 1)))
    if not busy:
        return Check(name="busy_time", has_passed=None, variant=name)
    share = sum(busy) / sum(latencies_ms[-len(busy) :])
    return Check(name="busy_time", has_passed=0 < share <= 1 + CLOCK_BOUND, variant=name, figure=share)
