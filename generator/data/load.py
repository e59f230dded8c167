"""The results that pages show, read from the run files and documents below one folder.

Takes the folder; returns `Results`, with one tidy DataFrame that has one row per cell and run. A failure is a row like
any other: it has a status and a reason, and no figures.

    python -c "from generator.data.load import load; print(load().table)"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bench.records.documents import Capture, Selfcheck, newest_capture, newest_of_each_device
from bench.records.record import RESULTS, TOY
from generator.cache import CACHE
from generator.data.estimates import Estimates, estimate
from generator.data.lint import (
    DOUBTFUL,
    Anomaly,
    break_even_columns,
    doubted,
    gathered,
    lint_across,
    settled,
)
from generator.data.parts import Part
from generator.data.selection import JoinedRecords, Row

if TYPE_CHECKING:
    from bench.statistics.intervals import Indices


HISTORY = 20_000
"""Rows up to which pages have those of former runs beside the newest. With more, they have of each cell the newest run,
and the newest with the other `malloc`."""


MOST_LISTED = 20
"""Problems of a kind that are listed one by one."""


@dataclass(frozen=True, eq=False)
class Results:
    """All that pages can show. It has every run's row of a cell up to `HISTORY` rows, beyond that the newest ones
    alone: so no page grows with the years. Nobody changes it."""

    parts: tuple[Part, ...]  # the rows as they were measured, those of each origin by themselves
    order: Indices  # for each label, the position of its row among those of all parts, one after the other
    records: int  # that were read
    runs: tuple[str, ...]  # all of them, sorted
    superseded: int  # rows that are left out, since a newer run has their cell
    examples: Capture | None = None  # the newest
    selfchecks: tuple[Selfcheck, ...] = ()  # the newest of each device
    folder: Path = RESULTS  # of all of it
    own_runs: frozenset[str] = frozenset()  # measured here, and shown first

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows as they were measured, by `registry.COLUMNS`; unknown text is empty, anything else missing."""
        return self._rows(np.arange(len(self.order)))

    def _rows(self, labels: Indices) -> pd.DataFrame:
        """Return the rows with some labels."""
        rows = pd.concat([part.rows for part in self.parts])
        return rows.take(self.order[labels]).set_axis(labels)

    @cached_property
    def rounds_ms(self) -> Sequence[Mapping[str, Sequence[float]]]:
        """The medians of the rounds of each variant, in the order of time, by label."""
        rounds = [each for part in self.parts for each in part.rounds_ms]
        return [rounds[position] for position in self.order.tolist()]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows, indexed by label. Those that the data lint doubts have the verdict doubtful."""
        return doubted(self.rows, self.doubts)

    @cached_property
    def newest(self) -> pd.DataFrame:
        """The rows that pages show: the newest run of each cell, those of the reader's own machine first."""
        newest = doubted(self._newest, self.doubts)
        is_own = newest["device"].isin(self.own_devices)
        return newest.loc[is_own.sort_values(ascending=False, kind="stable").index] if is_own.any() else newest

    @cached_property
    def _newest(self) -> pd.DataFrame:
        """The newest rows as they were measured."""
        is_newest = np.concatenate([part.rows["newest"].to_numpy(bool) for part in self.parts])
        return self._rows(np.flatnonzero(is_newest[self.order]))

    @cached_property
    def own_devices(self) -> frozenset[str]:
        """Slugs of the devices on which the reader has measured."""
        own = (part.rows.loc[part.rows["run"].isin(self.own_runs), "device"] for part in self.parts)
        return frozenset(device for devices in own for device in devices)

    @cached_property
    def estimates(self) -> Estimates:
        """The speedups of models that nobody has compared on a device, from their relatives."""
        is_asked = (self.newest["workload"] == "throughput") & ~self.newest["flags"].str.contains(TOY)
        return estimate(self.newest[is_asked])

    @cached_property
    def by_label(self) -> JoinedRecords:
        """The rows of the table as plain values, each at the position that is its label: for what becomes text."""
        doubtful = {"verdict": DOUBTFUL, **dict.fromkeys(break_even_columns(self._newest))}
        changed = dict.fromkeys(self.doubts, doubtful)
        return JoinedRecords([part.records for part in self.parts], self.order.tolist(), changed)

    @cached_property
    def last_measured(self) -> Row | None:
        """The row that was measured last; None where there are only published figures."""
        measured = self.newest.loc[self.newest["origin"] == "measured", "measured_at"].dropna()
        return None if measured.empty else self.by_label[measured.index[int(measured.argmax())]]

    @cached_property
    def problems(self) -> tuple[Anomaly, ...]:
        """What the data lint finds in the newest rows."""
        within = (each.at(labels) for part, labels in self._labeled for each in part.problems)
        return settled((*within, *lint_across(self._newest)))

    @cached_property
    def _labeled(self) -> Sequence[tuple[Part, Sequence[int]]]:
        """Each part with the labels of its rows."""
        labels = np.argsort(self.order).tolist()
        ends = [0, *accumulate(len(part.rows) for part in self.parts)]
        return [(part, labels[start:end]) for part, (start, end) in zip(self.parts, pairwise(ends), strict=True)]

    @cached_property
    def problem_groups(self) -> Sequence[tuple[Anomaly, ...]]:
        """The problems as a list shows them, gathered by kind where there are more than `MOST_LISTED`."""
        return gathered(self.problems, MOST_LISTED)

    @cached_property
    def doubts(self) -> Mapping[int, Sequence[Anomaly]]:
        """The anomalies that doubt a row, by its label: of the newest rows, and of older ones those within the row."""
        doubts: dict[int, list[Anomaly]] = {}
        alone = (each.at(labels) for part, labels in self._labeled for each in part.former_problems)
        for anomaly in (*self.problems, *alone):
            for row in anomaly.doubtful:
                doubts.setdefault(row, []).append(anomaly)
        return doubts


def load(results: Path = RESULTS, cache: Path = CACHE, own_runs: frozenset[str] = frozenset()) -> Results:
    """Read every run file below `results`: those that have changed since they are in the `cache`.

    The devices of `own_runs` come first.

    Raises `AtlasError` for the first line that is broken, of an unknown schema, without positive latencies, or a
    duplicate of another line of its run; and for a file that changes meanwhile. In files without rows that pages show,
    only what names the records is read: `python -m bench check` reads all of it.
    """
    from generator.data import archive, table  # DuckDB takes half a second, which an unchanged build need not wait

    return Results(
        *archive.ask(results, cache, partial(table.read, history=HISTORY)),
        examples=newest_capture(results),
        selfchecks=newest_of_each_device(results),
        folder=results,
        own_runs=own_runs,
    )
