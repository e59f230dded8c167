"""A `Plot`, all words and numbers decided, becomes SVG bytes: what a chart looks like, and nothing of what it means.

Everything is placed in pixels of a canvas `WIDTH` wide, so that no two texts can meet, and mirrored as a whole for
right-to-left languages. The same plot gives the same bytes on every machine: own fonts, text as paths. Matplotlib sets
the text, Arabic too; the few shapes there are need no more of it, and are written in a tenth of its time.

    python -m pytest tests/generator/figures/test_plot.py
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from threading import RLock
from typing import Any, Literal

import numpy as np
from matplotlib.ft2font import LoadFlags
from matplotlib.path import Path as Shape
from matplotlib.textpath import TextToPath
from numpy.typing import NDArray

from bench.errors import AtlasError
from bench.statistics import verdicts
from generator.figures import fonts
from generator.figures.svg import UNITS, Drawing, Letter, Segment, Text, outline
from generator.languages import typography
from generator.languages.typography import LEFT_TO_RIGHT_MARK, RIGHT_TO_LEFT_MARK

WIDTH = 480
"""Of every chart, in pixels. On a phone of 390 pixels text of size `SMALL` is still shown at more than ten pixels."""

LABEL = 16.0
SMALL = 14.5

Role = Literal["text", "muted", "grid", "zero", "eager", "compiled", "first", "second", "third", "fourth", "fifth"]

LIGHT: dict[Role, str] = {
    "text": "#16202a",
    "muted": "#4a5764",
    "grid": "#dfe4e9",
    "zero": "#6b7885",
    "eager": "#0072b2",
    "compiled": "#d55e00",
    "first": "#a36fc4",
    "second": "#7a3f9d",
    "third": "#4b1b69",
    "fourth": "#9a4f78",
    "fifth": "#612746",
}
"""Eager is blue and compiled is orange wherever they appear (after Okabe and Ito: told apart by colour-blind readers).
Batch sizes are steps of one purple, and have a shape each as well."""

DARK: dict[Role, str] = {
    "text": "#e3e9ef",
    "muted": "#a9b5c1",
    "grid": "#293845",
    "zero": "#8a97a4",
    "eager": "#56b4e9",
    "compiled": "#e69f00",
    "first": "#9d6cc0",
    "second": "#c49ae0",
    "third": "#ecd9fb",
    "fourth": "#cf8db0",
    "fifth": "#f3cfe0",
}
"""What takes the place of each colour on a dark page."""

BACKGROUNDS = {"light": "#ffffff", "dark": "#111a22"}
"""Of the pages. The charts themselves are transparent."""

SHAPES = ("o", "s", "D", "^", "v")
STEPS: tuple[Role, ...] = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True)
class Mark:
    """One value of a row, its interval where known, and how the chart writes it. A doubtful one has a hollow dot."""

    value: float
    text: str = ""
    low: float = math.nan
    high: float = math.nan
    doubtful: bool = False


@dataclass(frozen=True)
class Line:
    """One line of a plot: a mark per series (None where there is no figure), and words in place of what is missing."""

    label: str
    marks: tuple[Mark | None, ...]
    note: str = ""


@dataclass(frozen=True)
class Panel:
    """Rows under one heading."""

    rows: tuple[Line, ...]
    title: str = ""


@dataclass(frozen=True)
class Plot:
    """One chart.

    ``bars``: bars from zero, one per series, side by side. ``dots``: the marks of a row as dots on one line, for log
    scales and for several series. ``change``: one bar from zero in the colour of the winner, which is compiled below
    zero and eager above, and grey where they do not clearly differ. ``strip``: all marks of a row as a swarm, in the
    same colours; the first one is their median and carries its text.
    """

    kind: Literal["bars", "dots", "change", "strip"]
    language: str
    right_to_left: bool
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, Role], ...]
    axis: str  # what the numbers along it are
    ticks: tuple[tuple[float, str], ...]
    log: bool = False
    shapes: bool = False  # each entry of the legend has a shape as well as a colour


# ── Colours ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def darken(svg: bytes) -> bytes:
    """The chart for a dark page: the same drawing in other colours."""
    dark = {LIGHT[role].encode(): DARK[role].encode() for role in LIGHT}
    return re.sub(rb"#[0-9a-f]{6}", lambda match: dark.get(match[0], match[0]), svg)


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours, as WCAG defines it."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


# ── Text ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SETTING = RLock()
"""Matplotlib's fonts hold one text at a time."""

_EM = 100
"""Pixels: texts are set once for all sizes, without hints for any of them."""

