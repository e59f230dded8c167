"""The fonts of charts and pages: subsets of Noto that ship with the repository, and smaller ones of them for the web.

A face covers one script; a language reads with its own face and falls back to the others. Charts set text with the
shipped files (`drawing_font`); pages serve woff2 files with exactly the characters a language uses (`web_font`).
No font of the machine or of another host is ever used, so that every build draws the same shapes.

    python -m generator.fonts /usr/share/fonts     # make the shipped subsets again from the full Noto fonts
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import fontTools
from fontTools import subset
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont, newTable
from fontTools.ttLib.scaleUpem import scale_upem

from bench.errors import AtlasError
from generator.cache import Cache
from generator.language import script_of

FONTS = Path(__file__).resolve().parent / "fonts"
"""The shipped subsets and their licence."""

Weight = Literal["regular", "bold"]
WEIGHTS: tuple[Weight, ...] = ("regular", "bold")


@dataclass(frozen=True)
class Face:
    """One script in two weights. `family` is its name in CSS, and no installed font has it."""

    name: str  # of the files: <name>-<weight>.ttf
    family: str
    source: str  # file name of the full font, with the weight as {}
    number: int = 0  # in a collection

    def path(self, weight: Weight = "regular") -> Path:
        """The shipped file."""
        return FONTS / f"{self.name}-{weight}.ttf"


LATIN = Face("latin", "Atlas Sans", "NotoSans-{}.ttf")
ARABIC = Face("arabic", "Atlas Sans Arabic", "NotoSansArabic-{}.ttf")
CHINESE = Face("chinese", "Atlas Sans SC", "NotoSansCJK-{}.ttc", number=2)
JAPANESE = Face("japanese", "Atlas Sans JP", "NotoSansCJK-{}.ttc", number=0)

FACES: dict[str, Face] = {"en": LATIN, "zh": CHINESE, "ja": JAPANESE, "ar": ARABIC}
"""The face of each language, besides the Latin one that all of them use for names and digits."""

SCRIPTS: dict[str, Face] = {"Latn": LATIN, "Grek": LATIN, "Arab": ARABIC, "Hans": CHINESE, "Jpan": JAPANESE}
"""The face of each script that another language may be written in."""


@functools.cache
def face_of(language: str) -> Face:
    """The face of a language: its own, else that of its script, else the Latin one."""
    return FACES.get(language) or SCRIPTS.get(script_of(language), LATIN)


def is_covered(language: str) -> bool:
    """Whether a face for the script of a language ships with the atlas."""
    return language in FACES or script_of(language) in SCRIPTS


_WEB = Cache("web-fonts", ".woff2", level=0)


# ── For charts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def drawing_font(language: str, size: float, *, bold: bool = False) -> Any:
    """Matplotlib's font for text in `language`, `size` pixels high: it looks a character up in the Latin face, then in
    that of the language, then in the others. The same font for whoever asks in a thread: set the text at once.
    """
    from matplotlib.font_manager import get_font  # noqa: PLC0415  # web pages need none of it

    font = get_font(_drawing_files(language, "bold" if bold else "regular"))
    font.set_size(size, 72)
    return font


@functools.cache
def _drawing_files(language: str, weight: Weight) -> tuple[str, ...]:
    faces = dict.fromkeys((LATIN, face_of(language), *FACES.values()))
    return tuple(str(_shipped(face, weight)) for face in faces)


@functools.cache
def fingerprint() -> str:
    """Changes whenever a shipped font does: part of the key of whatever is drawn with them."""
    digest = hashlib.sha256()
    for face in FACES.values():
        for weight in WEIGHTS:
            digest.update(_shipped(face, weight).read_bytes())
    return digest.hexdigest()


@functools.cache
def coverage(language: str, weight: Weight = "regular") -> frozenset[str]:
    """The characters that text in `language` can show with shipped fonts, fallbacks to other scripts left out."""
    faces = {LATIN, face_of(language)}
    return frozenset(chr(code) for each in faces for code in _characters(each, weight))


# ── For pages ───────────────────────────────────────────────────────────────────────────────────────────────────────


def web_font(
    language: str, characters: Iterable[str], weight: Weight = "regular", among: Sequence[frozenset[str]] = ()
) -> bytes:
    """A woff2 font with those of `characters` that the face of `language` serves (`served`), and nothing else.

    ``web_font("en", …)`` is the Latin face, which every language needs. The same characters give the same bytes. Of
    several fonts, `among` is what all of them have together, and then what fewer of them have: a face is cut the
    quicker the smaller it is, and such a part of it is cut once and not for each.
    """
    codes = {ord(character) for character in served(language, characters, weight)}
    source = _shipped(face_of(language), weight)
    key = "\n".join((fingerprint(), _program(), source.name, ",".join(map(str, sorted(codes)))))
    return _WEB.get(key, lambda: _woff2(functools.reduce(_part, among, _whole(source)), codes))


def served(language: str, characters: Iterable[str], weight: Weight = "regular") -> frozenset[str]:
    """Those of `characters` that the face of `language` shows in pages.

    The faces of ``zh``, ``ja`` and ``ar`` serve only what the Latin one lacks, and the few characters that look
    different in their script, so in CSS they stand before the Latin family.
    """
    own = face_of(language)
    codes = {ord(character) for text in characters for character in text} & _characters(own, weight)
    if own is not LATIN:
        codes -= _characters(LATIN, weight) - _OWN_FORMS[own.name]
    return frozenset(map(chr, codes))


# Quotes, dashes and ellipses are as wide as an ideograph in Chinese and Japanese; Arabic letters join across joiners.
_OWN_FORMS = {
    "chinese": frozenset(map(ord, "“”‘’—…")),
    "japanese": frozenset(map(ord, "“”‘’—…")),
    "arabic": frozenset(map(ord, " \u200c\u200d\u200e\u200f")),
}


@functools.cache
def _program() -> str:
    """What cuts: a font that is kept is cut anew when this changes."""
    here = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return f"{fontTools.version} {importlib.metadata.version('brotli')} {here}"


@functools.lru_cache(maxsize=len(WEIGHTS))
def _whole(source: Path) -> bytes:
    return source.read_bytes()


@functools.lru_cache(maxsize=2 * len(WEIGHTS))
def _part(font: bytes, characters: frozenset[str]) -> bytes:
    return _saved(_subset(_opened(font), set(map(ord, characters)), features=["*"]))


def _woff2(source: bytes, codes: Collection[int]) -> bytes:
    font = _subset(_opened(source), codes, features=["*"])
    font.flavor = "woff2"
    return _saved(font)


def _opened(font: bytes) -> TTFont:
    """Its bounds stay those of the face: to compute them, every outline would have to be unpacked."""
    return TTFont(BytesIO(font), recalcBBoxes=False, lazy=True)


@functools.cache
def _characters(face: Face, weight: Weight) -> frozenset[int]:
    with TTFont(_shipped(face, weight), lazy=True) as font:
        return frozenset(font.getBestCmap())


def _shipped(face: Face, weight: Weight) -> Path:
    path = face.path(weight)
    if not path.is_file():
        raise AtlasError(
            "a font of the atlas is missing",
            where=str(path),
            remedy="restore it from the repository, or run `python -m generator.fonts FOLDER` with the full Noto fonts",
        )
    return path


# ── Making the shipped subsets ──────────────────────────────────────────────────────────────────────────────────────

# Noto Sans has no minus, no arrows and no inequality signs; its siblings for symbols have, on the same design grid.
GRAFTS = {
    "NotoSansMath-Regular.ttf": "−←↑→↓↔≤≥≈≠∞√∝",
    "NotoSansSymbols2-Regular.ttf": "▲△▼▽◆◇■□●○✓✗",
}


def make_all(sources: Path, out: Path = FONTS) -> list[Path]:
    """Make every shipped subset from the full fonts anywhere below `sources`. Deterministic for the same sources."""
    out.mkdir(parents=True, exist_ok=True)
    made = []
    for face in FACES.values():
        for weight in WEIGHTS:
            path = out / face.path(weight).name
            path.write_bytes(make(face, weight, sources))
            made.append(path)
    return made


def make(face: Face, weight: Weight, sources: Path) -> bytes:
    """One shipped subset: the everyday characters of the script, no hinting, the face's own family name."""
    source = _find(sources, face.source.format(weight.title()))
    font = TTFont(source, fontNumber=face.number)
    font = _subset(font, _everyday(face, weight), features=_features(face))
    if "CFF " in font:
        _simplify(font)
    if face is LATIN:
        for donor, symbols in GRAFTS.items():
            _graft(font, TTFont(_find(sources, donor)), symbols)
    _rename(font, face, weight)
    return _saved(font)


