"""The files and pages of a language as MkDocs has them: made when they are needed, and only once.

Takes the `SiteFile`s of one edition. Returns MkDocs' files. Their pages know their titles before they are rendered, and
keep what they have converted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import weak_property

from generator.pages.pages import PageFile
from generator.pages.site_file import FINISHED, SiteFile
from generator.site.mkdocs_internals import rendered_title, set_rendered_title


class EditionFile(File):  # type: ignore[misc]  # mkdocs has no types
    """A file with the content of its `source`, which may be replaced by a newer one."""

    source: SiteFile

    @classmethod
    def of(cls, source: SiteFile, config: MkDocsConfig) -> Self:
        """Return the file of a source, with its page where it is one."""
        file: Self = cls.generated(config, source.uri, content=b"")
        file.source = source
        if isinstance(source, PageFile):
            EditionPage(None, file, config)
        return file

    @property
    def twin_uri(self) -> str:
        """The address of a page as plain Markdown: that of its HTML with another ending. "" for any other file."""
        return f"{self.dest_uri.removesuffix('.html')}.md" if isinstance(self.source, PageFile) else ""

    @property
    def twin_name(self) -> str:
        """The same, relative to the page."""
        return posixpath.basename(self.twin_uri)

    @property
    def content_bytes(self) -> bytes:
        """The content of the source."""
        content = self.source.content
        return content if isinstance(content, bytes) else content.encode()

    @property
    def content_string(self) -> str:
        """The content of the source, as text."""
        return self.content_bytes.decode()

    def copy_file(self, dirty: bool = False) -> None:
        """Write the file into the site. MkDocs calls this for all files but pages."""
        del dirty
        path = Path(self.abs_dest_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content_bytes)


@dataclass(frozen=True)
class _Converted:
    """The result of `Page.render`, and what it was made from. Links are kept by the address of their target."""

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

    @weak_property  # type: ignore[untyped-decorator]
    def title(self) -> str | None:
        """The title of the source: a navigation shows the titles of pages that may not have been rendered."""
        source = self.file.source
        known = source.title if isinstance(source, PageFile) else None
        return known or super().title

    @property
    def description(self) -> str:
        """The description of the source, likewise."""
        source = self.file.source
        return source.description if isinstance(source, PageFile) else ""

    def write_twin(self) -> None:
        """Write the page as plain Markdown beside its HTML."""
        source, path = self.file.source, Path(self.file.abs_dest_path)
        if isinstance(source, PageFile):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".md").write_text(source.twin(self.canonical_url or ""), encoding="utf-8")

    @property
    def links(self) -> dict[str, dict[str, str]]:
        """The anchors that it links to, by the URI of the page that has them, each with the link as written."""
        return {file.src_uri: anchors for file, anchors in (self.links_to_anchors or {}).items()}

    def keep(self, anchors: Iterable[str], links: Mapping[str, dict[str, str]], files: Files) -> None:
        """Take what the check of links needs from an earlier conversion."""
        self.present_anchor_ids = {*anchors}
        self.links_to_anchors = {files.get_file_from_path(uri): anchors for uri, anchors in links.items()}

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Convert the Markdown, or reuse the result of the last conversion."""
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
            known = _Converted(source, content, self.toc, rendered_title(self), anchors, self.links)
            _converted[place] = known
        self.content, self.toc = known.content, known.toc
        set_rendered_title(self, known.title)
        self.keep(known.anchors, known.links, files)


_HELD = re.compile(r"<(\w+) data-held=(\d+)></\1>")
_ID = re.compile(r'\bid="([^"]+)"')


def _held_back(markdown: str) -> tuple[str, list[str]]:
    """Replace what is finished by short elements. Returns the Markdown, and what was replaced."""
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(match[0])
        return f"<{match[1]} data-held={len(held) - 1}></{match[1]}>"

    return FINISHED.sub(hold, markdown), held
