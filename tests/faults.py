"""How a test says which fault it has injected, and what came of it: with ``--faults FOLDER`` that becomes a document.

python -m pytest -m fault --faults=bench/results/faults
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from bench.records.injected_faults import FaultKind, FaultOutcome, FaultPlace, Injected

PROPERTY = "fault"
"""Of a test's report, by which it reaches the process that writes the document."""


@dataclass(frozen=True)
class Survived:
    """Call it once it has been seen: so many faults of a kind were injected at this place, with this outcome."""

    note: Callable[[str, object], None]

    def __call__(self, kind: FaultKind, place: FaultPlace, outcome: FaultOutcome, times: int = 1) -> None:
        assert times > 0
        self.note(PROPERTY, {"kind": kind, "place": place, "outcome": outcome, "times": times})


def injected(properties: list[tuple[str, object]]) -> list[Injected]:
    """Those that a test has told of."""
    return [msgspec.convert(value, Injected) for name, value in properties if name == PROPERTY]
