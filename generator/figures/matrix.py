"""The matrix of the first page: the median speedup of families in throughput, and the speedup of each model in latency.

Takes rows of the results; returns one `Matrix` of latencies for each batch size and mode, and the HTML of all views.
The page shows the first as a table; docs/assets/javascripts/matrix.js puts another in its place when a reader chooses
it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup, escape
from packaging.version import Version

from bench.records.record import COMPILE_MODES, Workload
from bench.statistics.processes import VARIANTS
from bench.statistics.verdicts import Verdict, judge
from generator.data.digits import digits
from generator.data.load import Results
from generator.data.selection import Row, is_compared, is_comparison, mode_order, records, version_order
from generator.figures.cells import Link, TableCell
from generator.figures.markup import Line, Table, render
from generator.figures.words import DOUBT, Words
from generator.languages.language import UNKNOWN

STEPS = (1.25, 1.5, 2.0)
"""Speedups at which the colour of a gain changes. Losses change theirs at the inverse of the first."""

Place = Callable[[Row], str]
"""Returns the address at which a page has more about a row."""


class FamilyGain(NamedTuple):
    """The gain of a family on a GPU in throughput."""

    speedup: float  # the median of its models
    typical: int  # the label of the row that is nearest to the median


FamilyGains = Mapping[str, Mapping[str, FamilyGain]]
"""By slug of the family and of the GPU. All families together come first, under ""."""


def leading_workload(cells: pd.DataFrame) -> Workload:
    """Return the workload that the first page shows first: throughput if more current GPUs have comparisons of it than
    of latency.

    Comparisons are current if they are from the year of the newest record or the year before. The year is that of the
    measurement, or of the source that published it.
    """
    published = pd.to_numeric(cells["source_date"].str[:4], errors="coerce")
    years = cells["measured_at"].dt.year.fillna(published)
    is_current = is_comparison(cells) & (cells["device_type"] != "cpu") & (years >= years.max() - 1)
    gpus = cells[is_current].groupby("workload")["device"].nunique()
    return "throughput" if gpus.get("throughput", 0) > gpus.get("latency", 0) else "latency"


@dataclass(frozen=True)
class Matrix:
    """The rows of one batch size and mode. `labels` has the label of a row by its model and device; `devices` are slugs
    in the order of the results: the reader's own machine first, then accelerators."""

    batch_size: int
    compile_mode: str
    labels: Mapping[tuple[str, str], int]
    devices: Sequence[str]

    @property
    def models(self) -> tuple[str, ...]:
        """Slugs of the models."""
        return tuple(dict.fromkeys(model for model, _ in self.labels))


def matrices(cells: pd.DataFrame) -> list[Matrix]:
    """Return a matrix of latencies for each mode and batch size, ``default`` and the smallest first."""
    cells = cells[cells["workload"] == "latency"]
    found: dict[tuple[str, int], dict[tuple[str, str], int]] = {}
    for row in sorted(records(cells), key=_precedence):
        labels = found.setdefault((row["compile_mode"], row["batch_size"]), {})
        labels[row["model"], row["device"]] = row["row"]  # the last one takes precedence
    order = {device: at for at, device in enumerate(cells["device"].unique())}
    return [
        Matrix(size, mode, labels, sorted({device for _, device in labels}, key=order.__getitem__))
        for (mode, size), labels in sorted(found.items(), key=lambda each: (mode_order(each[0][0]), each[0][1]))
    ]


@lru_cache(maxsize=2)
def leading(results: Results) -> Mapping[tuple[str, str, int], int]:
    """Return the label of the row that stands for a model on a device at a batch size, in mode ``default``.

    The matrix and the short form of Should I compile? both show it.
    """
    plain = (each for each in matrices(results.newest) if each.compile_mode == COMPILE_MODES[0])
    return {(model, device, each.batch_size): label for each in plain for (model, device), label in each.labels.items()}


