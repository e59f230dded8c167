"""Writes drawings as SVG: shapes in pixels from the top left corner, and text as outlines of our own fonts.

The same shapes give the same bytes on every machine. A drawing holds each outline once, and rounds to two decimals of
a pixel, more than screens show. It has attributes instead of styles: when it is opened by itself, the host's
Content-Security-Policy may forbid styles within it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

UNITS = 400
"""Units per em in the positions of letters: 1/25 of a pixel in text of 16 pixels."""

Segment = tuple[str, Sequence[float]]
"""A step of an outline: M, L, Q or C with the coordinates of its points, or z, which closes the outline."""


@dataclass(frozen=True)
class Letter:
    """A glyph by its SVG id, and its position in a text: `UNITS` from the start, and upwards."""

    name: str
    x: int
    y: int


@dataclass(frozen=True)
class Text:
    """A line of text as SVG. `shapes` has the outline of each glyph by its id."""

    written: str
    shapes: Mapping[str, str]

    @classmethod
    def of(cls, letters: Iterable[Letter], shapes: Mapping[str, str]) -> Text:
        """Place letters. `shapes` has at least their outlines, "" for those without one, such as spaces."""
        shown = [letter for letter in letters if shapes[letter.name]]
        uses = (f'<use xlink:href="#{letter.name}"{_place(letter)}/>' for letter in shown)
        return cls("".join(uses), {letter.name: shapes[letter.name] for letter in shown})


class Drawing:
    """Shapes in layers. Within a layer, later shapes cover earlier ones."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._shapes: list[tuple[float, str]] = []
        self._letters: dict[str, str] = {}

    def rectangle(self, layer: float, left: float, top: float, width: float, height: float, fill: str) -> None:
        """Add a filled rectangle."""
        place = (f'{name}="{_text(value, 2)}"' for name, value in zip("xy", (left, top), strict=True))
        size = f'width="{_text(width, 2)}" height="{_text(height, 2)}"'
        self._add(layer, f'<rect {" ".join(place)} {size} fill="{fill}"/>')

    def circle(self, layer: float, x: float, y: float, radius: float, paint: str) -> None:
        """Add a circle with the attributes `paint`."""
        self._add(layer, f'<circle cx="{_text(x, 2)}" cy="{_text(y, 2)}" r="{_text(radius, 2)}" {paint}/>')

    def path(self, layer: float, points: Iterable[tuple[float, float]], paint: str, *, closed: bool = False) -> None:
        """Add straight lines from point to point, with the attributes `paint`."""
        segments: list[Segment] = [("L" if number else "M", point) for number, point in enumerate(points)]
        self._add(layer, f'<path d="{outline([*segments, *([("z", ())] if closed else ())], 2)}" {paint}/>')

    def text(self, layer: float, x: float, y: float, size: float, fill: str, text: Text) -> None:
        """Add text that begins at `x`, with its baseline at `y`."""
        self._letters.update(text.shapes)
        scale = f"{size / UNITS:.6g}".lstrip("0")
        moved = f"translate({_joined((_text(x, 2), _text(y, 2)))}) scale({scale} -{scale})"
        self._add(layer, f'<g transform="{moved}" fill="{fill}">{text.written}</g>')

    def _add(self, layer: float, shape: str) -> None:
        self._shapes.append((layer, shape))

    def svg(self) -> bytes:
        """Return the drawing as an SVG file."""
        letters = "".join(f'<path id="{name}" d="{shape}"/>' for name, shape in self._letters.items())
        shapes = "".join(shape for _, shape in sorted(self._shapes, key=lambda entry: entry[0]))
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
            f' width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
            f' stroke-linejoin="round">{f"<defs>{letters}</defs>" if letters else ""}{shapes}</svg>'
        ).encode()


def height(svg: bytes) -> int:
    """Return the height in pixels of a `Drawing` as SVG."""
    match = re.search(rb' height="(\d+)"', svg)
    assert match, "a drawing begins with its size"
    return int(match[1])


def _place(letter: Letter) -> str:
    return "".join(f' {name}="{value}"' for name, value in (("x", letter.x), ("y", letter.y)) if value)


def outline(segments: Iterable[Segment], decimals: int) -> str:
    """Return the data of a path, each point relative to the rounded one before, so that errors do not add up."""
    parts: list[str] = []
    before = ""
    start = at = (0.0, 0.0)
    for command, numbers in segments:
        if command == "z":
            parts, at, before = [*parts, "z"], start, "z"
            continue
        points = [round(number, decimals) for number in numbers]
        if command == "M":
            start = at = (points[0], points[1])
            parts, before = [*parts, f"M{_joined(_text(point, decimals) for point in points)}"], "M"
            continue
        moves = [_text(point - at[place % 2], decimals) for place, point in enumerate(points)]
        name, moves = _straight(moves) if command == "L" else (command.lower(), moves)
        text = _joined(moves)
        parts.append(f"{name}{text}" if name != before else text if text.startswith("-") else f" {text}")
        at, before = (points[-2], points[-1]), name
    return "".join(parts)


def _straight(moves: list[str]) -> tuple[str, list[str]]:
    """Return the shortest command for a line, and its arguments."""
    x, y = moves
    return ("h", [x]) if y == "0" else ("v", [y]) if x == "0" else ("l", moves)


def _text(number: float, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _joined(numbers: Iterable[str]) -> str:
    """Join numbers, with a space only before those without a sign."""
    return " ".join(numbers).replace(" -", "-")
