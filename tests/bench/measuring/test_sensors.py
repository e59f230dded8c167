"""What disturbs a round: sensors of a simulated GPU, CPU times, and a program that really computes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch
from fake_nvml import Nvml

from bench.errors import AtlasError
from bench.measuring import interference, preflight
from bench.measuring.interference import DEVICE, PROGRAMS, CpuReading, RoundWatch, look
from bench.measuring.sensors import Sensors
from bench.plans.messages import Preflight


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """An NVIDIA GPU that torch uses."""
    driver = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", driver)
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


def test_readings_are_seldom_and_in_units(gpu: Sensors) -> None:
    clock = Time()
    watch = RoundWatch(1, gpu, clock)
    for _ in range(50):
        assert watch.disturbance() != DEVICE
        clock.now += 0.02
    telemetry = watch.telemetry(kept=0)
    assert 8 <= len(telemetry.clock_mhz) <= 10, "one in 100 ms, of 50 rounds in a second"
    assert (telemetry.clock_mhz[0], telemetry.temperature_c[0]) == (1980, 41)
    assert ({*telemetry.throttle_reasons} <= {PROGRAMS}, telemetry.unreadable) == (True, ())
    assert gpu.read("driver") == "580.1"


def test_a_throttled_device_disturbs_until_it_is_over(gpu: Sensors, nvml: Nvml) -> None:
    clock, seen = Time(), []
    watch = RoundWatch(1, gpu, clock)
    for reasons in (0, 0x40 | 0x04, 0x40, 0x04):  # the power cap alone is no fault
        nvml.reasons = reasons
        clock.now += 0.2 if reasons != 0x40 else 0.001
        seen.append(watch.disturbance())
    assert [each == DEVICE for each in seen] == [False, True, True, False]
    told = watch.telemetry(kept=1)
    assert told.throttle_reasons["hardware thermal slowdown"] == 2
    assert told.throttle_reasons["power cap"] == 2
    assert (told.repeated_rounds, told.throttled_rounds) == (len(seen) - seen.count(None) - 1, 1)


def test_an_unreadable_sensor_is_named_and_asked_only_once(gpu: Sensors, nvml: Nvml) -> None:
    nvml.refused = {"nvmlDeviceGetTemperature"}
    watch = RoundWatch(1, gpu, Time())
    for _ in range(2):
        nvml.reasons = 0x40
        watch.disturbance()
    assert (watch.telemetry(kept=0).unreadable, watch.telemetry(kept=0).temperature_c) == (("temperature",), ())
    assert nvml.asked.count("nvmlDeviceGetTemperature") == 1


@pytest.mark.parametrize("device", ["cuda", "xpu", "mps"])
def test_without_a_library_everything_is_unreadable(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    watch = RoundWatch(1, Sensors(torch.device(device)))
    assert watch.disturbance() != DEVICE
    assert watch.telemetry(kept=0).unreadable == ("clock", "slowdown", "temperature")


@pytest.fixture
def stranger(nvml: Nvml) -> Iterator[int]:
    """The id of a process of another user on the GPU."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        nvml.pids |= {process.pid}
        yield process.pid
        process.kill()


def test_a_process_of_another_group_is_another(gpu: Sensors, nvml: Nvml, stranger: int) -> None:
    nvml.pids |= {2**22 + 1}  # has ended
    with subprocess.Popen(["sleep", "600"]) as child:
        nvml.pids |= {child.pid}
        assert gpu.other_processes() == (stranger,)
        child.kill()


def test_a_container_that_hides_this_process_knows_of_none(gpu: Sensors, nvml: Nvml) -> None:
    nvml.pids = {4711}
    assert gpu.other_processes() == ()
    assert gpu.unreadable == {"processes"}


def test_a_busy_gpu_is_refused_with_a_way_out(stranger: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "choose_device", lambda _: torch.device("cuda"))
    monkeypatch.setattr(preflight, "describe", lambda _: None)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: torch.device("cuda"))
    with pytest.raises(AtlasError) as refused:
        preflight.preflight(Preflight())
    assert str(stranger) in refused.value.what
    assert "--allow-busy" in refused.value.remedy
    assert preflight.preflight(Preflight(allow_busy=True)).device == "cuda"


def watch(monkeypatch: pytest.MonkeyPatch, *rounds: tuple[float, float, float], cores: int, threads: int) -> RoundWatch:
    """Return a watch of rounds that take these seconds: wall time, CPU time of all cores, and of this process."""
    totals = [CpuReading(100.0, 5000.0, 7.0)]
    for each in rounds:
        totals.append(CpuReading(*(before + more for before, more in zip(totals[-1], each, strict=True))))
    monkeypatch.setattr(interference, "cores", lambda: cores)
    monkeypatch.setattr(interference, "look", iter(totals).__next__)
    return RoundWatch(threads)


def test_a_round_is_disturbed_when_others_take_cores_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = [(1.0, 2.0, 2.0), (1.0, 2.0, 1.8), (1.0, 1.9, 1.88), (0.1, 0.2, 0.18), (0.1, 0.2, 0.15)]
    seen = watch(monkeypatch, *rounds, cores=2, threads=2)
    assert [seen.disturbance() for _ in rounds] == [None, PROGRAMS, None, None, PROGRAMS]
    told = seen.telemetry(kept=1)
    assert (told.repeated_rounds, told.throttled_rounds, told.throttle_reasons) == (1, 1, {PROGRAMS: 2})


def test_others_may_use_the_cores_that_it_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = [(1.0, 7.0, 4.0), (1.0, 8.5, 4.0)]
    seen = watch(monkeypatch, *rounds, cores=8, threads=4)
    assert [seen.disturbance() for _ in rounds] == [None, PROGRAMS]


def test_a_program_that_really_computes_is_seen() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        time.sleep(0.3)  # let it start
        before = look()
        time.sleep(1.0)
        after = look()
        busy.kill()
    assert after.busy - before.busy - (after.own - before.own) > 0.4
