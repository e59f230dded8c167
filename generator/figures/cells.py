"""The cells of tables in one language: a value of a column becomes HTML and a sort key.

`Cells` has a method for each format of the registry, such as `format_share`, and one for each column that shows more,
such as the row with the largest gain: `column_best_model`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from bench.records.record import Status
from bench.statistics.digits import decimals
from bench.statistics.verdicts import Verdict, judge
from generator.data.digits import digits
from generator.data.load import Results
from generator.data.registry import Column
from generator.data.selection import Row, is_compared
from generator.figures import causes, findings
from generator.figures.sources import source_of
from generator.figures.words import DOUBT, Words
from generator.languages.language import UNKNOWN

TONES: Mapping[Verdict, str] = {"faster": " better", "slower": " worse"}
"""The class of a speedup by its verdict, after a space. Other verdicts have none. The charts have the same colours."""

STATUS_SHOWN = {"eager_ms", "compiled_ms", "speedup"}
"""Columns that show the status of a row in place of a figure."""

NAME = 18
"""Letters of the longest name of a row that is not broken, beside a column of figures."""

SCALES = {"flop": 1e9, "eager_flop_s": 1e12, "compiled_flop_s": 1e12}
"""Units in which figures are shown: GFLOP and TFLOP/s."""

PLACES = {"eager_peak_memory_gb": 3, "compiled_peak_memory_gb": 3, "memory_gb": 1, "top1": 2}
"""Decimals of figures that are known better than three digits say, and of shares other than whole percents."""


Link = Callable[[str, str], str | None]
"""Returns the address of a page from its kind (device, model) and slug, None for no link."""


class TableCell(NamedTuple):
    """One cell: its HTML, its sort key (None: its text), and its classes."""

    html: str
    sort: str | None = None
    classes: str = ""


def number_cell(html: str, sort: float | None = None, tone: str = "") -> TableCell:
    """Return a cell of a column of figures; one without a value sorts first."""
    return TableCell(html, "" if sort is None else repr(round(sort, 6)), f"number{tone}")


def gain_classes(verdict: Verdict, factor: float) -> str:
    """Return the classes of a cell with a gain or loss, after a space: its colour, and its bar. The bar grows by a
    twentieth for each 0.1×, so that a full one is a factor of three, either way."""
    steps = min(20, round(10 * (max(factor, 1 / factor) - 1))) if factor > 0 else 0
    return TONES.get(verdict, "") + (f" bar-{steps}" if steps else "")


@dataclass(frozen=True)
class Cells:
    """Makes cells from values, with the rows that they are of."""

    words: Words
    results: Results
    link: Link

    def of(self, column: Column, value: Any, row: Row) -> TableCell:
        """Return the cell of a row in a column."""
        if value is None and column.alignment == "end":
            status = self.status(row["status"]) if column.name in STATUS_SHOWN else ""
            return TableCell(status, "", "number status") if status else number_cell(UNKNOWN)
        special = getattr(self, f"column_{column.name}", None)
        cell: TableCell = (special or getattr(self, f"format_{column.format}"))(column.name, value, row)
        return cell

    # ── Formats ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def format_name(self, name: str, value: Any, row: Row) -> TableCell:
        """Show a value in words, and several as the language joins them; a device or a model as a link."""
        if isinstance(value, tuple):
            return TableCell(self.words.names(value) if value else UNKNOWN)
        machine = self.words.machine(row, self.results.own_devices) if name == "device" else ""
        html = self.linked(name, row) if name in row else self.words.coordinate(name, {name: value})
        return TableCell(above(html, machine) if machine else html)

    def format_code(self, _name: str, value: str | tuple[str, ...], _row: Row) -> TableCell:
        texts = (value,) if isinstance(value, str) else value
        return TableCell(self.words.lines(Markup("<code>{}</code>").format(text) for text in texts if text) or UNKNOWN)

    def format_prose(self, _name: str, text: str, _row: Row) -> TableCell:
        """Show the words of PyTorch or of an error."""
        return TableCell(Markup('<code lang="en">{}</code>').format(text) if text else UNKNOWN, classes="verbatim")

    def format_number(self, _name: str, value: int, _row: Row) -> TableCell:
        return TableCell(self.number(value), str(value), "number")

    def format_figure(self, name: str, value: float, row: Row) -> TableCell:
        """Show a figure with the digits that its interval supports; beside a latency the status of its row."""
        value /= SCALES.get(name, 1.0) * (row["batch_size"] if name == "flop" else 1.0)
        places = PLACES.get(name, decimals(value))
        if name.endswith(("_ms", "_s")) and name not in SCALES and name in row:
            places = digits(row, name)
        text = self.number(value, places)
        if name == "compiled_ms" and (status := self.status(row["status"])):
            text = Markup("{} {}").format(text, status)
        return number_cell(text, value)

    def format_ratio(self, _name: str, value: float, row: Row) -> TableCell:
        """Show a speedup: the digits and the verdict of the row for its own, a verdict by size for any other."""
        if value == row["speedup"]:
            return number_cell(self.speedup(row), value, gain_classes(row["verdict"], value))
        return number_cell(self.words.value(self.words.language.ratio(value)), value, gain_classes(judge(value), value))

    def format_change(self, _name: str, value: float, _row: Row) -> TableCell:
        """Show a change of memory, of which less is better."""
        html = self.words.value(self.words.percent(value))
        return number_cell(html, value, gain_classes(judge(1 / (1 + value)), 1 + value))

    def format_share(self, name: str, value: float, _row: Row) -> TableCell:
        return number_cell(self.words.value(self.words.language.percent(value, PLACES.get(name, 0))), value)

    def format_rate(self, _name: str, value: float, _row: Row) -> TableCell:
        return number_cell(self.words.value(self.words.rate(value)), value)

    # ── Columns that show more ────────────────────────────────────────────────────────────────────────────────────────

    def column_family(self, _name: str, slug: str, _row: Row) -> TableCell:
        return TableCell(Markup('<a href="{}">{}</a>').format(self.link("family", slug), self.words.value(slug)))

    def column_sized_model(self, _name: str, _slug: str, row: Row) -> TableCell:
        """Show a model, with the size of its images below it."""
        name, size = _breakable(self.linked("model", row)), self.words.coordinate("input_size", row)
        return TableCell(above(name, size), f"{row['model']} {len(row['input_size'])} {row['input_size']}")

    def column_pretrained(self, _name: str, weights: str, row: Row) -> TableCell:
        """Show a model, with the tag of its weights and the size of its images below it."""
        tag, size = weights.partition(".")[2], self.words.coordinate("input_size", row)
        below = Markup("<code>{}</code> {}").format(tag, size)
        return TableCell(above(self.linked("model", row), below), weights)

    def column_frontier(self, _name: str, variants: tuple[str, ...], _row: Row) -> TableCell:
        return TableCell(self.words.names([self.words.named("variant", each) for each in variants]))

    def column_interval(self, _name: str, low: float, row: Row) -> TableCell:
        ends = (self.words.language.number(row[end], digits(row, "speedup")) for end in ("speedup_low", "speedup_high"))
        return number_cell(self.words.value("–".join(ends)), low)

    def column_quartiles(self, _name: str, ends: tuple[float, float], _row: Row) -> TableCell:
        low, high = map(self.words.language.ratio, ends)
        message = self.words.language.gettext("%(low)s to %(high)s")
        return number_cell(self.words.say(message, low=low, high=high), ends[0])

    def column_batch_sizes(self, _name: str, values: Sequence[int], _row: Row) -> TableCell:
        """Show two numbers as they are, and the ends of more."""
        shown, separator = (values, ", ") if len(values) < 3 else ((values[0], values[-1]), "–")
        text = separator.join(map(self.words.language.number, shown))
        return TableCell(self.words.value(text), str(values[0]) if values else "", "number")

    def column_bounds(self, _name: str, value: tuple[float, float], _row: Row) -> TableCell:
        return TableCell(self.words.bounds(*value), repr(value[0]))

    def column_best_model(self, name: str, label: int, _row: Row) -> TableCell:
        """Show the largest gain, with the model or device that has it, and the batch size if readers choose it."""
        best = self.results.by_label[label]
        names = [_breakable(self.words.fact(name.removeprefix("best_"), best))]
        if best["workload"] == "latency":
            names.append(self.words.fact("batch_size", best))
        return number_cell(above(self.speedup(best), self.words.facts(names)), best["speedup"])

    column_best_device = column_best_model

    def column_modes(self, _name: str, modes: tuple[str, ...], _row: Row) -> TableCell:
        """Show modes below each other: a hyphen is no place to break a mode."""
        return TableCell(self.words.lines(map(self.words.value, modes)), classes="modes")

    def column_origin(self, _name: str, value: str | tuple[str, ...], _row: Row) -> TableCell:
        origins = (value,) if isinstance(value, str) else value
        return TableCell(self.words.lines(self.words.named("origin", each) for each in origins))

    def column_source(self, _name: str, label: int, _row: Row) -> TableCell:
        return TableCell(self.words.phrase(source_of(self.results.by_label[label], self.words.language).name))

    def column_break_even_calls(self, name: str, value: float, row: Row) -> TableCell:
        """Show the calls that repay the compilation, with their interval: open at its end where it may never pay."""
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        if math.isinf(value):
            return TableCell(escape(self.words.language.gettext("never")), "1e300", "number")
        certain = min(0, digits(row, name))
        text = self.number(value, certain)
        if low is not None and high is not None:
            first, last = (self.words.language.number(end, certain) for end in (low, min(high, 1e300)))
            text = above(text, self.words.value(f"≥ {first}" if math.isinf(high) else f"{first}–{last}"))
        return number_cell(text, value)

    column_break_even_warm_calls = column_break_even_calls

    def column_eager_flop_s(self, name: str, value: float, row: Row) -> TableCell:
        """Show TFLOP/s, with the share of the peak below it."""
        cell, share = self.format_figure(name, value, row), row[name.replace("_flop_s", "_matmul_share")]
        if share is None:
            return cell
        message = self.words.language.gettext("%(share)s of the peak")
        below = self.words.say(message, share=self.words.language.percent(share, 0))
        return cell._replace(html=above(cell.html, below))

    column_compiled_flop_s = column_eager_flop_s

    def column_version(self, _name: str, label: int, _row: Row) -> TableCell:
        """Show the compiled latency with one version of torch, with the eager one below it."""
        row = self.results.by_label[label]
        eager, compiled = (self.number(row[name], digits(row, name)) for name in ("eager_ms", "compiled_ms"))
        return number_cell(self._above_eager(self._doubted(compiled, row), eager), row["compiled_ms"])

    def column_version_speedup(self, name: str, speedups: Mapping[str, float], row: Row) -> TableCell:
        """Show the speedup from the oldest to the newest version: compiled, and eager below it."""
        cell = self.format_ratio(name, speedups["compiled"], row)
        return cell._replace(html=self._above_eager(cell.html, self.words.language.ratio(speedups["eager"])))

    def column_size(self, _name: str, label: int, _row: Row) -> TableCell:
        """Show the speedup at one batch size, or in one way to run."""
        row = self.results.by_label[label]
        if not is_compared(row):
            return TableCell(self.status(row["status"]) or UNKNOWN, "", "number status")
        html = self._doubted(self.speedup(row), row)
        return number_cell(html, row["speedup"], gain_classes(row["verdict"], row["speedup"]))

    column_in_way = column_size

    def column_throughput(self, _name: str, label: int, _row: Row) -> TableCell:
        """Show the speedup on one device, with the images per second of both variants and the batch size below it."""
        row = self.results.by_label[label]
        rates = map(self.words.rate, (row["eager_images_s"], row["compiled_images_s"]))
        below = self.words.lines([self.words.value(" → ".join(rates)), self.words.fact("batch_size", row)])
        if row["speedup"] is None:
            return number_cell(above(self._doubted(UNKNOWN, row), below))
        speedup = self._doubted(self.speedup(row), row)
        return number_cell(above(speedup, below), row["speedup"], gain_classes(row["verdict"], row["speedup"]))

    def column_status(self, _name: str, status: str, _row: Row) -> TableCell:
        return TableCell(self.status(status) if status else "")

    def column_max_relative_error(self, _name: str, value: float, _row: Row) -> TableCell:
        """Show an error with one digit."""
        return number_cell(self.words.value(f"{value:.0e}" if value else "0"), value)

    def column_date(self, _name: str, label: int, _row: Row) -> TableCell:
        row, language = self.results.by_label[label], self.words.language
        if row["measured_at"]:
            return TableCell(self.words.value(language.date(row["measured_at"])), row["measured_at"].isoformat())
        return TableCell(self.words.value(language.iso_date(row["source_date"])), row["source_date"])

    def column_device_names(self, _name: str, labels: tuple[int, ...], _row: Row) -> TableCell:
        names = (self.linked("device", self.results.by_label[label]) for label in labels)
        return TableCell(self.words.lines(names), str(len(labels)))

    def column_run(self, _name: str, value: str, row: Row) -> TableCell:
        name = Markup("<code>{}</code>").format(value)
        link = Markup('<a href="{}" lang="en" dir="ltr">{}</a>').format(row["source_url"], row["source_title"])
        return TableCell(self.words.lines([name, link]) if row["source_url"] else name)

    def column_settings(self, name: str, value: str, row: Row) -> TableCell:
        return self.format_code(name, tuple(f"{key}={setting}" for key, setting in json.loads(value).items()), row)

    def column_why(self, _name: str, value: str, row: Row) -> TableCell:
        return TableCell(causes.why(value, row["verdict"], self.words), classes="prose")

    def column_fault(self, _name: str, position: int, _row: Row) -> TableCell:
        return TableCell(self.words.named("fault", self.results.problem_groups[position][0].kind))

    def column_finding(self, _name: str, position: int, _row: Row) -> TableCell:
        told = findings.told(self.results.problem_groups[position], self.results.by_label, self.words)
        return TableCell(told, classes="prose")

    # ── Parts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def linked(self, name: str, row: Row) -> str:
        """Return the value of a coordinate, linked to the page of a device or model."""
        text = self.words.coordinate(name, row)
        address = self.link(name, row[name]) if name in {"device", "model"} else None
        if not address:
            return text
        label = Markup(text).striptags() if "-" in text else ""  # noqa: S704  # was markup before
        whole = Markup(' class="whole"') if "-" in label and len(label) <= NAME else ""
        return Markup('<a href="{}"{}>{}</a>').format(address, whole, text)

    def status(self, status: str) -> str:
        """Return a status with its explanation; "" for a pass."""
        if status == Status.PASS:
            return ""
        explanation = str(self.words.status_explained(status))
        return Markup('<abbr title="{}">{}</abbr>').format(explanation, self.words.status(status))

    def number(self, value: float, places: int | None = None) -> str:
        """Return a number."""
        return self.words.value(self.words.language.number(value, places))

    def speedup(self, row: Row) -> str:
        """Return the speedup of a row with the digits that are certain."""
        return self.words.value(self.words.language.ratio(row["speedup"], digits(row, "speedup")))

    def _doubted(self, figure: str, row: Row) -> str:
        """Mark a doubtful figure, before its digits in every language, so that these stay in line."""
        if row["verdict"] != "doubtful":
            return figure
        return Markup(self.words.language.isolate(marked(figure)))  # noqa: S704  # was markup before

    def _above_eager(self, compiled: str, eager: str) -> str:
        return above(compiled, self.words.say(self.words.language.gettext("eager %(figure)s"), figure=eager))


def marked(html: str) -> Markup:
    """Put the mark of doubt before a figure or a note."""
    return Markup('<span class="doubt">{}</span> {}').format(DOUBT, html)


def above(html: str, below: str) -> Markup:
    """Return two lines of a cell, the second in small letters."""
    return Markup("{}<br><small>{}</small>").format(html, below)


def _breakable(html: str) -> str:
    """Return the name of a model with places to break, if it is a long one."""
    long = "_" in html and len(Markup(html).striptags()) > NAME  # noqa: S704  # was markup before
    return Markup(html.replace("_", Markup("_<wbr>"))) if long and "href" not in html else html  # noqa: S704
