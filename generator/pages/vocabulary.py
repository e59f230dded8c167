"""The names that page expressions may use: figures, tables and charts of `Results` in one language.

Takes `Results` and a `Language` and returns a dictionary of objects (``atlas``) and of functions, which are filters as
well (``{{ row.eager_ms | ms }}``). Functions return HTML blocks without blank lines, which Markdown passes through;
charts and downloads go to `emit` as files. Keyword arguments are slugs and names from the records; an unknown one is an
`AtlasError` with the nearest ones.

Where no record has what a table or chart shows, a sentence says so in its place. A page that leaves its section out
asks first: ``{% if device.mode_rows %}``. ``atlas``, a device and a model have ``mode_rows`` for ``mode_table``, and
likewise ``memory_rows``, ``efficiency_rows``, ``cause_rows``, ``break_rows``, ``skip_rows``, ``recompile_rows``,
``version_rows`` (table and chart) and ``compile_rows`` (``compile_cost_table``, ``break_even_table``).
"""

from __future__ import annotations

import difflib
import json
import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from functools import cache, lru_cache, partial
from textwrap import indent
from typing import Any, get_args
from urllib.parse import urlencode

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from bench.errors import AtlasError
from bench.records.documents import CAPTURE_COMMAND, EXAMPLES, Capture
from bench.records.record import Workload
from generator.data import schema
from generator.data.digits import RowFigure
from generator.data.families import slugify
from generator.data.load import Results
from generator.data.registry import COORDINATES
from generator.data.selection import MODES, Row, Rows, is_compared, is_comparison, labels_by, where
from generator.drawing.curves import CurvesChart
from generator.figures import charts, matrix, tables
from generator.figures.charts import Chart
from generator.figures.markup import Tables, figure
from generator.figures.sources import OURS, SourceText, source_of
from generator.figures.words import Words
from generator.gains import gain_tables
from generator.gains.gain_charts import GainCharts
from generator.gains.gains import Changes, Gains, History
from generator.languages import typography
from generator.languages.language import SOURCE, Language, load_language
from generator.pages import decision, downloads, examples, explorer, selfcheck
from generator.pages.atlas import Atlas, Choose
from generator.pages.glossary_page import glossary_tables
from generator.pages.site_file import CHARTS, DATA, SiteFile, named_by_content, relative_address

FILES = f"{DATA}/v{schema.VERSION}"
CELLS = f"{FILES}/compile-atlas"
DECISIONS = f"{DATA}/should-i-compile"
HELPER = "should-i-compile.md"
EXPLORER = f"{DATA}/explorer.json"
EXPLORER_DETAILS = f"{DATA}/explorer-details.json"
LOSSES = f"{DATA}/losses.csv"
ROUNDS = f"{DATA}/rounds/"

MOST_LINES = 400
"""Lines of a table. The first of more stand for all, with a link to the explorer: so no page grows with the records."""

FEWEST_LINES, MOST_MODELS = 5, 30
"""Models of a family for a chart: fewer need none, and of more only the distribution can be read."""

MOST_FOLDED = 90
"""Lines of the table of "Should I compile?", which only readers without scripts see: the others have the form."""

MOST_BARS = 120
"""Rows of a chart. More are shown as a distribution."""

FORESEEN = {"compile_mode": MODES, "origin": ("measured", "published"), "workload": get_args(Workload)}
"""Values of coordinates that a page may name before any record has them."""

_DOCUMENTS = ("examples", "selfchecks")
"""Those of `Results` that pages name."""

Emit = Callable[[SiteFile], object]
Draw = Callable[[Rows, Language], Chart]


def vocabulary(results: Results, language: Language, emit: Emit, address: str = "") -> dict[str, Any]:
    """Return the names that pages of one language may use. Charts and downloads go to `emit`.

    `address` is that of the language, "" if the site does not know its own.
    """
    atlas = Atlas(results, language)
    documents = {name: getattr(results, name) for name in _DOCUMENTS}
    return {
        "atlas": atlas,
        "gains": gains_of(results),
        **documents,
        **_filters(language),
        **_Functions(atlas, emit, address).names,
        **glossary_tables(language),
    }


@lru_cache(maxsize=2)
def gains_of(results: Results) -> Gains:
    """Return what the throughput of many models tells, once for all languages."""
    return Gains(results)


