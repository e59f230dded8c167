"""Read the settings of a project and its authored pages, split into blocks.

`mkdocs_yml` takes the folder of the project. `read_pages` takes the folder of pages and yields a `PageSource` for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs.config.config_options import PathSpec
from mkdocs.exceptions import ConfigurationError
from mkdocs.structure.files import get_files
from mkdocs.utils.yaml import yaml_load

from bench.errors import AtlasError
from generator.languages import blocks, front_matter
from generator.languages.front_matter import FrontMatter

EACH_PAGE = "each.md"
"""The file name of a page that is rendered once per device, model or family."""


@dataclass(frozen=True)
class PageSource:
    """An authored page, split into blocks."""

    uri: str  # relative to the folder of authored pages
    where: str  # its path in error messages
    document: blocks.SplitPage
    front: FrontMatter


def mkdocs_yml(root: Path) -> dict[str, Any]:
    """Return the settings in ``mkdocs.yml``. Raises `AtlasError` with the line of a mistake."""
    try:
        with (root / "mkdocs.yml").open("rb") as file:
            return dict(yaml_load(file))
    except ConfigurationError as error:
        mark = getattr(error.__context__, "problem_mark", None)
        raise AtlasError(
            f"is not valid YAML: {getattr(error.__context__, 'problem', None) or error}",
            where=f"mkdocs.yml:{mark.line + 1}" if mark else "mkdocs.yml",
            remedy="correct the line",
        ) from None


def authored_files(docs: Path, settings: Mapping[str, Any]) -> list[str]:
    """Return the files that MkDocs takes from the folder of pages with these settings, relative to it, by path."""
    patterns = {name: PathSpec().validate(settings.get(name) or "") for name in ("exclude_docs", "draft_docs")}
    files = get_files({"docs_dir": str(docs), "site_dir": "", "use_directory_urls": True, **patterns})
    return sorted(file.src_uri for file in files if file.inclusion.is_included())


def read_pages(docs: Path, settings: Mapping[str, Any]) -> Iterator[PageSource]:
    """Yield the authored pages in the order of their paths."""
    for uri in authored_files(docs, settings):
        if not uri.endswith(".md"):
            continue
        path = docs / uri
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
