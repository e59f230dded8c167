"""Makes the shipped fonts: subsets of the full Noto fonts with the everyday characters of each script.

Takes a folder with the full fonts and writes the files below ``generator/fonts``. The same sources give the same files.

    python -m generator.drawing.make_fonts /usr/share/fonts
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fontTools import subset
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont, newTable
from fontTools.ttLib.scaleUpem import scale_upem

from bench.errors import AtlasError
from generator.drawing.fonts import ARABIC, CHINESE, FACES, FONTS, JAPANESE, LATIN, NAMES, WEIGHTS, Face, Weight, saved

# Noto Sans lacks minus, arrows and inequality signs. The Noto fonts for symbols have them, on the same design grid.
GRAFTS = {
    "NotoSansMath-Regular.ttf": "−←↑→↓↔≤≥≈≠∞√∝",
    "NotoSansSymbols2-Regular.ttf": "▲△▼▽◆◇■□●○✓✗",
}


def make_all(sources: Path, out: Path = FONTS) -> list[Path]:
    """Make every shipped subset from the full fonts anywhere below `sources`, and return the files."""
    out.mkdir(parents=True, exist_ok=True)
    made = []
    for face in FACES.values():
        for weight in WEIGHTS:
            path = out / face.path(weight).name
            path.write_bytes(make(face, weight, sources))
            made.append(path)
    return made


def make(face: Face, weight: Weight, sources: Path) -> bytes:
    """Return one shipped subset: the everyday characters of the script, without hinting, under its own family name."""
    source = _find(sources, face.source.format(weight.title()))
    font = TTFont(source, fontNumber=face.number)
    font = _subset(font, _everyday(face, weight), features=_features(face))
    if "CFF " in font:
        _simplify(font)
    if face is LATIN:
        for donor, symbols in GRAFTS.items():
            _graft(font, TTFont(_find(sources, donor)), symbols)
    _rename(font, face, weight)
    return saved(font)


def _everyday(face: Face, weight: Weight) -> set[int]:
    if face is LATIN:
        # Latin with all its accents, Greek, spaces, punctuation, super- and subscripts, currencies, letter-like signs.
        return _ranges((0x20, 0x24F), (0x300, 0x3FF), (0x1E00, 0x1EFF), (0x2000, 0x20BF), (0x2100, 0x214F))
    if face is ARABIC:
        # Arabic for all its languages. Shaping makes the presentation forms.
        return _ranges((0x20, 0x20), (0x600, 0x6FF), (0x750, 0x77F), (0x200C, 0x200F))
    # Punctuation, kana, full-width forms and the ideographs of the national standard: in regular both levels (6,763 in
    # GB 2312, 6,355 in JIS X 0208), in bold the first level, the characters in everyday use.
    codec = "gb2312" if face is CHINESE else "euc_jp"
    last = 0xFE if weight == "regular" else 0xD7 if face is CHINESE else 0xCF
    standard = {
        code for lead in range(0xA1, last + 1) for trail in range(0xA1, 0xFF) for code in _decode(codec, lead, trail)
    }
    return standard | _ranges((0x20, 0x7E), (0x3000, 0x30FF), (0xFF01, 0xFF60), (0x2010, 0x2027))


def _features(face: Face) -> list[str]:
    """Return the layout features that pages and charts use. Others would slow every build, which subsets the font."""
    if face in (CHINESE, JAPANESE):
        # Forms for vertical writing, other regions and other widths would double the font; the kerning is for Latin.
        # Browsers close the gap between two punctuation marks with halt.
        return ["ccmp", "halt"]
    # Small capitals, fractions and other alternates would double the Latin font.
    return ["calt", "ccmp", "kern", "liga", "locl", "mark", "mkmk", "tnum", "fina", "init", "isol", "medi", "rlig"]


GRID = 400
"""Units per em in the Chinese and Japanese fonts: 1/25 of a pixel in text of 16 pixels, and a third less to load."""


def _simplify(font: TTFont) -> None:
    """Convert outlines to quadratic curves on a coarser grid: smaller when compressed, and subset ten times as fast."""
    glyphs, order = font.getGlyphSet(), font.getGlyphOrder()
    outlines = newTable("glyf")
    outlines.glyphOrder, outlines.glyphs = order, {}
    for name in order:
        pen = TTGlyphPen(None)
        glyphs[name].draw(Cu2QuPen(pen, max_err=font["head"].unitsPerEm / GRID, reverse_direction=True))
        outlines.glyphs[name] = pen.glyph()
    del font["CFF "]
    font["glyf"], font["loca"] = outlines, newTable("loca")
    font["post"].formatType = 3.0  # no names of glyphs
    font["maxp"].tableVersion = 0x00010000
    for bound in _NO_PROGRAMS:
        setattr(font["maxp"], bound, 0)
    font.sfntVersion = "\x00\x01\x00\x00"
    scale_upem(font, GRID)
    for name, glyph in outlines.glyphs.items():
        glyph.recalcBounds(outlines)
        font["hmtx"][name] = (font["hmtx"][name][0], glyph.xMin)  # any other bearing would move the glyph


_NO_PROGRAMS = (
    *("maxZones", "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs", "maxStackElements"),
    *("maxSizeOfInstructions", "maxComponentElements", "maxComponentDepth", "maxPoints", "maxContours"),
    *("maxCompositePoints", "maxCompositeContours"),
)
"""Fields that the maxp table of TrueType outlines must have. Saving the font computes the bounds among them."""


def _ranges(*bounds: tuple[int, int]) -> set[int]:
    return {code for first, last in bounds for code in range(first, last + 1)}


def _decode(codec: str, lead: int, trail: int) -> list[int]:
    try:
        return [ord(character) for character in bytes((lead, trail)).decode(codec)]
    except UnicodeDecodeError:
        return []


def _find(sources: Path, name: str) -> Path:
    paths = sorted(sources.rglob(name))
    if not paths:
        raise AtlasError(
            f"{name} is not below this folder",
            where=str(sources),
            remedy="install the full fonts (Debian: apt install fonts-noto-core fonts-noto-cjk) and name their folder",
        )
    return paths[0]


def _subset(font: TTFont, codes: Iterable[int], features: list[str]) -> TTFont:
    options = subset.Options(
        hinting=False,
        layout_features=features,
        notdef_outline=True,
        name_IDs=list(NAMES),
        drop_tables=[*subset.Options().drop_tables, "VORG", "vhea", "vmtx", "BASE"],
    )
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)
    return font


def _graft(font: TTFont, donor: TTFont, symbols: str) -> None:
    """Copy the glyphs of `symbols` from `donor` into `font`, both with TrueType outlines on the same grid."""
    scale = font["head"].unitsPerEm / donor["head"].unitsPerEm
    if scale != 1:
        raise AtlasError(
            "the fonts have different design grids",
            where="generator/drawing/make_fonts.py",
            remedy="graft from another",
        )
    glyphs, names = donor.getGlyphSet(), donor.getBestCmap()
    for symbol in symbols:
        pen = TTGlyphPen(None)
        glyphs[names[ord(symbol)]].draw(pen)
        name = f"uni{ord(symbol):04X}"
        font.setGlyphOrder([*font.getGlyphOrder(), name])
        font["glyf"][name] = pen.glyph()
        font["hmtx"][name] = donor["hmtx"][names[ord(symbol)]]
        for table in font["cmap"].tables:
            if table.isUnicode():
                table.cmap[ord(symbol)] = name


def _rename(font: TTFont, face: Face, weight: Weight) -> None:
    """Give the subset its own name, so that it is not confused with the original or an installed font."""
    names: Any = font["name"]
    texts = {1: face.family, 2: weight.title(), 3: f"{face.family} {weight}", 4: f"{face.family} {weight}".title()}
    for number, text in {**texts, 6: f"{face.family.replace(' ', '')}-{weight.title()}"}.items():
        names.removeNames(nameID=number)
        names.setName(text, number, 3, 1, 0x409)


if __name__ == "__main__":
    try:
        for path in make_all(Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts")):
            print(f"{path.name}: {path.stat().st_size:,} bytes")  # noqa: T201  # a command line
    except AtlasError as error:
        sys.exit(str(error))
