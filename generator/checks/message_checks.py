"""Check one translated message: its code, links and placeholders, its characters, words and typography.

`check_translation` takes an English message and its translation and yields `Violation`s. It reads no file.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping

from generator.languages import blocks
from generator.languages.blocks import CODE, EXPRESSION
from generator.languages.glossary import Glossary, Violation, glossary_violations
from generator.languages.language import name_of
from generator.languages.pofile import NAMED
from generator.languages.typography import CJK, FORMULA, VERBATIM

Check = Iterator[Violation]


def check_translation(message: str, translation: str, code: str, glossary: Glossary, *, plural: bool = False) -> Check:
    """Yield every mistake in a translation. A `plural` form that serves a single number may leave the number out."""
    if message == translation and not _ENGLISH_WORD.search(VERBATIM.sub(" ", message)):
        return  # an abbreviation or a formula
    yield from _markup(message, translation, plural=plural)
    yield from _content(message, translation, code, glossary, plural=plural)
    yield from glossary_violations(glossary, code, message, translation)
    yield from _spelling(translation, code, glossary.spelling.get(code, {}))
    if code == "ja":
        yield from _register(translation)
    yield from _typography(message, translation, code)


# --- Markup and characters --------------------------------------------------------------------------------------------

_MARKUP = re.compile(
    rf"{VERBATIM.pattern}|\*\*|(?<!\\)\||\n|<(?=[A-Za-z/!?])|[{{}}\"]|\](?=[(\[])|^\[(?=.*\]:)", VERBATIM.flags
)
"""Whole pieces of markup, then signs that could begin or end one: a link with brackets in its address is no whole."""

_ISOLATE = re.compile(r"<bdi(?: dir=\"(?:ltr|rtl|auto)\")?>|</bdi>")  # a translation may add these
INVISIBLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b\u2028-\u202e\u2060\u2066-\u2069\ufeff\ue000-\uf8ff\ufffd-\uffff"
    "\U000e0000-\U000e007f]"
)
"""Control characters, and others that no reader sees."""


def _markup(message: str, translation: str, *, plural: bool) -> Check:
    """Check that the translation is one block of the same kind, with the same markup, in any order."""
    expected, actual = (
        Counter(re.sub(r"[^\S\n]+", " ", match[0]) for match in _MARKUP.finditer(_ISOLATE.sub("", text)))
        for text in (message, translation)
    )
    for piece in expected - actual:
        # A language has its own quotation marks, and "one model" needs no figure in many languages.
        if piece != '"' and not (plural and NAMED.fullmatch(piece)):
            yield Violation(f"{piece} is missing".replace("\n", "a line break"), "keep it exactly as in the English")
    for piece in actual - expected:
        if not (NAMED.fullmatch(piece) and piece in expected):  # a placeholder may be used twice
            what = f"{piece} is not in the English".replace("\n", "a line break")
            yield Violation(what, "remove it, or correct it")
    if translation != translation.strip(" \n") or re.search(r"(?<=\S) {2,}(?=\S)", VERBATIM.sub("x", translation)):
        yield Violation("leading, trailing or repeated spaces", "remove them")
    original, read = (
        [(block.kind, block.message) == ("paragraph", text) for block in blocks.split(text).blocks]
        for text in (f"{message.strip()} word", f"{translation.strip()} word")  # a text without a word is no block
    )
    if read != original and not translation[:1].isalpha():
        yield Violation("Markdown reads it as another kind of block", "put a backslash before its first sign")
    for sign in sorted({*INVISIBLE.findall(translation)}):
        yield Violation(f"the invisible character U+{ord(sign):04X}", "remove it: the page isolates names itself")
    if not unicodedata.is_normalized("NFC", translation):
        yield Violation("decomposed letters (not in NFC)", "type composed letters")


# --- Words ------------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SPELLED_OUT = {str(n) for n in range(13)}
"""Numbers that English spells out, and for which a translation may use digits."""

_LATIN_WORD = re.compile(r"[A-Za-z][A-Za-z-]+")
_ENGLISH_WORD = re.compile(r"\b(?=\w*[aeiouy])[A-Z]?[a-z]{2,}\b")
_OTHER_LETTER = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
"""A letter that is not Latin. The name of a language, in that language, tells whether it has others."""


def _content(message: str, translation: str, code: str, glossary: Glossary, *, plural: bool) -> Check:
    english, text = VERBATIM.sub(" ", message), VERBATIM.sub(" ", translation)
    numbers, written = Counter(_NUMBER.findall(english)), Counter(_NUMBER.findall(text))
    for number in () if plural else numbers - written:
        yield Violation(f"the number {number} is missing", f"write {number}")
    for number in written - numbers:
        if number not in _SPELLED_OUT:
            yield Violation(f"the number {number} is not in the English", "remove it, or correct it")
    if not _OTHER_LETTER.search(name_of(code)):
        return
    names = re.compile("|".join(re.escape(name) for name in sorted(glossary.keep, key=len, reverse=True)))
    if not _OTHER_LETTER.search(text) and _ENGLISH_WORD.search(names.sub(" ", text)):
        yield Violation("the text is not translated", "translate it")
        return
    words = _LATIN_WORD.findall(text)
    terms = [variant for term in glossary.term for variant in term.variants(code)] if words else []
    known = " ".join([message, *glossary.keep, *terms]).lower()
    for word in words:
        if word.lower()[:3] not in known:  # (padding) shares these letters with pad
            yield Violation(f"the word {word} is not in the English", "translate it, or correct its spelling")


_VOWEL_SIGNS = re.compile("[\u064b-\u0652\u0670\u0640]")


def _spelling(translation: str, code: str, spelling: Mapping[str, str]) -> Check:
    """Find misspelt words: in Arabic with the letters that are attached before, in others never within right ones."""
    text = _VOWEL_SIGNS.sub("", VERBATIM.sub(" ", translation))
    for wrong, right in spelling.items():
        if code == "ar":
            found = bool(re.search(rf"(?<!\w)[وف]?[بكل]?(?:ال|لل)?{wrong}(?!\w)", text))
        else:
            found = wrong in (text.replace(right, "") if wrong in right else text)
        if found:
            yield Violation(f"{wrong} is misspelt", f"write {right}")


_QUOTED = re.compile(r"「[^「」]*」|『[^『』]*』|（[^（）]*）")
_SENTENCE = re.compile(r"[^。？！：\n]+[。？！：]?")
_POLITE = r"(?:です|ます|ません|でした|ました"
_POLITE_END = re.compile(rf"{_POLITE}|でしょう|ましょう|ください)か?[。？！：]?$")
_PLAIN_END = re.compile(r"(?:る|た|だ|ない|い|う|く|す|つ|む|ぶ|ぐ|ぬ)。$")
_POLITE_CLAUSE = re.compile(rf"{_POLITE})(?:が|けれど|し|ので|から)、")
_PLAIN_CLAUSE = re.compile(r"(?:だ|である|する|した|れる|いる|ある|ない)(?:が|けれど|けど)、")


def _register(translation: str) -> Check:
    """Find です・ます beside the plain form, in one Japanese text or in the clauses of one sentence."""
    text = _QUOTED.sub("", VERBATIM.sub("x", translation))
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text)]
    polite = [each for each in sentences if _POLITE_END.search(each)]
    plain = [each for each in sentences if _PLAIN_END.search(each) and not _POLITE_END.search(each)]
    mixed = [each for each in plain if polite or _POLITE_CLAUSE.search(each)]
    mixed += [each for each in polite if _PLAIN_CLAUSE.search(each)]
    if mixed:
        what = f"です・ます and the plain form in one text: …{mixed[0][-12:]}"
        yield Violation(what, "give all sentences and clauses the same form")


# --- Typography -------------------------------------------------------------------------------------------------------

_CODE_SIGN, _VALUE_SIGN = "\ue010", "\ue011"
_COUNT = re.compile(r"%\((?:count|n|number)\)s")
_BUTTON = re.compile(r"\]\([^()]*\)\{[^{}]*\}")
_STYLE = re.compile(
    r"\*\*|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)|<[^<>]*>"
    r"|\]\((?:[^()]|\([^()]*\))*\)|\]\[[^\[\]]*\]|\[\^[^\[\]]*\]|!?\[|\]|:[a-z][\w+-]*:"
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
    (r"[\uff05\uff0e\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u3000]", "full-width letter, digit or space", "use ASCII"),
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


def _typography(message: str, translation: str, code: str) -> Check:
    text = _visible(translation)
    for pattern, what, remedy in _RULES.get(code, ()):
        for match in re.finditer(pattern, text):
            around = text[max(match.start() - 4, 0) : match.end() + 4].strip()
            shown = around.replace(_CODE_SIGN, "`…`").replace(_VALUE_SIGN, "{…}")
            yield Violation(f"{what}: {shown}", remedy)
    if code == "ja" and "。" not in translation and not _POLITE_END.search(translation):
        return  # a noun phrase takes no full stop
    last = _visible(message).rstrip(" *_\"'”’)")[-1:]
    expected = _ENDS.get(code, {}).get(last)
    if expected and text.rstrip(" *_\"'”’」』）)»")[-1:] not in expected:
        either = " or ".join(expected)
        yield Violation(f"the English ends with {last}, the translation not with {either}", f"end it with {either}")


def _visible(text: str) -> str:
    """Return the text without markup, and with one sign for each piece of code and each value."""
    text = EXPRESSION.sub(_VALUE_SIGN, FORMULA.sub(_VALUE_SIGN, CODE.sub(_CODE_SIGN, text)))
    return _STYLE.sub("", _BUTTON.sub(_VALUE_SIGN, NAMED.sub(_VALUE_SIGN, _COUNT.sub("0", text))))
