"""Share cards: the pictures that social networks show for a link, one for all languages.

A card has a name, the factor by which compiling makes it faster, and a small chart.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from generator.cache import kept
from generator.data.selection import Rows
from generator.figures.charts import distributions, factor
from generator.figures.drawing import COLOURS, WIDTH, Canvas, Drawing, Row, draw, height, version

SIZE = 1200, 630
"""Width and height in pixels, as recommended for Open Graph."""

MARGIN, TOP = 24, 142
"""Pixels beside a chart `WIDTH` wide, and above it."""


def card(name: str, rows: Rows) -> bytes:
    """Return the card about some rows as PNG; without a name, it is about all. Finished ones are kept on disk."""
    boxes = [replace(row, label=row.label.rpartition(" · ")[0], marks=(), extremes=()) for row in distributions(rows)]
    return kept("cards", ".png", f"{version(__file__)} {name} {boxes!r}", lambda: _saved(name, boxes))


def _saved(name: str, boxes: list[Row]) -> bytes:
    scale = SIZE[0] / (WIDTH + 2 * MARGIN)
    canvas = Canvas(SIZE[1] / scale, margin=MARGIN)
    write = partial(canvas.text, 0)
    write(32, "torch.compile" + " · Compile Atlas" * bool(name), color=COLOURS["muted"][0])
    title = name or "Compile Atlas"
    write(68, title, weight="bold", size=min(32.0, 690 / len(title)))
    if medians := sorted(row.box.median for row in boxes if row.box):
        write(112, "–".join(dict.fromkeys(map(factor, (medians[0], medians[-1])))), weight="bold", size=34)
        while height(chart := Drawing("boxes", tuple(boxes))) > canvas.height - TOP - MARGIN / 2:
            boxes.pop()
        draw(canvas, chart, TOP)
    return canvas.saved("png", dpi=72 * scale, facecolor="white")
