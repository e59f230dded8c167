"""Charts of the results: cells become a `Chart`, a drawing with the words beside it in the page.

Takes the rows of some cells as plain values and a `Language`. A gain is a factor, so 1× means that both variants are
equally fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bench.records.record import Status
from bench.statistics.verdicts import judge_change
from generator.data.digits import digits, with_interval
from generator.data.selection import Row, Rows, by_value, is_compared
from generator.figures import drawing
from generator.figures.drawing import STEPS, VERDICTS, Box, Drawing, Mark, Role, Steps
from generator.figures.tables import is_newest
from generator.figures.words import DOUBT, PRIMARY, SECONDARY, Words, differing, is_same
from generator.languages.language import UNKNOWN, Language

MOST_DOTS = 60
"""Comparisons of a distribution that are drawn one by one. More of them would be a solid line."""


@dataclass(frozen=True)
class Chart:
    """A drawing and its words: `alt` and `axis` as plain text, `caption` as HTML, `legend` with those of each colour."""

    drawing: Drawing | Steps
    alt: str
    caption: str
    axis: str
    legend: tuple[tuple[str, str], ...] = ()


# ── The charts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def latency(rows: Rows, language: Language, *, brief: bool = False) -> Chart:
    """Draw eager and compiled latency, the fastest model first."""
    selection, gettext = _Selection(rows, language), language.gettext
    lines = [
        drawing.Row(
            selection.label([row]),
            (_mark(row, "eager_ms", "eager"), _mark(row, "compiled_ms", "compiled")),
            (f"{_figure(row, 'eager_ms')} → {_figure(row, 'compiled_ms')}",),
        )
        for row in sorted(rows, key=lambda row: row["eager_ms"] or math.inf)
    ]
    headline = gettext("Latency, eager and compiled")
    return Chart(
        Drawing("dots", tuple(lines)),
        selection.finding(headline),
        selection.caption(headline, selection.notes(), brief=brief),
        gettext("latency in ms, logarithmic scale (lower is better)"),
        ((gettext("eager"), "eager"), (gettext("compiled"), "compiled")),
    )


def speedup(rows: Rows, language: Language) -> Chart:
    """Draw the speedup of each model as a bar, with a bar for each batch size where there are several."""
    sizes = sorted({row["batch_size"] for row in rows})
    steps = dict(zip(sizes, STEPS, strict=False)) if 1 < len(sizes) <= len(STEPS) else {}
    selection = _Selection(rows, language, apart="batch_size" if steps else "")
    groups = _split(rows, selection.columns) if steps else [[row] for row in rows]
    lines = []
    for group in sorted(groups, key=_first_speedup, reverse=True):
        by_size = {row["batch_size"]: row for row in group}
        bars = [by_size.get(size) for size in steps] if steps else group
        marks = tuple(_speedup_mark(row, steps.get(row["batch_size"])) if row else None for row in bars)
        figures = tuple(_speedup_text(row) if row else "" for row in bars)
        lines.append(drawing.Row(selection.label(group), marks, figures))
    size_names = ((selection.words.fact("batch_size", {"batch_size": size}), role) for size, role in steps.items())
    headline = language.gettext("Speedup of the compiled model over eager")
    return Chart(
        Drawing("bars", tuple(lines)),
        selection.finding(headline),
        selection.caption(headline, selection.notes()),
        language.gettext("speedup (higher is better)"),
        tuple(size_names) if steps else _legend(lines, selection.words),
    )


def overview(rows: Rows, language: Language) -> Chart:
    """Draw how the speedup is distributed on each device, with the least and the largest of it."""
    selection = _Selection(rows, language)
    headline = language.gettext("Distribution of the speedup when compiled")
    lines = tuple(distributions(rows))
    notes = [
        language.gettext(
            "Each box spans the middle half of the comparisons, with a line at the median; thin lines run from the 5th "
            "to the 95th percentile. A box is colored where at least three quarters of the comparisons agree."
        )
    ]
    words, middle = selection.words, []
    message = language.gettext(
        "%(name)s: median %(median)s, with half of the comparisons between %(lower)s and %(upper)s."
    )
    for line in lines:
        figures = {name: factor(getattr(line.box, name)) for name in ("median", "lower", "upper")}
        middle.append(words.say(message, name=line.label, **figures))
    if hollow := sum(mark.hollow for line in lines for mark in line.marks if mark):
        message = language.gettext("Hollow dots: %(count)s more, marked as doubtful by the data lint.")
        notes.append(Words(language, html=True).say(message, count=language.number(hollow)))
    return Chart(
        Drawing("boxes", lines),
        words.sentences([selection.described(headline), *middle]),
        selection.caption(headline, notes),
        language.gettext("speedup (higher is better)"),
        _legend(lines, selection.words),
    )


def layouts(rows: pd.DataFrame, eager_on: str, compiled_on: str, language: Language) -> Chart:
    """Draw the factor of each model's images per second in channels last, and of those when compiled, on two GPUs."""
    words, gettext = Words(language, html=False), language.gettext
    lines, told = [], []
    message = gettext("%(name)s: %(layout)s in channels_last, %(compiled)s compiled.")
    for name, size, *factors in rows[["label", "input_size", "layout", "compiled"]].itertuples(index=False):
        figures = tuple(map(factor, factors))
        lines.append(
            drawing.Row(f"{name} · {size}", (Mark(factors[0], "eager"), Mark(factors[1], "compiled")), figures)
        )
        told.append(words.say(message, name=name, layout=figures[0], compiled=figures[1]))
    headline = gettext("The models that gain and lose most in channels_last, and what compiling does to them")
    return Chart(
        Drawing("bars", tuple(lines)),
        words.sentences([words.say(gettext("%(headline)s."), headline=headline), *told]),
        Words(language, html=True).phrase(headline),
        gettext("images per second relative to eager in PyTorch’s own layout (higher is better)"),
        (
            (words.say(gettext("eager in channels_last on %(device)s"), device=eager_on), "eager"),
            (words.say(gettext("compiled on %(device)s"), device=compiled_on), "compiled"),
        ),
    )


