"""The results that pages show, read from the run files and documents below one folder.

Takes the folder; returns `Results`, with one tidy DataFrame that has one row per cell and run. A failure is a row like
any other: it has a status and a reason, and no figures.

    python -c "from generator.data.load import load; print(load().table)"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from bench.errors import AtlasError
from bench.plans.models import MODELS
from bench.records.documents import Capture, Selfcheck, newest_capture, newest_of_each_device
from bench.records.record import RESULTS, TIMM, TOY
from bench.records.run_file import run_files
from generator.data.estimates import Estimates, estimate
from generator.data.families import family_slug
from generator.data.lint import Anomaly, gathered, lint, lint_alone
from generator.data.names import device_slug, distinct_labels, model_slug, slugs
from generator.data.registry import COLUMNS
from generator.data.rows import CONTIGUOUS, frame, rows_of
from generator.data.selection import ORDERS, Records, Row, is_trusted, plain, where

MOST_LISTED = 20
"""Problems of a kind that are listed one by one."""


@dataclass(frozen=True, eq=False)
class Results:
    """All that pages can show. Nobody changes it."""

    rows: pd.DataFrame
    """The rows as they were measured, by `registry.COLUMNS`; unknown text is empty, anything else missing. The label of
    a row is its position."""
    examples: Capture | None = None  # the newest
    selfchecks: tuple[Selfcheck, ...] = ()  # the newest of each device
    own_runs: frozenset[str] = frozenset()  # measured here, and shown first
    accuracies: Mapping[tuple[str, str], tuple[str, float]] = field(default_factory=dict)
    """The weights with the best ImageNet top-1, and that share, by timm's architecture and image size (``224×224``)."""
    accuracies_date: str = ""

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows. Those that the data lint doubts have the verdict doubtful, and no break-even point."""
        rows, is_doubted = self.rows, self.rows.index.isin([*self.doubts])
        unknown = {name: rows[name].mask(is_doubted) for name in COLUMNS if name.startswith("break_even")}
        return rows.assign(verdict=rows["verdict"].mask(is_doubted, "doubtful"), **unknown)

    @cached_property
    def ways(self) -> pd.DataFrame:
        """The newest run of each cell, in whichever way the model ran."""
        return self.table[self.table["newest"] & (self.table["sizes"] == "")]

    @cached_property
    def current(self) -> pd.DataFrame:
        """The rows that most pages show (column `usual`), the reader's own machine first."""
        newest = where(self.ways, self.ways["usual"])
        is_own = newest["device"].isin(self.own_devices)
        return newest.loc[is_own.sort_values(ascending=False, kind="stable").index] if is_own.any() else newest

    @cached_property
    def sequences(self) -> pd.DataFrame:
        """The newest run of each cell with calls of several sizes, which has no latency or speedup of its own."""
        return self.table[self.table["newest"] & (self.table["sizes"] != "")]

    @cached_property
    def newest(self) -> pd.DataFrame:
        """Those in torch's own memory layout, which pages show unless they ask for another: a table, a median or a
        ranking never has two."""
        return where(self.current, self.current["layout"] == CONTIGUOUS)

    @cached_property
    def trusted(self) -> frozenset[int]:
        """The labels of the newest rows, of each layout, that are comparisons, and that nothing doubts."""
        return frozenset(self.current.index[is_trusted(self.current)])

    def sound(self, cells: pd.DataFrame, *kinds: str) -> pd.DataFrame:
        """Return the rows that nothing doubts, but for these kinds or that their two variants had unequal batches: each
        variant can still be compared with itself."""
        doubts = self.doubts.items()
        doubted = [label for label, found in doubts if {each.kind for each in found} - {"unequal_batches", *kinds}]
        return cells[~cells.index.isin(doubted)]

    @cached_property
    def own_devices(self) -> frozenset[str]:
        """Slugs of the devices on which the reader has measured."""
        return frozenset(self.rows.loc[self.rows["run"].isin(self.own_runs), "device"])

    @cached_property
    def estimates(self) -> Estimates:
        """The speedups of models that nobody has compared on a device, from their relatives."""
        is_asked = (self.newest["workload"] == "throughput") & ~self.newest["flags"].str.contains(TOY)
        return estimate(self.newest[is_asked])

    @cached_property
    def by_label(self) -> Records:
        """The rows of the table as plain values, each at the position that is its label: for what becomes text."""
        return Records(self.table)

    @cached_property
    def last_measured(self) -> Row | None:
        """The row that was measured last; None where there are only published figures."""
        measured = self.newest.loc[self.newest["origin"] == "measured", "measured_at"].dropna()
        return None if measured.empty else self.by_label[measured.index[int(measured.argmax())]]

    @cached_property
    def problems(self) -> tuple[Anomaly, ...]:
        """The findings of the data lint in the newest rows."""
        return lint(self.rows[self.rows["newest"]])

    @cached_property
    def problem_groups(self) -> Sequence[tuple[Anomaly, ...]]:
        """The problems as a list shows them, gathered by kind where there are more than `MOST_LISTED`."""
        return gathered(self.problems, MOST_LISTED)

    @cached_property
    def doubts(self) -> Mapping[int, Sequence[Anomaly]]:
        """The anomalies that doubt a row, by its label: of the newest rows, and of older ones those within the row."""
        doubts: dict[int, list[Anomaly]] = {}
        for anomaly in (*self.problems, *lint_alone(self.rows[~self.rows["newest"]])):
            for row in anomaly.doubtful:
                doubts.setdefault(row, []).append(anomaly)
        return doubts


