"""The fonts of the pages of one language: a stylesheet, and woff2 files with the characters that the pages use.

Takes a language and the letters of its pages; returns `SiteFile`s below ``fonts/``. Fonts of thousands of characters,
such as Chinese, are cut into slices, and a page loads only the slices that it needs. Bold fonts hold what headings,
table headers and emphasis use; other bold characters come from a font of the reader's device.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Self

import msgspec

from generator.drawing.faces import CSS_WEIGHTS, FONTS, Face, Weight, face_of, latin
from generator.drawing.fonts import coverage, served, web_font
from generator.languages.language import LOCALES, SOURCE, Language, name_of, published_languages
from generator.pages.site_file import SiteFile
from generator.site.material import wording

STYLESHEET = "fonts/fonts.css"
"""The stylesheet that declares every font. The theme uses them through ``--md-text-font``."""

_BASIC = frozenset((*map(chr, range(0x20, 0x7F)), *"\u00a0\u2060·×÷±µ²–—‘’“”…−≤≥≈→¶†©"))
"""Characters of names, code and figures on any page."""

_LATIN = frozenset((*map(chr, range(0xA0, 0x180)), *"←↑↓↔●▲■◆")) - _BASIC
"""Further characters that they may need. Both sets are the same for all languages and builds, and are cut once."""

_BOLD = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n(?:\#|!!!|\?\?\?|===|title:)(.*)",  # headings, titles of notes, tabs and of the page
        r"\n(.*)\n *\|?[ :]*---",  # the header of a Markdown table
        r"\n *\|([^|\n]*)\|",  # the first cell of its rows
        r"\*(\*?[^*\n]+\*?)\*",  # emphasis: bold where a script has no italics
        r"\[([^]\n]+)\]\([^)\n]*\)\{[^}\n]*md-button",
        r"<(?:th|strong|b|em|label|legend|summary)\b[^>]*>(.*?)</(?:th|strong|b|em|label|legend|summary)>",
        # What scripts make: the headline of an answer, the first of a pair; headings; buttons.
        r"\[&#34;(.*?)&#34;, &#34;",
        r"&#34;headings&#34;: \{(.*?)\}",
        r"&#34;(?:copy|download_\w+|filters|next|previous|reset|snippet)&#34;: &#34;(.*?)&#34;",
    )
)
"""Separate patterns: Python searches each by the literal text that it begins with."""

ROOT = LOCALES.parent
THEME = ROOT / "docs" / "theme"

_NAME = re.compile(r"^(?:site_name: | *- )([^:\n]+)", re.MULTILINE)
"""The name of the site, and names in its navigation."""

_TITLE = re.compile(r"^(?:# |title:)(.*)", re.MULTILINE)

_BEYOND_ASCII = re.compile(r"[^\0-\x7f]+")

OFTEN = 1 / 8
"""A character on at least this share of the pages belongs to the first slice; it is that of the device pages."""

HOME = "index.md"
"""The page that most readers see first: it waits for no characters that only other pages have."""

_HEAVY = ("<figure", "data-decision")
"""Marks of pages that weigh much without their characters: those with charts, and with the form's scripts."""

WORTH_A_REQUEST = 5
"""Number of characters: a smaller slice of one page is not worth a file of its own."""


class Letters(msgspec.Struct, frozen=True):
    """The characters of a page beyond ASCII, each once; those of its title with ASCII."""

    regular: str
    bold: str
    title: str
    is_heavy: bool  # the page weighs much without them

    @classmethod
    def of(cls, page: str) -> Self:
        """Return those of a page as Markdown."""
        used = _letters(page), _bold(page), {*"".join(_TITLE.findall(page))}
        regular, bold, title = ("".join(sorted(each)) for each in used)
        return cls(regular, bold, title, any(mark in page for mark in _HEAVY))


def web_fonts(language: Language, pages: Mapping[str, Letters]) -> Iterator[SiteFile]:
    """Yield the stylesheet and the fonts that it declares, for the pages of a language by their URI."""
    words = {weight: _words(language, pages, weight) for weight in CSS_WEIGHTS}
    rules = []
    for face, code in _codes(language).items():
        for weight in CSS_WEIGHTS:
            slices = _slices(face, words[weight])
            parts = [part for characters in slices if (part := served(code, characters, weight))]
            for number, characters in enumerate(parts):
                name = f"{code}-{weight}{number or ''}.woff2"
                yield SiteFile(f"fonts/{name}", partial(web_font, code, characters, weight))
                source = f'url({name}) format("woff2")'
                rules.append(_rule(face, weight, source, characters if len(parts) > 1 else ()))
    yield _stylesheet(language, rules)
    yield SiteFile("fonts/OFL.txt", (FONTS / "OFL.txt").read_bytes)  # the licence has to accompany the fonts


def cut_latin() -> None:
    """Cut the fonts that all languages share, or all of them would do so at the same time."""
    for characters, weight in itertools.product((_BASIC, _LATIN), CSS_WEIGHTS):
        web_font(SOURCE, characters, weight)


def whole_fonts(language: Language) -> Iterator[SiteFile]:
    """Yield uncut fonts, for pages that are being written: they take no time to make, and any edit may need them."""
    rules = []
    for face, code in _codes(language).items():
        for weight in CSS_WEIGHTS:
            name = f"{code}-{weight}.woff2"  # not woff2, but the name that pages preload
            yield SiteFile(f"fonts/{name}", face.path(weight).read_bytes)
            rules.append(_rule(face, weight, f"url({name})", served(code, coverage(code, weight), weight)))
    yield _stylesheet(language, rules)


