"""The time of a device, on a simulated stream whose kernels have known durations."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, strategies as st
from simulated_stream import EVENT_MS, WAIT, SimulatedStream, model

from bench.measuring.device_time import CALLS, HEAD_STARTS, NotHeldError, device_ms

CUDA = torch.device("cuda")

KERNELS_MS = st.lists(st.floats(0.001, 20.0), min_size=1, max_size=100)
HOST_MS = st.floats(0.0, 0.5)
CLOCK_MHZ = st.floats(200.0, 3000.0)


def measured(stream: SimulatedStream, steps_ms: list[float], host_ms: float = 0.0) -> tuple[float, ...]:
    """Return the device time of a model with these kernels, found as on a GPU."""
    call = model(stream, steps_ms, host_ms)
    with pytest.MonkeyPatch.context() as monkeypatch:
        stream.install(monkeypatch)
        return device_ms(CUDA, call, stream.latency_ms(call))


@given(KERNELS_MS, HOST_MS, CLOCK_MHZ)
def test_the_device_time_is_the_sum_of_the_kernels_whoever_is_slower(
    kernels_ms: list[float], host_ms: float, clock_mhz: float
) -> None:
    stream = SimulatedStream(clock_mhz=clock_mhz)
    found = measured(stream, kernels_ms, host_ms)
    assert found == pytest.approx([sum(kernels_ms)] * CALLS, abs=2 * EVENT_MS)
    assert max(found) <= stream.latency_ms(model(stream, kernels_ms, host_ms)) + 2 * EVENT_MS


@given(KERNELS_MS, HOST_MS, st.data())
def test_a_call_that_waits_for_the_device_has_no_device_time(
    kernels_ms: list[float], host_ms: float, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(kernels_ms)), "where it waits")
    with pytest.raises(NotHeldError, match="waits for the device"):
        measured(SimulatedStream(), [*kernels_ms[:place], WAIT, *kernels_ms[place:]], host_ms)


@given(st.integers(4, 64), st.integers(2, 200), st.floats(0.001, 1.0))
def test_a_call_with_more_launches_than_the_queue_holds_has_no_device_time(
    depth: int, beyond: int, kernel_ms: float
) -> None:
    stream = SimulatedStream(depth=depth)
    with pytest.raises(NotHeldError, match="more launches than the queue holds"):
        measured(stream, [kernel_ms] * (depth + beyond))


def test_a_replayed_cuda_graph_is_one_launch_however_many_kernels_it_has() -> None:
    kernels_ms = [0.004] * 2000
    with pytest.raises(NotHeldError):
        measured(SimulatedStream(), kernels_ms)
    assert measured(SimulatedStream(), [sum(kernels_ms)]) == pytest.approx([8.0] * CALLS, abs=2 * EVENT_MS)


def test_a_host_that_is_busy_for_a_moment_gets_a_longer_head_start() -> None:
    stream = SimulatedStream()
    usual = model(stream, [0.01] * 100)
    latency_ms = stream.latency_ms(usual)

    def call(number: int) -> None:
        if number == 3 and len(stream.spins_ms) < 12:  # two spins a try
            stream.host_ms += 3 * latency_ms
        usual(number)

    with pytest.MonkeyPatch.context() as monkeypatch:
        stream.install(monkeypatch)
        assert device_ms(CUDA, call, latency_ms) == pytest.approx([1.0] * CALLS, abs=2 * EVENT_MS)
    holds = sorted({round(spin_ms / latency_ms, 1) for spin_ms in stream.spins_ms[1::2]})
    assert holds == list(HEAD_STARTS), "longer ones only where they are needed"


@given(st.floats(1.0, 100_000.0), st.floats(0.001, 1.0), CLOCK_MHZ)
def test_the_device_is_never_held_for_more_than_a_second(kernel_ms: float, host_share: float, clock_mhz: float) -> None:
    stream = SimulatedStream(clock_mhz=clock_mhz)
    host_ms = host_share * kernel_ms
    try:
        found = measured(stream, [kernel_ms], host_ms)
    except NotHeldError:
        assert host_ms > 499
    else:
        assert found == pytest.approx([kernel_ms] * CALLS, abs=2 * EVENT_MS)
    assert max(stream.spins_ms) <= 501


@given(CLOCK_MHZ, CLOCK_MHZ)
def test_a_clock_that_changes_between_calls_changes_nothing(before_mhz: float, after_mhz: float) -> None:
    stream = SimulatedStream(clock_mhz=before_mhz)
    usual = model(stream, [0.02] * 50)
    latency_ms = stream.latency_ms(usual)

    def call(number: int) -> None:
        stream.clock_mhz = after_mhz if number % 2 else before_mhz
        usual(number)

    with pytest.MonkeyPatch.context() as monkeypatch:
        stream.install(monkeypatch)
        assert device_ms(CUDA, call, latency_ms) == pytest.approx([1.0] * CALLS, abs=2 * EVENT_MS)
    held_ms = stream.spins_ms[1::2]
    assert min(held_ms) >= latency_ms, "a spin of a fixed number of cycles would be too short or too long"
    assert max(held_ms) <= HEAD_STARTS[0] * latency_ms * 1.01
