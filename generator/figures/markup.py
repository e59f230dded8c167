"""Tables as Markdown and charts as HTML in one language.

Takes the lines of `generator.figures.tables`, or a `Chart`, and returns text. Everything is readable without scripts:
tables have captions and header cells, a status has its explanation below the table. For scripts, cells carry what they
sort by. Figures keep their order in right-to-left text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from bench.records.record import Status
from bench.statistics.digits import decimals
from bench.statistics.verdicts import Verdict, judge_change, time_change
from generator.compiled import CompiledTemplates
from generator.data.digits import digits
from generator.data.lint import gathered
from generator.data.load import Results
from generator.data.registry import Column, Format, column
from generator.data.selection import Row, Rows, plain, records
from generator.drawing.curves import CurvesChart
from generator.figures import causes
from generator.figures.charts import Chart
from generator.figures.sources import source_of
from generator.figures.words import DOUBT, Words
from generator.languages.language import UNKNOWN
from generator.languages.typography import in_markdown

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"

TONES: Mapping[Verdict, str] = {"faster": " better", "slower": " worse"}
"""The class of a change by its verdict, after a space. Any other verdict has none. The charts have the same colours."""

Link = Callable[[str, str], str | None]
"""Returns the address of a page from its kind (device, model) and slug, None for no link."""


class TableCell(NamedTuple):
    """One cell: its HTML, what it sorts by (None: by its text), and for a header cell its scope."""

    html: str
    sort: str | None = None
    classes: str = ""
    scope: str = "row"


@dataclass(frozen=True)
class Line:
    """One row of a table's body; its first cell is its header."""

    cells: tuple[TableCell, ...]
    doubtful: bool = False
    id: str = ""

    @property
    def attributes(self) -> str:
        """Its id and class, in the notation of Markdown."""
        return f"#{self.id} " * bool(self.id) + ".doubtful " * self.doubtful


@dataclass(frozen=True)
class Table:
    """What the template shows."""

    caption: str
    head: tuple[TableCell, ...]
    body: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    sortable: bool = True

    @property
    def label(self) -> str:
        """The caption without markup, for screen readers."""
        return Markup(self.caption.replace("<br>", " · ")).striptags()  # noqa: S704  # made by Words

    def html(self) -> str:
        """The table as a block of HTML without blank lines, for the matrix, whose script shows one of several."""
        return render("table.html.jinja", table=self)

    def markdown(self) -> str:
        """The table as Markdown, for the extension `generator.site.tables`."""
        sortable = " .sortable" * self.sortable
        rows = [
            map(_cell, self.head),
            ("---:" if "number" in cell.classes else "---" for cell in self.head),
            *((_cell(line.cells[0], line.attributes), *map(_cell, line.cells[1:])) for line in self.body),
        ]
        notes = [f"- {in_markdown(note)}" for note in self.notes]
        if notes:
            notes[0] += "\n  { .table-notes }"
        parts = [
            f"{in_markdown(self.caption)}\n{{ .table-caption{sortable} }}",
            "\n".join(f"| {' | '.join(row)} |" for row in rows),
            "\n".join(notes),
        ]
        return "\n\n".join(filter(None, parts))


def _cell(cell: TableCell, own: str = "") -> str:
    """Return a cell with its attributes: what it sorts by, and its classes."""
    if not cell.html:
        return ""
    sort = f'data-sort="{cell.sort}" ' if cell.sort is not None else ""
    classes = "".join(f".{name} " for name in cell.classes.split() if name != "number")
    attributes = f"{own}{sort}{classes}"
    return f"{in_markdown(cell.html)} {{ {attributes}}}" if attributes else in_markdown(cell.html)


def figure(chart: Chart | CurvesChart, pictures: tuple[str, str], data: tuple[str, str]) -> str:
    """Return a chart in its two colourings, for light and for dark pages, at the addresses `pictures`.

    `data` is an address and a label.
    """
    light, dark = pictures
    return render("figure.html.jinja", chart=chart, light=light, dark=dark, data=data[0], label=data[1])


MOST_NOTES = 3
"""Doubts of one kind that a table tells one by one. More are counted."""

WHOLE = 28
"""Letters of the longest command or word of code that is not broken: the narrowest phone has room for as many."""

NAME = 18
"""Letters of the longest name of a row that is not broken, beside a column of figures."""

