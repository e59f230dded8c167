"""Charts of the results: cells become a `Chart`, a drawing with its caption and its text alternative.

Takes the rows of some cells as plain values and a `Language`. Bars need a zero, so latencies that differ by more than
`LOG_FROM` are dots on a logarithmic scale: the distance between two dots is then the speedup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from statistics import median
from typing import Any

from bench.records.record import Status
from bench.statistics.verdicts import Verdict, judge_change
from generator.data.digits import digits
from generator.data.selection import Row, Rows, is_compared, version_order
from generator.drawing import plot
from generator.drawing.canvas import DrawnOnce, Role
from generator.drawing.plot import Box, Mark, Panel, Plot, PlotRow
from generator.figures.tables import ACROSS_VERSIONS, is_newest
from generator.figures.words import DOUBT, Words, row_coordinate, varying
from generator.languages.language import Language

LOG_FROM = 30.0
"""Ratio of the longest to the shortest latency above which bars become unreadable."""

MAX_TICKS = 6

MOST_DOTS = 60
"""Comparisons on one line of an overview. More of them would be a solid bar, and are drawn as a box."""


@dataclass(frozen=True)
class Chart(DrawnOnce):
    """A drawing and its words. `alt` is plain text, `caption` HTML."""

    plot: Plot
    alt: str
    caption: str

    @property
    def content(self) -> Plot:
        """The plot."""
        return self.plot

    @property
    def texts(self) -> Iterator[str]:
        """The words of the plot."""
        return plot.texts(self.plot)

    def draw(self) -> bytes:
        """Return the plot as SVG."""
        return plot.draw(self.plot)


# ── The charts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def latency(rows: Rows, language: Language, *, brief: bool = False) -> Chart:
    """Draw eager and compiled latency, one row per model (per batch size or device where there is only one model)."""
    selection, gettext = _Selection(rows, language), language.gettext
    latencies = _finite(selection.rows, "eager_ms", "compiled_ms") or [1.0]
    least, most = min(latencies), max(latencies)
    log = most / least > LOG_FROM
    ticks = log_ticks(least, most) if log else linear_ticks(0.0, most)
    axis = (
        gettext("latency in ms, logarithmic scale (lower is better)")
        if log
        else gettext("latency in ms (lower is better)")
    )
    drawn = selection.plot(
        "dots" if log else "bars",
        panels=selection.panels(
            lambda rows: tuple(selection.latency_mark(rows[0], variant) for variant in ("eager", "compiled")),
            by=lambda rows: _or(rows[0]["eager_ms"], math.inf),
        ),
        legend=((gettext("eager"), "eager"), (gettext("compiled"), "compiled")),
        axis=axis,
        ticks=[(tick, language.number(tick)) for tick in ticks],
        log=log,
    )
    headline = gettext("Latency, eager and compiled")
    return Chart(drawn, selection.finding(headline), selection.caption(headline, selection.notes(), brief=brief))


def change(rows: Rows, language: Language) -> Chart:
    """Draw the change of the latency by compiling, from zero to both sides."""
    selection, gettext = _Selection(rows, language), language.gettext

    def marks(rows: Sequence[Row]) -> tuple[Mark | None]:
        (row,) = rows
        if row["change"] is None:
            return (None,)
        return (_change_mark(row, selection.with_status(selection.change(row), row)),)

    drawn = selection.plot(
        "change",
        panels=selection.panels(marks, by=_first_change),
        legend=_winners(selection.rows, language),
        axis=gettext("change in latency (lower is better)"),
        ticks=_change_ticks(selection.rows, selection.words),
    )
    headline = gettext("Change in latency when compiled")
    return Chart(drawn, selection.finding(headline), selection.caption(headline, selection.notes()))


def batches(rows: Rows, language: Language, *, brief: bool = False) -> Chart:
    """Draw the change of the latency by compiling, with the batch sizes of a model on one line."""
    selection, gettext = _Selection(rows, language, apart="batch_size"), language.gettext
    sizes = sorted({row["batch_size"] for row in selection.rows})[: len(plot.STEPS)]

    def marks(rows: Sequence[Row]) -> tuple[Mark | None, ...]:
        by_size = {row["batch_size"]: _change_mark(row) for row in rows if row["change"] is not None}
        return tuple(by_size.get(size) for size in sizes)

    names = [selection.words.fact("batch_size", {"batch_size": size}) for size in sizes]
    drawn = selection.plot(
        "dots",
        panels=selection.panels(marks, by=_first_change),
        legend=tuple(zip(names, plot.STEPS, strict=False)),
        axis=gettext("change in latency (lower is better)"),
        ticks=_change_ticks(selection.rows, selection.words),
        shapes=True,
    )
    headline = gettext("Change in latency by batch size")
    alt = selection.words.sentences([selection.described(headline), *_batch_findings(selection, sizes)])
    return Chart(drawn, alt, selection.caption(headline, selection.notes(), brief=brief))


def _batch_findings(selection: _Selection, sizes: Iterable[int]) -> Iterator[str]:
    """Yield a sentence with the median change at each of these batch sizes."""
    words, language = selection.words, selection.language
    for size in sizes:
        changes = [row["change"] for row in selection.trusted if row["batch_size"] == size]
        if changes:
            message = language.ngettext(
                "Batch size %(size)s: median change %(median)s in %(count)s comparison.",
                "Batch size %(size)s: median change %(median)s in %(count)s comparisons.",
                len(changes),
            )
            middle = words.percent(median(changes))
            yield words.say(message, size=str(size), median=middle, count=language.number(len(changes)))


def devices(rows: Rows, language: Language) -> Chart:
    """Draw the change by compiling for each model and size of its images, with the devices on one line."""
    selection, gettext = _Selection(rows, language, apart="device"), language.gettext
    in_order = sorted(selection.rows, key=lambda row: int(row["row"]))
    series = {row["device"]: selection.words.device(row) for row in in_order}
    lines = sorted(_split(selection.rows, ["model", "input_size"]), key=_first_change)
    named = [row["model"] for row, *_ in lines]
    drawn_rows = []
    for line in lines:
        by_device = {row["device"]: _change_mark(row) for row in line}
        columns = ("model", "input_size") if named.count(line[0]["model"]) > 1 else ("model",)
        label = selection.words.facts(selection.words.coordinate(column, line[0]) for column in columns)
        drawn_rows.append(PlotRow(label, tuple(by_device.get(device) for device in series)))
    drawn = selection.plot(
        "dots",
        panels=[Panel(tuple(drawn_rows))],
        legend=tuple(zip(series.values(), plot.STEPS, strict=False)),
        axis=per_image(language),
        ticks=_change_ticks(selection.rows, selection.words),
        shapes=True,
    )
    headline = gettext("Change in time per image when compiled")
    return Chart(drawn, selection.finding(headline), selection.caption(headline, selection.notes()))


def versions(rows: Rows, language: Language) -> Chart:
    """Draw the compiled latency of the cells of `tables.version_rows`, with the versions of torch on one line."""
    names = sorted({row["torch"] for row in rows}, key=version_order)[-len(plot.STEPS) :]
    selection, gettext = _Selection(rows, language, apart="torch"), language.gettext

    def marks(rows: Sequence[Row]) -> tuple[Mark | None, ...]:
        known = {row["torch"]: selection.latency_mark(row, "compiled") for row in rows}
        return tuple(known.get(name) for name in names)

    latencies = _finite(selection.rows, "compiled_ms")
    drawn = selection.plot(
        "dots",
        panels=selection.panels(marks, by=lambda rows: float(rows[-1]["compiled_ms"])),
        legend=tuple(zip((f"PyTorch {name}" for name in names), plot.STEPS, strict=False)),
        axis=gettext("latency in ms, logarithmic scale (lower is better)"),
        ticks=[(tick, language.number(tick)) for tick in log_ticks(min(latencies), max(latencies))],
        log=True,
        shapes=True,
    )
    headline = gettext("Compiled latency by PyTorch version")
    cells = _split(rows, ACROSS_VERSIONS)
    alt = selection.words.sentences([selection.described(headline), _version_finding(cells, selection)])
    counted = language.ngettext("%(count)s benchmark case", "%(count)s benchmark cases", len(cells)), len(cells)
    return Chart(drawn, alt, selection.caption(headline, selection.notes(), counted=counted))


def _version_finding(cells: Iterable[Sequence[Row]], selection: _Selection) -> str:
    """Return a sentence on the changes of the compiled latency from the oldest to the newest version, "" where all are
    doubtful."""
    ends = [(oldest, newest) for oldest, *_, newest in cells if not (_is_doubtful(oldest) or _is_doubtful(newest))]
    changes = [newest["compiled_ms"] / oldest["compiled_ms"] - 1 for oldest, newest in ends]
    if not changes:
        return ""
    language = selection.language
    message = language.ngettext(
        "From the oldest to the newest version, the median change in compiled latency is %(median)s over %(count)s "
        "benchmark case, with a range from %(least)s to %(most)s.",
        "From the oldest to the newest version, the median change in compiled latency is %(median)s over %(count)s "
        "benchmark cases, with a range from %(least)s to %(most)s.",
        len(changes),
    )
    return selection.words.say(message, **_range(changes, selection))


def overview(rows: Rows, language: Language) -> Chart:
    """Draw how the change is distributed on each device: every comparison as a dot, with the median; many of them as a
    box, with their extremes. Of a throughput, only the newest version of PyTorch on each device counts."""
    is_throughput = all(row["workload"] == "throughput" for row in rows)
    selection = _Selection(newest_version(rows) if is_throughput else rows, language)
    words, gettext = selection.words, language.gettext
    groups = _split(selection.compared, _SOURCE)
    is_boxed = any(map(_are_many, groups))
    headline = gettext("Change in latency when compiled, one dot per comparison")
    if is_boxed:
        headline = gettext("Distribution of the change in latency when compiled")
    if is_throughput:
        headline = gettext("Distribution of the change in time per image when compiled")
    lines, alt = [], [selection.described(headline)]
    for group in groups:
        label = words.facts([words.device(group[0]), _told_apart(group[0], groups, words)])
        lines.append(_strip(label, group, selection))
        alt += _strip_finding(label, group, selection)
    shown = [row for group in groups for row in (_extreme_rows(group) if _are_many(group) else group)]
    drawn = selection.plot(
        "strip",
        panels=[Panel(tuple(lines))] if lines else [],
        legend=_winners(shown, language),
        axis=per_image(language) if is_throughput else gettext("change in latency (lower is better)"),
        ticks=_change_ticks(shown, words),
    )
    notes = [boxes_explained(language) if is_boxed else "", *_hollow_dots(selection, groups)]
    return Chart(drawn, words.sentences(alt), selection.caption(headline, notes))


def newest_version(rows: Rows) -> Rows:
    """Return the rows with the newest version of PyTorch on each device."""
    return [*compress(rows, is_newest([row["device"] for row in rows], [row["torch"] for row in rows]))]


def _are_many(group: Sequence[Row]) -> bool:
    return len(group) > MOST_DOTS


def _strip(label: str, group: Sequence[Row], selection: _Selection) -> PlotRow:
    """Return the line of some comparisons, each a dot; of many, the box and the extremes."""
    language, words = selection.language, selection.words
    known = [row for row in group if not _is_doubtful(row)]
    dots = tuple(map(_change_mark, group))
    if not known:
        return PlotRow(label, (None, *(() if _are_many(group) else dots)))
    box = Box.of(row["change"] for row in known)
    text = words.say(language.gettext("median %(change)s"), change=words.percent(box.median))
    count = language.ngettext("%(count)s comparison", "%(count)s comparisons", len(known))
    note = words.say(count, count=language.number(len(known)))
    if not _are_many(group):
        return PlotRow(label, (Mark(box.median, text), *dots), note)
    centre = Mark(box.median, text, verdict=judged(box.lower, box.upper))
    return PlotRow(label, (centre, *_extremes(group, selection)), note, box)


def _strip_finding(label: str, group: Sequence[Row], selection: _Selection) -> Iterator[str]:
    """Yield sentences with the median, the range and, where there are many, the quartiles."""
    changes = [row["change"] for row in group if not _is_doubtful(row)]
    if not changes:
        return
    gettext, words = selection.language.gettext, selection.words
    sentence = selection.language.ngettext(
        "%(device)s: median %(median)s, from %(least)s to %(most)s, in %(count)s comparison.",
        "%(device)s: median %(median)s, from %(least)s to %(most)s, in %(count)s comparisons.",
        len(changes),
    )
    yield words.say(sentence, device=label, **_range(changes, selection))
    if _are_many(group):
        box = Box.of(changes)
        ends = {"lower": words.percent(box.lower), "upper": words.percent(box.upper)}
        yield words.say(
            gettext("%(device)s: half of the comparisons lie between %(lower)s and %(upper)s."), device=label, **ends
        )


_SOURCE = ["device", "origin", "workload"]
"""What the comparisons of a line have in common: nothing else may share a median."""


def _told_apart(row: Row, groups: Iterable[Sequence[Row]], words: Words) -> str:
    """Return what tells a line from the others of its device: who measured, or what was asked."""
    others = [first for first, *_ in groups if first["device"] == row["device"]]
    facts = {"origin": words.named("origin", row["origin"]), "workload": words.named("workload", row["workload"])}
    return words.facts(text for name, text in facts.items() if len({other[name] for other in others}) > 1)


def _extreme_rows(group: Sequence[Row]) -> list[Row]:
    """Return the largest gain and the largest loss, or smallest gain, of those that nothing doubts."""
    known = sorted((row for row in group if not _is_doubtful(row)), key=lambda row: float(row["change"]))
    return [known[0], known[-1]] if known else []


def _extremes(group: Sequence[Row], selection: _Selection) -> tuple[Mark, ...]:
    """Return their marks, with the names of their models."""
    message = selection.language.gettext("%(model)s %(change)s")
    return tuple(
        _change_mark(row, selection.words.say(message, model=row["model_label"], change=selection.change(row)))
        for row in _extreme_rows(group)
    )


def per_image(language: Language) -> str:
    """Name the axis of changes with large batches."""
    return language.gettext("change in time per image (lower is better)")


def boxes_explained(language: Language) -> str:
    """Say how to read a box."""
    return language.gettext(
        "Each box spans the middle half of the comparisons, with a line at the median; thin lines run from the 5th to "
        "the 95th percentile."
    )


def judged(lower: float, upper: float) -> Verdict:
    """Return the verdict on a box of changes of a time: the one that three of four deserve, else inconclusive."""
    ends = {judge_change(lower), judge_change(upper)}
    return ends.pop() if len(ends) == 1 else "inconclusive"


# ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Selection:
    """The cells of a chart in one language. The values of the column `apart`, if any, share a line."""

    def __init__(self, rows: Rows, language: Language, *, apart: str = "") -> None:
        self.rows = rows  # each becomes a mark
        self.language = language
        self.apart = apart
        self.words = Words(language, html=False)

    @cached_property
    def compared(self) -> list[Row]:
        """The rows in which eager and compiled can be compared."""
        return list(filter(is_compared, self.rows))

    @cached_property
    def trusted(self) -> list[Row]:
        """Those of them that nothing doubts: these are averaged and ranked."""
        return [row for row in self.compared if not _is_doubtful(row)]

    @cached_property
    def columns(self) -> list[str]:
        """The coordinates that tell lines apart."""
        return [column for column in varying(self.rows) if column != self.apart]

    def plot(self, kind: Any, *, panels: Iterable[Panel], ticks: Sequence[tuple[float, str]], **rest: Any) -> Plot:
        """Return a plot in the language and the direction of the selection."""
        is_rtl = self.language.direction == "rtl"
        return Plot(kind, self.language.code, is_rtl, panels=tuple(panels), ticks=tuple(ticks), **rest)

    def panels(
        self, marks: Callable[[Sequence[Row]], tuple[Mark | None, ...]], *, by: Callable[[Sequence[Row]], float]
    ) -> Iterator[Panel]:
        """Yield a panel for each combination of what varies besides the lines, which are ordered by `by`.

        Lines that have one row each and aren't models, such as batch sizes, keep the order of the rows.
        """
        across = row_coordinate(self.columns)
        facets = [column for column in self.columns if column != across]
        for facet in _split(self.rows, facets):
            lines = _split(facet, [across]) if self.apart else [[row] for row in facet]
            if self.apart or across == "model":
                lines.sort(key=by)
            title = self.words.facts(self.words.fact(column, facet[0]) for column in facets)
            yield Panel(
                tuple(PlotRow(self._label(line, across), marks(line), self._missing(line)) for line in lines), title
            )

    def _label(self, line: Sequence[Row], across: str) -> str:
        """Return the label of a line, marked where the data lint doubts one of its rows."""
        label = self.words.fact(across, line[0])
        return f"{label} {DOUBT}" if any(map(_is_doubtful, line)) else label

    def _missing(self, line: Sequence[Row]) -> str:
        """Say why a line lacks figures: in words where it has none at all, else for each row that failed."""
        failed = [row for row in line if row["change"] is None]
        if len(failed) == len(line):
            return self.words.status_in_words(line[0]["status"])
        failed = [row for row in failed if row["status"] != Status.PASS]
        return self.words.facts(f"{row[self.apart]}: {self.words.status(row['status'])}" for row in failed)

    def latency_mark(self, row: Row, variant: str) -> Mark | None:
        """Return the mark of a latency with its interval, None where it is unknown."""
        value = row[f"{variant}_ms"]
        if value is None:
            return None
        text = self.language.number(value, digits(row, f"{variant}_ms"))
        if variant == "compiled":
            text = self.with_status(text, row)
        return Mark(value, text, _or(row[f"{variant}_low_ms"], math.nan), _or(row[f"{variant}_high_ms"], math.nan))

    def change(self, row: Row) -> str:
        """Return the change of a row as text."""
        return self.words.percent(row["change"], digits(row, "change") - 2)

    def with_status(self, text: str, row: Row) -> str:
        """Append the status of the row to the text, unless it passed."""
        if row["status"] == Status.PASS:
            return text
        return self.words.noted(text, self.words.status_in_words(row["status"]))

    # Words

    def described(self, headline: str) -> str:
        """Return a sentence with the headline and what the cells have in common."""
        gettext = self.language.gettext
        common = self.words.selection(self.rows, skip=(self.apart,))
        if not common:
            return self.words.say(gettext("%(headline)s."), headline=headline)
        return self.words.say(gettext("%(headline)s (%(selection)s)."), headline=headline, selection=common)

    def finding(self, headline: str) -> str:
        """Return the main finding of a chart of comparisons with its numbers, as plain text."""
        gettext = self.language.gettext
        known = sorted(self.trusted, key=lambda row: float(row["change"]))
        sentences = [self.described(headline)]
        if not known:
            return self.words.sentences([*sentences, gettext("There are no latencies to compare.")])
        best, worst = known[0], known[-1]
        message = gettext("The largest gain: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
        if best["change"] >= 0:
            message = gettext(
                "Nothing becomes faster. The smallest loss: %(name)s goes from %(eager)s to %(compiled)s (%(change)s)."
            )
        sentences.append(self._extreme(message, best))
        if len(known) > 1:
            message = gettext("The smallest gain: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
            if worst["change"] >= 0:
                message = gettext("The largest loss: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
            sentences.append(self._extreme(message, worst))
        return self.words.sentences(sentences)

    def _extreme(self, message: str, row: Row) -> str:
        first = row_coordinate(self.columns)
        return self.words.say(
            message,
            name=self.words.facts(self.words.fact(column, row) for column in dict.fromkeys((first, *self.columns))),
            eager=self.language.milliseconds(row["eager_ms"], digits(row, "eager_ms")),
            compiled=self.language.milliseconds(row["compiled_ms"], digits(row, "compiled_ms")),
            change=self.change(row),
        )

    def caption(
        self, headline: str, notes: Iterable[str], *, counted: tuple[str, int] | None = None, brief: bool = False
    ) -> str:
        """Return the headline, the selection, its dates, and the count of comparisons or of what is `counted`: HTML."""
        words, n = Words(self.language, html=True), len(self.trusted)
        if brief:
            common = words.selection(self.rows, skip=(self.apart,), brief=True)
            return words.lines([words.facts([words.phrase(headline), common]), words.sentences(notes)])
        message, n = counted or (self.language.ngettext("%(count)s comparison", "%(count)s comparisons", n), n)
        origins = _split(self.rows, ["origin"])
        dates = [words.when(rows) for rows in origins] if len(origins) > 1 else []  # the selection dates a single one
        number = words.say(message, count=self.language.number(n))
        common = words.selection(self.rows, skip=(self.apart,))
        return words.lines([words.facts([words.phrase(headline), common, *dates, number]), words.sentences(notes)])

    def notes(self) -> Iterator[str]:
        """Yield notes on the intervals and on doubtful rows."""
        words = Words(self.language, html=True)
        if any(row["change_low"] is not None for row in self.rows):
            yield self.language.gettext("Thin lines are 95% intervals.")
            if any(row["origin"] == "measured" and row["processes"] == 1 for row in self.rows):
                yield words.one_process()
        if any(map(_is_doubtful, self.rows)):
            yield words.doubted()


def _split(rows: Iterable[Row], columns: Sequence[str]) -> list[list[Row]]:
    """Split the rows by their values of `columns`, in the order in which these first occur."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return list(groups.values())


