"""A file of the site in one language: a page as Markdown, a chart, a font or a download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

BADGES = "badges"
CHARTS = "assets/charts"
DATA = "data"
"""The folders of badges, charts and downloads."""


@dataclass(frozen=True, eq=False)
class SiteFile:
    """A file of the site in one language. `uri` is relative to the root of the language; that of a page ends in .md."""

    uri: str
    made: str | bytes | Callable[[], str | bytes] = ""
    """The content, or a function that makes it."""

    @property
    def content(self) -> str | bytes:
        """The content. A function makes it on each access: callers write it to disk."""
        return self.made() if callable(self.made) else self.made


def relative_address(page: str, target: str) -> str:
    """Return the address of a file relative to a page, both by their URI. A page ``a/b.md`` is served as ``a/b/``."""
    folder, _, file = page.rpartition("/")
    depth = (folder.count("/") + 1 if folder else 0) + (file != "index.md")
    return "../" * depth + (page_path(target) if target.endswith(".md") else target) or "./"


def page_path(uri: str) -> str:
    """Return the path of a page on the site: ``a/b/`` for ``a/b.md``, ``a/`` for ``a/index.md``, "" for the first."""
    folder, _, name = uri.rpartition("/")
    return "".join(f"{part}/" for part in (folder, name.removesuffix(".md")) if part not in {"", "index"})
