"""A `Language`: its catalog, plural forms, formats and direction.

A language code and ``locales/<code>/LC_MESSAGES/messages.po`` enter; a frozen `Language` leaves, which translates
messages and formats numbers, dates and lists. Fuzzy translations are never used. English needs no
catalog. Two pseudo-locales exist for tests only: ``en-XA`` (accented, 40% longer) and ``ar-XB`` (right to left).

    python -m generator status
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
import polib
from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.dates import format_date, format_skeleton, format_time
from babel.lists import format_list
from babel.numbers import NumberPattern, format_decimal, format_percent, parse_pattern
from babel.units import format_unit
from markupsafe import Markup

from bench.errors import AtlasError
from generator.languages import typography
from generator.languages.injection import injected_into
from generator.languages.pofile import Key, forms, is_complete, key, parse

LOCALES = Path(__file__).resolve().parents[2] / "locales"
"""Where catalogs live: ``messages.pot``, ``<code>/LC_MESSAGES/messages.po``, ``glossary.toml``, ``languages.toml``."""

LIST = "languages.toml"
"""The file that lists the languages."""

SOURCE = "en"
"""What pages are written in."""

_CLDR = {"zh": "zh_Hans_CN", "en-XA": "en", "ar-XB": "ar"}


def _locale(code: str) -> Locale | None:
    if "_" in code:  # zh_TW is no tag of HTML, nor of a browser's Intl
        return None
    name = _CLDR.get(code, code)
    try:
        return Locale.parse(name, sep="-" if "-" in name else "_")
    except (ValueError, UnknownLocaleError):
        return None


class _Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    languages: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


def listed(locales: Path = LOCALES) -> tuple[str, ...]:
    """The languages of the guide, the source language first. Raises `AtlasError` for a list that is none."""
    path = locales / LIST
    try:
        codes = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Listed).languages
    except (OSError, ValueError, msgspec.ValidationError, RecursionError) as error:
        raise _no_list(path, f"the list of languages cannot be read: {error}") from None
    for code in codes:
        if _locale(code) is None:
            raise _no_list(path, f"{code!r} is not the code of a language")
    if codes[0] != SOURCE or len({*codes}) < len(codes):
        raise _no_list(path, f"the list of languages does not begin with {SOURCE}, or names one twice")
    return codes


def _no_list(path: Path, what: str) -> AtlasError:
    return AtlasError(what, where=str(path), remedy=f'correct it, such as: languages = ["{SOURCE}", "zh"]')


@cache
def published_languages(locales: Path = LOCALES) -> tuple[str, ...]:
    """The languages that are published, the source language first, as they were listed when first asked for."""
    return listed(locales)


def translated_languages() -> tuple[str, ...]:
    """The published languages without the source language."""
    return published_languages()[1:]


PSEUDO = ("en-XA", "ar-XB")
"""Languages that only tests see."""

UNKNOWN = "–"
"""What a formatter shows for a value that is not known (None, not a number)."""

_PLURAL_ORDER = ("zero", "one", "two", "few", "many", "other")
_NO_BREAK_SPACE = "\u00a0"


class Untranslated(str):
    """English that stands in for a translation: in HTML it says so. What fills its placeholders keeps that."""

    __slots__ = ()

    def __mod__(self, values: object, /) -> Untranslated:
        return Untranslated(super().__mod__(values))

    def __html__(self) -> Markup:
        return Markup(f'<span class="untranslated" lang="en" dir="ltr">{self}</span>')  # noqa: S704  # may hold markup


@dataclass(frozen=True, eq=False)
class Language:
    """One language of the site. `translate` looks a message up, and is the only part a pseudo-locale replaces."""

    code: str
    name: str
    direction: str  # ltr or rtl
    locale: Locale
    prefix: str  # of the site's URLs: "" for English, else "zh/"
    messages: Mapping[Key, tuple[str, ...]]  # a string per plural form; fuzzy and empty ones are left out
    lines: Mapping[Key, int]  # of the catalog, for errors
    catalog: Path | None = None
    source_url: str = ""  # where the catalog stands in the repository, "" where mkdocs.yml names none
    complete: bool = True  # declared in the catalog: nothing may be missing
    fingerprint: str = ""  # changes whenever a translation does
    pseudo: Callable[[str], str] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Language) and (self.code, self.fingerprint) == (other.code, other.fingerprint)

    def __hash__(self) -> int:
        return hash((self.code, self.fingerprint))

    def translation(self, message: str, context: str | None = None) -> str | None:
        """The translation of a page block or string, None where there is none yet. English translates to itself."""
        if self.pseudo:
            return self.pseudo(message)
        if self.catalog is None:
            return message
        forms = self.messages.get((context, message))
        return forms[0] if forms else None

    def gettext(self, message: str) -> str:
        """The translation of `message`, else `message`, as `Untranslated`. The caller fills ``%(name)s``."""
        return self.translation(message) or Untranslated(message)

    def pgettext(self, context: str, message: str) -> str:
        """`gettext` where one English text has several meanings."""
        return self.translation(message, context) or Untranslated(message)

    def ngettext(self, singular: str, plural: str, n: float) -> str:
        """The form of the message for `n` things, by the plural rule of CLDR."""
        if self.pseudo:
            return self.pseudo(singular if n == 1 else plural)
        forms = self.messages.get((None, singular))
        if forms:
            return forms[self.plural_index(n)]
        english = singular if n == 1 else plural
        return english if self.catalog is None else Untranslated(english)

    def plural_index(self, n: float) -> int:
        """Which ``msgstr[…]`` serves `n` things."""
        return plural_forms(self.locale).index(self.locale.plural_form(n))

    def number(self, x: float | None, digits: int | None = None) -> str:
        """``12,345.679``; exactly `digits` decimals where given."""
        if x is None or math.isnan(x):
            return UNKNOWN
        return _decimal(_whole_zero(x, digits), digits, self.locale)

    def milliseconds(self, x: float | None, digits: int = 3) -> str:
        """``7.325 ms``, as exact as the published figures by default."""
        return self._measure(x, digits, "ms")

    def seconds(self, x: float | None, digits: int = 1) -> str:
        """``41.5 s``."""
        return self._measure(x, digits, "s")

    def gigabytes(self, x: float | None, digits: int = 2) -> str:
        """``15.36 GB`` of 1e9 bytes."""
        return self._measure(x, digits, "GB")

    def ratio(self, x: float | None, digits: int = 2) -> str:
        """``1.54×``."""
        text = self.number(x, digits)
        return text if text == UNKNOWN else f"{text}×"

    def percent(self, x: float | None, digits: int = 1, signed: bool = False) -> str:
        """``45.0%`` of 0.45; with `signed`, ``+45.0%``."""
        if x is None or math.isnan(x):
            return UNKNOWN
        x = _whole_zero(x, digits + 2)
        text = _percent(x, digits, self.locale)
        return f"+{text}" if signed and x > 0 else text

    def unit(self, x: float | None, unit: str, digits: int | None = None) -> str:
        """`x` with one of CLDR's units in words of this language: ``12 min`` for ``duration-minute``.

        Raises `AtlasError` where CLDR has no name for the unit (Babel would show its identifier to readers).
        """
        if x is None or math.isnan(x):
            return UNKNOWN
        text = format_unit(self.number(x, digits), unit, length="short", locale=self.locale, numbering_system="latn")
        if "duration-" in text or "digital-" in text:
            raise AtlasError(
                f"CLDR has no short name of the unit {unit!r} in {self.name}: it would read {text!r}",
                where="generator/languages/language.py",
                remedy="use another unit, or an international symbol",
            )
        return self._spaced(text)

    def date(self, d: date | datetime) -> str:
        """``March 1, 2024``; a `datetime` is taken in UTC."""
        if isinstance(d, datetime):
            d = _utc(d).date()
        return self._spaced(format_date(d, "long", locale=self.locale))

    def iso_date(self, text: str) -> str:
        """A date as exact as it is: ``2023``, ``July 2023`` or ``July 13, 2023`` of 2023, 2023-07 or 2023-07-13."""
        parts = [int(part) for part in text.split("-")]
        if len(parts) == len(("year", "month", "day")):
            return self.date(date(*parts))
        skeleton = "y" if len(parts) == 1 else "yMMMM"
        return self._spaced(format_skeleton(skeleton, date(*parts, *([1] * (3 - len(parts)))), locale=self.locale))

    def datetime(self, d: datetime) -> str:
        """``March 1, 2024 14:05 UTC``."""
        return f"{self.date(d)} {format_time(_utc(d).time(), 'HH:mm', locale=self.locale)} UTC"

    def names(self, items: Sequence[str]) -> str:
        """``A, B, and C``, joined as the language joins a list."""
        return self._spaced(format_list(list(items), locale=self.locale))

    def isolate(self, text: str) -> str:
        """HTML `text` (a number with its unit, a name, a version) that keeps its own order in right-to-left text."""
        return f'<bdi dir="ltr">{text}</bdi>' if self.direction == "rtl" else text

    def embed(self, text: str) -> str:
        """`isolate` for plain text, such as an alternative text or a title: direction marks instead of an element."""
        mark = typography.LEFT_TO_RIGHT_MARK
        return f"{mark}{text}{mark}" if self.direction == "rtl" else text

    def _measure(self, x: float | None, digits: int, symbol: str) -> str:
        # International symbols stay as they are in every language (CLDR would write ms as ملي ث), and never
        # stand alone on the next line.
        text = self.number(x, digits)
        return text if text == UNKNOWN else f"{text}{_NO_BREAK_SPACE}{symbol}"

    def _spaced(self, text: str) -> str:
        return typography.space_cjk(text) if self.locale.language in typography.CJK_LANGUAGES else text


def load_language(code: str, locales: Path = LOCALES) -> Language:
    """The language `code`, with its catalog from below `locales`.

    Raises `AtlasError` for a code that is none, and for a catalog that is missing or broken.
    """
    locale = load_locale(code)
    if code == SOURCE:
        return _language(code, locale)
    if code in PSEUDO:
        from generator.languages.pseudo import pseudo  # noqa: PLC0415  # only tests need it

        return _language(code, locale, pseudo=pseudo(code))
    path = catalog_path(code, locales)
    if not path.is_file():
        raise AtlasError(
            f"the catalog of {locale.get_language_name('en')} ({code}) is missing",
            where=_shown(path),
            remedy=f"run `python -m generator messages --language {code}` and translate {path.name}",
        )
    content = path.read_bytes()
    messages, lines, complete = _parsed(content, len(plural_forms(locale)), _shown(path))
    return _language(
        code,
        locale,
        messages=messages,
        lines=lines,
        catalog=path,
        source_url=_source_url(path, locales.parent),
        complete=complete,
        fingerprint=hashlib.sha256(content).hexdigest(),
    )


def name_of(code: str) -> str:
    """What a language calls itself, with its region where its code has one: ``português (Brasil)``."""
    locale = load_locale(code)
    with_region = "-" in code and code not in PSEUDO
    return (locale.get_display_name(locale) if with_region else locale.get_language_name(locale)) or code


def script_of(code: str) -> str:
    """The script that a language is written in, as ISO 15924 names it: ``Latn``, ``Arab``, ``Kore``."""
    locale = load_locale(code)
    likely = get_global("likely_subtags").get(str(locale), get_global("likely_subtags").get(locale.language, ""))
    return locale.script or next((part for part in likely.split("_") if len(part) == len("Latn")), "Latn")


@cache
def plural_forms(locale: Locale) -> tuple[str, ...]:
    """CLDR names of the plural forms of a language, in the order of ``msgstr[0]``, ``msgstr[1]``…"""
    return tuple(form for form in _PLURAL_ORDER if form in {*locale.plural_form.tags, "other"})


@cache
def plural_examples(locale: Locale) -> tuple[tuple[int, ...], ...]:
    """The numbers below 1000 that each plural form serves, in the order of ``msgstr[…]``."""
    served: dict[str, list[int]] = {form: [] for form in plural_forms(locale)}
    for n in range(1000):
        served[locale.plural_form(n)].append(n)
    return tuple(map(tuple, served.values()))


def catalog_path(code: str, locales: Path = LOCALES) -> Path:
    """Where the catalog of a language lies."""
    return locales / code / "LC_MESSAGES" / "messages.po"


_REPOSITORY = re.compile(r"^repo_url:\s*[\"']?([^\s\"'#]+)", re.MULTILINE)


def _source_url(path: Path, root: Path) -> str:
    """The address of a file in the repository that mkdocs.yml names; HEAD is its main branch."""
    settings = root / "mkdocs.yml"
    repository = _REPOSITORY.search(settings.read_text(encoding="utf-8")) if settings.is_file() else None
    return f"{repository[1].rstrip('/')}/blob/HEAD/{path.relative_to(root).as_posix()}" if repository else ""


def _shown(path: Path) -> str:
    """The path as a reader of an error knows it: from the folder they are in, where it is below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


