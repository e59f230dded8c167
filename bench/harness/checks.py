"""Check on this device what the harness says about it, in a separate process. Imports torch.

Each check takes a `Workbench` and returns one `Check`, or one for each variant. Figures that must agree are compared by
the interval of their ratio: the check has passed if all of it lies within a bound, and has failed if none of it does;
otherwise the machine is too unsteady to tell. A `Job` as the request is measured with hardly any memory left.

    python -m bench prove
"""

from __future__ import annotations

import mmap
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import torch

from bench.harness.power_limit import LimitError, lowered
from bench.measuring import graphs, trial, worker
from bench.measuring.device_time import NotHeldError
from bench.measuring.interference import CpuWatch
from bench.measuring.rounds import Subject, sample, timed, warm_up
from bench.measuring.sensors import DeviceWatch, energy_j
from bench.measuring.variants import ENERGY_BLOCK_MS, Turn, Variants
from bench.plans.messages import Answer, CellOutcome, Job, Phase, Prove, Proved, Request, Send
from bench.records import wording
from bench.records.proof import Check, CheckName, Finding, Reason
from bench.records.record import Measurement, Status, Variant
from bench.records.scrub import one_line
from bench.running.executors import caches_below
from bench.statistics.cells import speedup
from bench.statistics.intervals import Estimate, median_interval
from bench.statistics.verdicts import SAME

TURNS, FEWEST_TURNS = 8, 6
"""Times that two ways take turns. From six on, the median has an interval."""

BOUND = 0.05
"""How far two figures of one latency may be apart that are taken in different ways."""

CLOCK_BOUND = 0.01
"""How far two clocks may be apart that run during the same calls."""

ENERGY_BOUND = 0.15
"""The ticks of the counter may add 10% (`ENERGY_S` of the sensors), and the power has an error of about 5%."""

SETTLE_S = 1.5
"""A device tells its power as the mean of up to a second."""

PROFILED_CALLS = 20

CAPPED, IN_USE = 0.5, 0.9
"""Least share of readings at the power limit while it is lowered, and share of that power that tells that a load
reaches it."""

MARGIN_BYTES = 64 * 2**20
"""Memory that is left to a job which must not have enough."""


class Workbench:
    """The model of a job on its device: built when first used, and compiled when first compared."""

    def __init__(self, job: Job, *, may_lower_power: bool = False) -> None:
        self.job, self.sampling, self.may_lower_power = job, job.sampling, may_lower_power
        self.device = torch.device(job.cell.device)

    @cached_property
    def variants(self) -> Variants:
        """The variants, with eager warmed up."""
        variants = Variants(self.job)
        warm_up(variants.eager, self.sampling)
        return variants

    @cached_property
    def both(self) -> Mapping[str, Subject]:
        """Eager and compiled, warmed up."""
        self.variants.compile()
        if reason := graphs.left_eager():
            raise RuntimeError(reason)
        self.variants.warm_up_compiled()
        return {"eager": self.variants.eager, "compiled": self.variants.compiled}

    def in_mode(self, mode: str) -> Variants:
        """Return the variants of the same model in another compile mode."""
        cell = msgspec.structs.replace(self.job.cell, compile_mode=mode)
        return Variants(msgspec.structs.replace(self.job, cell=cell))

    def queue(self, calls: int) -> None:
        """Call eager without waiting for the device."""
        for number in range(calls):
            self.variants.forward(self.variants.loaded.module, number)

    def calls(self, seconds: float) -> int:
        """Return how many calls of eager take about this long, at least two."""
        return max(2, round(seconds * 1e3 / statistics.median(self.variants.eager.warmup_ms)))

    def sampled(self, subjects: Iterable[Subject], seconds: float) -> list[float]:
        """Return the medians in ms of rounds as in every measurement, for about this long."""
        subjects = list(subjects)
        for subject in subjects:
            subject.clear_rounds()
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        short = msgspec.structs.replace(self.sampling, max_s=seconds)
        for _ in sample(subjects, short, rng=random.Random(), is_disturbed=CpuWatch(threads).is_disturbed):
            pass
        return [float(np.median(subject.medians_ms())) for subject in subjects]


