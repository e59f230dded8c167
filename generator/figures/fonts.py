"""The fonts of charts and pages: subsets of Noto that ship with the repository, and smaller ones of them for the web.

A face covers one script; a language reads with its own face and falls back to the others. Charts set text with the
shipped files (`drawing_font`); pages serve woff2 files with exactly the characters a language uses (`web_font`).
No font of the machine or of another host is ever used, so that every build draws the same shapes.

    python -m pytest tests/generator/figures/test_fonts.py
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import uharfbuzz as hb
from fontTools.ttLib import TTFont

from bench.errors import AtlasError
from generator.cache import Cache
from generator.languages.language import script_of

FONTS = Path(__file__).resolve().parent.parent / "fonts"
"""The shipped subsets and their licence."""

Weight = Literal["regular", "bold"]
WEIGHTS: tuple[Weight, ...] = ("regular", "bold")

NAMES = (0, 1, 2, 3, 4, 5, 6, 13, 14)
"""What a font tells about itself, by the numbers of OpenType: who made it, its names, its version and its licence."""


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


_WEB = Cache("web-fonts", ".woff2")


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


def web_font(language: str, characters: Iterable[str], weight: Weight = "regular") -> bytes:
    """A woff2 font with those of `characters` that the face of `language` serves (`served`), and nothing else.

    ``web_font("en", …)`` is the Latin face, which every language needs. The same characters give the same bytes.
    """
    codes = sorted(map(ord, served(language, characters, weight)))
    source = _shipped(face_of(language), weight)
    key = "\n".join((fingerprint(), _program(), source.name, ",".join(map(str, codes))))
    return _WEB.get(key, lambda: _woff2(_cut(source, codes)))


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
    return " ".join((*map(importlib.metadata.version, ("fonttools", "brotli", "uharfbuzz")), here))


def _cut(source: Path, codes: Iterable[int]) -> bytes:
    """The font of a file with these characters, and all that it can do with them."""
    wanted = hb.SubsetInput()
    wanted.flags = hb.SubsetFlags.NO_HINTING | hb.SubsetFlags.NOTDEF_OUTLINE | hb.SubsetFlags.NO_BIDI_CLOSURE
    wanted.unicode_set.set(codes)
    wanted.layout_feature_tag_set.clear()
    wanted.layout_feature_tag_set.invert()
    wanted.name_id_set.update(NAMES)
    font: bytes = hb.subset(_opened(source), wanted).blob.data
    return font


def _woff2(content: bytes) -> bytes:
    font = TTFont(BytesIO(content), recalcBBoxes=False, lazy=True)
    font.flavor = "woff2"
    return saved(font)


def saved(font: TTFont) -> bytes:
    """The file of a font, with the source's own date: the same characters give the same bytes."""
    font.recalcTimestamp = False
    content = BytesIO()
    font.save(content)
    return content.getvalue()


@functools.cache
def _characters(face: Face, weight: Weight) -> frozenset[int]:
    return frozenset(_opened(_shipped(face, weight)).unicodes)


@functools.lru_cache(maxsize=len(FACES) * len(WEIGHTS))
def _opened(source: Path) -> Any:
    return hb.Face(hb.Blob.from_file_path(source))


def _shipped(face: Face, weight: Weight) -> Path:
    path = face.path(weight)
    if not path.is_file():
        raise AtlasError(
            "a font of the atlas is missing",
            where=str(path),
            remedy="restore it from the repository, "
            "or run `python -m generator.figures.make_fonts FOLDER` with the full fonts",
        )
    return path
