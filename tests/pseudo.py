"""Two languages that nobody speaks, each a catalog: they show text that is no message, is clipped, or doesn't mirror.

One has accented letters and is 40% longer, the other has Arabic letters and runs from the right. Code, placeholders,
tags and link targets stay. An English word that is still readable on a page was never a message.
"""

from __future__ import annotations

import re
from pathlib import Path

from generator.languages import catalogs
from generator.languages.language import LIST, catalog_path, load_locale, plural_examples
from generator.languages.pofile import english
from generator.languages.typography import VERBATIM

ACCENTED, MIRRORED = CODES = "en-GB", "ar-EG"
"""Codes that CLDR knows, and that are no languages of the guide."""

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
_ACCENTS = {**_VOWELS, "c": "ç", "n": "ñ", "y": "ý", "C": "Ç", "N": "Ñ", "Y": "Ý"}
_ARABIC = dict(zip("abcdefghijklmnopqrstuvwxyz", "ابكدهفغحيجكلمنوبقرستوفوخيز", strict=True))
_PUNCTUATION = {",": "،", ";": "؛", "?": "؟"}
_TABLES = {
    ACCENTED: str.maketrans(_ACCENTS),
    MIRRORED: str.maketrans({**_ARABIC, **{key.upper(): value for key, value in _ARABIC.items()}, **_PUNCTUATION}),
}


def pseudo(code: str, message: str) -> str:
    """Return the translation of a message."""
    pieces, done = [], 0
    for start, end in (match.span() for match in VERBATIM.finditer(message)):
        pieces += [message[done:start].translate(_TABLES[code]), message[start:end]]
        done = end
    return "".join([*pieces, message[done:].translate(_TABLES[code])])


def write_catalogs(root: Path, locales: Path) -> None:
    """Write the catalogs of both languages for the messages of a project, and list them after English."""
    template = catalogs.extract(root)
    for code in CODES:
        served = plural_examples(load_locale(code))
        catalog = catalogs.read(code, locales)
        for message in template:
            texts = english(message)
            forms = (texts[0] if numbers[:1] == (1,) else texts[1] for numbers in served if len(texts) > 1)
            translated = tuple(pseudo(code, text) for text in forms) or pseudo(code, texts[0])
            if message.id:
                catalog.add(message.id, translated, context=message.context)
        path = catalog_path(code, locales)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(catalogs.update(catalog, template, code), encoding="utf-8")
    (locales / LIST).write_text(f'languages = ["en", "{ACCENTED}", "{MIRRORED}"]\n', encoding="utf-8")


def english_words(text: str) -> list[str]:
    """Return the words of `text` that the accented language would have changed."""
    words = re.findall(r"[^\W\d_]+", text)
    return [word for word in words if re.fullmatch(r"[A-Z]?[a-z]{2,}", word) and {*word} & {*_ACCENTS}]
