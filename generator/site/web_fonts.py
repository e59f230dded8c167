"""The fonts of one edition's pages: a stylesheet, and woff2 files with the characters that occur in it.

In: a language and its pages. Out: `SiteFile`s below ``fonts/``. Chinese and Japanese come in slices, so that a page
loads those that it has characters of. Bold holds what headings, table headers and emphasis use; a character that it
lacks comes from a font of the reader's device.

    mkdocs build --strict
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from generator.figures.fonts import CHINESE, FONTS, JAPANESE, LATIN, Face, Weight, coverage, face_of, served, web_font
from generator.languages.language import LOCALES, SOURCE, Language, name_of, published_languages
from generator.pages.site_file import SiteFile
from generator.site.material import labels, labels_file

STYLESHEET = "fonts/fonts.css"
"""Names every font; the theme's text uses them through ``--md-text-font``."""

CSS_WEIGHTS: dict[Weight, int] = {"regular": 400, "bold": 700}

_BASIC = frozenset((*map(chr, range(0x20, 0x7F)), *"\u00a0·×±µ²–—‘’“”…−≤≥≈→¶†©"))
"""What names, code and figures have on any page."""

_LATIN = frozenset((*map(chr, range(0xA0, 0x180)), *"←↑↓↔●▲■◆")) - _BASIC
"""What they may need. No page decides on these two, so they are cut once for all languages and builds."""

_BOLD = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n(?:\#|!!!|\?\?\?|===|title:)(.*)",  # headings, titles of notes, tabs and of the page
        r"\n(.*)\n\|?[ :]*---",  # the header of a Markdown table
        r"\*(\*?[^*\n]+\*?)\*",  # emphasis: bold where a script has no italics
        r"\[([^]\n]+)\]\([^)\n]*\)\{[^}\n]*md-button",
        r"<(?:th|strong|b|em|label|summary)\b[^>]*>(.*?)</(?:th|strong|b|em|label|summary)>",
    )
)
"""One by one: each then is looked for by the letters that it begins with."""


ROOT = LOCALES.parent
THEME = ROOT / "docs" / "theme"

_NAME = re.compile(r"^(?:site_name: | *- )([^:\n]+)", re.MULTILINE)
"""Of the site, and in its navigation."""

_TITLE = re.compile(r"^(?:# |title:)(.*)", re.MULTILINE)

_BEYOND_ASCII = re.compile(r"[^\0-\x7f]+")

_IN_SLICES = (CHINESE, JAPANESE)
"""Hundreds of characters a page, of which a reader needs few; letters that join cannot be in different fonts."""

OFTEN = 1 / 8
"""The share of pages from which on a character belongs to the first slice: that of the pages of devices."""

WORTH_A_REQUEST = 5
"""Characters: a smaller slice of one page is not worth a file of its own."""


def web_fonts(language: Language, pages: Iterable[SiteFile]) -> Iterator[SiteFile]:
    """The stylesheet and the fonts it names, for the pages of a language."""
    texts = {page.uri: str(page.content) for page in pages}
    words = {weight: _words(language, texts, weight) for weight in CSS_WEIGHTS}
    rules = []
    for face, code in _codes(language).items():
        for weight in CSS_WEIGHTS:
            slices = _slices(face, words[weight])
            held = [part for each in slices if (part := served(code, each, weight))]
            for number, characters in enumerate(held):
                name = f"{code}-{weight}{number or ''}.woff2"
                yield SiteFile(f"fonts/{name}", partial(web_font, code, characters, weight))
                source = f'url({name}) format("woff2")'
                rules.append(_rule(face, weight, source, characters if len(held) > 1 else ()))
    yield _stylesheet(language, rules)
    yield SiteFile("fonts/OFL.txt", (FONTS / "OFL.txt").read_bytes)  # which it asks to accompany them


def cut_latin() -> None:
    """Cut what all languages share: they would all do so at once else."""
    for characters, weight in itertools.product((_BASIC, _LATIN), CSS_WEIGHTS):
        web_font(SOURCE, characters, weight)


def whole_fonts(language: Language) -> Iterator[SiteFile]:
    """The same with all the characters there are, which takes no time to make and any edit may need: for who writes."""
    rules = []
    for face, code in _codes(language).items():
        for weight in CSS_WEIGHTS:
            name = f"{code}-{weight}.woff2"  # although it is none: pages name the fonts that they preload
            yield SiteFile(f"fonts/{name}", face.path(weight).read_bytes)
            rules.append(_rule(face, weight, f"url({name})", served(code, coverage(code, weight), weight)))
    yield _stylesheet(language, rules)


def _codes(language: Language) -> dict[Face, str]:
    """The faces that pages of a language use, and the language that the files of each are named after."""
    codes = {LATIN: SOURCE}
    codes.setdefault(face_of(language.code), language.code)
    return codes


