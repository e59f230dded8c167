"""Check the words of a catalog: spelling, register, and words that mean two things on one page.

`usage_findings` takes translated messages and the glossary, and yields `Violation`s with the message concerned. What a
program can know about single words is data, in ``locales/glossary.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from babel.messages.catalog import Message

from generator.languages.findings import Violation
from generator.languages.glossary import Glossary, Sense, has_english, has_word
from generator.languages.pofile import english, forms
from generator.languages.typography import VERBATIM

Usage = Iterator[tuple[Message, Violation]]


def usage_findings(messages: Sequence[Message], code: str, glossary: Glossary) -> Usage:
    """Yield each wrong use of a word in the translations of a language."""
    spelling = glossary.spelling.get(code, {})
    for message in messages:
        for translation in forms(message):
            yield from ((message, violation) for violation in _misspelt(translation, code, spelling))
            if code == "ja":
                yield from ((message, violation) for violation in _register(translation))
    for sense in glossary.sense:
        if sense.language == code:
            yield from _two_senses(messages, sense)
    by_text = {english(message)[0]: message for message in messages}
    for first, second in glossary.distinct:
        if first in by_text and second in by_text and (shared := {*forms(by_text[first])} & {*forms(by_text[second])}):
            what = f"“{first}” and “{second}” are both called {min(shared)}"
            yield by_text[second], Violation("sense", what, "use a different word for each")


_VOWEL_SIGNS = re.compile("[\u064b-\u0652\u0670\u0640]")


def _misspelt(translation: str, code: str, spelling: Mapping[str, str]) -> Iterator[Violation]:
    """Find misspelt words: in Arabic with the letters that are attached before, in others never within right ones."""
    text = _VOWEL_SIGNS.sub("", VERBATIM.sub(" ", translation))
    for wrong, right in spelling.items():
        if code == "ar":
            found = bool(re.search(rf"(?<!\w)[وف]?[بكل]?(?:ال|لل)?{wrong}(?!\w)", text))
        else:
            found = wrong in (text.replace(right, "") if wrong in right else text)
        if found:
            yield Violation("spelling", f"{wrong} is misspelt", f"write {right}")


_QUOTED = re.compile(r"「[^「」]*」|『[^『』]*』|（[^（）]*）")
_SENTENCE = re.compile(r"[^。？！：\n]+[。？！：]?")
_POLITE_END = re.compile(r"(?:です|ます|ません|でした|ました|でしょう|ましょう|ください)か?[。？！：]?$")
_PLAIN_END = re.compile(r"(?:る|た|だ|ない|い|う|く|す|つ|む|ぶ|ぐ|ぬ)。$")
_POLITE_CLAUSE = re.compile(r"(?:です|ます|ません|でした|ました)(?:が|けれど|し|ので|から)、")
_PLAIN_CLAUSE = re.compile(r"(?:だ|である|する|した|れる|いる|ある|ない)(?:が|けれど|けど)、")


def _register(translation: str) -> Iterator[Violation]:
    """Find です・ます beside the plain form, in one Japanese text or in the clauses of one sentence."""
    text = _QUOTED.sub("", VERBATIM.sub("x", translation))
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text)]
    polite = [each for each in sentences if _POLITE_END.search(each)]
    plain = [each for each in sentences if _PLAIN_END.search(each) and not _POLITE_END.search(each)]
    mixed = [
        *(plain if polite else ()),
        *(each for each in plain if _POLITE_CLAUSE.search(each)),
        *(each for each in polite if _PLAIN_CLAUSE.search(each)),
    ]
    if mixed:
        what = f"です・ます and the plain form in one text: …{mixed[0][-12:]}"
        yield Violation("register", what, "give all sentences and clauses the same form")


def _two_senses(messages: Sequence[Message], sense: Sense) -> Usage:
    with_word = [each for each in messages if any(has_word(sense.word, sense.language, form) for form in forms(each))]
    right, others = list[Message](), list[Message]()
    for message in with_word:
        (right if has_english(sense.means, " ".join(english(message))) else others).append(message)
    pages = {file for message in right for file, _ in message.locations}
    for message in others:
        if has_english(sense.never, " ".join(english(message))):
            yield message, Violation("sense", f"{sense.word} is the wrong word here", f"write {sense.instead}")
        elif not sense.never and (page := next((file for file, _ in message.locations if file in pages), None)):
            what = f"{sense.word} means “{sense.means[0]}” on {page}, and something else here"
            yield message, Violation("sense", what, f"write {sense.instead}")
