"""Every mistake in pages and catalogs that a reader would notice, with its place and remedy.

The project enters, `Finding`s leave. Nothing is rendered and no record is read: this takes a second.

    python -m generator check
"""

from __future__ import annotations

import gettext
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polib

from generator import blocks, catalogs, message_checks
from generator.blocks import EXPRESSION, STATEMENT
from generator.catalogs import ROOT, Message
from generator.glossary import Glossary, load_glossary
from generator.language import LANGUAGES, LOCALES, catalog_path, load_language, load_locale, plural_forms
from generator.pages import Source, read_pages
from generator.pofile import forms, is_complete, key, parse
from generator.typography import VERBATIM


@dataclass(frozen=True, order=True)
class Finding:
    """One mistake."""

    file: str  # relative to the project
    line: int
    message: str  # the text it is about, shortened; "" where it is about the file
    what: str
    remedy: str

    @property
    def annotation(self) -> str:
        """The finding as an annotation of a pull request on GitHub."""
        text = f"“{self.message}” {self.what}. {self.remedy}".replace("%", "%25").replace("\n", "%0A")
        return f"::error file={self.file},line={self.line}::{text}"

    def __str__(self) -> str:
        text = f" “{self.message}”" if self.message else ""
        return f"{self.file}:{self.line}:{text} {self.what}\n    remedy: {self.remedy}"


def check(root: Path = ROOT, codes: Iterable[str] = LANGUAGES[1:]) -> list[Finding]:
    """All findings of the project, by file and line. Raises `AtlasError` for a file that cannot be read at all."""
    locales = root / LOCALES.name
    messages = catalogs.extract(root)
    glossary = load_glossary(locales)
    findings = [*check_pages(read_pages(root / "docs")), *_check_template(messages, locales / catalogs.TEMPLATE, root)]
    for code in codes:
        load_language(code, locales)  # says how to make a catalog that is missing
        path = catalog_path(code, locales)
        file = path.relative_to(root).as_posix()
        findings += check_catalog(parse(path.read_bytes(), file), messages, code, glossary, file)
    return sorted(set(findings))


# --- Pages ------------------------------------------------------------------------------------------------------------

_UNITS = r"ms|µs|s|sec|seconds?|milliseconds?|×|x|times|%|percent|per cent|[GMT]i?B|T?FLOPS?|fps"
_MEASUREMENT = re.compile(rf"(?<![\w.,-])\d[\d.,]*[\s\u00a0]?(?:{_UNITS})(?![\w×])(?!\s?\d)")
_COMMENT = re.compile(r"<!--.*?-->|<(script|style|svg)\b.*?</\1>", re.DOTALL)


def check_pages(sources: Iterable[Source]) -> Iterator[Finding]:
    """What is wrong with the authored pages."""
    for source in sources:
        yield from _check_front_matter(source)
        yield from _check_headings(source)
        yield from _check_blocks(source)
        for line, html in source.document.html:
            if blocks.has_words(_COMMENT.sub("", html)):
                yield Finding(
                    source.where, line, _short(html), "text within HTML is never translated", "write it in Markdown"
                )
        for line in source.document.untitled:
            what = "the admonition has no title, and would show the English name of its kind"
            yield Finding(source.where, line, "", what, 'give it one: !!! note "Title"; "" for none')


def _check_front_matter(source: Source) -> Iterator[Finding]:
    for name in ("title", "description"):
        if not source.front.values.get(name):
            yield Finding(source.where, 1, "", f"the page has no {name}", f"add `{name}: …` to its front matter")
    for name, text in source.front.messages.items():
        yield from _check_text(source, source.front.lines[name], text)


def _check_headings(source: Source) -> Iterator[Finding]:
    seen = Counter(heading.id for heading in source.document.headings)
    for heading in source.document.headings:
        if heading.id is None:
            remedy = f"add one, the same in all languages: {{#{_slug(heading.text)}}}"
            yield Finding(source.where, heading.line, _short(heading.text), "the heading has no id", remedy)
        elif seen[heading.id] > 1:
            what = f"the id {heading.id} stands at {seen[heading.id]} headings"
            yield Finding(source.where, heading.line, _short(heading.text), what, "give each its own")
    titles = [heading for heading in source.document.headings if heading.level == 1]
    if len(titles) != 1:
        line = titles[1].line if titles else 1
        yield Finding(
            source.where, line, "", f"the page has {len(titles)} first-level headings", "give it one, its title"
        )


def _check_blocks(source: Source) -> Iterator[Finding]:
    for block in source.document.blocks:
        yield from _check_text(source, block.line, block.message)


