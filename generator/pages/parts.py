"""The parts of which page functions are made: rows that a page selects become tables, charts and addresses."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache, partial
from itertools import product
from typing import Any, get_args
from urllib.parse import urlencode

import pandas as pd
from markupsafe import Markup, escape

from bench.errors import AtlasError
from bench.records.record import Workload
from generator.data.families import slugify
from generator.data.registry import COORDINATES
from generator.data.selection import MODES, Row, Rows, by_value, is_comparison
from generator.figures import charts, drawing
from generator.figures.charts import Chart
from generator.figures.markup import Tables, figure
from generator.figures.tables import Choose
from generator.figures.words import Words
from generator.languages.language import Language
from generator.pages.atlas import Atlas
from generator.pages.site_file import CHARTS, SiteFile, relative_address

MOST_LINES = 400
"""Lines of a table. The first of more stand for all, with a link to the explorer: so no page grows with the records."""

FEWEST_BARS, MOST_BARS = 4, 120
"""Rows of a chart. Fewer are read as fast in their table; more are shown as a distribution."""

FORESEEN = {"compile_mode": MODES, "origin": ("measured", "published"), "workload": get_args(Workload)}
"""Values of coordinates that a page may name before any record has them."""

Emit = Callable[[SiteFile], object]
Draw = Callable[[Rows, Language], Chart]
Selection = Mapping[str, Any]
"""Values of coordinates, of the workload or of the family. None is no choice."""


class Parts:
    """Makes parts of pages. `page` is the URI of the page that asks, to which addresses are relative."""

    def __init__(self, atlas: Atlas, emit: Emit, site: str) -> None:
        self.page = "index.md"
        self.atlas = atlas
        self.emit = emit
        self.site = site  # the address of the language, "" if the site does not know its own
        self.language = atlas.language
        self.words = Words(atlas.language, html=True)
        self._labels = cache(self._labels_by)  # goes with this edition
        self._selected = lru_cache(maxsize=8)(self._select)  # a page asks for the same rows several times

    # ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def select(self, selection: Selection) -> pd.DataFrame:
        """Return the newest rows that a selection names."""
        return self._selected(tuple(_chosen(selection)))

    def _select(self, values: tuple[tuple[str, str], ...]) -> pd.DataFrame:
        if not values:
            return self.atlas.results.newest
        chosen = []
        for coordinate, value in values:
            labels = self._labels(known_name("selection", coordinate, (*COORDINATES, "workload", "family")))
            chosen.append(labels[known_name(coordinate.replace("_", " "), value, labels)])
        return self.atlas.results.newest.loc[sorted(set.intersection(*chosen))]

    def _labels_by(self, coordinate: str) -> Mapping[str, set[int]]:
        """Return the labels of the newest rows by the value of a coordinate."""
        found = by_value(self.atlas.labels, map(str, self.atlas.values(coordinate)))
        foreseen: dict[str, set[int]] = {value: set() for value in FORESEEN.get(coordinate, ())}
        return foreseen | {value: set(labels) for value, labels in found.items()}

    def rows_of(self, labels: Iterable[int]) -> Rows:
        """Return the rows with these labels as plain values."""
        return [self.atlas.results.by_label[label] for label in labels]

    # ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def tables(self) -> Tables:
        """Makes tables of the page."""
        return Tables(self.words, self.atlas.results, self.source)

    def table_of(
        self,
        selection: Selection,
        headline: str,
        choose: Choose,
        lines: Choose,
        *,
        brief: bool = False,
        most: int | None = MOST_LINES,
    ) -> str:
        """Return a table of the rows that `choose` returns from the selected ones."""
        cells = choose(self.select(selection))
        if cells.empty:
            return self.nothing()
        return self.table_about(lines(cells), cells, headline, selection, brief=brief, most=most)

    def table_about(
        self,
        lines: pd.DataFrame,
        cells: pd.DataFrame,
        headline: str,
        selection: Selection,
        *,
        brief: bool = False,
        most: int | None = MOST_LINES,
    ) -> str:
        """Return a table of the first lines, which are about some cells; it says so where there are more lines."""
        if lines.empty:
            return self.nothing()
        first = lines.iloc[:most]
        about = cells if len(first) == len(lines) else cells[cells.index.isin(first.index)]
        table = self.tables.rows(first, self.rows_of(about.index), headline, brief=brief)
        return table + self._rest(len(first), len(lines), selection)

    def plain_table(self, lines: pd.DataFrame, caption: str, none: str = "") -> str:
        """Return a table of lines that are no cells, or the text that there is `none`."""
        if lines.empty:
            return self.nothing(none)
        first = lines.iloc[:MOST_LINES]
        return self.tables.table(first, escape(caption)) + self._rest(len(first), len(lines), {})

    def _rest(self, shown: int, count: int, selection: Selection) -> str:
        """Count the lines that a table leaves out; "" where it has all."""
        if shown == count:
            return ""
        message = self.language.gettext("These are the first %(shown)s of %(count)s rows.")
        numbers = {"shown": self.language.number(shown), "count": self.language.number(count)}
        return f"\n\n{self.more(self.words.say(message, **numbers), selection)}\n{{ .table-rest }}"

    def more(self, message: str, selection: Selection) -> str:
        """Say that tables leave something out, and where it is."""
        link = Markup('<a href="{}">{}</a>').format(*self.in_explorer(selection))
        return self.words.sentences((escape(message), link))

    def nothing(self, text: str = "") -> str:
        """Say that there is no record, or another text."""
        text = text or self.language.gettext("There is no record for this selection yet.")
        return str(Markup('<p class="no-records">{}</p>').format(text))

    # ── Charts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def chart(self, kind: str, draw: Draw, selection: Selection) -> str:
        """Return a chart with a row for each of the selected ones; "" where they are few, which a table says as fast.

        A bar for each of many would be a wall. Their distribution shows them once, in place of the speedups.
        """
        cells = self.select(selection)
        if cells.empty:
            return self.nothing()
        if len(cells) > MOST_BARS:
            return self.distribution(selection) if draw is charts.speedup and is_comparison(cells).any() else ""
        return self._drawn(kind, draw, selection, cells) if len(cells) >= FEWEST_BARS else ""

    def distribution(self, selection: Selection) -> str:
        """Return a chart of how the speedups of the selected rows are distributed."""
        cells = self.select(selection)
        if not is_comparison(cells).any():
            return self.nothing()
        return self._drawn("overview", charts.overview, selection, cells)

    def _drawn(self, kind: str, draw: Draw, selection: Selection, cells: pd.DataFrame) -> str:
        name = slugify(" ".join((kind, *(f"{coordinate} {value}" for coordinate, value in _chosen(selection)))))
        return self.figure(name, draw(self.rows_of(cells.index), self.language), self.in_explorer(selection))

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
        return relative_address(self.page, uri)

    def shared(self, uri: str, made: str | Callable[[], str | bytes]) -> str:
        """Emit a file that is the same in all languages, and return its address."""
        self.emit(SiteFile(uri, made))
        return f"{self.to_root}{self.relative(uri)}"

    def in_explorer(self, selection: Selection) -> tuple[str, str]:
        """Return the address of these records in the explorer, which has no families, and its label."""
        chosen = [each for each in _chosen(selection) if each[0] != "family"]
        address = f"{self.relative('explorer.md')}{f'#{urlencode(chosen)}' if chosen else ''}"
        return address, self.language.gettext("Open these records in the explorer")

    def address(self, kind: str, slug: str) -> str:
        """Return the address of a device, model or family on the site, relative to the page: for HTML and scripts."""
        return self.relative(self._place(kind, slug))

    def from_root(self, kind: str, slug: str) -> str:
        """Return the address from the first page of the language."""
        return relative_address("index.md", self._place(kind, slug))

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


def _chosen(selection: Selection) -> list[tuple[str, str]]:
    """Return the coordinates and values of a selection, sorted."""
    known = ((coordinate, value) for coordinate, value in sorted(selection.items()) if value is not None)
    return [(coordinate, str(getattr(value, "slug", value))) for coordinate, value in known]


def known_name(kind: str, name: str, known: Collection[str]) -> str:
    """Return `name` if it is known. Raises `AtlasError` with the nearest names."""
    if name in known:
        return name
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:8]
    raise AtlasError(f"there is no {kind} {name!r}", remedy=f"did you mean {', '.join(near)}?" if near else "")
