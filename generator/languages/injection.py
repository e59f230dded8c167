"""Detect markup injection: a translation may contain only text and the markup of its English source.

Takes an English message and its translation, and yields `Violation`s. Catalogs are untrusted input, so
`generator.languages.language` refuses to load one that injects a tag, link or expression, even if no check has run.
This module does not parse markup, because an attacker may rely on another parser's reading: it removes the exact markup
of the English, and treats anything left that could start markup as injected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import polib

from generator.languages.blocks import CODE, EXPRESSION, SIGNS, STATEMENT, unreadable
from generator.languages.findings import Violation
from generator.languages.pofile import NAMED, forms

MAX_LENGTH = 2_000
"""Most characters in a translation, unless its English is longer than a fifth of that: twice the longest one."""

MORE_SIGNS = 40
"""Most signs of markup that a translation may have beyond those of its English, such as for `ISOLATES`."""

ISOLATES = ('<bdi dir="ltr">', '<bdi dir="rtl">', '<bdi dir="auto">', "<bdi>", "</bdi>")
"""Tags that a translation may add: they isolate a name from text of the opposite direction."""

_TAG = re.compile(r"<[^<>]*>")
_TARGET = re.compile(r"\](?:\([^()]*\)|\[[^\[\]]*\])")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}")
_PLACEHOLDER = re.compile(rf"{NAMED.pattern}|%%")

_INJECTION_PATTERNS = (
    ("expression", re.compile(r"\{\{.{0,40}|\{%.{0,40}|\{#.{0,40}|.{0,40}[}%#]\}", re.DOTALL)),
    ("tag", re.compile(r"<[A-Za-z/!?].{0,40}", re.DOTALL)),
    ("attribute list", re.compile(r"[{}].{0,40}", re.DOTALL)),
    ("link target", re.compile(r"\][(\[:].{0,40}", re.DOTALL)),
)
_REMOVED = "\x1a"  # replaces markup of the English, so that the text on its two sides does not join into new markup


def injections_in_entry(entry: polib.POEntry) -> Iterator[Violation]:
    """Yield what the translations of a catalog entry inject."""
    for translation in forms(entry):
        yield from _cached_injections((entry.msgid, entry.msgid_plural), translation)


@lru_cache(maxsize=16_384)
def _cached_injections(english: tuple[str, ...], translation: str) -> tuple[Violation, ...]:
    # A translator who edits one message of a thousand waits for the page.
    return tuple(injections(english, translation))


def injections(english: Iterable[str], translation: str) -> Iterator[Violation]:
    """Yield markup and placeholders of `translation` that no `english` text (singular, plural) contains."""
    english = tuple(english)
    excess = [*excesses(english, translation)]
    if excess:
        yield from excess
        return
    texts = [_folded(text) for text in english]
    rest = _folded(translation)
    for allowed in (*_markup_of(texts), *ISOLATES):
        rest = rest.replace(allowed, _REMOVED)
    for what, pattern in _INJECTION_PATTERNS:
        if match := pattern.search(rest):
            shown = match[0].replace(_REMOVED, "…").strip()
            expressions = " ".join(expression for text in texts for expression in EXPRESSION.findall(text))
            remedy = f"use each of these once: {expressions or 'none'}" if what == "expression" else ""
            yield _not_in_english(what, shown, remedy)
            return
    for name in sorted({*NAMED.findall(rest)}):
        if not any(name in text for text in texts):
            yield _not_in_english("placeholder", name)
    # Python formats only messages with a placeholder, so only there a percent sign has a meaning.
    if any("%(" in text for text in texts) and "%" in _PLACEHOLDER.sub("", rest):
        yield Violation("placeholder", "a percent sign begins a placeholder here", "write %% for a percent sign")
    if '"' in rest and not any('"' in text for text in texts):  # would end an HTML attribute
        yield Violation("character", "a straight quotation mark", "use the quotation marks of the language")


def excesses(english: Iterable[str], translation: str) -> Iterator[Violation]:
    """Yield what no parser shall meet: too much text, markup or nesting, and unprintable characters."""
    texts = tuple(english)
    longest = max(MAX_LENGTH, 5 * max(map(len, texts)))
    if len(translation) > longest:
        what = f"the translation has {len(translation):,} characters, more than {longest:,}"
        yield Violation("character", what, "shorten it")
    if len(SIGNS.findall(translation)) > MORE_SIGNS + max(len(SIGNS.findall(text)) for text in texts):
        yield Violation("brackets", f"more than {MORE_SIGNS} signs [ {{ < ` that are not in the English", "remove them")
    if found := unreadable(translation):
        yield found


def _not_in_english(what: str, shown: str, remedy: str = "") -> Violation:
    rule = what.replace(" ", "-")
    return Violation(rule, f"the {what} {shown} is not in the English", remedy or "remove it, or correct it")


def _markup_of(texts: Iterable[str]) -> list[str]:
    """Return the markup of the English, longest first, because code may contain text that looks like a tag."""
    patterns = (EXPRESSION, STATEMENT, CODE, _TAG, _TARGET, _ATTRIBUTES)
    pieces = {match[0] for text in texts for pattern in patterns for match in pattern.finditer(text)}
    return sorted(pieces, key=len, reverse=True)


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text)
