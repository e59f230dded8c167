"""HTML of pages that have not changed since the last build of this process: while serving, most have not.

In: a page of MkDocs before its Markdown is converted. Out: the same page with content, table of contents and anchors.

    mkdocs serve
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


@dataclass(frozen=True)
class _Converted:
    """What `Page.render` finds out, and from what. Links are kept by the address of the file that they lead to."""

    source: tuple[Any, ...]
    content: str
    toc: Any
    title: str | None
    anchors: set[str]
    links: dict[str, dict[str, str]]


_converted: dict[tuple[str, str], _Converted] = {}


class CachedPage(Page):  # type: ignore[misc]  # mkdocs has no types
    """A page that converts its Markdown only when that, or the set of files that it can link to, has changed."""

    content: str
    toc: Any
    present_anchor_ids: set[str]
    links_to_anchors: dict[File, dict[str, str]]
    _title_from_render: str | None

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Convert the Markdown, or remember what came of it."""
        place = (config.theme["language"], self.file.src_uri)
        source = (self.markdown, repr(config.mdx_configs), config.use_directory_urls, frozenset(files.src_uris))
        known = _converted.get(place)
        if known is None or known.source != source:
            super().render(config, files)
            links = {file.src_uri: anchors for file, anchors in self.links_to_anchors.items()}
            known = _Converted(source, self.content, self.toc, self._title_from_render, self.present_anchor_ids, links)
            _converted[place] = known
        self.content, self.toc, self._title_from_render = known.content, known.toc, known.title
        self.present_anchor_ids = known.anchors
        self.links_to_anchors = {files.get_file_from_path(uri): anchors for uri, anchors in known.links.items()}
