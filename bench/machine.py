"""What a machine says of itself. No torch: whoever measures something else than a model asks too.

python -c "from bench import machine; print(machine.cpu_name(), machine.cores())"
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The folder of this project."""


def cpu_name() -> str:
    """The model of the processor, as the system names it."""
    names = [line.partition(":")[2].strip() for line in lines(Path("/proc/cpuinfo")) if line.startswith("model name")]
    if names:
        return names[0]
    if platform.system() == "Darwin":
        return output("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    return platform.processor() or platform.machine()


def cores() -> int | None:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def memory_gb() -> float:
    """Of the whole machine."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


def system() -> str:
    """Such as ``Linux x86_64``."""
    return f"{platform.system()} {platform.machine()}"


def boot() -> str:
    """Differs from one start of the machine to the next, if it tells: a power cut may have spoiled what was written
    without care before."""
    return "".join(lines(Path("/proc/sys/kernel/random/boot_id")))


def version(package: str) -> str | None:
    """Of an installed package; None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def lines(path: Path) -> list[str]:
    """Of a text file; none where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def output(*command: str) -> str | None:
    """What a command prints; None where it prints nothing, fails, or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def commit() -> str | None:
    """Short hash of this project's checkout, "-dirty" where the tree (records apart) has changes; None where there is
    none, as on the nodes of a fleet."""
    if _git("rev-parse", "--show-toplevel") != str(ROOT):
        return None
    found = _git("rev-parse", "--short=12", "HEAD")
    changes = _git("status", "--porcelain", "--", ":!bench/results")
    return f"{found}-dirty" if found and changes else found


def _git(*arguments: str) -> str | None:
    return output("git", "-C", str(ROOT), *arguments)
