"""Draws a `Plot`, whose words and numbers are all decided, as SVG, placed so that no two texts overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.statistics.verdicts import Verdict
from generator.drawing.canvas import LABEL, SMALL, WIDTH, Canvas, Role, text_width

SHAPES = ("o", "s", "D", "^", "v")
VERDICTS: Mapping[Verdict, Role] = {"faster": "gain", "slower": "loss"}
"""Colours of clear verdicts, which tables have as well. Any other is grey."""

STEPS: tuple[Role, ...] = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True)
class Mark:
    """One value of a row, its interval if known, its label, and the verdict of a change, which gives the colour.

    A doubtful value has a hollow dot.
    """

    value: float
    text: str = ""
    low: float = math.nan
    high: float = math.nan
    verdict: Verdict = "unknown"


@dataclass(frozen=True)
class Box:
    """How many values spread: a box between the quartiles, and whiskers to the 5th and the 95th percentile."""

    low: float
    lower: float
    median: float
    upper: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Box:
        """Return the box of some values. Raises `ValueError` without any."""
        known = np.fromiter(values, float)
        if not known.size:
            raise ValueError("no value has no median")
        low, lower, middle, upper, high = map(float, np.quantile(known, (0.05, 0.25, 0.5, 0.75, 0.95)))
        return cls(low, lower, middle, upper, high, known.size)


@dataclass(frozen=True)
class PlotRow:
    """One row of a plot: a mark per series (None without a figure), and a note in place of what is missing."""

    label: str
    marks: tuple[Mark | None, ...]
    note: str = ""
    box: Box | None = None  # in place of the dots of many values


@dataclass(frozen=True)
class Panel:
    """Rows under one heading."""

    rows: tuple[PlotRow, ...]
    title: str = ""


@dataclass(frozen=True)
class Plot:
    """One chart.

    ``bars``: bars from zero, one per series, side by side. ``dots``: the marks of a row as dots on one line, for
    logarithmic scales and several series. ``change``: one bar from zero in the colour of its verdict, grey where
    nothing is clear. ``strip``: all marks of a row as a swarm in these colours; the first mark is the median and
    carries its text. Many marks are a box, with one or two extremes that carry theirs. ``boxes``: a box per row, in the
    colour of its median's verdict, with that median at the end of its line.
    """

    kind: Literal["bars", "dots", "change", "strip", "boxes"]
    language: str
    right_to_left: bool
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, Role], ...]
    axis: str  # title
    ticks: tuple[tuple[float, str], ...]
    log: bool = False
    shapes: bool = False  # each entry of the legend has a shape as well as a colour


# ── Drawing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def draw(plot: Plot) -> bytes:
    """Return the plot as SVG in the colours of a light page. Raises `AtlasError` if the fonts lack a character."""
    return compose(plot).drawing.svg()


def compose(plot: Plot) -> Canvas:
    """Draw the plot on a canvas."""
    layout = _Layout.of(plot)
    canvas = Canvas(plot.language, layout.height, mirrored=plot.right_to_left)
    _draw_legend(canvas, plot)
    y = layout.top
    for panel in plot.panels:
        y = _draw_panel(canvas, plot, layout, panel, y)
    _draw_axis(canvas, plot, layout, y)
    return canvas


def texts(plot: Plot) -> Iterator[str]:
    """Yield all words of a plot."""
    yield plot.axis
    yield from (text for _, text in plot.ticks)
    yield from (text for text, _ in plot.legend)
    for panel in plot.panels:
        yield panel.title
        for row in panel.rows:
            yield from (row.label, row.note, *(mark.text for mark in row.marks if mark))


# ── Layout ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_GAP = 10.0
_BAR = 16.0
_BOX = 13.0
_DOT = 12.0
_PITCH = {"bars": 45.0, "dots": 32.0, "change": 29.0, "strip": 78.0, "boxes": 27.0}
_TITLE, _TITLE_LINE = 40.0, 20.0
_LEGEND_LINE = 26.0
_THICKNESS = {"bars": 34.0, "dots": 18.0, "change": 18.0, "strip": 78.0, "boxes": 18.0}
_STACKED_GAP = 40.0
_MAX_LABEL_SHARE = 0.36
_NOTE_GAP = 8.0
_SWARM_LANES = 2  # on each side of the line


@dataclass(frozen=True)
class _Layout:
    """Positions: a value, or its logarithm, lies at ``origin + scale · value``. The plot area begins at `start`."""

    start: float
    origin: float
    scale: float
    log: bool
    stacked: bool  # labels are too long to stand beside their rows, and stand above them
    pitch: float
    top: float
    height: float

    @classmethod
    def of(cls, plot: Plot) -> _Layout:
        """Fit the labels, values and legend of a plot into `WIDTH`."""
        rows = [row for panel in plot.panels for row in panel.rows]
        label = max((_label_width(plot, row) for row in rows), default=0.0)
        stacked = label > _MAX_LABEL_SHARE * WIDTH
        start = 0.0 if stacked else label + _GAP
        origin, scale = _fit(start, *_ends(plot, rows), log=plot.log)
        pitch = _THICKNESS[plot.kind] + _STACKED_GAP if stacked else _PITCH[plot.kind]
        top = _LEGEND_LINE * len(_legend_lines(plot)) + _GAP
        titles = sum(_title_height(plot, panel) for panel in plot.panels)
        axis = len(_wrapped(plot.axis, plot.language, SMALL))
        height = top + titles + pitch * len(rows) + (1 + axis) * _LEGEND_LINE + 4
        return cls(start, origin, scale, plot.log, stacked, pitch, top, height)

    def x(self, value: float) -> float:
        """Return the position of a value."""
        return self.origin + self.scale * (math.log(value) if self.log else value)

    @property
    def edge(self) -> float:
        """The position of a note in place of marks: at zero, or at the start of a scale without zero."""
        return self.start if self.log else self.x(0)


def _title_height(plot: Plot, panel: Panel) -> float:
    lines = _wrapped(panel.title, plot.language, LABEL, bold=True)
    return _TITLE + _TITLE_LINE * (len(lines) - 1) if lines else 0.0


def _wrapped(text: str, language: str, size: float, *, bold: bool = False) -> list[str]:
    """Break the text at spaces into lines of at most `WIDTH`, if it has enough spaces."""
    if text and text_width(text, language, size, bold=bold) <= WIDTH:
        return [text]
    lines: list[str] = []
    for word in text.split(" ") if text else ():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, language, size, bold=bold) <= WIDTH:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _label_width(plot: Plot, row: PlotRow) -> float:
    below = text_width(row.note, plot.language, SMALL) if plot.kind == "strip" else 0.0
    return max(text_width(row.label, plot.language, LABEL), below)


End = tuple[float, float]
"""A value that must fit into the plot, and the pixels of text beyond it."""


def _ends(plot: Plot, rows: Sequence[PlotRow]) -> tuple[list[End], list[End]]:
    """Return what must fit towards the start and towards the end of the scale."""
    lows: list[End] = [] if plot.log else [(0.0, 0.0 if plot.kind == "bars" else _DOT)]
    highs: list[End] = [] if plot.log else [(0.0, _DOT + 4)]
    if plot.kind == "boxes":
        return _box_ends(plot, rows)
    for row in rows:
        if row.box:
            lows.append((row.box.low, _DOT / 2))
            highs.append((row.box.high, _DOT / 2))
        marks = sorted((mark for mark in row.marks if mark), key=lambda mark: mark.value)
        for mark in marks:
            first, last = _reach(mark)
            text = text_width(mark.text, plot.language, SMALL) + 7 if mark.text and plot.kind != "strip" else 0.0
            falls = mark is marks[0] and len(marks) > 1 if plot.kind == "dots" else mark.value < 0
            lows.append((first, _DOT / 2 + (text if falls else 0.0)))
            highs.append((last, _DOT / 2 + (0.0 if falls else text + _note_width(plot, row))))
    return lows, highs


def _box_ends(plot: Plot, rows: Sequence[PlotRow]) -> tuple[list[End], list[End]]:
    """Return the ends of the whiskers and zero. Beyond them is room for the medians, which stand below each other."""
    column = max((text_width(mark.text, plot.language, SMALL) for row in rows for mark in row.marks if mark), default=0)
    ends = [0.0, *(end for row in rows if row.box for end in (row.box.low, row.box.high))]
    return [(end, 2.0) for end in ends], [(end, _GAP + column) for end in ends]


def _note_width(plot: Plot, row: PlotRow) -> float:
    """Return the width of the note beyond the dots of a row that lacks some."""
    is_shown = plot.kind == "dots" and row.note and any(row.marks) and not all(row.marks)
    return _NOTE_GAP + text_width(row.note, plot.language, SMALL) if is_shown else 0.0


def _reach(mark: Mark) -> tuple[float, float]:
    """Return the least and the largest value of a mark and its interval."""
    ends = [end for end in (mark.value, mark.low, mark.high) if math.isfinite(end)]
    return min(ends), max(ends)


def _fit(start: float, lows: Sequence[End], highs: Sequence[End], *, log: bool) -> tuple[float, float]:
    """Return the origin, and the largest scale at which all ends and their texts lie between `start` and `WIDTH`."""
    if not (lows and highs):
        return start, 1.0
    (low, low_room), (high, high_room) = _outermost(lows), _outermost(highs)
    low, high = (np.log(low), np.log(high)) if log else (low, high)
    room = WIDTH - start - low_room[:, None] - high_room[None, :]
    span = high[None, :] - low[:, None]
    scale = float(np.min(room[span > 0] / span[span > 0])) if (span > 0).any() else 1.0
    scale = max(scale, 1e-9)
    return float(np.max(start + low_room - scale * low)), scale


def _outermost(ends: Sequence[End]) -> NDArray[np.float64]:
    """Return the values and text widths of the ends that can limit the scale, shape (ends, 2).

    Of the ends with equal text width these are the two outermost. `_fit` compares each low end with each high one, and
    a chart may have tens of thousands of ends.
    """
    by_room: dict[float, End] = {}
    for value, room in ends:
        least, most = by_room.get(room, (value, value))
        by_room[room] = min(least, value), max(most, value)
    return np.array([(value, room) for room, both in by_room.items() for value in both]).T


def _legend_lines(plot: Plot) -> list[list[tuple[float, str, Role, str]]]:
    """Return the lines of the legend, which wraps at `WIDTH`. An entry is its x, text, colour and shape."""
    lines: list[list[tuple[float, str, Role, str]]] = [[]]
    x = 0.0
    for position, (text, role) in enumerate(plot.legend):
        width = 22 + text_width(text, plot.language, SMALL) + 20
        if x + width - 20 > WIDTH and lines[-1]:
            lines.append([])
            x = 0.0
        lines[-1].append((x, text, role, SHAPES[position % len(SHAPES)] if plot.shapes else "s"))
        x += width
    return [line for line in lines if line]


# ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _draw_legend(canvas: Canvas, plot: Plot) -> None:
    for number, line in enumerate(_legend_lines(plot)):
        y = 14 + number * _LEGEND_LINE
        for x, text, role, shape in line:
            canvas.dot(x + 7, y, role, 13, shape)
            canvas.text(x + 22, y, text, size=SMALL)


def _draw_panel(canvas: Canvas, plot: Plot, layout: _Layout, panel: Panel, y: float) -> float:
    """Draw one panel from `y` down, and return where it ends."""
    for number, line in enumerate(_wrapped(panel.title, plot.language, LABEL, bold=True)):
        canvas.text(0, y + _TITLE - 17 + _TITLE_LINE * number, line, size=LABEL, bold=True)
    y += _title_height(plot, panel)
    bottom = y + layout.pitch * len(panel.rows)
    for top, end in _clear_of_text(plot, layout, panel, y, bottom):
        for value, _ in plot.ticks:
            canvas.line(layout.x(value), top, layout.x(value), end, "grid")
        if not plot.log:
            canvas.line(layout.x(0), top, layout.x(0), end, "zero", 1.5, layer=2.5)
    draw_row = _DRAW_ROW[plot.kind]
    for row in panel.rows:
        middle = _middle(plot, layout, y)
        if layout.stacked:
            canvas.text(0, y + 16, row.label)
        else:
            below = plot.kind == "strip" and row.note
            canvas.text(0, middle - (10 if below else 0), row.label)
        draw_row(canvas, plot, layout, row, middle)
        y += layout.pitch
    return y


def _middle(plot: Plot, layout: _Layout, y: float) -> float:
    """Return the middle of the marks of a row that begins at `y`."""
    return y + (26 + _THICKNESS[plot.kind] / 2 if layout.stacked else layout.pitch / 2)


def _clear_of_text(plot: Plot, layout: _Layout, panel: Panel, y: float, bottom: float) -> Iterator[tuple[float, float]]:
    """Yield where the lines of the scale run in a panel: all the way, but only beside a box that has text below it."""
    if plot.kind != "strip" or not any(row.box for row in panel.rows):
        yield y, bottom
        return
    for number, row in enumerate(panel.rows):
        top = y + layout.pitch * number
        middle = _middle(plot, layout, top)
        yield (middle - 18, middle + 8) if row.box else (top, top + layout.pitch)


def _draw_axis(canvas: Canvas, plot: Plot, layout: _Layout, y: float) -> None:
    taken = -math.inf
    for value, text in sorted(plot.ticks):
        x, half = layout.x(value), text_width(text, canvas.language, SMALL) / 2
        if x - half > taken and x - half >= -0.5 and x + half <= WIDTH + 0.5:
            canvas.text(x, y + 14, text, "muted", SMALL, side="middle")
            taken = x + half + 8
    for number, line in enumerate(_wrapped(plot.axis, canvas.language, SMALL)):
        width = text_width(line, canvas.language, SMALL)
        start = max(0.0, min(layout.start, WIDTH - width))
        canvas.text(start, y + 14 + 24 + _LEGEND_LINE * number, line, "muted", SMALL)


def _draw_bars(canvas: Canvas, plot: Plot, layout: _Layout, row: PlotRow, middle: float) -> None:
    bar = _BAR + 1
    for position, (mark, (_, role)) in enumerate(zip(row.marks, plot.legend, strict=True)):
        y = middle + (position - (len(row.marks) - 1) / 2) * bar
        if mark:
            canvas.bar(layout.x(0), y, layout.x(mark.value) - layout.x(0), _BAR, role)
            end = _draw_interval(canvas, layout, mark, y)
            canvas.text(end + 6, y, mark.text, size=SMALL)
        elif any(row.marks):
            canvas.text(layout.x(0) + 8, y, row.note, "muted", SMALL)
    if not any(row.marks):
        canvas.text(layout.x(0) + 8, middle, row.note, "muted", SMALL)


def _draw_interval(canvas: Canvas, layout: _Layout, mark: Mark, y: float) -> float:
    """Draw an error bar if the interval is known and finite. Return where the mark and its interval end."""
    if not (math.isfinite(mark.low) and math.isfinite(mark.high)):
        return layout.x(mark.value)
    low, high = layout.x(mark.low), layout.x(mark.high)
    canvas.line(low, y, high, y, "text", 1.6, layer=5)
    for x in (low, high):
        canvas.line(x, y - 4, x, y + 4, "text", 1.6, layer=5)
    return max(high, layout.x(mark.value))


def _draw_dots(canvas: Canvas, plot: Plot, layout: _Layout, row: PlotRow, middle: float) -> None:
    marks = [
        (mark, role, shape)
        for mark, (_, role), shape in zip(row.marks, plot.legend, _shapes(plot), strict=False)
        if mark
    ]
    if not marks:
        canvas.text(layout.edge + 8, middle, row.note, "muted", SMALL)
        return
    xs = [layout.x(mark.value) for mark, _, _ in marks]
    canvas.line(min(xs), middle, max(xs), middle, "zero", 2)
    for mark, role, shape in marks:
        canvas.dot(layout.x(mark.value), middle, role, _DOT, shape, hollow=mark.verdict == "doubtful")
        _draw_interval(canvas, layout, mark, middle)
    known = [mark for mark, _, _ in marks]
    first, last = (choose(known, key=lambda mark: mark.value) for choose in (min, max))
    left = min(layout.x(_reach(mark)[0]) for mark, _, _ in marks)
    right = max(*(layout.x(_reach(mark)[1]) for mark, _, _ in marks), max(xs) + _DOT / 2) + 5
    if first.text and len(marks) > 1:
        canvas.text(min(left, min(xs) - _DOT / 2) - 5, middle, first.text, size=SMALL, side="end")
    if last.text:
        canvas.text(right, middle, last.text, size=SMALL)
        right += text_width(last.text, canvas.language, SMALL)
    if len(marks) < len(row.marks) and row.note:
        canvas.text(right + _NOTE_GAP, middle, row.note, "muted", SMALL)


def _shapes(plot: Plot) -> Sequence[str]:
    return SHAPES if plot.shapes else ("o",) * len(plot.legend)


def _draw_change(canvas: Canvas, _plot: Plot, layout: _Layout, row: PlotRow, middle: float) -> None:
    (mark,) = row.marks
    if mark is None:
        # The note stands on the side of zero that has more room.
        after = WIDTH - layout.x(0) > layout.x(0) - layout.start
        canvas.text(
            layout.x(0) + (8 if after else -8), middle, row.note, "muted", SMALL, side="start" if after else "end"
        )
        return
    role = VERDICTS.get(mark.verdict, "zero")
    zero, end = layout.x(0), layout.x(mark.value)
    canvas.bar(min(zero, end), middle, abs(end - zero), _BAR + 1, role)
    outer = _draw_interval(canvas, layout, mark, middle)
    if mark.value < 0:
        canvas.text(layout.x(_reach(mark)[0]) - 6, middle, mark.text, size=SMALL, side="end")
    else:
        canvas.text(outer + 6, middle, mark.text, size=SMALL)


def _draw_boxes(canvas: Canvas, _plot: Plot, layout: _Layout, row: PlotRow, middle: float) -> None:
    (median,) = row.marks
    if median is None or row.box is None:
        return
    _draw_box(canvas, layout, row.box, middle, VERDICTS.get(median.verdict, "zero"))
    canvas.text(WIDTH, middle, median.text, size=SMALL, side="end")


def _draw_box(canvas: Canvas, layout: _Layout, box: Box, middle: float, role: Role) -> None:
    """Draw a box with its whiskers and, across it, the median."""
    low, lower, median, upper, high = map(layout.x, (box.low, box.lower, box.median, box.upper, box.high))
    canvas.line(low, middle, high, middle, role, 2)
    for end in (low, high):
        canvas.line(end, middle - 4, end, middle + 4, role, 2)
    canvas.bar(lower, middle, max(upper - lower, 1.0), _BOX, role)
    canvas.line(median, middle - _BOX / 2 - 2, median, middle + _BOX / 2 + 2, "text", 3, layer=5)


def _draw_strip(canvas: Canvas, _plot: Plot, layout: _Layout, row: PlotRow, middle: float) -> None:
    median, *marks = row.marks
    if not layout.stacked:
        canvas.text(0, middle + 11, row.note, "muted", SMALL)
    known = sorted((mark for mark in marks if mark), key=lambda mark: mark.value)
    if row.box and median:
        _draw_box(canvas, layout, row.box, middle - 4, VERDICTS.get(median.verdict, "zero"))
        _draw_at(canvas, layout, median, middle - 28)
        for number, mark in enumerate(known):
            canvas.dot(layout.x(mark.value), middle - 4, VERDICTS.get(mark.verdict, "zero"), 9)
            _draw_at(canvas, layout, mark, middle + 15 + 18 * number)
        return
    lanes = _lanes([layout.x(mark.value) for mark in known], 8.5)
    for mark, lane in zip(known, lanes, strict=True):
        role, is_doubtful = VERDICTS.get(mark.verdict, "zero"), mark.verdict == "doubtful"
        canvas.dot(layout.x(mark.value), middle + 8.5 * lane + 8, role, 8, hollow=is_doubtful)
    if median is None:  # doubts are not averaged
        return
    x = layout.x(median.value)
    canvas.line(x, middle - 17, x, middle + 33, "text", 3, layer=5)
    _draw_at(canvas, layout, median, middle - 27)


def _draw_at(canvas: Canvas, layout: _Layout, mark: Mark, y: float) -> None:
    """Draw the text of a mark above or below it, as near as the plot area has room."""
    half = text_width(mark.text, canvas.language, SMALL) / 2
    x = min(max(layout.x(mark.value), layout.start + half), WIDTH - half)
    canvas.text(x, y, mark.text, size=SMALL, side="middle")


_DRAW_ROW = {"bars": _draw_bars, "dots": _draw_dots, "change": _draw_change, "strip": _draw_strip, "boxes": _draw_boxes}


def _lanes(xs: Sequence[float], size: float) -> list[int]:
    """Return a lane for each of the sorted `xs`, so that dots of `size` pixels do not touch while lanes are free."""
    order = sorted(range(-_SWARM_LANES, _SWARM_LANES + 1), key=lambda lane: (abs(lane), lane))
    last = dict.fromkeys(order, -math.inf)
    lanes = []
    for x in xs:
        free = next((lane for lane in order if x - last[lane] >= size), min(order, key=lambda lane: last[lane]))
        last[free] = x
        lanes.append(free)
    return lanes
