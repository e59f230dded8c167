"""The parts of which page functions are made: rows that a page selects become tables, charts and addresses."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, partial
from itertools import product
from typing import Any, get_args
from urllib.parse import urlencode

import pandas as pd
from markupsafe import Markup, escape

from bench.errors import AtlasError
from bench.records.record import COMPILE_MODES, Workload
from generator.data.registry import COORDINATES
from generator.data.rows import CONTIGUOUS
from generator.data.selection import Row, Rows
from generator.figures import drawing
from generator.figures.charts import Chart
from generator.figures.markup import Tables, figure
from generator.figures.tables import Choose, throughput
from generator.figures.words import Words
from generator.pages.atlas import Atlas
from generator.pages.expressions import nearest
from generator.pages.site_file import CHARTS, SiteFile, relative_address

MOST_LINES = 400
"""Lines of a table. The first of more stand for all, with a link to the explorer: so no page grows with the records."""

FORESEEN = {"compile_mode": COMPILE_MODES, "origin": ("measured", "published"), "workload": get_args(Workload)}
"""Values of coordinates that a page may name before any record has them."""

Emit = Callable[[SiteFile], object]
Selection = Mapping[str, Any]
"""Values of coordinates, of the workload or of the family. None is no choice."""

RowTable = tuple[str, Choose, Choose]
"""A table of rows: its headline as a message, its choice among the selected rows, and its lines."""


class Parts:
    """Makes parts of pages. `page` is the URI of the page that asks, to which addresses are relative."""

    def __init__(self, atlas: Atlas, emit: Emit, *, has_folders: bool) -> None:
        self.page = "index.md"
        self.atlas = atlas
        self.results = atlas.results
        self.emit = emit
        self.has_folders = has_folders  # as in `Guide`
        self.language = atlas.language
        self.words = Words(atlas.language, html=True)
        self._labels_by = cache(atlas.labels_by)

    # ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def select(self, selection: Selection) -> pd.DataFrame:
        """Return the newest rows that a selection names. Raises `AtlasError` for a name or value that none has."""
        rows = self.results.current if selection.get("layout") else self.results.newest
        if not (choices := chosen(selection)):
            return rows
        found = []
        for coordinate, value in choices:
            labels = self._labels_by(known_name("selection", coordinate, (*COORDINATES, "workload", "family")))
            if (value,) not in labels:
                known = {str(each) for (each,) in labels} | {*FORESEEN.get(coordinate, ())}
                known_name(coordinate.replace("_", " "), str(value), known)
            found.append(set(labels.get((value,), ())))
        return rows.loc[sorted(set.intersection(*found) & {*rows.index})]

    def rows_of(self, labels: Iterable[int]) -> Rows:
        """Return the rows with these labels as plain values."""
        return [self.results.by_label[label] for label in labels]

    # ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def tables(self) -> Tables:
        """Makes tables of the page."""
        return Tables(self.words, self.results, self.source)

    def rows_table(self, table: RowTable, *, brief: bool = False, **selection: Any) -> str:
        """Return a table of some of the selected rows."""
        headline, choose, lines = table
        cells = choose(self.select(selection))
        if cells.empty:
            return self.nothing()
        most = len(cells) if lines is throughput else None  # all of them, since links lead to each model
        return self.table(lines(cells), self.language.gettext(headline), cells, selection, brief=brief, most=most)

    def table(
        self,
        lines: pd.DataFrame,
        headline: str,
        cells: pd.DataFrame | None = None,
        selection: Selection | None = None,
        *,
        brief: bool = False,
        most: int | None = None,
    ) -> str:
        """Return a table of the first lines, which says so where there are more.

        If the lines are about cells, the caption has the facts that these share.
        """
        if lines.empty:
            return self.nothing()
        first = lines.iloc[: most or MOST_LINES]
        if cells is None:
            table = self.tables.table(first, escape(headline))
        else:
            about = cells if len(first) == len(lines) else cells[cells.index.isin(first.index)]
            table = self.tables.rows(first, self.rows_of(about.index), headline, brief=brief)
        if len(first) == len(lines):
            return table
        message = self.language.gettext("These are the first %(shown)s of %(count)s rows.")
        numbers = {"shown": self.language.number(len(first)), "count": self.language.number(len(lines))}
        link = Markup('<a href="{}">{}</a>').format(*self.in_explorer(selection or {}))
        rest = self.words.sentences((self.words.say(message, **numbers), link))
        return f"{table}\n\n{rest}\n{{ .table-rest }}"

    def about(self, lines: pd.DataFrame, headline: str, labels: Iterable[int], *skip: str) -> str:
        """Return a table of lines about the rows with these labels, whose caption has the facts that the rows share."""
        selection = self.words.selection(self.rows_of(labels), skip=("model", "compile_mode", *skip))
        return self.tables.table(lines, self.words.facts([self.words.phrase(headline), selection]))

    def nothing(self, text: str = "") -> str:
        """Say that there is no record, or another text."""
        text = text or self.language.gettext("There is no record for this selection yet.")
        return str(Markup('<p class="no-records">{}</p>').format(text))

    def html_list(self, name: str, items: Iterable[str]) -> str:
        """Return a list of a class."""
        lines = Markup().join(Markup("<li>{}</li>\n").format(item) for item in items)
        return str(Markup('<ul class="{}">\n{}</ul>').format(name, lines))

    # ── Charts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def figure(self, name: str, chart: Chart, data: tuple[str, str]) -> str:
        """Return a chart, whose drawings go to `emit`, with an address and a label of its data.

        All languages share the drawings: one and its mirror image, each for light and for dark pages.
        """
        addresses = {}
        for mirrored, dark in product((False, True), repeat=2):
            uri = f"{CHARTS}/{name}{'.rtl' * mirrored}{'.dark' * dark}.svg"
            made = partial(drawing.svg, chart.drawing, mirrored=mirrored, dark=dark)
            addresses[mirrored, dark] = self.shared(uri, made)
        is_mirrored = self.language.direction == "rtl"
        return figure(chart, (addresses[is_mirrored, False], addresses[is_mirrored, True]), data)

    # ── Addresses ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def to_root(self) -> str:
        """The way from the root of the language to the root of the site."""
        return "../" * self.language.prefix.count("/")

    def relative(self, uri: str) -> str:
        """Return the address of a file of the language, relative to the page."""
        return relative_address(self.page, uri, has_folders=self.has_folders)

    def shared(self, uri: str, made: str | Callable[[], str | bytes]) -> str:
        """Emit a file that is the same in all languages, and return its address."""
        self.emit(SiteFile(uri, made))
        return f"{self.to_root}{self.relative(uri)}"

    def in_explorer(self, selection: Selection) -> tuple[str, str]:
        """Return the address of these records in the explorer, which has no families, and its label."""
        choices = [each for each in chosen({"layout": CONTIGUOUS, **selection}) if each[0] != "family"]
        address = f"{self.relative('explorer.md')}{f'#{urlencode(choices)}' if choices else ''}"
        return address, self.language.gettext("Open these records in the explorer")

    def address(self, kind: str, slug: str, page: str = "") -> str:
        """Return the address of a device, model or family, relative to this page or another: for HTML and scripts."""
        return relative_address(page or self.page, self._place(kind, slug), has_folders=self.has_folders)

    def source(self, kind: str, slug: str) -> str | None:
        """Return its Markdown file, relative to the page; None on the page that has it."""
        source = posixpath.relpath(self._place(kind, slug), posixpath.dirname(self.page) or ".")
        return None if source.startswith(f"{posixpath.basename(self.page)}#") else source

    def place(self, row: Row) -> str:
        """Return the address at which the page of a device has a row."""
        device = self.atlas.device[row["device"]]
        return self.relative(f"devices/{device.slug}.md#{device.anchor(row)}")

    def _place(self, kind: str, slug: str) -> str:
        """Return the page of a device, model or family, from the root of the language: ``models/vit.md``."""
        if kind == "model":
            return self.atlas.model[slug].place
        return f"models/families/{slug}.md" if kind == "family" else f"devices/{slug}.md"


def chosen(selection: Selection) -> list[tuple[str, Any]]:
    """Return the coordinates that are chosen, with slugs for objects of the atlas."""
    known = ((coordinate, value) for coordinate, value in sorted(selection.items()) if value is not None)
    return [(coordinate, getattr(value, "slug", value)) for coordinate, value in known]


def known_name(kind: str, name: str, known: Collection[str]) -> str:
    """Return `name` if it is known. Raises `AtlasError` with the nearest names."""
    if name in known:
        return name
    remedy = nearest(name, known) or f"use a known one, such as {', '.join(sorted(known)[:8])}"
    raise AtlasError(f"there is no {kind} {name!r}", remedy=remedy)