# ── Filters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _filters(language: Language) -> dict[str, Callable[..., str]]:
    words = Words(language, html=True)

    def shown(text: str) -> str:
        return str(words.value(text))

    def name(text: object) -> str:
        """Return a label, which may be isolated for plain text such as a title, as HTML."""
        plain = str(text)
        isolated = typography.LEFT_TO_RIGHT_MARK in plain
        return typography.unmarked(typography.isolated(str(escape(plain))) if isolated else shown(plain))

    def counted(n: float, noun: str) -> str:
        """Return "n things"; a figure is rounded to the digits that are certain."""
        number = round(n, min(0, n.digits)) if isinstance(n, RowFigure) else n
        return str(words.say(_counted(language, noun, number), count=language.number(number, 0)))

    def unsigned_percent(x: float | None, digits: int | None = None) -> str:
        """Return a change without its sign, for a sentence that says which way it goes: "falls by 45.0%"."""
        size = None if x is None else abs(float(x))
        return shown(language.percent(size, _digits(x, digits, 3, percent=True)))

    def told(source: SourceText, workload: str) -> str:
        """Return what a source says of its figures of one workload, after its name."""
        text = _measures(source, words, workload)
        return str(words.say(language.gettext("%(name)s: %(text)s"), name=words.phrase(source.name), text=text))

    return {
        "told": told,
        "ms": lambda x, digits=None: shown(language.milliseconds(x, _digits(x, digits, 3))),
        "seconds": lambda x, digits=None: shown(language.seconds(x, _digits(x, digits, 1))),
        "percent": lambda x, digits=1: shown(language.percent(x, digits)),
        "signed_percent": lambda x, digits=None: shown(words.percent(x, _digits(x, digits, 3, percent=True))),
        "unsigned_percent": unsigned_percent,
        "rate": lambda x: shown(words.rate(x)),
        "number": lambda x, digits=None: shown(language.number(x, digits)),
        "date": lambda day: shown(_date(day, language)),
        "name": name,
        "names": lambda items: typography.unmarked(
            str(words.names([str(getattr(item, "label", item)) for item in items]))
        ),
        "listing": examples.listing,
        "functions": examples.functions,
        "counted": counted,
    }


def _digits(x: Any, given: int | None, usual: int, *, percent: bool = False) -> int:
    """Return the decimals that are `given`, or else those of the figure, or else the usual ones."""
    if given is not None:
        return given
    known: int = getattr(x, "digits", usual)
    return max(0, known - 2) if percent else known


def _date(day: date | datetime | str, language: Language) -> str:
    return Words(language, html=False).date(day) if isinstance(day, str) else language.date(day)


def _counted(language: Language, noun: str, n: float) -> str:
    """Return the message "n things" for a noun that pages may count."""
    ngettext = language.ngettext
    messages: dict[str, Callable[[], str]] = {
        "model": lambda: ngettext("%(count)s model", "%(count)s models", n),
        "vision model": lambda: ngettext("%(count)s vision model", "%(count)s vision models", n),
        "device": lambda: ngettext("%(count)s device", "%(count)s devices", n),
        "row": lambda: ngettext("%(count)s row", "%(count)s rows", n),
        "published row": lambda: ngettext("%(count)s published row", "%(count)s published rows", n),
        "published figure": lambda: ngettext("%(count)s published figure", "%(count)s published figures", n),
        "comparison": lambda: ngettext("%(count)s comparison", "%(count)s comparisons", n),
        "CPU core": lambda: ngettext("%(count)s CPU core", "%(count)s CPU cores", n),
        "repeat": lambda: ngettext("%(count)s repeat", "%(count)s repeats", n),
        "call": lambda: ngettext("%(count)s call", "%(count)s calls", n),
        "graph": lambda: ngettext("%(count)s graph", "%(count)s graphs", n),
    }
    return messages[_known("noun", noun, messages)]()


# ── Functions ───────────────────────────────────────────────────────────────────────────────────────────────────────


def page_function(function: Callable[..., str]) -> Callable[..., str]:
    """Let pages call a method of `_Functions`."""
    function.is_page_function = True  # type: ignore[attr-defined]
    return function