def _everyday(face: Face, weight: Weight) -> set[int]:
    if face is LATIN:
        # Latin with all its accents, Greek, spaces, punctuation, super- and subscripts, currencies, letter-like signs.
        return _ranges((0x20, 0x24F), (0x300, 0x3FF), (0x1E00, 0x1EFF), (0x2000, 0x20BF), (0x2100, 0x214F))
    if face is ARABIC:
        # Arabic for all its languages, the presentation forms left out: shaping makes them.
        return _ranges((0x20, 0x20), (0x600, 0x6FF), (0x750, 0x77F), (0x200C, 0x200F))
    # Punctuation, kana and full-width forms, and the ideographs of the national standard: both its levels (6,763 in GB
    # 2312, 6,355 in JIS X 0208) in regular, and in bold its first level, of the characters in everyday use.
    codec = "gb2312" if face is CHINESE else "euc_jp"
    last = 0xFE if weight == "regular" else 0xD7 if face is CHINESE else 0xCF
    standard = {
        code for lead in range(0xA1, last + 1) for trail in range(0xA1, 0xFF) for code in _decode(codec, lead, trail)
    }
    return standard | _ranges((0x20, 0x7E), (0x3000, 0x30FF), (0xFF01, 0xFF60), (0x2010, 0x2027))


