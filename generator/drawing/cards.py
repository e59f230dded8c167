"""Draws social cards: the pictures that social networks show for a link to a page.

Takes a `Card`, whose words are all decided, and returns PNG. The same card gives the same bytes: it uses our own fonts
and no date. Cards are cached by their content, so each is drawn once. Matplotlib shapes Arabic itself.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generator.cache import Cache
from generator.drawing import fonts
from generator.drawing.link_preview import CARD_SIZE
from generator.languages import typography
from generator.languages.typography import (
    APART,
    CJK,
    CJK_LANGUAGES,
    RIGHT_TO_LEFT,
    RIGHT_TO_LEFT_MARK,
    chinese_words,
    shortened,
)

WIDTH, HEIGHT = CARD_SIZE

PAPER, INK, EAGER, COMPILED = 0xFFFFFF, 0x10263B, 0x56B4E9, 0xE69F00
"""The colours of the logo."""

_CARDS = Cache("cards", ".png")


@dataclass(frozen=True)
class Card:
    """The words on a card, in one language."""

    site: str
    section: str  # the section of the site that has the page; may be ""
    title: str
    text: str  # a sentence or two about the page; may be ""
    language: str
    right_to_left: bool


def draw(card: Card) -> bytes:
    """Return the card as PNG. A box stands for each character that no font has."""
    return _CARDS.get(f"{_version()}\n{card!r}", lambda: _png(_Canvas(card).drawn()))


@cache
def _version() -> str:
    """Return what a drawing depends on besides its card."""
    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return " ".join((*map(importlib.metadata.version, ("matplotlib", "pillow")), fonts.fingerprint(), source))


# ── Drawing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_MARGIN = 80
_ROOM = WIDTH - 2 * _MARGIN
_LOGO = 72
_TITLE_TOP, _BOTTOM = 188, 548
_TITLES = ((84, 2), (70, 3), (56, 4))
"""Sizes of a title, each with the most lines for which it is used."""

_NAME, _TEXT = 40, 32
_LEADING = 1.32
_MUTED = 0.74

_SHADES = 14
_OF_INK, _OF_MUTED_INK = ((np.arange(256) * strength * (_SHADES - 1) // 255).astype("u1") for strength in (1, _MUTED))
"""Shades by the coverage of a pixel, from 0 to 255."""

_EAGER_INDEX, _COMPILED_INDEX = _SHADES, _SHADES + 1
"""Sixteen colours, so that a pixel takes half a byte: shades from paper to ink, and the two variants."""


class _Canvas:
    """A picture of colour indices, shape (HEIGHT, WIDTH).

    Positions are in pixels from the top and from the side where the language starts to read.
    """

    def __init__(self, card: Card) -> None:
        site, section, title, text = map(fonts.drawable, (card.site, card.section, card.title, card.text))
        self.card = replace(card, site=site, section=section, title=title, text=text)
        self.picture = np.zeros((HEIGHT, WIDTH), np.uint8)

    def drawn(self) -> NDArray[np.uint8]:
        """Draw the whole card."""
        card = self.card
        baseline = _MARGIN + _LOGO // 2 + 14
        self._place(_MARGIN, _MARGIN, _square())
        x = _MARGIN + _LOGO + 24
        x += self._text(x, baseline, card.site, _NAME, bold=True) + 20
        if card.section:
            self._text(x, baseline, self._fitted(f"· {card.section}", _NAME, WIDTH - _MARGIN - x), _NAME, muted=True)
        y = self._paragraph(_TITLE_TOP, *self._title(), bold=self._bold) + 18
        fitting = int((_BOTTOM - y) // (_TEXT * _LEADING))
        self._paragraph(y, _shortened(_lines(card.text, card.language, _TEXT), fitting), _TEXT, muted=True)
        self._draw_variants()
        return self.picture

    def _title(self) -> tuple[list[str], int]:
        for size, most in _TITLES:
            lines = _lines(self.card.title, self.card.language, size, bold=self._bold, balanced=True)
            if len(lines) <= most and all(self._fitted(line, size, _ROOM, bold=self._bold) == line for line in lines):
                break
        return _shortened(lines, most), size

    @property
    def _bold(self) -> bool:
        """Whether the title can be bold: bold fonts have only characters in everyday use."""
        return set(self.card.title) <= fonts.coverage(self.card.language, "bold")

    def _paragraph(
        self, y: float, lines: Sequence[str], size: int, *, bold: bool = False, muted: bool = False
    ) -> float:
        for line in lines:
            y += size * _LEADING
            text = self._fitted(line, size, _ROOM, bold=bold)
            self._text(_MARGIN, round(y - 0.28 * size), text, size, bold=bold, muted=muted)
        return y

    def _fitted(self, line: str, size: int, room: float, *, bold: bool = False) -> str:
        """Return a line that fits: one without spaces, as in Thai, can be longer than the card is wide."""
        return shortened(line, room / size, lambda text: _width(text, self.card.language, bold))

    def _text(self, x: int, y: int, text: str, size: int, *, bold: bool = False, muted: bool = False) -> int:
        """Draw text with its baseline at `y`. Return its width."""
        end = float(x)
        for part in _parts(text, right_to_left=self.card.right_to_left):
            glyphs = _glyphs(part, self.card.language, size, bold=bold, muted=muted)
            behind = glyphs.width - glyphs.bearing - glyphs.shades.shape[1]
            before = behind if self.card.right_to_left else glyphs.bearing
            self._place(round(end + before), y - glyphs.ascent, glyphs.shades)
            end += glyphs.width
        return round(end) - x

    def _place(self, x: int, y: int, shape: NDArray[np.uint8]) -> None:
        height, width = shape.shape
        left = WIDTH - x - width if self.card.right_to_left else x
        place = self.picture[y : y + height, max(left, 0) : left + width]
        np.maximum(place, shape[: place.shape[0], : place.shape[1]], out=place)

    def _draw_variants(self) -> None:
        """Draw eager and compiled as two bars: in the logo, which is never mirrored, and along the lower edge."""
        unit = _LOGO // 24
        left = WIDTH - _MARGIN - _LOGO if self.card.right_to_left else _MARGIN
        reading = self.picture[:, ::-1] if self.card.right_to_left else self.picture
        for top, width, index in ((6, 14, _EAGER_INDEX), (13, 8, _COMPILED_INDEX)):
            y, x = _MARGIN + top * unit, left + 5 * unit
            self.picture[y : y + 5 * unit, x : x + width * unit] = index
        reading[-44:-24] = _EAGER_INDEX
        reading[-20:, : WIDTH * 8 // 14] = _COMPILED_INDEX


@cache
def _square() -> NDArray[np.uint8]:
    """Return the background of the logo, a rounded square."""
    radius = _LOGO * 5 / 24
    centres = np.arange(_LOGO) + 0.5
    beyond = np.maximum(np.maximum(radius - centres, centres - _LOGO + radius), 0)
    coverage = 255 * np.clip(radius + 0.5 - np.hypot(beyond, beyond[:, None]), 0, 1)
    shades: NDArray[np.uint8] = _OF_INK[coverage.astype("u1")]
    return shades


def _png(picture: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    image = Image.fromarray(picture)
    image.putpalette(_palette())
    content = BytesIO()
    image.save(content, "PNG", bits=4, compress_type=zlib.Z_RLE)  # fast, and the smallest for flat areas
    return content.getvalue()


@cache
def _palette() -> bytes:
    paper, ink = (np.array(list(colour.to_bytes(3)), float) for colour in (PAPER, INK))
    shares = np.linspace(0, 1, _SHADES)[:, None]
    shades = (paper + shares * (ink - paper)).round().astype(np.uint8)
    return bytes(shades.tobytes() + EAGER.to_bytes(3) + COMPILED.to_bytes(3))


# ── Text ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _set(text: str, language: str, size: int, *, bold: bool = False) -> Any:
    """Return Matplotlib's font with `text` laid out, `size` pixels high. It is the same object for every text."""
    from matplotlib.ft2font import LoadFlags

    font = fonts.drawing_font(language, size, bold=bold)
    # From the right, even where the first word is Latin.
    font.set_text(f"{RIGHT_TO_LEFT_MARK}{text}" if _FROM_THE_RIGHT.search(text) else text, flags=LoadFlags.NO_HINTING)
    return font