_CODE = re.compile(r"<pre\b.*?</pre>|<code>([^<]*)</code>", re.DOTALL)
_AFTER_PUNCTUATION = re.compile('(?<=[、。，：；！？）」])(?=<code class="whole">-)')
"""Where a line may end although browsers keep a hyphen with what precedes it."""

_WORD = re.compile(r"\S+")
_BREAKABLE = re.compile(r"[-/]")
_PART = re.compile(r"(?<=[a-z0-9][._])(?=[a-z])")


def unbroken(html: str) -> str:
    """Keep lines from breaking within short inline code, and within the options of a long one."""
    return _AFTER_PUNCTUATION.sub("<wbr>", _CODE.sub(_unbroken, html))


def _unbroken(code: re.Match[str]) -> str:
    if not code[1]:
        return code[0]
    if _is_short(code[1]):
        return f'<code class="whole">{code[1]}</code>'
    return f"<code>{_WORD.sub(_unbroken_word, code[1])}</code>"


def _unbroken_word(word: re.Match[str]) -> str:
    """Return a word of code: an option whole, a long name with places to break."""
    if not _is_short(word[0]):
        return _PART.sub("<wbr>", word[0])
    return f'<span class="whole">{word[0]}</span>' if _BREAKABLE.search(word[0]) else word[0]


def _is_short(html: str) -> bool:
    return len(unescape(html)) <= WHOLE


def render(template: str, **values: Any) -> str:
    """Render a template of this package."""
    return _environment().get_template(template).render(values).strip()


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        bytecode_cache=CompiledTemplates(),
    )
    environment.filters["bare"] = str  # an attribute cannot hold the markup of an untranslated text
    return environment


