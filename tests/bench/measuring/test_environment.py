"""What a record tells of its machine, and a GPU that torch cannot use: refused with the driver and a way out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from fake_nvml import Nvml

from bench import machine
from bench.errors import AtlasError
from bench.measuring import environment, preflight


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


@pytest.mark.parametrize(
    ("cuda", "driver", "remedy"),
    [
        ("13.0", "535.161.08", "nvidia-smi"),
        ("13.0", None, "after an update of the driver, reboot"),
        (None, "580.65.06", "install the build of torch for CUDA"),
    ],
)
def test_a_gpu_that_torch_cannot_use_is_told_with_its_driver_unless_it_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuda: str | None, driver: str | None, remedy: str
) -> None:
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    nvml = Nvml()
    nvml.refused = set() if driver else {"nvmlInit"}
    monkeypatch.setattr(nvml, "nvmlSystemGetDriverVersion", lambda: driver, raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    for name, version in {"cuda": cuda, "hip": None, "xpu": None}.items():
        monkeypatch.setattr(torch.version, name, version)
    with pytest.raises(AtlasError, match=f"built for {f'CUDA {cuda}' if cuda else 'CPUs only'}") as error:
        preflight.refuse_unused_gpu(tmp_path)
    assert (f"with driver {driver}" in error.value.what) == bool(driver)
    assert remedy in error.value.remedy
    assert "--device cpu" in error.value.remedy
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    preflight.refuse_unused_gpu(tmp_path)
