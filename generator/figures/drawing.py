"""Drawings by matplotlib: names and figures in Latin letters and digits, and no words.

Takes a `Picture`, whose labels and figures are all decided; returns SVG. Words stand beside a drawing in
the page, so one drawing serves every language that is read from the left, and its mirror image those from the right.
"""

from __future__ import annotations

import hashlib
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bench.statistics.verdicts import Verdict
from generator.cache import kept
from generator.data.selection import by_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 480
"""Width of a drawing in pixels. On a phone 390 pixels wide, its text is still taller than ten pixels."""

Role = Literal[
    "text", "muted", "grid", "zero", "eager", "compiled", "gain", "loss", "first", "second", "fourth", "fifth"
]
COLOURS: Mapping[Role, tuple[str, str]] = {
    "text": ("#16202a", "#e3e9ef"),
    "muted": ("#4a5764", "#a9b5c1"),
    "grid": ("#dfe4e9", "#293845"),
    "zero": ("#6b7885", "#8a97a4"),
    "eager": ("#0072b2", "#56b4e9"),
    "compiled": ("#d55e00", "#e69f00"),
    "gain": ("#00694b", "#4fd1a5"),
    "loss": ("#a83a00", "#ffa366"),
    "first": ("#c69fe0", "#9d6cc0"),
    "second": ("#7a3f9d", "#c49ae0"),
    "fourth": ("#9a4f78", "#cf8db0"),
    "fifth": ("#612746", "#f3cfe0"),
}
"""Colours on a light and on a dark page, as in docs/assets/stylesheets/atlas.css, whose legends have them too. Eager is
blue and compiled orange everywhere (Okabe and Ito: safe for colour-blind readers); others are shades of one purple."""

VERDICTS: Mapping[Verdict, Role] = {"faster": "gain", "slower": "loss"}
"""Colours of clear verdicts. Any other is grey."""


@dataclass(frozen=True)
class Mark:
    """A value. A doubtful one is hollow."""

    value: float
    role: Role
    hollow: bool = False


@dataclass(frozen=True)
class Box:
    """How many values spread: the median between the quartiles, and the 5th and the 95th percentile."""

    low: float
    lower: float
    median: float
    upper: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Box:
        """Return the box of some values, one at least."""
        known = np.fromiter(values, float)
        low, lower, middle, upper, high = map(float, np.quantile(known, (0.05, 0.25, 0.5, 0.75, 0.95)))
        return cls(low, lower, middle, upper, high, known.size)


@dataclass(frozen=True)
class Row:
    """One row: its name, a mark per series, and figures at its end, of bars one for each.

    A row of many values has a box in the colour `role`; its marks are single values, and `extremes` names the least
    and the largest.
    """

    label: str
    marks: tuple[Mark, ...] = ()
    figures: tuple[str, ...] = ()
    box: Box | None = None
    role: Role = "zero"
    extremes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """Factors in rows on one logarithmic scale, on which twice as fast and half as fast are equally far from equal.

    ``bars``: a bar per series from 1×. ``boxes``: distributions.
    """

    kind: Literal["bars", "boxes"]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Curve:
    """One line: its values at steps 1, 2, 3…, all positive. The line of eager is dashed."""

    values: tuple[float, ...]
    role: Role


Curves = tuple[Curve, ...]
"""Lines over steps, on a logarithmic scale. Where two coincide, the first and wider one shows on both sides."""


@dataclass(frozen=True)
class Steps:
    """The accuracy that is left at each throughput: steps down through points, the most accurate first. A point has
    images per second, percent and a name. Both scales are logarithmic, that of the accuracy in the errors."""

    eager: tuple[tuple[float, float, str], ...]
    compiled: tuple[tuple[float, float, str], ...]  # named from the top, where there is room


@dataclass(frozen=True)
class Dots:
    """Dots on two logarithmic scales: seconds, a factor, and the colour of each."""

    dots: tuple[tuple[float, float, Role], ...]


Picture = Drawing | Curves | Steps | Dots


# ── SVG ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

_STYLE = Path(__file__).with_name("drawing.mplstyle")
_DARK = {light.encode(): dark.encode() for light, dark in COLOURS.values()}


