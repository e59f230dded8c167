"""Tiny fonts under the names of Noto's, for tests: a box for each letter, of a height of its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTCollection, TTFont


def tiny_font(letters: Iterable[str], family: str = "Tiny") -> TTFont:
    """Return a font with these letters, their parts, spaces and joiners."""
    texts = [*letters, " \u200c\u200d"]
    codes = sorted({ord(letter) for text in texts for letter in text + normalize("NFKD", text)})
    names = {code: f"u{code:04X}" for code in codes}
    order = [".notdef", *names.values()]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(order)
    builder.setupCharacterMap(names)
    builder.setupGlyf({name: _box(number) for number, name in enumerate(order)})
    builder.setupHorizontalMetrics(dict.fromkeys(order, (600, 50)))
    builder.setupHorizontalHeader(ascent=1000, descent=-300)
    builder.setupNameTable({"familyName": family, "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=1000, usWinAscent=1000, usWinDescent=300)
    builder.setupPost()
    return builder.font


def _box(number: int) -> object:
    top = 300 + number % 500
    pen = TTGlyphPen(None)
    pen.moveTo((50, 0))
    for corner in ((50, top), (550, top), (550, 0)):
        pen.lineTo(corner)
    pen.closePath()
    return pen.glyph()


def pair(folder: Path, name: str, letters: Iterable[str]) -> Path:
    """Write a font in both weights, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for weight in ("Regular", "Bold"):
        tiny_font(letters).save(folder / f"{name}-{weight}.ttf")
    return folder


def collection(folder: Path, name: str, fonts: dict[str, Iterable[str]]) -> Path:
    """Write a collection of fonts, by their families, in both weights, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for weight in ("Regular", "Bold"):
        file = TTCollection()
        file.fonts = [tiny_font(letters, family) for family, letters in fonts.items()]
        file.save(folder / f"{name}-{weight}.ttc")
    return folder