@lru_cache(maxsize=8)
def _parsed(content: bytes, plurals: int, where: str) -> tuple[Mapping[Key, tuple[str, ...]], Mapping[Key, int], bool]:
    """Messages and lines of a catalog, and whether it is complete. Parsing one takes a tenth of a second."""
    catalog = parse(content, where)
    messages, lines = _usable(catalog, plurals, where)
    return MappingProxyType(messages), MappingProxyType(lines), is_complete(catalog)


def _usable(catalog: polib.POFile, plurals: int, where: str) -> tuple[dict[Key, tuple[str, ...]], dict[Key, int]]:
    messages: dict[Key, tuple[str, ...]] = {}
    lines: dict[Key, int] = {}
    for entry in catalog:
        if not entry.obsolete:
            lines[key(entry)] = entry.linenum or 0
            translations = forms(entry)
            has_all = all(translations) and len(translations) == (plurals if entry.msgid_plural else 1)
            if has_all and not entry.fuzzy:
                _refuse_injected(entry, f"{where}:{entry.linenum}")
                messages[key(entry)] = translations
    return messages, lines


def _refuse_injected(entry: polib.POEntry, where: str) -> None:
    for complaint in injected_into(entry):
        raise AtlasError(f"{complaint.what}: {entry.msgid[:60]!r}", where=where, remedy=complaint.remedy)