def svg(drawing: Picture, *, mirrored: bool = False, dark: bool = False) -> bytes:
    """Return the drawing as SVG. Finished ones are kept on disk by their content."""
    content = kept("charts", ".svg", f"{version()} {mirrored} {drawing!r}", lambda: _saved(drawing, mirrored))
    return re.sub(rb"#[0-9a-f]{6}", lambda match: _DARK.get(match[0], match[0]), content) if dark else content


def height(drawing: Picture) -> int:
    """Return the height in pixels."""
    if isinstance(drawing, Drawing):
        return round(sum(map(sum, _heights(drawing))) + _AXIS + 2)
    return 300 if isinstance(drawing, tuple) else 380


@cache
def version(*modules: str) -> str:
    """Return the versions of matplotlib, of this module with its style, and of other modules that draw."""
    import matplotlib as mpl

    code = [Path(path).read_bytes() for path in (__file__, str(_STYLE), *modules)]
    return mpl.__version__ + hashlib.sha256(b"".join(code)).hexdigest()


def _saved(drawing: Picture, mirrored: bool) -> bytes:
    canvas = Canvas(height(drawing), mirrored=mirrored)
    if isinstance(drawing, tuple):
        _draw_curves(canvas, drawing)
    elif isinstance(drawing, Steps):
        _draw_steps(canvas, drawing)
    elif isinstance(drawing, Dots):
        _draw_dots_of(canvas, drawing)
    else:
        draw(canvas, drawing)
    # Text stays text, in a font of the reader's system, which is rarely wider than the one that measured it.
    content = canvas.saved("svg", metadata={"Date": None, "Creator": None})
    return content.replace(b"'DejaVu Sans'", b"system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif")