def load(results: Path = RESULTS, own_runs: frozenset[str] = frozenset()) -> Results:
    """Read every run file below `results`: again only those that have changed since this process has read them.

    The devices of `own_runs` come first. Raises `AtlasError` for the first line that is broken, of an unknown schema,
    without positive latencies, or a duplicate of another line of its run, and for a run in two files.
    """
    tables, owners = list[pd.DataFrame](), dict[str, Path]()
    for path in run_files(results):
        rows = rows_of(path)
        tables.append(rows)
        for run in rows["run"].unique():
            if (owner := owners.setdefault(run, path)) != path:
                raise AtlasError(
                    f"the run {run!r} is already in {owner}",
                    where=f"{path}: $.run",
                    remedy="remove one of the two files, or give its records a different run name",
                )
    accuracies_date, accuracies = _accuracies(results / "published" / "timm-imagenet.csv")
    table = _named(pd.concat(tables or [frame({})], ignore_index=True))
    return Results(
        table.take(_order(table)).reset_index(drop=True),
        examples=newest_capture(results),
        selfchecks=newest_of_each_device(results),
        own_runs=own_runs,
        accuracies=accuracies,
        accuracies_date=accuracies_date,
    )


def _accuracies(path: Path) -> tuple[str, Mapping[tuple[str, str], tuple[str, float]]]:
    """Return the date of the accuracies, which the first line states after their address, and the accuracies."""
    if not path.exists():
        return "", {}
    kinds = {"model": str, "img_size": int, "top1": float}
    try:
        with path.open(encoding="utf-8") as file:
            _, _, date, *_ = file.readline().split()
            table = pd.read_csv(file, usecols=[*kinds], dtype=kinds)
    except ValueError as error:
        raise AtlasError(f"cannot be read: {error}", where=str(path), remedy="copy it from timm again") from None
    table = table.sort_values("top1", kind="stable")  # of an architecture and size, the last and best counts
    rows = zip(table["model"], table["img_size"], table["top1"], strict=True)
    return date, {(name.partition(".")[0], f"{size}×{size}"): (name, top1 / 100) for name, size, top1 in rows}


# ── Columns that depend on other files ────────────────────────────────────────────────────────────────────────────────

_IN_TABLE = {(spec.label, spec.checkpoint) for spec in MODELS}
"""The labels and checkpoints of the model table."""

_DEVICE = ["device_type", "device_name", "own_cores"]
_CASE = [
    *("own_model", "task", "dtype", "batch_size", "compile_mode", "dynamic", "weights", "input_size"),
    *("layout", "sizes", *_DEVICE, "torch", "threads", "origin"),
]
"""Columns in which rows agree of which the newest replaces the others."""


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the columns that depend on rows of other files.

    The oldest model or device keeps an address that several claim, but models of the table come first. A local
    checkpoint goes by its newest name.
    """
    is_of_timm = table["checkpoint"].str.startswith(TIMM)
    names = table["model"] + "\n" + table["checkpoint"].mask(is_of_timm, TIMM)  # whatever the tag of its weights
    own_model = table["digest"].where(table["digest"] != "", names)
    known = table.assign(own_model=own_model, own_cores=table["cores"].where(table["device_type"] == "cpu"))
    by_age = known.sort_values(["measured_at", "source_date", "run"], na_position="first", kind="stable")
    named = by_age.groupby("own_model", sort=False)[["model", "checkpoint", "digest"]].last()
    found = ((own, tuple(filter(None, name))) for own, *name in named.itertuples())
    models = dict(sorted(found, key=lambda item: item[1][:2] not in _IN_TABLE))
    labels = dict(zip(models, distinct_labels(list(models.values())), strict=True))
    model_slugs = dict(zip(models, slugs(models.values(), model_slug), strict=True))
    devices = list(zip(*(plain(known[name]) for name in _DEVICE), strict=True))
    oldest_first = list(dict.fromkeys(devices[at] for at in by_age.index))
    device_slugs = dict(zip(oldest_first, slugs(oldest_first, device_slug), strict=True))
    columns = {
        "family": [family_slug(labels[each]) for each in own_model],
        "model": [model_slugs[each] for each in own_model],
        "model_label": [labels[each] for each in own_model],
        "checkpoint": [models[each][1] for each in own_model],
        "device": [device_slugs[each] for each in devices],
        "newest": ~by_age.duplicated(_CASE, keep="last"),
    }
    return table.assign(**{name: pd.Series(each, dtype=COLUMNS[name].dtype) for name, each in columns.items()})


def _order(table: pd.DataFrame) -> list[int]:
    """Return the positions of the rows in order: accelerators before CPUs, old versions before new, models by name."""
    names = ["device", "origin", "torch", "compile_mode", "dtype", "batch_size", "model", "run"]
    keys = [table[name].map(ORDERS[name]) if name in ORDERS else table[name] for name in names]
    by_position = list(zip(table["device_type"] == "cpu", *keys, strict=True))
    return sorted(range(len(table)), key=by_position.__getitem__)
