"""One file of the site of one language: a page as Markdown, a chart, a font, a download.

In: its address, and its content or what makes that. Out: the content, made when somebody asks for it.

    mkdocs build --strict
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

CHARTS = "assets/charts"
DATA = "data"
"""Where the files lie that pages ask for."""


@dataclass(frozen=True, eq=False)
class SiteFile:
    """One file of the site of one language. `uri` is relative to that language's root, and ends in .md for a page."""

    uri: str
    made: str | bytes | Callable[[], str | bytes] = ""
    """What it holds, or what makes that when somebody asks for it."""

    @property
    def content(self) -> str | bytes:
        """What it holds. Made each time: who asks, writes it to disk."""
        return self.made() if callable(self.made) else self.made
