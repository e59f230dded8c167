"""What a character needs beside it: spaces between CJK and Latin, direction marks in right-to-left text.

Text enters, text leaves. `Language` uses it for dates and lists, pages for what expressions yield, the
checks for what translators typed, so that all three agree.

    python -m generator check
"""

from __future__ import annotations

import re

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

LEFT_TO_RIGHT_MARK = "\u200e"

_CJK_THEN_LATIN = re.compile(rf"(?<=[{CJK}])(?=[A-Za-z0-9+±\-−$@#`])")
_LATIN_THEN_CJK = re.compile(rf"(?<=[A-Za-z0-9%×+`])(?=[{CJK}])")


def space_cjk(text: str) -> str:
    """`text` with one space wherever a CJK letter touches a Latin letter or a digit: ``2024 年 3 月``."""
    return _LATIN_THEN_CJK.sub(" ", _CJK_THEN_LATIN.sub(" ", text))
