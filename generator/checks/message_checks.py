"""Check one translated message: its code, links and placeholders, its characters, words and typography.

`check_translation` takes an English message and its translation and yields `Violation`s. It reads no file.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from generator.languages import blocks
from generator.languages.blocks import CODE, EXPRESSION, STATEMENT
from generator.languages.findings import Violation
from generator.languages.glossary import Glossary, glossary_violations
from generator.languages.language import load_locale, name_of
from generator.languages.pofile import NAMED
from generator.languages.typography import CJK, VERBATIM

Check = Iterator[Violation]


def check_translation(message: str, translation: str, code: str, glossary: Glossary, *, plural: bool = False) -> Check:
    """Yield every mistake in a translation. A `plural` form that serves a single number may leave the number out."""
    yield from _markup(message, translation, plural=plural)
    yield from _characters(translation, code)
    yield from _content(message, translation, code, glossary, plural=plural)
    yield from glossary_violations(glossary, code, message, translation)
    yield from _typography(message, translation, code)


# --- Markup -----------------------------------------------------------------------------------------------------------

_MARKUP = re.compile(rf"{VERBATIM.pattern}|\*\*|(?<!\\)\||\n", VERBATIM.flags)
_ISOLATE = re.compile(r"<bdi(?: dir=\"(?:ltr|rtl|auto)\")?>|</bdi>")  # a translation may add these


def _markup(message: str, translation: str, *, plural: bool) -> Check:
    """Check that the translation is one block of the same kind, with the same markup, in any order."""
    expected, actual = (
        Counter(re.sub(r"[^\S\n]+", " ", match[0]) for match in _MARKUP.finditer(_ISOLATE.sub("", text)))
        for text in (message, translation)
    )
    for piece in (expected - actual).elements():
        if not (plural and NAMED.fullmatch(piece)):  # "one model" needs no figure in many languages
            yield Violation("markup", f"{_named(piece)} is missing", "keep it exactly as in the English")
    for piece in (actual - expected).elements():
        if not (NAMED.fullmatch(piece) and piece in expected):
            yield Violation("markup", f"{_named(piece)} is not in the English", "remove it, or correct it")
    if translation != translation.strip() or re.search(r"(?<=\S) {2,}(?=\S)", VERBATIM.sub("x", translation)):
        yield Violation("spaces", "leading, trailing or repeated spaces", "remove them")
    original, read = (
        [(block.kind, block.message) == ("paragraph", text) for block in blocks.split(text).blocks]
        for text in (f"{message} word", f"{translation} word")  # a text without a word is no block
    )
    if read != original and not translation[:1].isalpha():
        yield Violation("block", "Markdown reads it as another kind of block", "put a backslash before its first sign")


def _named(piece: str) -> str:
    return "a line break" if piece == "\n" else piece


# --- Characters -------------------------------------------------------------------------------------------------------

BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile(rf"{BIDI_CONTROLS.pattern}|[\u00ad\u200b\u2060\ufeff\ufffd]")
_INVISIBLE_FROM_LEFT = re.compile(rf"{_INVISIBLE.pattern}|[\u200e\u200f\u061c]")


def _characters(translation: str, code: str) -> Check:
    invisible = _INVISIBLE if load_locale(code).text_direction == "rtl" else _INVISIBLE_FROM_LEFT
    for sign in sorted({*invisible.findall(translation)}):
        remedy = "remove it: the page isolates names and numbers itself"
        yield Violation("character", f"the invisible character U+{ord(sign):04X}", remedy)
    if not unicodedata.is_normalized("NFC", translation):
        yield Violation("character", "decomposed letters (not in NFC)", "type composed letters")


# --- Content ----------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SPELLED_OUT = {str(n) for n in range(13)}
"""Numbers that English spells out, and for which a translation may use digits."""

_LATIN_WORD = re.compile(r"[A-Za-z][A-Za-z-]+")
_ENGLISH_WORD = re.compile(r"\b(?=\w*[aeiouy])[A-Z]?[a-z]{2,}\b")
_OTHER_LETTER = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
"""A letter that is not Latin. The name of a language, in that language, tells whether it has others."""

_STEM = 3
"""A Latin word shares its first letters with a word of the English, such as (padding) with pad."""


def _content(message: str, translation: str, code: str, glossary: Glossary, *, plural: bool) -> Check:
    english, text = VERBATIM.sub(" ", message), VERBATIM.sub(" ", translation)
    numbers, written = Counter(_NUMBER.findall(english)), Counter(_NUMBER.findall(text))
    for number in () if plural else numbers - written:
        yield Violation("number", f"the number {number} is missing", f"write {number}")
    for number in written - numbers:
        if number not in _SPELLED_OUT:
            yield Violation("number", f"the number {number} is not in the English", "remove it, or correct it")
    if not _OTHER_LETTER.search(name_of(code)):
        return
    names = re.compile("|".join(re.escape(name) for name in sorted(glossary.keep, key=len, reverse=True)))
    if not _OTHER_LETTER.search(text) and _ENGLISH_WORD.search(names.sub(" ", english)):
        yield Violation("untranslated", "the text is not translated", "translate it")
        return
    known = f"{message} {_known(glossary, code)}".lower()
    for word in _LATIN_WORD.findall(text):
        if word.lower()[:_STEM] not in known:
            yield Violation("word", f"the word {word} is not in the English", "translate it, or correct its spelling")


@lru_cache(maxsize=8)
def _known(glossary: Glossary, code: str) -> str:
    """Return the words that any translation may contain: names, and terms of the glossary."""
    return " ".join([*glossary.keep, *(variant for term in glossary.term for variant in term.variants(code))])


# --- Typography -------------------------------------------------------------------------------------------------------

_CODE_SIGN, _VALUE_SIGN = "\ue010", "\ue011"
_BUTTON = re.compile(r"\]\([^()]*\)\{[^{}]*\}")
_COUNT = re.compile(r"%\((?:count|n|number)\)s")
_STYLE = re.compile(
    r"\*\*|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)|<[^<>]*>|\]\([^()]*\)|\]\[[^\[\]]*\]|!?\[|\]|:[a-z][\w+-]*:"
)
_FULL_WIDTH = "、。，；：？！（）「」『』"

_CJK_RULES = (
    (rf"(?<=[{CJK}）」』”])[,;:?!]|[,;:?!](?=[{CJK}])", "half-width punctuation", "use ，；：？！ or 、"),
    (rf"(?<=[{CJK}）」』])\.(?=\s|$|[{CJK}])", "half-width full stop", "use 。"),
    (rf"[{CJK}] ?[()]|[()] ?[{CJK}]", "half-width parenthesis", "use （ ）"),
    (r"[“”\"][^“”\"]*\"|\"[^“”\"]*[“”\"]", "straight quotes", "use “ ” in Chinese, 「 」 in Japanese"),
    (rf"[{CJK}][A-Za-z0-9{_CODE_SIGN}]|[A-Za-z0-9%×{_CODE_SIGN}][{CJK}]", "no space", "put one space here"),
    (rf"[{CJK}] +[{CJK}]", "a space between two CJK letters", "remove it"),
    (rf"[{_FULL_WIDTH}] +(?=[^ \n])| +[{_FULL_WIDTH}]", "a space beside full-width punctuation", "remove it"),
    (r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff05\uff0e\u3000]", "full-width letter, digit or space", "use ASCII"),
    (r"[\uff61-\uff9f]", "half-width katakana", "use full-width katakana"),
)
_RULES = {
    "zh": (
        *_CJK_RULES,
        (r"[「」『』]", "corner brackets", "use “ ”"),
        (r"”[^“”]*“[^“”]*$|^[^“]*”", "reversed quotes", "open with “ and close with ”"),
        (r"\.\.\.|。。", "three dots", "use ……"),
    ),
    "ja": (
        *_CJK_RULES,
        (r"[“”]", "curly quotes", "use 「 」"),
        (r"，", "a Chinese comma", "use 、"),
        (r"」[^「」]*「[^「」]*$|^[^「]*」", "reversed quotes", "open with 「 and close with 」"),
    ),
    "ar": (
        (r",(?!\d)", "a Latin comma", "use ،"),
        (r";", "a Latin semicolon", "use ؛"),
        (r"\?", "a Latin question mark", "use ؟"),
        (r"[٠-٩۰-۹٪٫٬]", "a digit or sign of a different number system", "use 0–9, %, a point and a comma"),
        (r"[یکہە]", "a Persian letter", "use ي, ك or ه"),
        (r"\s[،؛؟.:!](?=\s|$)|،(?=[^\s])", "wrong space beside punctuation", "put a space after it and none before it"),
        (r"(?:^|\s)و\s", "a detached و", "attach it to the next word"),
        (r"\"", "straight quotes", "use « »"),
    ),
}
"""By language: a pattern of a mistake, its name, and a remedy."""

_ENDS = {
    "zh": {".": "。", ":": "：。", "?": "？", "!": "！"},
    "ja": {".": "。", ":": "：。", "?": "？。", "!": "！。"},
    "ar": {".": ".", ":": ":.", "?": "؟", "!": "!"},
}
"""By language: the signs that may end a text whose English ends with a sign."""

_JAPANESE_PHRASE_ENDS = {":": "：。", "?": "？か", "!": "！。"}
"""A noun phrase takes no full stop, and a question may end with か."""

_POLITE_END = re.compile(r"(?:です|ます|ません|でした|ました|ください)$")


def _typography(message: str, translation: str, code: str) -> Check:
    text = _visible(translation)
    for pattern, what, remedy in _RULES.get(code, ()):
        for match in re.finditer(pattern, text):
            around = text[max(match.start() - 4, 0) : match.end() + 4].strip()
            shown = around.replace(_CODE_SIGN, "`…`").replace(_VALUE_SIGN, "{…}")
            yield Violation("typography", f"{what}: {shown}", remedy)
    is_phrase = code == "ja" and "。" not in translation and not _POLITE_END.search(translation)
    last = _visible(message).rstrip(" *_\"'”’)")[-1:]
    expected = (_JAPANESE_PHRASE_ENDS if is_phrase else _ENDS.get(code, {})).get(last)
    if expected and text.rstrip(" *_\"'”’」』）)»")[-1:] not in expected:
        either = " or ".join(expected)
        yield Violation(
            "typography", f"the English ends with {last}, the translation not with {either}", f"end it with {either}"
        )


def _visible(text: str) -> str:
    """Return the text without markup, and with one sign for each piece of code and each value."""
    text = EXPRESSION.sub(_VALUE_SIGN, CODE.sub(_CODE_SIGN, STATEMENT.sub("", text)))
    return _STYLE.sub("", _BUTTON.sub(_VALUE_SIGN, NAMED.sub(_VALUE_SIGN, _COUNT.sub("0", text))))
