"""Check authored pages and catalogs for mistakes that a reader would notice.

`check` takes the project folder and returns `Finding`s with place and remedy. It renders nothing and reads no records,
so it takes only about a second.

    python -m generator check
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message

from bench.errors import counted
from generator.checks.message_checks import INVISIBLE, check_translation
from generator.languages import blocks, catalogs
from generator.languages.blocks import EXPRESSION, STATEMENT
from generator.languages.catalogs import ROOT, plural_rule
from generator.languages.glossary import GLOSSARY, Glossary, Violation, load_glossary
from generator.languages.language import (
    LIST,
    LOCALES,
    catalog_path,
    listed,
    load_language,
    load_locale,
    plural_examples,
)
from generator.languages.page_source import PageSource, mkdocs_yml, read_pages
from generator.languages.pofile import english, forms, key
from generator.languages.typography import FORMULA, VERBATIM


class Finding(NamedTuple):
    """A mistake in a file of the project."""

    file: str
    line: int
    message: str  # the text concerned, shortened; "" for the whole file
    what: str
    remedy: str

    def __str__(self) -> str:
        text = f" “{self.message}”" if self.message else ""
        return f"{self.file}:{self.line}:{text} {self.what}\n    remedy: {self.remedy}"


def short(text: str) -> str:
    """Return the beginning of a message, enough to search for it."""
    line = " ".join(text.split())
    return line if len(line) <= 50 else f"{line[:49]}…"


def check(root: Path = ROOT, codes: Iterable[str] | None = None) -> list[Finding]:
    """Return all findings, by file and line. Raises `AtlasError` for a file that cannot be read."""
    locales = root / LOCALES.name
    languages, glossary, template = listed(locales), load_glossary(locales), catalogs.extract(root)
    findings = [*check_pages(read_pages(root / "docs", mkdocs_yml(root)))]
    for code in languages.languages[1:] if codes is None else codes:
        load_language(code, locales)  # raises an error with a remedy for a missing or broken catalog
        complete = code in languages.complete
        file = catalog_path(code, locales).relative_to(root).as_posix()
        findings += check_catalog(catalogs.read(code, locales), template, code, glossary, file, complete=complete)
        for term in glossary.term:
            if complete and not term.translation(code):
                lines = (locales / GLOSSARY).read_text(encoding="utf-8").split("\n")
                line = next((n for n, text in enumerate(lines, 1) if text.startswith(f'en = "{term.en}"')), 1)
                what = f"the term has no translation into the language {code}"
                findings.append(Finding(f"{locales.name}/{GLOSSARY}", line, term.en, what, f'add {code} = "…"'))
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
        front, found = source.front, [*_check_headings(source)]
        for name in ("title", "description"):
            if not front.values.get(name):
                found += [(1, "", Violation(f"the page has no {name}", f"add `{name}: …` to its front matter"))]
        # Numbers with a unit that define something and were not measured:
        constants = front.values.get("constants") or ()
        texts = [(front.lines[name], text) for name, text in front.messages.items()]
        for line, text in [*texts, *((block.line, block.message) for block in source.document.blocks)]:
            found += ((line, text, violation) for violation in _check_text(text, constants))
        for line, html in source.document.html:
            if blocks.has_words(_COMMENT.sub("", html)):
                found.append((line, html, Violation("text inside HTML is never translated", "write it in Markdown")))
        for line, text, violation in found:
            yield Finding(source.where, line, short(text), *violation)


def _check_headings(source: PageSource) -> Iterator[tuple[int, str, Violation]]:
    headings = source.document.headings
    seen = Counter(heading.id for heading in headings)
    for heading in headings:
        if heading.id is None:
            slug = re.sub(r"[^a-z0-9]+", "-", EXPRESSION.sub("", heading.text).lower()).strip("-") or "id"
            remedy = f"add one, the same in all languages: {{#{slug}}}"
            yield heading.line, heading.text, Violation("the heading has no id", remedy)
        elif seen[heading.id] > 1:
            what = f"the id {heading.id} stands at {counted(seen[heading.id], 'heading')}"
            yield heading.line, heading.text, Violation(what, "give each heading its own id")
    titles = [heading.line for heading in headings if heading.level == 1]
    if len(titles) != 1:
        what = f"the page has {len(titles)} first-level headings"
        yield (titles or [1])[-1], "", Violation(what, "give it one, its title")


def _check_text(text: str, constants: Iterable[str]) -> Iterator[Violation]:
    if STATEMENT.search(FORMULA.sub("", text)):
        what = "a Jinja statement is inside a sentence, but other languages order their sentences differently"
        yield Violation(what, "write two whole sentences, with {% … %} on a line of its own")
    for constant in constants:
        text = text.replace(constant, " ")
    remedy = "compute it: {{ … | ms }}; if it is part of a definition, list it under `constants:` in the front matter"
    for match in _MEASUREMENT.finditer(VERBATIM.sub(" ", text)):
        yield Violation(f"the measurement {match[0]} is typed by hand", remedy)
    for sign in INVISIBLE.findall(text):
        yield Violation(f"the invisible character U+{ord(sign):04X}", "remove it")


# --- Catalogs ---------------------------------------------------------------------------------------------------------

_REFRESH = "run `python -m generator messages`, and commit the changes"


def check_catalog(
    catalog: Catalog, template: Catalog, code: str, glossary: Glossary, file: str, *, complete: bool
) -> Iterator[Finding]:
    """Yield the mistakes in the catalog of a language. In a `complete` one, nothing may be missing or fuzzy."""
    wanted, present = ({key(message) for message in each if message.id} for each in (template, catalog))
    if wanted != present:
        missing = counted(len(wanted - present), "message is", "messages are")
        what = f"{missing} missing and {counted(len(present - wanted), 'is', 'are')} no longer used"
        yield Finding(file, 1, "", what, _REFRESH)
    if catalog.plural_forms != plural_rule(code):
        yield Finding(file, 1, "", "Plural-Forms differs from the rule of CLDR", _REFRESH)
    found, by_text = list[tuple[Message, Violation]](), dict[str, Message]()  # those that pages show
    for message in catalog:
        is_whole = all(forms(message))
        if message.id and is_whole and not message.fuzzy:
            by_text[english(message)[0]] = message
            found += ((message, each) for each in _check_message(message, code, glossary))
        elif not is_whole and (complete or any(forms(message))):
            remedy = f"translate it, or remove {code} from `complete` in {LOCALES.name}/{LIST}"
            found.append((message, Violation("the translation is missing", remedy)))
        elif message.id and message.fuzzy and complete:
            what = "the translation is fuzzy, so the page shows English"
            found.append((message, Violation(what, "compare it with the English, and remove `fuzzy`")))
    for first, second in glossary.distinct:
        if first in by_text and second in by_text and (shared := {*forms(by_text[first])} & {*forms(by_text[second])}):
            what = f"“{first}” and “{second}” are both called {min(shared)}"
            found.append((by_text[second], Violation(what, "use a different word for each")))
    for message, violation in found:
        yield Finding(file, message.lineno or 1, short(english(message)[0]), *violation)


def _check_message(message: Message, code: str, glossary: Glossary) -> Iterator[Violation]:
    """Check each plural form. One that serves a single number, such as the Arabic dual, may leave the number out."""
    singular, *plural = english(message)
    served = plural_examples(load_locale(code)) if plural else ((1,),)
    for index, (translation, numbers) in enumerate(zip(forms(message), served, strict=False)):
        text = singular if numbers[:1] == (1,) else plural[0]
        is_single = bool(plural) and len(numbers) == 1
        shown = ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "")
        place = f"msgstr[{index}], for {shown}: " if plural else ""
        for violation in check_translation(text, translation, code, glossary, plural=is_single):
            yield Violation(f"{place}{violation.what}", violation.remedy)
