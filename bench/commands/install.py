"""`install`: install the dependencies for measuring into this environment, in their pinned versions.

python -m bench install
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.errors import AtlasError
from bench.machine import ROOT, version

if TYPE_CHECKING:
    from packaging.requirements import Requirement


@click.command("install")
def install_command() -> None:
    """Install the dependencies for measuring, including torch.

    Versions are pinned. A torch that is there already stays: install another build (ROCm, XPU, CPU only) first.
    """
    from bench.running.worker_process import refuse_windows

    refuse_windows()  # before gigabytes are loaded in vain
    install(ROOT / "requirements")


def install(requirements: Path) -> None:
    """Install what is missing of ``bench.txt``, whose files have hashes, and of ``torch.txt``. Raises `AtlasError`."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    packages, torch = requirements / "bench.txt", requirements / "torch.txt"
    pins = [line.removesuffix("\\") for line in packages.read_text("utf-8").splitlines() if line[:1].isalnum()]
    if not all(map(_is_met, map(Requirement, pins))):
        _pip("--require-hashes", "-r", str(packages))
    allowed = [Requirement(each.partition(";")[0]) for each in requires("compile-atlas") or ()]
    if not all(_is_met(each) for each in allowed if each.name == "torch"):
        _pip("-r", str(torch))
    click.echo("The dependencies for measuring are installed.")


def _is_met(requirement: Requirement) -> bool:
    """Return whether this environment meets a requirement, or need not."""
    if requirement.marker and not requirement.marker.evaluate():
        return True
    found = version(requirement.name)
    return found is not None and requirement.specifier.contains(found, prereleases=True)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, check=False).returncode:
        raise AtlasError(
            "pip could not install the dependencies for measuring; see its output above",
            where=arguments[-1],
            remedy="check the network connection and the disk space, then run python -m bench install again; to use a "
            "mirror of the package index, set PIP_INDEX_URL, and PIP_CERT for its certificate",
        )
