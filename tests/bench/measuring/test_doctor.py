"""The doctor: each complaint for a machine with that fault, and none for a healthy machine."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hypothesis import given, strategies as st

from bench.measuring import doctor
from bench.measuring.doctor import Gpu, MachineState, examine, look

WELL = MachineState(
    cores=8,
    busy_cores=0.1,
    stolen_share=0.0,
    governors=frozenset({"performance"}),
    hottest=(50.0, 100.0),
    on_battery=False,
    swapped_share=0.0,
    free_memory_gb=30.0,
    compiler="/usr/bin/c++",
    c_compiler="/usr/bin/cc",
    uses_triton=True,
    cache_free_gb=100.0,
    cache_file_system="ext4",
    gpus=(Gpu("H100", 0, slowdowns=frozenset(), power_limit_w=700.0, default_power_limit_w=700.0, persistent=True),),
)


def checks(machine: MachineState) -> list[str]:
    return [each.check for each in examine(machine)]


def test_a_machine_that_is_well_has_no_complaint() -> None:
    assert checks(WELL) == []


def test_a_machine_that_tells_nothing_but_its_compiler_has_no_complaint() -> None:
    assert checks(MachineState(cores=2, compiler="c++", gpus=(Gpu("any"),))) == []


@pytest.mark.parametrize(
    ("machine", "check"),
    [
        (replace(WELL, busy_cores=1.5), "load"),
        (replace(WELL, quota_cores=1.5), "quota"),
        (replace(WELL, stolen_share=0.1), "steal"),
        (replace(WELL, governors=frozenset({"performance", "powersave"})), "governor"),
        (replace(WELL, hottest=(97.0, 100.0)), "temperature"),
        (replace(WELL, on_battery=True), "battery"),
        (replace(WELL, clock_behind_s=86_400.0 * 365), "clock"),
        (replace(WELL, thread_variables=("OMP_NUM_THREADS",)), "threads"),
        (replace(WELL, swapped_share=0.3), "swap"),
        (replace(WELL, free_memory_gb=1.0), "memory"),
        (replace(WELL, compiler=None), "compiler"),
        (replace(WELL, c_compiler=None), "c-compiler"),
        (replace(WELL, has_python_headers=False), "headers"),
        (replace(WELL, has_triton=False), "triton"),
        (replace(WELL, debug_variables=("CUDA_LAUNCH_BLOCKING",)), "variables"),
        (replace(WELL, cache_free_gb=0.5), "disk"),
        (replace(WELL, cache_file_system="nfs4"), "cache"),
        (replace(WELL, driver_fault="Driver/library version mismatch"), "driver"),
        (replace(WELL, gpus=(replace(WELL.gpus[0], processes=2),)), "gpu-processes"),
        (replace(WELL, gpus=(replace(WELL.gpus[0], slowdowns=frozenset({"hardware slowdown"})),)), "gpu-slowdown"),
        (replace(WELL, gpus=(replace(WELL.gpus[0], power_limit_w=400.0),)), "gpu-power"),
        (replace(WELL, gpus=(replace(WELL.gpus[0], persistent=False),)), "gpu-persistence"),
    ],
)
def test_each_fault_is_named_with_what_to_do(machine: MachineState, check: str) -> None:
    (complaint,) = examine(machine)
    assert complaint.check == check
    assert complaint.what
    assert complaint.remedy


def test_a_machine_without_a_gpu_needs_nothing_for_one() -> None:
    lacking = replace(WELL, c_compiler=None, has_triton=False, debug_variables=("CUDA_LAUNCH_BLOCKING",), gpus=())
    assert checks(replace(lacking, uses_triton=False)) == []


@given(busy=st.floats(0, 64), cores=st.integers(1, 64))
def test_only_a_load_that_is_felt_is_one(busy: float, cores: int) -> None:
    assert ("load" in checks(replace(WELL, cores=cores, busy_cores=busy))) == (busy > cores / 10)


def test_a_core_that_somebody_uses_is_seen(tmp_path: Path) -> None:
    busy = [multiprocessing.get_context("spawn").Process(target=_spin, daemon=True) for _ in range(2)]
    for process in busy:
        process.start()
    try:
        machine = look(tmp_path / "not" / "made" / "yet", seconds=1.0)
    finally:
        for process in busy:
            process.kill()
    assert machine.busy_cores is not None
    assert machine.busy_cores > 0.5
    assert machine.cache_free_gb is not None
    assert machine.free_memory_gb is not None


def _spin() -> None:
    while True:
        pass


def test_a_driver_that_does_not_fit_its_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import pynvml

    def fail() -> None:
        raise pynvml.NVMLError_LibRmVersionMismatch

    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    monkeypatch.setattr(doctor, "DRIVER", Path(__file__))
    gpus, fault = doctor._nvidia()
    assert not gpus
    assert "mismatch" in (fault or "").lower()


DEVICES = (
    doctor._Device("0", "0", 0, ("GPU-0a1b",)),
    doctor._Device("1", "1", 1, ("GPU-0a2c",)),
    doctor._Device("2", "2", 2, ("GPU-9d",)),
)
PARTS = (
    doctor._Device("0.0", "0", 0, ("GPU-0a1b", "MIG-7e")),
    doctor._Device("0.1", "0", 0, ("GPU-0a1b", "MIG-8f")),
)


@pytest.mark.parametrize(
    ("devices", "visible", "order", "found"),
    [
        (DEVICES, None, "PCI_BUS_ID", "0"),
        (DEVICES, "2,1", "PCI_BUS_ID", "2"),
        (DEVICES, " 1", "PCI_BUS_ID", "1"),
        (DEVICES, None, None, "012"),
        (DEVICES, "1", None, "012"),
        (DEVICES, "1", "FASTEST_FIRST", "012"),
        (DEVICES[1:2], None, None, "1"),
        (DEVICES[1:2], "0", None, "1"),
        (DEVICES, "GPU-0a2c,GPU-9d", None, "1"),
        (DEVICES, "GPU-9", None, "2"),
        (DEVICES, "GPU-0a", None, ""),
        (DEVICES, "GPU-7", None, ""),
        *((DEVICES, hidden, None, "") for hidden in ("", "-1", "9", "none")),
        (PARTS, "MIG-8", None, ("0.1",)),
        (PARTS, "MIG-", None, ""),
        (PARTS, "GPU-0a1b", None, ("0.0", "0.1")),
        (PARTS, None, "PCI_BUS_ID", ("0.0", "0.1")),
        (PARTS[:1], None, None, ("0.0",)),
        ((), None, None, ""),
    ],
)
def test_the_gpu_that_is_asked_is_the_one_that_cuda_takes(
    devices: tuple[doctor._Device, ...], visible: str | None, order: str | None, found: str | tuple[str, ...]
) -> None:
    """Other GPUs of the machine measure their own cells."""
    assert [device.handle for device in doctor._candidates(devices, visible, order)] == [*found]


def test_what_only_some_gpus_have_is_no_complaint_while_nobody_knows_which_is_measured() -> None:
    busy, idle = replace(WELL.gpus[0], name="A", processes=2), replace(WELL.gpus[0], name="B")
    machine = replace(WELL, gpus=(busy, idle))
    assert checks(machine) == []
    which, concerns = doctor.unknowns(machine)
    assert "A, B" in which
    assert "CUDA_VISIBLE_DEVICES" in which
    assert concerns == "whether this affects the GPU that will be measured: other processes are computing on A: 2"
    assert checks(replace(WELL, gpus=(busy, busy))) == ["gpu-processes"] * 2
    assert doctor.unknowns(WELL) == []


def test_the_command_tells_what_it_found() -> None:
    done = subprocess.run([sys.executable, "-m", "bench", "doctor"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert ("remedy: " in done.stdout) == bool(done.returncode)
    assert "torch" not in done.stderr


def test_a_system_without_sensors_has_no_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS, psutil lacks the function itself."""
    monkeypatch.delattr(psutil, "sensors_temperatures", raising=False)
    assert doctor._hottest() is None