def distributions(rows: Rows) -> Iterator[drawing.Row]:
    """Yield a row for the comparisons of each device, origin and question: nothing else may share a median.

    Of a throughput, only the newest version of PyTorch on each device counts.
    """
    rows = [*filter(is_compared, rows)]
    newest = is_newest([row["device"] for row in rows], [row["torch"] for row in rows])
    rows = [row for row, is_new in zip(rows, newest, strict=True) if is_new or row["workload"] == "latency"]
    for group in _split(rows, ["device", "origin", "workload"]):
        known = sorted((row for row in group if not _is_doubtful(row)), key=lambda row: float(row["speedup"]))
        if known:
            others = [row for row in rows if row["device"] == known[0]["device"]]
            apart = [known[0][name] for name in ("origin", "workload") if not is_same(row[name] for row in others)]
            box, ends = Box.of(row["speedup"] for row in known), known[:: max(len(known) - 1, 1)]
            verdicts = {judge_change(1 / speedup - 1) for speedup in (box.lower, box.upper)}
            yield drawing.Row(
                " · ".join((_fact(known[0], "device"), *apart, f"n = {len(known):,}")),
                tuple(map(_speedup_mark, group if len(group) <= MOST_DOTS else ends)),
                (factor(box.median),),
                box,
                VERDICTS.get(verdicts.pop(), "zero") if len(verdicts) == 1 else "zero",  # of three in four
                tuple(f"{row['model_label']} {_speedup_text(row)}" for row in ends),
            )


def factor(value: float, places: int = 2) -> str:
    """Return a factor as drawings have it."""
    return f"{value:,.{places}f}×"