def _first_change(rows: Sequence[Row]) -> float:
    """Return the change at the smallest batch size that has one, infinity where none has."""
    known = [(row["batch_size"], row["change"]) for row in rows if row["change"] is not None]
    return float(min(known)[1]) if known else math.inf


def _change_mark(row: Row, text: str = "") -> Mark:
    low, high = _or(row["change_low"], math.nan), _or(row["change_high"], math.nan)
    return Mark(row["change"], text, low, high, row["verdict"])


def _is_doubtful(row: Row) -> bool:
    return bool(row["verdict"] == "doubtful")


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _finite(rows: Iterable[Row], *columns: str) -> list[float]:
    """Return the values of these columns that are known and finite."""
    values = (row[column] for row in rows for column in columns)
    return [value for value in values if value is not None and math.isfinite(value)]


def _range(changes: Sequence[float], selection: _Selection) -> dict[str, str]:
    """Return the median, the least and the most of some changes and their number, as texts."""
    figures = {"median": median(changes), "least": min(changes), "most": max(changes)}
    texts = {name: selection.words.percent(value) for name, value in figures.items()}
    return texts | {"count": selection.language.number(len(changes))}


def _winners(rows: Iterable[Row], language: Language) -> tuple[tuple[str, Role], ...]:
    """Return the legend of bars and dots: the colours that occur."""
    roles = {plot.VERDICTS.get(row["verdict"], "zero") for row in rows if row["change"] is not None}
    entries: tuple[tuple[str, Role], ...] = (
        (language.gettext("compiled is faster"), "gain"),
        (language.gettext("eager is faster"), "loss"),
        (language.gettext("same or inconclusive"), "zero"),
    )
    return tuple(entry for entry in entries if entry[1] in roles)


