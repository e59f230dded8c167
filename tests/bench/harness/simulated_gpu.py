"""A simulated GPU with a virtual clock, as `bench.harness.checks` sees one: calls, events, sensors, a profiler.

The host launches and goes on, the device computes in order, and only a wait brings the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import msgspec
import pytest
import torch
from torch._C._autograd import DeviceType

from bench.harness import checks
from bench.harness.checks import Workbench
from bench.measuring.device_time import NotHeldError
from bench.measuring.rounds import Subject, sample, timed
from bench.measuring.sensors import DeviceWatch, energy_j
from bench.plans.messages import Job, Recipe
from bench.plans.plan import make_plan
from bench.plans.profiles import QUICK
from bench.records.record import Variant


class SimulatedGpu:
    """Times in ms. `kernel_ms` is by variant; `event_scale` and `power_scale` are errors of a clock and a counter."""

    def __init__(self) -> None:
        self.now, self.done, self.busy_ms = 0.0, 0.0, 0.0
        self.launch_ms, self.wait_ms = 0.5, 0.01
        self.kernel_ms: Mapping[str, float] = {"eager": 10.0, "compiled": 5.0}
        self.before = ""  # the variant that ran last
        self.capped_when_alone = 1.0  # how much slower eager is after itself
        self.event_scale = self.power_scale = self.profiler_scale = 1.0
        self.device_ms: Mapping[str, tuple[float, ...]] = {"eager": (10.0, 10.1), "compiled": (5.0, 5.1)}
        self.reasons: frozenset[str] = frozenset()
        self.watts, self.unreadable = 300.0, set[str]()

    def run(self, variant: str) -> None:
        """Launch a call."""
        is_capped = variant == self.before == "eager"
        kernel_ms = self.kernel_ms[variant] * (self.capped_when_alone if is_capped else 1)
        self.before = variant
        self.now += self.launch_ms
        self.done = max(self.now, self.done) + kernel_ms
        self.busy_ms += kernel_ms

    def wait(self) -> None:
        self.now = max(self.now, self.done) + self.wait_ms

    def call(self, variant: str) -> Callable[[int], None]:
        def call(_: int) -> None:
            self.run(variant)
            self.wait()

        return call

    def read(self, question: str) -> Any:
        """Answer as `Sensors.read` does; the counter ticks every 20 ms."""
        if question in self.unreadable:
            return None
        ticks_s = self.now // 20 * 20 / 1e3
        return {"power": self.watts, "energy": self.watts * self.power_scale * ticks_s, "slowdown": self.reasons}.get(
            question
        )

    def with_device_time(self, subject: Subject, _: None) -> Variant:
        """Return device times, or raise as `Variants.with_device_time` does where the device cannot be held."""
        taken = self.device_ms["eager" if subject is self.variants.eager else "compiled"]
        if not taken:
            raise NotHeldError("not held")
        return Variant(device_ms=taken)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Workbench:
        """Put it behind the checks, and return their workbench."""
        gpu = self
        self.variants = SimpleNamespace(
            eager=Subject(self.call("eager"), warmup_ms=[10.5] * 10),
            compiled=Subject(self.call("compiled"), warmup_ms=[5.5] * 10),
            loaded=SimpleNamespace(module=lambda: self.run("eager")),
            forward=lambda module, _: module(),
            synchronize=self.wait,
            sensors=SimpleNamespace(read=self.read, unreadable=self.unreadable, hidden=set()),
            with_device_time=self.with_device_time,
        )

        class Event:
            def __init__(self, *_: Any, enable_timing: bool = False) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at = max(gpu.now, gpu.done)

            def elapsed_time(self, end: Event) -> float:
                return (end.at - self.at) * gpu.event_scale

        class Profile:
            """Kernels in two overlapping streams, and an annotation around them."""

            def __init__(self, **_: Any) -> None: ...

            def __enter__(self) -> Self:
                self.start, self.busy = gpu.now, gpu.busy_ms
                return self

            def __exit__(self, *_: object) -> None:
                busy = (gpu.busy_ms - self.busy) * gpu.profiler_scale
                spans = [(0.0, busy * 0.6, False), (busy * 0.5, busy, False), (0.0, busy * 5, True)] if busy else []
                self.profiler = SimpleNamespace(
                    kineto_results=SimpleNamespace(events=lambda: [kineto_event(*span) for span in spans])
                )

        clock_ns = lambda: round(self.now * 1e6)  # noqa: E731
        clock_s = lambda: self.now / 1e3  # noqa: E731
        monkeypatch.setattr(checks, "timed", partial(timed, clock=clock_ns))
        monkeypatch.setattr(checks, "sample", partial(sample, clock=clock_ns))
        monkeypatch.setattr(checks, "energy_j", partial(energy_j, clock=clock_s))
        monkeypatch.setattr(checks, "DeviceWatch", partial(DeviceWatch, clock=clock_s))
        monkeypatch.setattr(checks, "CpuWatch", lambda _: SimpleNamespace(is_disturbed=lambda: False))
        monkeypatch.setattr(checks, "time", SimpleNamespace(perf_counter=clock_s))
        monkeypatch.setattr(torch, "Event", Event)
        monkeypatch.setattr(torch.profiler, "profile", Profile)
        monkeypatch.setattr(torch.version, "hip", None)
        bench = Workbench(job("cuda"))
        bench.__dict__["variants"] = self.variants
        bench.__dict__["both"] = {"eager": self.variants.eager, "compiled": self.variants.compiled}
        return bench


def kineto_event(start_ms: float, end_ms: float, is_annotation: bool) -> SimpleNamespace:
    """An event as the profiler's results hold them."""
    return SimpleNamespace(
        start_ns=lambda: round(start_ms * 1e6),
        duration_ns=lambda: round((end_ms - start_ms) * 1e6),
        device_type=lambda: DeviceType.CUDA,
        is_user_annotation=lambda: is_annotation,
    )


def job(device: str) -> Job:
    """The job of a proof, quickly sampled."""
    recipe = Recipe(model="ViT", task="image-classification", shrunken=True)
    sampling = msgspec.structs.replace(QUICK.sampling, max_s=2.0, min_s=0.1, warmup_s=0.1, warmup_cap_s=0.5)
    [planned] = make_plan(QUICK, [recipe], device).planned
    return Job(cell=planned.cell, recipe=recipe, sampling=sampling)
