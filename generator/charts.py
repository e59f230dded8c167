"""Which chart shows what: rows of results in one language become a `Chart`, drawn as SVG with its words beside it.

A DataFrame of `load.COLUMNS` and a `Language` enter; SVG bytes for light and dark pages, a text alternative that states
the main finding, and a caption leave. Bars need a zero, so where latencies differ by more than `LOG_FROM`, dots on a
logarithmic scale take their place: the distance between two dots is then the speedup.

    python -m pytest tests/test_charts.py
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd

from generator import fonts, plot
from generator.cache import Cache
from generator.language import Language
from generator.load import comparisons
from generator.plot import Mark, Panel, Plot, Role, Row
from generator.words import Words, is_same, row_coordinate, varying

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
        """In pixels."""
        return plot.height(self.plot)

    @cached_property
    def light(self) -> bytes:
        """SVG for a light page; drawn once for all builds and processes."""
        return _SVG.get(f"{_version()}\n{self.plot!r}", lambda: plot.draw(self.plot))

    @cached_property
    def dark(self) -> bytes:
        """SVG for a dark page: the same drawing in other colours."""
        return plot.darken(self.light)


@cache
def _version() -> str:
    """What a drawing depends on besides its plot."""
    source = Path(plot.__file__).read_bytes()
    return f"{mpl.__version__} {fonts.fingerprint()} {hashlib.sha256(source).hexdigest()}"


# ── The charts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def latency(frame: pd.DataFrame, language: Language) -> Chart:
    """Eager and compiled latency, one row per model (or per batch size or device, where there is but one model)."""
    words = Words(language, html=False)
    values = pd.concat([frame["eager_ms"], frame["compiled_ms"]]).dropna()
    log = bool(len(values)) and values.max() / values.min() > LOG_FROM

    def marks(row: Any) -> tuple[Mark | None, ...]:
        return tuple(_latency_mark(row, arm, language, words) for arm in ("eager", "compiled"))

    gettext = language.gettext
    drawn = _plot(
        "dots" if log else "bars",
        language,
        panels=_panels(frame, words, marks, by="eager_ms"),
        legend=((gettext("eager"), "eager"), (gettext("compiled"), "compiled")),
        axis=gettext("latency in ms, logarithmic scale (less is better)")
        if log
        else gettext("latency in ms (less is better)"),
        ticks=[
            (tick, language.number(tick))
            for tick in (log_ticks(values.min(), values.max()) if log else linear_ticks(0.0, values.max()))
        ]
        if len(values)
        else [],
        log=log,
    )
    headline = gettext("Latency, eager and compiled")
    return Chart(drawn, _alt(frame, language, headline), _caption(frame, language, headline))


def change(frame: pd.DataFrame, language: Language) -> Chart:
    """Change of the latency by compiling, from zero to both sides."""
    words = Words(language, html=False)

    def marks(row: Any) -> tuple[Mark | None, ...]:
        if pd.isna(row["change"]):
            return (None,)
        text = _with_status(language.percent(row["change"], signed=True), row, words)
        return (Mark(row["change"], text, row["change_low"], row["change_high"]),)

    gettext = language.gettext
    drawn = _plot(
        "change",
        language,
        panels=_panels(frame, words, marks, by="change"),
        legend=_winners(language, frame),
        axis=gettext("change in latency (less is better)"),
        ticks=_change_ticks(frame, language),
    )
    headline = gettext("Change in latency by compiling")
    return Chart(drawn, _alt(frame, language, headline), _caption(frame, language, headline))


def batches(frame: pd.DataFrame, language: Language) -> Chart:
    """Change of the latency by compiling, the batch sizes of a row on one line."""
    words = Words(language, html=False)
    sizes = sorted(frame["batch_size"].unique())[: len(plot.STEPS)]
    index = ["batch_size"]

    def marks(rows: pd.DataFrame) -> tuple[Mark | None, ...]:
        by_size = rows.dropna(subset=["change"]).drop_duplicates(index).set_index("batch_size")["change"]
        return tuple(Mark(float(by_size[size])) if size in by_size else None for size in sizes)

    gettext = language.gettext
    drawn = _plot(
        "dots",
        language,
        panels=_batch_panels(frame, words, marks),
        legend=tuple(
            (words.fact("batch_size", {"batch_size": size}), role)
            for size, role in zip(sizes, plot.STEPS, strict=False)
        ),
        axis=gettext("change in latency (less is better)"),
        ticks=_change_ticks(frame, language),
        shapes=True,
    )
    alt = [_described(words, frame, gettext("Change in latency by batch size"), skip=("batch_size",))]
    for size in sizes:
        rows = comparisons(frame[frame["batch_size"] == size])
        if len(rows):
            message = language.ngettext(
                "Batch size %(size)s: median change %(median)s in %(count)s comparison.",
                "Batch size %(size)s: median change %(median)s in %(count)s comparisons.",
                len(rows),
            )
            median = language.percent(rows["change"].median(), signed=True)
            alt.append(words.say(message, size=str(size), median=median, count=language.number(len(rows))))
    caption = _caption(frame, language, gettext("Change in latency by batch size"), skip=("batch_size",))
    return Chart(drawn, words.sentences(alt), caption)


def overview(frame: pd.DataFrame, language: Language) -> Chart:
    """How the change is distributed on each device: every comparison as a dot, with the median."""
    words = Words(language, html=False)
    rows, alt = [], [language.gettext("Change in latency by compiling, each comparison a dot.")]
    for group in by_device(frame):
        label = device_label(group, frame, words)
        compared = comparisons(group)
        changes = compared["change"]
        if changes.empty:
            continue
        count = language.number(len(changes))
        median, least, most = (
            language.percent(x, signed=True) for x in (changes.median(), changes.min(), changes.max())
        )
        note = language.ngettext("%(count)s comparison", "%(count)s comparisons", len(changes))
        centre = Mark(float(changes.median()), words.say(language.gettext("median %(change)s"), change=median))
        intervals = compared[["change", "change_low", "change_high"]].itertuples(index=False)
        points = tuple(Mark(value, "", low, high) for value, low, high in intervals)
        rows.append(Row(label, (centre, *points), words.say(note, count=count)))
        sentence = language.ngettext(
            "%(device)s: median %(median)s, from %(least)s to %(most)s, in %(count)s comparison.",
            "%(device)s: median %(median)s, from %(least)s to %(most)s, in %(count)s comparisons.",
            len(changes),
        )
        alt.append(words.say(sentence, device=label, median=median, least=least, most=most, count=count))
    drawn = _plot(
        "strip",
        language,
        panels=[Panel(tuple(rows))] if rows else [],
        legend=_winners(language, comparisons(frame)),
        axis=language.gettext("change in latency (less is better)"),
        ticks=_change_ticks(comparisons(frame), language),
    )
    headline = language.gettext("Change in latency by compiling, each comparison a dot")
    return Chart(drawn, words.sentences(alt), _caption(frame, language, headline))


# ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _plot(
    kind: Any, language: Language, *, panels: Iterable[Panel], ticks: Sequence[tuple[float, str]], **rest: Any
) -> Plot:
    right_to_left = language.direction == "rtl"
    return Plot(kind, language.code, right_to_left, panels=tuple(panels), ticks=tuple(ticks), **rest)


def _panels(
    frame: pd.DataFrame, words: Words, marks: Callable[[Any], tuple[Mark | None, ...]], *, by: str
) -> Iterator[Panel]:
    """A panel for each combination of what varies besides the rows. Models are ordered by `by`."""
    across = row_coordinate(frame)
    for title, group in _facets(frame, words, across):
        ordered = group.sort_values(by, kind="stable") if across == "model" else group
        rows = ordered.to_dict("records")
        yield Panel(
            tuple(Row(words.fact(across, row), marks(row), words.status_in_words(row["status"])) for row in rows), title
        )


def _batch_panels(
    frame: pd.DataFrame, words: Words, marks: Callable[[pd.DataFrame], tuple[Mark | None, ...]]
) -> Iterator[Panel]:
    across = row_coordinate(frame, without=("batch_size",))
    for title, group in _facets(frame, words, across, "batch_size"):
        lines = [(words.fact(across, rows.iloc[0]), rows) for _, rows in group.groupby(across, sort=False)]
        lines.sort(key=lambda line: _first_change(line[1]))
        yield Panel(
            tuple(Row(label, marks(rows), words.status_in_words(rows["status"].iloc[0])) for label, rows in lines),
            title,
        )


def _first_change(rows: pd.DataFrame) -> float:
    known = rows.dropna(subset=["change"]).sort_values("batch_size")["change"]
    return float(known.iloc[0]) if len(known) else math.inf


def _facets(frame: pd.DataFrame, words: Words, *across: str) -> Iterator[tuple[str, pd.DataFrame]]:
    columns = [column for column in varying(frame) if column not in across]
    if not columns:
        yield "", frame
        return
    for _, group in frame.groupby(columns, sort=False, dropna=False):
        yield words.facts(words.fact(column, group.iloc[0]) for column in columns), group


def by_device(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows of each device, published and measured ones apart: they are never averaged together."""
    for _, group in frame.groupby(["device", "origin"], sort=False):
        yield group


