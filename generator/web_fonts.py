"""The fonts of one edition's pages: a stylesheet, and woff2 files with the characters that occur in it.

In: an `Edition`. Out: `SiteFile`s below ``fonts/``. Bold holds what headings, table headers and emphasis use; a
character that it lacks comes from a font of the reader's device.

    mkdocs build --strict
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from generator.fonts import LATIN, Weight, face_of, web_font
from generator.guide import Edition
from generator.language import LANGUAGES
from generator.material import labels, labels_file
from generator.pages import SiteFile

STYLESHEET = "fonts/fonts.css"
"""Names every font; the theme's text uses them through ``--md-text-font``."""

CSS_WEIGHTS: dict[Weight, int] = {"regular": 400, "bold": 700}

_LATIN = "".join(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0x180)))) + "–—‘’“”…−×±≤≥≈→←↑↓·•"
"""What names, code and figures may need, so that a new record seldom needs a new font."""

_BOLD = re.compile(
    r"^(?:\#|!!!|\?\?\?|title:)(.*)"  # headings, titles of notes and of the page
    r"|^(.*)\n\|?[ :]*---"  # the header of a Markdown table
    r"|\*\*(.+?)\*\*"
    r"|<(?:th|strong|b)\b[^>]*>(.*?)</(?:th|strong|b)>",
    re.MULTILINE,
)


@functools.lru_cache(maxsize=8)
def web_fonts(edition: Edition) -> tuple[SiteFile, ...]:
    """The stylesheet and the fonts it names, for the pages of `edition`."""
    return tuple(_files(edition))


def _files(edition: Edition) -> Iterator[SiteFile]:
    text = [file.content for file in edition.files if isinstance(file.content, str) and file.uri.endswith(".md")]
    own = labels_file(labels(edition.language.code)).read_text("utf-8")
    messages = (form for forms in edition.language.messages.values() for form in forms)
    bold = (part for page in text for match in _BOLD.findall(page) for part in match)
    characters: dict[Weight, str] = {"regular": "".join((*text, own, *messages)), "bold": "".join((*bold, own))}
    codes = {LATIN: LANGUAGES[0]}
    codes.setdefault(face_of(edition.language.code), edition.language.code)
    rules = []
    for face, code in codes.items():
        for weight, css_weight in CSS_WEIGHTS.items():
            name = f"{code}-{weight}.woff2"
            yield SiteFile(f"fonts/{name}", web_font(code, sorted({*characters[weight], *_LATIN}), weight))
            rules.append(
                f'@font-face{{font-family:"{face.family}";font-weight:{css_weight};font-display:swap;'
                f'src:url({name}) format("woff2")}}'
            )
    latin, *own_family = (f'"{face.family}"' for face in codes)
    # The font of the language comes first: it holds only what the Latin one lacks or what looks different in it, such
    # as the quotes and dashes of Chinese. English on its pages keeps the Latin ones.
    rules.append(f":root{{--md-text-font:{','.join((*own_family, latin))}}}")
    if own_family:
        rules.append(f'[lang="en"]{{font-family:{",".join((latin, *own_family))}}}')
    yield SiteFile(STYLESHEET, "\n".join(rules) + "\n")
