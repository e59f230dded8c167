"""Drawing: nothing overlaps or leaves the canvas, the same plot gives the same bytes, colours can be told apart."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from matplotlib.transforms import Bbox

from bench.statistics.verdicts import Verdict
from generator.drawing import canvas, plot
from generator.drawing.canvas import DARK, LIGHT, WIDTH
from generator.drawing.plot import Box, Mark, Panel, Plot, PlotRow

LEGEND: tuple[tuple[str, canvas.Role], ...] = (("eager", "eager"), ("compiled", "compiled"))


def lines(count: int, label: str = "Model {}") -> tuple[PlotRow, ...]:
    """Bars from tiny to long, with and without intervals, and one without figures."""
    made = [
        PlotRow(
            label.format(n),
            (
                Mark(3.0 + n**1.5, f"{3 + n**1.5:.1f}", 2.5 + n**1.5, 3.9 + n**1.5 * 1.1),
                Mark(2.0 + n**1.5, f"{2 + n**1.5:.1f} (unstable)" if n % 5 == 0 else f"{2 + n**1.5:.1f}"),
            ),
        )
        for n in range(count - 1)
    ]
    return (*made, PlotRow("DETR", (None, None), "out of memory"))


def bars(count: int = 12, **changes: Any) -> Plot:
    arguments: dict[str, Any] = {
        "kind": "bars",
        "language": "en",
        "right_to_left": False,
        "panels": (Panel(lines(count)),),
        "legend": LEGEND,
        "axis": "latency in ms (lower is better)",
        "ticks": tuple((float(tick), f"{tick:,}") for tick in range(0, 250, 50) if tick <= 3 + count**1.5),
    }
    return Plot(**arguments | changes)


def dots(count: int = 12, **changes: Any) -> Plot:
    return bars(count, **{"kind": "dots", "log": True, "ticks": ((5.0, "5"), (10.0, "10"), (20.0, "20")), **changes})


def change(count: int = 12, **changes: Any) -> Plot:
    rows = tuple(
        PlotRow(
            f"Model {n}", (Mark((n - count * 0.7) / count, f"{n / 10:.1f}%", (n - count * 0.7) / count - 0.05, 0.4),)
        )
        for n in range(count)
    )
    panels = (
        Panel((*rows, PlotRow("DETR", (None,), "out of memory")), "batch size 1"),
        Panel(rows[:3], "batch size 4"),
    )
    ticks = ((-0.5, "-50%"), (0.0, "0%"))
    legend = (("compiled is faster", "compiled"), ("eager is faster", "eager"), ("no clear difference", "zero"))
    return bars(kind="change", panels=panels, ticks=ticks, legend=legend, **changes)


def strip(count: int = 60, **changes: Any) -> Plot:
    marks = tuple(Mark(-0.6 + 0.5 * (n * 7 % count) / count) for n in range(count))
    rows = tuple(
        PlotRow(name, (Mark(-0.1, "median −10.0%"), *marks), "60 comparisons") for name in ("A100", "Intel Xeon")
    )
    return bars(kind="strip", panels=(Panel(rows),), ticks=((-0.5, "-50%"), (0.0, "0%")), **changes)


SPREAD = Box(-0.6, -0.45, -0.4, -0.3, 0.05, 1300)


def boxed_strip(name: str = "RTX 5090", high: float = 1.5) -> Plot:
    """Lines that stand for many comparisons, with the names of their extremes."""
    ends = Mark(-0.73, "convnextv2_atto −73.2%"), Mark(high, "convmixer_1536_20 +146.1%", verdict="slower")
    row = PlotRow(name, (Mark(-0.4, "median −40.0%", verdict="faster"), *ends), "1,300 comparisons", SPREAD)
    return bars(kind="strip", panels=(Panel((row, row)),), ticks=((-0.5, "-50%"), (0.0, "0%"), (1.0, "+100%")))


def quartiles(**changes: Any) -> Plot:
    """A box a row, one of them at a point."""
    point = Box(0.1, 0.1, 0.1, 0.1, 0.1, 5)
    rows = (
        PlotRow("all models", (Mark(-0.4, "−40.0%", verdict="faster"),), box=SPREAD),
        PlotRow("deit", (Mark(0.1, "+10.0%", verdict="slower"),), box=point),
    )
    panels = (Panel(rows, "RTX 5090"), Panel(rows, "RTX 4090"))
    return bars(kind="boxes", panels=panels, ticks=((-0.5, "-50%"), (0.0, "0%")), **changes)


def boxes(drawing: Plot) -> dict[str, Bbox]:
    """Where each text is, in pixels."""
    texts = plot.compose(drawing).texts
    return {
        f"{n} {each.text}": Bbox.from_bounds(each.x, each.y - 0.6 * each.size, each.width, 1.2 * each.size)
        for n, each in enumerate(texts)
    }


def overlaps(drawing: Plot) -> list[tuple[str, str]]:
    found = boxes(drawing)
    return [
        (one, other)
        for (one, first), (other, second) in itertools.combinations(found.items(), 2)
        # The line spacing of a font is taller than its letters: neighbours in a pair of bars may touch in it.
        if min(first.x1, second.x1) - max(first.x0, second.x0) > 0.5
        and min(first.y1, second.y1) - max(first.y0, second.y0) > 4
    ]


LONG = "vit_large_patch14_clip_336.openai_ft_in12k_in1k_{}"
DRAWINGS = {
    "12 models": bars(12),
    "40 models": bars(40),
    "long names": bars(40, panels=(Panel(lines(40, LONG)),)),
    "dots": dots(12),
    "40 dots": dots(40),
    "long dots": dots(40, panels=(Panel(lines(40, LONG)),)),
    "change": change(12),
    "40 changes": change(40),
    "some missing": dots(3, panels=(Panel((PlotRow("DETR", (Mark(3.0), None), "16: OOM"), *lines(2))),)),
    "strip": strip(),
    "boxed strip": boxed_strip(),
    "boxed strip, extremes side by side": boxed_strip(high=-0.7),
    "boxed strip, long names": boxed_strip("RTX PRO 6000 Blackwell Max-Q"),
    "boxes": quartiles(),
    "one model": bars(2),
    "long title": bars(panels=(Panel(lines(3), " · ".join(f"Intel Xeon 2.50 GHz, {n} cores" for n in range(4))),)),
    "long axis": bars(axis=" ".join(f"latency in ms of {n}" for n in range(12))),
    "no models": bars(panels=(), ticks=()),
    "many in the legend": bars(legend=LEGEND, axis="x" * 60),
}


@pytest.mark.parametrize("mirrored", [False, True], ids=["ltr", "rtl"])
@pytest.mark.parametrize("name", list(DRAWINGS))
def test_texts_stay_apart_and_inside(name: str, mirrored: bool) -> None:
    drawing = DRAWINGS[name]
    drawing = Plot(**{**vars(drawing), "right_to_left": mirrored})
    assert overlaps(drawing) == []
    height = plot.compose(drawing).drawing.height
    for text, box in boxes(drawing).items():
        assert box.x0 >= -1, text
        assert box.x1 <= WIDTH + 1, text
        assert box.y0 >= -2, text
        assert box.y1 <= height + 2, text


def test_right_to_left_is_the_mirror_image() -> None:
    ltr, rtl = boxes(bars()), boxes(bars(right_to_left=True))
    assert ltr.keys() == rtl.keys()
    for text, box in ltr.items():
        assert rtl[text].x0 == pytest.approx(WIDTH - box.x1, abs=1.5), text
        assert rtl[text].y0 == pytest.approx(box.y0), text


def test_dark_is_the_same_drawing_in_other_colours() -> None:
    light = plot.draw(change())
    dark = canvas.darken(light)
    assert not {colour.encode() for colour in LIGHT.values()} & set(re.findall(rb"#[0-9a-f]{6}", dark))
    strip_colours = re.compile(rb"#[0-9a-f]{6}")
    assert strip_colours.sub(b"", light) == strip_colours.sub(b"", dark)


def luminance(colour: str) -> float:
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours as WCAG defines it."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("palette", "background"), [(LIGHT, "#ffffff"), (DARK, "#111a22")])
def test_contrast(palette: dict[canvas.Role, str], background: str) -> None:
    for role, colour in palette.items():
        if role != "grid":
            least = 4.5 if role in {"text", "muted"} else 3
            assert contrast(colour, background) >= least, role


_SOUND_AND_DOUBTFUL: tuple[Verdict, Verdict] = ("faster", "doubtful")


def test_a_doubtful_dot_is_hollow() -> None:
    sound, doubtful = (
        plot.draw(dots(panels=(Panel((PlotRow("BeiT", (Mark(2.0, verdict=verdict), Mark(1.0))),)),)))
        for verdict in _SOUND_AND_DOUBTFUL
    )
    assert doubtful.count(b'fill="none"') > sound.count(b'fill="none"')
