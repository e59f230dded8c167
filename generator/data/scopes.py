"""Which part of the results a page reads while it is rendered, and whether that part has changed since.

Expressions of pages reach the results through names, through attributes of objects that tell their `scope_of` each, and
through functions that select rows. `Reads` notes the `Scope` of each, and `Digests` returns the digest of what a scope
holds: a page whose scopes have the digests of its last build would be rendered the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench.records.run_file import run_files
from generator.cache import digest
from generator.data.selection import labels_by

if TYPE_CHECKING:
    from generator.data.load import Results

Scope = tuple[str, str]
"""Some rows: a column of the table, and the value that they have there; ``device/mode_rows`` for those of a device that
an attribute chooses. Or one of the following."""

EVERYTHING: Scope = "everything", ""
DIRECTORY: Scope = "directory", ""
"""Which devices, models and families there are, and how they are named: what a link takes."""

DOCUMENTS: Scope = "documents", ""
"""The contents of files without records."""

THROUGHPUT: Scope = "workload", "throughput"

_OF_A_LINK = (
    *("device", "device_name", "device_type", "cores"),
    *("model", "model_label", "family", "workload", "task"),
)

_NARROWEST = "model", "family", "device", "run", "workload", "origin"
"""Columns by which pages select rows, the one with the fewest rows first."""


class Reads:
    """The scopes of the page that is being rendered. `named` has those of names, which hold everything otherwise."""

    def __init__(self, named: Mapping[str, Scope]) -> None:
        self.scopes: set[Scope] = set()
        self._named = named

    def name(self, name: str, value: object) -> None:
        """Note that an expression uses a name. What an object or a function holds, its attributes and calls tell."""
        if name in self._named or not (callable(value) or hasattr(type(value), "scope_of")):
            self.scopes.add(self._named.get(name, EVERYTHING))

    def attribute(self, owner: object, name: str) -> None:
        """Note that an expression reads an attribute."""
        scope_of = getattr(type(owner), "scope_of", None)
        if scope_of and (scope := scope_of(owner, name)):
            self.scopes.add(scope)

    def rows(self, selection: Mapping[str, str]) -> None:
        """Note that a function selects rows by the values of columns."""
        narrowest = next((each for each in _NARROWEST if each in selection), None)
        self.scopes.add((narrowest, selection[narrowest]) if narrowest else EVERYTHING)


class Digests:
    """Digests of what the scopes of some results hold: equal ones hold the same.

    `files` are the paths of all files of the results with the digest of each. `choose` returns those of some
    labels that the attribute of a name chooses.
    """

    def __init__(
        self,
        results: Results,
        files: Iterable[tuple[str, bytes]],
        choose: Callable[[str, Iterable[int]], list[int]],
    ) -> None:
        self._results = results
        self._files = sorted(files)
        self._choose = choose
        self.of = cache(self._of)

    def prepare(self) -> None:
        """Compute what most scopes take, before there is a process for each language."""
        self._rows, self._doubts, self._documents  # noqa: B018  # cached
        for column in _NARROWEST:
            self._labels(column)

    def _of(self, scope: Scope) -> str:
        column, value = scope
        if scope == EVERYTHING:
            return digest(self._files, self._own)
        if scope == DOCUMENTS:
            return self._documents
        if scope == DIRECTORY:
            columns = (self._results.by_label.column(name) for name in _OF_A_LINK)
            rows = [*zip(*columns, strict=True)]
            newest = (rows[label] for label in self._results.newest.index.tolist())
            return digest(tuple(dict.fromkeys(newest)), self._own)
        column, _, name = column.partition("/")
        labels = self._labels(column).get(value, [])
        if name:
            labels = self._choose(name, labels)
        doubts = [sorted(self._doubts[label]) for label in labels if label in self._doubts]
        return digest(self._documents, self._rows[labels].tobytes(), doubts)

    @cached_property
    def _own(self) -> list[str]:
        return sorted(self._results.own_devices)

    @cache  # noqa: B019  # an object lives as long as its build
    def _labels(self, column: str) -> Mapping[str, list[int]]:
        return {str(value): labels for value, labels in labels_by(self._results.rows[column]).items()}

    @cached_property
    def _rows(self) -> npt.NDArray[np.uint64]:
        """A digest of each row with its rounds, by label."""
        results = self._results
        rounds = pd.Series([repr(each) if each else "" for each in results.rounds_ms], results.rows.index)
        return np.asarray(pd.util.hash_pandas_object(results.rows.assign(rounds=rounds), index=False), np.uint64)

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
        records = {*map(str, run_files(self._results.folder))}
        return digest([file for file in self._files if file[0] not in records])
