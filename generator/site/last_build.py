"""What a build remembers of each page for the next one, which keeps the pages that would come out the same.

Takes and returns plain data, which `generator.site.build_stamp` stores. A page is made in two steps: Markdown from its
sources and from what it reads of the results, and HTML from that Markdown and the frame, which is what all pages of a
language show, such as the theme and the navigation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from generator.cache import digest
from generator.pages.pages import PageFile
from generator.pages.site_file import page_path
from generator.site.web_fonts import Letters

if TYPE_CHECKING:
    from generator.data.scopes import Digests


class BuiltMarkdown(msgspec.Struct, frozen=True):
    """The Markdown of a page: digests of what it was made from, and what the rest of the site takes from it."""

    sources: str
    reads: list[tuple[str, str, str]]
    """Each scope that the page reads, with its digest."""
    content: str
    emitted: list[str]
    """The charts and downloads that it asks for."""
    letters: Letters

    def is_that_of(self, page: PageFile, digests: Digests) -> bool:
        """Whether a page would be rendered to this Markdown, as far as can be told without rendering it."""
        return self.sources == digest(page.sources) and all(
            digests.of((column, value)) == known for column, value, known in self.reads
        )


class BuiltHtml(msgspec.Struct, frozen=True):
    """The HTML of a page: what checks and the search index take from it."""

    outline: bytes
    anchors: list[str]
    links: dict[str, dict[str, str]]
    """The anchors that it links to, by the page that has them, each with the link as it was written."""
    search: list[dict[str, Any]]


class BuiltEdition(msgspec.Struct, frozen=True):
    """The site of one language: the digest of its frame, and its pages by URI."""

    frame: str = ""
    markdown: dict[str, BuiltMarkdown] = {}
    html: dict[str, BuiltHtml] = {}

    @property
    def outlines(self) -> dict[str, bytes]:
        """The outline of each page, by its file below the folder of the language."""
        return {f"{page_path(uri)}index.html": page.outline for uri, page in self.html.items()}


def rendered(page: PageFile, emitted: list[str], digests: Digests) -> BuiltMarkdown:
    """Return what to remember of a page that is rendered."""
    reads = [(*scope, digests.of(scope)) for scope in sorted(page.reads)]
    return BuiltMarkdown(digest(page.sources), reads, digest(page.content), emitted, Letters.of(page.content))