def _codes(language: Language) -> dict[Face, str]:
    """Return the faces that pages of a language use, with the language after which the files of each are named."""
    codes = {latin(): SOURCE}
    codes.setdefault(face_of(language.code), language.code)
    return codes


def _rule(face: Face, weight: Weight, source: str, characters: Collection[str]) -> str:
    """Return the CSS rule of a font for `characters`, or for all that it has where none are given."""
    ranges = f";unicode-range:{_ranges(characters)}" if characters else ""
    return (
        f'@font-face{{font-family:"{face.family}";font-weight:{CSS_WEIGHTS[weight]};font-display:swap;'
        f"src:{source}{ranges}}}"
    )


def _stylesheet(language: Language, rules: list[str]) -> SiteFile:
    first, *own_family = (f'"{face.family}"' for face in _codes(language))
    # The font of the language comes first: it holds only what the Latin font lacks or what differs from it, such as
    # Chinese quotes and dashes. English text on its pages keeps the Latin font.
    rules.append(f":root{{--md-text-font:{','.join((*own_family, first))}}}")
    if own_family:
        rules.append(f'[lang="en"]{{font-family:{",".join((first, *own_family))}}}')
    return SiteFile(STYLESHEET, "\n".join(rules) + "\n")


def preloaded(code: str) -> list[str]:
    """Return the small fonts that every page of a language uses: a font that arrives late moves the text after it."""
    names = {face_of(code): code, latin(): SOURCE}
    faces = {face: name for face, name in names.items() if not face.national}
    return [f"fonts/{name}-{weight}.woff2" for name in faces.values() for weight in CSS_WEIGHTS]


# ── Which characters are needed where ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Words:
    """The characters of all pages of a language in one weight."""

    everywhere: frozenset[str]  # around every page, and on the many pages of devices and models
    by_page: tuple[frozenset[str], ...]
    first: tuple[frozenset[str], ...]  # of pages that weigh much without them: the first one, and the `_HEAVY` ones
    elsewhere: frozenset[str]  # in messages that appear only in some browsers


def _words(language: Language, pages: Mapping[str, Letters], weight: Weight) -> _Words:
    bold = weight == "bold"
    labels = wording(language)
    frame = [
        *([labels["nav"], labels["toc"]] if bold else labels.values()),  # titles of the lists of pages and sections
        *(page.title for page in pages.values()),
        *(name_of(code) for code in published_languages()),
        *(language.gettext(name) for name in _NAME.findall((ROOT / "mkdocs.yml").read_text("utf-8"))),
        *("" if bold else language.gettext(message) for message in _frame_messages()),
    ]
    messages = (form for forms in language.messages.values() for form in forms)
    texts = [frozenset(page.bold if bold else page.regular) for page in pages.values()]
    home, charts = (
        frozenset().union(*(text for (uri, page), text in zip(pages.items(), texts, strict=True) if is_one(uri, page)))
        for is_one in (lambda uri, _: uri == HOME, lambda _, page: page.is_heavy)
    )
    many = (text for uri, text in zip(pages, texts, strict=True) if "/" in uri)  # those of devices and models
    everywhere = frozenset("".join(frame)).union(*many)
    return _Words(everywhere, tuple(texts), (home, charts), frozenset("" if bold else "".join(messages)))


def _letters(text: str) -> frozenset[str]:
    """Return the characters of a text without ASCII, which every page has."""
    return frozenset("".join(_BEYOND_ASCII.findall(text)))


def _bold(page: str) -> frozenset[str]:
    lines = f"\n{page}"
    return _letters("".join(text for each in _BOLD for text in each.findall(lines)))


@functools.cache
def _frame_messages() -> tuple[str, ...]:
    """Return the messages of the theme around every page."""
    templates = (path.read_text("utf-8") for path in sorted(THEME.rglob("*.html")))
    return tuple(message for template in templates for message in re.findall(r'_\("([^"]+)"', template))


def _slices(face: Face, words: _Words) -> Iterator[frozenset[str]]:
    """Yield slices of the characters: a page needs the first, one with charts another, and others some more."""
    pages = Counter(character for page in words.by_page for character in page)
    every = words.everywhere.union(words.elsewhere, pages)
    if face == latin():
        yield from (_BASIC, _LATIN, every.difference(_BASIC, _LATIN))
        return
    if not face.national:  # letters that join cannot be in several fonts
        yield every.union(_BASIC)
        return
    threshold = OFTEN * len(words.by_page)
    often = words.everywhere.union(character for character, count in pages.items() if count >= threshold)
    alone = [frozenset(letter for letter in page - often if pages[letter] == 1) for page in words.by_page]
    own = [characters for characters in alone if len(characters) >= WORTH_A_REQUEST]
    rest = words.elsewhere - often - pages.keys()
    yield often
    shared = every.difference(often, rest, *own)
    for characters in words.first:
        if part := shared & characters:
            yield part
            shared -= part
    yield from (shared, *own, rest)


def _ranges(characters: Iterable[str]) -> str:
    """Return a set of characters in the syntax of CSS: ``U+20-7e,U+a0``."""
    runs: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return ",".join(f"U+{first:x}-{last:x}" if last > first else f"U+{first:x}" for first, last in runs)
