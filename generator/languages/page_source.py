"""Read authored pages and split them into blocks.

`read_pages` takes the folder of pages and yields a `PageSource` for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.errors import AtlasError
from generator.languages import blocks, front_matter
from generator.languages.front_matter import FrontMatter

DOCS = Path(__file__).resolve().parents[2] / "docs"
"""The authored pages, in English."""

EACH_PAGE = "each.md"
"""The file name of a page that is rendered once per device, model or family."""


@dataclass(frozen=True)
class PageSource:
    """An authored page, split into blocks."""

    uri: str  # relative to the folder of authored pages
    where: str  # its path in error messages
    document: blocks.SplitPage
    front: FrontMatter


def read_pages(docs: Path = DOCS) -> Iterator[PageSource]:
    """Yield the authored pages in the order of their paths."""
    for path in sorted(docs.rglob("*.md")):
        uri = path.relative_to(docs).as_posix()
        where = f"{docs.name}/{uri}"
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise AtlasError("the text is not UTF-8", where=where, remedy="save it as UTF-8") from None
        yield parse_page(uri, text, where)


def parse_page(uri: str, text: str, where: str) -> PageSource:
    """Split one authored page. Raises `AtlasError` for a wrong front matter or name."""
    document = blocks.split(text)
    front = front_matter.parse(document.front, where)
    if front.for_each and not uri.endswith(EACH_PAGE):
        raise AtlasError(
            "a page with `for_each` becomes many pages, so its file needs a special name",
            where=where,
            remedy=f"rename it to {EACH_PAGE}",
        )
    return PageSource(uri, where, document, front)
