"""The doctor: each complaint for a machine with that fault, and none for a healthy machine or a GPU in a container."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from fake_nvml import Nvml
from hypothesis import given, strategies as st

from bench.measuring import doctor
from bench.measuring.doctor import Gpu, MachineState, examine, look

HEALTHY = MachineState(
    cores=8,
    quota_cores=8.0,
    busy_cores=0.1,
    governors=frozenset({"performance"}),
    gpu=Gpu("H100", power_limits_w=(700.0, 700.0)),
)
GPU = HEALTHY.gpu or Gpu("")


def checks(machine: MachineState) -> list[str]:
    return [each.check for each in examine(machine)]


def test_a_healthy_machine_has_no_complaint() -> None:
    assert checks(HEALTHY) == checks(MachineState(cores=2)) == []


@pytest.mark.parametrize(
    ("machine", "check"),
    [
        (replace(HEALTHY, busy_cores=1.5), "load"),
        (replace(HEALTHY, quota_cores=1.5), "quota"),
        (replace(HEALTHY, stolen_share=0.1), "steal"),
        (replace(HEALTHY, governors=frozenset({"performance", "powersave"})), "governor"),
        *((replace(HEALTHY, missing=(tool,)), "compiler") for tool in doctor.TOOLS),
        (replace(HEALTHY, gpu=replace(GPU, processes=2)), "gpu-processes"),
        (replace(HEALTHY, gpu=replace(GPU, slowdowns=frozenset({"hardware slowdown"}))), "gpu-slowdown"),
        (replace(HEALTHY, gpu=replace(GPU, power_limits_w=(400.0, 700.0))), "gpu-power"),
    ],
)
def test_each_fault_is_named_with_its_remedy(machine: MachineState, check: str) -> None:
    (complaint,) = examine(machine)
    assert complaint.check == check
    assert complaint.what
    assert complaint.remedy


@pytest.mark.parametrize(
    "container",
    [
        MachineState(cores=96, quota_cores=11.0),  # kubernetes: limits of 11 CPUs
        MachineState(cores=16, busy_cores=5.0, stolen_share=0.05),  # other tenants of a host with many cores
    ],
)
def test_a_share_of_a_host_is_no_fault_of_a_gpu_and_one_of_a_cpu(container: MachineState) -> None:
    assert checks(replace(container, is_accelerated=True)) == []
    assert checks(container)


@pytest.mark.parametrize("machine", [replace(HEALTHY, quota_cores=1.0), replace(HEALTHY, busy_cores=7.0)])
def test_a_gpu_needs_two_free_cores(machine: MachineState) -> None:
    assert checks(replace(machine, is_accelerated=True))


@given(busy=st.floats(0, 64), cores=st.integers(1, 64))
def test_only_a_tenth_of_the_cores_is_a_load(busy: float, cores: int) -> None:
    assert ("load" in checks(MachineState(cores=cores, busy_cores=busy))) == (busy > cores / 10)


def test_a_core_counts_as_busy_where_this_process_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two cores, others use the second one all the time."""
    start = time.monotonic()

    def cpu_times(*, percpu: bool = False) -> Any:
        now = time.monotonic() - start
        return [CpuTimes(0.0, now), CpuTimes(now, 0.0)] if percpu else CpuTimes(now, now)

    monkeypatch.setattr("psutil.cpu_times", cpu_times)
    busy = {}
    for allowed in ({0}, {1}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, allowed=allowed: allowed)
        machine = look("cpu", seconds=0.2)
        assert machine.cores == 1
        busy[min(allowed)] = machine.busy_cores
    assert busy == pytest.approx({0: 0.0, 1: 1.0}, abs=0.2)


class CpuTimes(NamedTuple):
    user: float
    idle: float


@pytest.mark.parametrize(("visible", "name"), [(None, "NVIDIA T1000"), ("1,0", "NVIDIA L4"), ("GPU-0-1", "NVIDIA L4")])
def test_the_gpu_is_the_first_that_cuda_may_use(
    visible: str | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml = Nvml()
    nvml.pids |= {1}
    nvml.reasons, nvml.limits_mw = 0x20 | 0x04, (250_000, 300_000)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    found = look(seconds=0.01)
    assert found.is_accelerated
    assert found.gpu == Gpu(
        name, (visible or "0").partition(",")[0], 1, frozenset({"software thermal slowdown"}), (250.0, 300.0)
    )
    assert look("cpu", seconds=0.01).gpu is None


def test_the_command_prints_its_complaints() -> None:
    done = subprocess.run([sys.executable, "-m", "bench", "doctor"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert ("remedy: " in done.stdout) == bool(done.returncode)
    assert not done.stderr