# ── Checks ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def eager_against_eager(bench: Workbench) -> Check:
    """Two subjects of one eager module are the same, measured in turn as eager and compiled are.

    A method that finds a difference here finds it everywhere.
    """
    eager = bench.variants.eager
    twins = [Subject(eager.call, warmup_ms=list(eager.warmup_ms)) for _ in range(2)]
    first, second = bench.sampled(twins, bench.sampling.max_s)
    eager_again, eager_as_compiled = (Variant(rounds_ms=tuple(twin.rounds_ms)) for twin in twins)
    ratio = speedup([Measurement(eager=eager_again, compiled=eager_as_compiled)])
    found = _compared("eager_against_eager", ratio, SAME, first_ms=first, second_ms=second)
    is_one = found.low is None or found.high is None or found.low <= 1 <= found.high
    if found.finding == "unknown" and not is_one:  # a bound is no excuse for the same module
        return _of(found, "failed", "same_module_differs")
    return found


def clocks(bench: Workbench) -> Check:
    """Calls that are each waited for take as long as calls that are queued one after another and waited for once.

    So waiting adds next to nothing to the latency of a call that keeps the device busy. On an accelerator, events
    before and after the queued calls must tell the same time as the clock of the host.
    """
    calls, ratios, blocked_ms, queued_ms, events_ms = bench.calls(bench.sampling.max_s / 100), [], [], [], []
    for _ in range(2 * TURNS):
        for is_blocked in random.sample((True, False), 2):
            if is_blocked:
                blocked_ms.append(sum(timed(bench.variants.eager, calls)) / calls)
            else:
                wall_ms, event_ms = _queued_ms(bench, calls)
                queued_ms.append(wall_ms / calls)
                events_ms.append(event_ms / calls)
        ratios.append(blocked_ms[-1] / queued_ms[-1])
    figures = {"blocked_ms": statistics.median(blocked_ms), "queued_ms": statistics.median(queued_ms)}
    if bench.device.type == "cpu":
        return _compared("clocks", _median(ratios), BOUND, **figures)
    start = time.perf_counter()
    bench.queue(1)
    host_ms = (time.perf_counter() - start) * 1e3
    bench.variants.synchronize()
    apart = abs(statistics.median(np.divide(events_ms, queued_ms)) - 1)
    figures |= {"events_ms": statistics.median(events_ms), "host_ms": host_ms, "events_apart_share": apart}
    found = _compared("clocks", _median(ratios), BOUND, **figures)
    if apart > CLOCK_BOUND:
        return _of(found, "failed", "clocks_apart")
    if found.finding != "passed" and host_ms > figures["queued_ms"] / 2:
        return _of(found, "unknown", "host_too_slow")
    return found


def _queued_ms(bench: Workbench, calls: int) -> tuple[float, float]:
    """Return the wall time of queued calls with one wait, and the time between events around them, in ms."""
    is_cpu = bench.device.type == "cpu"
    events = [] if is_cpu else [torch.Event(bench.device, enable_timing=True) for _ in range(2)]
    start = time.perf_counter()
    if events:
        events[0].record()
    bench.queue(calls)
    if events:
        events[1].record()
    bench.variants.synchronize()
    wall_ms = (time.perf_counter() - start) * 1e3
    return wall_ms, events[0].elapsed_time(events[1]) if events else wall_ms


