"""The result of a check: a mistake with its place and remedy, printed as text, a GitHub annotation or SARIF.

Takes `Finding`s and returns lines of text or a SARIF log, so that a pull request shows each mistake in place.

    python -m generator check --format sarif > findings.sarif
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

RULES = {
    # pages
    "front-matter": "A page has a title and a description.",
    "heading": "A page has one first-level heading, and every heading has its own id.",
    "admonition": "An admonition has a title, so that none shows the English name of its kind.",
    "html-text": "Text is written in Markdown: inside HTML it is never translated.",
    "statement": "A Jinja statement is between sentences, never inside one: languages order sentences differently.",
    "measurement": "A measured figure is computed, never typed.",
    # catalogs
    "sources": "The message template and the catalogs contain the messages of the sources.",
    "plural-rule": "The header of a catalog states the CLDR plural rule.",
    "plural-forms": "A message has a translation for each plural form.",
    "untranslated": "In a language that is declared complete, every message has a translation.",
    "fuzzy": "In a language that is declared complete, no translation is fuzzy.",
    "glyph": "The fonts of the guide have every character of a translation.",
    # their words
    "spelling": "No word has a spelling that the glossary lists as wrong.",
    "register": "A Japanese text uses either です・ます or the plain form, not both.",
    "sense": "A word has one meaning on a page, and texts with different meanings have different translations.",
    # the structure of a translation
    "expression": "A translation has the same Jinja expressions as the English.",
    "placeholder": "A translation has the same placeholders as the English.",
    "inline-code": "A translation has the same inline code as the English.",
    "tag": "A translation has the same HTML tags as the English.",
    "link-target": "A translation has the same link targets as the English.",
    "footnote": "A translation has the same footnotes as the English.",
    "attribute-list": "A translation has the same attribute lists as the English.",
    "icon": "A translation has the same icons as the English.",
    "address": "A translation has the same addresses as the English.",
    "emphasis": "A translation emphasises as many words as the English.",
    "heading-id": "The id of a heading is not part of its text.",
    "list-depth": "A translation does not start a list of its own.",
    "brackets": "A translation does not have many more markup characters than the English.",
    "nesting": "Lists and quotes are not nested too deeply.",
    "block": "A translation is one block of the same kind as the English.",
    # its characters and words
    "spaces": "A text has no leading, trailing or repeated spaces.",
    "bidi": "No control character changes the direction of text.",
    "character": "No character is invisible or decomposed.",
    "number": "A translation has the same numbers as the English.",
    "word": "A foreign word in a translation also occurs in the English.",
    "name": "A name from the glossary stays unchanged.",
    "term": "A term is translated as the glossary says.",
    "typography": "Punctuation, quotes and spaces follow the rules of the language.",
    # the built pages
    "page": "Every language has the same pages.",
    "structure": "A page has the same headings, tables, rows, figures, code, links and ids in every language.",
}
"""Every kind of finding, and the rule that it breaks."""


@dataclass(frozen=True)
class Violation:
    """A rule that a translation breaks."""

    rule: str  # one of `RULES`
    what: str
    remedy: str


@dataclass(frozen=True, order=True)
class Finding:
    """One mistake in a file."""

    file: str  # relative to the project, or to the built site
    line: int
    message: str  # the message concerned, shortened; "" for the whole file
    what: str
    remedy: str
    rule: str  # one of `RULES`

    @property
    def annotation(self) -> str:
        """The finding as a workflow command that annotates a pull request on GitHub."""
        return f"::error file={self.file},line={self.line},title={self.rule}::{_escaped(self.sentence)}"

    @property
    def sentence(self) -> str:
        """The finding without its place, on one line."""
        text = f"“{self.message}” " if self.message else ""
        return f"{text}{self.what}. Remedy: {self.remedy}"

    def __str__(self) -> str:
        text = f" “{self.message}”" if self.message else ""
        return f"{self.file}:{self.line}:{text} {self.what} [{self.rule}]\n    remedy: {self.remedy}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def short(text: str) -> str:
    """Return the beginning of a message, enough to search for it."""
    line = " ".join(text.split())
    return line if len(line) <= 50 else f"{line[:49]}…"


def sarif(findings: Iterable[Finding]) -> str:
    """Return the findings as a SARIF 2.1.0 log."""
    driver: dict[str, Any] = {
        "name": "generator check",
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [_result(finding) for finding in findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=1)


def _result(finding: Finding) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": finding.file}, "region": {"startLine": max(finding.line, 1)}}
    return {
        "ruleId": finding.rule,
        "ruleIndex": list(RULES).index(finding.rule),
        "level": "error",
        "message": {"text": finding.sentence},
        "locations": [{"physicalLocation": place}],
    }
