"""Drawings: nothing overlaps or is clipped, mirrored or not; the same bytes each time; colours as in the page."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

from generator.figures import drawing
from generator.figures.drawing import COLOURS, WIDTH, Box, Canvas, Curve, Drawing, Mark, Row, Steps

names = st.text("abcdefghijklmnopqrstuvwxyz_0123456789.-", min_size=1, max_size=40)
values = st.floats(0.02, 50)
marks = st.builds(Mark, values, st.sampled_from(["gain", "loss", "zero"]))
figures = st.sampled_from(["1.52×", "12,345.6 → 9,876.5", "OOM", "–"])
bars = st.builds(Row, names, st.tuples(marks, marks), st.tuples(figures, figures))
boxes = st.builds(
    Row,
    names,
    figures=st.tuples(figures),
    box=st.lists(values, min_size=1).map(Box.of),
    extremes=st.just(()) | st.tuples(names) | st.tuples(names, names),
)
drawings = st.sampled_from([("bars", bars), ("boxes", boxes)]).flatmap(
    lambda kind: st.builds(
        Drawing,
        st.just(kind[0]),
        st.lists(kind[1], max_size=8).map(tuple),
    )
)


def texts(drawn: Drawing, *, mirrored: bool) -> list[tuple[str, Any]]:
    """All texts of a drawing, with their boxes in pixels."""
    canvas = Canvas(drawing.height(drawn), mirrored=mirrored)
    drawing.draw(canvas, drawn)
    figure: Any = canvas.figure
    figure.draw_without_rendering()
    ticks = [label for axes in figure.axes for label in axes.get_xticklabels()]
    return [(text.get_text(), text.get_window_extent()) for text in (*figure.texts, *ticks) if text.get_text()]


@given(drawings, st.booleans())
@settings(max_examples=60, deadline=None, phases=set(Phase) - {Phase.shrink})  # a drawing takes long to shrink
def test_no_text_overlaps_another_or_leaves_the_picture(drawn: Drawing, mirrored: bool) -> None:
    found = texts(drawn, mirrored=mirrored)
    for text, box in found:
        assert box.x0 >= -1, text
        assert box.x1 <= WIDTH + 1, text
        assert box.y0 >= -1, text
        assert box.y1 <= drawing.height(drawn) + 1, text
    for (first, one), (second, other) in combinations(found, 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        down = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert across < 1 or down < 3, (first, second)


ONE = Drawing("bars", (Row("ViT", (Mark(1.5, "gain"),), ("1.50×",)), Row("BeiT", (), ("OOM",))))
LINES = (Curve((4.0, 2.0, 1.0), "eager"), Curve((4.0, 2.0, 1.0), "compiled"))
STEPS = Steps(((100.0, 90.0, "a"), (1000.0, 80.0, "b")), ((200.0, 90.0, "a"), (3000.0, 81.0, "c")))


@pytest.mark.parametrize("drawn", [ONE, LINES, STEPS])
def test_the_same_drawing_gives_the_same_bytes_without_a_date(drawn: drawing.Picture) -> None:
    first, again = (drawing._saved(drawn, mirrored=False) for _ in range(2))
    assert first == again
    assert b"<dc:date>" not in first
    assert first != drawing._saved(drawn, mirrored=True)


def test_the_image_in_the_page_has_the_height_of_the_drawing() -> None:
    assert f'viewBox="0 0 480 {drawing.height(ONE)}"'.encode() in drawing.svg(ONE)


def test_dark_is_the_same_drawing_in_other_colours() -> None:
    light, dark = drawing.svg(ONE), drawing.svg(ONE, dark=True)
    assert len(light) == len(dark)
    for role in ("gain", "text", "muted"):
        before, after = COLOURS[role]
        assert before.encode() in light
        assert after.encode() in dark
    assert not [each for each, _ in COLOURS.values() if each.encode() in dark]


def test_a_name_in_another_script_is_text_for_fonts_of_the_system(recwarn: pytest.WarningsRecorder) -> None:
    drawn = drawing._saved(Drawing("bars", (Row("โมเดล", (Mark(2.0, "gain"),)),)), mirrored=False)
    assert ">โมเดล</text>" in drawn.decode()
    assert not [each for each in recwarn if "Glyph" in str(each.message)]


def test_legends_of_pages_have_the_colours_of_drawings() -> None:
    styles = Path("docs/assets/stylesheets/atlas.css").read_text("utf-8")
    keys = dict(re.findall(r"\.key-(\w+) \{ --key: (.+); \}", styles))
    assert keys.keys() == COLOURS.keys() - {"text", "muted", "grid"}
    for role, colour in keys.items():
        name = colour.removeprefix("var(").removesuffix(")")
        given = re.findall(rf"{re.escape(name)}: (.+);", styles) or [colour]  # once for both schemes, or once for each
        assert re.findall(r"#\w{6}", " ".join(given)) == list(COLOURS[role])
