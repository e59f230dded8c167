"""`install`: install the dependencies for measuring into this environment, in their pinned versions.

python -m bench install
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from bench.commands import OK, Commands, Log
from bench.errors import AtlasError, unusable
from bench.machine import ROOT, version

REQUIREMENTS = ROOT / "requirements"
"""The pinned versions."""

MIRROR = "to use a mirror of the package index, set PIP_INDEX_URL, and PIP_CERT for its certificate"


def add(commands: Commands) -> None:
    """Add the command."""
    install = commands.add_parser(
        "install",
        help="install the dependencies for measuring, including torch",
        description="Install the dependencies for measuring, in their pinned versions, into this Python environment. A "
        "torch that is there already stays: install another build (ROCm, XPU, CPU only) first.",
        allow_abbrev=False,
    )
    install.set_defaults(command=_install)


def _install(_options: argparse.Namespace) -> int:
    from bench.running.executors import refuse_windows

    def log(line: str) -> None:
        print(line, flush=True)

    refuse_windows()  # before gigabytes are loaded in vain
    install(REQUIREMENTS, log)
    return OK


def install(requirements: Path, log: Log) -> None:
    """Install what is missing of ``bench.txt``, whose files have hashes, and of ``torch.txt``. Raises `AtlasError`."""
    packages, torch = requirements / "bench.txt", requirements / "torch.txt"
    if not _are_met(_pins(packages)):
        _pip("--require-hashes", "-r", str(packages))
    if not _are_met(_torch_of(torch)):
        _pip("-r", str(torch))
    log("The dependencies for measuring are installed.")


def _torch_of(pinned: Path) -> list[str]:
    """Return the pinned torch, or the range that the project permits where there is another one."""
    import importlib.metadata

    from packaging.requirements import Requirement

    if version("torch") is None:
        return _pins(pinned)
    known = map(Requirement, importlib.metadata.requires("compile-atlas") or ())
    return [f"torch{each.specifier}" for each in known if each.name == "torch"]


def _pins(path: Path) -> list[str]:
    """Return the requirements of a file, without the hashes below each."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise unusable(error) from None
    return [line.removesuffix("\\").strip() for line in lines if line[:1].isalnum()]


def _are_met(requirements: Iterable[str]) -> bool:
    """Return whether this environment has all of them, as far as their markers apply here."""
    from packaging.requirements import Requirement

    needed = [each for each in map(Requirement, requirements) if each.marker is None or each.marker.evaluate()]
    return all((found := version(each.name)) and each.specifier.contains(found, prereleases=True) for each in needed)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, check=False).returncode:
        raise AtlasError(
            "pip could not install the dependencies for measuring; see its output above",
            where=arguments[-1],
            remedy=f"check the network connection and the disk space, then run python -m bench install again; {MIRROR}",
        )