_SHAPES: dict[str, str] = {}
"""The outlines of letters, by the name of their font and their number in it: as many as there are in the fonts."""


_NUMERAL = re.compile(r"[0-9.,%−+×]{2,}")
"""Characters that stand side by side, whatever their neighbours: most texts of charts, and quickly set."""


def _parts(text: str) -> list[str]:
    """What is set by itself, side by side: from the right where the first part begins with the mark of that."""
    if _NUMERAL.fullmatch(text):
        return list(text)
    if LEFT_TO_RIGHT_MARK in text and not typography.FROM_THE_RIGHT.search(text):
        return [text]
    return typography.parts(text)  # a chart has few words that no other has


def text_width(text: str, language: str, size: float, *, bold: bool = False) -> float:
    """The width of `text` in pixels."""
    return _width(text, language, bold) * size / _EM


@lru_cache(maxsize=8192)
def _width(text: str, language: str, bold: bool) -> float:  # a part of the key
    if len(parts := _parts(text)) > 1:
        return sum(_width(part, language, bold) for part in parts)
    if typography.FROM_THE_RIGHT.search(text):  # so that the mark, which comes first, stands where all of it ends
        return max(start for _, start, _ in _set(*parts, language, bold))
    if len(text) > 1:
        *_, (_, start, _) = letters = _set(text, language, bold)
        if len(letters) == len(text):  # no two in one, and so the last is as wide as it is alone
            return start + _width(text[-1], language, bold)
    with _SETTING:  # this takes as long as all of `_set`
        font = fonts.drawing_font(language, _EM, bold=bold)
        font.set_text(text, flags=LoadFlags.NO_HINTING)
        return float(font.get_width_height()[0] / 64)


@lru_cache(maxsize=8192)
def _written(text: str, language: str, bold: bool) -> Text:
    scale = UNITS / _EM
    placed = [(_short(name), name, round(x * scale), round(y * scale)) for name, x, y in _placed(text, language, bold)]
    return Text.of(
        (Letter(short, x, y) for short, _, x, y in placed), {short: _SHAPES[name] for short, name, *_ in placed}
    )


def _short(name: str) -> str:
    """Of a letter, from that of its font and its number in it: a chart has hundreds, and is a sixth smaller."""
    font, _, number = name.rpartition("-")
    return f"{_FONTS[font]}{number}"


_FONTS = {
    f"{face.family.replace(' ', '')}-{weight.title()}": letter
    for (face, weight), letter in zip(product(fonts.FACES.values(), fonts.WEIGHTS), ascii_lowercase, strict=False)
}
"""A letter for each font."""


def _placed(text: str, language: str, bold: bool) -> Iterator[tuple[str, float, float]]:
    """The letters of a text, and where each stands in pixels; their outlines are in `_SHAPES` then."""
    if len(parts := _parts(text)) <= 1:
        yield from _set("".join(parts), language, bold)
        return
    start = 0.0
    for part in reversed(parts) if parts[0].startswith(RIGHT_TO_LEFT_MARK) else parts:
        yield from ((name, start + x, y) for name, x, y in _placed(part, language, bold))
        start += _width(part, language, bold)


@lru_cache(maxsize=1024)
def _set(text: str, language: str, bold: bool) -> tuple[tuple[str, float, float], ...]:
    scale = UNITS / _EM
    known: Any = _SHAPES  # which names are in it is all that is asked
    with _SETTING:
        font = fonts.drawing_font(language, _EM, bold=bold)
        placed, new, _ = TextToPath().get_glyphs_with_font(font, text, known, return_new_glyphs_only=True)
        for name, (points, codes) in new.items():
            _SHAPES[name] = outline(_segments(Shape(points * scale, codes)), 0)
    return tuple((name, x, y) for name, x, y, _ in placed)


def _segments(shape: Shape) -> Iterator[Segment]:
    commands = {Shape.MOVETO: "M", Shape.LINETO: "L", Shape.CURVE3: "Q", Shape.CURVE4: "C", Shape.CLOSEPOLY: "z"}
    for points, code in shape.iter_segments(simplify=False):
        yield commands[code], points.tolist()


_IN_SEQUENCE = re.compile(rf"[{typography.ARABIC}]|[·†]")


def _from_the_right(text: str) -> str:
    """Words, facts and marks that follow each other from the right, even where the first of them is Latin."""
    return f"{RIGHT_TO_LEFT_MARK}{text}" if _IN_SEQUENCE.search(text) else text


