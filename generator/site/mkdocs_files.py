"""Files and pages of an edition as MkDocs knows them: nothing is made before it is needed, nor twice.

In: `SiteFile`s of one edition. Out: MkDocs' files, whose pages know their titles before they are rendered, and convert
Markdown that they have seen before no more.

    mkdocs build --strict
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import weak_property

from generator.pages.pages import PageFile
from generator.pages.site_file import SiteFile


class EditionFile(File):  # type: ignore[misc]  # mkdocs has no types
    """A file that asks its source for what it holds, each time anew: `source` may be replaced by a newer one."""

    source: SiteFile

    @classmethod
    def of(cls, source: SiteFile, config: MkDocsConfig) -> Self:
        """The file of a source, with its page where it is one."""
        file: Self = cls.generated(config, source.uri, content=b"")
        file.source = source
        if isinstance(source, PageFile):
            EditionPage(None, file, config)
        return file

    @property
    def content_bytes(self) -> bytes:
        """What it holds."""
        content = self.source.content
        return content if isinstance(content, bytes) else content.encode()

    @property
    def content_string(self) -> str:
        """What it holds, as text."""
        return self.content_bytes.decode()

    def copy_file(self, dirty: bool = False) -> None:
        """Write it into the site. MkDocs calls this for all but pages."""
        del dirty
        path = Path(self.abs_dest_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content_bytes)


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


class EditionPage(Page):  # type: ignore[misc]
    """A page that converts its Markdown only when that, or the set of files that it can link to, has changed."""

    file: EditionFile
    markdown: str
    content: str
    toc: Any
    present_anchor_ids: set[str]
    links_to_anchors: dict[File, dict[str, str]]
    _title_from_render: str | None

    @weak_property  # type: ignore[untyped-decorator]
    def title(self) -> str | None:
        """Of the source: the navigation of one page shows those of all, which may not have been rendered."""
        source = self.file.source
        known = source.title if isinstance(source, PageFile) else None
        return known or super().title

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Convert the Markdown, or remember what came of it."""
        place = (config.theme["language"], self.file.src_uri)
        source = (self.markdown, repr(config.mdx_configs), config.use_directory_urls, frozenset(files.src_uris))
        known = _converted.get(place)
        if known is None or known.source != source:
            text, held = _held_back(self.markdown)
            self.markdown = text
            super().render(config, files)
            self.markdown = source[0]
            content = _HELD.sub(lambda match: held[int(match[2])], self.content)
            anchors = self.present_anchor_ids.union(*map(_ID.findall, held))
            links = {file.src_uri: anchors for file, anchors in self.links_to_anchors.items()}
            known = _Converted(source, content, self.toc, self._title_from_render, anchors, links)
            _converted[place] = known
        self.content, self.toc, self._title_from_render = known.content, known.toc, known.title
        self.present_anchor_ids = known.anchors
        self.links_to_anchors = {files.get_file_from_path(uri): anchors for uri, anchors in known.links.items()}


_FINISHED = re.compile(r"^<(table|figure)\b[^>]*>\n.*?^</\1>$", re.MULTILINE | re.DOTALL)
"""HTML that needs no conversion, and is most of many pages: a table or chart of ours."""

_HELD = re.compile(r"<(table|figure) data-held=(\d+)></\1>")
_ID = re.compile(r'\bid="([^"]+)"')


def _held_back(markdown: str) -> tuple[str, list[str]]:
    """The Markdown with something short in the place of each table and chart, and these."""
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(match[0])
        return f"<{match[1]} data-held={len(held) - 1}></{match[1]}>"

    return _FINISHED.sub(hold, markdown), held
