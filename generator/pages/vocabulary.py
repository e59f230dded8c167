"""The functions and filters of page expressions: tables, charts and files of `Results` in one language.

A page writes ``{{ latency_table(device="a100", brief=true) }}`` or ``{{ row.eager_ms | ms }}``; ``atlas`` and ``gains``
are described in `generator.pages.atlas` and `generator.pages.gains`. Keyword arguments select rows: by a coordinate of
`generator.data.registry`, by workload or by family, with slugs and names from the records. An unknown one is an
`AtlasError` with the nearest ones. A brief caption follows another one of its section.

Where no record has what a table or chart shows, a sentence says so in its place. A page that leaves its section out
asks first: ``{% if device.mode_rows %}``. ``atlas``, a device and a model have ``mode_rows`` for ``mode_table``, and
likewise ``efficiency_rows``, ``cause_rows``, ``break_rows``, ``skip_rows``, ``version_rows`` and
``compile_rows`` (``compile_cost_table``, ``break_even_table``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

import jinja2
from markupsafe import Markup, escape

from bench.records.record import Workload
from generator.data import schema
from generator.data.digits import RowFigure
from generator.data.families import slugify
from generator.data.load import Results
from generator.data.registry import N_, N_n
from generator.data.selection import is_comparison, where
from generator.figures import charts, matrix, tables
from generator.figures.sources import OURS, source_of
from generator.figures.words import Words
from generator.languages import typography
from generator.languages.language import Language
from generator.pages import decision, documents, downloads, explorer, frontier, sizes, startup, ways
from generator.pages.atlas import Atlas
from generator.pages.gains import GAIN_TABLES, HISTORY_TABLES, Gains
from generator.pages.parts import Emit, Parts, RowTable, chosen, known_name
from generator.pages.site_file import DATA, named_by_content

MODULES = (documents, frontier, startup, sizes, ways)
"""Modules with functions for pages."""

NOUNS = {
    "model": N_n("%(count)s model", "%(count)s models"),
    "vision model": N_n("%(count)s vision model", "%(count)s vision models"),
    "device": N_n("%(count)s device", "%(count)s devices"),
    "row": N_n("%(count)s row", "%(count)s rows"),
    "published row": N_n("%(count)s published row", "%(count)s published rows"),
    "published figure": N_n("%(count)s published figure", "%(count)s published figures"),
    "comparison": N_n("%(count)s comparison", "%(count)s comparisons"),
    "CPU": N_n("%(count)s CPU", "%(count)s CPUs"),
    "call": N_n("%(count)s call", "%(count)s calls"),
    "thread": N_n("%(count)s thread", "%(count)s threads"),
    "graph": N_n("%(count)s graph", "%(count)s graphs"),
}
"""The nouns that pages may count."""


def vocabulary(results: Results, language: Language, emit: Emit, *, has_folders: bool = True) -> dict[str, Any]:
    """Return the names that pages of one language may use. Charts and downloads go to `emit`."""
    atlas = Atlas(results, language)
    functions = Functions(atlas, emit, has_folders=has_folders)
    named = {name: getattr(functions, name) for name in vars(Functions) if not name.startswith("_")}
    named |= {name: partial(functions.rows_table, table) for name, table in ROW_TABLES.items()}
    named |= {
        each.__name__: partial(each, functions) for each in (each for module in MODULES for each in module.FUNCTIONS)
    }

    def on_page(function: Callable[..., str]) -> Callable[..., str]:
        @jinja2.pass_context
        def called(context: jinja2.runtime.Context, /, *arguments: Any, **selection: Any) -> str:
            functions.page = context["page"].uri
            return function(*arguments, **selection)

        return called

    objects = {"atlas": atlas, "gains": gains_of(results), "examples": results.examples}
    objects["frontiers"] = partial(frontier.frontiers_of, results)
    objects |= {"startups": partial(startup.startups_of, results), "sequences": partial(sizes.sequences_of, results)}
    objects["ways"] = partial(ways.ways_of, results)
    return {**objects, **{name: on_page(each) for name, each in named.items()}, **filters(language)}


gains_of = lru_cache(maxsize=2)(Gains)
"""The gains in throughput of many models, once for all languages."""


# ── Filters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def filters(language: Language) -> dict[str, Callable[..., str]]:
    """Return the filters, which show a value as text: ``{{ row.change | signed_percent }}``.

    A figure of a row has the digits that are certain, unless a page says how many.
    """
    words = Words(language, html=True)

    def shown(text: str) -> str:
        return str(words.value(text))

    def digits(x: Any, usual: int = 3) -> int:
        """Return the decimals of a figure of a row, or else the usual ones."""
        return int(getattr(x, "digits", usual))

    def signed_percent(x: float | None, given: int | None = None) -> str:
        return shown(words.percent(x, max(0, digits(x) - 2) if given is None else given))

    def unsigned_percent(x: float | None) -> str:
        """Return a change without its sign, for a sentence that says which way it goes: "falls by 45.0%"."""
        return shown(language.percent(None if x is None else abs(float(x)), max(0, digits(x) - 2)))

    def name(text: object) -> str:
        """Return a label, which may be isolated for plain text such as a title, as HTML."""
        plain = str(text)
        isolated = typography.LEFT_TO_RIGHT_MARK in plain
        return typography.unmarked(typography.isolated(str(escape(plain))) if isolated else shown(plain))

    def counted(n: float, noun: str) -> str:
        """Return "n things"; a figure is rounded to the digits that are certain."""
        number = round(n, min(0, n.digits)) if isinstance(n, RowFigure) else n
        message = language.ngettext(*NOUNS[known_name("noun", noun, NOUNS)], number)
        return str(words.say(message, count=language.number(number, 0)))

    def names(items: Iterable[Any]) -> str:
        """Return names, or the labels of models, joined as the language does."""
        return typography.unmarked(str(words.names([str(getattr(item, "label", item)) for item in items])))

    return {
        "ms": lambda x: shown(language.milliseconds(x, digits(x))),
        "seconds": lambda x: shown(language.seconds(x, digits(x, 1))),
        "percent": lambda x, given=1: shown(language.percent(x, given)),
        "signed_percent": signed_percent,
        "unsigned_percent": unsigned_percent,
        "rate": lambda x: shown(words.rate(x)),
        "number": lambda x, given=None: shown(language.number(x, given)),
        "ratio": lambda x, given=None: shown(language.ratio(x, digits(x, 2) if given is None else given)),
        "date": lambda day: shown(language.iso_date(day) if isinstance(day, str) else language.date(day)),
        "name": name,
        "names": names,
        "named": lambda value, kind: shown(words.named(kind, value)),
        "counted": counted,
        "listing": documents.listing,
        "functions": documents.functions,
    }


# ── Functions ───────────────────────────────────────────────────────────────────────────────────────────────────────


ROW_TABLES: Mapping[str, RowTable] = {
    "latency_table": (N_("Latency, eager and compiled"), lambda cells: cells, tables.latency),
    "cause_table": (N_("Whether compiling helps, and why"), tables.cause_rows, tables.causes),
    "compile_cost_table": (N_("Time to ready and break-even point"), tables.compile_rows, tables.compile_cost),
    "break_even_table": (N_("Break-even point in calls, with 95% intervals"), tables.compile_rows, tables.break_even),
    "mode_table": (N_("Modes compared: latency, time to ready, and break-even point"), tables.mode_rows, tables.modes),
    "memory_table": (N_("Peak memory, eager and compiled"), tables.memory_rows, tables.memory),
    "efficiency_table": (
        N_("Achieved TFLOP/s, and share of the measured peak"),
        tables.efficiency_rows,
        tables.efficiency,
    ),
    "breaks_table": (N_("Graph breaks, with the reasons that PyTorch gives"), tables.break_rows, tables.graph_breaks),
    "skips_table": (N_("Skipped CUDA graphs, with the reasons that PyTorch gives"), tables.skip_rows, tables.skips),
    "versions_table": (N_("Compiled and eager latency by PyTorch version"), tables.version_rows, tables.versions),
    "throughput_table": (
        N_("Speedup; images/s, eager → compiled; batch size"),
        tables.throughput_rows,
        tables.throughput,
    ),
    "batch_table": (N_("Speedup by batch size"), tables.batch_rows, tables.batches),
}
"""The tables of rows by the name of their function: headline, choice among the selected rows, and lines."""


class Functions(Parts):
    """The functions that pages call, besides those of `ROW_TABLES` and of `generator.pages.documents`: all methods
    without an underscore."""

    def slower_table(self, **selection: Any) -> str:
        """The clearest cases in which compiling costs time."""
        lines = tables.slower(self.select(selection))
        return self.table(lines, self.language.gettext("Where the compiled model is slower"), lines, selection)

    # Tables of devices, models, runs

    def summary_table(self, *, workload: Workload) -> str:
        """One row per device and source, of one workload."""
        gettext = self.language.gettext
        caption = {
            "latency": gettext("Speedup in latency when compiled, by device"),
            "throughput": gettext("Speedup in throughput when compiled, with large batches, by device"),
        }[workload]
        return self.table(tables.summary(self.select({"workload": workload})), caption)

    def devices_table(self, *, machines: bool = False) -> str:
        """The records of each device, or of each test machine of this project."""
        gettext, own = self.language.gettext, {device.slug for device in self.atlas.machines}
        caption = gettext("Test machines") if machines else gettext("All devices")
        cells = self.results.current
        return self.table(tables.devices(where(cells, cells["device"].isin(own) == machines)), caption)

    def models_table(self, **selection: Any) -> str:
        """All models with a page of their own, or the selected ones, with their largest gain."""
        cells = self.select(selection)
        lines = tables.models(where(cells, cells["model"].isin({model.slug for model in self.atlas.models})))
        is_all = not selection and len(self.atlas.models) == len(self.atlas.model)
        return self.table(lines, self.language.gettext("All models") if is_all else self.language.gettext("Models"))

    def families_table(self, **selection: Any) -> str:
        """The families that have a page, with what compiling does to their models."""
        cells = self.select(selection)
        cells = where(cells, cells["family"].isin(self.atlas.family))
        if self.atlas.listed:  # only those that are known from throughput live with their family
            cells = where(cells, cells["workload"] == "throughput")
        return self.table(tables.families(cells), self.language.gettext("Models by family"))

    def environment_table(self, **selection: Any) -> str:
        """Devices and software behind the figures."""
        lines = tables.environment(self.select(selection))
        caption = escape(self.language.gettext("Environment of the records"))
        return self.tables.environment(lines, caption) if len(lines) else self.nothing()

    def runs_table(self) -> str:
        """Where the figures come from."""
        return self.table(tables.runs(self.results.table), self.language.gettext("Runs"))

    def problems_table(self) -> str:
        """Findings of the data lint."""
        if not (groups := self.results.problem_groups):
            return self.nothing(self.language.gettext("The data lint finds no inconsistencies."))
        return self.table(tables.problems(groups), self.language.gettext("Findings of the data lint"))

    def sources_list(self) -> str:
        """The protocol of each source of figures, and facts that it leaves open."""
        rows = self.results.current.drop_duplicates(["origin", "profile"])
        found = (source_of(row, self.language) for row in self.rows_of(rows.index))
        texts = {each.key: each for each in sorted(found, key=lambda each: each.key != OURS)}
        item = Markup("<dt>{}</dt>\n<dd>{}</dd>\n")
        items = (
            item.format(self.words.phrase(each.name), self.words.sentences(map(self.words.phrase, each.told())))
            for each in texts.values()
        )
        return str(Markup('<dl class="sources">\n{}</dl>').format(Markup().join(items)))

    def explorer_link(self, **selection: Any) -> str:
        """A link to the selected records in the explorer."""
        return Markup('<a href="{}">{}</a>').format(*self.in_explorer(selection))

    # Charts

    def overview_chart(self, **selection: Any) -> str:
        """Distribution of the speedup on every device."""
        cells = self.select(selection)
        if not is_comparison(cells).any():
            return self.nothing()
        name = slugify(" ".join(("overview", *(f"{coordinate} {value}" for coordinate, value in chosen(selection)))))
        return self.figure(name, charts.overview(self.rows_of(cells.index), self.language), self.in_explorer(selection))

    # What decides the gain

    def gain_table(self, of: str, *, device: str = "") -> str:
        """Changes in throughput: ``families``, ``intensity``, ``losses``, ``layouts`` and ``types``; of a device with
        two versions ``history``, ``regressions`` and ``equal`` batches."""
        gains = gains_of(self.results)
        by_device = {history.device: history for history in gains.history}
        subject = by_device[known_name("device with several versions", device, by_device)] if device else gains
        known = HISTORY_TABLES if device else GAIN_TABLES
        table = known[known_name("table of gains", of, known)]
        lines = table.lines(subject)
        if lines.empty:
            return self.nothing()
        return self.tables.table(lines, table.caption(subject, self.results.by_label, self.words))

    def layout_chart(self) -> str:
        """The models that gain and lose most in channels last, eager, beside what compiling does."""
        gains = gains_of(self.results)
        if not gains.layout_pairs:
            return self.nothing()
        pair = gains.layout_pairs[0]
        rows = pair.extremes.assign(label=[self.atlas.model[slug].label for slug in pair.extremes["model"]])
        chart = charts.layouts(rows, gains.layouts[0].speedups.device_name, pair.device_name, self.language)
        return self.figure("layouts", chart, self.in_explorer({"workload": "throughput", "layout": None}))

    # Forms

    def speedup_matrix(self) -> str:
        """The speedups of families in throughput, and of models in latency: a table for each batch size and mode."""
        found, gains = matrix.matrices(self.atlas.cells), gains_of(self.results).largest_families
        if not found and not gains:
            return self.nothing()
        made = matrix.MatrixTables(self.words, self.results, self.address, self.place)
        families = made.families(gains, self.relative("what-decides.md#by-family")) if gains else ()
        return made.html(found, families, self._origins())

    def _origins(self) -> str:
        """Say whose figures the matrix has, where they are of both origins; else ""."""
        rows = self.rows_of(self.atlas.cells.drop_duplicates(["origin", "profile", "device"]).index)
        published = (source_of(row, self.language).name for row in rows if row["origin"] == "published")
        measured = {row["device"]: row for row in rows if row["origin"] == "measured"}.values()
        gpus = [row["device_name"] for row in measured if row["device_type"] != "cpu"]
        cpus = len(measured) - len(gpus)
        sources = self.words.names([*dict.fromkeys(published)])
        devices = gpus + [self.words.counted(self.language.ngettext(*NOUNS["CPU"], cpus), cpus)] * bool(cpus)
        if not (sources and devices):
            return ""
        message = self.language.gettext(
            "Sources: %(sources)s. This project's own measurements are latencies, on %(devices)s."
        )
        return self.words.say(message, sources=sources, devices=self.words.names(devices))

    def decision_helper(self, *, short: bool = False) -> str:
        """A form that answers, whose records go to `emit`. A `short` one leads to the page with the whole answer."""
        if self.atlas.cells.empty:
            return self.nothing()
        addresses = {
            slug: self.shared(f"{DATA}/should-i-compile/{slug}.json", partial(decision.of_device, self.results, slug))
            for slug in (device.slug for device in self.atlas.judged)
        }
        whole = self.relative("should-i-compile.md") if short else ""
        families, explorer = (self.relative(uri) for uri in ("models/families/each.md", "explorer.md"))
        return decision.form(self.atlas, addresses, families, explorer, whole)

    def explorer(self) -> str:
        """Every record in one table that a script fills; its records go to `emit`."""
        data = explorer.as_json(self.results, partial(self.address, page="index.md"))
        details = explorer.details_as_json(self.results)
        files = {
            "data": self.shared(named_by_content(f"{DATA}/explorer.json", data), data),
            "details": self.shared(named_by_content(f"{DATA}/explorer-details.json", details), details),
            "root": self.relative("index.md"),
        }
        return explorer.place(self.atlas, files, self.address)

    # Files

    def downloads(self) -> str:
        """The addresses of all rows as files, which go to `emit`, and of the list of pages, with their content."""
        gettext, items, stem = self.language.gettext, [], f"{DATA}/v{schema.VERSION}"
        table, rows = f"{stem}/compile-atlas", self.results
        for uri, described, made in (
            (f"{table}.csv", gettext("every row of every run"), partial(downloads.as_csv, rows)),
            (f"{table}.json", gettext("the same as JSON"), partial(downloads.as_json, rows)),
            (f"{stem}/schema.json", gettext("what each column means, as JSON Schema"), schema.table_schema),
            ("llms.txt", gettext("a list of all pages as Markdown, for language models"), None),
        ):
            address = self.shared(uri, made) if made else self.relative(uri)
            link = Markup('<a href="{}"><code>{}</code></a><br>{}')
            items.append(link.format(address, self.words.value(uri), self.words.phrase(described)))
        return self.html_list("addresses", items)