@dataclass(frozen=True)
class Tables:
    """Turns lines of `tables` into HTML, with the rows that they describe from `results`."""

    words: Words
    results: Results
    link: Link

    def rows(self, lines: pd.DataFrame, rows: Rows, headline: str, *, brief: bool = False) -> str:
        """Return a table about `rows`. Where it has latencies, statuses and doubts are explained below it."""
        formats = {column(name).format for name in lines.columns}
        has_latencies = "version" in formats or any(name.endswith("_ms") for name in lines.columns)
        statuses = status_notes(rows, self.words) if has_latencies else []
        notes = [*statuses, *self._doubted(rows)] if has_latencies or "throughput" in formats else []
        return self.table(lines, self.caption(rows, headline, brief=brief), notes)

    def table(self, lines: pd.DataFrame, caption: str, notes: Iterable[str] = ()) -> str:
        """Return a table of any lines, at least one. A column in which nothing is known is left out."""
        values = records(lines)
        columns = [each for each in map(column, lines.columns) if _says(each, (line[each.name] for line in values))]
        head = tuple(
            TableCell(escape(self.words.heading(each.name)), scope="col", classes=_classes(each)) for each in columns
        )
        body = tuple(self._line(line, columns) for line in values)
        return Table(caption, head, body, tuple(notes), sortable=len(body) > 1).markdown()

    def environment(self, lines: pd.DataFrame, caption: str) -> str:
        """Return environments side by side, a property a row: there are few, with many properties."""
        rows = [self.results.by_label[label] for label in lines.index]
        heads = [self.words.facts([self.words.device(row), self.words.origin(row["origin"])]) for row in rows]
        head = (
            TableCell(escape(self.words.heading("property")), scope="col"),
            *(TableCell(each, scope="col") for each in heads),
        )
        body = (
            Line(
                (
                    TableCell(escape(self.words.heading(str(name)))),
                    *(TableCell(self._property(str(name), value)) for value in plain(values)),
                )
            )
            for name, values in lines.items()
        )
        return Table(caption, head, tuple(body), sortable=False).markdown()

    def caption(self, rows: Rows, headline: str, *, brief: bool = False) -> str:
        """Return what a table shows, and what all its rows have in common: see `Words.selection`."""
        single = any(row["processes"] == 1 and row["speedup_low"] is not None for row in rows)
        note = self.words.one_process() if single and not brief else ""
        facts = self.words.facts([self.words.phrase(headline), self.words.selection(rows, brief=brief)])
        return self.words.lines([facts, escape(note)])

    # ── Cells ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _line(self, line: Row, columns: Sequence[Column]) -> Line:
        row = self.results.by_label[line["row"]]
        cells = [self._cell(each, line[each.name], row) for each in columns]
        doubtful = "compiled_ms" in line and row["verdict"] == "doubtful"
        if doubtful:
            cells[0] = cells[0]._replace(html=Markup('{} <span class="doubt">{}</span>').format(cells[0].html, DOUBT))
        return Line(tuple(cells), doubtful, id=line.get("sized_model", ""))

    def _cell(self, column: Column, value: Any, row: Row) -> TableCell:
        if isinstance(value, tuple) and column.format == "text":
            return self._names(value)
        if value is None and column.alignment == "end" and column.format != "number":
            marked = self._marked(row["status"]) if column.name in _STATUS_SHOWN else ""
            return TableCell(marked, "", "number status") if marked else _UNKNOWN_NUMBER
        return self._formats[column.format](column.name, value, row)

    @cached_property
    def _formats(self) -> Mapping[Format, Callable[[str, Any, Row], TableCell]]:
        return {
            "number": self._coordinate_number,
            "number_range": self._number_range,
            "count": self._count,
            "latency": self._latency,
            "version": self._version,
            "throughput": self._throughput,
            "ratio": self._ratio,
            "interval": self._interval,
            "change": self._change,
            "change_range": self._change_range,
            "judged_change": self._judged_change,
            "version_change": self._version_change,
            "best_model": self._best,
            "best_device": self._best,
            "seconds": self._seconds,
            "calls": self._calls,
            "gigabytes": self._gigabytes,
            "gflop": self._gflop,
            "millions": self._millions,
            "tflop_s": self._tflop_s,
            "share": self._share,
            "rate": self._rate,
            "figure": self._figure,
            "rate_change": self._rate_change,
            "text": self._coordinate,
            "modes": self._modes,
            "device_names": self._devices,
            "origin": self._origins,
            "source": self._source,
            "task": self._task,
            "device_type": self._device_type,
            "workload": self._workload,
            "family": self._family,
            "bounds": self._bounds,
            "sized_model": self._sized_model,
            "plain": self._plain,
            "code": self._code,
            "verbatim": self._verbatim,
            "verdict": self._verdict,
            "causes": self._causes,
            "date": self._date,
            "run": self._run,
            "anomaly_kind": self._anomaly_kind,
            "anomaly": self._anomaly,
        }

    def _coordinate(self, name: str, _value: Any, row: Row) -> TableCell:
        machine = self.words.machine(row, self.results.own_devices) if name == "device" else ""
        return TableCell(_above(self._linked(name, row), machine) if machine else self._linked(name, row))

    def _coordinate_number(self, name: str, value: int | None, row: Row) -> TableCell:
        return TableCell(self._linked(name, row), "" if value is None else str(value), "number")

    def _linked(self, name: str, row: Row) -> str:
        text = self.words.coordinate(name, row)
        address = self.link(name, row[name]) if name in {"device", "model"} else None
        if not address:
            return text
        label = Markup(text).striptags() if "-" in text else ""  # noqa: S704  # was markup before
        whole = Markup(' class="whole"') if "-" in label and len(label) <= NAME else ""
        return Markup('<a href="{}"{}>{}</a>').format(address, whole, text)

    def _family(self, _name: str, slug: str, _row: Row) -> TableCell:
        return TableCell(Markup('<a href="{}">{}</a>').format(self.link("family", slug), self.words.value(slug)))

    def _sized_model(self, _name: str, _slug: str, row: Row) -> TableCell:
        """Show a model, with the size of its images below it."""
        name, size = _breakable(self._linked("model", row)), self.words.coordinate("input_size", row)
        return TableCell(_above(name, size), f"{row['model']} {len(row['input_size'])} {row['input_size']}")

    def _latency(self, name: str, value: float, row: Row) -> TableCell:
        """Show a latency to the digit, and beside it the status of a cell that did not pass."""
        text = self._number(value, digits(row, name))
        marked = self._marked(row["status"])
        if marked and name == "compiled_ms":
            text = Markup("{} {}").format(text, marked)
        return TableCell(text, _sort(value), "number")

    def _marked(self, status: str) -> str:
        if status == Status.PASS:
            return ""
        explanation = self.words.status_explained(status)
        return Markup('<abbr title="{}">{}</abbr>').format(str(explanation), self.words.status(status))

    def _number(self, value: float, places: int | None = None) -> str:
        return self.words.value(self.words.language.number(value, places))

    def _count(self, _name: str, value: int, _row: Row) -> TableCell:
        return TableCell(self._number(value), str(value), "number")

    def _seconds(self, name: str, value: float, row: Row) -> TableCell:
        return TableCell(self._number(value, digits(row, name)), _sort(value), "number")

    def _ratio(self, _name: str, value: float, row: Row) -> TableCell:
        text = self.words.language.ratio(value, digits(row, "speedup"))
        return TableCell(self.words.value(text), _sort(value), "number")

    def _interval(self, _name: str, low: float, row: Row) -> TableCell:
        ends = (self.words.language.number(row[end], digits(row, "speedup")) for end in ("speedup_low", "speedup_high"))
        return TableCell(self.words.value("–".join(ends)), _sort(low), "number")

    def _change(self, _name: str, value: float, _row: Row) -> TableCell:
        """Show a change without an interval."""
        return TableCell(self._percent(value), _sort(value), f"number{TONES.get(judge_change(value), '')}")

    def _change_range(self, _name: str, ends: tuple[float, float], _row: Row) -> TableCell:
        low, high = map(self._percent, ends)
        text = self.words.say(self.words.language.gettext("%(low)s to %(high)s"), low=low, high=high)
        return TableCell(text, _sort(ends[0]), "number")

    def _number_range(self, _name: str, values: Sequence[int], _row: Row) -> TableCell:
        """Show two numbers as they are, and the ends of more."""
        ends = map(self.words.language.number, values if len(values) < 3 else (values[0], values[-1]))
        separator = ", " if len(values) < 3 else "–"
        return TableCell(self.words.value(separator.join(ends)), str(values[0]) if values else "", "number")

    def _rate_change(self, _name: str, value: float, _row: Row) -> TableCell:
        """Show a change of a throughput without an interval: more is better."""
        tone = TONES.get(judge_change(time_change(value)), "")
        return TableCell(self._percent(value), _sort(value), f"number{tone}")

    def _bounds(self, _name: str, value: tuple[float, float], _row: Row) -> TableCell:
        return TableCell(self.words.bounds(*value), _sort(value[0]))

    def _judged_change(self, _name: str, value: float, row: Row) -> TableCell:
        return TableCell(self._change_of(row), _sort(value), f"number{TONES.get(row['verdict'], '')}")

    def _change_of(self, row: Row) -> str:
        return self._percent(row["change"], digits(row, "change") - 2)

    def _percent(self, value: float, places: int = 1) -> str:
        return self.words.value(self.words.percent(value, places))

    def _best(self, name: str, label: int, _row: Row) -> TableCell:
        """Show the largest gain, with the model or device that has it, and the batch size if readers choose it."""
        best = self.results.by_label[label]
        names = [_breakable(self.words.fact(name.removeprefix("best_"), best))]
        if best["workload"] == "latency":
            names.append(self.words.fact("batch_size", best))
        html = _above(self._change_of(best), self.words.facts(names))
        return TableCell(html, _sort(best["change"]), "number")

    def _names(self, values: Sequence[Any]) -> TableCell:
        texts = [each if isinstance(each, str) else self.words.language.number(each) for each in values]
        return TableCell(self.words.names(texts) if texts else UNKNOWN)

    def _modes(self, _name: str, modes: tuple[str, ...], _row: Row) -> TableCell:
        """Show modes below each other: a hyphen is no place to break a mode."""
        return TableCell(Markup("<br>").join(map(self.words.value, modes)), classes="modes")

    def _plain(self, _name: str, value: str, _row: Row) -> TableCell:
        return TableCell(self.words.value(value) if value else UNKNOWN)

    def _origins(self, _name: str, value: str | tuple[str, ...], _row: Row) -> TableCell:
        origins = (value,) if isinstance(value, str) else value
        return TableCell(Markup("<br>").join(map(self.words.origin, origins)))

    def _source(self, _name: str, label: int, _row: Row) -> TableCell:
        return TableCell(self.words.phrase(source_of(self.results.by_label[label], self.words.language).name))

    def _calls(self, name: str, value: float, row: Row) -> TableCell:
        """Show the calls that repay the compilation, with their interval: open at its end where it may never pay."""
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        if math.isinf(value):
            return TableCell(escape(self.words.language.gettext("never")), "1e300", "number")
        certain = min(0, digits(row, name))
        text = self._number(value, certain)
        if low is not None and high is not None:
            first, last = (self.words.language.number(end, certain) for end in (low, min(high, 1e300)))
            text = _above(text, self.words.value(f"≥ {first}" if math.isinf(high) else f"{first}–{last}"))
        return TableCell(text, _sort(value), "number")

    def _gigabytes(self, _name: str, value: float, _row: Row) -> TableCell:
        return TableCell(self._number(value, 3), _sort(value), "number")

    def _gflop(self, _name: str, value: float, row: Row) -> TableCell:
        """Show the operations for one image, in GFLOP."""
        return self._three_digits(value, 1e9 * row["batch_size"])

    def _millions(self, _name: str, value: float, _row: Row) -> TableCell:
        return self._three_digits(value, 1e6)

    def _tflop_s(self, name: str, value: float, row: Row) -> TableCell:
        """Show TFLOP/s, with the share of the peak below it."""
        cell, share = self._three_digits(value, 1e12), row[name.replace("_flop_s", "_matmul_share")]
        if share is None:
            return cell
        message = self.words.language.gettext("%(share)s of the peak")
        below = self.words.say(message, share=self.words.language.percent(share, 0))
        return cell._replace(html=_above(cell.html, below))

    def _share(self, _name: str, value: float, _row: Row) -> TableCell:
        return TableCell(self.words.value(self.words.language.percent(value, 0)), _sort(value), "number")

    def _rate(self, _name: str, value: float, _row: Row) -> TableCell:
        return TableCell(self.words.value(self.words.rate(value)), _sort(value), "number")

    def _figure(self, _name: str, value: float, _row: Row) -> TableCell:
        return self._three_digits(value, 1.0)

    def _three_digits(self, value: float, unit: float) -> TableCell:
        """Show a figure in multiples of `unit`, with three significant digits."""
        size = value / unit
        return TableCell(self._number(size, decimals(size)), _sort(value), "number")

    def _version(self, _name: str, label: int, _row: Row) -> TableCell:
        """Show the compiled latency with one version of torch, with the eager one below it."""
        row = self.results.by_label[label]
        compiled = self._number(row["compiled_ms"], digits(row, "compiled_ms"))
        if row["verdict"] == "doubtful":
            compiled = self._doubtful(compiled)
        html = self._above_eager(compiled, self._number(row["eager_ms"], digits(row, "eager_ms")))
        return TableCell(html, _sort(row["compiled_ms"]), "number")

    def _throughput(self, _name: str, label: int, _row: Row) -> TableCell:
        """Show the change on one device, with the images per second of both variants and the batch size below it."""
        row = self.results.by_label[label]
        change = UNKNOWN if row["change"] is None else self._change_of(row)
        if row["verdict"] == "doubtful":
            change = self._doubtful(change)
        rates = map(self.words.rate, (row["eager_images_s"], row["compiled_images_s"]))
        below = [self.words.value(" → ".join(rates)), self.words.fact("batch_size", row)]
        sort = "" if row["change"] is None else _sort(row["change"])
        return TableCell(_above(change, self.words.lines(below)), sort, f"number{TONES.get(row['verdict'], '')}")

    def _doubtful(self, figure: str) -> Markup:
        """Mark a figure, before its digits in every language, so that these stay in line."""
        return Markup(self.words.language.isolate(_marked(figure)))  # noqa: S704  # was markup before

    def _version_change(self, name: str, changes: Mapping[str, float], row: Row) -> TableCell:
        """Show the change from the oldest to the newest version: compiled, and eager below it."""
        cell = self._change(name, changes["compiled"], row)
        return cell._replace(html=self._above_eager(cell.html, self._percent(changes["eager"])))

    def _above_eager(self, compiled: str, eager: str) -> str:
        below = self.words.say(self.words.language.gettext("eager %(figure)s"), figure=eager)
        return _above(compiled, below)

    def _verdict(self, _name: str, verdict: str, _row: Row) -> TableCell:
        return TableCell(escape(self.words.verdict(verdict)))

    def _causes(self, _name: str, value: str, row: Row) -> TableCell:
        return TableCell(causes.why(value, row["verdict"], self.words), classes="prose")

    def _verbatim(self, _name: str, text: str, _row: Row) -> TableCell:
        code = Markup('<code lang="en">{}</code>').format(text)
        return TableCell(code if text else UNKNOWN, classes="verbatim")

    def _task(self, _name: str, value: str, _row: Row) -> TableCell:
        return TableCell(escape(self.words.task(value)))

    def _device_type(self, _name: str, value: str, _row: Row) -> TableCell:
        return TableCell(self.words.value(self.words.device_type(value)))

    def _workload(self, _name: str, value: str, _row: Row) -> TableCell:
        return TableCell(escape(self.words.workload(value)))

    def _code(self, _name: str, value: str | tuple[str, ...], _row: Row) -> TableCell:
        texts = (value,) if isinstance(value, str) else value
        return TableCell(
            Markup("<br>").join(Markup("<code>{}</code>").format(text) for text in texts if text) or UNKNOWN
        )

    def _date(self, _name: str, label: int, _row: Row) -> TableCell:
        row = self.results.by_label[label]
        if row["measured_at"]:
            return TableCell(
                self.words.value(self.words.language.date(row["measured_at"])), row["measured_at"].isoformat()
            )
        return TableCell(self.words.value(self.words.date(row["source_date"])), row["source_date"])

    def _devices(self, _name: str, labels: tuple[int, ...], _row: Row) -> TableCell:
        names = (self._linked("device", self.results.by_label[label]) for label in labels)
        return TableCell(Markup("<br>").join(names), str(len(labels)))

    def _run(self, _name: str, value: str, row: Row) -> TableCell:
        name = Markup("<code>{}</code>").format(value)
        if not row["source_url"]:
            return TableCell(name)
        link = Markup('<a href="{}" lang="en" dir="ltr">{}</a>').format(row["source_url"], row["source_title"])
        return TableCell(Markup("{}<br>{}").format(name, link))

    def _anomaly_kind(self, _name: str, position: int, _row: Row) -> TableCell:
        return TableCell(escape(self.words.fault(self.results.problem_groups[position][0].kind)))

    def _anomaly(self, _name: str, position: int, _row: Row) -> TableCell:
        return TableCell(self.words.told(self.results.problem_groups[position], self.results.by_label), classes="prose")

    def _property(self, name: str, value: Any) -> str:
        if value in {None, "", "{}", ()}:
            return UNKNOWN
        if name == "settings":
            pairs = json.loads(value).items()
            return Markup("<br>").join(Markup("<code>{}={}</code>").format(key, setting) for key, setting in pairs)
        if name == "commit":
            return Markup("<code>{}</code>").format(value)
        if isinstance(value, str):
            return self.words.value(value)
        if isinstance(value, tuple):
            return self._names(value).html
        return self._number(value, 1 if name == "memory_gb" else None)

    def _doubted(self, rows: Rows) -> list[str]:
        """Return a note on each doubt, or one for all of a kind where these are many."""
        anomalies = [anomaly for row in rows for anomaly in self.results.doubts.get(row["row"], ())]
        notes = (self.words.told(group, self.results.by_label) for group in gathered(anomalies, MOST_NOTES))
        return list(map(_marked, notes))