class _Functions:
    """The functions of the vocabulary. Each takes the URI of the page that calls it: authors leave it out."""

    def __init__(self, atlas: Atlas, emit: Emit, address: str) -> None:
        self.atlas = atlas
        self.address = address
        self.language = atlas.language
        self.words = Words(atlas.language, html=True)
        self.emit = emit
        self._index = cache(self._indexed)  # goes with this edition
        self._cells_of = lru_cache(maxsize=8)(self._cells_once)  # a page asks for the same rows several times

    @property
    def names(self) -> dict[str, Callable[..., str]]:
        """The page functions as Jinja calls them, with the context passed in."""
        functions = (name for name, each in vars(type(self)).items() if hasattr(each, "is_page_function"))
        return {name: _with_page(getattr(self, name)) for name in functions}

    # Tables

    # A brief caption follows another one of its section (`Words.selection`).

    @page_function
    def latency_table(self, page: str, *, brief: bool = False, **selection: Any) -> str:
        """Eager and compiled latency of the selected cells."""
        cells = self._select(selection)
        if cells.empty:
            return self._nothing()
        headline = self.language.gettext("Latency, eager and compiled")
        return self._limited(page, tables.latency(cells), cells, headline, selection, brief=brief)

    @page_function
    def throughput_table(self, page: str, **selection: Any) -> str:
        """Images per second of both variants, a column for each device: all rows, since links lead to each model."""
        cells = tables.throughput_rows(self._select(selection))
        if cells.empty:
            return self._nothing()
        headline = self.language.gettext(
            "Change in time per image, with images per second (eager → compiled) and the batch size below it"
        )
        return self._tables(page).rows(tables.throughput(cells), self._rows(cells.index), headline)

    @page_function
    def slower_table(self, page: str, **selection: Any) -> str:
        """The clearest cases in which compiling costs time."""
        lines = tables.slower(self._select(selection))
        headline = self.language.gettext("Where the compiled model is slower")
        return self._tables(page).rows(lines, self._rows(lines.index), headline) if len(lines) else self._nothing()

    @page_function
    def summary_table(self, page: str, *, workload: Workload = "latency") -> str:
        """One row per device and source, of one workload."""
        gettext = self.language.gettext
        caption = {
            "latency": gettext("Change in latency when compiled, by device"),
            "throughput": gettext("Change in time per image when compiled, with large batches, by device"),
        }[workload]
        return self._table(page, tables.summary(self._select({"workload": workload})), caption)

    @page_function
    def devices_table(self, page: str, *, machines: bool = False) -> str:
        """What was measured on each device, or on each test machine of this project."""
        gettext, own = self.language.gettext, {device.slug for device in self.atlas.machines}
        cells = self.atlas.cells
        caption = gettext("Test machines") if machines else gettext("All devices")
        return self._table(page, tables.devices(where(cells, cells["device"].isin(own) == machines)), caption)

    @page_function
    def models_table(self, page: str, **selection: Any) -> str:
        """All models with a page of their own, or the selected ones, with their largest gain."""
        cells = self._select(selection)
        lines = tables.models(where(cells, cells["model"].isin({model.slug for model in self.atlas.models})))
        is_all = not selection and len(self.atlas.models) == len(self.atlas.model)
        caption = self.language.gettext("All models") if is_all else self.language.gettext("Models")
        return self._table(page, lines, caption)

    @page_function
    def families_table(self, page: str, **selection: Any) -> str:
        """The families that have a page, with what compiling does to their models."""
        cells = self._select(selection)
        cells = where(cells, cells["family"].isin(self.atlas.family))
        if self.atlas.listed:  # only those that are known from throughput live with their family
            cells = where(cells, cells["workload"] == "throughput")
        lines = tables.families(cells)
        return self._table(page, lines, self.language.gettext("Models by family"))

    @page_function
    def compile_cost_table(self, page: str, *, brief: bool = False, **selection: Any) -> str:
        """What compiling costs, and when it has paid."""
        headline = self.language.gettext("Time to ready and break-even point")
        return self._of_rows(page, selection, headline, tables.compile_rows, tables.compile_cost, brief=brief)

    @page_function
    def break_even_table(self, page: str, **selection: Any) -> str:
        """Calls until compiling has paid, with an empty and with a filled cache."""
        headline = self.language.gettext("Break-even point in calls, with 95% intervals")
        return self._of_rows(page, selection, headline, tables.compile_rows, tables.break_even)

    @page_function
    def mode_table(self, page: str, **selection: Any) -> str:
        """The modes of the same cells compared."""
        headline = self.language.gettext("Modes compared: latency, time to ready, and break-even point")
        return self._of_rows(page, selection, headline, tables.mode_rows, tables.modes)

    @page_function
    def memory_table(self, page: str, **selection: Any) -> str:
        """Peak memory of both variants."""
        headline = self.language.gettext("Peak memory, eager and compiled")
        return self._of_rows(page, selection, headline, tables.memory_rows, tables.memory)

    @page_function
    def efficiency_table(self, page: str, **selection: Any) -> str:
        """Operations, and the rate at which both variants do them."""
        headline = self.language.gettext("Arithmetic done, compared with what the device can do")
        return self._of_rows(page, selection, headline, tables.efficiency_rows, tables.efficiency)

    @page_function
    def breaks_table(self, page: str, **selection: Any) -> str:
        """Where and why Dynamo ended a graph."""
        headline = self.language.gettext("Graph breaks, with the reasons that PyTorch gives")
        return self._of_rows(page, selection, headline, tables.break_rows, tables.graph_breaks)

    @page_function
    def skips_table(self, page: str, **selection: Any) -> str:
        """Why CUDA graphs were skipped."""
        headline = self.language.gettext("Skipped CUDA graphs, with the reasons that PyTorch gives")
        return self._of_rows(page, selection, headline, tables.skip_rows, tables.skips)

    @page_function
    def recompiles_table(self, page: str, **selection: Any) -> str:
        """How often Dynamo traced again."""
        headline = self.language.gettext("How often each model is recompiled")
        return self._of_rows(page, selection, headline, tables.recompile_rows, tables.recompiles)

    @page_function
    def versions_table(self, page: str, **selection: Any) -> str:
        """The same cells across versions of PyTorch."""
        headline = self.language.gettext("Compiled and eager latency by PyTorch version")
        return self._of_rows(page, selection, headline, tables.version_rows, tables.versions)

    @page_function
    def malloc_table(self, page: str, *, device: str) -> str:
        """What keeping freed memory changes on a CPU."""
        slug = _known("device", device, self.atlas.device)
        default, keep = self.atlas.device[slug].malloc_pairs
        if keep.empty:
            return self._nothing()
        headline = self.language.gettext("Latency and speedup with glibc's default and with freed memory kept")
        cells = pd.concat([default, keep])
        return self._limited(page, tables.malloc(default, keep), cells, headline, {"device": slug})

    @page_function
    def cause_table(self, page: str, *, brief: bool = False, **selection: Any) -> str:
        """The verdict on each cell, and its causes."""
        headline = self.language.gettext("Whether compiling helps, and why")
        return self._of_rows(page, selection, headline, tables.cause_rows, tables.causes, brief=brief)

    @page_function
    def environment_table(self, page: str, **selection: Any) -> str:
        """What the figures were measured on."""
        lines = tables.environment(self._select(selection))
        caption = escape(self.language.gettext("Environment of the records"))
        return self._tables(page).environment(lines, caption) if len(lines) else self._nothing()

    @page_function
    def runs_table(self, page: str) -> str:
        """Where the figures come from."""
        return self._table(page, tables.runs(self.atlas.results.table), self.language.gettext("Runs"))

    @page_function
    def sources_list(self, _page: str) -> str:
        """What each source of figures measures, and what it leaves open."""
        rows = self.atlas.cells.drop_duplicates(["origin", "profile"])
        found = (source_of(row, self.language) for row in self._rows(rows.index))
        texts = {each.key: each for each in sorted(found, key=lambda each: each.key != OURS)}
        item = Markup("<dt>{}</dt>\n<dd>{}</dd>\n")
        items = (item.format(self.words.phrase(each.name), _measures(each, self.words)) for each in texts.values())
        return str(Markup('<dl class="sources">\n{}</dl>').format(Markup().join(items)))

    @page_function
    def problems_table(self, page: str) -> str:
        """What the data lint found."""
        groups = self.atlas.results.problem_groups
        if not groups:
            return self._paragraph(self.language.gettext("The data lint finds no inconsistencies."))
        return self._table(page, tables.problems(groups), self.language.gettext("Findings of the data lint"))

    # Charts

    @page_function
    def latency_chart(self, page: str, *, brief: bool = False, **selection: Any) -> str:
        """Latency of both variants."""
        return self._chart(page, "latency", partial(charts.latency, brief=brief), selection)

    @page_function
    def change_chart(self, page: str, **selection: Any) -> str:
        """Change of the latency by compiling."""
        return self._chart(page, "change", charts.change, selection)

    @page_function
    def batch_chart(self, page: str, *, brief: bool = False, **selection: Any) -> str:
        """Change of the latency, batch sizes compared."""
        return self._chart(page, "batches", partial(charts.batches, brief=brief), selection)

    @page_function
    def throughput_chart(self, page: str, *, family: str) -> str:
        """Change of the time per image with the newest PyTorch of each device: of each model, or how many spread; ""
        where the table shows as much."""
        known = self._rows(tables.throughput_rows(self._select({"family": family})).index)
        rows = charts.newest_version([*filter(is_compared, known)])
        count = len({(row["model"], row["input_size"]) for row in rows})
        if count < FEWEST_LINES or all(row["verdict"] == "doubtful" for row in rows):
            return ""
        draw = charts.devices if count <= MOST_MODELS else charts.overview
        return self._figure(page, f"throughput-{family}", partial(draw, rows), self._in_explorer(page, {}))

    @page_function
    def overview_chart(self, page: str, **selection: Any) -> str:
        """Change of the latency on every device."""
        return self._chart(page, "overview", charts.overview, selection)

    @page_function
    def versions_chart(self, page: str, **selection: Any) -> str:
        """Compiled latency by version of PyTorch."""
        shared = tables.version_rows(self._select(selection))
        if shared.empty:
            return self._nothing()
        rows = self._rows(shared.index)
        return self._chart(page, "versions", lambda _, language: charts.versions(rows, language), selection)

    # What decides the gain

    @page_function
    def gains_overview(self, page: str) -> str:
        """How the gain is distributed on each GPU, with its extremes."""
        rows = self._rows(self._gains.compared.index)
        return self._gain_figure(page, "overview", partial(charts.overview, rows))

    @page_function
    def gain_chart(self, page: str) -> str:
        """The gain by family, on each GPU."""
        return self._gain_figure(page, "families", lambda language: self._gain_charts(language).families())

    @page_function
    def gain_table(self, page: str) -> str:
        """The same for every family."""
        lines = gain_tables.families(self._gains, self.atlas.results)
        headline = self.language.gettext("Median change in time per image when compiled, by model family")
        return self._gain_table(page, lines, headline, self._gains.every)

    @page_function
    def intensity_chart(self, page: str) -> str:
        """The gain by arithmetic intensity, on each GPU."""
        return self._gain_figure(page, "intensity", lambda language: self._gain_charts(language).intensity())

    @page_function
    def intensity_table(self, page: str) -> str:
        """The same as medians."""
        lines = gain_tables.intensity(self._gains, self.atlas.results)
        headline = self.language.gettext("Median change in time per image when compiled, by FLOP per activation")
        return self._gain_table(page, lines, headline, self._gains.every)

    @page_function
    def gpus_table(self, page: str) -> str:
        """How well the gains on one GPU tell those on another."""
        lines = gain_tables.agreements(self._gains)
        return self._gain_table(page, lines, self.language.gettext("The same models on two GPUs"), self._gains.every)

    @page_function
    def losses_table(self, page: str) -> str:
        """The models whose throughput falls when compiled."""
        lines = gain_tables.losses(self._gains, self.atlas.results)
        headline = self.language.gettext("Where compiling lowers throughput")
        return self._gain_table(page, lines, headline, self._gains.every)

    @page_function
    def history_chart(self, page: str, *, device: str) -> str:
        """The throughput with two versions of PyTorch."""
        history = self._history(device)
        return self._gain_figure(
            page, f"history-{device}", lambda language: self._gain_charts(language).history(history)
        )

    @page_function
    def history_table(self, page: str, *, device: str) -> str:
        """The same for every family, in eager mode."""
        history = self._history(device)
        headline = self.language.gettext("Median change in images per second in eager mode, from %(old)s to %(new)s")
        return self._gain_table(page, gain_tables.history(history), headline, history.eager, history)

    @page_function
    def regressions_table(self, page: str, *, device: str) -> str:
        """The models that are slower in eager mode with the newer version."""
        history = self._history(device)
        headline = self.language.gettext("Slower in eager mode: from %(old)s to %(new)s")
        return self._gain_table(page, gain_tables.regressions(history), headline, history.eager, history)

    @page_function
    def equal_table(self, page: str, *, device: str) -> str:
        """The compiled models whose batches are equal with both versions."""
        history = self._history(device)
        headline = self.language.gettext("Compiled, in batches of equal size, from %(old)s to %(new)s")
        return self._gain_table(page, gain_tables.equal(history), headline, history.compiled, history)

    @page_function
    def unequal_table(self, page: str, *, device: str) -> str:
        """The compiled models whose batches differ, by family: doubtful."""
        history = self._history(device)
        headline = self.language.gettext("Doubtful: compiled, in batches of different sizes, from %(old)s to %(new)s")
        return self._gain_table(page, gain_tables.unequal(history), headline, history.unequal, history)

    @page_function
    def dtypes_chart(self, page: str) -> str:
        """The throughput of compiled models in several data types."""
        if not self._gains.types:
            return self._nothing()
        return self._gain_figure(page, "types", lambda language: self._gain_charts(language).types())

    @page_function
    def dtypes_table(self, page: str) -> str:
        """The same for every family."""
        headline = self.language.gettext(
            "Median change in images per second of the compiled model relative to float16 autocast, by model family"
        )
        return self._gain_table(page, gain_tables.types(self._gains), headline, self._gains.every_type)

    @property
    def _gains(self) -> Gains:
        return gains_of(self.atlas.results)

    def _gain_charts(self, language: Language) -> GainCharts:
        return GainCharts(self._gains, self.atlas.results, language)

    def _history(self, device: str) -> History:
        """Return the history of a device, which has one."""
        by_device = {history.device: history for history in self._gains.history}
        return by_device[_known("device with several versions", device, by_device)]

    def _gain_figure(self, page: str, name: str, draw: Callable[[Language], Chart]) -> str:
        if self._gains.compared.empty:
            return self._nothing()
        return self._figure(page, f"gains-{name}", draw, self._in_explorer(page, {"torch": self._gains.torch}))

    def _gain_table(
        self, page: str, lines: pd.DataFrame, headline: str, changes: Changes, history: History | None = None
    ) -> str:
        if lines.empty:
            return self._nothing()
        return self._tables(page).table(lines, self._gain_charts(self.language).caption(headline, changes, history))

    # The first page

    @page_function
    def speedup_matrix(self, page: str) -> str:
        """Every model on every device, a table for each batch size and mode."""
        found = matrix.matrices(self.atlas.cells)
        if not found:
            return self._nothing()
        limited = matrix.limited(found)
        shown = matrix.MatrixTables(
            self.words, self.atlas.results, partial(self._address, page), partial(self._place, page)
        )
        return shown.html(limited, "" if limited == found else self._most_recorded(page))

    def _place(self, page: str, row: Row) -> str:
        device = self.atlas.device[row["device"]]
        return f"{relative_address(page, f'devices/{device.slug}.md')}#{device.anchor(row)}"

    def _most_recorded(self, page: str) -> Markup:
        """Say that a matrix leaves something out."""
        message = self.language.gettext(
            "The tables show only the models, devices, and batch sizes with the most records."
        )
        return Markup('<p class="table-rest">{}</p>').format(self._more(page, message, {}))

    # Should I compile?

    @page_function
    def decision_helper(self, page: str, *, short: bool = False) -> str:
        """A form that answers, whose records go to `emit`, and the table of all records for readers without scripts.

        The `short` one has no table, and its answer leads to the page that has all of it.
        """
        cells = self.atlas.cells
        if cells.empty:
            return self._nothing()
        addresses = self._decisions(page)
        if short:
            return decision.form(self.atlas, addresses, relative_address(page, HELPER))
        headline = self.language.gettext("The newest record of each benchmark case")
        latencies = where(cells, cells["workload"] == "latency")  # those of throughput are on the pages of families
        table = self._limited(page, decision.lines(latencies), latencies, headline, {}, most=MOST_FOLDED)
        title = self.language.gettext("All records as a table")
        return f'{decision.form(self.atlas, addresses)}\n\n???+ decision-records "{title}"\n\n{indent(table, "    ")}\n'

    def _decisions(self, page: str) -> Mapping[str, str]:
        """Return the address of the records of each device, which go to `emit`. They are made when they are read."""
        return {slug: self._shared(page, _decision_file(self.atlas.results, slug)) for slug in self.atlas.device}

    # Explorer

    @page_function
    def explorer(self, page: str) -> str:
        """Every record in one table that a script fills; its records go to `emit`."""
        results = self.atlas.results
        for device in explorer.devices_with_rounds(results):
            made = partial(explorer.rounds_as_json, results, device)
            self._shared(page, SiteFile(f"{ROUNDS}{device}.json", made, shared=True))
        files = {
            "data": self._named_by_content(page, EXPLORER, partial(explorer.as_json, results, self._from_root)),
            "details": self._named_by_content(page, EXPLORER_DETAILS, partial(explorer.details_as_json, results)),
            "rounds": f"{self._to_root}{relative_address(page, ROUNDS)}",
            "root": relative_address(page, "index.md"),
        }
        return explorer.place(self.atlas, files, partial(self._address, page))

    # Inside TorchDynamo

    @page_function
    def programs(self, page: str) -> str:
        """Links to the example programs, which go to `emit`."""
        link = Markup('<a href="{}" download><code>{}.py</code></a>')
        files = {
            name: SiteFile(f"{DATA}/examples/{name}.py", text, True) for name, text in self._examples.sources.items()
        }
        return str(_list("downloads", [link.format(self._shared(page, file), name) for name, file in files.items()]))

    @page_function
    def graphs_table(self, _page: str) -> str:
        """The graphs of a step of training."""
        return examples.graphs_table(self._examples, self.words)

    @page_function
    def example_breaks_table(self, _page: str, *, of: str) -> str:
        """The graph breaks of a program."""
        return examples.breaks_table(self._examples, self.words, getattr(self._examples, of)["breaks"])

    @page_function
    def scores_table(self, _page: str) -> str:
        """The errors of the trained networks."""
        return examples.scores_table(self._examples, self.words)

    @page_function
    def loss_chart(self, page: str) -> str:
        """The losses of training."""

        def draw(language: Language) -> CurvesChart:
            return examples.loss_chart(self._examples, Words(language, html=True))

        self.emit(SiteFile(LOSSES, draw(self.language).as_csv))
        label = self.words.say(self.language.gettext("Chart data as %(format)s"), format=self.words.value("CSV"))
        return self._figure(page, "loss", draw, (relative_address(page, LOSSES), label))

    @property
    def _examples(self) -> Capture:
        if self.atlas.results.examples is None:
            raise AtlasError("the examples have no captured output yet", where=str(EXAMPLES), remedy=CAPTURE_COMMAND)
        return self.atlas.results.examples

    # Methodology

    @page_function
    def selfcheck_table(self, _page: str) -> str:
        """The newest checks of the benchmark itself on each device."""
        return selfcheck.table(self.atlas.results.selfchecks, self.words)

    # Files

    @page_function
    def downloads(self, page: str) -> str:
        """Links to all cells as CSV and JSON, which go to `emit`."""
        n = len(self.atlas.results.table)
        counted = self.words.say(_counted(self.language, "row", n), count=self.language.number(n))
        items = []
        for kind in _CELLS:
            address = self._shared(page, _cells_file(self.atlas.results, kind))
            link = Markup('<a href="{}" download>{}</a>')
            items.append(self.words.noted(link.format(address, self.words.value(kind.upper())), counted))
        return str(_list("downloads", items))

    @page_function
    def addresses(self, page: str) -> str:
        """The addresses of the files below that of the site, with what each holds; the schemas go to `emit`."""
        gettext = self.language.gettext
        schemas = {f"{FILES}/schema.json": schema.table_schema, f"{FILES}/record.schema.json": schema.record_schema}
        for uri, made in schemas.items():
            self._shared(page, SiteFile(uri, partial(_as_json, made), shared=True))
        self._shared(page, SiteFile(schema.V1_URI, schema.V1.read_text("utf-8"), shared=True))
        described = {
            f"{CELLS}.csv": gettext("every row of every run"),
            f"{CELLS}.json": gettext("the same as JSON"),
            f"{FILES}/schema.json": gettext("what each column means, as JSON Schema"),
            f"{FILES}/record.schema.json": gettext("a line of a run file, as JSON Schema"),
            schema.V1_URI: gettext("the columns of version 1, as JSON Schema"),
            "feed.xml": gettext("an Atom feed of new records"),
            "llms.txt": gettext("a list of all pages as Markdown, for language models"),
        }
        item = Markup('<a href="{}"><code>{}</code></a><br>{}')
        items = (
            item.format(
                f"{self._to_root if uri.startswith(f'{DATA}/') else ''}{relative_address(page, uri)}",
                self.words.value(uri),
                self.words.phrase(each),
            )
            for uri, each in described.items()
        )
        return str(_list("addresses", items))

    @page_function
    def citation(self, _page: str) -> str:
        """The entry for a bibliography."""
        root = self.address.removesuffix(self.language.prefix)  # the same in all languages
        return examples.listing(downloads.bibtex(self.atlas.results, root), "bibtex")

    # Parts

    def _shared(self, page: str, file: SiteFile) -> str:
        """Emit a file that is the same in all languages, and return its address."""
        self.emit(file)
        return f"{self._to_root}{relative_address(page, file.uri)}"

    def _named_by_content(self, page: str, uri: str, made: Callable[[], str]) -> str:
        """Do the same for a file that scripts load. `made` is called at once, so it should keep its result."""
        return self._shared(page, SiteFile(named_by_content(uri, made()), made, shared=True))

    @property
    def _to_root(self) -> str:
        return "../" * self.language.prefix.count("/")

    def _from_root(self, kind: str, slug: str) -> str:
        """Return the address of a device, model or family from the first page of a language."""
        return self._address("index.md", kind, slug)

    def _select(self, selection: Mapping[str, Any]) -> pd.DataFrame:
        """Return the newest rows with the given values of coordinates."""
        return self._cells_of(tuple(_chosen(selection)))

    def _cells_once(self, values: tuple[tuple[str, str], ...]) -> pd.DataFrame:
        if not values:
            return self.atlas.cells
        chosen = []
        for coordinate, value in values:
            by_value = self._index(_known("selection", coordinate, (*COORDINATES, "workload", "family")))
            chosen.append(by_value[_known(coordinate.replace("_", " "), value, by_value)])
        return self.atlas.cells.loc[sorted(set.intersection(*chosen))]

    def _indexed(self, coordinate: str) -> Mapping[str, set[int]]:
        """Return the labels of the newest rows by the value of a coordinate."""
        cells = self.atlas.cells
        labels = {str(value): set(rows) for value, rows in labels_by(cells[coordinate]).items()}
        return {value: set() for value in FORESEEN.get(coordinate, ())} | labels

    def _rows(self, labels: Iterable[int]) -> Rows:
        """Return the rows with these labels as plain values."""
        return [self.atlas.results.by_label[label] for label in labels]

    def _tables(self, page: str) -> Tables:
        return Tables(self.words, self.atlas.results, partial(self._link, page))

    def _place_of(self, kind: str, slug: str) -> str:
        """Return the page of a device, model or family, from the root of the language: ``models/vit.md``."""
        match kind:
            case "model":
                return self.atlas.model[slug].place
            case "family":
                return f"models/families/{slug}.md"
        return f"devices/{slug}.md"

    def _address(self, page: str, kind: str, slug: str) -> str:
        """Return the address of a device, model or family on the site, relative to a page: for HTML and scripts."""
        target, mark, anchor = self._place_of(kind, slug).partition("#")
        return f"{relative_address(page, target)}{mark}{anchor}"

    def _link(self, page: str, kind: str, slug: str) -> str | None:
        """Return the Markdown file of a device, model or family, relative to a page; None on the page that has it."""
        source = posixpath.relpath(self._place_of(kind, slug), posixpath.dirname(page) or ".")
        return None if source.startswith(f"{posixpath.basename(page)}#") else source

    def _of_rows(
        self,
        page: str,
        selection: Mapping[str, Any],
        headline: str,
        choose: Choose,
        lines: Callable[[pd.DataFrame], pd.DataFrame],
        *,
        brief: bool = False,
    ) -> str:
        """Return a table of those of the selected rows that `choose` returns."""
        cells = choose(self._select(selection))
        if cells.empty:
            return self._nothing()
        return self._limited(page, lines(cells), cells, headline, selection, brief=brief)

    def _limited(
        self,
        page: str,
        lines: pd.DataFrame,
        cells: pd.DataFrame,
        headline: str,
        selection: Mapping[str, Any],
        *,
        brief: bool = False,
        most: int = MOST_LINES,
    ) -> str:
        """Return a table of the first lines, which says so where there are more."""
        first = lines.iloc[:most]
        about = cells if len(first) == len(lines) else cells[cells.index.isin(first.index)]
        table = self._tables(page).rows(first, self._rows(about.index), headline, brief=brief)
        return table + self._rest(page, len(lines), selection, most)

    def _rest(self, page: str, count: int, selection: Mapping[str, Any], most: int = MOST_LINES) -> str:
        """Say what a table leaves out; "" where it has all its lines."""
        if count <= most:
            return ""
        message = self.language.gettext("These are the first %(shown)s of %(count)s rows.")
        numbers = {"shown": self.language.number(most), "count": self.language.number(count)}
        return f"\n\n{self._more(page, self.words.say(message, **numbers), selection)}\n{{ .table-rest }}"

    def _more(self, page: str, message: str, selection: Mapping[str, Any]) -> str:
        """Say that tables leave something out, and where it is."""
        link = Markup('<a href="{}">{}</a>').format(*self._in_explorer(page, selection))
        return self.words.sentences((escape(message), link))

    def _table(self, page: str, lines: pd.DataFrame, caption: str) -> str:
        if lines.empty:
            return self._nothing()
        return self._tables(page).table(lines.iloc[:MOST_LINES], escape(caption)) + self._rest(page, len(lines), {})

    def _chart(self, page: str, kind: str, draw: Draw, selection: Mapping[str, Any]) -> str:
        cells = self._select(selection)
        if cells.empty:
            return self._nothing()
        if len(cells) > MOST_BARS and draw is not charts.overview:
            # A bar for each would be a wall. The distribution shows them once, in place of the changes.
            is_shown = draw is charts.change and is_comparison(cells).any()
            return self._chart(page, "overview", charts.overview, selection) if is_shown else ""
        name = slugify(" ".join((kind, *(f"{coordinate} {value}" for coordinate, value in _chosen(selection)))))
        return self._figure(page, name, partial(draw, self._rows(cells.index)), self._in_explorer(page, selection))

    def _in_explorer(self, page: str, selection: Mapping[str, Any]) -> tuple[str, str]:
        """Return the address of these records in the explorer, which has no families, and its label."""
        chosen = [each for each in _chosen(selection) if each[0] != "family"]
        address = f"{relative_address(page, 'explorer.md')}{f'#{urlencode(chosen)}' if chosen else ''}"
        return address, self.language.gettext("Open these records in the explorer")

    def _figure(
        self, page: str, name: str, draw: Callable[[Language], Chart | CurvesChart], data: tuple[str, str]
    ) -> str:
        chart = draw(self.language)
        in_english = draw(load_language(SOURCE)) if self.language.code != SOURCE and chart.lacking else chart
        if not chart.lacking <= in_english.lacking:  # a name is the same in all languages
            note = self.language.gettext(
                "The picture is in English because the guide has no font with all the letters of this language."
            )
            caption = self.words.lines([chart.caption, self.words.phrase(note)])
            chart = replace(in_english, alt=chart.alt, caption=caption)
        light, dark = f"{CHARTS}/{name}.svg", f"{CHARTS}/{name}.dark.svg"
        self.emit(SiteFile(light, lambda: chart.light))
        self.emit(SiteFile(dark, lambda: chart.dark))
        return figure(chart, (relative_address(page, light), relative_address(page, dark)), data)

    def _nothing(self) -> str:
        return self._paragraph(self.language.gettext("There is no record for this selection yet."))

    def _paragraph(self, text: str) -> str:
        return str(Markup('<p class="no-records">{}</p>').format(text))