_FROM_THE_RIGHT = re.compile(f"[{RIGHT_TO_LEFT}]")


def _parts(text: str, *, right_to_left: bool) -> list[str]:
    """Split a text into parts that are drawn one after the other and cached, since cards share most words."""
    return typography.parts(text) if right_to_left == bool(_FROM_THE_RIGHT.search(text)) else [text]


class _Glyphs(NamedTuple):
    """A drawn text, in pixels."""

    shades: NDArray[np.uint8]
    bearing: float  # from the start of the text to its first shade
    ascent: int  # rows above the baseline
    width: float  # from the start of the text to that of the next


@lru_cache(maxsize=512)
def _glyphs(text: str, language: str, size: int, *, bold: bool, muted: bool) -> _Glyphs:
    font = _set(text, language, size, bold=bold)
    width, height = font.get_width_height()
    ascent = (height - font.get_descent()) // 64 + 1
    font.draw_glyphs_to_bitmap(antialiased=True)
    shades = (_OF_MUTED_INK if muted else _OF_INK)[font.get_image()]
    return _Glyphs(shades, font.get_bitmap_offset()[0] / 64, ascent, width / 64)


@cache
def _advance(character: str, language: str, bold: bool) -> float:
    """Return the width of a single character, in heights of the text."""
    return 1 if unicodedata.east_asian_width(character) in "WF" else _width(character, language, bold)