def status_notes(rows: Rows, words: Words) -> list[str]:
    """Return a sentence for each status that occurs, except pass. What was skipped has its reason, as recorded."""
    found = {row["status"] for row in rows} - {Status.PASS}
    notes = [
        words.say(
            words.language.gettext("%(status)s – %(explanation)s"),
            status=Markup("<b>{}</b>").format(words.status(status)),
            explanation=words.status_explained(status),
        )
        for status in Status
        if status in found
    ]
    reasons = dict.fromkeys(row["reason"] for row in rows if row["status"] == Status.SKIPPED and row["reason"])
    return [*notes, *(Markup('<code lang="en">{}</code>').format(reason) for reason in reasons)]


def _says(column: Column, values: Iterable[Any]) -> bool:
    """Return whether a column tells anything."""
    return column.name in _STATUS_SHOWN or any(value not in _UNTOLD for value in values)


_UNTOLD = (None, "", (), "unknown")
_STATUS_SHOWN = {"eager_ms", "compiled_ms", "change", "image_change"}  # columns that have it in place of a figure


def _classes(column: Column) -> str:
    """Return the classes of the heading of a column."""
    return " ".join(filter(None, ("number" * (column.alignment == "end"), "decisive" * column.is_decisive)))


def _breakable(html: str) -> str:
    """Return the name of a model with places to break, if it is a long one."""
    long = "_" in html and len(Markup(html).striptags()) > NAME  # noqa: S704  # was markup before
    return Markup(html.replace("_", Markup("_<wbr>"))) if long and "href" not in html else html  # noqa: S704


def _marked(html: str) -> Markup:
    """Put the mark of doubt before a figure or a note."""
    return Markup('<span class="doubt">{}</span> {}').format(DOUBT, html)


def _above(html: str, below: str) -> Markup:
    """Return two lines of a cell, the second in small letters."""
    return Markup("{}<br><small>{}</small>").format(html, below)


def _sort(value: float) -> str:
    return repr(round(value, 6))


_UNKNOWN_NUMBER = TableCell(UNKNOWN, "", "number")