def device_label(group: pd.DataFrame, frame: pd.DataFrame, words: Words) -> str:
    """The name of the one device of `group`, with the origin where `frame` has this device from both."""
    row = group.iloc[0]
    both = not is_same(frame.loc[frame["device"] == row["device"], "origin"])
    return words.facts([words.device(row), words.origin(row["origin"])]) if both else words.device(row)


def _latency_mark(row: Any, arm: str, language: Language, words: Words) -> Mark | None:
    value = row[f"{arm}_ms"]
    if pd.isna(value):
        return None
    text = language.number(value, 2 if value < 10 else 1 if value < 100 else 0)
    if arm == "compiled":
        text = _with_status(text, row, words)
    return Mark(value, text, row[f"{arm}_low_ms"], row[f"{arm}_high_ms"])


def _with_status(text: str, row: Any, words: Words) -> str:
    return text if row["status"] == "pass" else f"{text} ({words.status_in_words(row['status'])})"


def _winners(language: Language, frame: pd.DataFrame) -> tuple[tuple[str, Role], ...]:
    """The colours of bars and dots on both sides of zero; only those that occur."""
    unclear = (frame["change_low"] <= 0) & (frame["change_high"] >= 0)
    entries: tuple[tuple[str, Role, bool], ...] = (
        (language.gettext("compiled is faster"), "compiled", bool((~unclear & (frame["change"] < 0)).any())),
        (language.gettext("eager is faster"), "eager", bool((~unclear & (frame["change"] >= 0)).any())),
        (language.gettext("no clear difference"), "zero", bool(unclear.any())),
    )
    return tuple((text, role) for text, role, occurs in entries if occurs)


