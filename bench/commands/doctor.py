"""`doctor`: list what would distort a measurement on this machine, with a remedy for each.

python -m bench doctor
"""

from __future__ import annotations

import argparse

from bench.commands import FOUND_FAULTS, OK, Commands
from bench.errors import AtlasError, Complaint


def add(commands: Commands) -> None:
    """Add the command."""
    doctor = commands.add_parser(
        "doctor", help="list what would distort a measurement on this machine, with remedies", allow_abbrev=False
    )
    doctor.set_defaults(command=_doctor)


def _doctor(_options: argparse.Namespace) -> int:
    present, unknown = _examined()
    print("\n".join(map(str, present)) or "nothing that would distort a measurement")
    for each in unknown:
        print(f"unknown: {each}")
    return FOUND_FAULTS if present else OK


def complaints() -> list[Complaint]:
    """Return what would spoil a measurement now. Raises `AtlasError` where a package is missing."""
    return _examined()[0]


def _examined() -> tuple[list[Complaint], list[str]]:
    """Return what would spoil a measurement now, and what cannot be known."""
    try:
        from bench.measuring.doctor import examine, look
        from bench.running.sweep import CACHE
    except ModuleNotFoundError as error:
        raise AtlasError(
            f"{error.name} is not installed", remedy="install the measuring dependencies: python -m bench install"
        ) from None
    return examine(look(CACHE)), []
