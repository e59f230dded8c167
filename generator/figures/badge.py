"""Draws a badge, a label and a text side by side, as SVG that needs no font and no other host.

Takes the label, the text and a share from 0 to 1 that determines the colour.

    python -m generator status --format badge > translated.svg
"""

from __future__ import annotations

from xml.sax.saxutils import escape

GOOD, MIDDLING, POOR = "#2b7a3d", "#8a6100", "#a33b16"
"""Background colours on which white text is readable."""

_HEIGHT, _SIZE, _PADDING = 20, 11, 6


def badge(label: str, text: str, share: float) -> str:
    """Return the badge as SVG, with its words as text for screen readers."""
    colour = GOOD if share >= 1 else MIDDLING if share >= 0.8 else POOR
    left, right = _width(label), _width(text)
    words = escape(f"{label}: {text}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img" '
        f'aria-label="{words}"><title>{words}</title>'
        f'<rect width="{left + right}" height="{_HEIGHT}" rx="3" fill="{colour}"/>'
        f'<path d="M3 0h{left - 3}v{_HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3" fill="#444"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="{_SIZE}" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(text)}</text></g></svg>\n'
    )


def _width(text: str) -> int:
    """Estimate the width of a text: Chinese and Japanese characters are nearly twice as wide as Latin ones."""
    return 2 * _PADDING + sum(_SIZE if ord(letter) > 0x2E80 else 7 for letter in text)