def _rule(face: Face, weight: Weight, source: str, characters: Collection[str]) -> str:
    """The font for `characters`; for whichever it has, where none are named."""
    ranges = f";unicode-range:{_ranges(characters)}" if characters else ""
    return (
        f'@font-face{{font-family:"{face.family}";font-weight:{CSS_WEIGHTS[weight]};font-display:swap;'
        f"src:{source}{ranges}}}"
    )


def _stylesheet(language: Language, rules: list[str]) -> SiteFile:
    latin, *own_family = (f'"{face.family}"' for face in _codes(language))
    # The font of the language comes first: it holds only what the Latin one lacks or what looks different in it, such
    # as the quotes and dashes of Chinese. English on its pages keeps the Latin ones.
    rules.append(f":root{{--md-text-font:{','.join((*own_family, latin))}}}")
    if own_family:
        rules.append(f'[lang="en"]{{font-family:{",".join((latin, *own_family))}}}')
    return SiteFile(STYLESHEET, "\n".join(rules) + "\n")


def preloaded(code: str) -> list[str]:
    """The fonts that every page of a language shows at once, as far as they are small: text that changes its font moves
    what follows it."""
    names = {face_of(code): code, LATIN: SOURCE}
    faces = {face: name for face, name in names.items() if face not in _IN_SLICES}
    return [f"fonts/{name}-{weight}.woff2" for name in faces.values() for weight in CSS_WEIGHTS]


# ── Which characters are needed where ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Words:
    """The characters of an edition in one weight."""

    everywhere: frozenset[str]  # what surrounds every page, and what the many pages of one kind say
    by_page: tuple[frozenset[str], ...]
    elsewhere: frozenset[str]  # messages that only some reader's browser shows


def _words(language: Language, pages: Mapping[str, str], weight: Weight) -> _Words:
    bold = weight == "bold"
    frame = [
        "" if bold else labels_file(labels(language.code)).read_text("utf-8"),
        _label(language.code, "toc"),
        *(title for page in pages.values() for title in _TITLE.findall(page)),
        *(name_of(code) for code in published_languages()),
        *(language.gettext(name) for name in _NAME.findall((ROOT / "mkdocs.yml").read_text("utf-8"))),
        *("" if bold else language.gettext(message) for message in _frame_messages()),
    ]
    messages = (form for forms in language.messages.values() for form in forms)
    texts = [_bold(page) if bold else _letters(page) for page in pages.values()]
    many = (text for uri, text in zip(pages, texts, strict=True) if "/" in uri)  # those of devices and models
    everywhere = frozenset("".join(frame)).union(*many)
    return _Words(everywhere, tuple(texts), frozenset("" if bold else "".join(messages)))


def _letters(text: str) -> frozenset[str]:
    """Its characters, without those that every page has."""
    return frozenset("".join(_BEYOND_ASCII.findall(text)))


def _bold(page: str) -> frozenset[str]:
    lines = f"\n{page}"
    return _letters("".join(text for each in _BOLD for text in each.findall(lines)))


def _label(code: str, key: str) -> str:
    """One of the theme's labels: of all, the title of the list of sections alone is bold."""
    found = re.search(rf'"{key}": "(.*)"', labels_file(labels(code)).read_text("utf-8"))
    return found[1] if found else ""


@functools.cache
def _frame_messages() -> tuple[str, ...]:
    """What the theme says around every page."""
    templates = (path.read_text("utf-8") for path in sorted(THEME.rglob("*.html")))
    return tuple(message for template in templates for message in re.findall(r'_\("([^"]+)"', template))


def _slices(face: Face, words: _Words) -> Iterator[frozenset[str]]:
    """Parts of the characters, of which a page needs the first, often the second, and few others."""
    pages = Counter(character for page in words.by_page for character in page)
    every = words.everywhere.union(words.elsewhere, pages)
    if face is LATIN:
        yield from (_BASIC, _LATIN, every.difference(_BASIC, _LATIN))
        return
    if face not in _IN_SLICES:
        yield every.union(_BASIC)
        return
    often = words.everywhere.union(each for each, count in pages.items() if count >= OFTEN * len(words.by_page))
    alone = [frozenset(each for each in page - often if pages[each] == 1) for page in words.by_page]
    own = [each for each in alone if len(each) >= WORTH_A_REQUEST]
    rest = words.elsewhere - often - pages.keys()
    yield from (often, every.difference(often, rest, *own), *own, rest)


def _ranges(characters: Iterable[str]) -> str:
    """``U+20-7e,U+a0``: as CSS names a set of characters."""
    runs: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return ",".join(f"U+{first:x}-{last:x}" if last > first else f"U+{first:x}" for first, last in runs)
