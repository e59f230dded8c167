"""Check authored pages and catalogs for mistakes that a reader would notice.

`check` takes the project folder and returns `Finding`s with place and remedy. It renders nothing and reads no records,
so it takes only about a second.

    python -m generator check
"""

from __future__ import annotations

import gettext
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import polib

from bench.errors import counted
from generator.checks import message_checks
from generator.checks.usage_checks import usage_findings
from generator.languages import blocks, catalogs
from generator.languages.blocks import EXPRESSION, STATEMENT
from generator.languages.catalogs import ROOT, Message
from generator.languages.findings import Finding, Violation, short
from generator.languages.glossary import GLOSSARY, Glossary, load_glossary
from generator.languages.language import (
    LOCALES,
    catalog_path,
    load_language,
    load_locale,
    plural_examples,
    plural_forms,
    translated_languages,
)
from generator.languages.page_source import PageSource, read_pages
from generator.languages.pofile import forms, is_complete, key, parse
from generator.languages.typography import VERBATIM


def check(root: Path = ROOT, codes: Iterable[str] | None = None) -> list[Finding]:
    """Return all findings, by file and line. Raises `AtlasError` for a file that cannot be read."""
    locales = root / LOCALES.name
    messages = catalogs.extract(root)
    glossary = load_glossary(locales)
    findings = [*check_pages(read_pages(root / "docs"))]
    for code in translated_languages() if codes is None else codes:
        load_language(code, locales)  # its error tells how to create a missing catalog
        path = catalog_path(code, locales)
        file = path.relative_to(root).as_posix()
        catalog = parse(path.read_bytes(), file)
        findings += check_catalog(catalog, messages, code, glossary, file)
        if is_complete(catalog):
            findings += _check_glossary(glossary, code, locales / GLOSSARY, root)
    return sorted(set(findings))


# --- Pages ------------------------------------------------------------------------------------------------------------

_UNITS = (
    r"ms|µs|s|sec|seconds?|milliseconds?|min|minutes?|h|hours?|×|x|times|%|percent|per cent"
    r"|[GMT]i?B|[GT]?FLOP(?:S|/s)?|fps|[kMG]?Hz|[mk]?W|k?J|°C"
)
_MEASUREMENT = re.compile(rf"(?<![\w.,-])(\d[\d.,]*)[\s\u00a0]?(?:{_UNITS})(?![\w×])(?!\s?\d)")
_COMMENT = re.compile(r"<!--.*?-->|<(script|style|svg)\b.*?</\1>", re.DOTALL)


def check_pages(sources: Iterable[PageSource]) -> Iterator[Finding]:
    """Yield the mistakes in authored pages."""
    for source in sources:
        yield from _check_front_matter(source)
        yield from _check_headings(source)
        for block in source.document.blocks:
            yield from _check_text(source, block.line, block.message)
        for line, html in source.document.html:
            if blocks.has_words(_COMMENT.sub("", html)):
                what = "text inside HTML is never translated"
                yield Finding(source.where, line, short(html), what, "write it in Markdown", "html-text")
        for line in source.document.untitled:
            what = "the admonition has no title, so it would show the English name of its kind"
            remedy = 'give it a title: !!! note "Title", or "" for none'
            yield Finding(source.where, line, "", what, remedy, "admonition")


def _check_front_matter(source: PageSource) -> Iterator[Finding]:
    for name in ("title", "description"):
        if not source.front.values.get(name):
            yield Finding(
                source.where, 1, "", f"the page has no {name}", f"add `{name}: …` to its front matter", "front-matter"
            )
    for name, text in source.front.messages.items():
        yield from _check_text(source, source.front.lines[name], text)


def _check_headings(source: PageSource) -> Iterator[Finding]:
    seen = Counter(heading.id for heading in source.document.headings)
    for heading in source.document.headings:
        if heading.id is None:
            remedy = f"add one, the same in all languages: {{#{_slug(heading.text)}}}"
            yield Finding(source.where, heading.line, short(heading.text), "the heading has no id", remedy, "heading")
        elif seen[heading.id] > 1:
            what = f"the id {heading.id} stands at {counted(seen[heading.id], 'heading')}"
            yield Finding(
                source.where, heading.line, short(heading.text), what, "give each heading its own id", "heading"
            )
    titles = [heading for heading in source.document.headings if heading.level == 1]
    if len(titles) != 1:
        line = titles[1].line if titles else 1
        what = f"the page has {len(titles)} first-level headings"
        yield Finding(source.where, line, "", what, "give it one, its title", "heading")


def _check_text(source: PageSource, line: int, message: str) -> Iterator[Finding]:
    if STATEMENT.search(blocks.ATTRIBUTES_WITH_ID.sub("", message)):
        what = "a Jinja statement is inside a sentence, but other languages order their sentences differently"
        remedy = "write two whole sentences, with {% … %} on a line of its own"
        yield Finding(source.where, line, short(message), what, remedy, "statement")
    text = VERBATIM.sub(" ", message)
    for constant in source.front.constants:
        text = text.replace(constant, " ")
    for match in _MEASUREMENT.finditer(text):
        remedy = (
            "compute it: {{ … | ms }}; if it is part of a definition, list it under `constants:` in the front matter"
        )
        yield Finding(
            source.where, line, short(message), f"the measurement {match[0]} is typed by hand", remedy, "measurement"
        )
    for control in message_checks.BIDI_CONTROLS.findall(message):
        yield Finding(source.where, line, short(message), f"the bidi control U+{ord(control):04X}", "remove it", "bidi")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", EXPRESSION.sub("", text).lower()).strip("-") or "id"


