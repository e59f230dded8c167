"""How a test reports the faults that it has injected and their outcome. ``--faults FOLDER`` writes a document of them.

python -m pytest -m fault --faults=bench/results/faults
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from bench.records.injected_faults import Before, Case, CaseGroup, FaultKind, FaultOutcome, FaultPlace, Injected, Lies

PROPERTY, CASE, LIES = "fault", "case", "lies"
"""Properties of a test report that carry faults, cases and counts of lies to the process that writes the document."""

LONGEST = 60
"""Characters of an example."""


@dataclass(frozen=True)
class Survived:
    """Reports a number of faults of one kind at one place, after the test has verified their outcome."""

    note: Callable[[str, object], None]

    def __call__(self, kind: FaultKind, place: FaultPlace, outcome: FaultOutcome, times: int = 1) -> None:
        assert times > 0
        self.note(PROPERTY, {"kind": kind, "place": place, "outcome": outcome, "times": times})

    def case(self, group: CaseGroup, example: str, before: Before, now: Literal["refused", "marked"]) -> None:
        """Tell what happened to something made to deceive, before there was a defence and now."""
        example = example.encode("unicode_escape").decode()
        example = example if len(example) <= LONGEST else f"{example[: LONGEST - 1]}…"
        self.note(CASE, {"group": group, "example": example, "before": before, "now": now})

    def lies(self, tried: int, unmarked: int) -> None:
        """Tell how many random lies were shown without a mark."""
        self.note(LIES, {"tried": tried, "unmarked": unmarked})


def injected(properties: list[tuple[str, object]]) -> list[Injected]:
    """Return the faults that a test has reported."""
    return [msgspec.convert(value, Injected) for name, value in properties if name == PROPERTY]


def cases(properties: list[tuple[str, object]]) -> list[Case]:
    """Return the cases that a test has reported."""
    return [msgspec.convert(value, Case) for name, value in properties if name == CASE]


def lies(properties: list[tuple[str, object]]) -> Lies | None:
    """Return the count of lies that a test has reported, or None."""
    return next((msgspec.convert(value, Lies) for name, value in properties if name == LIES), None)
