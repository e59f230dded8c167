"""What a record tells of its machine, and a GPU that torch cannot use: refused with the driver and a way out."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from fake_nvml import Nvml

from bench import machine
from bench.errors import AtlasError
from bench.measuring import environment, preflight
from bench.plans.messages import Preflight

# ── The processor ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Intel(R) Xeon(R) Platinum 8480C", "Intel(R) Xeon(R) Platinum 8480C"),
        ("Intel(R) Xeon(R) Processor @ 2.50GHz", "Intel(R) Xeon(R) Processor @ 2.50GHz (family 6, model 143)"),
        ("AMD EPYC", "AMD EPYC (family 6, model 143)"),
    ],
)
def test_a_generic_name_of_a_processor_is_told_apart(
    name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One such name is that of chips with and without AMX."""
    cpuinfo = tmp_path / "cpuinfo"
    fields = {"cpu family": "6", "model": "143", "model name": name, "flags": "fpu sse avx2 avx512f amx_tile amx_bf16"}
    cpuinfo.write_text("".join(f"{field}\t: {value}\n" for field, value in fields.items()))
    monkeypatch.setattr(machine, "CPUINFO", cpuinfo)
    assert machine.cpu_name() == told
    assert machine.instruction_sets() == ("amx_bf16", "amx_tile", "avx2", "avx512f")


def test_an_arm_processor_is_told_by_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("Features\t: fp asimd sve i8mm bf16\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n")
    monkeypatch.setattr(machine, "CPUINFO", cpuinfo)
    monkeypatch.setattr(platform, "processor", lambda: "aarch64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert machine.cpu_name() == "aarch64 (implementer 0x41, part 0xd40)"
    assert machine.instruction_sets() == ("asimd", "bf16", "i8mm", "sve")


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8.0),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, 8.0),
        ({"cpu.max": "9900000 100000\n"}, 8.0),
        ({"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8.0),
    ],
)
def test_the_quota_of_a_container_is_read_in_both_versions(
    files: dict[str, str], cores: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine, "GROUP", tmp_path)
    monkeypatch.setattr(machine, "cores", lambda: 8)
    assert machine.quota_cores() == cores


# ── Settings ────────────────────────────────────────────────────────────────────────────────────────────────────────


RECORDED = {
    "TORCHDYNAMO_SUPPRESS_ERRORS": "1",
    "TORCHINDUCTOR_MAX_AUTOTUNE": "1",
    "TRITON_INTERPRET": "1",
    "CUDA_LAUNCH_BLOCKING": "1",
}
LEFT_OUT = {
    "TORCHINDUCTOR_CACHE_DIR": "/home/ann/cache",
    "TORCH_HOME": "/home/ann",
    "TORCH_TRACE": "/home/ann",
    "MIOPEN_USER_DB_PATH": "/home/ann",
    "CUDA_VISIBLE_DEVICES": "GPU-5e3d0b0c-1d5c-4f0e-9a3e-8f4c2f0a1b2c",
    "TORCHELASTIC_RUN_ID": "ann-7",
    "CUDA_VERSION": "13.0",  # from here on, variables of container images
    "PYTORCH_BUILD_VERSION": "2.11",
    "TORCH_CUDA_ARCH_LIST": "9.0",
    "TORCH_NVCC_FLAGS": "-Xfatbin",
}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_settings_are_recorded_without_private_ones_and_those_of_an_image(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**RECORDED, **LEFT_OUT}.items():
        monkeypatch.setenv(name, value)
    settings = environment._settings(torch.device(device))
    assert settings.items() >= RECORDED.items()
    assert settings.keys().isdisjoint(LEFT_OUT)


# ── A GPU that torch cannot use ─────────────────────────────────────────────────────────────────────────────────────


Refused = Callable[[str | None], AtlasError | None]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Return the error for a machine with an NVIDIA GPU and this driver, on which torch finds none."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()

    def check(driver: str | None) -> AtlasError | None:
        nvml = Nvml()
        nvml.refused = set() if driver else {"nvmlInit"}
        monkeypatch.setattr(nvml, "nvmlSystemGetDriverVersion", lambda: driver, raising=False)
        monkeypatch.setitem(sys.modules, "pynvml", nvml)
        try:
            preflight.refuse_unused_gpu(tmp_path)
        except AtlasError as error:
            return error
        return None

    return check


@pytest.mark.parametrize(
    ("cuda", "driver", "remedy"),
    [
        ("13.0", "535.161.08", "nvidia-smi"),
        ("13.0", None, "after an update of the driver, reboot"),
        (None, "580.65.06", "install the build of torch for CUDA"),
    ],
)
def test_the_driver_and_the_build_of_torch_are_told(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, cuda: str | None, driver: str | None, remedy: str
) -> None:
    for name, version in {"cuda": cuda, "hip": None, "xpu": None}.items():
        monkeypatch.setattr(torch.version, name, version)
    error = refused(driver)
    assert error is not None
    assert f"built for {f'CUDA {cuda}' if cuda else 'CPUs only'}" in error.what
    assert (f"with driver {driver}" in error.what) == bool(driver)
    assert remedy in error.remedy
    assert "--device cpu" in error.remedy


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_hidden_gpu_or_the_wish_for_the_cpu_is_respected(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    assert refused("535.161.08")
    with monkeypatch.context() as patch:
        patch.setattr(preflight, "refuse_unused_gpu", lambda: pytest.fail("looked for a GPU"))
        assert preflight.preflight(Preflight(device="cpu")).device == "cpu"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert refused("535.161.08") is None


def test_the_multiprocessors_of_a_gpu_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(total_memory=15_828_320_256, multi_processor_count=40, uuid="0-1")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Tesla T4")
    found = environment.describe(torch.device("cuda"))
    assert (found.device_name, found.memory_gb, found.multiprocessors) == ("Tesla T4", 15.8, 40)
    assert environment.describe(torch.device("cpu")).multiprocessors is None