def _precedence(row: Row) -> tuple[object, ...]:
    """Order the rows that compete for a place: measured ones win, then float32, then stable releases, then the newest.

    All devices have float32, so the figures of a matrix can be compared.
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
    """Turns matrices and the gains of families into HTML, with their rows from `results`."""

    words: Words
    results: Results
    link: Link
    place: Place

    def html(self, found: Sequence[Matrix], families: Sequence[Table], origins: str) -> str:
        """Return the leading view, a form that chooses among all, their legend, and whose figures they are.

        A view has the tables of one matrix, or those of `families`.
        """
        number = self.words.language.number
        sizes = sorted({each.batch_size for each in found})
        views = {f"{each.batch_size} {each.compile_mode}": [self.table(each)] for each in found}
        of_families = {"throughput": families} if families else {}
        is_leading = leading_workload(self.results.newest) == "throughput"
        return render(
            "matrix.html.jinja",
            views=of_families | views if is_leading else views | of_families,
            _=self.words.language.gettext,
            modes=list(dict.fromkeys(each.compile_mode for each in found)),
            sizes=[(size, number(size)) for size in sizes],
            legend=self._legend(),
            origins=origins,
        )

    def families(self, gains: FamilyGains, every: str) -> Sequence[Table]:
        """Return two tables that stand side by side where there is room: all families with the first half of the
        others, and the second half. `every` is the address of the page that has all of them."""
        words, gettext = self.words, self.words.language.gettext
        typical = {device: self.results.by_label[gain.typical] for device, gain in gains[""].items()}
        link = Markup('<a href="{}">{}</a>')
        devices = (link.format(self.link("device", each), words.device(row)) for each, row in typical.items())
        head = (TableCell(words.heading("family")), *(TableCell(device, classes="number") for device in devices))
        lines = []
        for family, of_device in gains.items():
            name = family or gettext("All families")
            address = self.link("family", family) if family else every
            named = TableCell(link.format(address, words.value(name) if family else words.phrase(name)))
            lines.append(Line((named, *(self._median(name, of_device.get(device)) for device in typical))))
        middle = (len(lines) + 1) // 2
        headline, more = gettext("Median speedup when compiled"), gettext("More families")
        shared = words.selection([*typical.values()], skip=("model", "batch_size", "compile_mode", "origin"))
        parts = (words.facts([words.phrase(headline), shared]), lines[:middle]), (words.phrase(more), lines[middle:])
        return [Table(caption, head, tuple(part), sortable=False) for caption, part in parts if part]

    def _median(self, family: str, gain: FamilyGain | None) -> TableCell:
        """Show the median speedup of a family on a GPU, whose name has the images per second of its typical model."""
        if gain is None:
            return self._cell(None, "")
        row, speedup = self.results.by_label[gain.typical], round(gain.speedup, 1)
        figure, spoken = self.words.language.ratio(speedup, 1), Words(self.words.language, html=False)
        outcome = spoken.say(
            self.words.language.gettext("%(speedup)s, for example %(model)s from %(eager)s to %(compiled)s images/s"),
            speedup=figure,
            model=row["model_label"],
            **{variant: spoken.rate(row[f"{variant}_images_s"]) for variant in VARIANTS},
        )
        name = self._named(row, family, outcome)
        html = Markup('<a href="{}" aria-label="{}" title="{}">{}</a>')
        html = html.format(self.place(row), name, name, self.words.value(figure))
        return TableCell(html, classes=f"number {tone(judge(gain.speedup), speedup)}".strip())

    def table(self, matrix: Matrix) -> Table:
        """Return a matrix as a table: the model with the largest gain first, accelerators before CPUs."""
        rows = {at: self.results.by_label[label] for at, label in matrix.labels.items()}
        of_device = {device: [row for (_, own), row in rows.items() if own == device] for device in matrix.devices}
        cpus = [device for device, own in of_device.items() if own[0]["device_type"] == "cpu"]
        apart = {device: " apart" * (device in cpus[:1] and device != matrix.devices[0]) for device in matrix.devices}
        gains, names = dict.fromkeys(matrix.models, 0.0), dict[str, TableCell]()
        for (model, _), row in rows.items():
            name = Markup('<a href="{}">{}</a>').format(self.link("model", model), self.words.value(row["model_label"]))
            names[model] = TableCell(name)
            if is_compared(row) and row["verdict"] != "doubtful":
                gains[model] = max(gains[model], row["speedup"])
        body = tuple(
            Line((names[model], *(self._cell(rows.get((model, device)), apart[device]) for device in matrix.devices)))
            for model in sorted(matrix.models, key=lambda model: (-gains[model], model))
        )
        heads = (self._device(own, apart[device]) for device, own in of_device.items())
        headline = self.words.phrase(self.words.language.gettext("Speedup of the compiled model over eager"))
        first = next(iter(rows.values()))
        caption = self.words.facts(
            [headline, *(self.words.fact(name, first) for name in ("batch_size", "compile_mode"))]
        )
        return Table(caption, (TableCell(self.words.heading("model")), *heads), body, sortable=False)

    def _device(self, rows: Sequence[Row], apart: str) -> TableCell:
        """Show a device, with the versions of PyTorch and the origin of its rows below it."""
        words, own = self.words, self.results.own_devices
        facts = [
            *(words.fact("torch", row) for row in rows),
            *(words.machine(row, own) or words.named("origin", row["origin"]) for row in rows),
            *(words.fact("dtype", row) for row in rows if row["dtype"] != "float32"),
        ]
        if any(row["malloc"] == "default" and row["device_type"] == "cpu" for row in rows):
            facts.append(words.phrase(words.language.gettext("glibc's default")))  # its way of freeing memory
        html = Markup('<a href="{}">{}</a><br><small>{}</small>').format(
            self.link("device", rows[0]["device"]), words.device(rows[0]), words.lines(dict.fromkeys(facts))
        )
        return TableCell(html, classes=f"number{apart}")

    def _named(self, row: Row, subject: str, outcome: str) -> str:
        """Return the outcome of a model or family on the device of a row, in plain text for screen readers."""
        spoken = Words(self.words.language, html=False)
        message = self.words.language.gettext("%(model)s on %(device)s: %(outcome)s")
        return spoken.say(message, model=subject, device=spoken.device(row), outcome=outcome)

    def _cell(self, row: Row | None, apart: str) -> TableCell:
        """Show the speedup, or the status of a row without one, as a link whose name says it in words."""
        gettext = self.words.language.gettext
        if row is None:
            nothing = Markup('<span class="atlas-unseen">{}</span>').format(self.words.phrase(gettext("not measured")))
            return TableCell(nothing, classes=f"number{apart}")
        text: str = escape(self.words.status(row["status"]) or UNKNOWN)
        spoken = Words(self.words.language, html=False)
        outcome, colour = spoken.status_in_words(row["status"]) or gettext("unknown"), "status"
        if is_compared(row):
            places = digits(row, "speedup")
            figure = self.words.language.ratio(row["speedup"], places)
            colour = tone(row["verdict"], round(row["speedup"], places))
            text, outcome = self.words.value(figure), spoken.noted(figure, spoken.named("verdict", row["verdict"]))
        if row["verdict"] == "doubtful":
            text = Markup('{}<span class="doubt">{}</span>').format(text, DOUBT)
        name = self._named(row, row["model_label"], outcome)
        html = Markup('<a href="{}" aria-label="{}">{}</a>').format(self.place(row), name, text)
        return TableCell(html, classes=f"number {colour}{apart}".strip())

    def _legend(self) -> list[tuple[str, str]]:
        """Return the class and the text of each colour, from the largest loss to the largest gain, and of the marks."""
        gettext, ratio, value = self.words.language.gettext, self.words.language.ratio, self.words.value
        return [
            ("loss-2", value(f"≤ {ratio(1 / STEPS[0])}")),
            ("loss-1", value(f"> {ratio(1 / STEPS[0])}")),
            ("", self.words.phrase(gettext("same or inconclusive"))),
            ("gain-1", value(f"< {ratio(STEPS[0])}")),
            *((f"gain-{step}", value(f"≥ {ratio(bound)}")) for step, bound in enumerate(STEPS, start=2)),
            ("doubtful", self.words.say(gettext("%(mark)s doubtful"), mark=DOUBT)),
        ]
