"""Pseudo-locales: English that shows what nobody can translate, what gets cut off, and what runs the wrong way.

A message enters, the same message in strange letters leaves: accented and 40% longer (``en-XA``), or in Arabic letters
(``ar-XB``). Code, placeholders, tags and link targets stay. An English word that is still readable on a page was never
a message. For tests only.

    python -m pytest tests/generator/languages/test_pseudo.py
"""

from __future__ import annotations

import re
from collections.abc import Callable

from generator.languages.typography import VERBATIM

# Vowels grow, and a text by 40% with them.
_VOWELS = {
    "a": "áàâ",
    "e": "éèê",
    "i": "íì",
    "o": "óò",
    "u": "úù",
    "A": "ÁÀ",
    "E": "ÉÈ",
    "I": "ÍÌ",
    "O": "ÓÒ",
    "U": "ÚÙ",
}
_ACCENTED = {**_VOWELS, "c": "ç", "n": "ñ", "y": "ý", "C": "Ç", "N": "Ñ", "Y": "Ý"}
_ARABIC = dict(zip("abcdefghijklmnopqrstuvwxyz", "ابكدهفغحيجكلمنوبقرستوفوخيز", strict=True))
_PUNCTUATION = {",": "،", ";": "؛", "?": "؟"}


def pseudo(code: str) -> Callable[[str], str]:
    """The translation function of a pseudo-locale, ``en-XA`` or ``ar-XB``."""
    letters = (
        {**_ARABIC, **{k.upper(): v for k, v in _ARABIC.items()}, **_PUNCTUATION} if code == "ar-XB" else _ACCENTED
    )
    table = str.maketrans(letters)

    def translate(message: str) -> str:
        kept = [match.span() for match in VERBATIM.finditer(message)]
        pieces, done = [], 0
        for start, end in kept:
            pieces += [message[done:start].translate(table), message[start:end]]
            done = end
        return "".join([*pieces, message[done:].translate(table)])

    return translate


def english_words(text: str) -> list[str]:
    """Words of `text` that a pseudo-locale would have changed: lower-case Latin words, with nothing strange in them."""
    return [
        word for word in re.findall(r"[^\W\d_]+", text) if re.fullmatch(r"[A-Z]?[a-z]{2,}", word) and _changes(word)
    ]


def _changes(word: str) -> bool:
    return any(letter in _ACCENTED for letter in word)
