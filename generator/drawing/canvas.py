"""The canvas of charts: pixels, colours and text, mirrored as a whole for right-to-left languages.

Everything is placed in pixels on a canvas `WIDTH` wide. The same shapes give the same bytes on every machine: text is
drawn as paths of our own fonts. Matplotlib shapes the text, including Arabic; writing the few shapes without it takes
a tenth of the time.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, product
from pathlib import Path
from string import ascii_lowercase
from threading import RLock
from typing import Any, Literal

from generator.cache import Cache
from generator.drawing import fonts, svg
from generator.drawing.faces import WEIGHTS, faces
from generator.drawing.svg import UNITS, Drawing, Letter, Segment, Text, outline
from generator.languages import typography
from generator.languages.typography import LEFT_TO_RIGHT_MARK, RIGHT_TO_LEFT_MARK, shortened

WIDTH = 480
"""Width of every chart in pixels. On a phone 390 pixels wide, text of size `SMALL` is still taller than ten pixels."""

LABEL = 16.0
SMALL = 14.5

Role = Literal[
    "text", "muted", "grid", "zero", "eager", "compiled", "gain", "loss", "first", "second", "third", "fourth", "fifth"
]

LIGHT: dict[Role, str] = {
    "text": "#16202a",
    "muted": "#4a5764",
    "grid": "#dfe4e9",
    "zero": "#6b7885",
    "eager": "#0072b2",
    "compiled": "#d55e00",
    "gain": "#00694b",
    "loss": "#a83a00",
    "first": "#a36fc4",
    "second": "#7a3f9d",
    "third": "#4b1b69",
    "fourth": "#9a4f78",
    "fifth": "#612746",
}
"""Colours on a light page. Eager is blue and compiled orange everywhere (Okabe and Ito: safe for colour-blind readers).
A gain is green and a loss red, as in tables (docs/assets/stylesheets/atlas.css). Batch sizes and versions are steps of
one purple, each with its own shape."""

DARK: dict[Role, str] = {
    "text": "#e3e9ef",
    "muted": "#a9b5c1",
    "grid": "#293845",
    "zero": "#8a97a4",
    "eager": "#56b4e9",
    "compiled": "#e69f00",
    "gain": "#4fd1a5",
    "loss": "#ffa366",
    "first": "#9d6cc0",
    "second": "#c49ae0",
    "third": "#ecd9fb",
    "fourth": "#cf8db0",
    "fifth": "#f3cfe0",
}
"""The same colours on a dark page."""

_SVG = Cache("charts", ".svg")


class DrawnOnce(ABC):
    """A drawing that is kept: it is drawn once for all builds and processes."""

    width = WIDTH

    @property
    @abstractmethod
    def content(self) -> object:
        """What is drawn. Its representation is the key of the drawing."""

    @property
    @abstractmethod
    def texts(self) -> Iterable[str]:
        """The words in it."""

    @property
    def lacking(self) -> frozenset[str]:
        """Its characters that no font has: a box stands for each."""
        return frozenset(fonts.lacking(self.texts))

    @abstractmethod
    def draw(self) -> bytes:
        """Return the drawing as SVG in the colours of a light page."""

    @cached_property
    def height(self) -> int:
        """Height in pixels, read from the drawing: a cached drawing is read faster than its texts are measured."""
        return svg.height(self.light)

    @property
    def light(self) -> bytes:
        """SVG for a light page."""
        return _SVG.get(self._key, self.draw)

    @property
    def dark(self) -> bytes:
        """SVG for a dark page: the same drawing in other colours."""
        return darken(self.light)

    @cached_property
    def _key(self) -> str:
        return hashlib.sha256(f"{_version()}\n{self.content!r}".encode()).hexdigest()


@cache
def _version() -> str:
    """Return what drawings depend on besides their content: fonts, Matplotlib and the modules that draw."""
    here = Path(__file__)
    modules = [here.with_name(f"{name}.py") for name in ("canvas", "curves", "plot", "svg")]
    program = hashlib.sha256(b"".join(module.read_bytes() for module in modules)).hexdigest()
    return f"{importlib.metadata.version('matplotlib')} {fonts.fingerprint()} {program}"


# ── Colours ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def darken(svg: bytes) -> bytes:
    """Return the drawing in the colours of a dark page."""
    dark = {LIGHT[role].encode(): DARK[role].encode() for role in LIGHT}
    return re.sub(rb"#[0-9a-f]{6}", lambda match: dark.get(match[0], match[0]), svg)


# ── Text ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SETTING = RLock()
"""A font of Matplotlib holds one text at a time."""

_EM = 100
"""Size in pixels at which text is shaped, once for all sizes and without hinting."""

_SHAPES: dict[str, str] = {}
"""Outlines of glyphs by the name of their font and their number in it. The fonts limit how many there are."""


_NUMERAL = re.compile(r"[0-9.,%−+×]{2,}")
"""Characters that have no ligatures or kerning: most texts of charts consist of them, and each is shaped once."""


def _parts(text: str) -> list[str]:
    """Split a text into parts that are shaped independently, in reading order.

    They run from the right if the first part begins with a right-to-left mark.
    """
    if _NUMERAL.fullmatch(text):
        return list(text)
    if LEFT_TO_RIGHT_MARK in text and not typography.FROM_THE_RIGHT.search(text):
        return [text]
    return typography.parts(text)  # charts share most of their words


def text_width(text: str, language: str, size: float, *, bold: bool = False) -> float:
    """Return the width of `text` in pixels."""
    return _width(fonts.drawable(text), language, bold) * size / _EM


@lru_cache(maxsize=8192)
def _width(text: str, language: str, bold: bool) -> float:
    if len(parts := _parts(text)) > 1:
        return sum(_width(part, language, bold) for part in parts)
    if typography.FROM_THE_RIGHT.search(text):  # the right-to-left mark comes first, so it stands where the text ends
        return max(start for _, start, _ in _set(*parts, language, bold))
    if len(text) > 1 and typography.APART.fullmatch(text):
        *_, (_, start, _) = letters = _set(text, language, bold)
        if len(letters) == len(text):  # without ligatures the last glyph is as wide as it is alone
            return start + _width(text[-1], language, bold)
    from matplotlib.ft2font import LoadFlags

    with _SETTING:  # takes as long as all of `_set`
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
    """Return the SVG id of a glyph: a letter for its font, and its number in it. It makes a chart a sixth smaller."""
    font, _, number = name.rpartition("-")
    # Shaping may ask for a part of a letter that no font has: Matplotlib's own font of last resort shows a box.
    return f"{_font_letters().get(font, '_')}{number}"


@cache
def _font_letters() -> dict[str, str]:
    """Return the letters that stand for each font in SVG ids."""
    letters = chain(ascii_lowercase, map("".join, product(ascii_lowercase, repeat=2)))
    fonts_in_order = product(faces(), WEIGHTS)
    return {
        f"{face.family.replace(' ', '')}-{weight.title()}": letter
        for (face, weight), letter in zip(fonts_in_order, letters, strict=False)
    }


def _placed(text: str, language: str, bold: bool) -> Iterator[tuple[str, float, float]]:
    """Yield the glyphs of a text and their positions in pixels, and put their outlines into `_SHAPES`."""
    if len(parts := _parts(text)) <= 1:
        yield from _set("".join(parts), language, bold)
        return
    start = 0.0
    for part in reversed(parts) if parts[0].startswith(RIGHT_TO_LEFT_MARK) else parts:
        yield from ((name, start + x, y) for name, x, y in _placed(part, language, bold))
        start += _width(part, language, bold)


@lru_cache(maxsize=1024)
def _set(text: str, language: str, bold: bool) -> tuple[tuple[str, float, float], ...]:
    from matplotlib.path import Path as Shape
    from matplotlib.textpath import TextToPath

    scale = UNITS / _EM
    known: Any = _SHAPES  # only its keys are read
    with _SETTING:
        font = fonts.drawing_font(language, _EM, bold=bold)
        placed, new, _ = TextToPath().get_glyphs_with_font(font, text, known, return_new_glyphs_only=True)
        for name, (points, codes) in new.items():
            _SHAPES[name] = outline(_segments(Shape(points * scale, codes)), 0)
    return tuple((name, x, y) for name, x, y, _ in placed)


def _segments(shape: Any) -> Iterator[Segment]:
    commands = {shape.MOVETO: "M", shape.LINETO: "L", shape.CURVE3: "Q", shape.CURVE4: "C", shape.CLOSEPOLY: "z"}
    for points, code in shape.iter_segments(simplify=False):
        yield commands[code], points.tolist()


_IN_SEQUENCE = re.compile(rf"[{typography.RIGHT_TO_LEFT}]|[·†]")


def _from_the_right(text: str) -> str:
    """Mark right-to-left text and lists of facts as right-to-left, even if the first word is Latin."""
    return f"{RIGHT_TO_LEFT_MARK}{text}" if _IN_SEQUENCE.search(text) else text


# ── Canvas ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Placed:
    """A text on a canvas: its left end, the middle of its letters, its width and size, in pixels."""

    text: str
    x: float
    y: float
    width: float
    size: float


class Canvas:
    """Places shapes in pixels from the top and from the side where the language starts to read."""

    def __init__(self, language: str, height: float, *, mirrored: bool) -> None:
        self.language = language
        self.mirrored = mirrored
        self.drawing = Drawing(WIDTH, math.ceil(height))
        self.texts: list[Placed] = []

    def text(self, x: float, y: float, text: str, role: Role = "text", size: float = LABEL, **how: Any) -> None:
        """Draw text with its middle at `y`. The keyword `side` says which end is at `x`: start, middle or end."""
        if not text:
            return
        bold = how.get("bold", False)
        text = shortened(fonts.drawable(text), WIDTH, lambda each: text_width(each, self.language, size, bold=bold))
        width = text_width(text, self.language, size, bold=bold)
        before = {"start": 0.0, "end": width}.get(how.get("side", "start"), width / 2)
        left = self._x(x) - (width - before if self.mirrored else before)
        written = _written(_from_the_right(text) if self.mirrored else text, self.language, bold)
        self.drawing.text(3, left, y + 0.36 * size, size, LIGHT[role], written)
        self.texts.append(Placed(text, left, y, width, size))

    def bar(self, x: float, y: float, width: float, height: float, role: Role) -> None:
        """Draw a rectangle that begins at `x`, with its middle at `y`."""
        left = min(self._x(x), self._x(x + width))
        self.drawing.rectangle(2, left, y - height / 2, abs(width), height, LIGHT[role])

    def line(
        self, x: float, y: float, to_x: float, to_y: float, role: Role, width: float = 1, layer: float = 1
    ) -> None:
        """Draw a straight line."""
        self.drawing.path(layer, [(self._x(x), y), (self._x(to_x), to_y)], _stroke(role, width))

    def curve(self, points: Sequence[tuple[float, float]], role: Role, width: float, *, dashed: bool = False) -> None:
        """Draw straight lines from point to point."""
        style = f'stroke-dasharray="{4 * width:g} {2 * width:g}"' if dashed else 'stroke-linecap="square"'
        self.drawing.path(3, [(self._x(x), y) for x, y in points], f"{_stroke(role, width)} {style}")

    def dot(self, x: float, y: float, role: Role, size: float = 12, shape: str = "o", *, hollow: bool = False) -> None:
        """Draw a mark of `size` pixels."""
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
"""Corners of the shapes that have any, in halves of their size, to the right and down."""
