"""The results that pages show, read from the run files and documents below one folder.

Takes the folder; returns `Results`, with one tidy DataFrame that has one row per cell and run. A failure is a row like
any other: it has a status and a reason, and no figures.

    python -c "from generator.data.load import load; print(load().table)"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.records.build_times import BuildTimes
from bench.records.build_times import newest as newest_build_times
from bench.records.injected_faults import Faults
from bench.records.injected_faults import newest as newest_faults
from bench.records.record import RESULTS
from bench.records.repeatability import Repeatability
from bench.records.repeatability import newest as newest_repeatability
from bench.records.walkthrough import Walkthrough
from bench.records.walkthrough import newest as newest_walkthrough
from generator.cache import CACHE
from generator.data.lint import Anomaly, lint
from generator.data.selection import Row, records

if TYPE_CHECKING:
    import pandas as pd

    from generator.data.table import ResultsTable

HISTORY = 5_000
"""Rows up to which pages have those of former runs beside the newest. With more, they have of each cell the newest run,
and the newest with the other `malloc`."""


@dataclass(frozen=True, eq=False)
class Results:
    """All that pages can show. `shown` holds every run's row of a cell up to `HISTORY` rows, beyond that the newest
    ones alone: so no page grows with the years."""

    shown: ResultsTable
    walkthrough: Walkthrough | None = None  # the newest
    repeatability: Repeatability | None = None  # likewise
    faults: Faults | None = None  # likewise
    build_times: BuildTimes | None = None  # likewise

    @property
    def table(self) -> pd.DataFrame:
        """The rows by `COLUMNS`, indexed by label. Text that is unknown is empty, anything else missing. Nobody changes
        it."""
        return self.shown.cells

    @property
    def records(self) -> int:
        """How many records were read."""
        return self.shown.records

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs, sorted."""
        return self.shown.runs

    @property
    def superseded(self) -> int:
        """How many rows are left out, since a newer run has their cell."""
        return self.shown.superseded

    @cached_property
    def rounds_ms(self) -> Sequence[Mapping[str, Sequence[float]]]:
        """By label, for each variant of a measured row the median of each round, in the order of time, one process
        after the other; empty for a row without."""
        variants = {variant: lists.lists() for variant, lists in self.shown.rounds.items()}
        return [
            {variant: lists[row] for variant, lists in variants.items() if lists[row]} for row in range(len(self.table))
        ]

    @cached_property
    def newest(self) -> pd.DataFrame:
        """The rows that pages show: the newest run of each cell."""
        return self.table[self.table["newest"]]

    @cached_property
    def by_label(self) -> Sequence[Row]:
        """The rows of the table as plain values, each at the position that is its label: for what becomes text."""
        return records(self.table)

    @cached_property
    def last_measured(self) -> Row | None:
        """The row that was measured last; None where there are only published figures."""
        measured = self.newest.loc[self.newest["origin"] == "measured", "measured_at"].dropna()
        return None if measured.empty else self.by_label[measured.index[int(measured.argmax())]]

    @cached_property
    def problems(self) -> tuple[Anomaly, ...]:
        """What the data lint finds in the newest rows."""
        return lint(self.newest)

    @cached_property
    def doubts(self) -> Mapping[int, Sequence[Anomaly]]:
        """The anomalies that doubt a row, by its label."""
        doubts: dict[int, list[Anomaly]] = {}
        for anomaly in self.problems:
            for row in anomaly.doubtful:
                doubts.setdefault(row, []).append(anomaly)
        return doubts


def load(results: Path = RESULTS, cache: Path = CACHE) -> Results:
    """Read every run file below `results`: those that have changed since they are in the `cache`.

    Raises `AtlasError` for the first line that is broken, of an unknown schema, without positive latencies, or a
    duplicate of another line of its run; and for a file that changes meanwhile. Of many records, the measurements in
    files without rows that pages show are left unread: `python -m bench check` reads all of them.
    """
    from generator.data import archive, table  # DuckDB takes half a second, which an unchanged build need not wait

    return Results(
        archive.ask(results, cache, partial(table.read, history=HISTORY)),
        walkthrough=newest_walkthrough(results),
        repeatability=newest_repeatability(results),
        faults=newest_faults(results),
        build_times=newest_build_times(results),
    )
