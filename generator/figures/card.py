"""Share cards: the pictures that social networks show for a link, one for all languages.

A card has a name, the factor by which compiling makes it faster, and a small chart.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice

from generator.data.selection import Rows
from generator.figures.charts import distributions, factor
from generator.figures.drawing import WIDTH, Canvas, Drawing, Panel, draw

SIZE = 1200, 630
"""Width and height in pixels, as recommended for Open Graph."""

MOST_BOXES = 4
"""How many a card has room for."""


def card(name: str, rows: Rows) -> bytes:
    """Return the card about some rows as PNG."""
    boxes = [replace(row, marks=(), extremes=()) for row in islice(distributions(rows), MOST_BOXES)]
    scale = SIZE[0] / WIDTH
    canvas = Canvas(SIZE[1] / scale)
    write = partial(canvas.text, 24)
    write(34, "Compile Atlas · torch.compile", color="#4a5764")
    write(72, name, weight="bold", size=min(32.0, 690 / max(len(name), 1)))
    if medians := sorted(row.box.median for row in boxes if row.box):
        write(116, "–".join(dict.fromkeys(map(factor, (medians[0], medians[-1])))), weight="bold", size=34)
        draw(canvas, Drawing("boxes", (Panel(tuple(boxes)),)), top=142)
    return canvas.saved("png", dpi=72 * scale, facecolor="white")
