"""How a test reports the faults that it has injected and their outcome. ``--faults FOLDER`` writes a document of them.

python -m pytest -m fault --faults=bench/results/faults
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from bench.records.injected_faults import FaultKind, FaultOutcome, FaultPlace, Injected

PROPERTY = "fault"
"""Property of a test report that carries the faults to the process that writes the document."""


@dataclass(frozen=True)
class Survived:
    """Reports a number of faults of one kind at one place, after the test has verified their outcome."""

    note: Callable[[str, object], None]

    def __call__(self, kind: FaultKind, place: FaultPlace, outcome: FaultOutcome, times: int = 1) -> None:
        assert times > 0
        self.note(PROPERTY, {"kind": kind, "place": place, "outcome": outcome, "times": times})


def injected(properties: list[tuple[str, object]]) -> list[Injected]:
    """Return the faults that a test has reported."""
    return [msgspec.convert(value, Injected) for name, value in properties if name == PROPERTY]
