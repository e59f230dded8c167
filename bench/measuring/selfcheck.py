"""Compare eager with eager, and our latencies with torch's Timer and profiler, in one process. Imports torch."""

from __future__ import annotations

import random
import statistics

import msgspec
import numpy as np
import torch
from torch.utils.benchmark import Timer

from bench.measuring import trial
from bench.measuring.pair import Pair
from bench.measuring.rounds import Subject, sample, timed, warm_up
from bench.plans.messages import CheckSelf, Phase, SelfChecked, Send
from bench.records.selfcheck import BOUND, Check
from bench.statistics.intervals import median_interval
from bench.statistics.processes import VariantName

TURNS = 8
"""Turns of the Timer and of our rounds. From six on, their median has an interval."""

PROFILED_CALLS = 20

CLOCK_BOUND = 0.01
"""How far the clocks of the profiler and of the host may be apart, as a share."""


@torch.no_grad()
def run(request: CheckSelf, send: Send) -> SelfChecked:
    """Return the rounds of eager against eager, and the checks of both variants if the request asks for them."""
    variants = Pair(request.job)
    warm_up(variants.eager, request.job.sampling)
    twin = Subject(variants.eager.call, warmup_ms=list(variants.eager.warmup_ms))
    measurement = trial.sampled(variants, (variants.eager, twin), send)
    if not request.beside_others:
        return SelfChecked(measurement=measurement)
    send(Phase(name="compiling"))
    variants.compile()
    variants.warm_up_compiled()
    subjects: dict[VariantName, Subject] = {"eager": variants.eager, "compiled": variants.compiled}
    checks = [_timer(variants, name, subject) for name, subject in subjects.items()]
    checks += [_busy_time(variants, name, subject) for name, subject in subjects.items()]
    return SelfChecked(measurement=measurement, checks=tuple(checks))


def _timer(variants: Pair, name: VariantName, subject: Subject) -> Check:
    """Compare our latency of one variant with the latency of torch's Timer. The two take turns."""
    timer = Timer("call(0)", globals={"call": subject.call}, num_threads=torch.get_num_threads())
    turn_s = variants.job.sampling.max_s / 20  # short, since the machine's speed changes within seconds
    short = msgspec.structs.replace(variants.job.sampling, min_s=turn_s, max_s=turn_s)
    ratios = []
    for _ in range(TURNS):
        timer_ms = timer.blocked_autorange(min_run_time=turn_s).median * 1e3
        subject.clear_rounds()
        list(sample([subject], short, rng=random.Random()))
        ratios.append(float(np.median(subject.medians_ms())) / timer_ms)
    figure, (low, high) = statistics.median(ratios), median_interval(np.array(ratios))
    return Check(name="timer", has_passed=abs(figure - 1) <= BOUND, variant=name, figure=figure, low=low, high=high)


def _busy_time(variants: Pair, name: VariantName, subject: Subject) -> Check:
    """A call takes at least as long as the profiler sees the device busy: else we would not wait for all of it.

    A CPU has nothing to wait for: there, the figure is the share of the latency that is spent in operators.
    """
    kind = variants.device.type.upper()
    activity = getattr(torch.profiler.ProfilerActivity, kind, None)
    if activity is None:
        return Check(name="busy_time", has_passed=None, variant=name)
    with torch.profiler.profile(activities=[activity]) as profile:
        latency_us = sum(timed(subject, PROFILED_CALLS)) * 1e3
    events = [each for each in profile.events() if each.device_type.name == kind and not each.is_user_annotation]
    busy_us = until = 0.0
    for start, end in sorted((each.time_range.start, each.time_range.end) for each in events):
        busy_us += max(0.0, end - max(start, until))
        until = max(until, end)
    share = busy_us / latency_us
    return Check(name="busy_time", has_passed=0 < share <= 1 + CLOCK_BOUND, variant=name, figure=share)