def check_glyphs(texts: Iterable[str]) -> None:
    """Raise `AtlasError` naming the characters that no shipped font has."""
    if missing := sorted(set[str]().union(*texts) - _drawable()):
        names = ", ".join(f"{character} (U+{ord(character):04X})" for character in missing)
        raise AtlasError(
            f"no font of the charts has {names}",
            where="generator/fonts",
            remedy="use other words, or widen the character sets in generator/figures/make_fonts.py, and run that",
        )


@cache
def _drawable() -> frozenset[str]:
    return frozenset[str]().union(*(fonts.coverage(language) for language in fonts.FACES))


# ── Drawing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def draw(plot: Plot) -> bytes:
    """The plot as SVG in the colours of a light page. Raises `AtlasError` where a font lacks a character."""
    return compose(plot).drawing.svg()


def program() -> bytes:
    """What draws: a drawing that is kept is made anew when this changes."""
    here = Path(__file__)
    return b"".join(file.read_bytes() for file in (here, here.with_name("svg.py"), Path(verdicts.__file__)))


def compose(plot: Plot) -> Canvas:
    """The plot, drawn."""
    check_glyphs(_texts(plot))
    layout = _Layout.of(plot)
    canvas = Canvas(plot.language, layout.height, mirrored=plot.right_to_left)
    _draw_legend(canvas, plot)
    y = layout.top
    for panel in plot.panels:
        y = _draw_panel(canvas, plot, layout, panel, y)
    _draw_axis(canvas, plot, layout, y)
    return canvas


def _texts(plot: Plot) -> Iterator[str]:
    yield plot.axis
    yield from (text for _, text in plot.ticks)
    yield from (text for text, _ in plot.legend)
    for panel in plot.panels:
        yield panel.title
        for row in panel.rows:
            yield from (row.label, row.note, *(mark.text for mark in row.marks if mark))


@dataclass(frozen=True)
class Placed:
    """A text where it stands: its left end, the middle of its letters, its width and size."""

    text: str
    x: float
    y: float
    width: float
    size: float


class Canvas:
    """Places shapes by pixels from the top and from where the language starts to read."""

    def __init__(self, language: str, height: float, *, mirrored: bool) -> None:
        self.language = language
        self.mirrored = mirrored
        self.drawing = Drawing(WIDTH, math.ceil(height))
        self.texts: list[Placed] = []

    def text(self, x: float, y: float, text: str, role: Role = "text", size: float = LABEL, **how: Any) -> None:
        """Text with its middle at `y`; `side` says which end of it is at `x`."""
        if not text:
            return
        bold = how.get("bold", False)
        width = text_width(text, self.language, size, bold=bold)
        before = {"start": 0.0, "end": width}.get(how.get("side", "start"), width / 2)
        left = self._x(x) - (width - before if self.mirrored else before)
        written = _written(_from_the_right(text) if self.mirrored else text, self.language, bold)
        self.drawing.text(3, left, y + 0.36 * size, size, LIGHT[role], written)
        self.texts.append(Placed(text, left, y, width, size))

    def bar(self, x: float, y: float, width: float, height: float, role: Role) -> None:
        """A rectangle from `x` on, its middle at `y`."""
        left = min(self._x(x), self._x(x + width))
        self.drawing.rectangle(2, left, y - height / 2, abs(width), height, LIGHT[role])

    def line(
        self, x: float, y: float, to_x: float, to_y: float, role: Role, width: float = 1, layer: float = 1
    ) -> None:
        """A straight line."""
        self.drawing.path(layer, [(self._x(x), y), (self._x(to_x), to_y)], _stroke(role, width))

    def curve(self, points: Sequence[tuple[float, float]], role: Role, width: float, *, dashed: bool = False) -> None:
        """Straight lines from point to point."""
        style = f'stroke-dasharray="{4 * width:g} {2 * width:g}"' if dashed else 'stroke-linecap="square"'
        self.drawing.path(3, [(self._x(x), y) for x, y in points], f"{_stroke(role, width)} {style}")

    def dot(self, x: float, y: float, role: Role, size: float = 12, shape: str = "o", *, hollow: bool = False) -> None:
        """A mark of `size` pixels."""
        edge = 2.0
        paint = _stroke(role, edge) if hollow else f'fill="{LIGHT[role]}"'
        radius = (size - edge if hollow else size) / 2
        if shape == "o":
            self.drawing.circle(4, self._x(x), y, radius, paint)
            return
        corners = [(self._x(x) + radius * right, y + radius * down) for right, down in _CORNERS[shape]]
        self.drawing.path(4, corners, paint, closed=True)

    def _x(self, x: float) -> float:
        return WIDTH - x if self.mirrored else x


def _stroke(role: Role, width: float) -> str:
    return f'fill="none" stroke="{LIGHT[role]}" stroke-width="{width:g}"'


