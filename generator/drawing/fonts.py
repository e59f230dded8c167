"""The fonts of charts and pages: subsets of Noto that ship with the repository.

A face covers one script. A language uses its own face and falls back to the others. Charts draw text with the shipped
files (`drawing_font`); pages serve woff2 files with exactly the characters that a language uses (`web_font`). Fonts of
the machine or of other hosts are never used, so every build draws the same shapes.
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
"""OpenType name ids of the copyright, the names, the version and the licence of a font."""


@dataclass(frozen=True)
class Face:
    """One script in two weights. `family` is its name in CSS, which no installed font has."""

    name: str  # the files are <name>-<weight>.ttf
    family: str
    source: str  # file name of the full font, with the weight as {}
    number: int = 0  # index in a collection

    def path(self, weight: Weight = "regular") -> Path:
        """Return the shipped file."""
        return FONTS / f"{self.name}-{weight}.ttf"


LATIN = Face("latin", "Atlas Sans", "NotoSans-{}.ttf")
ARABIC = Face("arabic", "Atlas Sans Arabic", "NotoSansArabic-{}.ttf")
CHINESE = Face("chinese", "Atlas Sans SC", "NotoSansCJK-{}.ttc", number=2)
JAPANESE = Face("japanese", "Atlas Sans JP", "NotoSansCJK-{}.ttc", number=0)

FACES: dict[str, Face] = {"en": LATIN, "zh": CHINESE, "ja": JAPANESE, "ar": ARABIC}
"""The face of each language. All of them use the Latin face as well, for names and digits."""

SCRIPTS: dict[str, Face] = {"Latn": LATIN, "Grek": LATIN, "Arab": ARABIC, "Hans": CHINESE, "Jpan": JAPANESE}
"""The face of each script, for other languages."""


@functools.cache
def face_of(language: str) -> Face:
    """Return the face of a language: its own, else that of its script, else the Latin one."""
    return FACES.get(language) or SCRIPTS.get(script_of(language), LATIN)


def is_covered(language: str) -> bool:
    """Return whether a face for the script of the language is shipped."""
    return language in FACES or script_of(language) in SCRIPTS


_WEB = Cache("web-fonts", ".woff2")


# ── For charts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def drawing_font(language: str, size: float, *, bold: bool = False) -> Any:
    """Return Matplotlib's font for text in `language`, `size` pixels high.

    It looks characters up in the Latin face, then in that of the language, then in the others. All callers in a thread
    share it, so set the text right away.
    """
    from matplotlib.font_manager import get_font  # pages do without it

    font = get_font(_drawing_files(language, "bold" if bold else "regular"))
    font.set_size(size, 72)
    return font


@functools.cache
def _drawing_files(language: str, weight: Weight) -> tuple[str, ...]:
    faces = dict.fromkeys((LATIN, face_of(language), *FACES.values()))
    return tuple(str(_shipped(face, weight)) for face in faces)


@functools.cache
def fingerprint() -> str:
    """Return a hash of the shipped fonts, a part of the cache key of everything that is drawn with them."""
    digest = hashlib.sha256()
    for face in FACES.values():
        for weight in WEIGHTS:
            digest.update(_shipped(face, weight).read_bytes())
    return digest.hexdigest()


@functools.cache
def coverage(language: str, weight: Weight = "regular") -> frozenset[str]:
    """Return the characters that text in `language` can use without falling back to other scripts."""
    faces = {LATIN, face_of(language)}
    return frozenset(chr(code) for face in faces for code in _characters(face, weight))


# ── For pages ───────────────────────────────────────────────────────────────────────────────────────────────────────


def web_font(language: str, characters: Iterable[str], weight: Weight = "regular") -> bytes:
    """Return a woff2 font with just the `characters` that the face of `language` serves (`served`).

    ``web_font("en", …)`` is the Latin face, which every language needs. The same characters give the same bytes.
    """
    codes = sorted(map(ord, served(language, characters, weight)))
    source = _shipped(face_of(language), weight)
    key = "\n".join((fingerprint(), _program(), source.name, ",".join(map(str, codes))))
    return _WEB.get(key, lambda: _woff2(_cut(source, codes)))


def served(language: str, characters: Iterable[str], weight: Weight = "regular") -> frozenset[str]:
    """Return the `characters` that pages show in the face of `language`.

    The faces of ``zh``, ``ja`` and ``ar`` serve only what the Latin one lacks and the few characters that look
    different in their script, so they precede the Latin family in CSS.
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
    """Return the versions of the programs that make subsets: cached fonts are invalid when they change."""
    here = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return " ".join((*map(importlib.metadata.version, ("fonttools", "brotli", "uharfbuzz")), here))


def _cut(source: Path, codes: Iterable[int]) -> bytes:
    """Return a subset of a font file: these characters, with all layout features."""
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
    """Return the file of a font, with the date of its source: the same characters give the same bytes."""
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
            "or run `python -m generator.drawing.make_fonts FOLDER` with the full fonts",
        )
    return path
