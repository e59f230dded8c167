"""The doctor and the sensors on NVIDIA machines: the real pynvml, and a library that answers from transcripts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

HERE = Path(__file__).parent / "nvml"

DOCTOR = """
import runpy, sys
from bench import machine
machine.sees_all_processes = lambda: {sees_all}
sys.argv = ["bench", "doctor"]
runpy.run_module("bench", run_name="__main__")
"""

SENSORS = """
import json, types, torch
from bench import machine
machine.sees_all_processes = lambda: {sees_all}
torch.version.hip = None
torch.cuda.get_device_properties = lambda _: types.SimpleNamespace(uuid="{uuid}")
torch.empty = lambda *_, **__: None
from bench.measuring.sensors import DeviceWatch, Sensors
import msgspec
sensors = Sensors(torch.device("cuda"))
watch = DeviceWatch(sensors, clock=iter(range(1000)).__next__)
strangers = sensors.other_processes()
throttled = [watch.is_disturbed() for _ in range(10)]
told = msgspec.to_builtins(watch.telemetry())
found = dict(told=told, throttled=throttled, strangers=strangers)
print(json.dumps(found | dict(driver=sensors.read("driver"))))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the fake library."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        pytest.skip("the fake driver needs Linux and a C compiler: apt install gcc")
    folder = tmp_path_factory.mktemp("nvml")
    options = ["-shared", "-fPIC", "-Wall", "-Werror", "-o", str(folder / "libnvidia-ml.so.1")]
    subprocess.run([compiler, *options, str(HERE / "fake_nvml.c")], check=True)
    return folder


def run(library: Path, transcript: str, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python code where the driver answers from this transcript."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CUDA_")}
    given = {"LD_LIBRARY_PATH": str(library), "NVML_TRANSCRIPT": str(HERE / f"{transcript}.txt")}
    environment = inherited | given | variables
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def doctor(library: Path, transcript: str, *, sees_all: bool = True, **variables: str) -> list[str]:
    """Return the lines about GPUs that `python -m bench doctor` prints there."""
    done = run(library, transcript, DOCTOR.format(sees_all=sees_all), **variables)
    assert not done.stderr
    lines = done.stdout.splitlines()
    assert done.returncode == any("  remedy: " in line for line in lines)
    of_gpus = ("gpu-", "unknown: ")
    remedies = {at + 1 for at, line in enumerate(lines) if line.startswith("gpu-")}
    return [line for at, line in enumerate(lines) if line.startswith(of_gpus) or at in remedies]


def sensors(library: Path, transcript: str, uuid: str, *, sees_all: bool = True) -> dict[str, Any]:
    """Return what the sensors of the device with this UUID tell there, in ten rounds."""
    done = run(library, transcript, SENSORS.format(sees_all=sees_all, uuid=uuid))
    assert not done.returncode, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


# ── Two GPUs, of which CUDA takes the second one first ──────────────────────────────────────────────────────────────


FAST = "NVIDIA RTX 6000 Ada Generation"
ABOUT_THE_FAST_ONE = [
    f"gpu-processes: other processes are computing on {FAST}: 1",
    "  remedy: stop them: nvidia-smi lists them",
    f"gpu-power: {FAST} is limited to 250 W instead of the usual 300 W",
    "  remedy: sudo nvidia-smi -i 1 --power-limit=300, unless you want to measure with this limit",
    f"gpu-persistence: the driver of {FAST} is unloaded between processes, so each starts with a cold device",
    "  remedy: sudo nvidia-smi -i 1 --persistence-mode=1",
]


@pytest.mark.parametrize(
    "variables",
    [{"CUDA_VISIBLE_DEVICES": "GPU-2222"}, {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}],
)
def test_a_gpu_that_is_named_is_the_one_that_is_examined(library: Path, variables: dict[str, str]) -> None:
    assert doctor(library, "bare_metal", sees_all=True, **variables) == ABOUT_THE_FAST_ONE


def test_an_index_alone_does_not_say_which_gpu_cuda_takes(library: Path) -> None:
    lines = doctor(library, "bare_metal", CUDA_VISIBLE_DEVICES="0")
    assert [line for line in lines if not line.startswith("unknown: ")] == [
        "gpu-processes: other processes are computing on NVIDIA T1000 (GPU 0): 1",
        "  remedy: stop them: nvidia-smi lists them",
        f"gpu-processes: other processes are computing on {FAST} (GPU 1): 1",
        "  remedy: stop them: nvidia-smi lists them",
    ]
    which, limited, unloaded = (line for line in lines if line.startswith("unknown: "))
    assert which == (
        f"unknown: which of these 2 will be measured: NVIDIA T1000 (GPU 0), {FAST} (GPU 1); "
        "put the UUID of one (nvidia-smi -L) into CUDA_VISIBLE_DEVICES"
    )
    doubt = f"unknown: whether this affects the GPU that will be measured: {{}}{FAST} (GPU 1) is "
    assert limited == doubt.format("") + "limited to 250 W instead of the usual 300 W"
    assert unloaded.startswith(doubt.format("the driver of ") + "unloaded between processes")


