"""What a character needs beside it: spaces between CJK and Latin, direction marks in right-to-left text.

Text enters, text leaves. `Language` uses it for dates and lists, pages for what expressions yield, the
checks for what translators typed, so that all three agree.

    python -m generator check
"""

from __future__ import annotations

import re
from unicodedata import east_asian_width

CJK = (
    r"\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
)
"""Character class of the letters of Chinese and Japanese, without their punctuation (which brings its own space)."""

CJK_PUNCTUATION = (
    r"\u3001-\u3003\u3008-\u3011\u3014-\u301f\u30fb\u2018-\u201d\u2026\u2014"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
"""Character class of the full-width punctuation, and of the quotes, dashes and dots that Chinese shares with others."""

ARABIC = r"\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc"
"""Character class of Arabic letters (not digits, not punctuation)."""

CJK_LANGUAGES = frozenset({"zh", "ja"})
"""Languages that put one space between CJK and Latin letters or digits; Japanese as in Microsoft's style guide."""

VERBATIM = re.compile(
    r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"  # code
    r"|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|%\(\w+\)[sd]"  # placeholders
    r"|<[^<>]*>|https?://[^\s)]+"  # tags, addresses
    r"|\]\([^()]*\)|\]\[[^\[\]]*\]|\[\^[^\]]*\]"  # link targets, footnote marks
    r"|\{[^{}]*\}|:[a-z][\w+-]*:|&#?\w+;",  # attribute lists, icons, entities
    re.DOTALL,
)
"""What stands in a message and is not text: a translation keeps it to the letter."""

LEFT_TO_RIGHT_MARK, RIGHT_TO_LEFT_MARK = "\u200e", "\u200f"

_CJK_THEN_LATIN = re.compile(rf"(?<=[{CJK}])(?=[A-Za-z0-9+±\-−$@#`])")
_LATIN_THEN_CJK = re.compile(rf"(?<=[A-Za-z0-9%×+`])(?=[{CJK}])")


def space_cjk(text: str) -> str:
    """`text` with one space wherever a CJK letter touches a Latin letter or a digit: ``2024 年 3 月``."""
    return _LATIN_THEN_CJK.sub(" ", _CJK_THEN_LATIN.sub(" ", text))


# --- what stays together ----------------------------------------------------------------------------------------------

TOGETHER = 24
"""Widths of a letter, of which those of Chinese and Japanese take two: the longest fact that stays on one line."""

_TAG = r"<[^<>]*>"
_SPACE = re.compile(rf"{_TAG}| ")
_COUNTED = re.compile(rf"(\d{LEFT_TO_RIGHT_MARK}?(?:</bdi>)?(?= [^\W\d])|[年月](?= \d)) |{_TAG}")


def together(html: str) -> str:
    """HTML in which no line ends within a short fact, nor between a number and what it counts."""
    text = re.sub(_TAG, "", html)
    width = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    if width <= TOGETHER:
        return _SPACE.sub(lambda found: "\u00a0" if found[0] == " " else found[0], html)
    return counted(html)


def counted(html: str) -> str:
    """HTML or text in which no line ends between a number and what it counts, nor within a date: 2.50 GHz, 2 cores."""
    return _COUNTED.sub(lambda found: f"{found[1]}\u00a0" if found[1] else found[0], html)


# --- expressions in Chinese and Japanese ------------------------------------------------------------------------------

_SEAM = "\ue002"  # private use: nobody writes it
_SPACED_SEAM = re.compile(rf" ?{_SEAM}+ ?")
_NO_SPACE = re.compile(rf"[{CJK}]{{2}}|.?[\s{CJK_PUNCTUATION}].?|.?", re.DOTALL)


def mark_seams(text: str, expression: re.Pattern[str]) -> str:
    """Mark where a Jinja expression in `text` meets a CJK letter: only its value tells whether a space belongs there.

    `close_seams` decides when the value is known, so that translators need not.
    """
    text = re.sub(rf"(?<=[{CJK}])( ?)(?={expression.pattern})", rf"\1{_SEAM}", text, flags=expression.flags)
    return re.sub(rf"({expression.pattern})( ?)(?=[{CJK}])", rf"\1{_SEAM}\2", text, flags=expression.flags)


def close_seams(text: str) -> str:
    """One space between CJK and Latin at each mark, none between CJK and CJK."""
    return _SPACED_SEAM.sub(_closed, text) if _SEAM in text else text


def _closed(seam: re.Match[str]) -> str:
    beside = seam.string[max(seam.start() - 1, 0) : seam.start()] + seam.string[seam.end() : seam.end() + 1]
    return "" if _NO_SPACE.fullmatch(beside) else " "


# --- Latin in right-to-left text --------------------------------------------------------------------------------------

_NAME = r"\{\{[^{}]*\|\s*name\s*\}\}"
_LATIN = rf"[A-Za-z][A-Za-z0-9]*(?:(?:[ ./_&'’+]|-\u2060?)?[A-Za-z0-9]+)*[²³]?\+*(?: {_NAME})*"
# The text of an image is an attribute, which takes no element.
_LATIN_RUN = re.compile(
    rf"(?P<latin>{_LATIN})|<bdi\b.*?</bdi>|!\[[^\]]*\]\([^()]*\)(?:\{{[^{{}}]*\}})?|{VERBATIM.pattern}", VERBATIM.flags
)


def isolate_latin(text: str) -> str:
    """Right-to-left Markdown with ``<bdi dir="ltr">`` around its Latin names, outside code, tags and link targets."""
    return _LATIN_RUN.sub(lambda run: f'<bdi dir="ltr">{run[0]}</bdi>' if run["latin"] else run[0], text)


FROM_THE_RIGHT = re.compile(f"[{ARABIC}{RIGHT_TO_LEFT_MARK}]")
"""What makes a line run from the right: an Arabic letter, or the mark."""

_WORD = re.compile(r" *[^ ]+| +")
_RUN = re.compile(rf" *[^ ]+(?: +[^ {ARABIC}{RIGHT_TO_LEFT_MARK}][^ ]*)*| +")


def parts(line: str) -> list[str]:
    """A line in parts that look side by side as the whole does: words, each with the spaces before it.

    A line that runs from the right has its first part there, and the mark of that before each. Its parts begin with an
    Arabic letter or with a mark: what comes before these does not decide on how they stand, as it does for numbers,
    signs and Latin words.
    """
    if FROM_THE_RIGHT.search(line):
        return [f"{RIGHT_TO_LEFT_MARK}{run}" for run in _RUN.findall(line.removeprefix(RIGHT_TO_LEFT_MARK))]
    return _WORD.findall(line)


_EMBEDDED = re.compile(f"{LEFT_TO_RIGHT_MARK}(.*?){LEFT_TO_RIGHT_MARK}", re.DOTALL)


def isolated(html: str) -> str:
    """The inverse of `plain`: isolating elements instead of direction marks, for HTML."""
    return _EMBEDDED.sub(r'<bdi dir="ltr">\1</bdi>', html)


_MARKDOWN = re.compile(r"<[^<>]*>|[\\`*_\[\]{}|#!~^]")


def unmarked(html: str) -> str:
    """HTML that says the same where Markdown reads it: a name such as ``[a](b)`` or ``a_b_c`` stays a name."""
    return _MARKDOWN.sub(lambda sign: sign[0] if len(sign[0]) > 1 else f"&#{ord(sign[0])};", html)


_IMAGE = re.compile(r"!\[[^\]]*\](?=\()")
_BDI = re.compile(r'<bdi dir="ltr">(.*?)</bdi>', re.DOTALL)
_UNTRANSLATED = re.compile(r'<span class="untranslated"[^<>]*>(.*?)</span>', re.DOTALL)


def plain(text: str) -> str:
    """Text without elements, for a title or an attribute: direction marks instead of isolates."""
    return _BDI.sub(rf"{LEFT_TO_RIGHT_MARK}\1{LEFT_TO_RIGHT_MARK}", _UNTRANSLATED.sub(r"\1", text))


def plain_alternatives(markdown: str) -> str:
    """Markdown whose alternative texts hold no elements."""
    has_elements = "<bdi" in markdown or "untranslated" in markdown
    return _IMAGE.sub(lambda image: plain(image[0]), markdown) if has_elements else markdown
