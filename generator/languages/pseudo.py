"""Pseudo-locales: altered English that reveals untranslatable text, clipped text and wrong text direction.

`pseudo` returns a function that replaces the letters of a message: with accented ones, 40% longer (``en-XA``), or with
Arabic ones (``ar-XB``). Code, placeholders, tags and link targets stay. An English word that remains readable on a page
was never a message. For tests only.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from generator.languages.typography import VERBATIM

# Each vowel becomes several letters, which makes a text 40% longer.
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
    """Return the translation function of a pseudo-locale, ``en-XA`` or ``ar-XB``."""
    letters = (
        {**_ARABIC, **{k.upper(): v for k, v in _ARABIC.items()}, **_PUNCTUATION} if code == "ar-XB" else _ACCENTED
    )
    table = str.maketrans(letters)

    def translate(message: str) -> str:
        pieces, done = [], 0
        for start, end in (match.span() for match in VERBATIM.finditer(message)):
            pieces += [message[done:start].translate(table), message[start:end]]
            done = end
        return "".join([*pieces, message[done:].translate(table)])

    return translate


def english_words(text: str) -> list[str]:
    """Return the words of `text` that a pseudo-locale would have changed: unaccented Latin words in lower case."""
    return [
        word for word in re.findall(r"[^\W\d_]+", text) if re.fullmatch(r"[A-Z]?[a-z]{2,}", word) and _changes(word)
    ]


def _changes(word: str) -> bool:
    return any(letter in _ACCENTED for letter in word)
