"""Makes the shipped fonts: subsets of the full Noto fonts with the everyday characters of each script.

Takes a `Face` and the full fonts, which it finds where systems install them; writes two files below
``generator/fonts``. Faces that are not given stay as they are.

    python -m generator.drawing.make_fonts japanese
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fontTools import subset, unicodedata
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTCollection, TTFont, TTLibError, newTable
from fontTools.ttLib.scaleUpem import scale_upem
from fontTools.varLib.instancer import instantiateVariableFont

from bench import durable
from bench.errors import AtlasError
from generator.drawing.faces import CSS_WEIGHTS, FONTS, WEIGHTS, Face, National, Weight, faces, script_name
from generator.drawing.fonts import NAMES, saved

Sources = Mapping[Weight, Path]
"""The full font of each weight; the same file where it is variable."""


def make_face(face: Face, given: Path | None = None, out: Path = FONTS) -> list[Path]:
    """Make both weights of a face from the full fonts, and return the files.

    The fonts are `given` as a file or a folder, or looked for where systems install them. Raises `AtlasError` where
    there are none, or where they lack the script; no file is changed then.
    """
    found = sources(face, given)
    made = {out / face.path(weight).name: make(face, weight, found[weight]) for weight in WEIGHTS}
    for path, content in made.items():
        durable.write(path, content)
    return list(made)


def make(face: Face, weight: Weight, source: Path) -> bytes:
    """Return one shipped subset: the everyday characters of the script, without hinting, under its own family name."""
    font = _opened(face, weight, source)
    _refuse_other_script(face, font, source)
    font = _subset(font, everyday(face, weight), features=_features(face))
    if "CFF " in font:
        _simplify(font)
    for donor, symbols in face.grafts.items():
        _graft(font, TTFont(source.with_name(f"{donor}-Regular.ttf")), symbols)
    _rename(font, face, weight)
    return saved(font)


# ── The full fonts ──────────────────────────────────────────────────────────────────────────────────────────────────


def sources(face: Face, given: Path | None = None) -> Sources:
    """Return the full fonts of a face, in two weights or variable. Raises `AtlasError` where none is found."""
    if given and not given.is_dir():
        if not given.is_file():
            raise AtlasError(
                "there is no such file", where=str(given), remedy="give a font file, or a folder with fonts"
            )
        bold = given.with_name(given.name.replace("-Regular", "-Bold"))
        return {"regular": given, "bold": bold if bold.is_file() else given}
    places = sorted(given.rglob("*")) if given else _installed()
    for name in _names(face):
        pattern = re.compile(
            rf"{name}(?:-(Regular|Bold|VF)|\[[\w,]*\]|-VariableFont_[\w,]*)(?:\.otf)?\.(?:ttf|otf|ttc)", re.IGNORECASE
        )
        found = {(match[1] or "VF").lower(): path for path in places if (match := pattern.fullmatch(path.name))}
        if any_weight := found.get("vf") or found.get("regular") or found.get("bold"):
            return {weight: found.get(weight, any_weight) for weight in WEIGHTS}
    script, package = script_name(face.scripts[0]), "fonts-noto-cjk" if face.national else "fonts-noto-core"
    raise AtlasError(
        f"no font for the script {script} is {'there' if given else 'installed'}",
        where=str(given or "the folders of fonts of this system"),
        remedy=f"install Noto's (Debian: apt install {package}; others: https://fonts.google.com/noto), "
        "or give a file or folder with --font",
    )


def _names(face: Face) -> list[str]:
    """Return what the files of Noto may be called that have the script, as patterns, best first."""
    if national := face.national:
        return [f"NotoSansCJK(?:{national.region})?", f"NotoSans{national.region}"]
    script = (unicodedata.script_name(face.scripts[0], default="") or "").replace("_", "")
    return [f"NotoSans{script}", f"NotoSerif{script}", "NotoSans"]


def _installed() -> list[Path]:
    from matplotlib.font_manager import findSystemFonts  # noqa: PLC0415  # looks at all fonts when it is imported

    return sorted(map(Path, findSystemFonts()))


def _opened(face: Face, weight: Weight, source: Path) -> TTFont:
    """Open the font of a file, that of the face's region in a collection, and that of this weight in a variable one."""
    try:
        number = _number(face, source) if source.suffix == ".ttc" else -1
        font = TTFont(source, fontNumber=number)
        if "fvar" in font:
            axes = {axis.axisTag: axis.defaultValue for axis in font["fvar"].axes} | {"wght": CSS_WEIGHTS[weight]}
            font = instantiateVariableFont(font, axes, downgradeCFF2=True)
    except (TTLibError, ValueError, KeyError, EOFError) as error:
        raise AtlasError(
            f"is not a usable font: {error}", where=str(source), remedy="choose a different file"
        ) from None
    return font


