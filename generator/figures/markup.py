"""Tables as Markdown and charts as HTML in one language.

Takes the lines of `generator.figures.tables`, or a `Chart`, and returns text. Everything is readable without scripts:
tables have captions and header cells, a status has its explanation below the table. For scripts, cells carry what they
sort by. Figures keep their order in right-to-left text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from html import unescape
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from bench.records.record import Status
from generator.compiled import CompiledTemplates
from generator.data.lint import gathered
from generator.data.load import Results
from generator.data.registry import ON, SIZE, VERSION, Column, column
from generator.data.selection import Row, Rows, plain, records
from generator.figures import findings
from generator.figures.cells import STATUS_SHOWN, Cells, Link, TableCell, marked
from generator.figures.charts import Chart
from generator.figures.drawing import WIDTH, height
from generator.figures.words import DOUBT, Words
from generator.languages.typography import in_markdown

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


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


def figure(chart: Chart, pictures: tuple[str, str], data: tuple[str, str]) -> str:
    """Return a chart: its words, and its drawing in two colourings, for light and for dark pages, at `pictures`.

    `data` is an address and a label.
    """
    light, dark = pictures
    return render(
        "figure.html.jinja",
        chart=chart,
        width=WIDTH,
        height=height(chart.drawing),
        light=light,
        dark=dark,
        data=data[0],
        label=data[1],
    )


MOST_NOTES = 3
"""Doubts of one kind that a table tells one by one. More are counted."""

WHOLE = 28
"""Letters of the longest command or word of code that is not broken: the narrowest phone has room for as many."""

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
    """Turns lines of `tables` into Markdown, with the rows that they describe from `results`."""

    words: Words
    results: Results
    link: Link

    def rows(self, lines: pd.DataFrame, rows: Rows, headline: str, *, brief: bool = False) -> str:
        """Return a table about `rows`. Where it has latencies, statuses and doubts are explained below it."""
        has_latencies = any(name.endswith("_ms") or name.startswith((VERSION, SIZE)) for name in lines.columns)
        statuses = status_notes(rows, self.words) if has_latencies else []
        is_doubted = has_latencies or any(name.startswith(ON) for name in lines.columns)
        return self.table(
            lines,
            self.caption(rows, headline, brief=brief),
            [*statuses, *(self._doubted(rows) if is_doubted else ())],
        )

    def table(self, lines: pd.DataFrame, caption: str, notes: Iterable[str] = ()) -> str:
        """Return a table of any lines, at least one. A column in which nothing is known is left out."""
        values = records(lines)
        declared = {name: column(name) for name in lines.columns}
        columns = {name: each for name, each in declared.items() if _says(each, (line[name] for line in values))}
        head = tuple(
            TableCell(escape(self.words.heading(name)), scope="col", classes=_classes(each))
            for name, each in columns.items()
        )
        body = tuple(self._line(line, columns) for line in values)
        return Table(caption, head, body, tuple(notes), sortable=len(body) > 1).markdown()

    def environment(self, lines: pd.DataFrame, caption: str) -> str:
        """Return environments side by side, a property a row: there are few, with many properties."""
        rows = [self.results.by_label[label] for label in lines.index]
        heads = [self.words.facts([self.words.device(row), self.words.named("origin", row["origin"])]) for row in rows]
        head = [TableCell(each, scope="col") for each in (escape(self.words.heading("property")), *heads)]
        body = []
        for name, values in lines.items():
            shown = zip(plain(values), rows, strict=True)
            cells = (TableCell(self._cells.of(column(str(name)), value, row).html) for value, row in shown)
            body.append(Line((TableCell(escape(self.words.heading(str(name)))), *cells)))
        return Table(caption, tuple(head), tuple(body), sortable=False).markdown()

    def caption(self, rows: Rows, headline: str, *, brief: bool = False) -> str:
        """Return what a table shows, and what all its rows have in common: see `Words.selection`."""
        single = any(row["processes"] == 1 and row["speedup_low"] is not None for row in rows)
        note = self.words.one_process() if single and not brief else ""
        facts = self.words.facts([self.words.phrase(headline), self.words.selection(rows, brief=brief)])
        return self.words.lines([facts, escape(note)])

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.words, self.results, self.link)

    def _line(self, line: Row, columns: Mapping[str, Column]) -> Line:
        row = self.results.by_label[line["row"]]
        cells = [self._cells.of(each, line[name], row) for name, each in columns.items()]
        doubtful = "compiled_ms" in line and row["verdict"] == "doubtful"
        if doubtful:
            cells[0] = cells[0]._replace(html=Markup('{} <span class="doubt">{}</span>').format(cells[0].html, DOUBT))
        return Line(tuple(cells), doubtful, id=line.get("sized_model", ""))

    def _doubted(self, rows: Rows) -> list[str]:
        """Return a note on each doubt, or one for all of a kind where these are many."""
        anomalies = [anomaly for row in rows for anomaly in self.results.doubts.get(row["row"], ())]
        groups = gathered(anomalies, MOST_NOTES)
        return [marked(findings.told(group, self.results.by_label, self.words)) for group in groups]


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
    return column.name in STATUS_SHOWN or any(value not in _UNTOLD for value in values)


_UNTOLD = (None, "", (), "unknown")


def _classes(column: Column) -> str:
    """Return the classes of the heading of a column."""
    return " ".join(filter(None, ("number" * (column.alignment == "end"), "decisive" * column.decisive)))
