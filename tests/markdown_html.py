"""The Markdown of pages as the HTML that MkDocs makes of it, apart from links, which still name Markdown files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from markdown import Markdown
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parents[1]


@cache
def _markdown() -> Markdown:
    config = load_config(str(ROOT / "mkdocs.yml"))
    return Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs)


def to_html(markdown: str) -> str:
    """Convert Markdown without front matter."""
    return _markdown().reset().convert(markdown)
