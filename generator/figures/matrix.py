"""The matrix of the first page: the speedup of each model on each device, for every batch size and mode.

Takes rows of the results; returns one `Matrix` for each batch size and mode, and the HTML of all of them. The page
shows the first as a table; docs/assets/javascripts/matrix.js puts another in its place when a reader chooses it.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pandas as pd
from markupsafe import Markup, escape
from packaging.version import Version

from bench.statistics.verdicts import Verdict
from generator.data.digits import digits
from generator.data.load import Results
from generator.data.selection import MODES, Row, is_compared, mode_order, records, version_order
from generator.figures.cells import Link, TableCell
from generator.figures.markup import Line, Table, render
from generator.figures.words import DOUBT, Words
from generator.languages.language import UNKNOWN

MODELS, DEVICES, CHOICES = 40, 12, 24
"""Most rows, columns and choices of batch size and mode: the page stays readable, and light."""

STEPS = (1.25, 1.5, 2.0)
"""Speedups at which the colour of a gain changes. Losses change theirs at the inverse of the first."""

_COLUMNS = ["device", "model", "torch", "compile_mode", "dtype", "batch_size", "dynamic", "origin"]

Place = Callable[[Row], str]
"""Returns the address at which a page has more about a row."""


@dataclass(frozen=True)
class Matrix:
    """The rows of one batch size and mode. `labels` has the label of a row by its model and device; `order` has the
    slugs of all devices in the order of the results."""

    batch_size: int
    compile_mode: str
    labels: Mapping[tuple[str, str], int]
    order: Sequence[str]

    @property
    def devices(self) -> tuple[str, ...]:
        """Slugs of the devices in the order of the results: the reader's own machine first, then accelerators."""
        own = {device for _, device in self.labels}
        return tuple(device for device in self.order if device in own)

    @property
    def models(self) -> tuple[str, ...]:
        """Slugs of the models."""
        return tuple(dict.fromkeys(model for model, _ in self.labels))

    def limited(self) -> Matrix:
        """Return the models and devices that have the most rows, all of them where they are few."""
        models = _most(MODELS, (model for model, _ in self.labels))
        devices = _most(DEVICES, (device for _, device in self.labels))
        kept = {(m, d): label for (m, d), label in self.labels.items() if m in models and d in devices}
        return replace(self, labels=kept)


def _most(count: int, names: Iterable[str]) -> set[str]:
    return {name for name, _ in Counter(names).most_common(count)}


def matrices(cells: pd.DataFrame) -> list[Matrix]:
    """Return a matrix of latencies for each mode and batch size, ``default`` and the smallest first."""
    cells = cells[cells["workload"] == "latency"]
    found: dict[tuple[str, int], dict[tuple[str, str], int]] = {}
    for row in sorted(records(cells[_COLUMNS]), key=_precedence):
        labels = found.setdefault((row["compile_mode"], row["batch_size"]), {})
        labels[row["model"], row["device"]] = row["row"]  # the last one takes precedence
    order = list(dict.fromkeys(cells["device"].tolist()))
    return [
        Matrix(size, mode, found[mode, size], order)
        for mode, size in sorted(found, key=lambda at: (mode_order(at[0]), at[1]))
    ]


@lru_cache(maxsize=2)
def leading(results: Results) -> Mapping[tuple[str, str, int], int]:
    """Return the label of the row that stands for a model on a device at a batch size, in mode ``default``.

    The matrix and the short form of Should I compile? both show it.
    """
    plain = (each for each in matrices(results.newest) if each.compile_mode == MODES[0])
    return {(model, device, each.batch_size): label for each in plain for (model, device), label in each.labels.items()}


def limited(found: Sequence[Matrix]) -> list[Matrix]:
    """Return what one page has room for: the choices with the most rows, in their order."""
    largest = sorted(found, key=lambda each: -len(each.labels))[:CHOICES]
    return [each.limited() for each in found if each in largest]


def _precedence(row: Row) -> tuple[object, ...]:
    """Order the rows that compete for a place: measured ones win, then float32, then stable releases, then the newest.

    Float32 is what all devices have, so that the figures of a matrix can be compared.
    """
    is_measured, is_float32 = row["origin"] == "measured", row["dtype"] == "float32"
    return is_measured, is_float32, *release_order(row["torch"]), row["dynamic"] == "auto"


def release_order(version: str) -> tuple[bool, tuple[bool, Version | str]]:
    """Return a sort key that orders versions of PyTorch, the oldest first, with previews before all releases."""
    _, parsed = known = version_order(version)
    return isinstance(parsed, Version) and not parsed.is_prerelease, known


# ── Colours ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def tone(verdict: Verdict, speedup: float) -> str:
    """Return the class that colours a cell: ``gain-1`` to ``gain-4``, ``loss-1`` or ``loss-2``, else none."""
    if verdict == "faster":
        return f"gain-{1 + bisect(STEPS, speedup)}"
    if verdict == "slower":
        return "loss-1" if speedup > 1 / STEPS[0] else "loss-2"
    return "doubtful" if verdict == "doubtful" else ""