_CORNERS = {
    "s": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "D": ((0, -math.sqrt(2)), (math.sqrt(2), 0), (0, math.sqrt(2)), (-math.sqrt(2), 0)),
    "^": ((0, -1), (1, 1), (-1, 1)),
    "v": ((0, 1), (-1, -1), (1, -1)),
}
"""Of the shapes that have corners, in halves of their size, to the right and down."""


# ── Layout ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_GAP = 10.0
_BAR = 16.0
_DOT = 12.0
_PITCH = {"bars": 45.0, "dots": 32.0, "change": 29.0, "strip": 78.0}
_TITLE, _TITLE_LINE = 40.0, 20.0
_LEGEND_LINE = 26.0
_THICKNESS = {"bars": 34.0, "dots": 18.0, "change": 18.0, "strip": 78.0}
_STACKED_GAP = 40.0
_MAX_LABEL_SHARE = 0.36
_NOTE_GAP = 8.0
_SWARM_LANES = 2  # on each side of the line


@dataclass(frozen=True)
class _Layout:
    """Where things are: a value, or its logarithm, lies at ``origin + scale · value``; the plot begins at `start`."""

    start: float
    origin: float
    scale: float
    log: bool
    stacked: bool  # labels stand above their rows, being too long to stand beside them
    pitch: float
    top: float
    height: float

    @classmethod
    def of(cls, plot: Plot) -> _Layout:
        """Fit labels, values and legend of `plot` into its width."""
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
        """Where a value is."""
        return self.origin + self.scale * (math.log(value) if self.log else value)

    @property
    def edge(self) -> float:
        """Where words stand in place of marks: at zero, or at the start of a scale without zero."""
        return self.start if self.log else self.x(0)


def _title_height(plot: Plot, panel: Panel) -> float:
    lines = _wrapped(panel.title, plot.language, LABEL, bold=True)
    return _TITLE + _TITLE_LINE * (len(lines) - 1) if lines else 0.0


def _wrapped(text: str, language: str, size: float, *, bold: bool = False) -> list[str]:
    """The text in lines of at most `WIDTH`, as far as spaces allow."""
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


def _label_width(plot: Plot, row: Line) -> float:
    below = text_width(row.note, plot.language, SMALL) if plot.kind == "strip" else 0.0
    return max(text_width(row.label, plot.language, LABEL), below)


End = tuple[float, float]
"""A value that must find place, and the pixels of text beyond it."""


def _ends(plot: Plot, rows: Sequence[Line]) -> tuple[list[End], list[End]]:
    """What must find place towards the start and towards the end of the scale."""
    lows: list[End] = [] if plot.log else [(0.0, 0.0 if plot.kind == "bars" else _DOT)]
    highs: list[End] = [] if plot.log else [(0.0, _DOT + 4)]
    for row in rows:
        marks = sorted((mark for mark in row.marks if mark), key=lambda mark: mark.value)
        for mark in marks:
            first, last = _reach(mark)
            text = text_width(mark.text, plot.language, SMALL) + 7 if mark.text and plot.kind != "strip" else 0.0
            falls = mark is marks[0] and len(marks) > 1 if plot.kind == "dots" else mark.value < 0
            lows.append((first, _DOT / 2 + (text if falls else 0.0)))
            highs.append((last, _DOT / 2 + (0.0 if falls else text + _note_width(plot, row))))
    return lows, highs


def _note_width(plot: Plot, row: Line) -> float:
    """Of the words beyond the dots of a row that lacks some."""
    is_told = plot.kind == "dots" and row.note and any(row.marks) and not all(row.marks)
    return _NOTE_GAP + text_width(row.note, plot.language, SMALL) if is_told else 0.0


def _reach(mark: Mark) -> tuple[float, float]:
    """From where to where a mark and its interval go."""
    ends = [end for end in (mark.value, mark.low, mark.high) if math.isfinite(end)]
    return min(ends), max(ends)


def _fit(start: float, lows: Sequence[End], highs: Sequence[End], *, log: bool) -> tuple[float, float]:
    """Origin and the largest scale with which every end and the text beyond it lie between `start` and `WIDTH`."""
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
    """Values and rooms of the ends that can decide: of those with the same room, no other than the two outermost.

    Each low end is held against each high one, and a chart may have tens of thousands.
    """
    by_room: dict[float, End] = {}
    for value, room in ends:
        least, most = by_room.get(room, (value, value))
        by_room[room] = min(least, value), max(most, value)
    return np.array([(value, room) for room, both in by_room.items() for value in both]).T


