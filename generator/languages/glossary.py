"""The glossary: the translation of each term, the names that no language translates, and words that are often wrong.

`load_glossary` reads ``locales/glossary.toml``; `glossary_violations` checks a translation against its terms and names,
and `generator.checks` against the rest.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.errors import AtlasError
from generator.languages.language import LOCALES
from generator.languages.typography import VERBATIM

GLOSSARY = "glossary.toml"
_CODE = re.compile(r"[a-z]{2,3}(?:-\w+)?")  # of a language, which need not be published


class Violation(NamedTuple):
    """A mistake in a text."""

    what: str
    remedy: str


class Term(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """One term: `names` are its translations, `accept` lists other correct words by language, `avoid` wrong ones."""

    en: str
    names: dict[str, str]
    forms: tuple[str, ...] = ()  # other English forms: plurals, inflections
    accept: dict[str, tuple[str, ...]] = {}
    avoid: dict[str, tuple[str, ...]] = {}
    enforce: bool = True  # false if the English word has other meanings too
    note: str = ""

    def translation(self, code: str) -> str:
        """Return the term in a language, "" if the glossary has no translation."""
        return self.en if code == "en" else self.names.get(code, "")

    def variants(self, code: str) -> tuple[str, ...]:
        """Return all correct words in a language."""
        own = self.translation(code)
        return (own, *self.accept.get(code, ())) if own else ()


class Glossary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """All terms, the names to `keep` untranslated, and lists by language.

    `spelling` has the right spelling of each wrong one. Two texts of `distinct` differ in every language.
    """

    keep: tuple[str, ...]
    term: tuple[Term, ...]
    spelling: dict[str, dict[str, str]] = {}
    distinct: tuple[tuple[str, str], ...] = ()


def load_glossary(locales: Path = LOCALES) -> Glossary:
    """Read ``glossary.toml``. Raises `AtlasError` with the wrong field."""
    path = locales / GLOSSARY
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for term in content["term"]:  # move translations, such as ``zh = "延迟"``, to `names`
            codes = [code for code in term if code != "en" and _CODE.fullmatch(code)]
            term["names"] = {code: term.pop(code) for code in codes}
        return msgspec.convert(content, Glossary)
    except (OSError, ValueError, AttributeError, LookupError, TypeError, RecursionError) as error:
        raise AtlasError(
            f"the glossary cannot be read: {error}",
            where=str(path),
            remedy="correct the field; each [[term]] has en, and its translations under codes of languages",
        ) from None


def glossary_violations(glossary: Glossary, code: str, message: str, translation: str) -> Iterator[Violation]:
    """Yield where the `translation` of `message` into the language `code` departs from the glossary."""
    english = VERBATIM.sub(" ", message)
    text = _normal(VERBATIM.sub(" ", translation))
    for name in sorted({*_any(glossary.keep).findall(english)}):
        if name not in translation:
            yield Violation(f"the name {name} is missing", f"keep {name} unchanged")
    english = _any(glossary.keep).sub(" ", english)
    terms = [term for term in glossary.term if _any((term.en, *term.forms), re.IGNORECASE).search(english)]
    allowed = [variant for term in terms for variant in term.variants(code)]
    right = [match.span() for variant in allowed for match in _word(variant, code).finditer(text)]

    def occurs(wrong: str) -> bool:
        found = [match.span() for match in _word(wrong, code).finditer(text)]
        return any(not any(start <= first and last <= end for start, end in right) for first, last in found)

    for term in terms:
        variants = term.variants(code)
        found = [word for word in term.avoid.get(code, ()) if occurs(word)]  # not as part of a correct one
        wrong = [word for word in found if not any(word != longer and word in longer for longer in found)]
        missing = term.enforce and variants and not any(_word(variant, code).search(text) for variant in variants)
        for word in wrong:
            yield Violation(f"“{term.en}” is translated as {word}", f"use {(*variants, 'another word')[0]}")
        if missing and not wrong:
            yield Violation(f"“{term.en}” is not translated as {variants[0]}", f"use {' or '.join(variants)}")


@lru_cache(maxsize=1024)
def _any(words: tuple[str, ...], flags: int = 0) -> re.Pattern[str]:
    """Return a pattern for any of some English words, as whole words."""
    either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?:{either})(?![\w-])", flags)


@lru_cache(maxsize=4096)
def _word(word: str, code: str) -> re.Pattern[str]:
    if code != "ar":
        return re.compile(re.escape(_normal(word)), re.IGNORECASE)
    parts = []
    for part in _normal(word).split():  # with its attached article, conjunctions, prepositions and endings
        stem = part.removeprefix("ال") if len(part) > 4 else part
        stem = f"{re.escape(stem[:-1])}[ةت]" if stem.endswith("ة") else re.escape(stem)
        parts.append(rf"(?<!\w)[وف]?[بكلس]?(?:ال|ل)?\w{{0,2}}{stem}\w{{0,4}}(?!\w)")
    return re.compile(r"\s+".join(parts))


def _normal(text: str) -> str:
    """Normalize Arabic for comparison: no vowel signs, no tatweel, plain alefs."""
    text = re.sub(r"[\u064b-\u065f\u0670\u0640]", "", unicodedata.normalize("NFC", text))
    return re.sub(r"[أإآ]", "ا", text)