def _check_text(source: Source, line: int, message: str) -> Iterator[Finding]:
    if STATEMENT.search(blocks.ATTRIBUTES_WITH_ID.sub("", message)):
        what = "a Jinja statement stands within a sentence, which other languages build in another order"
        yield Finding(
            source.where, line, _short(message), what, "write two whole sentences, with {% … %} on lines of its own"
        )
    text = VERBATIM.sub(" ", message)
    for constant in source.front.constants:
        text = text.replace(constant, " ")
    for match in _MEASUREMENT.finditer(text):
        remedy = "compute it: {{ … | ms }}; where it defines something, list it under `constants:` in the front matter"
        yield Finding(source.where, line, _short(message), f"the measurement {match[0]} is typed", remedy)
    for control in message_checks.BIDI_CONTROLS.findall(message):
        yield Finding(source.where, line, _short(message), f"the bidi control U+{ord(control):04X}", "remove it")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", EXPRESSION.sub("", text).lower()).strip("-") or "id"


# --- Catalogs ---------------------------------------------------------------------------------------------------------

_REFRESH = "run `python -m generator messages`, and commit what it changes"


def _check_template(messages: Iterable[Message], path: Path, root: Path) -> Iterator[Finding]:
    expected = f"{catalogs.template(messages)}".rstrip()
    if not path.is_file() or path.read_text(encoding="utf-8").rstrip() != expected:
        yield Finding(path.relative_to(root).as_posix(), 1, "", "the template differs from the sources", _REFRESH)


def check_catalog(
    catalog: polib.POFile, messages: Iterable[Message], code: str, glossary: Glossary, file: str
) -> Iterator[Finding]:
    """What is wrong with the catalog of a language."""
    yield from _check_header(catalog, code, file)
    live = [entry for entry in catalog if not entry.obsolete]
    wanted, present = {message.key for message in messages}, {key(entry) for entry in live}
    if wanted != present:
        what = f"{len(wanted - present)} messages are missing and {len(present - wanted)} are not used any more"
        yield Finding(file, 1, "", what, _REFRESH)
    for entry in live:
        for what, remedy in _check_entry(entry, code, glossary, complete=is_complete(catalog)):
            yield Finding(file, entry.linenum or 1, _short(entry.msgid), what, remedy)


def _check_header(catalog: polib.POFile, code: str, file: str) -> Iterator[Finding]:
    header = catalog.metadata.get("Plural-Forms", "")
    locale = load_locale(code)
    match = re.fullmatch(r"\s*nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*(.+?);?\s*", header)
    rule = plural_forms(locale)
    remedy = f"write {catalogs.PLURAL_FORMS[code]}" if code in catalogs.PLURAL_FORMS else "write the rule of CLDR"
    if match is None:
        yield Finding(file, 1, "", "the header has no Plural-Forms", remedy)
        return
    try:
        index = gettext.c2py(match[2])  # in the library since Python 2, in no document
    except ValueError:
        yield Finding(file, 1, "", f"Plural-Forms cannot be evaluated: {match[2]}", remedy)
        return
    different = [n for n in range(1000) if index(n) != rule.index(locale.plural_form(n))]
    if int(match[1]) != len(rule) or different:
        example = f", as for n = {different[0]}" if different else ""
        yield Finding(file, 1, "", f"Plural-Forms differs from the rule of CLDR{example}", remedy)


def _check_entry(entry: polib.POEntry, code: str, glossary: Glossary, *, complete: bool) -> Iterator[tuple[str, str]]:
    translations = forms(entry)
    if not all(translations):
        if complete or any(translations):
            yield "the translation is missing", "translate it, or declare `X-Complete: no` in the header"
        return
    if entry.fuzzy:
        if complete:
            yield (
                "the translation is fuzzy, so the page shows English",
                "compare it with the English, and remove `fuzzy`",
            )
        return
    expected = len(plural_forms(load_locale(code)))
    if entry.msgid_plural and len(translations) != expected:
        yield (
            f"{len(translations)} plural forms instead of {expected}",
            "write one msgstr[…] for each form of Plural-Forms",
        )
    for number, translation in enumerate(translations):
        message = entry.msgid_plural if entry.msgid_plural and (number or expected == 1) else entry.msgid
        plural = bool(entry.msgid_plural) and expected > 1 and number < expected - 1
        for complaint in message_checks.check_translation(message, translation, code, glossary, plural=plural):
            what = f"msgstr[{number}]: {complaint.what}" if entry.msgid_plural else complaint.what
            yield what, complaint.remedy


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 50 else f"{line[:49]}…"
