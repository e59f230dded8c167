"""Describe this machine and checkout: CPU, memory, operating system, package versions, commit. Imports no torch."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from bench.errors import attempt

ROOT = Path(__file__).resolve().parent.parent
"""The root folder of this project."""

GROUP = Path("/sys/fs/cgroup")
"""The control group of this process, which limits what a container uses."""

CPUINFO = Path("/proc/cpuinfo")

CHIP_NUMBERS = {"cpu family": "family", "model": "model", "CPU implementer": "implementer", "CPU part": "part"}
"""Fields of `CPUINFO` that tell chips apart where their name doesn't, on x86 and on ARM."""

INSTRUCTION_SETS = re.compile(
    "avx2|avx512(?:f|_vnni|_bf16|_fp16)|avx_vnni|amx_(?:tile|bf16|int8|fp16)|neon|asimd|sve2?|i8mm|bf16"
)
"""Those that oneDNN and Inductor choose kernels by, on x86 and on ARM, as Linux names them."""


def cpu_name() -> str:
    """Return the model name of the processor.

    Virtual machines may give a generic one, which many chips share. Then family and model follow, as in
    ``AMD EPYC (family 25, model 17)``.
    """
    chip = _chip()
    name = chip.get("model name")
    if name and re.search(r"\d", re.sub(r"@?\s*[\d.]+\s*[GM]Hz", "", name)):
        return name
    if platform.system() == "Darwin":
        name = output("sysctl", "-n", "machdep.cpu.brand_string")
    numbers = ", ".join(f"{word} {chip[field]}" for field, word in CHIP_NUMBERS.items() if field in chip)
    return (name or platform.processor() or platform.machine()) + (f" ({numbers})" if numbers else "")


def instruction_sets() -> tuple[str, ...]:
    """Return those of `INSTRUCTION_SETS` that the processor has, sorted; empty if unknown."""
    chip = _chip()
    flags = chip.get("flags") or chip.get("Features", "")
    return tuple(sorted(filter(INSTRUCTION_SETS.fullmatch, flags.split())))


def _chip() -> dict[str, str]:
    fields = (line.partition(":") for line in lines(CPUINFO))
    return {name.strip(): value.strip() for name, _, value in fields}


def cores() -> int | None:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def quota_cores() -> float:
    """Return the number of CPU cores that this process may use at a time: its control group may have a quota."""
    most = float(cores() or 1)
    for names in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):  # versions 2 and 1
        with suppress(ValueError):  # no such file, or no quota: "max"
            quota, period = (int(number) for name in names for line in lines(GROUP / name) for number in line.split())
            return min(most, quota / period) if quota > 0 else most
    return most


def compiler() -> str | None:
    """Return the path of the C++ compiler that Inductor runs, or None where there is none."""
    usual = {"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++")
    return shutil.which(os.environ.get("CXX", usual))


def version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    return attempt(lambda: importlib.metadata.version(package))


def lines(path: Path) -> list[str]:
    """Return the lines of a text file, or an empty list if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def output(*command: str) -> str | None:
    """Return what a command prints, or None if it prints nothing, fails or is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def commit() -> str | None:
    """Return the short hash of this checkout, or None outside of a repository, as on the nodes of a cluster.

    The hash ends in "-dirty" if the tree has changes other than records.
    """
    git = ("git", "-C", str(ROOT))
    top = output(*git, "rev-parse", "--show-toplevel")  # with slashes, on Windows too
    if top is None or Path(top) != ROOT:
        return None
    head = output(*git, "rev-parse", "--short=12", "HEAD")
    changes = output(*git, "status", "--porcelain", "--", ":!bench/results")
    return f"{head}-dirty" if head and changes else head
