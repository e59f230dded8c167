"""Which faults the tests have injected, and what came of them: a document, written where all of them were survived.

The tests tell (`tests/faults.py`); the newest document below ``results/faults`` is shown to contributors.

    python -m pytest -m fault --faults=bench/results/faults
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from bench.records import document
from bench.records.record import RESULTS, Environment

SCHEMA = 1
"""Version of the file format."""

FAULTS = RESULTS / "faults"
"""Where committed documents live."""

COMMAND = "python -m pytest -m fault --faults=bench/results/faults"

FaultKind = Literal[
    "power_cut",
    "kill",
    "interrupt",
    "disk_full",
    "read_only",
    "two_runs",
    "clock_back",
    "worker_hangs",
    "worker_dies",
    "worker_forks",
    "worker_prints",
    "worker_nan",
    "worker_memory",
    "bad_input",
    "hostile_input",
    "hostile_text",
    "rapid_changes",
    "folders_gone",
    "foreign_path",
    "silent_client",
    "many_rebuilds",
]
"""What was done to the program."""

FaultPlace = Literal[
    "records",
    "run",
    "documents",
    "imports",
    "catalogs",
    "pages",
    "settings",
    "checkpoints",
    "caches",
    "results",
    "site",
    "server",
]
"""To what part of it."""

FaultOutcome = Literal[
    "nothing_lost",
    "resumed",
    "whole_or_before",
    "made_again",
    "refused",
    "read_or_refused",
    "recorded",
    "flagged",
    "same_bytes",
    "kept_serving",
    "not_served",
    "nothing_runs",
    "flat_memory",
    "no_process",
]
"""What came of it."""


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """So many faults of one kind at one place, all with this outcome."""

    kind: FaultKind
    place: FaultPlace
    outcome: FaultOutcome
    times: int


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """All faults of one run of the tests."""

    schema: int
    taken_at: datetime  # UTC
    environment: Environment
    command: str
    injected: tuple[Injected, ...]

    @property
    def times(self) -> int:
        """How many there were."""
        return sum(each.times for each in self.injected)


def gathered(environment: Environment, injected: Iterable[Injected], command: str = COMMAND) -> Faults:
    """The document of these, the same ones counted together."""
    times: Counter[tuple[FaultKind, FaultPlace, FaultOutcome]] = Counter()
    for each in injected:
        times[each.kind, each.place, each.outcome] += each.times
    return Faults(
        schema=SCHEMA,
        taken_at=datetime.now(UTC).replace(microsecond=0),
        environment=environment,
        command=command,
        injected=tuple(
            Injected(kind=kind, place=place, outcome=outcome, times=count)
            for (kind, place, outcome), count in sorted(times.items())
        ),
    )


def write(faults: Faults, folder: Path = FAULTS) -> Path:
    """The file, named by its day; an earlier one of that day is replaced."""
    return document.write(faults, folder / f"{faults.taken_at.astimezone(UTC):%Y-%m-%d}.json")


def read(path: Path) -> Faults:
    """One document. Raises `AtlasError` for a file that is none, or of another schema."""
    return document.read(path, Faults, SCHEMA, COMMAND)


def newest(results: Path = RESULTS) -> Faults | None:
    """The newest below a folder of results; None where there is none."""
    return document.newest(results / FAULTS.name, read)
