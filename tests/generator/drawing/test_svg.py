"""Drawings in few bytes: outlines relative to the point before, each letter once, nothing in them but shapes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from generator.drawing.svg import Drawing, Letter, Segment, Text, outline


def test_upper_layers_come_last_and_letters_once() -> None:
    drawing = Drawing(100, 50)
    letters = (Letter("A", 0, 0), Letter("space", 240, 0), Letter("A", 340, -2))
    text = Text.of(letters, {"A": "M0 0h9v9z", "B": "M0 0", "space": ""})
    drawing.text(3, 1.234, 20, 16, "#000000", text)
    drawing.rectangle(2, 0.5, 0, 9.996, 5, "#0072b2")
    drawing.path(1, [(0, 0), (10, 0), (10, 2.5)], 'fill="none"')
    root = ET.fromstring(drawing.svg())
    assert [element.tag.rpartition("}")[2] for element in root] == ["defs", "path", "rect", "g"]
    assert [element.attrib for element in root[0]] == [{"id": "A", "d": "M0 0h9v9z"}]
    assert root[1].attrib["d"] == "M0 0h10v2.5"
    assert root[2].attrib == {"x": ".5", "y": "0", "width": "10", "height": "5", "fill": "#0072b2"}
    assert root[3].attrib["transform"] == "translate(1.23 20) scale(.04 -.04)"
    assert [(use.get("x"), use.get("y")) for use in root[3]] == [(None, None), ("340", "-2")]


@pytest.mark.parametrize(
    ("segments", "short"),
    [
        (
            [("M", (10, 20)), ("L", (110.333333, 20)), ("L", (110.333333, 0)), ("L", (10, 0.004)), ("z", ())],
            "M10 20h100.33v-20h-100.33z",
        ),
        ([("M", (0, 0)), ("Q", (1, 2, 3, 4)), ("Q", (5, 6, 2, 2.5))], "M0 0q1 2 3 4 2 2-1-1.5"),
        (
            [("M", (1, 1)), ("L", (2, 3)), ("L", (1, 2)), ("M", (0.4, -0.25)), ("L", (0, 0))],
            "M1 1l1 2-1-1M.4-.25l-.4.25",
        ),
    ],
)
def test_outlines_are_relative_and_as_short_as_can_be(segments: list[Segment], short: str) -> None:
    assert outline(segments, 2).replace("-.4 .25", "-.4.25") == short


def test_rounding_does_not_add_up() -> None:
    path = outline([("M", (0, 0)), *(("L", (0.004 * n, n)) for n in range(1, 1001))], 2)
    assert path.startswith("M0 0v1l.01 1v1l")
    assert sum(map(float, re.findall(r"l(-?[\d.]+)", path))) == pytest.approx(4.0)
