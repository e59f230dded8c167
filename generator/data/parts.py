"""The rows of one origin, published or measured, with what follows from them alone.

Takes a DataFrame of rows and their rounds. While a preview runs, a new record changes the part that it belongs to, and
the other one, with thousands of published rows, keeps what was computed from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from generator.cache import Cache
from generator.data.lint import Anomaly, lint_alone, lint_within
from generator.data.selection import Records

if TYPE_CHECKING:
    import pandas as pd


_FOUND = Cache("lint", ".pickle")
"""What the data lint finds in many rows: thousands of published ones are the same in build after build."""


class Part:
    """The rows of one origin, each at the position that is its label within the part. Nobody changes it."""

    def __init__(
        self,
        rows: pd.DataFrame,
        rounds_ms: Sequence[Mapping[str, Sequence[float]]],
        sort_keys: Sequence[tuple[Any, ...]] = (),
        key: str = "",
    ) -> None:
        self.rows = rows
        self.rounds_ms = rounds_ms
        self.sort_keys = sort_keys  # in ascending order
        self._key = key  # tells all that the rows depend on, if they are worth keeping for other processes

    @cached_property
    def records(self) -> Records:
        """The rows as plain values."""
        return Records(self.rows)

    @cached_property
    def problems(self) -> tuple[Anomaly, ...]:
        """What the data lint finds in its newest rows without those of other origins."""
        return _FOUND.value(self._key, self._find_problems) if self._key else self._find_problems()

    def _find_problems(self) -> tuple[Anomaly, ...]:
        return tuple(lint_within(self.rows[self.rows["newest"]]))

    @cached_property
    def former_problems(self) -> tuple[Anomaly, ...]:
        """What it finds within each of its other rows."""
        return tuple(lint_alone(self.rows[~self.rows["newest"]]))
