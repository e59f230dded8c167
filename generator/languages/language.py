"""A `Language`: its catalog, plural forms, formats and direction.

`load_language` takes a language code, reads ``locales/<code>/LC_MESSAGES/messages.po`` and returns a frozen `Language`,
which translates messages and formats numbers, dates and lists. It never uses fuzzy translations. English needs no
catalog.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from unicodedata import bidirectional

import msgspec
from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_skeleton
from babel.lists import format_list
from babel.numbers import NumberPattern, format_decimal, format_percent, parse_pattern
from babel.units import format_unit
from markupsafe import Markup

from bench.errors import AtlasError
from generator.languages import typography
from generator.languages.pofile import NAMED, Key, english, forms, key, parse

LOCALES = Path(__file__).resolve().parents[2] / "locales"
"""Holds ``<code>/LC_MESSAGES/messages.po``, ``glossary.toml`` and ``languages.toml``."""

LIST = "languages.toml"
"""The file that lists the languages."""

SOURCE = "en"
"""The language of the authored pages."""

_CLDR = {"zh": "zh_Hans_CN"}


class LanguageList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The languages of the guide, and those whose catalogs have to be complete."""

    languages: tuple[str, ...]
    complete: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise `ValueError`, which msgspec passes on, for a list that contradicts itself."""
        codes = {*self.languages}
        if self.languages[:1] != (SOURCE,) or len(codes) < len(self.languages) or not {*self.complete} <= codes:
            raise ValueError(f"it has to begin with {SOURCE}, and to have each language once, also those in `complete`")


def listed(locales: Path = LOCALES) -> LanguageList:
    """Read the list of languages. Raises `AtlasError` if it is invalid."""
    path = locales / LIST
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), LanguageList)
    except (OSError, ValueError, RecursionError) as error:
        raise AtlasError(
            f"the list of languages cannot be used: {error}",
            where=str(path),
            remedy=f'correct it, for example: languages = ["{SOURCE}", "zh"]',
        ) from None
    for code in found.languages:
        load_locale(code, where=str(path))
    return found


@cache
def published_languages() -> tuple[str, ...]:
    """The languages that are published, the source language first, as they were listed when first asked for."""
    return listed().languages


def translated_languages() -> tuple[str, ...]:
    """The published languages without the source language."""
    return published_languages()[1:]


UNKNOWN = "–"
"""Stands for an unknown value (None or NaN) in formatted text."""

_PLURAL_ORDER = ("zero", "one", "two", "few", "many", "other")


class Untranslated(str):
    """English text shown for want of a translation. Its HTML marks it as English, even after `%` formatting."""

    __slots__ = ()

    def __mod__(self, values: object, /) -> Untranslated:
        return Untranslated(super().__mod__(values))

    def __html__(self) -> Markup:
        return Markup(f'<span class="untranslated" lang="en" dir="ltr">{self}</span>')  # noqa: S704  # may hold markup


@dataclass(frozen=True)
class Language:
    """One language of the site."""

    code: str
    name: str
    direction: str  # ltr or rtl
    locale: Locale
    prefix: str  # of its URLs: "" for English, "zh/" for Chinese
    # One string per plural form, without fuzzy and empty entries:
    messages: Mapping[Key, tuple[str, ...]] = field(default_factory=dict, compare=False)
    lines: Mapping[Key, int] = field(default_factory=dict, compare=False)  # in the catalog, for errors
    catalog: Path | None = None

    def translation(self, message: str, context: str | None = None) -> str | None:
        """Return the translation of a block or string, None if there is none. English translates to itself."""
        if self.catalog is None:
            return message
        forms = self.messages.get((context, message))
        return forms[0] if forms else None

    def gettext(self, message: str) -> str:
        """Return the translation, else the message as `Untranslated`. The caller fills ``%(name)s``."""
        return self.translation(message) or Untranslated(message)

    def pgettext(self, context: str, message: str) -> str:
        """Return the translation in a context, for an English text with several meanings."""
        return self.translation(message, context) or Untranslated(message)

    def ngettext(self, singular: str, plural: str, n: float) -> str:
        """Return the plural form of the message for `n` things, by the rule of CLDR."""
        forms = self.messages.get((None, singular))
        if forms:
            return forms[plural_forms(self.locale).index(self.locale.plural_form(n))]
        english = singular if n == 1 else plural
        return english if self.catalog is None else Untranslated(english)

    def number(self, x: float | None, digits: int | None = None) -> str:
        """Format ``12,345.679``, with exactly `digits` decimals if given; below zero, −2 rounds to hundreds."""
        if x is None or math.isnan(x):
            return UNKNOWN
        if digits is not None and digits < 0:
            x, digits = round(x, digits), 0
        return _decimal(_whole_zero(x, digits), digits, self.locale)

    def milliseconds(self, x: float | None, digits: int = 3) -> str:
        """Format ``7.325 ms``; the default has the decimals of the published figures. Whole milliseconds from a
        second on are seconds: ``1.62 s``."""
        if x is not None and x >= 1e3 and digits <= 0:
            return self._measure(x / 1e3, digits + 3, "s")
        return self._measure(x, digits, "ms")

    def seconds(self, x: float | None, digits: int = 1) -> str:
        """Format ``41.5 s``."""
        return self._measure(x, digits, "s")

    def ratio(self, x: float | None, digits: int = 2) -> str:
        """Format ``1.54×``."""
        text = self.number(x, digits)
        return text if text == UNKNOWN else f"{text}×"

    def percent(self, x: float | None, digits: int = 1, signed: bool = False) -> str:
        """Format 0.45 as ``45.0%``, or ``+45.0%`` if `signed`."""
        if x is None or math.isnan(x):
            return UNKNOWN
        x = _whole_zero(x, digits + 2)
        text = _percent(x, digits, self.locale)
        return f"+{text}" if signed and x > 0 else text

    def unit(self, x: float | None, unit: str, digits: int | None = None) -> str:
        """Format `x` with a CLDR unit in this language: ``12 min`` for ``duration-minute``."""
        if x is None or math.isnan(x):
            return UNKNOWN
        text = format_unit(self.number(x, digits), unit, length="short", locale=self.locale, numbering_system="latn")
        return self._spaced(text)

    def date(self, d: date | datetime) -> str:
        """Format ``March 1, 2024``; a `datetime` is converted to UTC."""
        if isinstance(d, datetime):
            d = (d.astimezone(UTC) if d.tzinfo else d).date()
        return self._spaced(format_date(d, "long", locale=self.locale))

    def iso_date(self, text: str) -> str:
        """Format 2023, 2023-07 or 2023-07-13 as ``2023``, ``July 2023`` or ``July 13, 2023``."""
        if not text:
            return UNKNOWN
        parts = [int(part) for part in text.split("-")]
        if len(parts) == len(("year", "month", "day")):
            return self.date(date(*parts))
        skeleton = "y" if len(parts) == 1 else "yMMMM"
        return self._spaced(format_skeleton(skeleton, date(*parts, *([1] * (3 - len(parts)))), locale=self.locale))

    def names(self, items: Sequence[str]) -> str:
        """Join the items as the language joins a list: ``A, B, and C``."""
        return self._spaced(format_list(list(items), locale=self.locale))

    def isolate(self, text: str) -> str:
        """Isolate a number with its unit, a name or a version from right-to-left text. Takes and returns HTML."""
        return f'<bdi dir="ltr">{text}</bdi>' if self.direction == "rtl" else text

    def embed(self, text: str) -> str:
        """Isolate plain text, such as an alternative text or a title, with direction marks instead of an element."""
        mark = typography.LEFT_TO_RIGHT_MARK
        return f"{mark}{text}{mark}" if self.direction == "rtl" else text

    def alone(self, text: str) -> str:
        """Return plain text for a place outside of the page, such as a title in search results, where nothing but its
        first letter tells its direction: from right to left, any other begins with a mark."""
        first = next((each for each in map(bidirectional, text) if each in {"L", "R", "AL"}), "")
        is_marked = self.direction == "rtl" and text and first not in {"R", "AL"}
        return f"{typography.RIGHT_TO_LEFT_MARK}{text}" if is_marked else text

    def _measure(self, x: float | None, digits: int, symbol: str) -> str:
        # International symbols stay the same in every language (CLDR writes ms as ملي ث), and the no-break space
        # keeps them on the line of their number.
        text = self.number(x, digits)
        return text if text == UNKNOWN else f"{text}\u00a0{symbol}"

    def _spaced(self, text: str) -> str:
        return typography.space_cjk(text) if self.locale.language in typography.CJK_LANGUAGES else text


def load_language(code: str, locales: Path = LOCALES) -> Language:
    """Load a language with its catalog in `locales`.

    Raises `AtlasError` for an unknown code, and for a missing or invalid catalog.
    """
    language = without_catalog(code)
    if code == SOURCE:
        return language
    path = catalog_path(code, locales)
    if not path.is_file():
        raise AtlasError(
            f"the catalog of {language.locale.get_language_name('en')} ({code}) is missing",
            where=shown(path),
            remedy=f"run `python -m generator messages --language {code}` and translate {path.name}",
        )
    messages, lines = _published(path.read_bytes(), len(plural_forms(language.locale)), shown(path))
    return replace(language, messages=messages, lines=lines, catalog=path)


@lru_cache(maxsize=8)  # parsing takes 0.1 s
def _published(content: bytes, plurals: int, where: str) -> tuple[Mapping[Key, tuple[str, ...]], Mapping[Key, int]]:
    """Return the translations of a catalog that pages show, and the line of each message."""
    messages: dict[Key, tuple[str, ...]] = {}
    lines: dict[Key, int] = {}
    for message in parse(content, where):
        line = lines[key(message)] = message.lineno or 1
        translations = forms(message)
        expected = plurals if message.pluralizable else 1
        if message.id and all(translations) and len(translations) == expected and not message.fuzzy:
            names = dict.fromkeys(name[2:-2] for text in english(message) for name in NAMED.findall(text))
            try:
                for translation in translations if names else ():
                    translation % dict.fromkeys(names, 0)
            except (LookupError, TypeError, ValueError) as error:
                raise AtlasError(
                    f"the placeholders of {english(message)[0][:60]!r} cannot be filled: {error}",
                    where=f"{where}:{line}",
                    remedy=f"use only {' '.join(f'%({name})s' for name in names)}, and write %% for a percent sign",
                ) from None
            messages[key(message)] = translations
    return MappingProxyType(messages), MappingProxyType(lines)


def without_catalog(code: str) -> Language:
    """Return a language of which nothing is translated: English, or one whose catalog cannot be read."""
    locale = load_locale(code)
    return Language(
        code=code,
        name=name_of(code),
        direction="rtl" if locale.text_direction == "rtl" else "ltr",
        locale=locale,
        prefix="" if code == SOURCE else f"{code}/",
    )


def name_of(code: str) -> str:
    """Return the name of a language in that language, with its region if the code has one: ``português (Brasil)``."""
    locale = load_locale(code)
    return (locale.get_display_name(locale) if "-" in code else locale.get_language_name(locale)) or code


@cache
def plural_forms(locale: Locale) -> tuple[str, ...]:
    """Return the CLDR names of the plural forms, in the order of ``msgstr[0]``, ``msgstr[1]``…"""
    return tuple(form for form in _PLURAL_ORDER if form in {*locale.plural_form.tags, "other"})


@cache
def plural_examples(locale: Locale) -> tuple[tuple[int, ...], ...]:
    """Return the numbers below 1000 of each plural form, in the order of ``msgstr[…]``."""
    of_number = [locale.plural_form(n) for n in range(1000)]
    return tuple(tuple(n for n, each in enumerate(of_number) if each == form) for form in plural_forms(locale))


def catalog_path(code: str, locales: Path = LOCALES) -> Path:
    """Return the path of a language's catalog."""
    return locales / code / "LC_MESSAGES" / "messages.po"


