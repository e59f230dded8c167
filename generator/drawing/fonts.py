"""The fonts of charts and pages: subsets of Noto that ship with the repository.

A face covers one script. A language uses its own face and falls back to the others. Charts draw text with the shipped
files (`drawing_font`); pages serve woff2 files with exactly the characters that a language uses (`web_font`). Fonts of
the machine or of other hosts are never used, so every build draws the same shapes.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import unicodedata
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import uharfbuzz as hb
from fontTools.ttLib import TTFont

from bench.errors import AtlasError
from generator.cache import Cache
from generator.drawing.faces import WEIGHTS, Face, Weight, face_of, faces, latin

NAMES = (0, 1, 2, 3, 4, 5, 6, 13, 14)
"""OpenType name ids of the copyright, the names, the version and the licence of a font."""

WEB_NAMES = (0, 1, 2, 14)
"""Those of a font for pages, of which a page loads a dozen: the copyright, the name, and where the licence is. Its text
lies beside them."""

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
    in_order = dict.fromkeys((latin(), face_of(language), *faces()))
    return tuple(str(_shipped(face, weight)) for face in in_order)


@functools.cache
def fingerprint() -> str:
    """Return a hash of the shipped fonts, a part of the cache key of everything that is drawn with them."""
    digest = hashlib.sha256()
    for face in faces():
        for weight in WEIGHTS:
            digest.update(_shipped(face, weight).read_bytes())
    return digest.hexdigest()


@functools.cache
def coverage(language: str, weight: Weight = "regular") -> frozenset[str]:
    """Return the characters that text in `language` can use without falling back to other scripts."""
    return frozenset(chr(code) for face in {latin(), face_of(language)} for code in _characters(face, weight))


def lacking(texts: Iterable[str]) -> list[str]:
    """Return the characters that no face has, sorted: charts and cards show `drawable` texts in their place."""
    return sorted(set[str]().union(*texts) - _drawable())


BOX = "□"
"""Stands for a letter that no face has. Pages show the name itself, in a font of the reader's."""


def drawable(text: str) -> str:
    """Return a text with a box for each letter that no face has: ``□□□-vit`` for a Thai name."""
    if missing := set(text) - _drawable():
        text = "".join(
            BOX if letter in missing else letter for letter in text if letter not in missing or _is_base(letter)
        )
    return text


def _is_base(character: str) -> bool:
    """Return whether a character takes a place of its own, as a vowel sign above a letter does not."""
    return unicodedata.category(character)[0] not in "MC"


@functools.cache
def _drawable() -> frozenset[str]:
    return frozenset(chr(code) for face in faces() for code in _characters(face, "regular"))


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

    The faces of other scripts serve only what the Latin one lacks and the few characters that look different in their
    script, so they precede the Latin family in CSS.
    """
    own = face_of(language)
    codes = {ord(character) for text in characters for character in text} & _characters(own, weight)
    if own != latin():
        codes -= _characters(latin(), weight) - set(map(ord, own.own_forms))
    return frozenset(map(chr, codes))


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
    wanted.name_id_set.update(WEB_NAMES)
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


@functools.cache
def _opened(source: Path) -> Any:
    return hb.Face(hb.Blob.from_file_path(source))


def _shipped(face: Face, weight: Weight) -> Path:
    path = face.path(weight)
    if not path.is_file():
        raise AtlasError(
            "a font of the atlas is missing",
            where=str(path),
            remedy="restore it from the repository, "
            f"or run `python -m generator.drawing.make_fonts {face.name}` where the full fonts are installed",
        )
    return path
