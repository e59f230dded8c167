"""The glossary: what each term is called in each language, and which names stay as they are.

``locales/glossary.toml`` enters; a frozen `Glossary` leaves, which tells what a translation does against it.

    python -m generator check
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from bench.errors import AtlasError
from generator.languages.findings import Complaint
from generator.languages.language import LOCALES, translated_languages
from generator.languages.typography import VERBATIM

GLOSSARY = "glossary.toml"


class Term(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """One term. `names` are its translations, `accept` other right words of a language, `avoid` wrong ones."""

    en: str
    names: dict[str, str]
    forms: tuple[str, ...] = ()  # other English forms: plurals, inflections
    accept: dict[str, tuple[str, ...]] = {}
    avoid: dict[str, tuple[str, ...]] = {}
    enforce: bool = True  # false where the English word has other meanings too
    note: str = ""

    def translation(self, code: str) -> str:
        """What it is called in a language; "" where the glossary does not say."""
        return self.en if code == "en" else self.names.get(code, "")

    def variants(self, code: str) -> tuple[str, ...]:
        """All right words of a language."""
        own = self.translation(code)
        return (own, *self.accept.get(code, ())) if own else ()


class Glossary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """All terms, and the names to `keep`."""

    keep: tuple[str, ...]
    term: tuple[Term, ...]


def load_glossary(locales: Path = LOCALES) -> Glossary:
    """Read ``glossary.toml``. Raises `AtlasError` with the field that is wrong."""
    path = locales / GLOSSARY
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content["term"], list) or not all(isinstance(term, dict) for term in content["term"]):
            raise TypeError("a term is no table")  # noqa: TRY301  # told as all other mistakes are
        return msgspec.convert({**content, "term": [_nested(term) for term in content["term"]]}, Glossary)
    except (OSError, ValueError, msgspec.ValidationError, LookupError, TypeError, RecursionError) as error:
        raise AtlasError(
            f"the glossary cannot be read: {error}",
            where=str(path),
            remedy="correct the field; each [[term]] has en, and its translations under codes of languages",
        ) from None


def _nested(term: dict[str, Any]) -> dict[str, Any]:
    """A term of the file, where translations stand beside the other fields: ``zh = "延迟"``."""
    names = {code: term[code] for code in translated_languages() if code in term}
    return {**{field: value for field, value in term.items() if field not in names}, "names": names}


def complaints(glossary: Glossary, code: str, message: str, translation: str) -> Iterator[Complaint]:
    """What `translation` of `message` into the language `code` does against the glossary."""
    english = VERBATIM.sub(" ", message)
    text = _normal(VERBATIM.sub(" ", translation))
    for name in sorted({*_names(glossary.keep).findall(english)}):
        if name not in translation:
            yield Complaint("name", f"the name {name} is missing", f"keep {name} as it is")
    english = _names(glossary.keep).sub(" ", english)
    terms = _terms(glossary, english)
    allowed = [variant for term in terms for variant in term.variants(code)]
    for term in terms:
        variants = term.variants(code)
        wrong = [word for word in term.avoid.get(code, ()) if _occurs(word, allowed, text, code)]
        missing = term.enforce and variants and not any(_word(variant, code).search(text) for variant in variants)
        for word in wrong:
            if any(word != longer and word in longer for longer in wrong):
                continue
            yield Complaint("term", f"“{term.en}” is called {word}", f"use {(*variants, 'another word')[0]}")
        if missing and not wrong:
            yield Complaint("term", f"“{term.en}” is not called {variants[0]}", f"use {' or '.join(variants)}")


@lru_cache(maxsize=8192)
def _terms(glossary: Glossary, english: str) -> tuple[Term, ...]:
    """The terms that occur in a text. Looking for their letters first saves most of the time."""
    lower = english.lower()
    near = (term for term in glossary.term if any(form.lower() in lower for form in (term.en, *term.forms)))
    return tuple(term for term in near if _english((term.en, *term.forms)).search(english))


def _occurs(wrong: str, allowed: list[str], text: str, code: str) -> bool:
    """Whether a wrong word stands in the text, other than as part of a right one."""
    if not _word(wrong, code).search(text):
        return False
    right = [match.span() for variant in allowed for match in _word(variant, code).finditer(text)]
    return any(
        not any(start <= match.start() and match.end() <= end for start, end in right)
        for match in _word(wrong, code).finditer(text)
    )


@lru_cache(maxsize=8)
def _names(names: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{either})(?![\w-])")


@lru_cache(maxsize=1024)
def _english(forms: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?:{either})(?![\w-])", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _word(word: str, code: str) -> re.Pattern[str]:
    if code != "ar":
        return re.compile(re.escape(_normal(word)), re.IGNORECASE)
    return re.compile(r"\s+".join(_arabic(part) for part in _normal(word).split()))


def _arabic(word: str) -> str:
    """A word with whatever Arabic writes onto it: article, conjunctions and prepositions, endings."""
    stem = word.removeprefix("ال") if len(word) > 4 else word
    stem = f"{re.escape(stem[:-1])}[ةت]" if stem.endswith("ة") else re.escape(stem)
    return rf"(?<!\w)[وف]?[بكلس]?(?:ال|ل)?\w{{0,2}}{stem}\w{{0,4}}(?!\w)"


def _normal(text: str) -> str:
    """Text without vowel signs and tatweel, and with plain alefs, as it is compared."""
    text = unicodedata.normalize("NFC", text)
    text = re.sub(r"[\u064b-\u065f\u0670\u0640]", "", text)
    return re.sub(r"[أإآ]", "ا", text)
