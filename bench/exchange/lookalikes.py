"""Find names that people take for other names: Cyrillic letters in a Latin word, a known device in another spelling.

`name_fault` takes one name; `KnownNames` those of the atlas, and says which of them a new name looks like. Two names
look alike if their skeletons, as defined by Unicode's UTS 39, are equal, even if they differ in case.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache

from fontTools.unicodedata import script

from bench.plans.models import MODELS
from bench.records.plausibility import Fault
from bench.records.record import LONGEST_NAME, NAME, Record

_WRITTEN_TOGETHER = (
    frozenset({"Latn", "Hani", "Hira", "Kana"}),
    frozenset({"Latn", "Hani", "Bopo"}),
    frozenset({"Latn", "Hani", "Hang"}),
)
"""The scripts that one word may mix: "highly restrictive" in UTS 39."""

_OF_ALL = frozenset({"Zyyy", "Zinh"})
_ESTABLISHED = 1_000_000
"""What a name counts that stands in a file which is not checked: more records than a contribution has."""


def name_fault(name: str) -> str | None:
    """Return what is wrong with a name that pages show, or None."""
    if not re.search(NAME, name):
        return f"{name!a} is not a valid name: use one line of visible characters without markup"
    normal = " ".join(unicodedata.normalize("NFKC", name).split())
    if normal != name:
        return f"{name!a} is not in normal form (NFKC, single spaces), which is {normal!a}"
    for word in name.split():
        scripts = {script(character) for character in word} - _OF_ALL
        if len(scripts) > 1 and not any(scripts <= together for together in _WRITTEN_TOGETHER):
            return f"{word!a} mixes letters of several scripts: {', '.join(sorted(scripts))}"
    return None


def contributor_fault(name: str | None) -> str | None:
    """Return what is wrong with a contributor's name, or None."""
    if name is not None and len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    return None if name is None else name_fault(name)


@dataclass(frozen=True)
class KnownNames:
    """The spellings of all names by kind and skeleton, each with the number of its records."""

    spellings: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    labels: dict[str, set[str]] = field(default_factory=dict)  # of models in files that are not checked, by skeleton

    def __post_init__(self) -> None:
        for spec in MODELS:
            self._add("checkpoint", spec.checkpoint, _ESTABLISHED)
            self.labels.setdefault(skeleton(spec.label), set()).add(spec.label)

    def add(self, record: Record, *, is_checked: bool) -> None:
        """Add the names of a record. Those of files that are not checked were there before all others."""
        for kind, name in _names(record):
            self._add(kind, name, 1 if is_checked else _ESTABLISHED)
        if not is_checked:
            self.labels.setdefault(skeleton(record.cell.model), set()).add(record.cell.model)

    def _add(self, kind: str, name: str, count: int) -> None:
        self.spellings.setdefault((kind, _skeleton(kind, name)), Counter())[name] += count

    def faults(self, record: Record) -> Iterator[Fault]:
        """Yield the names of a record that look like known ones and are others."""
        for kind, name in _names(record):
            (known, _), *_ = self.spellings[kind, _skeleton(kind, name)].most_common(1)
            if name != known:
                yield _field(kind), f"{name!a} looks like the known name {known!a}", f"use {known}, or a different name"
        label = record.cell.model  # may be spelled as that of another checkpoint is, but not with other letters
        for known in self.labels.get(skeleton(label), ()):
            if known.casefold() != label.casefold():
                yield (
                    "cell.model",
                    f"{label!a} looks like the known name {known!a}",
                    f"use {known}, or a different name",
                )


def _names(record: Record) -> Iterator[tuple[str, str]]:
    yield "device", record.environment.device_name
    if record.contributor:
        yield "contributor", record.contributor
    if record.cell.digest is None:
        yield "checkpoint", record.cell.checkpoint


def _field(kind: str) -> str:
    return {"device": "environment.device_name", "contributor": "contributor"}.get(kind, f"cell.{kind}")


def _skeleton(kind: str, name: str) -> str:
    """Return the skeleton of a name, for which hyphens and blanks count in a hub id alone."""
    found = skeleton(name)
    return found if kind == "checkpoint" else re.sub(r"[\W_]+", "-", found).strip("-")


@lru_cache(maxsize=65_536)
def skeleton(name: str) -> str:
    """Return what is equal for names that look alike, whatever their case."""
    letters = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFD", name))
    for _ in range(2):  # a capital may look like what its small letter does not, and the other way round
        letters = "".join(map(_prototype, letters)).casefold()
    return letters.replace("i", "l")  # a capital I looks like l, too


@cache
def _prototype(character: str) -> str:
    """Return the character that stands for all that look like this one in Unicode's data."""
    from confusable_homoglyphs.confusables import confusables_data  # noqa: PLC0415 - takes a while to read

    def alike(each: str) -> list[str]:
        return [other["c"].strip("\u200e") for other in confusables_data.get(each, ())]

    # The data lists the prototype of each character, and of a prototype all the characters that it stands for.
    if len(others := alike(character)) != 1:
        return character
    return others[0] if len(alike(others[0])) != 1 else min(character, others[0])
