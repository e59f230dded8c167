"""Sensors of a simulated GPU: pynvml's functions with the answers of a fake driver."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bench.errors import AtlasError
from bench.measuring import preflight, sensors
from bench.measuring.sensors import SENSORS, DeviceWatch, Sensors
from bench.plans.messages import Preflight


class Nvml:
    """A fake driver with readings that a test can change, and questions that it refuses."""

    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0

    def __init__(self) -> None:
        self.reasons = 0
        self.pids = {os.getpid()}
        self.refused: set[str] = set()
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers: dict[str, Callable[..., Any]] = {
            "nvmlInit": lambda: None,
            "nvmlDeviceGetHandleByUUID": {"GPU-0-1": "GPU-0-1"}.__getitem__,
            "nvmlDeviceGetClockInfo": lambda *_: 1980,
            "nvmlDeviceGetTemperature": lambda *_: 41,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: self.reasons,
            "nvmlDeviceGetComputeRunningProcesses": lambda _: [SimpleNamespace(pid=pid) for pid in self.pids],
            "nvmlSystemGetDriverVersion": lambda: "580.1",
        }

        def answer(*arguments: Any) -> Any:
            self.asked.append(name)
            if name in self.refused:
                raise RuntimeError("Not Supported")
            return answers[name](*arguments)

        return answer


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """An NVIDIA GPU as `bench.measuring.sensors` sees it."""
    driver = Nvml()
    monkeypatch.setattr(sensors, "pynvml", driver)
    monkeypatch.setattr(sensors, "sees_all_processes", lambda: True)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(uuid="0-1"))
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)
    return driver


@pytest.fixture
def gpu(nvml: Nvml) -> Sensors:
    return Sensors(torch.device("cuda"))


class Time:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_readings_are_seldom_and_in_units(gpu: Sensors, nvml: Nvml) -> None:
    time = Time()
    watch = DeviceWatch(gpu, time)
    for _ in range(50):
        assert not watch.is_disturbed()
        time.now += 0.02
    telemetry = watch.telemetry()
    assert 8 <= len(telemetry.clock_mhz) <= 10, "one in 100 ms, of 50 rounds in a second"
    assert (telemetry.clock_mhz[0], telemetry.temperature_c[0]) == (1980, 41)
    assert (telemetry.throttle_reasons, telemetry.unreadable) == ({}, ())
    assert gpu.read("driver") == "580.1"


def test_a_throttled_round_is_told_by_name_until_it_is_over(gpu: Sensors, nvml: Nvml) -> None:
    time = Time()
    watch = DeviceWatch(gpu, time)
    seen = []
    for reasons in (0, 0x40 | 0x04, 0x40, 0):
        nvml.reasons = reasons
        time.now += 0.2 if reasons != 0x40 else 0.001
        seen.append(watch.is_disturbed())
    assert seen == [False, True, True, False]
    telemetry = watch.telemetry()
    assert telemetry.throttle_reasons == {"hardware thermal slowdown": 2, "power cap": 1}
    assert telemetry.throttle_readings == 4


def test_the_power_cap_alone_is_no_fault(gpu: Sensors, nvml: Nvml) -> None:
    nvml.reasons = 0x04
    assert not DeviceWatch(gpu).is_disturbed()


def test_what_cannot_be_read_is_named_and_asked_only_once(nvml: Nvml) -> None:
    nvml.refused = {"nvmlDeviceGetTemperature"}
    gpu = Sensors(torch.device("cuda"))
    watch = DeviceWatch(gpu, lambda: 0.0)
    watch.is_disturbed()
    assert watch.telemetry().unreadable == ("temperature",)
    assert watch.telemetry().temperature_c == ()
    assert nvml.asked.count("nvmlDeviceGetTemperature") == 1


@pytest.mark.parametrize("device", ["xpu", "mps"])  # torch.xpu without Intel's driver
def test_accelerators_that_tell_torch_nothing_say_so(device: str) -> None:
    gpu = Sensors(torch.device(device))
    watch = DeviceWatch(gpu)
    assert not watch.is_disturbed()
    assert watch.telemetry().unreadable == SENSORS
    assert gpu.read("driver") is None


def test_without_a_library_or_a_driver_everything_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensors, "pynvml", None)
    monkeypatch.setattr(torch.version, "hip", None)
    assert Sensors(torch.device("cuda")).unreadable == set(SENSORS)


def test_an_amd_gpu_tells_what_torch_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "7.0")
    monkeypatch.setattr(torch.cuda, "clock_rate", lambda: 2100)
    monkeypatch.setattr(torch.cuda, "temperature", lambda: 55)
    watch = DeviceWatch(Sensors(torch.device("cuda")))
    watch.is_disturbed()
    telemetry = watch.telemetry()
    assert (telemetry.clock_mhz, telemetry.temperature_c) == ((2100,), (55,))
    assert telemetry.unreadable == ("slowdown", "processes")


def test_an_amd_gpu_that_does_not_know_its_clock_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch returns 0 for what AMD's library calls N/A."""
    monkeypatch.setattr(torch.version, "hip", "7.0")
    monkeypatch.setattr(torch.cuda, "clock_rate", lambda: 0)
    monkeypatch.setattr(torch.cuda, "temperature", lambda: 55)
    assert Sensors(torch.device("cuda")).unreadable == {"clock", "slowdown", "processes"}


def test_an_intel_gpu_tells_what_torch_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.xpu, "clock_rate", lambda: 2399.6)
    monkeypatch.setattr(torch.xpu, "temperature", lambda: 61.25)
    watch = DeviceWatch(Sensors(torch.device("xpu")))
    assert not watch.is_disturbed()
    telemetry = watch.telemetry()
    assert (telemetry.clock_mhz, telemetry.temperature_c) == ((2400,), (61,))
    assert telemetry.unreadable == ("slowdown", "processes")


# ── Who else ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def stranger(nvml: Nvml) -> Iterator[int]:
    """The id of a process of another user on the GPU."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        nvml.pids |= {process.pid}
        yield process.pid
        process.kill()


def test_our_own_processes_are_no_strangers(gpu: Sensors, nvml: Nvml) -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        nvml.pids |= {child.pid}
        assert gpu.other_processes() == ()
        child.kill()


def test_any_other_process_is_one(gpu: Sensors, stranger: int) -> None:
    assert gpu.other_processes() == (stranger,)


def test_a_process_that_has_ended_is_no_stranger(gpu: Sensors, nvml: Nvml) -> None:
    nvml.pids |= {2**22 + 1}
    assert gpu.other_processes() == ()


def test_a_container_that_hides_processes_is_told_from_a_gpu_of_our_own(gpu: Sensors, nvml: Nvml) -> None:
    nvml.pids = set()
    assert gpu.other_processes() == ()
    assert gpu.unreadable == {"processes"}


def test_a_container_that_shows_its_own_processes_alone_is_told(
    gpu: Sensors, nvml: Nvml, stranger: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensors, "sees_all_processes", lambda: False)
    assert gpu.other_processes() == (stranger,), "those within are known"
    assert DeviceWatch(gpu, Time()).telemetry().unreadable == ("processes",)


def test_a_busy_gpu_is_refused_with_a_way_out(stranger: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "choose_device", lambda _: torch.device("cuda"))
    monkeypatch.setattr(preflight, "describe", lambda _: None)
    with pytest.raises(AtlasError) as refused:
        preflight.preflight(Preflight())
    assert f"process {stranger} is computing" in refused.value.what
    assert "--allow-busy" in refused.value.remedy
    assert preflight.preflight(Preflight(allow_busy=True)).device == "cuda"