def _legend_lines(plot: Plot) -> list[list[tuple[float, str, Role, str]]]:
    """Entries of the legend with their place, wrapped to the width: x, text, colour, shape."""
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
    for value, _ in plot.ticks:
        canvas.line(layout.x(value), y, layout.x(value), bottom, "grid")
    if not plot.log:
        canvas.line(layout.x(0), y, layout.x(0), bottom, "zero", 1.5, layer=2.5)
    draw_row = {"bars": _draw_bars, "dots": _draw_dots, "change": _draw_change, "strip": _draw_strip}[plot.kind]
    for row in panel.rows:
        middle = y + layout.pitch / 2
        if layout.stacked:
            canvas.text(0, y + 16, row.label)
            middle = y + 26 + _THICKNESS[plot.kind] / 2
        else:
            below = plot.kind == "strip" and row.note
            canvas.text(0, middle - (10 if below else 0), row.label)
        draw_row(canvas, plot, layout, row, middle)
        y += layout.pitch
    return y


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


def _draw_bars(canvas: Canvas, plot: Plot, layout: _Layout, row: Line, middle: float) -> None:
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
    """An error bar, where the interval is known and finite; returns where mark and interval end."""
    if not (math.isfinite(mark.low) and math.isfinite(mark.high)):
        return layout.x(mark.value)
    low, high = layout.x(mark.low), layout.x(mark.high)
    canvas.line(low, y, high, y, "text", 1.6, layer=5)
    for x in (low, high):
        canvas.line(x, y - 4, x, y + 4, "text", 1.6, layer=5)
    return max(high, layout.x(mark.value))


def _draw_dots(canvas: Canvas, plot: Plot, layout: _Layout, row: Line, middle: float) -> None:
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
        canvas.dot(layout.x(mark.value), middle, role, _DOT, shape, hollow=mark.doubtful)
        _draw_interval(canvas, layout, mark, middle)
    first, last = min(marks, key=lambda each: each[0].value)[0], max(marks, key=lambda each: each[0].value)[0]
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


def _draw_change(canvas: Canvas, _plot: Plot, layout: _Layout, row: Line, middle: float) -> None:
    (mark,) = row.marks
    if mark is None:
        # The words stand on the side of zero that has more room.
        after = WIDTH - layout.x(0) > layout.x(0) - layout.start
        canvas.text(
            layout.x(0) + (8 if after else -8), middle, row.note, "muted", SMALL, side="start" if after else "end"
        )
        return
    role = winner(mark)
    zero, end = layout.x(0), layout.x(mark.value)
    canvas.bar(min(zero, end), middle, abs(end - zero), _BAR + 1, role)
    outer = _draw_interval(canvas, layout, mark, middle)
    if mark.value < 0:
        canvas.text(layout.x(_reach(mark)[0]) - 6, middle, mark.text, size=SMALL, side="end")
    else:
        canvas.text(outer + 6, middle, mark.text, size=SMALL)


def winner(mark: Mark) -> Role:
    """Whose colour a change has: grey where there is no clear difference."""
    roles: dict[int, Role] = {-1: "compiled", 0: "zero", 1: "eager"}
    return roles[verdicts.direction(mark.value, mark.low, mark.high)]


def _draw_strip(canvas: Canvas, _plot: Plot, layout: _Layout, row: Line, middle: float) -> None:
    median, *marks = row.marks
    if not layout.stacked:
        canvas.text(0, middle + 11, row.note, "muted", SMALL)
    if median is None:
        return
    known = sorted((mark for mark in marks if mark), key=lambda mark: mark.value)
    lanes = _lanes([layout.x(mark.value) for mark in known], 8.5)
    for mark, lane in zip(known, lanes, strict=True):
        canvas.dot(layout.x(mark.value), middle + 8.5 * lane + 8, winner(mark), 8, hollow=mark.doubtful)
    x = layout.x(median.value)
    canvas.line(x, middle - 17, x, middle + 33, "text", 3, layer=5)
    half = text_width(median.text, canvas.language, SMALL) / 2
    canvas.text(min(max(x, layout.start + half), WIDTH - half), middle - 27, median.text, size=SMALL, side="middle")


def _lanes(xs: Sequence[float], size: float) -> list[int]:
    """A lane for each of the sorted `xs`, so that dots of `size` pixels do not touch while there are lanes left."""
    order = sorted(range(-_SWARM_LANES, _SWARM_LANES + 1), key=lambda lane: (abs(lane), lane))
    last = dict.fromkeys(order, -math.inf)
    lanes = []
    for x in xs:
        free = next((lane for lane in order if x - last[lane] >= size), min(order, key=lambda lane: last[lane]))
        last[free] = x
        lanes.append(free)
    return lanes