# ── Parts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Selection:
    """The cells of a chart in one language. The values of the column `apart`, if any, share a line."""

    def __init__(self, rows: Rows, language: Language, *, apart: str = "") -> None:
        self.rows = rows
        self.language = language
        self.apart = apart
        self.words = Words(language, html=False)
        self.trusted = [row for row in rows if is_compared(row) and not _is_doubtful(row)]
        varying = differing({name: [row[name] for row in rows] for name in (*PRIMARY, *SECONDARY)})
        told = [each for each in (*_PREFERRED, *SECONDARY) if each in varying and each != apart] or ["model"]
        self.columns = [told[0], *(each for each in varying if each not in {told[0], apart})]  # that tell lines apart

    def label(self, line: Sequence[Row]) -> str:
        """Return the name of a line as drawings have it: in the words of the records, which every language shares. A
        doubt about one of its rows has a mark."""
        facts = filter(None, (_fact(line[0], each) for each in self.columns))
        return " · ".join(facts) + f" {DOUBT}" * any(map(_is_doubtful, line))

    def described(self, headline: str) -> str:
        """Return a sentence with the headline and the facts that all cells share."""
        gettext = self.language.gettext
        common = self.words.selection(self.rows, skip=(self.apart,))
        if not common:
            return self.words.say(gettext("%(headline)s."), headline=headline)
        return self.words.say(gettext("%(headline)s (%(selection)s)."), headline=headline, selection=common)

    def finding(self, headline: str) -> str:
        """Return the main finding of a chart of comparisons with its numbers, as plain text."""
        gettext = self.language.gettext
        known = sorted(self.trusted, key=lambda row: float(row["speedup"]), reverse=True)
        messages = (
            gettext("The largest speedup: %(name)s goes from %(eager)s to %(compiled)s (%(speedup)s)."),
            gettext("The smallest speedup: %(name)s goes from %(eager)s to %(compiled)s (%(speedup)s)."),
        )
        found = []
        for message, row in zip(messages, known[:: max(len(known) - 1, 1)], strict=False):
            facts = (self.words.fact(column, row) for column in (*self.columns, self.apart) if column)
            eager, compiled = (self.language.milliseconds(row[n], digits(row, n)) for n in ("eager_ms", "compiled_ms"))
            figures = {"eager": eager, "compiled": compiled, "speedup": _speedup_text(row)}
            found.append(self.words.say(message, name=self.words.facts(facts), **figures))
        return self.words.sentences(
            [self.described(headline), *(found or [gettext("There are no latencies to compare.")])]
        )

    def caption(self, headline: str, notes: Iterable[str], *, brief: bool = False) -> str:
        """Return the headline, the selection, its dates, and the count of comparisons: HTML."""
        words, n = Words(self.language, html=True), len(self.trusted)
        common = words.selection(self.rows, skip=(self.apart,), brief=brief)
        facts = [words.phrase(headline), common]
        if not brief:
            origins = _split(self.rows, ["origin"])
            facts += [words.when(rows) for rows in origins if len(origins) > 1]  # the selection dates a single one
            facts.append(words.counted(self.language.ngettext("%(count)s comparison", "%(count)s comparisons", n), n))
        return words.lines([words.facts(facts), words.sentences(notes)])

    def notes(self) -> Iterator[str]:
        """Yield notes on the intervals and on doubtful rows."""
        words = Words(self.language, html=True)
        if any(row["change_low"] is not None for row in self.rows):
            yield self.language.gettext("Thin lines are 95% intervals.")
            if any(row["origin"] == "measured" and row["processes"] == 1 for row in self.rows):
                yield words.one_process()
        if any(map(_is_doubtful, self.rows)):
            yield words.doubted()


_PREFERRED = ("model", "batch_size", "device", "compile_mode", "torch", "origin")
"""Coordinates that may begin the name of a line, the best first."""


def _fact(row: Row, column: str) -> str:
    """Return the value of a coordinate in the words of the records; a CPU with its cores as on data sheets: ``2C``."""
    match column:
        case "device":
            cores = f" {row['cores']}C" if row["device_type"] == "cpu" and row["cores"] else ""
            return f"{row['device_name']}{cores}"
        case "model":
            return str(row["model_label"])
        case "torch":
            return f"PyTorch {row['torch']}"
        case "dynamic" | "batch_size" | "threads":
            return f"{column}={row[column]}"
    return str(row[column])


def _split(rows: Iterable[Row], columns: Sequence[str]) -> list[list[Row]]:
    """Split the rows by their values of `columns`, in the order in which these first occur."""
    known = list(rows)
    return [*by_value(known, (tuple(row[column] for column in columns) for row in known)).values()]


def _first_speedup(rows: Sequence[Row]) -> float:
    """Return the speedup at the smallest batch size that has one, 0 where none has."""
    known = [(row["batch_size"], row["speedup"]) for row in rows if row["speedup"] is not None]
    return float(min(known)[1]) if known else 0.0


def _mark(row: Row, name: str, role: Role, *, hollow: bool = False) -> Mark | None:
    value, low, high = (row[each] for each in with_interval(name))
    return None if value is None else Mark(value, role, low or math.nan, high or math.nan, hollow)


def _speedup_mark(row: Row, role: Role | None = None) -> Mark | None:
    """Return the mark of a speedup in the colour of its verdict, or another one."""
    return _mark(row, "speedup", role or VERDICTS.get(row["verdict"], "zero"), hollow=_is_doubtful(row))


def _speedup_text(row: Row) -> str:
    return _missing(row) if row["speedup"] is None else factor(row["speedup"], digits(row, "speedup"))


def _figure(row: Row, name: str) -> str:
    return _missing(row) if row[name] is None else f"{row[name]:,.{max(0, digits(row, name))}f}"


def _missing(row: Row) -> str:
    """Stand for a missing figure: the table says in words what happened."""
    return "OOM" if row["status"] in {Status.OOM, Status.EAGER_OOM} else UNKNOWN


def _is_doubtful(row: Row) -> bool:
    return bool(row["verdict"] == "doubtful")


def _legend(lines: Iterable[drawing.Row], words: Words) -> tuple[tuple[str, str], ...]:
    found = {role for line in lines for role in (line.box and line.role, *(mark.role for mark in line.marks if mark))}
    names: Mapping[Role, str] = {
        **{role: words.named("verdict", verdict) for verdict, role in VERDICTS.items()},
        "zero": words.language.gettext("same or inconclusive"),
    }
    return tuple((name, role) for role, name in names.items() if role in found)
