"""Injected faults: which faults the tests have injected, and how the program reacted.

A test run writes the document if the program survived all faults. The page for contributors shows the newest in
``results/faults``. Tests report their faults through `tests/faults.py`.

    python -m pytest -m fault --faults=bench/results/faults
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from bench.records import document
from bench.records.document import Count, Lines
from bench.records.record import RESULTS, Environment

SCHEMA = 1
"""Version of the file format."""

FAULTS = RESULTS / "faults"
"""The folder of committed documents."""

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
    "false_record",
    "rapid_changes",
    "folders_gone",
    "foreign_path",
    "silent_client",
    "many_rebuilds",
]
"""What the test did to the program."""

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
"""The part of the program that it affected."""

FaultOutcome = Literal[
    "nothing_lost",
    "resumed",
    "whole_or_before",
    "made_again",
    "refused",
    "read_or_refused",
    "recorded",
    "flagged",
    "marked",
    "same_bytes",
    "kept_serving",
    "not_served",
    "nothing_runs",
    "flat_memory",
    "no_process",
]
"""How the program reacted."""


CaseGroup = Literal["numbers", "speedups", "copies", "sealed", "names", "leaks", "catalogs", "files"]
"""What a record, file or text made to deceive was about."""

Before = Literal["accepted", "marked", "refused", "broke"]
"""What happened to a case before there was a defence; ``broke``: a command ended with a traceback, or hung."""


class Case(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Something that was made to deceive: what happened to it before, and what happens now."""

    group: CaseGroup
    before: Before
    now: Literal["refused", "marked"]
    example: Annotated[str, msgspec.Meta(max_length=200, pattern="^[ -~…]*\\Z")]  # printable ASCII


class Lies(msgspec.Struct, frozen=True, kw_only=True):
    """Random invented speedups, and how many of them are shown without a mark."""

    tried: Count
    unmarked: Count


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """A number of faults of one kind at one place, all with the same outcome."""

    kind: FaultKind
    place: FaultPlace
    outcome: FaultOutcome
    times: Count


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """All faults of one run of the tests."""

    schema: int
    taken_at: datetime  # UTC
    environment: Environment
    command: Lines
    injected: tuple[Injected, ...]
    cases: tuple[Case, ...] = ()
    lies: Lies | None = None

    @property
    def times(self) -> int:
        """Total number of faults."""
        return sum(fault.times for fault in self.injected)


def gathered(
    environment: Environment,
    injected: Iterable[Injected],
    command: str = COMMAND,
    cases: Iterable[Case] = (),
    lies: Lies | None = None,
) -> Faults:
    """Return a document of these faults, with equal ones counted together."""
    times: Counter[tuple[FaultKind, FaultPlace, FaultOutcome]] = Counter()
    for fault in injected:
        times[fault.kind, fault.place, fault.outcome] += fault.times
    return Faults(
        schema=SCHEMA,
        taken_at=datetime.now(UTC).replace(microsecond=0),
        environment=environment,
        command=command,
        injected=tuple(
            Injected(kind=kind, place=place, outcome=outcome, times=count)
            for (kind, place, outcome), count in sorted(times.items())
        ),
        cases=tuple(sorted(cases)),
        lies=lies,
    )


def write(faults: Faults, folder: Path = FAULTS) -> Path:
    """Write the document, named by its day and commit. Replaces an earlier one of that name."""
    commit = f"_{faults.environment.commit}" if faults.environment.commit else ""
    return document.write(faults, folder / f"{faults.taken_at.astimezone(UTC):%Y-%m-%d}{commit}.json")


def read(path: Path) -> Faults:
    """Read a document. Raises `AtlasError` if the file is invalid or has another schema."""
    return document.read(path, Faults, SCHEMA, COMMAND)


def newest(results: Path = RESULTS) -> Faults | None:
    """Return the newest document below the folder `results`, or None."""
    return document.newest(results / FAULTS.name, read)
