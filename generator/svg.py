"""The same drawing in fewer bytes: what matplotlib writes for people who take its drawings apart is left out.

An SVG of matplotlib enters and leaves, half as long when compressed: a group that nothing refers to is none, and two
decimals of a pixel are more than a screen shows. Attributes say what styles said: a host's Content-Security-Policy may
apply to a drawing that is opened by itself, and admits no style within it.

    python -m generator.svg < chart.svg | gzip | wc -c
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

_HREF = f"{{{XLINK}}}href"
_GROUP, _DEFINITIONS, _USE, _STYLE = (f"{{{SVG}}}{name}" for name in ("g", "defs", "use", "style"))

GLYPH_SCALE, GLYPH_STEPS = "scale(0.015625)", 16
"""Matplotlib outlines letters in 1/64 of 1/100 em; every 16th of those steps is 0.04 pixels in a text of 15."""

_COMMAND = re.compile(r"([MLQCz])([^MLQCz]*)", re.IGNORECASE)
_TRANSLATION = re.compile(r"(?<=translate\()[^)]*")
_LINKED = re.compile(r"url\(#([^)]+)\)")


def compact(drawing: bytes) -> bytes:
    """An SVG that looks the same. The same bytes give the same bytes."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.fromstring(drawing)  # noqa: S314  # our own drawing
    used = {link.removeprefix("#") for element in root.iter() if (link := element.get(_HREF))}
    _strip(root, used | set(_LINKED.findall(drawing.decode())))
    root.set("stroke-linejoin", "round")  # all that matplotlib's style sheet says
    return bytes(ET.tostring(root, encoding="utf-8"))


def _strip(element: ET.Element, used: set[str]) -> None:
    children = []
    for child in element:
        _strip(child, used)
        if child.tag == _GROUP and not child.attrib:
            children += list(child)
        elif child.tag != _STYLE and (child.tag != _DEFINITIONS or len(child)):
            children.append(child)
    element[:] = children
    element.tail = None
    element.text = element.text and element.text.strip()
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    for place in {"x", "y"} & element.attrib.keys():
        element.set(place, _text(float(element.attrib[place]), 2))
    for declaration in filter(None, element.attrib.pop("style", "").split(";")):
        name, value = declaration.split(":")
        element.set(name.strip(), value.strip())
    _shorten(element)


def _shorten(element: ET.Element) -> None:
    """Its numbers."""
    transform = element.get("transform", "")
    is_glyph = "d" in element.attrib and transform == GLYPH_SCALE
    if "d" in element.attrib:
        outline = element.attrib["d"]
        element.set("d", _outline(outline, 0, GLYPH_STEPS) if is_glyph else _outline(outline, 2, 1))
    if is_glyph:
        element.set("transform", f"scale({0.015625 * GLYPH_STEPS:g})")
    elif transform:
        decimals = 1 if element.tag == _USE else 2  # of 1/100 em, of a pixel
        shorten = lambda match: _joined(_text(float(number), decimals) for number in match[0].split())  # noqa: E731
        element.set("transform", _TRANSLATION.sub(shorten, transform))


def _outline(outline: str, decimals: int, steps: int) -> str:
    """The data of a path relative to the point before, rounded where that is, so that errors do not add up."""
    parts: list[str] = []
    before = ""
    start = at = (0.0, 0.0)
    for command, numbers in _COMMAND.findall(outline):
        if command in "zZ":
            parts, at, before = [*parts, "z"], start, "z"
            continue
        points = [round(float(number) / steps, decimals) for number in numbers.split()]
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
    return "0" if text == "-0" else re.sub(r"^(-?)0\.", r"\1.", text)


def _joined(numbers: Iterable[str]) -> str:
    """With a space only where the next number has no sign."""
    return re.sub(r" -", "-", " ".join(numbers))


if __name__ == "__main__":
    sys.stdout.buffer.write(compact(sys.stdin.buffer.read()))
