"""Pages of one language: authored Markdown, its translation and the figures of the records become finished Markdown.

A `Language`, the loaded `Results` and the folder of authored pages enter; `SiteFile`s leave: pages, charts, downloads.

    python -m generator build --out staged
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from generator.language import Language

if TYPE_CHECKING:
    from generator.load import Results

DOCS = Path(__file__).resolve().parent.parent / "docs"
"""The authored pages, in English."""


@dataclass(frozen=True)
class SiteFile:
    """One file of the site of one language. `uri` is relative to that language's root, and ends in .md for a page."""

    uri: str
    content: str | bytes


def render(language: Language, results: Results, docs: Path = DOCS) -> Iterator[SiteFile]:
    """Every page, chart and download of one language."""
    del language, results  # a first stand-in: English, without figures
    for path in sorted(docs.rglob("*.md")):
        uri = path.relative_to(docs).as_posix()
        if not uri.startswith(("theme/", "assets/")) and path.name != "each.md":
            yield SiteFile(uri, path.read_text(encoding="utf-8"))
