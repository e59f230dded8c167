"""What a page reads of the results while it is rendered, and whether that has changed since.

Expressions reach the results through names, through attributes of devices, models and families, and through functions
that select rows. `Reads` notes each of these as a `Scope`; `Digests` returns the digest of what a scope holds. A page
whose scopes have the digests of its last build would be rendered the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench.records.run_file import run_files
from generator.data.load import Results
from generator.data.selection import labels_by
from generator.pages import translators
from generator.pages.atlas import Atlas, Device, Family, Model
from generator.pages.scopes import CATALOGS, DIRECTORY, EVERYTHING, THROUGHPUT, Scope, digest

NAMED: Mapping[str, Scope] = {
    **dict.fromkeys(("atlas", "page", "language"), DIRECTORY),
    **dict.fromkeys(translators.NAMES, CATALOGS),
    "gains": THROUGHPUT,
}
"""What names hold. Others are functions, which note their calls, or may hold everything."""

OF_ATLAS: Mapping[str, Scope] = {
    **dict.fromkeys(("device", "devices", "families", "listed", "machines", "model", "row"), DIRECTORY),
    **dict.fromkeys(("published_best", "published_worst"), ("origin", "published")),
    "latency": ("workload", "latency"),
    "measured": ("origin", "measured"),
    "throughput": THROUGHPUT,
}
"""What attributes of ``atlas`` hold: devices and models note what is read of them, and a row goes by a label that
something else has given. Others may hold everything."""

_ITEMS = {Device: "device", Model: "model", Family: "family"}
_IN_DIRECTORY = frozenset({"label", "slug", "place", "is_listed"})
_OF_A_LINK = (
    *("device", "device_name", "device_type", "cores", "origin"),
    *("model", "model_label", "family", "workload", "task"),
)

_NARROWEST = "model", "family", "device", "run", "workload", "origin"
"""Coordinates, the one with the fewest rows first."""


class Reads:
    """The scopes of the page that is being rendered."""

    def __init__(self) -> None:
        self.scopes: set[Scope] = set()

    def name(self, name: str, value: object) -> None:
        """Note that an expression has used a name. What a function reads depends on its call."""
        if name in NAMED or not (callable(value) or type(value) in _ITEMS):
            self.scopes.add(NAMED.get(name, EVERYTHING))

    def attribute(self, owner: object, name: str) -> None:
        """Note that an expression has read an attribute."""
        if isinstance(owner, Atlas):
            self.scopes.add(OF_ATLAS.get(name, EVERYTHING))
        elif (kind := _ITEMS.get(type(owner))) and name not in _IN_DIRECTORY:
            self.scopes.add((kind, owner.slug))  # type: ignore[attr-defined]

    def rows(self, selection: Mapping[str, str]) -> None:
        """Note that a function has selected rows by the values of coordinates."""
        narrowest = next((each for each in _NARROWEST if each in selection), None)
        self.scopes.add((narrowest, selection[narrowest]) if narrowest else EVERYTHING)


class Digests:
    """Digests of what scopes of some results hold: equal ones hold the same."""

    def __init__(self, results: Results, catalogs: Hashable) -> None:
        self._results = results
        self._catalogs = catalogs
        self.of = cache(self._of)

    def prepare(self) -> None:
        """Compute what most scopes take, before there is a process for each language."""
        self._rows, self._doubts, self._documents  # noqa: B018  # cached
        for column in _NARROWEST:
            self._labels(column)

    def _of(self, scope: Scope) -> str:
        column, value = scope
        if scope == CATALOGS:
            return digest(self._catalogs)
        if scope == DIRECTORY:
            columns = (self._results.by_label.column(name) for name in _OF_A_LINK)
            newest = self._results.newest.index.tolist()
            rows = [*zip(*columns, strict=True)]
            return digest(tuple(dict.fromkeys(rows[label] for label in newest)), sorted(self._results.own_devices))
        labels = self._labels(column).get(value, [])
        doubts = [sorted(self._doubts[label]) for label in labels if label in self._doubts]
        return digest(self._documents, self._rows[labels].tobytes(), doubts)

    @cache  # noqa: B019  # an object lives as long as its build
    def _labels(self, column: str) -> Mapping[str, list[int]]:
        return {str(value): labels for value, labels in labels_by(self._results.rows[column]).items()}

    @cached_property
    def _rows(self) -> npt.NDArray[np.uint64]:
        """A digest of each row with its rounds, by label."""
        results = self._results
        rounds = pd.Series([repr(each) if each else "" for each in results.rounds_ms], results.rows.index)
        hashed = pd.util.hash_pandas_object(results.rows.assign(rounds=rounds), index=False)
        return np.asarray(hashed, np.uint64)

    @cached_property
    def _doubts(self) -> Mapping[int, set[str]]:
        """What the data lint says of each row, without labels: those change with each new row."""
        doubts = (anomaly for each in self._results.doubts.values() for anomaly in each)
        found: dict[int, set[str]] = {}
        for anomaly in (*self._results.problems, *doubts):
            said = digest(anomaly.kind, anomaly.figures, self._rows[[*anomaly.rows]].tobytes())
            for label in anomaly.rows:
                found.setdefault(label, set()).add(said)
        return found

    @cached_property
    def _documents(self) -> str:
        """A digest of the files that hold no records."""
        folder = self._results.folder
        records = {*run_files(folder)}
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path not in records)
        return digest([(path.relative_to(folder).as_posix(), path.read_bytes()) for path in files])
