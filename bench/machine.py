"""Describe this machine and checkout: CPU, memory, operating system, package versions, commit. Imports no torch."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The root folder of this project."""

GROUP = Path("/sys/fs/cgroup")
"""The control group of this process, which limits what a container uses."""


def cpu_name() -> str:
    """Return the model name of the processor."""
    names = [line.partition(":")[2].strip() for line in lines(Path("/proc/cpuinfo")) if line.startswith("model name")]
    if names:
        return names[0]
    if platform.system() == "Darwin":
        return output("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    return platform.processor() or platform.machine()


def cores() -> int | None:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def memory_gb() -> float:
    """Return the memory of the whole machine in GB (1e9 bytes)."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


def quota_cores() -> float:
    """Return the number of CPU cores that this process may use at a time: its control group may have a quota."""
    most = float(cores() or 1)
    with suppress(OSError, ValueError):
        quota, period = (GROUP / "cpu.max").read_text(encoding="ascii").split()
        return most if quota == "max" else min(most, int(quota) / int(period))
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota_us, period_us = (int((GROUP / f"cpu/cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
        return min(most, quota_us / period_us) if quota_us > 0 else most
    return most


def system() -> str:
    """Return the operating system and architecture, such as ``Linux x86_64``."""
    return f"{platform.system()} {platform.machine()}"


def boot() -> str:
    """Return an id that changes with each boot, or an empty string where the system has none.

    Unsynced files from before the boot may be damaged by a power cut.
    """
    return "".join(lines(Path("/proc/sys/kernel/random/boot_id")))


def compiler() -> str | None:
    """Return the path of the C++ compiler that Inductor runs, or None where there is none."""
    usual = {"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++")
    return shutil.which(os.environ.get("CXX", usual))


def c_compiler() -> str | None:
    """Return the path of the C compiler that Triton runs, or None where there is none."""
    names = [os.environ["CC"]] if "CC" in os.environ else ["gcc", "clang"]
    return next(filter(None, map(shutil.which, names)), None)


def python_headers() -> Path | None:
    """Return the folder with ``Python.h``, which compiled kernels include, or None where it is missing."""
    folders = [Path(sysconfig.get_path("include")), Path(sysconfig.get_path("stdlib")).parent.parent / "Headers"]
    return next((folder for folder in folders if (folder / "Python.h").exists()), None)  # the second one is of macOS


def sees_all_processes() -> bool:
    """Return whether this process may see those of the whole machine. On Linux, a container hides others."""
    if platform.system() != "Linux":
        return True
    with suppress(OSError):  # the PID namespace of the host has a fixed number
        return str(Path("/proc/self/ns/pid").readlink()) == "pid:[4026531836]"
    return False


def version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


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
    top = _git("rev-parse", "--show-toplevel")  # with slashes, on Windows too
    if top is None or Path(top) != ROOT:
        return None
    head = _git("rev-parse", "--short=12", "HEAD")
    changes = _git("status", "--porcelain", "--", ":!bench/results")
    return f"{head}-dirty" if head and changes else head


def _git(*arguments: str) -> str | None:
    return output("git", "-C", str(ROOT), *arguments)
