"""A drawing as SVG: shapes placed in pixels from the top left corner, and text as outlines of our own fonts.

Shapes enter, bytes leave, the same on every machine. Each letter is outlined once in a drawing, and two decimals of a
pixel are more than a screen shows. Attributes say what styles could: a host's Content-Security-Policy may apply to a
drawing that is opened by itself, and admits no style within it.

    python -m pytest tests/generator/figures/test_svg.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

UNITS = 400
"""Of letters in an em: 1/25 of a pixel in a text of 16."""

Segment = tuple[str, Sequence[float]]
"""A step of an outline, M, L, Q or C and its points, x before y; or z, which leads back to where it began."""


@dataclass(frozen=True)
class Letter:
    """One shape of a font, named after it, and where it stands in a text, in `UNITS` from its start, upwards."""

    name: str
    x: int
    y: int


@dataclass(frozen=True)
class Text:
    """Letters that follow each other, written; `shapes` has the outline of each."""

    written: str
    shapes: Mapping[str, str]

    @classmethod
    def of(cls, letters: Iterable[Letter], shapes: Mapping[str, str]) -> Text:
        """`shapes` has the outlines of at least these, "" where nothing shows."""
        shown = [letter for letter in letters if shapes[letter.name]]
        uses = (f'<use xlink:href="#{each.name}"{_place(each)}/>' for each in shown)
        return cls("".join(uses), {letter.name: shapes[letter.name] for letter in shown})


class Drawing:
    """Shapes in layers; within a layer the later ones lie above."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._shapes: list[tuple[float, str]] = []
        self._letters: dict[str, str] = {}

    def rectangle(self, layer: float, left: float, top: float, width: float, height: float, fill: str) -> None:
        """A filled one."""
        place = (f'{name}="{_text(value, 2)}"' for name, value in zip("xy", (left, top), strict=True))
        size = f'width="{_text(width, 2)}" height="{_text(height, 2)}"'
        self._add(layer, f'<rect {" ".join(place)} {size} fill="{fill}"/>')

    def circle(self, layer: float, x: float, y: float, radius: float, paint: str) -> None:
        """One with the attributes `paint`."""
        self._add(layer, f'<circle cx="{_text(x, 2)}" cy="{_text(y, 2)}" r="{_text(radius, 2)}" {paint}/>')

    def path(self, layer: float, points: Iterable[tuple[float, float]], paint: str, *, closed: bool = False) -> None:
        """Straight lines from point to point, with the attributes `paint`."""
        segments: list[Segment] = [("L" if number else "M", point) for number, point in enumerate(points)]
        self._add(layer, f'<path d="{outline([*segments, *([("z", ())] if closed else ())], 2)}" {paint}/>')

    def text(self, layer: float, x: float, y: float, size: float, fill: str, text: Text) -> None:
        """Letters from `x` on, their baseline at `y`."""
        self._letters.update(text.shapes)
        scale = f"{size / UNITS:.6g}".lstrip("0")
        moved = f"translate({_joined((_text(x, 2), _text(y, 2)))}) scale({scale} -{scale})"
        self._add(layer, f'<g transform="{moved}" fill="{fill}">{text.written}</g>')

    def _add(self, layer: float, shape: str) -> None:
        self._shapes.append((layer, shape))

    def svg(self) -> bytes:
        """All of it."""
        letters = "".join(f'<path id="{name}" d="{shape}"/>' for name, shape in self._letters.items())
        shapes = "".join(shape for _, shape in sorted(self._shapes, key=lambda each: each[0]))
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
            f' width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
            f' stroke-linejoin="round">{f"<defs>{letters}</defs>" if letters else ""}{shapes}</svg>'
        ).encode()


def height(svg: bytes) -> int:
    """Of a `Drawing`, in pixels."""
    found = re.search(rb' height="(\d+)"', svg)
    assert found, "a drawing begins with its size"
    return int(found[1])


def _place(letter: Letter) -> str:
    return "".join(f' {name}="{value}"' for name, value in (("x", letter.x), ("y", letter.y)) if value)


def outline(segments: Iterable[Segment], decimals: int) -> str:
    """The data of a path relative to the point before, rounded where that is, so that errors do not add up."""
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
    """A line, by its shortest name."""
    x, y = moves
    return ("h", [x]) if y == "0" else ("v", [y]) if x == "0" else ("l", moves)


def _text(number: float, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _joined(numbers: Iterable[str]) -> str:
    """With a space only where the next number has no sign."""
    return " ".join(numbers).replace(" -", "-")