@contextmanager
def _any_script() -> Iterator[None]:
    """Measure a name in another script without a warning: the reader's system has a font for it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        yield


class Canvas:
    """A figure `WIDTH` wide, and a margin on both sides. Places are pixels from the top and from the side where a
    language starts to read."""

    def __init__(self, height: float, *, mirrored: bool = False, margin: float = 0.0) -> None:
        from matplotlib import style
        from matplotlib.figure import Figure

        style.use(_STYLE)
        self.width, self.height, self.margin = WIDTH + 2 * margin, height, margin
        self.mirrored = mirrored
        self.figure = Figure((self.width / 72, height / 72), dpi=72)

    def text(self, x: float, y: float, text: str, *, at_end: bool = False, **style: Any) -> None:
        """Write a text with its middle at `y`, which starts at `x`, or ends there."""
        x, side = (WIDTH - x, not at_end) if self.mirrored else (x, at_end)
        place = (x + self.margin) / self.width, 1 - y / self.height
        self.figure.text(*place, text, ha="right" if side else "left", va="center_baseline", **style)

    def axes(self, start: float, end: float, top: float, bottom: float) -> Axes:
        """Return axes between these places."""
        left, right = (WIDTH - end, WIDTH - start) if self.mirrored else (start, end)
        size = (right - left) / self.width, (bottom - top) / self.height
        return self.figure.add_axes(((left + self.margin) / self.width, 1 - bottom / self.height, *size))

    @_any_script()
    def saved(self, kind: str, **options: Any) -> bytes:
        """Return the figure as a file."""
        content = BytesIO()
        self.figure.savefig(content, format=kind, **options)
        return content.getvalue()


# ── Layout ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SIZE = 14.0  # of text, as in the style
_LINE = 20.0  # of text above or below the marks of a row
_GAP = 10.0
_EDGE = 24.0  # half of the widest label of a tick
_AXIS = 24.0
_BAR = 15.0
_PITCH = 27.0  # of boxes
_LETTERS = 22  # of a name; longer ones stand above their rows


def _heights(drawing: Drawing) -> list[tuple[float, float, float]]:
    """Return the height of each row: of its name, unless all stand beside, of its marks and of its extremes."""
    above = _LINE if any(len(row.label) > _LETTERS for row in drawing.rows) else 0.0
    bars = [_BAR * max(len(row.marks), 1) + _GAP for row in drawing.rows]
    marks = bars if drawing.kind == "bars" else [_PITCH] * len(bars)
    return [(above, own, _LINE * _lines(row.extremes)) for own, row in zip(marks, drawing.rows, strict=True)]


def _lines(extremes: tuple[str, ...]) -> int:
    """Return how many lines the names of extremes take: short ones share a line."""
    return min(len(extremes), 1 if len("".join(extremes)) <= _LETTERS else 2)


@cache
@_any_script()
def _width(text: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=_SIZE), ismath=False)[0])


def log_ticks(low: float, high: float, gap: float = 0.12) -> list[float]:
    """Return round numbers from `low` to `high`, both positive, at least the share `gap` of the scale apart."""
    from matplotlib.ticker import MaxNLocator

    decades = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every: list[Iterable[float]] = [
        np.outer(decades, parts).ravel() for parts in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
    ]
    if high / low < 3:  # steps of equal size
        every[:0] = [MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high) for most in (4, 2)]
    ticks: list[float] = []
    for known in every:
        ticks = [float(tick) for tick in known if low <= tick <= high]
        gaps = [math.log(after / before) for before, after in pairwise(ticks)]
        if ticks and min(gaps, default=math.inf) >= gap * math.log(high / low):
            return ticks
    return ticks[:1]


# ── Drawing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def draw(canvas: Canvas, drawing: Drawing, top: float = 0.0) -> None:
    """Draw the rows below each other, from `top` down."""
    heights = _heights(drawing)
    is_stacked = any(above for above, *_ in heights)
    names = () if is_stacked else (row.label for row in drawing.rows)
    figures = (text for row in drawing.rows for text in row.figures)
    start, beside = (max((_EDGE, *(_width(text) + _GAP for text in texts))) for texts in (names, figures))
    end = WIDTH - beside
    values = [1.0, *(value for row in drawing.rows for value in _values(row))]
    low, high = min(values) * 0.97, max(values) * 1.03
    ticks = log_ticks(low, high, 46 / (end - start))
    bottom = top + height(drawing) - _AXIS
    axes = canvas.axes(start, end, top, bottom)
    axes.set(xscale="log", xlim=(high, low) if canvas.mirrored else (low, high), ylim=(bottom, top))
    axes.set_xticks(ticks, [f"{tick:,.6g}×" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_yticks([])
    for row, (above, marks, below) in zip(drawing.rows, heights, strict=True):
        middle = top + above + marks / 2
        half = _LINE / 2 + 2 if row.extremes or is_stacked else marks / 2  # clear of text
        axes.vlines(ticks, middle - half, middle + half, color=_light("grid"), linewidth=1, zorder=0)
        axes.vlines(1.0, middle - half, middle + half, color=_light("zero"), linewidth=1.5, zorder=0)
        canvas.text(0, top + _LINE / 2 if is_stacked else middle, row.label)
        for number, figure in enumerate(row.figures):
            canvas.text(WIDTH, _beside(number, len(row.figures), middle), figure, at_end=True)
        (_draw_bars if drawing.kind == "bars" else _draw_box)(axes, row, middle)
        for number, text in enumerate(row.extremes):
            y = middle + _PITCH / 2 + _LINE * (0.3 + min(number, _lines(row.extremes) - 1))
            canvas.text(end if number else 0, y, text, at_end=bool(number), color=_light("muted"))
        top += above + marks + below


def _values(row: Row) -> Iterator[float]:
    yield from (mark.value for mark in row.marks)
    if row.box:
        yield from (row.box.low, row.box.high)


def _beside(number: int, count: int, middle: float) -> float:
    return middle + (number - (count - 1) / 2) * _BAR


def _draw_bars(axes: Axes, row: Row, middle: float) -> None:
    for number, mark in enumerate(row.marks):
        y, colour = _beside(number, len(row.marks), middle), _light(mark.role)
        axes.barh(y, mark.value - 1, _BAR - 1, left=1, color=colour, edgecolor=colour)


def _draw_box(axes: Axes, row: Row, middle: float) -> None:
    if box := row.box:
        colour = _light(row.role)
        axes.plot([box.low, box.high], [middle, middle], color=colour, marker="|", markersize=6)
        alpha = 0.4 if len(row.marks) > len(row.extremes) else 1.0  # dots show through
        axes.barh(middle, box.upper - box.lower, 13, left=box.lower, color=colour, alpha=alpha)
        axes.vlines(box.median, middle - 9, middle + 9, color=_light("text"), linewidth=2.5)
    for (role, is_hollow), marks in by_value(row.marks, ((mark.role, mark.hollow) for mark in row.marks)).items():
        values, colour = [mark.value for mark in marks], _light(role)  # each call defines its shape anew
        dots = axes.plot(values, [middle] * len(values), "o", markersize=5, color=colour, zorder=4, clip_on=False)
        dots[0].set_markerfacecolor("none" if is_hollow else colour)


def _draw_curves(canvas: Canvas, curves: Curves) -> None:
    values = [value for curve in curves for value in curve.values]
    ticks = log_ticks(min(values) / 2, max(values))
    texts = [f"{tick:,.6g}" for tick in ticks]
    steps = max(len(curve.values) for curve in curves)
    axes = canvas.axes(max(map(_width, texts)) + _GAP, WIDTH - _GAP, _GAP, canvas.height - _AXIS)
    axes.set(yscale="log", xlim=(steps + 0.5, 0.5) if canvas.mirrored else (0.5, steps + 0.5))
    axes.set_yticks(ticks, texts)
    axes.set_xticks([step for step in range(1, steps + 1) if step == 1 or step % max(steps // 5, 1) == 0])
    _draw_grid(axes, canvas.mirrored)
    for curve in curves:
        style = "dashed" if curve.role == "eager" else "solid"
        at = range(1, len(curve.values) + 1)
        axes.plot(at, curve.values, color=_light(curve.role), linewidth=2, linestyle=style)


def _draw_grid(axes: Axes, mirrored: bool) -> None:
    axes.minorticks_off()
    axes.grid(color=_light("grid"))
    axes.set_axisbelow(True)
    if mirrored:
        axes.yaxis.tick_right()


def _draw_steps(canvas: Canvas, steps: Steps) -> None:
    rates, accuracies, _ = zip(*steps.eager, *steps.compiled, strict=True)
    low, high, least, most = min(rates) / 1.2, max(rates) * 1.2, 100 - max(accuracies), 100 - min(accuracies)
    axes = canvas.axes(40, WIDTH - _GAP, _GAP, canvas.height - _AXIS)
    axes.set(xscale="log", yscale="log", xlim=(high, low) if canvas.mirrored else (low, high))
    axes.set_ylim(most * 1.05, least / 1.15)  # errors, with room for a name above the first point
    ticks, errors = log_ticks(low, high), [error for error in (5, 10, 15, 20, 30, 40, 60, 80) if least <= error <= most]
    axes.set_xticks(ticks, [f"{tick:,.6g}" for tick in ticks])
    axes.set_yticks(errors, [str(100 - error) for error in errors])
    _draw_grid(axes, canvas.mirrored)
    roles: tuple[Role, ...] = ("eager", "compiled")
    for role, points in zip(roles, (steps.eager, steps.compiled), strict=True):
        at = [rate for rate, _, _ in points], [100 - top1 for _, top1, _ in points]
        axes.plot(*at, color=_light(role), drawstyle="steps-pre", marker="o", markersize=5, linewidth=1.8)
    above = -_LINE
    for rate, top1, name in steps.compiled:
        x, y = axes.transData.transform((rate, 100 - top1))
        start, middle = (WIDTH - x if canvas.mirrored else x) + _GAP, canvas.height - y - _GAP - 2
        if middle - above >= _LINE - 2 and start + _width(name) <= WIDTH:
            canvas.text(start, middle, name)
            above = middle


def _draw_dots_of(canvas: Canvas, drawing: Dots) -> None:
    seconds, factors, _ = zip(*drawing.dots, strict=True)
    low, high = min(seconds) / 1.3, max(seconds) * 1.3
    least, most = min(1.0, *factors) / 1.05, max(1.0, *factors) * 1.05
    rows, columns = log_ticks(least, most, 0.1), log_ticks(low, high)
    axes = canvas.axes(max(_width(f"{tick:,.6g}×") for tick in rows) + _GAP, WIDTH - _GAP, _GAP, canvas.height - _AXIS)
    axes.set(xscale="log", yscale="log", xlim=(high, low) if canvas.mirrored else (low, high), ylim=(least, most))
    axes.set_xticks(columns, [f"{tick:,.6g}" for tick in columns])
    axes.set_yticks(rows, [f"{tick:,.6g}×" for tick in rows])
    _draw_grid(axes, canvas.mirrored)
    for role, dots in by_value(drawing.dots, (role for *_, role in drawing.dots)).items():
        axes.plot([x for x, *_ in dots], [y for _, y, _ in dots], "o", markersize=8, color=_light(role), alpha=0.85)


def _light(role: Role) -> str:
    return COLOURS[role][0]
