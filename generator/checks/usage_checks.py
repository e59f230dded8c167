"""Check the words of a catalog: spelling, register, and words that mean two things on one page.

`usage_findings` takes the entries of a catalog and the glossary, and yields `Violation`s with the entry concerned. What
a program can know about single words is data, in ``locales/glossary.toml``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import polib

from generator.languages.findings import Violation
from generator.languages.glossary import Glossary, Sense, has_english, has_word
from generator.languages.pofile import forms
from generator.languages.typography import CJK, VERBATIM

Usage = Iterator[tuple[polib.POEntry, Violation]]


def usage_findings(entries: Sequence[polib.POEntry], code: str, glossary: Glossary) -> Usage:
    """Yield each wrong use of a word in the translations of a language."""
    published = [entry for entry in entries if all(forms(entry)) and not entry.fuzzy and not entry.obsolete]
    check_text = _BY_LANGUAGE.get(code)
    for entry in published:
        for translation in forms(entry):
            for violation in (
                *_misspelt(translation, code, glossary.spelling.get(code, {})),
                *(check_text(translation) if check_text else ()),
            ):
                yield entry, violation
    for sense in glossary.sense:
        if sense.language == code:
            yield from _two_senses(published, sense)
    yield from _not_distinct(published, glossary)


# --- Spelling ---------------------------------------------------------------------------------------------------------


def _misspelt(translation: str, code: str, spelling: Mapping[str, str]) -> Iterator[Violation]:
    if not spelling:
        return
    text = _VOWEL_SIGNS.sub("", VERBATIM.sub(" ", translation))
    for wrong in dict.fromkeys(match[1] for match in _wrong(tuple(spelling.items()), code).finditer(text)):
        yield Violation("spelling", f"{wrong} is misspelt", f"write {spelling[wrong]}")


_VOWEL_SIGNS = re.compile("[\u064b-\u0652\u0670\u0640]")


@cache
def _wrong(spelling: tuple[tuple[str, str], ...], code: str) -> re.Pattern[str]:
    """Return a pattern for all misspelt words: with the letters that Arabic attaches, never within the right ones."""
    if code == "ar":
        return re.compile(rf"(?<!\w)[وف]?[بكل]?(?:ال|لل)?({'|'.join(re.escape(wrong) for wrong, _ in spelling)})(?!\w)")
    return re.compile(f"({'|'.join(_alone(wrong, right) for wrong, right in spelling)})")


def _alone(wrong: str, right: str) -> str:
    before, is_part, after = right.partition(wrong)
    lookbehind = f"(?<!{re.escape(before)})" if is_part and before else ""
    lookahead = f"(?!{re.escape(after)})" if is_part and after else ""
    return f"{lookbehind}{re.escape(wrong)}{lookahead}"


# --- Japanese ---------------------------------------------------------------------------------------------------------

_QUOTED = re.compile(r"「[^「」]*」|『[^『』]*』|（[^（）]*）")
_SENTENCE = re.compile(r"[^。？！：\n]+[。？！：]?")
_POLITE_END = re.compile(r"(?:です|ます|ません|でした|ました|でしょう|ましょう|ください)か?[。？！：]?$")
_PLAIN_END = re.compile(r"(?:る|た|だ|ない|い|う|く|す|つ|む|ぶ|ぐ|ぬ)。$")
_POLITE_CLAUSE = re.compile(r"(?:です|ます|ません|でした|ました)(?:が|けれど|し|ので|から)、")
_PLAIN_CLAUSE = re.compile(r"(?:だ|である|する|した|れる|いる|ある|ない)(?:が|けれど|けど)、")
_COUNT_TOUCHES = re.compile(rf"%\((?:count|n|number)\)s(?=[{CJK}])|(?<=[{CJK}])%\((?:count|n|number)\)s")


def _japanese(translation: str) -> Iterator[Violation]:
    text = _QUOTED.sub("", VERBATIM.sub("x", translation))
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text)]
    polite = [each for each in sentences if _POLITE_END.search(each)]
    plain = [each for each in sentences if _PLAIN_END.search(each) and each not in polite]
    mixed = [each for each in plain if _POLITE_CLAUSE.search(each)] or [
        each for each in polite if _PLAIN_CLAUSE.search(each)
    ]
    if polite and plain:
        yield Violation(
            "register", f"です・ます and the plain form in one text: …{plain[0][-12:]}", "give both the same ending"
        )
    elif mixed:
        what = f"です・ます and the plain form in one sentence: …{mixed[0][-12:]}"
        yield Violation("register", what, "give both clauses the same form")
    yield from _touching(translation)


def _touching(translation: str) -> Iterator[Violation]:
    if match := _COUNT_TOUCHES.search(translation):
        yield Violation("typography", f"no space beside the number {match[0]}", "put one space here")


_BY_LANGUAGE: Mapping[str, Callable[[str], Iterator[Violation]]] = {"ja": _japanese, "zh": _touching}


# --- One word, one meaning --------------------------------------------------------------------------------------------


def _two_senses(entries: Sequence[polib.POEntry], sense: Sense) -> Usage:
    with_word = [entry for entry in entries if any(has_word(sense.word, sense.language, each) for each in forms(entry))]
    right: list[polib.POEntry] = []
    others: list[polib.POEntry] = []
    for entry in with_word:
        (right if has_english(sense.means, _english(entry)) else others).append(entry)
    pages = {file for entry in right for file, _ in entry.occurrences}
    for entry in others:
        if has_english(sense.never, _english(entry)):
            yield entry, Violation("sense", f"{sense.word} is the wrong word here", f"write {sense.instead}")
        elif not sense.never and (page := next((file for file, _ in entry.occurrences if file in pages), None)):
            what = f"{sense.word} means “{sense.means[0]}” on {page}, and something else here"
            yield entry, Violation("sense", what, f"write {sense.instead}")


def _english(entry: polib.POEntry) -> str:
    return f"{entry.msgid} {entry.msgid_plural}"


def _not_distinct(entries: Sequence[polib.POEntry], glossary: Glossary) -> Usage:
    by_text: dict[str, list[polib.POEntry]] = defaultdict(list)
    for entry in entries:
        by_text[entry.msgid].append(entry)
    for first, second in glossary.distinct:
        for one in by_text[first]:
            for other in by_text[second]:
                if shared := {*forms(one)} & {*forms(other)}:
                    what = f"“{first}” and “{second}” are both called {min(shared)}"
                    yield other, Violation("sense", what, "use a different word for each")
