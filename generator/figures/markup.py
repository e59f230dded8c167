"""Tables and charts as HTML in one language: the lines of `tables` or a `Chart` enter, markup leaves.

Everything is readable without scripts: tables have captions and header cells, a status has its explanation below the
table. For scripts, cells carry what they sort by. Figures keep their order in right-to-left text.

    python -m pytest tests/test_markup.py
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup, escape

from bench.records.record import PHASES, Status
from bench.statistics.verdicts import direction
from generator.data.load import Results
from generator.data.rows import Row, Rows
from generator.figures import causes
from generator.figures.charts import Chart
from generator.figures.curves import CurvesChart
from generator.figures.tables import MALLOC_LATENCIES, MALLOC_SPEEDUPS, Lines, direction_of
from generator.figures.words import DOUBT, VERSION, Words
from generator.languages.language import UNKNOWN

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"

NUMBERS = {
    *(
        "eager_ms",
        "compiled_ms",
        "speedup",
        "interval",
        "change",
        "median_change",
        "best_model",
        "best_device",
        "slower",
    ),
    *("models", "devices", "comparisons", "records", "batch_size", "threads"),
    *("compile_cold_s", "compile_warm_s", "break_even_calls", "break_even_warm_calls", "graphs", "graph_breaks"),
    *("eager_peak_memory_gb", "compiled_peak_memory_gb", "memory_change"),
    *("flop", "eager_flop_s", "compiled_flop_s", "eager_image_j", "compiled_image_j"),
    *("eager_copy_share", "compiled_copy_share"),
    *("recompiles", "batch_size_recompiles", "version_change"),
    *MALLOC_LATENCIES,
    *MALLOC_SPEEDUPS,
}
"""Columns whose cells are figures: aligned at their end, sorted by value. So are those of `tables.versions`."""

Link = Callable[[str, str], str | None]
"""From a kind of page (device, model) and a slug to its address, None for no link."""


class Cell(NamedTuple):
    """One cell: its HTML, what it sorts by (None: by its text), and for a header cell its scope."""

    html: str
    sort: str | None = None
    classes: str = ""
    scope: str = "row"


@dataclass(frozen=True)
class Line:
    """One row of a table's body; its first cell is its header."""

    cells: tuple[Cell, ...]
    doubtful: bool = False


@dataclass(frozen=True)
class Table:
    """What the template shows."""

    caption: str
    head: tuple[Cell, ...]
    body: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    sortable: bool = True

    @property
    def label(self) -> str:
        """The caption without markup, for who hears the page."""
        return Markup(self.caption.replace("<br>", " · ")).striptags()  # noqa: S704  # made by Words

    def html(self) -> str:
        """The table as a block of HTML without blank lines."""
        return render("table.html.jinja", table=self)


def figure(chart: Chart | CurvesChart, light: str, dark: str, data: tuple[str, str]) -> str:
    """A chart in its two colourings, at the addresses `light` and `dark`; `data` is where its data are, and a name."""
    return render("figure.html.jinja", chart=chart, light=light, dark=dark, data=data[0], label=data[1])


def framed(html: str) -> str:
    """The tables that Markdown made, in the frame of ours and with header cells that say what they head."""
    return _AUTHORED.sub(_framed, html)


_AUTHORED = re.compile(r"<table>(.*?</thead>)(.*?)</table>", re.DOTALL)
_FIRST_CELL = re.compile(r"(<tr>\s*)<td>(.*?)</td>", re.DOTALL)
_HEADING = re.compile(r"<th>(.*?)</th>", re.DOTALL)


WHOLE = 28
"""Letters of the longest command or word of code that stays in one piece: the narrowest phone has room for as many."""

NAME = 18
"""Letters of the longest name of a row that stays in one piece, beside a column of figures."""

_CODE = re.compile(r"<pre\b.*?</pre>|<code>([^<]*)</code>", re.DOTALL)
_AFTER_PUNCTUATION = re.compile('(?<=[、。，：；！？）」])(?=<code class="whole">-)')
"""Where a line may end, but browsers think that a hyphen belongs to what stands before it."""

_WORD = re.compile(r"\S+")
_BREAKABLE = re.compile(r"[-/]")
_PART = re.compile(r"(?<=[a-z0-9][._])(?=[a-z])")


def unbroken(html: str) -> str:
    """The inline code that Markdown made; no line breaks within a short one, nor in an option of a long one."""
    return _AFTER_PUNCTUATION.sub("<wbr>", _CODE.sub(_unbroken, html))


