"""Typography that depends on the script: spaces between CJK and Latin, isolation of Latin in right-to-left text.

Every function takes text and returns text. `Language` uses them for dates and lists, pages for the values of
expressions, and the checks for translations, so that all three agree.
"""

from __future__ import annotations

import re
from html import unescape
from unicodedata import east_asian_width

CJK = (
    r"\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
)
"""Character class of Chinese and Japanese letters, without punctuation, whose glyphs include their own space."""

CJK_PUNCTUATION = (
    r"\u3001-\u3003\u3008-\u3011\u3014-\u301f\u30fb\u2018-\u201d\u2026\u2014"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
"""Character class of full-width punctuation, and of the quotes, dashes and dots that Chinese shares with Latin."""

ARABIC = r"\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc"
"""Character class of Arabic letters (not digits, not punctuation)."""

RIGHT_TO_LEFT = rf"{ARABIC}\u0590-\u05ff\u0700-\u085f\ufb1d-\ufb4f"
"""Character class of the letters that run from the right: Arabic, Hebrew, Syriac, Thaana, N'Ko and others."""

CJK_LANGUAGES = frozenset({"zh", "ja"})
"""Languages with one space between CJK and Latin letters or digits; for Japanese, as in Microsoft's style guide."""

FORMULA = re.compile(
    r"(?<![\\$])\$\$(?:(?!\n\s*\n|\$\$).)+\$\$|(?<![\\$A-Za-z0-9])\$(?![\s$])(?:\\.|[^\\$\n`])+?(?<!\s)\$"
    r"|(?<!\\)\\\((?:(?!\n\s*\n).)+?\\\)|(?m:^[ \t>]*\\\[(?:(?!\n\s*\n).)+?\\\][ \t]*$)"
    r"|\\begin\{(?P<environment>\w+\*?)\}(?:(?!\n\s*\n).)+?\\end\{(?P=environment)\}",
    re.DOTALL,
)
"""TeX, as Arithmatex reads it: ``$…$``, ``$$…$$``, ``\\(…\\)``, ``\\[…\\]`` and environments."""

VERBATIM = re.compile(
    r"(?<!`)(?P<ticks>`++).+?(?<!`)(?P=ticks)(?!`)"  # code
    rf"|{FORMULA.pattern}"
    r"|\{\{(?:(?!\{\{).)*?\}\}|\{%(?:(?!\{%).)*?%\}|\{#(?:(?!\{#).)*?#\}|%\(\w+\)[sd]"  # placeholders
    r"|<code>[^<]*</code>|<[^<>]*>|https?://[^\s)]+"  # code in HTML, tags, addresses
    r"|\]\((?:[^()]|\([^()]*\))*\)|\]\[[^\[\]]*\]|\[\^[^\[\]]*\]"  # link targets, footnote marks
    r"|\A\[+\w+\]+\Z"  # a text that is only a marker, such as [TOC]
    r"|\{[^{}]*\}|:[a-z][\w+-]*:|&#?\w+;",  # attribute lists, icons, entities
    re.DOTALL,
)
"""Parts of a message that are not text: a translation keeps them unchanged."""

LEFT_TO_RIGHT_MARK, RIGHT_TO_LEFT_MARK = "\u200e", "\u200f"

_CJK_THEN_LATIN = re.compile(rf"(?<=[{CJK}])(?=[A-Za-z0-9+±\-−$@#`])")
_LATIN_THEN_CJK = re.compile(rf"(?<=[A-Za-z0-9%×+`])(?=[{CJK}])")


def space_cjk(text: str) -> str:
    """Put one space wherever a CJK letter touches a Latin letter or a digit: ``2024 年 3 月``."""
    return _LATIN_THEN_CJK.sub(" ", _CJK_THEN_LATIN.sub(" ", text))


# --- Line breaks ------------------------------------------------------------------------------------------------------

TOGETHER = 24
"""Width of the longest text that stays on one line, in Latin letters; a Chinese or Japanese letter counts as two."""

_TAG = r"<[^<>]*>"
_SPACE = re.compile(rf"{_TAG}| ")
_COUNTED = re.compile(rf"(\d{LEFT_TO_RIGHT_MARK}?(?:</bdi>)?(?= [^\W\d])|[年月](?= \d)) |{_TAG}")


def together(html: str) -> str:
    """Prevent line breaks within a short text, and between a number and its unit in a long one. Takes HTML."""
    text = re.sub(_TAG, "", html)
    width = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    if width <= TOGETHER:
        return _SPACE.sub(lambda match: "\u00a0" if match[0] == " " else match[0], html)
    return counted(html)


def counted(html: str) -> str:
    """Prevent line breaks between a number and its unit (2.50 GHz, 2 cores), and within a date. Takes HTML or text."""
    return _COUNTED.sub(lambda match: f"{match[1]}\u00a0" if match[1] else match[0], html)


# --- Expressions in Chinese and Japanese ------------------------------------------------------------------------------

_SEAM = "\ue002"  # private use: no page holds it
_SPACED_SEAM = re.compile(rf" ?{_SEAM}+ ?")
_NO_SPACE = re.compile(rf"[{CJK}]{{2}}|.?[\s{CJK_PUNCTUATION}].?|.?", re.DOTALL)


def mark_seams(text: str, expression: re.Pattern[str]) -> str:
    """Mark where a Jinja expression in `text` touches a CJK letter.

    Whether a space belongs there depends on the value of the expression: `close_seams` decides once it is known.
    """
    text = re.sub(rf"(?<=[{CJK}])( ?)(?={expression.pattern})", rf"\1{_SEAM}", text, flags=expression.flags)
    return re.sub(rf"({expression.pattern})( ?)(?=[{CJK}])", rf"\1{_SEAM}\2", text, flags=expression.flags)


def close_seams(text: str) -> str:
    """Replace each mark with one space between CJK and Latin, with none between CJK and CJK."""

    def closed(seam: re.Match[str]) -> str:
        beside = text[max(seam.start() - 1, 0) : seam.start()] + text[seam.end() : seam.end() + 1]
        return "" if _NO_SPACE.fullmatch(beside) else " "

    return _SPACED_SEAM.sub(closed, text) if _SEAM in text else text


# --- Latin in right-to-left text --------------------------------------------------------------------------------------

_NAME = r"\{\{[^{}]*\|\s*name\s*\}\}"
_LATIN = rf"[A-Za-z][A-Za-z0-9]*(?:(?:[ ./_&'’+]|-\u2060?)?[A-Za-z0-9]+)*[²³]?\+*(?: {_NAME})*"
# The alternative text of an image becomes an attribute, which cannot hold elements.
_LATIN_RUN = re.compile(
    rf"(?P<latin>{_LATIN})|<bdi\b.*?</bdi>|!\[[^\]]*\]\([^()]*\)(?:\{{[^{{}}]*\}})?|{VERBATIM.pattern}", VERBATIM.flags
)


def isolate_latin(text: str) -> str:
    """Wrap the Latin names in right-to-left Markdown in ``<bdi dir="ltr">``, except in code, tags and link targets."""
    return _LATIN_RUN.sub(lambda run: f'<bdi dir="ltr">{run[0]}</bdi>' if run["latin"] else run[0], text)


_CODE = re.compile(r"<(code|kbd|pre|samp)\b(?![^>]*\bdir=)")


def code_from_the_left(html: str) -> str:
    """Give each piece of code in right-to-left HTML a direction of its own: a reader mode drops the stylesheet."""
    return _CODE.sub(r'<\1 dir="ltr"', html)


_EMBEDDED = re.compile(f"{LEFT_TO_RIGHT_MARK}(.*?){LEFT_TO_RIGHT_MARK}", re.DOTALL)


def isolated(html: str) -> str:
    """Replace direction marks with isolating elements: the inverse of `plain`."""
    return _EMBEDDED.sub(r'<bdi dir="ltr">\1</bdi>', html)


_MARKDOWN = re.compile(r"<[^<>]*>|[\\`*_\[\]{}|#!~^]")


def unmarked(html: str) -> str:
    """Escape Markdown in HTML, so that a name such as ``[a](b)`` or ``a_b_c`` stays a name."""
    return _MARKDOWN.sub(lambda match: match[0] if len(match[0]) > 1 else f"&#{ord(match[0])};", html)


_ELEMENT = re.compile(r"(<[^<>]*>)")
_SPECIAL = re.compile(r"[\\`*\[\]{}|]|(?<![^\W_])_")  # an underscore within a word is one
_HREF = re.compile(r' href="([^"]*)"')
_LINE_END = re.compile(r"\s*[\r\n]\s*")


def in_markdown(html: str) -> str:
    """Return inline HTML as Markdown: links as links, and text that Markdown leaves as it is. Other elements stay."""
    found, links = [], list[str]()
    for part in _ELEMENT.split(_LINE_END.sub(" ", html)):
        if part.startswith("<a "):
            others = _HREF.sub("", part[2:-1]).strip()
            links.append(f"]({unescape(_HREF.search(part)[1])})" + (f"{{ {others} }}" if others else ""))  # type: ignore[index]
            found.append("[")
        elif part == "</a>":
            found.append(links.pop())
        else:
            found.append(part if part.startswith("<") else _SPECIAL.sub(r"\\\g<0>", part))
    return "".join(found)


_BDI = re.compile(r'<bdi dir="ltr">(.*?)</bdi>', re.DOTALL)
_UNTRANSLATED = re.compile(r'<span class="untranslated"[^<>]*>(.*?)</span>', re.DOTALL)


def plain(text: str) -> str:
    """Replace isolating elements with direction marks and unwrap untranslated text, for a title or an attribute."""
    return _BDI.sub(rf"{LEFT_TO_RIGHT_MARK}\1{LEFT_TO_RIGHT_MARK}", _UNTRANSLATED.sub(r"\1", text))
