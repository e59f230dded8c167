"""Draws a badge, a label and a text side by side, as SVG that needs no font and no other host.

Takes the label, the text and the colour behind it.

    python -m generator status --format badge > translated.svg
"""

from __future__ import annotations

import math
from unicodedata import category
from xml.sax.saxutils import escape

GOOD, MIDDLING, POOR, NEUTRAL = "#2b7a3d", "#8a6100", "#a33b16", "#666"
"""Background colours on which white text is readable."""

LABEL = "torch.compile"
"""What stands on the badges of models."""

_HEIGHT, _SIZE, _PADDING = 20, 11, 6


def share_colour(share: float) -> str:
    """Return the colour of a share from 0 to 1 of which 1 is the aim."""
    return GOOD if share >= 1 else MIDDLING if share >= 0.8 else POOR


def badge(label: str, text: str, colour: str, direction: str = "ltr", spoken: str = "") -> str:
    """Return the badge as SVG, with its words for screen readers: what is `spoken`, or else the label and the text."""
    left, right = _width(label), _width(text)
    words = escape(spoken or f"{label}: {text}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img" '
        f'aria-label="{words}"><title>{words}</title>'
        f'<rect width="{left + right}" height="{_HEIGHT}" rx="3" fill="{colour}"/>'
        f'<path d="M3 0h{left - 3}v{_HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3" fill="#444"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="{_SIZE}" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14" direction="{direction}">{escape(text)}</text></g></svg>\n'
    )


def _width(text: str) -> int:
    """Estimate the width of a text: Chinese and Japanese characters are nearly twice as wide as Latin ones, and marks
    of direction have none."""
    shown = (letter for letter in text if category(letter) != "Cf")
    return 2 * _PADDING + math.ceil(sum(_SIZE if ord(letter) > 0x2E80 else 6.5 for letter in shown))