def _unbroken(code: re.Match[str]) -> str:
    if not code[1]:
        return code[0]
    if _is_short(code[1]):
        return f'<code class="whole">{code[1]}</code>'
    return f"<code>{_WORD.sub(_unbroken_word, code[1])}</code>"


def _unbroken_word(word: re.Match[str]) -> str:
    """A word of code: an option whole, a long name with its parts to break between."""
    if not _is_short(word[0]):
        return _PART.sub("<wbr>", word[0])
    return f'<span class="whole">{word[0]}</span>' if _BREAKABLE.search(word[0]) else word[0]


def _is_short(html: str) -> bool:
    return len(unescape(html)) <= WHOLE


def _framed(table: re.Match[str]) -> str:
    head, body = table.groups()
    label = " · ".join(Markup(text).striptags() for text in _HEADING.findall(head))  # noqa: S704  # made by Markdown
    head = head.replace("<th>", '<th scope="col">')
    body = _FIRST_CELL.sub(r'\1<th scope="row">\2</th>', body)
    frame = Markup('<div class="table" role="group" tabindex="0" aria-label="{}">').format(label)
    return f'{frame}\n<table class="atlas authored">{head}{body}</table>\n</div>'


def render(template: str, **values: Any) -> str:
    """A template of this package, filled."""
    return _environment().get_template(template).render(values).strip()


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    return jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )


@dataclass(frozen=True)
class Tables:
    """Turns lines of `tables` into HTML, looking up what they tell about in `results`."""

    words: Words
    results: Results
    link: Link

    def latency(self, lines: Lines, headline: str) -> str:
        """A table of latencies: statuses explained and doubts told below it."""
        return self.rows(lines, [self.results.rows[line["row"]] for line in lines], headline)

    def rows(self, lines: Lines, rows: Rows, headline: str) -> str:
        """A table about `rows`. Where it has latencies, statuses are explained and doubts told below it."""
        has_latencies = any(column.endswith("_ms") or column.startswith(VERSION) for column in lines[0])
        notes = [*status_notes(rows, self.words), *self._doubted(rows)] if has_latencies else []
        return self.table(lines, self.caption(rows, headline), notes)

    def table(self, lines: Lines, caption: str, notes: Iterable[str] = ()) -> str:
        """Any lines of `tables`, at least one."""
        columns = [column for column in lines[0] if column != "row"]
        head = tuple(
            Cell(escape(self.words.heading(column)), scope="col", classes="number" if _is_number(column) else "")
            for column in columns
        )
        body = tuple(self._line(line, columns) for line in lines)
        return Table(caption, head, body, tuple(notes), sortable=len(body) > 1).html()

    def environment(self, lines: Lines, caption: str) -> str:
        """Environments side by side, a property a row: there are few, with much to say."""
        rows = [self.results.rows[line["row"]] for line in lines]
        heads = [self.words.facts([self.words.device(row), self.words.origin(row["origin"])]) for row in rows]
        head = (Cell(escape(self.words.heading("property")), scope="col"), *(Cell(each, scope="col") for each in heads))
        body = (
            Line(
                (
                    Cell(escape(self.words.heading(column))),
                    *(Cell(self._property(column, line[column])) for line in lines),
                )
            )
            for column in lines[0]
            if column != "row"
        )
        return Table(caption, head, tuple(body), sortable=False).html()

    def caption(self, rows: Rows, headline: str) -> str:
        """What is shown, and what all its rows have in common."""
        single = any(row["processes"] == 1 and row["speedup_low"] is not None for row in rows)
        note = self.words.one_process() if single else ""
        facts = self.words.facts([self.words.phrase(headline), self.words.selection(rows)])
        return self.words.lines([facts, escape(note)])

    # ── Cells ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _line(self, line: Mapping[str, Any], columns: Sequence[str]) -> Line:
        row = self.results.rows[line["row"]]
        cells = [self._cell(column, line[column], row) for column in columns]
        doubtful = "compiled_ms" in line and line["row"] in self.results.doubts
        if doubtful:
            cells[0] = cells[0]._replace(html=Markup('{} <span class="doubt">{}</span>').format(cells[0].html, DOUBT))
        return Line(tuple(cells), doubtful=doubtful)

    def _cell(self, column: str, value: Any, row: Row) -> Cell:
        if column in {"eager_ms", "compiled_ms"}:
            return self._latency(column, value, row)
        if column.startswith(VERSION):
            return self._version(value)
        if column in self._show:
            return self._show[column](value, row)
        if isinstance(value, tuple):
            return self._names(value)
        if column in NUMBERS:  # a coordinate, such as the batch size
            return Cell(self._linked(column, row), "" if value is None else str(value), "number")
        return Cell(self._linked(column, row))

    @cached_property
    def _show(self) -> Mapping[str, Callable[[Any, Row], Cell]]:
        """How a column is shown that is neither a latency nor a coordinate."""
        counts = ("models", "devices", "comparisons", "slower", "records", "graphs", "graph_breaks")
        return {
            **dict.fromkeys((*counts, "recompiles", "batch_size_recompiles"), self._count),
            "speedup": self._speedup,
            "interval": self._interval,
            "change": self._change_of_row,
            "median_change": self._change,
            "modes": self._modes,
            "best_model": lambda label, _: self._best(label, "model"),
            "best_device": lambda label, _: self._best(label, "device"),
            "compile_cold_s": self._cold,
            "compile_warm_s": self._seconds,
            "break_even_calls": partial(self._calls, "break_even_calls"),
            "break_even_warm_calls": partial(self._calls, "break_even_warm_calls"),
            "eager_peak_memory_gb": self._gigabytes,
            "compiled_peak_memory_gb": self._gigabytes,
            "memory_change": self._change,
            "flop": self._flop,
            "eager_flop_s": partial(self._rate, "eager_matmul_share"),
            "compiled_flop_s": partial(self._rate, "compiled_matmul_share"),
            "eager_copy_share": self._share,
            "compiled_copy_share": self._share,
            "eager_image_j": partial(self._three_digits, 1.0),
            "compiled_image_j": partial(self._three_digits, 1.0),
            "verdict": self._verdict,
            "why": self._why,
            "version_change": self._version_change,
            **dict.fromkeys(MALLOC_LATENCIES, partial(self._three_digits, 1.0)),
            **dict.fromkeys(MALLOC_SPEEDUPS, self._speedup),
            "reason": self._verbatim,
            "location": self._verbatim,
            "origin": self._origins,
            "task": self._task,
            "kind": self._kind,
            "checkpoint": self._code,
            "commit": self._code,
            "licence": self._plain,
            "date": self._date,
            "family": self._family,
            "device_names": self._devices,
            "run": self._run,
            "fault": self._fault,
            "finding": self._finding,
        }

    def _linked(self, column: str, row: Row) -> str:
        text = self.words.coordinate(column, row)
        address = self.link(column, row[column]) if column in {"device", "model"} else None
        if not address:
            return text
        name = Markup(text).striptags() if "-" in text else ""  # noqa: S704  # was markup before
        whole = Markup(' class="whole"') if "-" in name and len(name) <= NAME else ""
        return Markup('<a href="{}"{}>{}</a>').format(address, whole, text)

    def _family(self, slug: str, _row: Row) -> Cell:
        return Cell(Markup('<a href="{}">{}</a>').format(self.link("family", slug), self.words.value(slug)))

    def _latency(self, column: str, value: float | None, row: Row) -> Cell:
        """A latency to the digit; in its place, or beside it, the status of a cell that did not pass."""
        marked = self._marked(row["status"])
        if value is None:
            return Cell(marked, "", "number status") if marked else _UNKNOWN_NUMBER
        text = self._number(value, 3)
        if marked and column == "compiled_ms":
            text = Markup("{} {}").format(text, marked)
        return Cell(text, repr(value), "number")

    def _marked(self, status: str) -> str:
        if status == Status.PASS:
            return ""
        explanation = self.words.status_explained(status)
        return Markup('<abbr title="{}">{}</abbr>').format(explanation, self.words.status(status))

    def _number(self, value: float, digits: int | None = None) -> str:
        return self.words.value(self.words.language.number(value, digits))

    def _count(self, value: int | None, _row: Row) -> Cell:
        return _UNKNOWN_NUMBER if value is None else Cell(self._number(value), str(value), "number")

    def _seconds(self, value: float | None, _row: Row) -> Cell:
        return _UNKNOWN_NUMBER if value is None else Cell(self._number(value, 1), repr(value), "number")

    def _cold(self, value: float | None, row: Row) -> Cell:
        """Seconds, with those of each phase below it."""
        cell = self._seconds(value, row)
        named = zip(("TorchDynamo", "AOTAutograd", "Inductor"), (row[f"{each}_s"] for each in PHASES), strict=True)
        parts = [self.words.value(f"{name} {self.words.language.number(each, 1)}") for name, each in named if each]
        if value is None or not parts:
            return cell
        return cell._replace(html=_above(cell.html, self.words.lines(parts)))

    def _speedup(self, value: float | None, _row: Row) -> Cell:
        if value is None:
            return _UNKNOWN_NUMBER
        return Cell(self.words.value(self.words.language.ratio(value)), _sort(value), "number")

    def _interval(self, low: float | None, row: Row) -> Cell:
        if low is None:
            return _UNKNOWN_NUMBER
        number = self.words.language.number
        return Cell(self.words.value(f"{number(low, 2)}–{number(row['speedup_high'], 2)}"), _sort(low), "number")

    def _change(self, value: float | None, _row: Row) -> Cell:
        """A change without an interval."""
        return _UNKNOWN_NUMBER if value is None else self._toned(value, direction(value))

    def _change_of_row(self, value: float | None, row: Row) -> Cell:
        return _UNKNOWN_NUMBER if value is None else self._toned(value, direction_of(row))

    def _toned(self, change: float, sign: int) -> Cell:
        tone = {-1: " better", 0: "", 1: " worse"}[sign]
        return Cell(self._percent(change), _sort(change), f"number{tone}")

    def _percent(self, value: float) -> str:
        return self.words.value(self.words.percent(value))

    def _best(self, label: int | None, name: str) -> Cell:
        """The largest gain, with the model or device and the batch size that have it."""
        if label is None:
            return _UNKNOWN_NUMBER
        best = self.results.rows[label]
        names = (self.words.fact(name, best), self.words.fact("batch_size", best))
        html = _above(self._percent(best["change"]), self.words.facts(names))
        return Cell(html, _sort(best["change"]), "number")

    def _names(self, values: Sequence[Any]) -> Cell:
        texts = [each if isinstance(each, str) else self.words.language.number(each) for each in values]
        return Cell(self.words.names(texts) if texts else UNKNOWN)

    def _modes(self, modes: tuple[str, ...], _row: Row) -> Cell:
        """One below the other: a hyphen is no place to break a mode."""
        return Cell(Markup("<br>").join(map(self.words.value, modes)), classes="modes")

    def _plain(self, value: str, _row: Row) -> Cell:
        return Cell(self.words.value(value) if value else UNKNOWN)

    def _origins(self, value: str | tuple[str, ...], _row: Row) -> Cell:
        origins = (value,) if isinstance(value, str) else value
        return Cell(Markup("<br>").join(map(self.words.origin, origins)))

    def _calls(self, column: str, value: float | None, row: Row) -> Cell:
        """Calls until compiling has paid, with their interval: from some number on, where it may never pay."""
        number, low, high = self.words.language.number, row[f"{column}_low"], row[f"{column}_high"]
        if value is None:
            return _UNKNOWN_NUMBER
        if math.isinf(value):
            return Cell(escape(self.words.language.gettext("never")), repr(1e300), "number")
        text = self._number(round(value))
        if low is not None and high is not None:
            reach = f"≥ {number(round(low))}" if math.isinf(high) else f"{number(round(low))}–{number(round(high))}"
            text = _above(text, self.words.value(reach))
        return Cell(text, _sort(value), "number")

    def _gigabytes(self, value: float | None, _row: Row) -> Cell:
        return _UNKNOWN_NUMBER if value is None else Cell(self._number(value, 3), repr(value), "number")

    def _flop(self, value: float | None, row: Row) -> Cell:
        """Operations for one image, in GFLOP."""
        return self._three_digits(1e9 * row["batch_size"], value, row)

    def _rate(self, share: str, value: float | None, row: Row) -> Cell:
        """TFLOP/s, with the share of the peak below it."""
        cell = self._three_digits(1e12, value, row)
        if row[share] is None:
            return cell
        message = self.words.language.gettext("%(share)s of the peak")
        below = self.words.say(message, share=self.words.language.percent(row[share], 0))
        return cell._replace(html=_above(cell.html, below))

    def _share(self, value: float | None, _row: Row) -> Cell:
        if value is None:
            return _UNKNOWN_NUMBER
        return Cell(self.words.value(self.words.language.percent(value, 0)), _sort(value), "number")

    def _three_digits(self, unit: float, value: float | None, _row: Row) -> Cell:
        """A figure in multiples of `unit`, as exact as three digits are."""
        if value is None:
            return _UNKNOWN_NUMBER
        size = value / unit
        digits = max(0, 2 - math.floor(math.log10(size))) if size > 0 else 0
        return Cell(self._number(size, digits), repr(value), "number")

    def _version(self, label: int | None) -> Cell:
        """The compiled latency with one version of torch, with the eager one below it."""
        if label is None:
            return _UNKNOWN_NUMBER
        row = self.results.rows[label]
        compiled = self._number(row["compiled_ms"], 3)
        if label in self.results.doubts:  # before the digits in every language, so that these stay in line
            marked = Markup('<span class="doubt">{}</span> {}').format(DOUBT, compiled)
            compiled = Markup(self.words.language.isolate(marked))  # noqa: S704  # was markup before
        html = self._above_eager(compiled, self._number(row["eager_ms"], 3))
        return Cell(html, repr(row["compiled_ms"]), "number")

    def _version_change(self, changes: Mapping[str, float], row: Row) -> Cell:
        """From the oldest to the newest version: compiled, and eager below it."""
        cell = self._change(changes["compiled"], row)
        return cell._replace(html=self._above_eager(cell.html, self._percent(changes["eager"])))

    def _above_eager(self, compiled: str, eager: str) -> str:
        below = self.words.say(self.words.language.gettext("eager %(figure)s"), figure=eager)
        return _above(compiled, below)

    def _verdict(self, verdict: str, _row: Row) -> Cell:
        return Cell(escape(self.words.verdict(verdict)))

    def _why(self, _label: int, row: Row) -> Cell:
        return Cell(causes.why(row["causes"], row["verdict"], self.words), classes="prose")

    def _verbatim(self, text: str, _row: Row) -> Cell:
        """What a program said, to the letter."""
        code = Markup('<code lang="en">{}</code>').format(text)
        return Cell(code if text else UNKNOWN, classes="verbatim")

    def _task(self, value: str, _row: Row) -> Cell:
        return Cell(escape(self.words.task(value)))

    def _kind(self, value: str, _row: Row) -> Cell:
        return Cell(self.words.value(self.words.device_type(value)))

    def _code(self, value: str | tuple[str, ...], _row: Row) -> Cell:
        texts = (value,) if isinstance(value, str) else value
        return Cell(Markup("<br>").join(Markup("<code>{}</code>").format(text) for text in texts if text) or UNKNOWN)

    def _date(self, label: int, _row: Row) -> Cell:
        row = self.results.rows[label]
        if row["measured_at"]:
            return Cell(self.words.value(self.words.language.date(row["measured_at"])), row["measured_at"].isoformat())
        return Cell(self.words.value(self.words.date(row["source_date"])), row["source_date"])

    def _devices(self, labels: tuple[int, ...], _row: Row) -> Cell:
        names = (self._linked("device", self.results.rows[label]) for label in labels)
        return Cell(Markup("<br>").join(names), str(len(labels)))

    def _run(self, value: str, row: Row) -> Cell:
        name = Markup("<code>{}</code>").format(value)
        if not row["source_url"]:
            return Cell(name)
        link = Markup('<a href="{}" lang="en" dir="ltr">{}</a>').format(row["source_url"], row["source_title"])
        return Cell(Markup("{}<br>{}").format(name, link))

    def _fault(self, position: int, _row: Row) -> Cell:
        return Cell(escape(self.words.fault(self.results.problems[position])))

    def _finding(self, position: int, _row: Row) -> Cell:
        return Cell(self.words.finding(self.results.problems[position], self.results.rows), classes="prose")

    def _property(self, column: str, value: Any) -> str:
        """One property of an environment."""
        if value in {None, "", "{}", ()}:
            return UNKNOWN
        if column == "settings":
            pairs = json.loads(value).items()
            return Markup("<br>").join(Markup("<code>{}={}</code>").format(name, setting) for name, setting in pairs)
        if column == "commit":
            return Markup("<code>{}</code>").format(value)
        if isinstance(value, str):
            return self.words.value(value)
        if isinstance(value, tuple):
            return self._names(value).html
        return self._number(value, 1 if column == "memory_gb" else None)

    def _doubted(self, rows: Rows) -> list[str]:
        findings = [finding for row in rows for finding in self.results.doubts.get(row["row"], ())]
        return [
            Markup('<span class="doubt">{}</span> {}').format(DOUBT, self.words.finding(finding, self.results.rows))
            for finding in findings
        ]


def status_notes(rows: Rows, words: Words) -> list[str]:
    """A sentence for each status that occurs, but pass."""
    found = {row["status"] for row in rows} - {Status.PASS}
    return [
        words.say(
            words.language.gettext("%(status)s – %(explanation)s"),
            status=Markup("<b>{}</b>").format(words.status(status)),
            explanation=words.status_explained(status),
        )
        for status in Status
        if status in found
    ]


def _above(html: str, below: str) -> Markup:
    """Two lines of a cell, the second in small letters."""
    return Markup("{}<br><small>{}</small>").format(html, below)


def _is_number(column: str) -> bool:
    return column in NUMBERS or column.startswith(VERSION)


def _sort(value: float) -> str:
    return repr(round(value, 6))


_UNKNOWN_NUMBER = Cell(UNKNOWN, "", "number")
