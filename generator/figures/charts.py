"""Which chart shows what: rows of results in one language become a `Chart`, drawn as SVG with its words beside it.

Rows of `Results` and a `Language` enter; SVG bytes for light and dark pages, a text alternative that states
the main finding, and a caption leave. Bars need a zero, so where latencies differ by more than `LOG_FROM`, dots on a
logarithmic scale take their place: the distance between two dots is then the speedup.

    python -m pytest tests/generator/figures/test_charts.py
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import median
from typing import Any

import matplotlib as mpl

from bench.records.record import Status
from generator.cache import Cache
from generator.data.rows import Row, Rows, comparisons, grouped, version_order
from generator.figures import fonts, plot, svg
from generator.figures.plot import Line, Mark, Panel, Plot, Role
from generator.figures.words import DOUBT, Words, is_same, row_coordinate, varying
from generator.languages.language import Language

LOG_FROM = 30.0
"""Ratio of the longest to the shortest latency from which bars become unreadable."""

MAX_TICKS = 6

_SVG = Cache("charts", ".svg")


@dataclass(frozen=True)
class Chart:
    """One chart and its words. `alt` is plain text, `caption` HTML."""

    plot: Plot
    alt: str
    caption: str

    @property
    def width(self) -> int:
        """In pixels."""
        return plot.WIDTH

    @cached_property
    def height(self) -> int:
        """In pixels, as it is drawn: a drawing that is kept is read sooner than its texts are measured."""
        return svg.height(self.light)

    @property
    def light(self) -> bytes:
        """SVG for a light page; drawn once for all builds and processes."""
        return _SVG.get(self._key, lambda: plot.draw(self.plot))

    @property
    def dark(self) -> bytes:
        """SVG for a dark page: the same drawing in other colours."""
        return plot.darken(self.light)

    @cached_property
    def _key(self) -> str:
        return hashlib.sha256(f"{_version()}\n{self.plot!r}".encode()).hexdigest()


@cache
def _version() -> str:
    """What a drawing depends on besides its plot."""
    return f"{mpl.__version__} {fonts.fingerprint()} {hashlib.sha256(plot.program()).hexdigest()}"


# ── The charts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def latency(rows: Rows, language: Language, doubtful: Collection[int] = ()) -> Chart:
    """Eager and compiled latency, one row per model (or per batch size or device, where there is but one model)."""
    words = Words(language, html=False)
    values = [row[variant] for row in rows for variant in ("eager_ms", "compiled_ms") if row[variant] is not None]
    least, most = (min(values), max(values)) if values else (1.0, 1.0)
    log = most / least > LOG_FROM

    def marks(row: Row) -> tuple[Mark | None, ...]:
        return tuple(_latency_mark(row, variant, language, words) for variant in ("eager", "compiled"))

    gettext = language.gettext
    ticks = log_ticks(least, most) if log else linear_ticks(0.0, most)
    drawn = _plot(
        "dots" if log else "bars",
        language,
        panels=_panels(rows, words, marks, doubtful, by="eager_ms"),
        legend=((gettext("eager"), "eager"), (gettext("compiled"), "compiled")),
        axis=gettext("latency in ms, logarithmic scale (less is better)")
        if log
        else gettext("latency in ms (less is better)"),
        ticks=[(tick, language.number(tick)) for tick in ticks],
        log=log,
    )
    headline = gettext("Latency, eager and compiled")
    return Chart(
        drawn,
        _alt(rows, language, headline, doubtful),
        _caption(rows, language, headline, _notes(rows, language, doubtful)),
    )


def change(rows: Rows, language: Language, doubtful: Collection[int] = ()) -> Chart:
    """Change of the latency by compiling, from zero to both sides."""
    words = Words(language, html=False)

    def marks(row: Row) -> tuple[Mark | None, ...]:
        if row["change"] is None:
            return (None,)
        return (_change_mark(row, text=_with_status(words.percent(row["change"]), row, words)),)

    gettext = language.gettext
    drawn = _plot(
        "change",
        language,
        panels=_panels(rows, words, marks, doubtful, by="change"),
        legend=_winners(rows, language),
        axis=gettext("change in latency (less is better)"),
        ticks=_change_ticks(rows, words),
    )
    headline = gettext("Change in latency by compiling")
    return Chart(
        drawn,
        _alt(rows, language, headline, doubtful),
        _caption(rows, language, headline, _notes(rows, language, doubtful)),
    )


def batches(rows: Rows, language: Language, doubtful: Collection[int] = ()) -> Chart:
    """Change of the latency by compiling, the batch sizes of a row on one line."""
    words = Words(language, html=False)
    sizes = sorted({row["batch_size"] for row in rows})[: len(plot.STEPS)]

    def marks(line: Rows) -> tuple[Mark | None, ...]:
        by_size = {row["batch_size"]: _change_mark(row, doubtful) for row in line if row["change"] is not None}
        return tuple(by_size.get(size) for size in sizes)

    gettext = language.gettext
    headline = gettext("Change in latency by batch size")
    names = [words.fact("batch_size", {"batch_size": size}) for size in sizes]
    drawn = _plot(
        "dots",
        language,
        panels=_line_panels(rows, words, marks, doubtful, apart="batch_size", by=_first_change),
        legend=tuple(zip(names, plot.STEPS, strict=False)),
        axis=gettext("change in latency (less is better)"),
        ticks=_change_ticks(rows, words),
        shapes=True,
    )
    alt = [_described(words, rows, headline, skip=("batch_size",))]
    for size in sizes:
        changes = [row["change"] for row in comparisons(rows) if row["batch_size"] == size]
        if changes:
            message = language.ngettext(
                "Batch size %(size)s: median change %(median)s in %(count)s comparison.",
                "Batch size %(size)s: median change %(median)s in %(count)s comparisons.",
                len(changes),
            )
            middle = words.percent(median(changes))
            alt.append(words.say(message, size=str(size), median=middle, count=language.number(len(changes))))
    return Chart(
        drawn,
        words.sentences(alt),
        _caption(rows, language, headline, _notes(rows, language, doubtful), skip=("batch_size",)),
    )


def versions(rows: Rows, language: Language, doubtful: Collection[int] = ()) -> Chart:
    """Compiled latency of the cells that several versions of torch have in common, the versions on one line."""
    words = Words(language, html=False)
    cells = version_cells(rows)
    names = sorted({version for cell in cells for version in cell}, key=version_order)[-len(plot.STEPS) :]
    known = [row for cell in cells for row in cell.values()]
    latencies = [row["compiled_ms"] for row in known]

    def marks(line: Rows) -> tuple[Mark | None, ...]:
        by_version = {row["torch"]: _latency_mark(row, "compiled", language, words) for row in line}
        return tuple(by_version.get(name) for name in names)

    gettext = language.gettext
    headline = gettext("Compiled latency by PyTorch version")
    drawn = _plot(
        "dots",
        language,
        panels=_line_panels(known, words, marks, doubtful, apart="torch", by=lambda line: line[-1]["compiled_ms"]),
        legend=tuple(zip((f"PyTorch {name}" for name in names), plot.STEPS, strict=False)),
        axis=gettext("latency in ms, logarithmic scale (less is better)"),
        ticks=[(tick, language.number(tick)) for tick in log_ticks(min(latencies), max(latencies))],
        log=True,
        shapes=True,
    )
    changes = [version_change(cell, "compiled") for cell in cells]
    message = language.ngettext(
        "From the oldest to the newest version the compiled latency changes by %(median)s in the median of %(count)s "
        "cell, from %(least)s to %(most)s.",
        "From the oldest to the newest version the compiled latency changes by %(median)s in the median of %(count)s "
        "cells, from %(least)s to %(most)s.",
        len(cells),
    )
    middle, least, most = (words.percent(each) for each in (median(changes), min(changes), max(changes)))
    finding = words.say(message, median=middle, least=least, most=most, count=language.number(len(cells)))
    alt = words.sentences([_described(words, known, headline, skip=("torch",)), finding])
    counted = language.ngettext("%(count)s cell", "%(count)s cells", len(cells)), len(cells)
    notes = _notes(known, language, doubtful)
    return Chart(drawn, alt, _caption(known, language, headline, notes, skip=("torch",), counted=counted))


def overview(rows: Rows, language: Language, doubtful: Collection[int] = ()) -> Chart:
    """How the change is distributed on each device: every comparison as a dot, with the median."""
    words = Words(language, html=False)
    headline = language.gettext("Change in latency by compiling, each comparison a dot")
    lines, alt = [], [_described(words, rows, headline)]
    for (device, _), group in grouped(comparisons(rows), "device", "origin").items():
        label = words.device(group[0])
        if not is_same(row["origin"] for row in rows if row["device"] == device):
            label = words.facts([label, words.origin(group[0]["origin"])])
        changes = [row["change"] for row in group]
        count = language.number(len(group))
        middle, least, most = (words.percent(each) for each in (median(changes), min(changes), max(changes)))
        note = language.ngettext("%(count)s comparison", "%(count)s comparisons", len(group))
        centre = Mark(median(changes), words.say(language.gettext("median %(change)s"), change=middle))
        dots = (_change_mark(row, doubtful) for row in group)
        lines.append(Line(label, (centre, *dots), words.say(note, count=count)))
        sentence = language.ngettext(
            "%(device)s: median %(median)s, from %(least)s to %(most)s, in %(count)s comparison.",
            "%(device)s: median %(median)s, from %(least)s to %(most)s, in %(count)s comparisons.",
            len(group),
        )
        alt.append(words.say(sentence, device=label, median=middle, least=least, most=most, count=count))
    drawn = _plot(
        "strip",
        language,
        panels=[Panel(tuple(lines))] if lines else [],
        legend=_winners(comparisons(rows), language),
        axis=language.gettext("change in latency (less is better)"),
        ticks=_change_ticks(comparisons(rows), words),
    )
    return Chart(
        drawn, words.sentences(alt), _caption(rows, language, headline, _doubted_dots(rows, language, doubtful))
    )


# ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _plot(
    kind: Any, language: Language, *, panels: Iterable[Panel], ticks: Sequence[tuple[float, str]], **rest: Any
) -> Plot:
    right_to_left = language.direction == "rtl"
    return Plot(kind, language.code, right_to_left, panels=tuple(panels), ticks=tuple(ticks), **rest)


def _panels(
    rows: Rows,
    words: Words,
    marks: Callable[[Row], tuple[Mark | None, ...]],
    doubtful: Collection[int],
    *,
    by: str,
) -> Iterator[Panel]:
    """A panel for each combination of what varies besides the rows. Models are ordered by `by`."""
    columns = varying(rows)
    across = row_coordinate(columns)
    for title, group in _facets(rows, words, [column for column in columns if column != across]):
        order = (lambda row: math.inf if row[by] is None else row[by]) if across == "model" else (lambda _: 0.0)
        lines = (
            Line(_label([row], across, words, doubtful), marks(row), words.status_in_words(row["status"]))
            for row in sorted(group, key=order)
        )
        yield Panel(tuple(lines), title)


def _line_panels(
    rows: Rows,
    words: Words,
    marks: Callable[[Rows], tuple[Mark | None, ...]],
    doubtful: Collection[int],
    *,
    apart: str,
    by: Callable[[Rows], float],
) -> Iterator[Panel]:
    """As `_panels`, with the rows that differ only in `apart` on one line."""
    columns = [column for column in varying(rows) if column != apart]
    across = row_coordinate(columns)
    for title, group in _facets(rows, words, [column for column in columns if column != across]):
        lines = sorted(grouped(group, across).values(), key=by)
        yield Panel(
            tuple(
                Line(_label(line, across, words, doubtful), marks(line), _missing(line, apart, words)) for line in lines
            ),
            title,
        )


def _missing(line: Rows, apart: str, words: Words) -> str:
    """Why a line lacks figures: in words where it has none at all, else for those of its rows that failed."""
    failed = [row for row in line if row["change"] is None]
    if len(failed) == len(line):
        return words.status_in_words(line[0]["status"])
    return words.facts(f"{row[apart]}: {words.status(row['status'])}" for row in failed if row["status"] != Status.PASS)


def _label(line: Rows, across: str, words: Words, doubtful: Collection[int]) -> str:
    """What a line is called, marked where the data lint doubts a row of it."""
    label = words.fact(across, line[0])
    return f"{label} {DOUBT}" if any(row["row"] in doubtful for row in line) else label


def _first_change(line: Rows) -> float:
    """The change at the smallest batch size that has one."""
    known = [(row["batch_size"], row["change"]) for row in line if row["change"] is not None]
    return min(known)[1] if known else math.inf


def _facets(rows: Rows, words: Words, columns: Sequence[str]) -> Iterator[tuple[str, Rows]]:
    for group in grouped(rows, *columns).values():
        yield words.facts(words.fact(column, group[0]) for column in columns), group


def _latency_mark(row: Row, variant: str, language: Language, words: Words) -> Mark | None:
    value = row[f"{variant}_ms"]
    if value is None:
        return None
    text = language.number(value, 2 if value < 10 else 1 if value < 100 else 0)
    if variant == "compiled":
        text = _with_status(text, row, words)
    return Mark(value, text, _or_nan(row[f"{variant}_low_ms"]), _or_nan(row[f"{variant}_high_ms"]))


def _change_mark(row: Row, doubtful: Collection[int] = (), text: str = "") -> Mark:
    low, high = _or_nan(row["change_low"]), _or_nan(row["change_high"])
    return Mark(row["change"], text, low, high, row["row"] in doubtful)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _with_status(text: str, row: Row, words: Words) -> str:
    return text if row["status"] == "pass" else words.noted(text, words.status_in_words(row["status"]))


def _winners(rows: Rows, language: Language) -> tuple[tuple[str, Role], ...]:
    """The colours of bars and dots; only those that occur."""
    found = {plot.winner(_change_mark(row)) for row in rows if row["change"] is not None}
    entries: tuple[tuple[str, Role], ...] = (
        (language.gettext("compiled is faster"), "compiled"),
        (language.gettext("eager is faster"), "eager"),
        (language.gettext("no clear difference"), "zero"),
    )
    return tuple(entry for entry in entries if entry[1] in found)


def _change_ticks(rows: Rows, words: Words) -> list[tuple[float, str]]:
    ends = [row[column] for row in rows for column in ("change", "change_low", "change_high")]
    known = [0.0, *(end for end in ends if end is not None and math.isfinite(end))]
    ticks = linear_ticks(min(known), max(known))
    digits = 0 if all(abs(tick * 100 - round(tick * 100)) < 1e-9 for tick in ticks) else 1
    return [(tick, words.percent(tick, digits)) for tick in ticks]


def linear_ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`, zero among them where it lies between."""
    span = high - low
    if not span > 0:
        return [low]
    rough = span / (MAX_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return [round(n * step, 12) for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20… from `low` to `high`, or only the powers of ten where those are many."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [factor * 10.0**exponent for exponent in exponents for factor in factors]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= MAX_TICKS:
            break
    return ticks


# ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _alt(rows: Rows, language: Language, headline: str, doubtful: Collection[int]) -> str:
    """The main finding of a chart of comparisons, with its numbers."""
    words, gettext = Words(language, html=False), language.gettext
    known = sorted(trusted(rows, doubtful), key=lambda row: row["change"])
    sentences = [_described(words, rows, headline)]
    if not known:
        return words.sentences([*sentences, gettext("There is no pair of latencies to compare.")])
    columns, best, worst = varying(rows), known[0], known[-1]
    message = gettext("The largest gain: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
    if best["change"] >= 0:
        message = gettext("Nothing gains. The least loss: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
    sentences.append(_told(words, message, best, columns))
    if len(known) > 1:
        message = gettext("The smallest gain: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
        if worst["change"] >= 0:
            message = gettext("The largest loss: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
        sentences.append(_told(words, message, worst, columns))
    return words.sentences(sentences)


def trusted(rows: Rows, doubtful: Collection[int] = ()) -> list[Row]:
    """The comparisons among `rows`, doubtful ones only where there are no others."""
    compared = comparisons(rows)
    return [row for row in compared if row["row"] not in doubtful] or compared


def version_cells(rows: Rows) -> list[dict[str, Row]]:
    """The cells that several versions of torch have in common: version → row, a measured one before a published one."""
    in_order = sorted(rows, key=lambda row: (row["model"], row["origin"], row["dynamic"] != "auto", row["weights"]))
    found = []
    for group in grouped(in_order, "device", "model", "compile_mode", "batch_size", "dtype").values():
        by_version: dict[str, Row] = {}
        for row in comparisons(group):
            by_version.setdefault(row["torch"], row)
        if len(by_version) > 1:
            found.append({version: by_version[version] for version in sorted(by_version, key=version_order)})
    return found


def version_change(cell: Mapping[str, Row], variant: str) -> float:
    """Change of the latency of an variant from the oldest to the newest version."""
    oldest, newest = (cell[choose(cell, key=version_order)][f"{variant}_ms"] for choose in (min, max))
    return float(newest / oldest - 1)


def _described(words: Words, rows: Rows, headline: str, skip: Sequence[str] = ()) -> str:
    selection = words.selection(rows, skip=skip)
    if not selection:
        return words.say(words.language.gettext("%(headline)s."), headline=headline)
    message = words.language.gettext("%(headline)s (%(selection)s).")
    return words.say(message, headline=headline, selection=selection)


def _told(words: Words, message: str, row: Row, columns: Sequence[str]) -> str:
    language, first = words.language, row_coordinate(columns)
    return words.say(
        message,
        name=words.facts(words.fact(column, row) for column in dict.fromkeys((first, *columns))),
        eager=language.milliseconds(row["eager_ms"]),
        compiled=language.milliseconds(row["compiled_ms"]),
        change=words.percent(row["change"]),
    )


def _caption(
    rows: Rows,
    language: Language,
    headline: str,
    notes: Iterable[str],
    *,
    skip: Sequence[str] = (),
    counted: tuple[str, int] | None = None,
) -> str:
    """What is shown, for which selection, from how many comparisons (or what else is `counted`) and when: HTML."""
    words = Words(language, html=True)
    n = len(comparisons(rows))
    message, n = counted or (language.ngettext("%(count)s comparison", "%(count)s comparisons", n), n)
    origins = grouped(rows, "origin").values()
    dates = [words.when(group) for group in origins] if len(origins) > 1 else []  # of one origin, the selection has it
    number = words.say(message, count=language.number(n))
    facts = words.facts([words.phrase(headline), words.selection(rows, skip=skip), *dates, number])
    return words.lines([facts, words.sentences(notes)])


def _doubted_dots(rows: Rows, language: Language, doubtful: Collection[int]) -> Iterator[str]:
    count = sum(row["row"] in doubtful for row in comparisons(rows))
    if count:
        message = language.gettext("The data lint doubts %(count)s of these comparisons: the hollow dots.")
        yield Words(language, html=True).say(message, count=language.number(count))


def _notes(rows: Rows, language: Language, doubtful: Collection[int]) -> Iterator[str]:
    words = Words(language, html=True)
    if any(row["change_low"] is not None for row in rows):
        yield language.gettext("Thin lines are intervals of 95%.")
        if any(row["origin"] == "measured" and row["processes"] == 1 for row in rows):
            yield words.one_process()
    if any(row["row"] in doubtful for row in rows):
        yield words.doubted()