# ── HTML ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class MatrixTables:
    """Turns matrices into HTML, with their rows from `results`."""

    words: Words
    results: Results
    link: Link
    place: Place

    def html(self, found: Sequence[Matrix], rest: str = "") -> str:
        """Return the first matrix, a form that chooses among all, their legend, and `rest`."""
        number = self.words.language.number
        sizes = sorted({each.batch_size for each in found})
        return render(
            "matrix.html.jinja",
            tables=[(each, Markup(self.table(each).html())) for each in found],  # noqa: S704  # rendered
            _=self.words.language.gettext,
            modes=list(dict.fromkeys(each.compile_mode for each in found)),
            sizes=[(size, number(size)) for size in sizes],
            legend=self._legend(),
            rest=rest,
        )

    def table(self, matrix: Matrix) -> Table:
        """Return a matrix as a table: the model with the largest gain first, accelerators before CPUs."""
        rows = {at: self.results.by_label[label] for at, label in matrix.labels.items()}
        gains = dict.fromkeys(matrix.models, 0.0)
        for (model, _), row in rows.items():
            if is_compared(row) and row["verdict"] != "doubtful":
                gains[model] = max(gains[model], row["speedup"])
        models = sorted(matrix.models, key=lambda model: (-gains[model], model))
        kinds = {row["device"]: row["device_type"] for row in rows.values()}
        first_cpu = next((device for device in matrix.devices if kinds[device] == "cpu"), "")
        apart = {device: " apart" for device in matrix.devices[1:] if device == first_cpu}
        body = (
            Line(
                (
                    self._model(next(row for (own, _), row in rows.items() if own == model)),
                    *(self._cell(rows.get((model, device)), apart.get(device, "")) for device in matrix.devices),
                )
            )
            for model in models
        )
        head = (
            TableCell(self.words.heading("model"), scope="col"),
            *(
                self._device([row for (_, own), row in rows.items() if own == each], apart.get(each, ""))
                for each in matrix.devices
            ),
        )
        return Table(self._caption(next(iter(rows.values()))), head, tuple(body), sortable=False)

    def _caption(self, row: Row) -> str:
        headline = self.words.language.gettext("Speedup of the compiled model over eager")
        chosen = (self.words.fact(name, row) for name in ("batch_size", "compile_mode"))
        return self.words.facts([self.words.phrase(headline), *chosen])

    def _device(self, rows: Sequence[Row], apart: str) -> TableCell:
        """Show a device, with the versions of PyTorch and the origin of its rows below it."""
        own = self.results.own_devices
        facts = [
            *(self.words.fact("torch", row) for row in rows),
            *(self.words.machine(row, own) or self.words.named("origin", row["origin"]) for row in rows),
        ]
        facts += [self.words.fact("dtype", row) for row in rows if row["dtype"] != "float32"]
        facts += [
            self.words.phrase(self.words.freed_memory())
            for row in rows
            if row["malloc"] == "default" and row["device_type"] == "cpu"
        ]
        address, name = self.link("device", rows[0]["device"]), self.words.device(rows[0])
        html = Markup('<a href="{}">{}</a><br><small>{}</small>').format(
            address, name, self.words.lines(dict.fromkeys(facts))
        )
        return TableCell(html, classes=f"number{apart}", scope="col")

    def _model(self, row: Row) -> TableCell:
        address, name = self.link("model", row["model"]), self.words.value(row["model_label"])
        return TableCell(Markup('<a href="{}">{}</a>').format(address, name))

    def _cell(self, row: Row | None, apart: str) -> TableCell:
        """Show the speedup, or the status of a row without one, as a link whose name says it in words."""
        gettext = self.words.language.gettext
        if row is None:
            nothing = Markup('<span class="atlas-unseen">{}</span>').format(self.words.phrase(gettext("not measured")))
            return TableCell(nothing, classes=f"number{apart}")
        text: str = escape(self.words.status(row["status"]) or UNKNOWN)
        if is_compared(row):
            text = self.words.value(self._figure(row))
        if row["verdict"] == "doubtful":
            text = Markup('{}<span class="doubt">{}</span>').format(text, DOUBT)
        html = Markup('<a href="{}" aria-label="{}">{}</a>').format(self.place(row), self._name(row), text)
        colour = tone(row["verdict"], round(row["speedup"], digits(row, "speedup"))) if is_compared(row) else "status"
        return TableCell(html, classes=f"number {colour}{apart}".strip())

    def _figure(self, row: Row) -> str:
        return self.words.language.ratio(row["speedup"], digits(row, "speedup"))

    def _name(self, row: Row) -> str:
        """Return the name of a cell for screen readers: plain text."""
        words = Words(self.words.language, html=False)
        gettext = words.language.gettext
        outcome = words.status_in_words(row["status"]) or gettext("unknown")
        if is_compared(row):
            outcome = words.noted(self._figure(row), words.named("verdict", row["verdict"]))
        message = gettext("%(model)s on %(device)s: %(outcome)s")
        return words.say(message, model=row["model_label"], device=words.device(row), outcome=outcome)

    def _legend(self) -> list[tuple[str, str]]:
        """Return the class and the text of each colour, from the largest loss to the largest gain, and of the marks."""
        gettext, ratio = self.words.language.gettext, self.words.language.ratio
        first, *others = STEPS
        bounds = [
            ("loss-2", f"≤ {ratio(1 / first)}"),
            ("loss-1", f"> {ratio(1 / first)}"),
            ("", ""),
            ("gain-1", f"< {ratio(first)}"),
            *((f"gain-{step}", f"≥ {ratio(bound)}") for step, bound in enumerate((first, *others), start=2)),
        ]
        told = [(tone, self.words.value(text)) for tone, text in bounds]
        told[2] = ("", self.words.phrase(gettext("same or inconclusive")))
        return [*told, ("doubtful", self.words.say(gettext("%(mark)s doubtful"), mark=DOUBT))]
