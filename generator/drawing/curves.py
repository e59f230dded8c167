"""Draws `Curves`, lines over steps whose words and numbers are all decided, as SVG.

Colours, fonts and mirroring are those of `generator.drawing.canvas`. Where two curves coincide, the wider one, which is
drawn first, shows on both sides of the other.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from generator.drawing.canvas import SMALL, WIDTH, Canvas, DrawnOnce, Role, text_width

HEIGHT = 400
"""Height of every drawing in pixels."""

_BOTTOM = HEIGHT - 56.0
_GAP = 8.0
_LEGEND_LINE = 26.0
_ABOVE = 24.0  # pixels above the plot besides the lines of the legend: the title of the axis
_SAMPLE = 46.0  # length of a line in the legend


@dataclass(frozen=True)
class Curve:
    """One line: its values at steps 1, 2, 3…, all positive, and its style."""

    label: str
    values: tuple[float, ...]
    role: Role
    width: float
    dashed: bool = False


@dataclass(frozen=True)
class Curves:
    """One drawing, with a logarithmic vertical axis."""

    language: str
    right_to_left: bool
    curves: tuple[Curve, ...]
    axis: str  # title of the vertical axis
    ticks: tuple[tuple[float, str], ...]
    step_axis: str  # title of the horizontal axis
    step_ticks: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class CurvesChart(DrawnOnce):
    """A drawing of curves and its words. `alt` is plain text, `caption` HTML."""

    curves: Curves
    alt: str
    caption: str

    @property
    def content(self) -> Curves:
        """The curves."""
        return self.curves

    @property
    def texts(self) -> Iterator[str]:
        """The words of the axes and the legend."""
        return texts(self.curves)

    def draw(self) -> bytes:
        """Return the curves as SVG."""
        return draw(self.curves)

    def as_csv(self) -> str:
        """The values of all curves, a step a line, in full."""
        curves, content = self.curves.curves, StringIO()
        writer = csv.writer(content, lineterminator="\n")
        writer.writerow([self.curves.step_axis, *(curve.label for curve in curves)])
        columns = (curve.values for curve in curves)
        writer.writerows([step, *values] for step, values in enumerate(zip(*columns, strict=True), start=1))
        return content.getvalue()


def draw(curves: Curves) -> bytes:
    """Return the curves as SVG in the colours of a light page. Raises `AtlasError` if the fonts lack a character."""
    return compose(curves).drawing.svg()


def compose(curves: Curves) -> Canvas:
    """Draw the curves on a canvas."""
    canvas = Canvas(curves.language, HEIGHT, mirrored=curves.right_to_left)
    start = max(text_width(text, curves.language, SMALL) for _, text in curves.ticks) + 1.5 * _GAP
    top = _ABOVE + _LEGEND_LINE * _draw_legend(canvas, curves)
    place = _Place.of(curves, start, top)
    for value, text in curves.ticks:
        y = place.y(value)
        canvas.line(start, y, WIDTH, y, "grid")
        canvas.text(start - _GAP, y, text, "muted", SMALL, side="end")
    canvas.text(0, top - 16, curves.axis, "muted", SMALL)
    for step, text in curves.step_ticks:
        half = text_width(text, curves.language, SMALL) / 2
        canvas.text(min(place.x(step), WIDTH - half), _BOTTOM + 16, text, "muted", SMALL, side="middle")
    canvas.text(start, _BOTTOM + 40, curves.step_axis, "muted", SMALL)
    for curve in curves.curves:
        points = [(place.x(step), place.y(value)) for step, value in enumerate(curve.values, start=1)]
        canvas.curve(points, curve.role, curve.width, dashed=curve.dashed)
    return canvas


def texts(curves: Curves) -> Iterator[str]:
    """Yield all words of a drawing."""
    yield from (curves.axis, curves.step_axis)
    yield from (text for _, text in (*curves.ticks, *curves.step_ticks))
    yield from (curve.label for curve in curves.curves)


@dataclass(frozen=True)
class _Place:
    """The positions of steps and values."""

    start: float
    top: float
    steps: int
    low: float
    high: float

    @classmethod
    def of(cls, curves: Curves, start: float, top: float) -> _Place:
        values = [*(value for curve in curves.curves for value in curve.values), *(value for value, _ in curves.ticks)]
        steps = max(len(curve.values) for curve in curves.curves)
        return cls(start + _GAP, top, steps, math.log(min(values)), math.log(max(values)))

    def x(self, step: int) -> float:
        return self.start + (WIDTH - _GAP - self.start) * (step - 1) / max(self.steps - 1, 1)

    def y(self, value: float) -> float:
        return _BOTTOM - (_BOTTOM - self.top) * (math.log(value) - self.low) / max(self.high - self.low, 1e-9)


def _draw_legend(canvas: Canvas, curves: Curves) -> int:
    """Draw the legend, and return its number of lines."""
    x, y, lines = 0.0, 12.0, 1
    for curve in curves.curves:
        width = _SAMPLE + _GAP + text_width(curve.label, curves.language, SMALL)
        if x and x + width > WIDTH:
            x, y, lines = 0.0, y + _LEGEND_LINE, lines + 1
        canvas.curve([(x, y), (x + _SAMPLE, y)], curve.role, curve.width, dashed=curve.dashed)
        canvas.text(x + _SAMPLE + _GAP, y, curve.label, size=SMALL)
        x += width + 2 * _GAP
    return lines
