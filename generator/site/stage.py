"""The guide as plain files for Zensical, the successor of Material for MkDocs, which runs no plugin of ours.

Takes the editions of `generator.pages.guide`, ``mkdocs.yml``, the assets and the theme. Writes a folder of finished
Markdown for each language, and a configuration beside it. Built one after the other, English first, they make one site.

    python -m generator stage && cd staged
    for language in en zh ja ar; do zensical build --strict --config-file $language.yml; done
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bench.errors import AtlasError
from generator.languages.catalogs import ROOT
from generator.languages.page_source import authored_files
from generator.pages.guide import Edition, Guide
from generator.site import PLUGIN
from generator.site.list_of_pages import list_of_pages
from generator.site.settings import settings_of

MARKER = ".staged"
"""An empty file in a folder that an earlier run wrote, which the next one may replace."""

UNKNOWN_TO_ZENSICAL = ("watch", "exclude_docs", "not_in_nav")
"""Settings that only MkDocs knows."""


def stage(out: Path, root: Path = ROOT) -> int:
    """Write every language below `out`, and return the number of files.

    A folder of an earlier run is replaced. Raises `AtlasError` for any other that is not empty.
    """
    guide = Guide(root)
    guide.update()
    guide.has_folders = guide.settings.get("use_directory_urls", True)
    copied = [uri for uri in authored_files(root / "docs", guide.settings) if not uri.endswith(".md")]
    if out.exists() and any(out.iterdir()):
        if not (out / MARKER).is_file():
            remedy = "choose an empty or a new folder"
            raise AtlasError("this folder has files of others", where=str(out), remedy=remedy)
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).touch()
    shutil.copytree(root / "docs" / "theme", out / "theme", ignore=shutil.ignore_patterns("sitemap.xml"))
    for language in guide.languages:
        edition = guide.edition(language.code)
        own = settings_of(edition, guide.languages, guide.settings)
        for uri in copied:
            path = out / language.code / uri
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / "docs" / uri, path)
        for file in (*edition.files, list_of_pages(edition, own)):
            path = out / language.code / file.uri
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content_bytes)
            if file.uri.endswith(".md") and guide.has_folders:
                path.write_text(_from_source(file.uri, path.read_text(encoding="utf-8")), encoding="utf-8")
        text = yaml.dump(_for_zensical(own, edition), allow_unicode=True, sort_keys=False)
        (out / f"{language.code}.yml").write_text(text, encoding="utf-8")
    return sum(path.is_file() for path in out.rglob("*"))


def _for_zensical(settings: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    """Return the settings of a language for a builder without our plugin."""
    plugins = {name: options for plugin in settings["plugins"] for name, options in plugin.items() if name != PLUGIN}
    plugins["search"] = {"separator": plugins["search"]["separator"]}
    plugins["llmstxt"] = {"sections": {edition.language.name: [page.uri for page in edition.pages]}}  # as Markdown
    return {
        **{name: value for name, value in settings.items() if name not in UNKNOWN_TO_ZENSICAL},
        "docs_dir": edition.language.code,
        "site_dir": f"site/{edition.language.prefix}".rstrip("/"),
        "theme": {**settings["theme"], "custom_dir": "theme", "variant": "classic"},
        "plugins": plugins,
    }


def _from_source(uri: str, page: str) -> str:
    """Make the addresses in the HTML of a page relative to its file, as Zensical reads them, not to its address."""
    folder, name = posixpath.split(uri)
    if name == "index.md":
        return page

    def relative(match: re.Match[str]) -> str:
        target = posixpath.join(uri.removesuffix(".md"), match["path"])
        slash = "/" * target.endswith("/")
        return f"{match['start']}{posixpath.relpath(target, folder or '.')}{slash}"

    return _HTML_ADDRESS.sub(relative, page)


_HTML_ADDRESS = re.compile(r"""(?P<start><[a-z][^<>]*?\s(?:href|src)=")(?P<path>\.{1,2}/[^"#?]*)""")