def _chosen(selection: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the coordinates and values of a selection. None is no choice."""
    known = ((coordinate, value) for coordinate, value in sorted(selection.items()) if value is not None)
    return [(coordinate, str(getattr(value, "slug", value))) for coordinate, value in known]


def _with_page(function: Callable[..., str]) -> Callable[..., str]:
    @jinja2.pass_context
    def on_page(context: jinja2.runtime.Context, /, **selection: Any) -> str:
        page = context.get("page")
        return function(getattr(page, "uri", "index.md"), **selection)

    return on_page


def _known(kind: str, name: str, known: Any) -> str:
    """Return `name` if it is known. Raises `AtlasError` with the nearest names."""
    if name in known:
        return name
    names = sorted(str(each) for each in known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:8]
    raise AtlasError(f"there is no {kind} {name!r}", remedy=f"did you mean {', '.join(near)}?" if near else "")


def _measures(source: SourceText, words: Words, workload: str = "") -> str:
    """Return what a source says of its figures, of one workload or of both."""
    return words.sentences(map(words.phrase, source.told(workload)))


def _decision_file(results: Results, device: str) -> SiteFile:
    return SiteFile(f"{DECISIONS}/{device}.json", lambda: decision.by_device(results)[device], shared=True)


_CELLS: Mapping[str, Callable[[Results], str]] = {"csv": downloads.as_csv, "json": downloads.as_json}


def _cells_file(results: Results, kind: str) -> SiteFile:
    return SiteFile(f"{CELLS}.{kind}", partial(_CELLS[kind], results), shared=True)


def _as_json(made: Callable[[], Any]) -> str:
    return f"{json.dumps(made(), ensure_ascii=False, indent=2)}\n"


def _list(name: str, items: Iterable[str]) -> str:
    lines = Markup().join(Markup("<li>{}</li>\n").format(item) for item in items)
    return Markup('<ul class="{}">\n{}</ul>').format(name, lines)
