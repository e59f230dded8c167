"""How much of each page is translated, by language.

The project's messages and catalogs enter, one `Coverage` per page and language leaves. A translation counts when
readers see it: neither missing nor fuzzy.

    python -m generator status
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from generator import catalogs
from generator.catalogs import ROOT
from generator.language import LANGUAGES, LOCALES, catalog_path
from generator.pofile import forms, is_complete, key

INTERFACE = "interface"
"""What stands for the templates, settings and Python sources, which belong to no page."""


@dataclass(frozen=True)
class Coverage:
    """What is translated of one page into one language."""

    language: str
    page: str  # file of the page, or `INTERFACE`
    messages: int
    translated: int
    fuzzy: int
    declared_complete: bool  # of the whole language

    @property
    def missing(self) -> int:
        """Messages without any translation."""
        return self.messages - self.translated - self.fuzzy


def coverage(root: Path = ROOT, codes: Iterable[str] = LANGUAGES[1:]) -> Iterator[Coverage]:
    """The coverage of every page, in the order of the navigation, language by language."""
    pages: dict[str, set[catalogs.Message]] = {}
    for message in catalogs.extract(root):
        for file in message.files:
            pages.setdefault(file if file.endswith(".md") else INTERFACE, set()).add(message)
    if INTERFACE in pages:
        pages[INTERFACE] = pages.pop(INTERFACE)  # last
    for code in codes:
        catalog = catalogs.read(catalog_path(code, root / LOCALES.name))
        filled = {key(entry): entry for entry in catalog if not entry.obsolete and all(forms(entry))}
        for page, messages in pages.items():
            entries = [filled[message.key] for message in messages if message.key in filled]
            fuzzy = sum(entry.fuzzy for entry in entries)
            yield Coverage(code, page, len(messages), len(entries) - fuzzy, fuzzy, is_complete(catalog))