def _number(face: Face, source: Path) -> int:
    region = face.national.region if face.national else ""
    families = [str(font["name"].getDebugName(1)).split() for font in TTCollection(source, lazy=True).fonts]
    return next((number for number, words in enumerate(families) if region in words), 0)


def _refuse_other_script(face: Face, font: TTFont, source: Path) -> None:
    scripts = _members(face)
    if not any(unicodedata.script(chr(code)) in scripts for code in font.getBestCmap() or ()):
        raise AtlasError(
            f"this font has no letters of the script {script_name(face.scripts[0])}",
            where=str(source),
            remedy="choose a different file with --font",
        )


# ── What a font has ─────────────────────────────────────────────────────────────────────────────────────────────────

_PARTS = {"Kore": "Hang", "Jpan": "Hira", "Hans": "Hani", "Hant": "Hani"}
"""The script by which Unicode knows the letters of one that is a mixture or a variant."""


def _members(face: Face) -> set[str]:
    return {_PARTS.get(script, script) for script in face.scripts}


def everyday(face: Face, weight: Weight) -> set[int]:
    """Return the characters that a font of the face has."""
    if face.characters:
        bounds = [part.strip().removeprefix("U+").partition("-") for part in face.characters.split(",")]
        return _ranges(*((int(first, 16), int(last or first, 16)) for first, _, last in bounds))
    if national := face.national:
        # Besides the standard, punctuation, kana and full-width forms.
        return _standard(national, weight) | _ranges((0x20, 0x7E), (0x3000, 0x30FF), (0xFF01, 0xFF60), (0x2010, 0x2027))
    scripts = _members(face)
    blocks = {unicodedata.script_name(script, default="").replace("_", " ") for script in scripts}  # with their signs
    letters = map(chr, range(0x20000))
    of_script = {
        ord(letter)
        for letter in letters
        if scripts & unicodedata.script_extension(letter) or unicodedata.block(letter) in blocks
    }
    # The joiners and the circle that stands for a missing letter take part in shaping.
    return of_script | set(map(ord, face.own_forms)) | {0x25CC}


def _standard(national: National, weight: Weight) -> set[int]:
    rows = range(0xA1, (national.bold if weight == "bold" else national.regular) + 1)
    return {code for lead in rows for trail in range(0x40, 0xFF) for code in _decode(national.codec, lead, trail)}


def _features(face: Face) -> list[str]:
    """Return the layout features that pages and charts use. Others would slow every build, which subsets the font."""
    groups = subset.Options._layout_features_groups  # noqa: SLF001  # of the features that shapers apply by themselves
    if face.national:
        # Forms for vertical writing, other regions and other widths would double the font; the kerning is for Latin.
        # Browsers close the gap between two punctuation marks with halt.
        return ["ccmp", "halt", *groups["hangul"]]
    # Small capitals, fractions and other alternates would double the Latin font.
    shaping = ("common", "horizontal", "arabic", "indic", "tibetan")
    return [*(feature for group in shaping for feature in groups[group]), "tnum"]


GRID = 400
"""Units per em in fonts with cubic outlines, the large ones: 1/25 of a pixel at 16 pixels, and a third less to load."""


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
            remedy="use a different source font",
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


def main(names: Iterable[str]) -> None:
    """Make the named faces again, and say how large their files are."""
    known = {face.name: face for face in faces()}
    for name in names:
        if name not in known:
            raise AtlasError("there is no such face", where=name, remedy=f"use one or more of {', '.join(known)}")
        for path in make_face(known[name]):
            print(f"{path.name}: {path.stat().st_size:,} bytes")  # noqa: T201  # a command line


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or [""])
    except AtlasError as error:
        sys.exit(str(error))