# --- Catalogs ---------------------------------------------------------------------------------------------------------

_REFRESH = "run `python -m generator messages`, and commit the changes"


def _check_glossary(glossary: Glossary, code: str, path: Path, root: Path) -> Iterator[Finding]:
    lines = path.read_text(encoding="utf-8").split("\n")
    for term in glossary.term:
        if not term.translation(code):
            line = next((n for n, text in enumerate(lines, 1) if text.startswith(f'en = "{term.en}"')), 1)
            what = f"the term has no translation into the language {code}"
            yield Finding(path.relative_to(root).as_posix(), line, term.en, what, f'add {code} = "…"', "term")


def check_catalog(
    catalog: polib.POFile, messages: Iterable[Message], code: str, glossary: Glossary, file: str
) -> Iterator[Finding]:
    """Yield the mistakes in the catalog of a language."""
    yield from _check_header(catalog, code, file)
    live = [entry for entry in catalog if not entry.obsolete]
    wanted, present = {message.key for message in messages}, {key(entry) for entry in live}
    if wanted != present:
        missing = counted(len(wanted - present), "message is", "messages are")
        what = f"{missing} missing and {counted(len(present - wanted), 'is', 'are')} no longer used"
        yield Finding(file, 1, "", what, _REFRESH, "sources")
    for entry in live:
        for violation in _check_entry(entry, code, glossary, complete=is_complete(catalog)):
            yield _finding(entry, violation, file)
    for entry, violation in usage_findings(live, code, glossary):
        yield _finding(entry, violation, file)


def _finding(entry: polib.POEntry, violation: Violation, file: str) -> Finding:
    return Finding(file, entry.linenum or 1, short(entry.msgid), violation.what, violation.remedy, violation.rule)


def _check_header(catalog: polib.POFile, code: str, file: str) -> Iterator[Finding]:
    header = catalog.metadata.get("Plural-Forms", "")
    locale = load_locale(code)
    match = re.fullmatch(r"\s*nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*(.+?);?\s*", header)
    rule = plural_forms(locale)
    remedy = f"write {catalogs.plural_rule(code)}"
    if match is None:
        yield Finding(file, 1, "", "the header has no Plural-Forms", remedy, "plural-rule")
        return
    try:
        index = gettext.c2py(match[2])  # undocumented, but in the library since Python 2
    except (ValueError, RecursionError):
        yield Finding(file, 1, "", f"Plural-Forms cannot be evaluated: {match[2]}", remedy, "plural-rule")
        return
    try:
        different = [n for n in range(1000) if index(n) != rule.index(locale.plural_form(n))]
    except ArithmeticError:
        different = [0]
    if int(match[1]) != len(rule) or different:
        example = f", as for n = {different[0]}" if different else ""
        yield Finding(file, 1, "", f"Plural-Forms differs from the CLDR rule{example}", remedy, "plural-rule")


def _check_entry(entry: polib.POEntry, code: str, glossary: Glossary, *, complete: bool) -> Iterator[Violation]:
    translations = forms(entry)
    if not all(translations):
        if complete or any(translations):
            remedy = "translate it, or write `X-Complete: no` in the header"
            yield Violation("untranslated", "the translation is missing", remedy)
        return
    if entry.fuzzy:
        if complete:
            what = "the translation is fuzzy, so the page shows English"
            yield Violation("fuzzy", what, "compare it with the English, and remove `fuzzy`")
        return
    if entry.msgid_plural:
        yield from _check_plural(entry, translations, code, glossary)
    else:
        yield from message_checks.check_translation(entry.msgid, translations[0], code, glossary)
    for translation in translations:
        yield from _check_measurements(f"{entry.msgid} {entry.msgid_plural}", translation)


def _check_measurements(message: str, translation: str) -> Iterator[Violation]:
    """Check that a translation contains no typed measurement: a figure of the English is an expression."""
    for match in _MEASUREMENT.finditer(VERBATIM.sub(" ", translation)):
        if match[1] not in message:
            remedy = "use the expression from the English instead"
            yield Violation("measurement", f"the measurement {match[0]} is typed by hand", remedy)


def _check_plural(
    entry: polib.POEntry, translations: tuple[str, ...], code: str, glossary: Glossary
) -> Iterator[Violation]:
    """Check each plural form. One that serves a single number, such as the Arabic dual, may leave the number out."""
    served = plural_examples(load_locale(code))
    if len(translations) != len(served):
        what = f"{len(translations)} plural forms instead of {len(served)}"
        yield Violation("plural-forms", what, "write one msgstr[…] for each form in Plural-Forms")
    for index, (translation, numbers) in enumerate(zip(translations, served, strict=False)):
        message = entry.msgid if numbers[:1] == (1,) else entry.msgid_plural
        single = len(numbers) == 1
        shown = ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "")
        for violation in message_checks.check_translation(message, translation, code, glossary, plural=single):
            what = f"msgstr[{index}], for {shown}: {violation.what}"
            yield Violation(violation.rule, what, violation.remedy)
