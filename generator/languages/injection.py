"""What a translation may bring onto a page: text, and the markup of its English. Everything else is smuggled.

An English message and its translation enter; what is foreign in the translation leaves. Catalogs come from strangers:
`generator.languages.language` refuses to load one with a foreign tag, link or expression, so nothing depends on who
ran which
check. It doesn't parse markup, since whoever writes it may count on another parser: it takes away what the English has,
to the letter, and whatever could still begin markup is foreign.

    python -m generator check
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import polib

from generator.languages.blocks import CODE, EXPRESSION, STATEMENT
from generator.languages.findings import Complaint
from generator.languages.pofile import NAMED, forms

MAX_LENGTH = 20_000
"""Of one translation, in characters: the longest here has a twentieth."""

ISOLATES = ('<bdi dir="ltr">', '<bdi dir="rtl">', '<bdi dir="auto">', "<bdi>", "</bdi>")
"""Tags that a translation may add: they isolate a name in text of the other direction."""

_TAG = re.compile(r"<[^<>]*>")
_TARGET = re.compile(r"\](?:\([^()]*\)|\[[^\[\]]*\])")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}")
_PLACEHOLDER = re.compile(rf"{NAMED.pattern}|%%")

_FOREIGN = (
    ("expression", re.compile(r"\{\{.{0,40}|\{%.{0,40}|\{#.{0,40}|.{0,40}[}%#]\}", re.DOTALL)),
    ("tag", re.compile(r"<[A-Za-z/!?].{0,40}", re.DOTALL)),
    ("attribute list", re.compile(r"[{}].{0,40}", re.DOTALL)),
    ("link target", re.compile(r"\][(\[:].{0,40}", re.DOTALL)),
)
_TAKEN = "\x1a"  # stands where something of the English was: what is beside it doesn't come together


def injected_into(entry: polib.POEntry) -> Iterator[Complaint]:
    """What is foreign in the translations of an entry."""
    for translation in forms(entry):
        yield from _seen((entry.msgid, entry.msgid_plural), translation)


@lru_cache(maxsize=16_384)
def _seen(english: tuple[str, ...], translation: str) -> tuple[Complaint, ...]:
    """Who translates changes a message of a thousand, and waits for the page."""
    return tuple(injected(english, translation))


def injected(english: Iterable[str], translation: str) -> Iterator[Complaint]:
    """What `translation` has that none of the `english` texts has, which it translates."""
    if len(translation) > MAX_LENGTH:
        what = f"the translation has {len(translation):,} characters, more than {MAX_LENGTH:,}"
        yield Complaint("character", what, "shorten it")
        return
    texts = [_folded(text) for text in english]
    rest = _folded(translation)
    for piece in _pieces(texts):
        rest = rest.replace(piece, _TAKEN)
    for isolate in ISOLATES:
        rest = rest.replace(isolate, _TAKEN)
    for what, pattern in _FOREIGN:
        if found := pattern.search(rest):
            shown = found[0].replace(_TAKEN, "…").strip()
            expressions = " ".join(match for text in texts for match in EXPRESSION.findall(text))
            remedy = f"use each of these once: {expressions or 'none'}" if what == "expression" else ""
            yield _complaint(what, shown, remedy)
            return
    for name in sorted({*NAMED.findall(rest)}):
        if not any(name in text for text in texts):
            yield _complaint("placeholder", name)
    # Only what has a placeholder is formatted, and only there a percent sign means something.
    if any("%(" in text for text in texts) and "%" in _PLACEHOLDER.sub("", rest):
        yield Complaint("placeholder", "a percent sign begins a placeholder here", "write %% for a percent sign")
    if '"' in rest and not any('"' in text for text in texts):  # it would end an attribute
        yield Complaint("character", "a straight quotation mark", "use the quotation marks of the language")


def _complaint(what: str, shown: str, remedy: str = "") -> Complaint:
    rule = what.replace(" ", "-")
    return Complaint(rule, f"the {what} {shown} is not in the English", remedy or "take it out, or correct it")


def _pieces(texts: Iterable[str]) -> list[str]:
    """The markup of the English, the longest first: code may hold what looks like a tag."""
    patterns = (EXPRESSION, STATEMENT, CODE, _TAG, _TARGET, _ATTRIBUTES)
    found = {match[0] for text in texts for pattern in patterns for match in pattern.finditer(text)}
    return sorted(found, key=len, reverse=True)


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text)