def _features(face: Face) -> list[str]:
    """What pages and charts use: all else that a font can do is work for every build, which cuts it again."""
    if face in (CHINESE, JAPANESE):
        # Forms for vertical writing, other regions and other widths would double the font; its kerning is for Latin.
        # By halt, browsers close the gap between two marks of punctuation.
        return ["ccmp", "halt"]
    # Small capitals, fractions and other alternates would double the Latin font.
    return ["calt", "ccmp", "kern", "liga", "locl", "mark", "mkmk", "tnum", "fina", "init", "isol", "medi", "rlig"]


GRID = 400
"""Units of an em in the Chinese and Japanese fonts: 1/25 of a pixel in text of 16, and a third less to load."""


def _simplify(font: TTFont) -> None:
    """Outlines with quadratic curves on a coarser grid: they compress better, and are cut ten times as fast."""
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
        font["hmtx"][name] = (font["hmtx"][name][0], glyph.xMin)  # where it begins: another number would move it


_NO_PROGRAMS = (
    *("maxZones", "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs", "maxStackElements"),
    *("maxSizeOfInstructions", "maxComponentElements", "maxComponentDepth", "maxPoints", "maxContours"),
    *("maxCompositePoints", "maxCompositeContours"),
)
"""What a font with such outlines has to tell of; the bounds among them are computed when it is saved."""


def _ranges(*bounds: tuple[int, int]) -> set[int]:
    return {code for first, last in bounds for code in range(first, last + 1)}


def _decode(codec: str, lead: int, trail: int) -> list[int]:
    try:
        return [ord(character) for character in bytes((lead, trail)).decode(codec)]
    except UnicodeDecodeError:
        return []


def _find(sources: Path, name: str) -> Path:
    found = sorted(sources.rglob(name))
    if not found:
        raise AtlasError(
            f"{name} is not below this folder",
            where=str(sources),
            remedy="install the full fonts (Debian: apt install fonts-noto-core fonts-noto-cjk) and name their folder",
        )
    return found[0]


def _subset(font: TTFont, codes: Iterable[int], features: list[str]) -> TTFont:
    options = subset.Options(
        hinting=False,
        layout_features=features,
        notdef_outline=True,
        name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14],
        drop_tables=[*subset.Options().drop_tables, "VORG", "vhea", "vmtx", "BASE"],
    )
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)
    return font


def _graft(font: TTFont, donor: TTFont, symbols: str) -> None:
    """Copy the glyphs of `symbols` from `donor` into `font`, both with TrueType outlines, on the same grid."""
    scale = font["head"].unitsPerEm / donor["head"].unitsPerEm
    if scale != 1:
        raise AtlasError(
            "the fonts have different design grids", where="generator/fonts.py", remedy="graft from another"
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
    """Give the subset its own name: it is not the original, and no installed font may be taken for it."""
    names: Any = font["name"]
    texts = {1: face.family, 2: weight.title(), 3: f"{face.family} {weight}", 4: f"{face.family} {weight}".title()}
    for number, text in {**texts, 6: f"{face.family.replace(' ', '')}-{weight.title()}"}.items():
        names.removeNames(nameID=number)
        names.setName(text, number, 3, 1, 0x409)


def _saved(font: TTFont) -> bytes:
    font.recalcTimestamp = False  # the source's own date: the same characters give the same bytes
    content = BytesIO()
    font.save(content)
    return content.getvalue()


if __name__ == "__main__":
    try:
        for path in make_all(Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts")):
            print(f"{path.name}: {path.stat().st_size:,} bytes")  # noqa: T201  # a command line speaks
    except AtlasError as error:
        sys.exit(str(error))
