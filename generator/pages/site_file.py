"""A file of the site: a page as Markdown, a chart or a download, in one language or the same in all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

CHARTS = "assets/charts"
DATA = "data"
CARDS = "cards"
"""The folders of charts, downloads and share cards."""

EMITTED = (f"{CHARTS}/", f"{DATA}/", f"{CARDS}/")
"""The beginnings of the addresses of files that pages emit."""

FINISHED = re.compile(r"^<(figure|form|ul)\b[^>]*>\n.*?^</\1>$", re.MULTILINE | re.DOTALL)
"""A chart, form or list of ours: HTML that needs no conversion, and makes up most of many pages."""


@dataclass(frozen=True, eq=False)
class SiteFile:
    """A file of the site in one language. `uri` is relative to the root of the language; a page's ends in .md.

    Files that pages ask for are the same in all languages, and are written once, with the English pages.
    """

    uri: str
    made: str | bytes | Callable[[], str | bytes] = ""
    """The content, or a function that makes it."""

    @property
    def content(self) -> str | bytes:
        """The content. A function makes it on each access: callers write it to disk."""
        return self.made() if callable(self.made) else self.made

    @property
    def content_bytes(self) -> bytes:
        """The content, text in UTF-8."""
        content = self.content
        return content if isinstance(content, bytes) else content.encode()


def named_by_content(uri: str, content: str) -> str:
    """Return ``a.1a2b3c4d.json`` for ``a.json``: what has another content has another name, so hosts may cache it."""
    stem, _, suffix = uri.rpartition(".")
    return f"{stem}.{hashlib.sha256(content.encode()).hexdigest()[:8]}.{suffix}"


def relative_address(page: str, target: str, *, has_folders: bool = True) -> str:
    """Return the address of a file relative to a page, both by their URI. A section stays: ``a/b.md#c``."""
    path, mark, section = target.partition("#")
    to_root = "../" * page_path(page, has_folders=has_folders).count("/")
    file = page_path(path, has_folders=has_folders) if path.endswith(".md") else path
    return (f"{to_root}{file}" or "./") + mark + section


def page_path(uri: str, *, has_folders: bool = True) -> str:
    """Return the path of a page on the site: ``a/b/`` for ``a/b.md``, ``a/`` for ``a/index.md``, "" for the first.

    Without folders it is ``a/b.html``.
    """
    if not has_folders:
        return f"{uri.removesuffix('.md')}.html"
    folder, _, name = uri.rpartition("/")
    return "".join(f"{part}/" for part in (folder, name.removesuffix(".md")) if part not in {"", "index"})
