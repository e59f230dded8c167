"""Adapter 2: the guide as plain files, for a builder other than MkDocs.

In: the editions of `generator.guide`, ``mkdocs.yml`` and the assets. Out: one folder per language, each with a
``mkdocs.yml`` of its own and the finished Markdown below ``docs/``. What our hook and templates do for MkDocs is left
to the other builder: the language switch, shared assets, alternates in the sitemap.

    python -m generator build --out staged
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import yaml
from mkdocs.utils.yaml import yaml_load

from bench.errors import AtlasError
from generator.guide import Edition, guide_of
from generator.material import labels
from generator.web_fonts import STYLESHEET, web_fonts

ROOT = Path(__file__).resolve().parent.parent

MANIFEST = ".staged.json"
"""Lists what an earlier run wrote, so that only that is ever replaced or removed."""

OURS = ("hooks", "watch", "exclude_docs", "extra")
"""Settings that only mean something to MkDocs with our hook."""


def stage(out: Path, root: Path = ROOT) -> int:
    """Write every language below `out` and return the number of files.

    Files of an earlier run are replaced, or removed where they are no longer needed. Raises `AtlasError` rather than
    touch a file that it has not written.
    """
    guide = guide_of(root)
    guide.update()
    files = {path: content for edition in guide.editions.values() for path, content in _files(edition, root)}
    owned = _owned(out)
    foreign = next((path for path in files if path not in owned and (out / path).exists()), None)
    if foreign:
        raise AtlasError(
            "the file is in the way, and was not written by an earlier run",
            where=str(out / foreign),
            remedy="name an empty or a new folder",
        )
    for path in owned - files.keys():
        (out / path).unlink(missing_ok=True)
    for path, content in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(content)
    (out / MANIFEST).write_text(json.dumps(sorted(files), indent=0), encoding="utf-8")
    return len(files)


def _owned(out: Path) -> set[str]:
    try:
        return set(json.loads((out / MANIFEST).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return set()


def _files(edition: Edition, root: Path) -> Iterator[tuple[str, bytes]]:
    """Everything of one language: path below the staged folder, and content."""
    code = edition.language.code
    settings = _settings(edition, root)
    yield f"{code}/mkdocs.yml", yaml.safe_dump(settings, allow_unicode=True, sort_keys=False).encode()
    for file in (*edition.files, *web_fonts(edition)):
        content = file.content
        yield f"{code}/docs/{file.uri}", content.encode() if isinstance(content, str) else content
    for path in sorted((root / "docs" / "assets").rglob("*")):
        if path.is_file():
            yield f"{code}/docs/{path.relative_to(root / 'docs').as_posix()}", path.read_bytes()


def _settings(edition: Edition, root: Path) -> dict[str, Any]:
    """``mkdocs.yml`` for a builder that knows nothing of the other languages."""
    language = edition.language
    with (root / "mkdocs.yml").open("rb") as file:
        settings: dict[str, Any] = yaml_load(file)
    for name in OURS:
        settings.pop(name, None)
    theme = {name: value for name, value in settings["theme"].items() if name != "custom_dir"}
    return {
        **settings,
        "site_name": str(language.gettext(settings["site_name"])),
        "site_description": str(language.gettext(settings["site_description"])),
        "site_url": urljoin(settings["site_url"], language.prefix),
        "docs_dir": "docs",
        "site_dir": "site",
        "theme": {**theme, "language": labels(language.code), "direction": language.direction},
        "nav": edition.navigation(settings["nav"]),
        "extra_css": [STYLESHEET, *settings["extra_css"]],
    }