def shown(path: Path) -> str:
    """Return the path for an error message: relative to the current folder if it is below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def load_locale(code: str, where: str = "language") -> Locale:
    """Return the CLDR locale of a language code. Raises `AtlasError` if there is none."""
    name = _CLDR.get(code, code)
    with suppress(ValueError, UnknownLocaleError):
        if "_" not in code:  # zh_TW is not a language tag for HTML or for Intl in browsers
            return Locale.parse(name, sep="-" if "-" in name else "_")
    raise AtlasError(
        f"{code!r} is not the code of a language", where=where, remedy="use a code of CLDR, such as ko or pt-BR"
    )


def _signed(text: str) -> str:
    """Return a figure with a real minus sign: it is as wide as a plus, and screen readers say it."""
    return text.replace("-", "−")


def _whole_zero(x: float, digits: int | None) -> float:
    # Otherwise -0.04 with one decimal would read "-0.0".
    return 0 if x == 0 or (digits is not None and round(x, digits) == 0) else x


@lru_cache(maxsize=1 << 16, typed=True)  # the same figure appears in tables, charts and captions of several pages
def _decimal(x: float, digits: int | None, locale: Locale) -> str:
    pattern = None if digits is None else _fixed(locale.decimal_formats[None].pattern, digits)
    return _signed(format_decimal(x, format=pattern, locale=locale, numbering_system="latn"))


@lru_cache(maxsize=1 << 16, typed=True)
def _percent(x: float, digits: int, locale: Locale) -> str:
    pattern = _fixed(locale.percent_formats[None].pattern, digits)
    return _signed(format_percent(x, format=pattern, locale=locale, numbering_system="latn"))


@cache
def _fixed(pattern: str, digits: int) -> NumberPattern:
    """Return CLDR's number pattern with exactly `digits` decimals. Parsing takes as long as formatting, so cache it."""
    decimals = f".{'0' * digits}" if digits else ""
    return parse_pattern(re.sub(r"0(?:\.[0#]+)?(?=[^0#]*$)", lambda _: f"0{decimals}", pattern))