def test_the_sensors_are_those_of_the_gpu_with_the_uuid_that_cuda_says(library: Path) -> None:
    found = sensors(library, "bare_metal", "22222222-aaaa-bbbb-cccc-000000000000")
    assert (found["driver"], found["strangers"]) == ("580.95.05", [])
    assert set(found["told"]["clock_mhz"]) == {2490, 2505}
    assert (found["told"]["throttle_reasons"], found["told"]["throttle_readings"]) == ({"power cap": 8}, 10)
    assert found["throttled"] == [False] * 10, "a cap is no fault"
    assert "unreadable" not in found["told"]
    slow = sensors(library, "bare_metal", "11111111-aaaa-bbbb-cccc-000000000000")
    assert set(slow["told"]["clock_mhz"]) == {1395}
    assert slow["told"]["unreadable"] == ["processes"], "the slow one does not see us"


def test_what_a_gpu_needs_and_what_slows_it_down_is_told(library: Path, tmp_path: Path) -> None:
    variables = {"CUDA_LAUNCH_BLOCKING": "1", "PYTORCH_NO_CUDA_MEMORY_CACHING": "0"}
    headers = "import sysconfig\nreal = sysconfig.get_path\n"
    headers += f"sysconfig.get_path = lambda name: {str(tmp_path)!r} if name in ('include', 'stdlib') else real(name)"
    done = run(library, "container", headers + DOCTOR.format(sees_all=True), CC="no-such-one", **variables)
    assert done.returncode == 1, done.stderr
    for line in (
        "c-compiler: there is no C compiler, and Triton needs one for a GPU",
        "  remedy: apt install gcc; if CC is set, it must name a C compiler; otherwise: unset CC",
        "headers: Python.h is missing, and compiled kernels include it",
        f"variables: {' and '.join(variables)} are set for debugging, and slow down the GPU",
        f"  remedy: unset {' '.join(variables)}",
    ):
        assert line in done.stdout.splitlines()
    off = run(library, "container", DOCTOR.format(sees_all=True), CUDA_LAUNCH_BLOCKING="0")
    assert "variables: " not in off.stdout
    assert ("triton: " in off.stdout) == (find_spec("triton") is None)


# ── A container, WSL and MIG ────────────────────────────────────────────────────────────────────────────────────────


def test_a_container_says_what_it_hides(library: Path) -> None:
    assert doctor(library, "container", sees_all=False) == [
        "unknown: whether other processes are computing on NVIDIA L4: this container hides processes outside it"
    ]
    found = sensors(library, "container", "33333333-aaaa-bbbb-cccc-000000000000", sees_all=False)
    assert found["told"]["unreadable"] == ["processes"]
    assert found["strangers"] == []
    assert set(found["told"]["clock_mhz"]) == {2040}


def test_windows_below_linux_says_what_its_driver_leaves_out(library: Path) -> None:
    name = "NVIDIA GeForce RTX 4070 Laptop GPU"
    assert doctor(library, "wsl") == [
        f"unknown: whether other processes are computing on {name}: the driver does not say",
        f"unknown: whether {name} is slowed down: the driver does not say",
    ]
    found = sensors(library, "wsl", "44444444-aaaa-bbbb-cccc-000000000000")
    assert found["told"]["unreadable"] == ["slowdown", "processes"]
    assert "throttle_readings" not in found["told"]
    assert found["throttled"] == [False] * 10


PART = "NVIDIA A100-SXM4-80GB MIG 3g.40gb"


def test_an_instance_of_a_gpu_has_its_own_processes_and_the_heat_of_the_whole(library: Path) -> None:
    slow = [
        f"gpu-slowdown: {PART} is slowed down: software thermal slowdown",
        "  remedy: let it cool down, and check its fans and power supply",
    ]
    hidden = (
        f"unknown: whether other processes are computing on {PART}: it is part of a GPU, and processes on the "
        "other parts are not listed"
    )
    assert doctor(library, "mig", CUDA_VISIBLE_DEVICES="MIG-7777") == [*slow, hidden]
    busy = [
        f"gpu-processes: other processes are computing on {PART}: 1",
        "  remedy: stop them: nvidia-smi lists them",
    ]
    assert doctor(library, "mig", CUDA_VISIBLE_DEVICES="MIG-6666") == [*busy, *slow, hidden]


@pytest.mark.parametrize("named", ["77777777", "55555555"])
def test_an_instance_is_not_held_to_account_for_the_whole_gpu(library: Path, named: str) -> None:
    """CUDA may give the UUID of the instance or of its GPU."""
    found = sensors(library, "mig", f"{named}-aaaa-bbbb-cccc-000000000000")
    assert found["told"]["unreadable"] == ["processes"]
    assert found["strangers"] == []
    assert set(found["told"]["clock_mhz"]) == {1155}
    assert found["throttled"] == [True] * 10
