"""The doctor: each complaint for a machine with that fault, and none for a healthy machine or a GPU in a container."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

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
    free_memory_gb=30.0,
    free_disk_gb=100.0,
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
        (replace(HEALTHY, free_memory_gb=1.0), "memory"),
        (replace(HEALTHY, free_disk_gb=0.5), "disk"),
        *((replace(HEALTHY, missing=(tool,)), "compiler") for tool in doctor.TOOLS),
        (replace(HEALTHY, is_accelerated=True, debug_variables=("CUDA_LAUNCH_BLOCKING",)), "variables"),
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


@contextmanager
def busy_core(core: int) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=_spin, args=(core,), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()


def _spin(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass


def test_a_busy_core_counts_where_this_process_may_run(tmp_path: Path) -> None:
    ours = os.sched_getaffinity(0)
    if len(ours) < 2:
        pytest.skip("needs two cores")
    one, other, *_ = sorted(ours)
    os.sched_setaffinity(0, {one})
    try:
        with busy_core(one):
            shared = look(tmp_path / "not" / "made" / "yet", "cpu")
        with busy_core(other):
            apart = look(tmp_path, "cpu")
    finally:
        os.sched_setaffinity(0, ours)
    assert (shared.cores, apart.cores) == (1, 1)
    assert shared.busy_cores > 0.5
    assert apart.busy_cores < shared.busy_cores - 0.3
    assert min(shared.free_memory_gb, shared.free_disk_gb) > 0


@pytest.mark.parametrize(("visible", "name"), [(None, "NVIDIA T1000"), ("1,0", "NVIDIA L4"), ("GPU-0-1", "NVIDIA L4")])
def test_the_gpu_is_the_first_that_cuda_may_use(
    visible: str | None, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nvml = Nvml()
    nvml.pids |= {1}
    nvml.reasons, nvml.limits_mw = 0x20 | 0x04, (250_000, 300_000)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    found = look(tmp_path, seconds=0.01)
    assert found.is_accelerated
    assert found.gpu == Gpu(
        name, (visible or "0").partition(",")[0], 1, frozenset({"software thermal slowdown"}), (250.0, 300.0)
    )
    assert look(tmp_path, "cpu", seconds=0.01).gpu is None


def test_the_command_prints_its_complaints() -> None:
    done = subprocess.run([sys.executable, "-m", "bench", "doctor"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert ("remedy: " in done.stdout) == bool(done.returncode)
    assert not done.stderr
