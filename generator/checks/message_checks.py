"""Check one translated message: structure, characters, content and typography.

`check_translation` takes an English message and its translation and yields `Violation`s. It reads no file.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from generator.languages import blocks
from generator.languages.blocks import CODE, EXPRESSION, STATEMENT
from generator.languages.findings import Violation
from generator.languages.glossary import Glossary, glossary_violations
from generator.languages.injection import ISOLATES, excesses, injections
from generator.languages.language import load_locale, script_of
from generator.languages.pofile import NAMED
from generator.languages.typography import ARABIC, CJK, CJK_LANGUAGES, VERBATIM
from generator.pages.pages import placeholders

Check = Iterator[Violation]


def check_translation(message: str, translation: str, code: str, glossary: Glossary, *, plural: bool = False) -> Check:
    """Yield every mistake in a translation. A `plural` form that serves a single number may leave the number out."""
    excess = [*excesses([message], translation)]
    if excess:
        yield from excess
        return
    wrong = [*_structure(message, translation, plural=plural)]
    yield from wrong or injections([message], translation)
    yield from _shape(message, translation)
    yield from _characters(translation, code)
    yield from _content(message, translation, code, glossary, plural=plural)
    yield from glossary_violations(glossary, code, message, translation)
    for check in _TYPOGRAPHY.get(code, ()):
        yield from check(message, translation)


# --- Structure: markup that must match the English exactly ------------------------------------------------------------

_TAG = re.compile(r"</?([a-zA-Z][\w-]*)[^<>]*>")
_TARGET = re.compile(r"(!?)\[(?:[^\[\]]|\[[^\[\]]*\])*\](?:\(([^()\s]*)[^()]*\)|\[([^\[\]]*)\])")
_FOOTNOTE = re.compile(r"\[\^[^\]]*\]")
_ATTRIBUTES = re.compile(r"(?<![{%])\{:?[^{}%]*\}")
_ICON = re.compile(r"(?<![\w:]):[a-z][\w+-]*:")
_ADDRESS = re.compile(r"https?://[^\s)>\]]+")


def _structure(message: str, translation: str, *, plural: bool) -> Check:
    yield from _same("expression", placeholders(message), placeholders(translation))
    expected, actual = _bare(message), _bare(translation)
    names, used = NAMED.findall(message), NAMED.findall(translation)
    if plural:  # "one model" and "two models" need no figure in many languages
        yield from _same("placeholder", [], sorted(set(used) - set(names)))
    else:
        yield from _same("placeholder", sorted(set(names)), sorted(set(used)))
    yield from _same("inline code", _codes(message), _codes(translation))
    yield from _same("tag", _tags(expected), _tags(actual))
    yield from _same("link target", _targets(expected), _targets(actual))
    for name, pattern in (
        ("footnote", _FOOTNOTE),
        ("attribute list", _ATTRIBUTES),
        ("icon", _ICON),
        ("address", _ADDRESS),
    ):
        yield from _same(name, pattern.findall(expected), pattern.findall(actual))
    if actual.count("**") != expected.count("**"):
        yield Violation(
            "emphasis",
            f"{actual.count('**')} ** instead of {expected.count('**')}",
            "emphasise the same words as the English",
        )


def _same(what: str, expected: list[str], actual: list[str]) -> Check:
    if expected == actual:
        return
    rule = what.replace(" ", "-")
    missing, extra = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
    for text in missing.elements():
        yield Violation(rule, f"the {what} {text} is missing", f"keep {text} exactly as in the English")
    for text in extra.elements():
        yield Violation(rule, f"the {what} {text} is not in the English", "remove it, or correct it")


def _bare(text: str) -> str:
    """Remove code and expressions, whose characters have no meaning in Markdown."""
    return EXPRESSION.sub("", CODE.sub("", text))


def _codes(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", match[2]) for match in CODE.finditer(text)]


def _tags(text: str) -> list[str]:
    return [match[0] for match in _TAG.finditer(text) if match[0] not in ISOLATES]  # translations may add these


def _targets(text: str) -> list[str]:
    return [f"{match[1]}{match[2] if match[2] is not None else match[3]}" for match in _TARGET.finditer(text)]


_LIST = re.compile(r"(?:[-*+]|\d+[.)])\s")


def _shape(message: str, translation: str) -> Check:
    """Check that the translation is one block of the same kind with the same number of lines."""
    if translation != translation.strip() or re.search(r"(?<=\S) {2,}(?=\S)", VERBATIM.sub("x", translation)):
        yield Violation("spaces", "leading, trailing or repeated spaces", "remove them")
    if translation.count("\n") != message.count("\n"):
        what = "a different number of lines from the English"
        yield Violation("block", what, "break lines where the English does, and nowhere else")
    if "{#" in _bare(translation):
        yield Violation("heading-id", "the text contains a heading id", "remove it: the page adds it")
    is_plain = translation[:1].isalpha() and "\n" not in translation  # cannot start another kind of block
    parts = [] if is_plain else list(blocks.split(translation).blocks)
    if not is_plain and blocks.has_words(translation) and (len(parts) != 1 or parts[0].message != translation):
        originals = list(blocks.split(message).blocks)
        remedy = "put a backslash before its first character"
        if _LIST.match(translation) and not _LIST.match(message):
            what = "it starts a list, one level deeper than the English"
            yield Violation("list-depth", what, remedy)
        elif len(originals) == 1 and originals[0].message == message:
            yield Violation("block", "Markdown reads the text as a different kind of block", remedy)
    if re.search(r"(?<!\\)\|", _bare(translation)) and not re.search(r"(?<!\\)\|", _bare(message)):
        yield Violation("block", "a bar ends a table cell", r"write \| instead")


# --- Characters -------------------------------------------------------------------------------------------------------

BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\ufffd]")
_MARKS = re.compile("[\u200e\u200f\u061c]")


def _characters(translation: str, code: str) -> Check:
    for control in sorted({*BIDI_CONTROLS.findall(translation)}):
        remedy = "remove it: the page isolates names and numbers itself"
        yield Violation("bidi", f"the bidi control U+{ord(control):04X}", remedy)
    for sign in sorted({*_INVISIBLE.findall(translation)}):
        yield Violation("character", f"the invisible character U+{ord(sign):04X}", "remove it")
    if load_locale(code).text_direction != "rtl":
        for mark in sorted({*_MARKS.findall(translation)}):
            yield Violation("bidi", f"the direction mark U+{ord(mark):04X} in left-to-right text", "remove it")
    if unicodedata.normalize("NFC", translation) != translation:
        yield Violation("character", "decomposed letters (not in NFC)", "type composed letters")


# --- Content ----------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SCRIPTS = {
    "Hans": CJK,
    "Hant": CJK,
    "Jpan": CJK,
    "Arab": ARABIC,
    "Kore": r"\u1100-\u11ff\uac00-\ud7a3",
    "Cyrl": r"\u0400-\u052f",
    "Grek": r"\u0370-\u03ff",
    "Hebr": r"\u05d0-\u05ea",
    "Deva": r"\u0900-\u097f",
    "Thai": r"\u0e00-\u0e7f",
}
"""Character class of the letters of each non-Latin script, by ISO 15924 code."""
_LATIN_WORD = re.compile(r"[A-Za-z][A-Za-z-]+")
_ENGLISH_WORD = re.compile(r"\b(?=\w*[aeiouy])[A-Z]?[a-z]{2,}\b")
_STEM = 3
"""A Latin word shares its first letters with a word of the English, such as (padding) with pad."""

_SPELLED_OUT = 12
"""English spells out numbers up to this one, and a translation may use digits for them."""


def _content(message: str, translation: str, code: str, glossary: Glossary, *, plural: bool) -> Check:
    english, text = VERBATIM.sub(" ", message), VERBATIM.sub(" ", translation)
    missing = Counter(_NUMBER.findall(english)) - Counter(_NUMBER.findall(text))
    extra = Counter(_NUMBER.findall(text)) - Counter(_NUMBER.findall(english))
    for number in missing:
        if not plural:
            yield Violation("number", f"the number {number} is missing", f"write {number}")
    for number in extra:
        if not number.isdigit() or int(number) > _SPELLED_OUT:
            yield Violation("number", f"the number {number} is not in the English", "remove it, or correct it")
    script = _script(code)
    if script and not script.search(text) and _ENGLISH_WORD.search(_without(english, glossary.keep)):
        yield Violation("untranslated", "the text is not translated", "translate it")
        return
    words = [word for word in _LATIN_WORD.findall(text) if script]
    known = f"{message} {_known(glossary, code)}".lower() if words else ""
    for word in words:
        if word.lower()[:_STEM] not in known:
            yield Violation("word", f"the word {word} is not in the English", "translate it, or correct its spelling")


@cache
def _script(code: str) -> re.Pattern[str] | None:
    letters = _SCRIPTS.get(script_of(code))
    return re.compile(f"[{letters}]") if letters else None


@lru_cache(maxsize=8)
def _known(glossary: Glossary, code: str) -> str:
    """Return all words that any translation may contain: names, and terms of the glossary."""
    return " ".join([*glossary.keep, *(variant for term in glossary.term for variant in term.variants(code))])


def _without(text: str, names: tuple[str, ...]) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    return text


# --- Typography -------------------------------------------------------------------------------------------------------

_CODE_SIGN, _VALUE_SIGN = "\ue010", "\ue011"
_BUTTON = re.compile(r"\]\([^()]*\)\{[^{}]*\}")
_MARKUP = re.compile(
    r"\*\*|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)|<[^<>]*>|\]\([^()]*\)|\]\[[^\[\]]*\]|!?\[|\]|:[a-z][\w+-]*:"
)
_FULL_WIDTH = "、。，；：？！（）「」『』"


@lru_cache(maxsize=8)
def _prose(text: str) -> str:
    """Return the visible text: without markup, and with one sign for each piece of code and each value."""
    text = EXPRESSION.sub(_VALUE_SIGN, CODE.sub(_CODE_SIGN, STATEMENT.sub("", text)))
    return _MARKUP.sub("", _BUTTON.sub(_VALUE_SIGN, NAMED.sub(_VALUE_SIGN, text)))


def _pattern_check(pattern: str, what: str, remedy: str) -> Callable[[str, str], Check]:
    compiled = re.compile(pattern)

    def check(_message: str, translation: str) -> Check:
        prose = _prose(translation)
        for match in compiled.finditer(prose):
            around = prose[max(match.start() - 4, 0) : match.end() + 4].strip()
            shown = around.replace(_CODE_SIGN, "`…`").replace(_VALUE_SIGN, "{…}")
            yield Violation("typography", f"{what}: {shown}", remedy)

    return check


def _end_check(signs: dict[str, str]) -> Callable[[str, str], Check]:
    """Check that the text ends like the English, with one of the corresponding signs of its language."""

    def check(message: str, translation: str) -> Check:
        last = _prose(message).rstrip(" *_\"'”’)")[-1:]
        expected = signs.get(last, "")
        if expected and _prose(translation).rstrip(" *_\"'”’」』）)»")[-1:] not in expected:
            either = " or ".join(expected)
            yield Violation(
                "typography",
                f"the English ends with {last}, the translation not with {either}",
                f"end it with {either}",
            )

    return check


def _japanese_end(message: str, translation: str) -> Check:
    """Check the end of a Japanese text. A noun phrase takes no full stop, and a question may end with か."""
    is_phrase = "。" not in translation and not re.search(r"(?:です|ます|ません|でした|ました|ください)$", translation)
    signs = {":": "：。", "?": "？か", "!": "！。"}
    yield from _end_check(signs if is_phrase else {**signs, ".": "。", "?": "？。"})(message, translation)


_CJK_CHECKS = (
    _pattern_check(rf"(?<=[{CJK}）」』”])[,;:?!]|[,;:?!](?=[{CJK}])", "half-width punctuation", "use ，；：？！ or 、"),
    _pattern_check(rf"(?<=[{CJK}）」』])\.(?=\s|$|[{CJK}])", "half-width full stop", "use 。"),
    _pattern_check(rf"[{CJK}] ?[()]|[()] ?[{CJK}]", "half-width parenthesis", "use （ ）"),
    _pattern_check(r"[“”\"][^“”\"]*\"|\"[^“”\"]*[“”\"]", "straight quotes", "use “ ” in Chinese, 「 」 in Japanese"),
    _pattern_check(
        rf"[{CJK}][A-Za-z0-9{_CODE_SIGN}]|[A-Za-z0-9%×{_CODE_SIGN}][{CJK}]", "no space", "put one space here"
    ),
    _pattern_check(rf"[{CJK}] +[{CJK}]", "a space between two CJK letters", "remove it"),
    _pattern_check(
        rf"[{_FULL_WIDTH}] +(?=[^ \n])| +[{_FULL_WIDTH}]", "a space beside full-width punctuation", "remove it"
    ),
    _pattern_check(
        r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff05\uff0e\u3000]", "full-width letter, digit or space", "use ASCII"
    ),
    _pattern_check(r"[\uff61-\uff9f]", "half-width katakana", "use full-width katakana"),
)

_TYPOGRAPHY: dict[str, tuple[Callable[[str, str], Check], ...]] = {
    "zh": (
        *_CJK_CHECKS,
        _pattern_check(r"[「」『』]", "corner brackets", "use “ ”"),
        _pattern_check(r"”[^“”]*“[^“”]*$|^[^“]*”", "reversed quotes", "open with “ and close with ”"),
        _pattern_check(r"\.\.\.|。。", "three dots", "use ……"),
        _end_check({".": "。", ":": "：。", "?": "？", "!": "！"}),
    ),
    "ja": (
        *_CJK_CHECKS,
        _pattern_check(r"[“”]", "curly quotes", "use 「 」"),
        _pattern_check(r"，", "a Chinese comma", "use 、"),
        _japanese_end,
        _pattern_check(r"」[^「」]*「[^「」]*$|^[^「]*」", "reversed quotes", "open with 「 and close with 」"),
    ),
    "ar": (
        _pattern_check(r",(?!\d)", "a Latin comma", "use ،"),
        _pattern_check(r";", "a Latin semicolon", "use ؛"),
        _pattern_check(r"\?", "a Latin question mark", "use ؟"),
        _pattern_check(
            r"[٠-٩۰-۹٪٫٬]", "a digit or sign of a different number system", "use 0–9, %, a point and a comma"
        ),
        _pattern_check(r"[یکہە]", "a Persian letter", "use ي, ك or ه"),
        _pattern_check(
            r"\s[،؛؟.:!](?=\s|$)|،(?=[^\s])",
            "wrong space beside punctuation",
            "put a space after it and none before it",
        ),
        _pattern_check(r"(?:^|\s)و\s", "a detached و", "attach it to the next word"),
        _pattern_check(r"\"", "straight quotes", "use « »"),
        _end_check({".": ".", ":": ":.", "?": "؟", "!": "!"}),
    ),
}
assert set(_TYPOGRAPHY) >= CJK_LANGUAGES
