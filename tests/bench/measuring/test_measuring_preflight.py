"""A GPU that torch cannot use is refused with the build of torch, the driver and a way out; the CPU never is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from bench.errors import AtlasError
from bench.measuring import preflight
from bench.plans.messages import Preflight

NVRM = "NVRM version: NVIDIA UNIX{}  x86_64{}  {}  Tue Apr  2 00:00:00 UTC 2024\nGCC version:  gcc version 12.3.0\n"

Refused = Callable[[], AtlasError | None]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Return what is raised for the machine below `tmp_path`, on which torch finds no GPU."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: None)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    for name in preflight.HIDING:
        monkeypatch.delenv(name, raising=False)

    def check() -> AtlasError | None:
        try:
            preflight.refuse_unused_gpu(tmp_path)
        except AtlasError as error:
            return error
        return None

    return check


def build(monkeypatch: pytest.MonkeyPatch, **platform: str) -> None:
    for name in ("cuda", "hip", "xpu"):
        monkeypatch.setattr(torch.version, name, platform.get(name))


def put(root: Path, path: str, content: str = "") -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def put_nvidia(root: Path, driver: str, *, is_open: bool = False) -> None:
    words = (" Open Kernel Module for", "") if is_open else ("", " Kernel Module")
    put(root, "proc/driver/nvidia/version", NVRM.format(*words, driver))
    put(root, "dev/nvidia0")


def put_card(root: Path, address: str, vendor: str, vram: int = 0) -> None:
    """Put a PCI device with its card and render node, which lead to it over links, as the kernel does."""
    device = root / "sys/devices" / address
    put(device, "vendor", f"{vendor}\n")
    put(device, "mem_info_vram_total", f"{vram}\n")
    (root / "sys/bus/drivers/xe").mkdir(parents=True)
    (device / "driver").symlink_to(root / "sys/bus/drivers/xe")
    for node in ("card0", "renderD128"):
        (root / "sys/class/drm" / node).mkdir(parents=True)
        (root / "sys/class/drm" / node / "device").symlink_to(device)


@pytest.mark.parametrize("is_open", [False, True])
def test_a_driver_that_is_too_old_for_the_build_is_told(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_open: bool
) -> None:
    put_nvidia(tmp_path, "535.161.08", is_open=is_open)
    build(monkeypatch, cuda="13.0")
    error = refused()
    assert error is not None
    assert error.what.startswith(f"torch {torch.__version__} (built for CUDA 13.0) finds no GPU")
    assert error.what.endswith("NVIDIA GPU with driver 535.161.08")
    assert "CUDA 13.0 needs driver 580 or newer" in error.remedy
    assert "--device cpu" in error.remedy


def test_a_driver_that_is_new_enough_is_not_blamed(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_nvidia(tmp_path, "580.65.06")
    build(monkeypatch, cuda="13.0")
    error = refused()
    assert error is not None
    assert "nvidia-smi" in error.remedy
    assert "needs driver" not in error.remedy
    build(monkeypatch)
    error = refused()
    assert error is not None
    assert "built for CPUs only" in error.what
    assert "build of torch for CUDA" in error.remedy


def test_a_container_without_the_gpu_of_its_host_measures_the_cpu(refused: Refused, tmp_path: Path) -> None:
    put_nvidia(tmp_path, "535.161.08")
    (tmp_path / "dev/nvidia0").unlink()
    assert refused() is None


@pytest.mark.parametrize("devices", [0, 1])
def test_wsl_has_no_driver_in_proc_and_is_asked_through_nvml(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, devices: int
) -> None:
    state: list[bool] = []

    def driver() -> str:
        assert state, "NVML answers between init and shutdown alone"
        return "531.18"

    nvml = SimpleNamespace(
        nvmlInit=lambda: state.append(True),
        nvmlShutdown=state.pop,
        nvmlDeviceGetCount=lambda: devices * len(state),
        nvmlSystemGetDriverVersion=driver,
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    error = refused()
    assert (error is not None and "driver 531.18" in error.what) is bool(devices)
    assert not state


@pytest.mark.parametrize(("gibibytes", "is_told"), [(16, True), (2, False)])
def test_an_amd_gpu_is_told_and_graphics_within_a_processor_are_not(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gibibytes: int, *, is_told: bool
) -> None:
    put_card(tmp_path, "0000:03:00.0", "0x1002", gibibytes * 2**30)
    put(tmp_path, "sys/module/amdgpu/version", "6.10.5\n")
    build(monkeypatch, cuda="13.0")
    assert refused() is None, "without /dev/kfd, no ROCm"
    put(tmp_path, "dev/kfd")
    error = refused()
    assert (error is not None) is is_told
    if error:
        assert "AMD GPU with driver 6.10.5" in error.what
        assert "build of torch for ROCm" in error.remedy
        build(monkeypatch, hip="7.0")
        error = refused()
        assert error is not None
        assert "/dev/kfd" in error.remedy


@pytest.mark.parametrize(("address", "is_told"), [("0000:03:00.0", True), ("0000:00:02.0", False)])
def test_an_intel_gpu_is_told_and_graphics_within_a_processor_are_not(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, *, is_told: bool
) -> None:
    put_card(tmp_path, address, "0x8086")
    build(monkeypatch, cuda="13.0")
    error = refused()
    assert (error is not None) is is_told
    if error:
        assert "Intel GPU with driver xe" in error.what
        assert "build of torch for XPU" in error.remedy


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_who_hides_the_gpu_or_asks_for_the_cpu_gets_it(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    put_nvidia(tmp_path, "535.161.08")
    assert refused() is not None
    with monkeypatch.context() as patch:
        patch.setattr(preflight, "refuse_unused_gpu", lambda: pytest.fail("looked for a GPU"))
        assert preflight.preflight(Preflight(device="cpu")).device == "cpu"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert refused() is None


def test_a_gpu_that_torch_finds_is_not_looked_for(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_nvidia(tmp_path, "535.161.08")
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: torch.device("cuda"))
    assert refused() is None