def _change_ticks(frame: pd.DataFrame, language: Language) -> list[tuple[float, str]]:
    ends = [frame[column].min() for column in ("change", "change_low")] + [
        frame[column].max() for column in ("change", "change_high")
    ]
    known = [end for end in ends if math.isfinite(end)]
    return [
        (tick, language.percent(tick, 0 if abs(tick * 100 - round(tick * 100)) < 1e-9 else 1, signed=True))
        for tick in linear_ticks(min([0.0, *known]), max([0.0, *known]))
    ]


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


def _alt(frame: pd.DataFrame, language: Language, headline: str) -> str:
    """The main finding of a chart of comparisons, with its numbers."""
    words, gettext = Words(language, html=False), language.gettext
    known = comparisons(frame).sort_values("change", kind="stable")
    sentences = [_described(words, frame, headline)]
    if known.empty:
        return words.sentences([*sentences, gettext("There is no pair of latencies to compare.")])
    best, worst = known.iloc[0], known.iloc[-1]
    message = gettext("The largest gain: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
    if best["change"] >= 0:
        message = gettext("Nothing gains. The least loss: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
    sentences.append(_told(words, message, best, frame))
    if len(known) > 1:
        message = gettext("The smallest gain: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
        if worst["change"] >= 0:
            message = gettext("The largest loss: %(name)s goes from %(eager)s to %(compiled)s (%(change)s).")
        sentences.append(_told(words, message, worst, frame))
    return words.sentences(sentences)


def _described(words: Words, frame: pd.DataFrame, headline: str, skip: Sequence[str] = ()) -> str:
    selection = words.selection(frame, skip=skip)
    message = words.language.gettext("%(headline)s (%(selection)s).")
    return words.say(message, headline=headline, selection=selection) if selection else f"{headline}."


def _told(words: Words, message: str, row: Any, frame: pd.DataFrame) -> str:
    language = words.language
    columns = [row_coordinate(frame), *(column for column in varying(frame) if column != row_coordinate(frame))]
    return words.say(
        message,
        name=words.facts(words.fact(column, row) for column in columns),
        eager=language.milliseconds(row["eager_ms"]),
        compiled=language.milliseconds(row["compiled_ms"]),
        change=language.percent(row["change"], signed=True),
    )


def _caption(frame: pd.DataFrame, language: Language, headline: str, skip: Sequence[str] = ()) -> str:
    """What is shown, for which selection, from how many comparisons and when: HTML."""
    words = Words(language, html=True)
    count = len(comparisons(frame))
    counted = words.say(
        language.ngettext("%(count)s comparison", "%(count)s comparisons", count), count=language.number(count)
    )
    facts = words.facts([words.say("%(headline)s", headline=headline), words.selection(frame, skip=skip), counted])
    notes = []
    if frame["change_low"].notna().any():
        notes.append(language.gettext("Thin lines are 95% intervals."))
    if (frame.loc[frame["origin"] == "measured", "processes"] == 1).any():
        notes.append(words.one_process())
    return words.facts([facts, words.sentences(notes)])
