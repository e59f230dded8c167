"""The Markdown of pages as the HTML that MkDocs makes of it, apart from links, which still name Markdown files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from markdown import Markdown
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parents[1]


def converter(more: dict[str, Any]) -> Markdown:
    """Return the converter of the guide with more extensions, by name with their options."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    return Markdown(extensions=[*config.markdown_extensions, *more], extension_configs=config.mdx_configs | more)


_converter = cache(lambda: converter({}))


def to_html(markdown: str) -> str:
    """Convert Markdown without front matter."""
    return _converter().reset().convert(markdown)