@lru_cache(maxsize=1024)
def _width(text: str, language: str, bold: bool) -> float:
    """Return the width of a text, in its heights."""
    return float(_set(text, language, 100, bold=bold).get_width_height()[0] / 6400)


def _lines(text: str, language: str, size: int, *, bold: bool = False, balanced: bool = False) -> list[str]:
    """Break `text` into as few lines as fit the width of a card. `balanced` lines have about the same length."""
    pieces = list(_pieces(text, language))
    if APART.fullmatch(text):  # each letter is measured once
        widths = [size * sum(_advance(character, language, bold) for character in piece) for piece in pieces]
    else:
        widths = [size * _width(piece, language, bold) for piece in pieces]
    lines = _filled(pieces, widths, _ROOM)
    for part in np.arange(0.5, 1, 0.05) if balanced else ():
        narrower = _filled(pieces, widths, part * _ROOM)
        if len(narrower) == len(lines):
            return narrower
    return lines


def _filled(pieces: Iterable[str], widths: Iterable[float], room: float) -> list[str]:
    lines: list[str] = []
    used = room
    for piece, width in zip(pieces, widths, strict=True):
        if used + width > room and (not lines or used > 0):
            lines.append("")
            used = 0
        lines[-1] += piece
        used += width
    return [line.strip() for line in lines]


def _shortened(lines: list[str], most: int) -> list[str]:
    """Return the first lines, with an ellipsis if there are more."""
    if len(lines) <= most or not lines:
        return lines
    return [*lines[: most - 1], f"{lines[most - 1].rstrip('。、，,. ')}…"] if most > 0 else []


_JAPANESE = re.compile(
    rf"[\u30a1-\u30ff]+[\u3041-\u309f]*|[\u3005-\u3007\u3400-\u9fff]+[\u3041-\u309f]*|[\u3041-\u309f]+|\s+|[^\s{CJK}]+"
)
_NOT_FIRST = re.compile(r"[\s、。，．：；？！）」』】〉》・,.:;?!)\]}”’…—ー]")
_NOT_LAST = re.compile(r"[（「『【〈《(\[{“‘]$")


def _pieces(text: str, language: str) -> Iterator[str]:
    """Yield the pieces of a text between which a line may break, each with its trailing spaces."""
    if language not in CJK_LANGUAGES:
        yield from re.findall(r"\S+\s*", text)
        return
    piece = ""
    for word in chinese_words(text) if language == "zh" else _JAPANESE.findall(text):
        if piece and not _belongs(piece, word):
            yield piece
            piece = ""
        piece += word
    if piece:
        yield piece


def _belongs(piece: str, word: str) -> bool:
    """Return whether `word` must stay on the line of the piece before it."""
    latin = not re.search(rf"[{CJK}\s]", piece[-1] + word[0])
    return bool(latin or _NOT_FIRST.match(word) or _NOT_LAST.search(piece))