def _language(
    code: str,
    locale: Locale,
    messages: Mapping[Key, tuple[str, ...]] = MappingProxyType({}),
    lines: Mapping[Key, int] = MappingProxyType({}),
    catalog: Path | None = None,
    source_url: str = "",
    complete: bool = True,
    fingerprint: str = "",
    pseudo: Callable[[str], str] | None = None,
) -> Language:
    return Language(
        code=code,
        name=name_of(code),
        direction="rtl" if locale.text_direction == "rtl" else "ltr",
        locale=locale,
        prefix="" if code == SOURCE else f"{code}/",
        messages=messages,
        lines=lines,
        catalog=catalog,
        source_url=source_url,
        complete=complete,
        fingerprint=fingerprint,
        pseudo=pseudo,
    )


def load_locale(code: str) -> Locale:
    """The locale of CLDR for a language code. Raises `AtlasError` where there is none."""
    if locale := _locale(code):
        return locale
    raise AtlasError(
        f"{code!r} is not the code of a language",
        where="language",
        remedy=f"use one of {', '.join(published_languages())}, or a code of CLDR such as ko",
    )


def _whole_zero(x: float, digits: int | None) -> float:
    # -0.04 with one decimal would read "-0.0".
    return 0 if x == 0 or (digits is not None and round(x, digits) == 0) else x


@lru_cache(maxsize=1 << 16, typed=True)  # a figure stands in tables, charts and captions of several pages
def _decimal(x: float, digits: int | None, locale: Locale) -> str:
    pattern = None if digits is None else _fixed(locale.decimal_formats[None].pattern, digits)
    return str(format_decimal(x, format=pattern, locale=locale, numbering_system="latn"))


@lru_cache(maxsize=1 << 16, typed=True)
def _percent(x: float, digits: int, locale: Locale) -> str:
    pattern = _fixed(locale.percent_formats[None].pattern, digits)
    return str(format_percent(x, format=pattern, locale=locale, numbering_system="latn"))


@cache
def _fixed(pattern: str, digits: int) -> NumberPattern:
    """CLDR's number pattern with exactly `digits` decimals. Parsed: that would take as long as to apply it."""
    decimals = f".{'0' * digits}" if digits else ""
    return parse_pattern(re.sub(r"0(?:\.[0#]+)?(?=[^0#]*$)", lambda _: f"0{decimals}", pattern))


def _utc(d: datetime) -> datetime:
    return d.astimezone(UTC) if d.tzinfo else d