def _hollow_dots(selection: _Selection, groups: Iterable[Sequence[Row]]) -> Iterator[str]:
    """Yield a note that counts the doubtful comparisons among the dots, if there are any."""
    dots = (row for group in groups if not _are_many(group) for row in group)
    if count := sum(map(_is_doubtful, dots)):
        language = selection.language
        message = language.gettext("Hollow dots: %(count)s more, marked as doubtful by the data lint.")
        yield Words(language, html=True).say(message, count=language.number(count))


# ── Ticks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _change_ticks(rows: Iterable[Row], words: Words) -> list[tuple[float, str]]:
    return percent_ticks([0.0, *_finite(rows, "change", "change_low", "change_high")], words)


def percent_ticks(values: Sequence[float], words: Words) -> list[tuple[float, str]]:
    """Return round changes from the least to the largest of the values, with their texts."""
    ticks = linear_ticks(min(values), max(values))
    digits = 0 if all(abs(tick * 100 - round(tick * 100)) < 1e-9 for tick in ticks) else 1
    return [(tick, words.percent(tick, digits)) for tick in ticks]


def linear_ticks(low: float, high: float) -> list[float]:
    """Return round numbers from `low` to `high`, with zero if it lies between them."""
    span = high - low
    if not span > 0:
        return [low]
    rough = span / (MAX_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return [round(n * step, 12) for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2, 5, 10, 20… from `low` to `high`, or fewer per decade where these are more than `MAX_TICKS`."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [factor * 10.0**exponent for exponent in exponents for factor in factors]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= MAX_TICKS:
            break
    return ticks