def alone(bench: Workbench) -> Iterator[Check]:
    """A variant that runs alone in a long block has the latency that it has in turn with the other one.

    A program has one variant. On a device at its power limit, the variant that draws less would lend its power to the
    other, and caches may hold what the other needs.
    """
    watch = DeviceWatch(bench.variants.sensors) if bench.variants.sensors else None
    seconds = bench.sampling.max_s / TURNS
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in bench.both}
    for _ in range(TURNS):
        turn: dict[str, list[float]] = {}
        for way in random.sample((*bench.both, "in turn"), 3):
            if way == "in turn":
                turn[way] = bench.sampled(bench.both.values(), seconds)
            else:
                block = timed(bench.both[way], bench.calls(seconds))
                turn[way] = [statistics.median(block[len(block) // 3 :])]  # after the clock has settled
                if watch:
                    watch.is_disturbed()
        for name, in_turn_ms in zip(bench.both, turn["in turn"], strict=True):
            found[name].append((turn[name][0], in_turn_ms))
    capped = watch.telemetry().share_of("power cap") if watch else None
    for name, pairs in found.items():
        alone_ms, in_turn_ms = (statistics.median(each) for each in zip(*pairs, strict=True))
        figures = {"alone_ms": alone_ms, "in_turn_ms": in_turn_ms}
        figures |= {} if capped is None else {"capped_share": capped}
        ratio = _median([long / short for long, short in pairs])
        yield _compared("alone", ratio, BOUND, name, **figures)


def device_time(bench: Workbench) -> Iterator[Check]:
    """The device time is the time in which the profiler sees a kernel run, and never more than the latency.

    What a latency has beyond it is called waiting for the host, which explains verdicts.
    """
    if bench.device.type != "cuda" or torch.version.hip:
        yield _not("device_time", "not_applicable", "no_cuda")
        return
    for name, subject in bench.both.items():
        [latency_ms] = bench.sampled([subject], bench.sampling.max_s / TURNS)
        try:
            device_ms = statistics.median(bench.variants.with_device_time(subject, None).device_ms)
        except NotHeldError as error:
            yield _of(_not("device_time", "unknown", "device_not_held", str(error)), variant=name)
            continue
        kernels_ms = _kernels_ms(subject)
        if not kernels_ms:
            yield _of(_not("device_time", "unknown", "no_kernel_seen"), variant=name)
            continue
        figures = {"device_ms": device_ms, "kernels_ms": kernels_ms, "latency_ms": latency_ms}
        found = _compared("device_time", _point(device_ms / kernels_ms), BOUND, name, **figures)
        if device_ms > latency_ms * (1 + CLOCK_BOUND):
            found = _of(found, "failed", "above_latency")
        yield found


def _kernels_ms(subject: Subject) -> float:
    """Return the time per call in ms in which at least one kernel, copy or fill runs on the device."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        timed(subject, PROFILED_CALLS)
    events = profile.profiler.kineto_results.events()
    spans = sorted(
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in events
        if event.device_type().name == "CUDA" and not event.is_user_annotation()
    )
    busy_ns = until = 0
    for start, end in spans:
        busy_ns += max(0, end - max(start, until))
        until = max(until, end)
    return busy_ns / PROFILED_CALLS / 1e6


def replays(bench: Workbench) -> Check:
    """A call replays CUDA graphs in the mode reduce-overhead, and none in the default mode.

    Torch may leave graphs out without an error, and the mode would be compared with itself.
    """
    if bench.device.type != "cuda":
        return _not("replays", "not_applicable", "no_cuda")
    counts = {}
    for mode in ("default", "reduce-overhead"):
        variants = bench.in_mode(mode)
        variants.compile()
        variants.warm_up_compiled()
        counts[mode] = graphs.replayed(partial(variants.compiled.call, 0))
        variants.release_compiled()
    figures = {f"{mode.replace('-', '_')}_replays": float(count) for mode, count in counts.items()}
    if not counts["default"] and counts["reduce-overhead"]:
        return Check(name="replays", finding="passed", figures=figures)
    return _not("replays", "failed", "other_replays", figures=figures)


def compiled_ahead(bench: Workbench) -> Check:
    """A model that was compiled before its turn has the speedup of one that was compiled in its turn.

    On a GPU, workers of some profiles compile while others do, and run what they compiled only in their turn. Both ways
    take turns in random order. Each has a compile cache of its own, and on a GPU a new one each time: Inductor times
    the kernels among which it chooses, so that it may choose others.
    """
    variants, speedups = bench.variants, {"in_turn": list[float](), "ahead": list[float]()}
    if is_cuda := bench.device.type == "cuda":
        variants = bench.in_mode("reduce-overhead")
        warm_up(variants.eager, bench.sampling)
    seconds, rng = bench.sampling.max_s / TURNS, random.Random()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        turn = Turn(str(Path(folder, "device")))
        for number in range(FEWEST_TURNS):
            for way in rng.sample(list(speedups), len(speedups)):
                variants.release_compiled()
                graphs.use_caches(caches_below(Path(folder, f"{way}-{number if is_cuda else 0}")))
                if way == "ahead":
                    variants.compile_ahead(turn)
                variants.compile()
                variants.warm_up_compiled()
                eager_ms, compiled_ms = bench.sampled((variants.eager, variants.compiled), seconds)
                speedups[way].append(eager_ms / compiled_ms)
    ratio = _median([ahead / own for own, ahead in zip(*speedups.values(), strict=True)])
    figures = {f"{way}_speedup": statistics.median(found) for way, found in speedups.items()}
    return _compared("compiled_ahead", ratio, BOUND, **figures)


def energy(bench: Workbench) -> Check:
    """The energy of a call is the power times the time, where one counter and many readings tell the two."""
    sensors, eager = bench.variants.sensors, bench.variants.eager
    if sensors is None:
        return _not("energy", "not_applicable", "no_counter")
    calls, made, seconds, power_w = bench.calls(ENERGY_BLOCK_MS / 1e3), 0, 0.0, []

    def block() -> int:
        nonlocal made, seconds
        seconds += sum(timed(eager, calls)) / 1e3
        made += calls
        power_w.append(sensors.read("power"))
        return calls

    if sensors.read("energy") is None or sensors.read("power") is None:
        return _not("energy", "unknown", "no_counter")
    while seconds < SETTLE_S:
        block()
    made, seconds = 0, 0.0
    power_w.clear()
    counted_j = energy_j(sensors, block)
    if not counted_j:
        return _not("energy", "unknown", "counter_stands_still")
    sampled_j = statistics.fmean(each for each in power_w if each is not None) * seconds / made
    return _compared("energy", _point(counted_j / sampled_j), ENERGY_BOUND, counted_j=counted_j, sampled_j=sampled_j)


def throttling(bench: Workbench) -> Check:
    """Rounds at a lowered power limit are seen as such, since nobody can wait for a device to overheat."""
    sensors = bench.variants.sensors
    if sensors is None or torch.version.hip or {"slowdown", "power"} & sensors.unreadable:
        return _not("throttling", "not_applicable", "no_counter")
    if not bench.may_lower_power:
        return _not("throttling", "not_applicable", "not_permitted", "needs --lower-power-limit, as root")
    watch = DeviceWatch(sensors)
    try:
        with lowered(f"GPU-{torch.cuda.get_device_properties(bench.device).uuid}") as limit_w:
            timed(bench.variants.eager, bench.calls(SETTLE_S))
            bench.variants.eager.clear_rounds()
            sampling = msgspec.structs.replace(bench.sampling, max_s=2 * SETTLE_S)
            for _ in sample([bench.variants.eager], sampling, rng=random.Random(), is_disturbed=watch.is_disturbed):
                pass
    except LimitError as error:
        told: tuple[Finding, Reason] = ("not_applicable", "not_permitted")
        if "restored" in str(error):
            told = ("failed", "limit_not_restored")
        return _not("throttling", *told, one_line(error))
    telemetry = watch.telemetry()
    share, highest_w = telemetry.share_of("power cap") or 0.0, max(telemetry.power_w, default=0.0)
    figures = {"limit_w": limit_w, "highest_w": highest_w, "capped_share": share}
    if share >= CAPPED:
        return Check(name="throttling", finding="passed", figures=figures)
    is_light = highest_w < IN_USE * limit_w
    found: tuple[Finding, Reason] = ("unknown", "load_too_light") if is_light else ("failed", "cap_not_seen")
    return _not("throttling", *found, figures=figures)


IN_ORDER: Mapping[CheckName, Callable[[Workbench], Check | Iterable[Check]]] = {
    "eager_against_eager": eager_against_eager,
    "clocks": clocks,
    "alone": alone,
    "device_time": device_time,
    "energy": energy,
    "replays": replays,  # clears what is compiled, as does the next one
    "compiled_ahead": compiled_ahead,
    "throttling": throttling,  # changes the clock
}
"""The checks of one process. `bench.harness.proof` adds that of memory, which needs a process of its own."""


# ── Findings ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _compared(name: CheckName, ratio: Estimate, bound: float, variant: Any = None, **figures: float) -> Check:
    """Return the check of two figures with this ratio."""
    low, high = (value if np.isfinite(value) and value > 0 else None for value in (ratio.low, ratio.high))
    lowest, highest = (-np.inf if low is None else low), (np.inf if high is None else high)
    finding: Finding = "unknown"
    reason: Reason | None = "machine_too_unsteady"
    if 1 - bound <= lowest and highest <= 1 + bound:
        finding, reason = "passed", None
    elif highest < 1 - bound or lowest > 1 + bound:
        finding, reason = "failed", "figures_apart"
    rounded = {key: float(f"{value:.6g}") for key, value in figures.items()}
    return Check(
        name=name,
        finding=finding,
        variant=variant,
        figures=rounded,
        reason=reason,
        ratio=ratio.value,
        low=low,
        high=high,
        bound=bound,
    )


def _not(
    name: CheckName,
    finding: Finding,
    reason: Reason,
    told: str | None = None,
    *,
    figures: Mapping[str, float] = MappingProxyType({}),
) -> Check:
    return Check(name=name, finding=finding, reason=reason, told=told, figures=dict(figures))


def _of(check: Check, finding: Finding | None = None, reason: Reason | None = None, **changes: Any) -> Check:
    if finding:
        changes |= {"finding": finding, "reason": reason}
    return msgspec.structs.replace(check, **changes)


def _median(ratios: list[float]) -> Estimate:
    return Estimate(statistics.median(ratios), *median_interval(np.array(ratios)))


def _point(ratio: float) -> Estimate:
    return Estimate(ratio, ratio, ratio)


# ── Process ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@torch.no_grad()
def answer(request: Request, send: Send) -> Answer:
    """Make the checks of a `Prove`, or measure a `Job` with too little memory."""
    if isinstance(request, Job):
        return _without_memory(request, send)
    assert isinstance(request, Prove)
    bench = Workbench(request.job, may_lower_power=request.may_lower_power)
    made: list[Check] = []
    for name in request.checks:
        send(Phase(name=name))
        try:
            found = IN_ORDER[name](bench)
            made += [found] if isinstance(found, Check) else found
        except Exception as error:  # noqa: BLE001 - whatever fails, the other checks are worth their time
            made = [check for check in made if check.name != name]
            made.append(_not(name, "failed", "exception", wording.exception(error)))
        send(Proved(checks=tuple(made)))
    return Proved(checks=tuple(made))


def _without_memory(job: Job, send: Send) -> CellOutcome:
    """Measure a job after all memory but `MARGIN_BYTES` is gone: of the device, or of this process on a CPU."""
    device, held = torch.device(job.cell.device), []
    if device.type == "cuda":
        while torch.cuda.mem_get_info(device)[0] > 2 * MARGIN_BYTES:
            held.append(torch.empty(MARGIN_BYTES, dtype=torch.uint8, device=device))
    elif device.type == "cpu" and sys.platform == "linux":
        small = msgspec.structs.replace(job, cell=msgspec.structs.replace(job.cell, batch_size=1))
        Variants(small).eager.call(0)  # libraries that are loaded without memory hang, and threads cannot start
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * mmap.PAGESIZE
        resource.setrlimit(resource.RLIMIT_AS, (used + MARGIN_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    else:
        return CellOutcome(status=Status.SKIPPED, reason=f"memory cannot be made scarce on {device.type}")
    outcome = trial.run(job, send)
    del held
    return outcome


if __name__ == "__main__":
    worker.main(answer)
