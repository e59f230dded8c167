"""Tables as Markdown and charts as HTML in one language.

Takes the lines of `generator.figures.tables`, or a `Chart`, and returns text. Everything is readable without scripts:
tables have captions and header cells, a status has its explanation below the table. For scripts, cells carry what they
sort by. Figures keep their order in right-to-left text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from bench.records.record import Status
from generator.data.lint import gathered
from generator.data.load import Results
from generator.data.registry import ON, SIZE, VERSION, Column, column, series
from generator.data.selection import Row, Rows, plain, records
from generator.figures import findings
from generator.figures.cells import STATUS_SHOWN, Cells, Link, TableCell, marked
from generator.figures.charts import Chart
from generator.figures.drawing import WIDTH, height
from generator.figures.words import DOUBT, Words
from generator.languages.typography import in_markdown


@dataclass(frozen=True)
class Line:
    """One row of a table's body; its first cell is its header."""

    cells: tuple[TableCell, ...]
    doubtful: bool = False
    id: str = ""


@dataclass(frozen=True)
class Table:
    """A table in one language."""

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
        """The table as Markdown, for the extension `generator.site.markdown`."""
        sortable = " .sortable" * self.sortable
        rows = [
            [*map(_cell, self.head)],
            ["---:" if "number" in cell.classes else "---" for cell in self.head],
        ]
        for line in self.body:
            own = f"#{line.id} " * bool(line.id) + ".doubtful " * line.doubtful
            rows.append([_cell(line.cells[0], own), *map(_cell, line.cells[1:])])
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
    address, label = data
    size = {"width": WIDTH, "height": height(chart.drawing)}
    return render("figure.html.jinja", chart=chart, light=light, dark=dark, data=address, label=label, **size)


WHOLE = 28
"""Letters of the longest command or word of code that is not broken: the narrowest phone has room for as many."""

_CODE = re.compile(r"<pre\b.*?</pre>|<code>([^<]*)</code>", re.DOTALL)
_AFTER_PUNCTUATION = re.compile('(?<=[、。，：；！？）」])(?=<code class="whole">-)')
"""Where a line may end although browsers keep a hyphen with what precedes it."""

_WORD = re.compile(r"\S+")
_PART = re.compile(r"(?<=[a-z0-9][._])(?=[a-z])")
"""Where a long name may be broken."""


def unbroken(html: str) -> str:
    """Keep lines from breaking within short inline code, and within the options of a long one."""

    def of_code(code: re.Match[str]) -> str:
        if code[1] and len(unescape(code[1])) <= WHOLE:
            return f'<code class="whole">{code[1]}</code>'
        return f"<code>{_WORD.sub(of_word, code[1])}</code>" if code[1] else code[0]

    def of_word(word: re.Match[str]) -> str:
        if len(unescape(word[0])) > WHOLE:
            return _PART.sub("<wbr>", word[0])
        return f'<span class="whole">{word[0]}</span>' if re.search("[-/]", word[0]) else word[0]

    return _AFTER_PUNCTUATION.sub("<wbr>", _CODE.sub(of_code, html))


_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent.parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
_TEMPLATES.filters["bare"] = str  # an attribute cannot hold the markup of an untranslated text


def render(template: str, **values: Any) -> str:
    """Render a template of this package."""
    return _TEMPLATES.get_template(template).render(values).strip()


MOST_NOTES = 3
"""Doubts of one kind that a table tells one by one. More are counted."""

_UNTOLD = (None, "", (), "unknown")
"""Values that tell nothing."""


@dataclass(frozen=True)
class Tables:
    """Turns lines of `tables` into Markdown, with the rows that they describe from `results`."""

    words: Words
    results: Results
    link: Link

    def rows(self, lines: pd.DataFrame, rows: Rows, headline: str, *, brief: bool = False) -> str:
        """Return a table about `rows`. Where it has latencies, statuses and doubts are explained below it."""
        kinds = {series(name)[0] for name in lines.columns}
        has_latencies = bool(kinds & {VERSION, SIZE}) or any(kind.endswith("_ms") for kind in kinds)
        notes = self._statuses(rows) if has_latencies else []
        if has_latencies or ON in kinds:
            anomalies = [anomaly for row in rows for anomaly in self.results.doubts.get(row["row"], ())]
            groups = gathered(anomalies, MOST_NOTES)
            notes += [marked(findings.told(group, self.results.by_label, self.words)) for group in groups]
        return self.table(lines, self.caption(rows, headline, brief=brief), notes)

    def table(self, lines: pd.DataFrame, caption: str, notes: Iterable[str] = ()) -> str:
        """Return a table of any lines, at least one. A column in which nothing is known is left out."""
        values = records(lines)
        columns = {
            name: each
            for name, each in ((name, column(name)) for name in lines.columns)
            if each.name in STATUS_SHOWN or any(line[name] not in _UNTOLD for line in values)
        }
        head = []
        for name, each in columns.items():
            classes = "number " * (each.alignment == "end") + "decisive" * each.decisive
            head.append(TableCell(escape(self.words.heading(name)), classes=classes.strip()))
        body = tuple(self._line(line, columns) for line in values)
        return Table(caption, tuple(head), body, tuple(notes), sortable=len(body) > 1).markdown()

    def environment(self, lines: pd.DataFrame, caption: str) -> str:
        """Return environments side by side, a property a row: there are few, with many properties."""
        rows = [self.results.by_label[label] for label in lines.index]
        heads = [self.words.facts([self.words.device(row), self.words.named("origin", row["origin"])]) for row in rows]
        head = map(TableCell, (escape(self.words.heading("property")), *heads))
        body = []
        for name, values in lines.items():
            shown = zip(plain(values), rows, strict=True)
            cells = (TableCell(self._cells.of(column(str(name)), value, row).html) for value, row in shown)
            body.append(Line((TableCell(escape(self.words.heading(str(name)))), *cells)))
        return Table(caption, tuple(head), tuple(body), sortable=False).markdown()

    def caption(self, rows: Rows, headline: str, *, brief: bool = False) -> str:
        """Return the headline of a table and the facts that all its rows share: see `Words.selection`."""
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

    def _statuses(self, rows: Rows) -> list[str]:
        """Return a sentence for each status that occurs, except pass; of skipped rows also the reasons, as recorded."""
        words, found = self.words, {row["status"] for row in rows} - {Status.PASS}
        message = words.language.gettext("%(status)s – %(explanation)s")
        bold = {status: Markup("<b>{}</b>").format(words.status(status)) for status in Status if status in found}
        notes = [
            words.say(message, status=status, explanation=words.status_explained(each)) for each, status in bold.items()
        ]
        reasons = dict.fromkeys(row["reason"] for row in rows if row["status"] == Status.SKIPPED and row["reason"])
        return [*notes, *(Markup('<code lang="en">{}</code>').format(reason) for reason in reasons)]
